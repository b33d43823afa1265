"""CSV files of other people: missing tokens, decimal marks, encodings, delimiters, and cells that do not fit."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import NaiveBayes, Nominal, Numeric, Schema, streams
from stream_bayes.core.events.event import BadRecord
from stream_bayes.errors import SchemaError, SourceError
from stream_bayes.streams.files import table_profile
from stream_bayes.streams.files.code_columns import may_be_codes
from stream_bayes.streams.files.column_profile import ColumnProfile
from stream_bayes.streams.files.csv_cells import MISSING_CELLS
from stream_bayes.streams.files.csv_format import CSVFormat, guessed_format
from stream_bayes.streams.files.table_profile import inferred_schema, profile_of
from stream_bayes.streams.records.fields import Fields
from tests.streams.files.reading import whole


def events(path: Path, **settings: Any) -> tuple[list[Any], Any]:
    source = streams.from_csv(path, target="y", **settings)
    try:
        return whole(source), source
    finally:
        source.close()


def measured(path: Path, token: str | None, at: int) -> float:
    """Return the accuracy on 3,000 rows of two separate Gaussians, one cell replaced by a token."""
    rng = random.Random(3)
    rows = []
    for _ in range(3000):
        label = rng.choice("ab")
        rows.append([f"{rng.gauss(2.0 * (label == 'a'), 1.0):.4f}", label])
    if token is not None:
        rows[at][0] = token
    path.write_text("x,y\n" + "".join(",".join(row) + "\n" for row in rows))
    result = streams.evaluate(path, NaiveBayes(), target="y")
    assert result.events == 3000 and not result.skipped
    return result.accuracy


@pytest.fixture(scope="module")
def accuracy(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The accuracy with all cells."""
    return measured(tmp_path_factory.mktemp("whole") / "t.csv", None, 0)


@pytest.mark.parametrize("at", [5, 2500], ids=["in the first rows", "later"])
@pytest.mark.parametrize("token", ["NA", "?", "NULL", "-", "  ", "nan", "unknown", "1.5e"])
def test_one_cell_without_a_number_costs_one_cell(
    tmp_path: Path, accuracy: float, token: str, at: int
) -> None:
    assert abs(measured(tmp_path / "t.csv", token, at) - accuracy) < 0.002


@pytest.mark.parametrize("token", MISSING_CELLS)
def test_the_tokens_of_pandas_are_missing_by_default(tmp_path: Path, token: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"sky,wind,y\ngrey,1,a\n{token},{token},b\nblue,3,{token}\n")
    records, source = events(path)
    assert [event.x for event in records] == [
        {"sky": "grey", "wind": 1.0},
        {"sky": None, "wind": None},
        {"sky": "blue", "wind": 3.0},
    ]
    assert [event.y for event in records] == ["a", "b", None]
    assert source.misfits == {}  # a missing cell is not a misfit


def test_the_tokens_are_those_that_pandas_reads_as_missing(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"x,{token}\n" for token in MISSING_CELLS))
    known = pd.read_csv(path, skip_blank_lines=False)["b"]
    assert [token for token, value in zip(MISSING_CELLS, known, strict=True) if not pd.isna(value)] == ["?"]


def test_missing_tokens_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sky,wind,y\nNone,1,a\nblue,-99,b\n")
    records, _ = events(path, missing=["-99"])
    assert [event.x for event in records] == [{"sky": "None", "wind": 1.0}, {"sky": "blue", "wind": None}]


def test_cells_that_fit_no_numeric_column_are_counted_once_each(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{n},a" for n in range(100)]
    for at in (10, 50, 99):
        rows[at] = f"about {at},b"
    rows[20] = "1,a,too wide"  # so that its block is read again, row by row
    path.write_text("n,y\n" + "\n".join(rows) + "\n")
    records, source = events(path)
    assert source.misfits["n"].count == 3 and source.misfits["n"].first == "about 10"
    assert sum(isinstance(record, BadRecord) for record in records) == 1
    records, source = events(path, misfits="dead-letter")
    assert [record.reason for record in records if isinstance(record, BadRecord)].count("wrong_type") == 3
    declared = Schema({"n": Numeric()}, target="y")  # who declares a number wants one
    assert sum(isinstance(record, BadRecord) for record in events(path, schema=declared)[0]) == 4
    with pytest.raises(SchemaError, match="misfits: expected 'missing' or 'dead-letter'"):
        events(path, misfits="drop")


@pytest.mark.parametrize(
    ("text", "values", "form"),
    [
        ("n;y\n1,5;a\n-2,25;b\n3;a\n", [1.5, -2.25, 3.0], "delimiter ';', decimal mark ','"),
        ('n,y\n"1,5",a\n"2,25",b\n', [1.5, 2.25], "decimal mark ','"),
        (
            "n;y\n1.234,5;a\n2,25;b\n1.000;a\n",
            [1234.5, 2.25, 1000.0],
            "delimiter ';', decimal mark ',', '.' between thousands",
        ),
        ('n,y\n"1,500",a\n"12,345,678.5",b\n900,a\n', [1500.0, 12345678.5, 900.0], "',' between thousands"),
        ("n\ty\n1.5\ta\n2\tb\n", [1.5, 2.0], "delimiter a tab"),
        ("n|y\n1.5|a\n2|b\n", [1.5, 2.0], "delimiter '|'"),
        ("n,y\r\n1.5,a\n2,b\r\n", [1.5, 2.0], ""),  # line ends of two kinds
    ],
)
def test_delimiters_and_marks_in_numbers_are_guessed(
    tmp_path: Path, text: str, values: list[float], form: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    records, source = events(path)
    assert [event.x["n"] for event in records] == values
    assert str(source.format) == form


def test_given_marks_win_over_guesses(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('n,y\n"1.234,5",a\n"1,5",b\n')
    records, source = events(path, decimal=",", thousands=".")
    assert [event.x["n"] for event in records] == [1234.5, 1.5]
    assert source.format == CSVFormat(decimal=",", thousands=".", tidy=True)
    with pytest.raises(SchemaError, match="decimal: expected"):
        events(path, decimal=";")
    with pytest.raises(SchemaError, match="thousands: expected"):
        events(path, decimal=",", thousands=",")


@pytest.mark.parametrize(
    ("encoding", "guessed"),
    [
        *(("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("latin-1", "cp1252"), ("cp1252", "cp1252")),
        *(("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be")),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
def test_a_text_in_another_encoding_is_read_from_any_position(
    tmp_path: Path, encoding: str, guessed: str, is_packed: bool
) -> None:
    path = tmp_path / "t.csv"
    text = "größe,y\n" + "".join(f"{n},{'süd' if n % 2 else 'nord'}\n" for n in range(4000))
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if is_packed else data)
    records, source = events(path)
    assert source.format.encoding == guessed
    assert [(event.x["größe"], event.y) for event in records] == [
        (float(n), "süd" if n % 2 else "nord") for n in range(4000)
    ]
    again = streams.from_csv(path, target="y")
    again.seek({records[2500].partition: records[2500].position})
    assert whole(again) == records[2500:]
    again.close()


def test_an_encoding_that_does_not_fit_ends_in_a_line_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\n" + b"\xff" * 9)
    with pytest.raises(SourceError, match=r"t\.csv is not in utf-16"):
        events(path, encoding="utf-16")
    with pytest.raises(SchemaError, match="encoding: expected a name such as"):
        events(path, encoding="utf-99")


def test_a_few_odd_bytes_in_utf_8_stay_bad_records(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"sky,y\n" + "süd,a\n".encode() * 50 + b"gr\xe9y,b\n" + "süd,a\n".encode())
    records, source = events(path)
    assert source.format.encoding == "utf-8"
    assert [r.reason for r in records if isinstance(r, BadRecord)] == ["not_utf8"]


def test_codes_with_leading_zeros_are_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("zip,n,y\n01234,1,a\n98765,0,b\n00501,-0.5,a\n")
    assert inferred_schema(path, Fields(target="y")).features == {"zip": Nominal(), "n": Numeric()}


def test_one_text_in_ten_leaves_a_column_numeric_and_more_do_not() -> None:
    def kind(cells: list[str]) -> str:
        profile = ColumnProfile("c")
        for cell in cells:
            profile.add(cell)
        return "numeric" if profile.is_numeric else "nominal"

    assert kind(["1"] * 9 + ["x"]) == "numeric"
    assert kind(["1"] * 8 + ["x"] * 2) == "nominal"
    assert kind([]) == kind(["NA"] * 5) == "nominal"


def test_a_profile_finds_ids_dates_and_codes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [
        f"{n + 1},u{n},{2020 + n % 3}-01-0{n % 9 + 1},{n % 3},{n * 0.37:.2f},{n * 7},{'ab'[n % 2]},{n // 2},"
        f"{n // 2 * 3}"
        for n in range(600)
    ]
    path.write_text("row,user,day,class,size,customer_id,flag,visit_id,visits\n" + "\n".join(lines))
    found = profile_of(path)
    assert [name for name, each in found.items() if each.is_id] == ["row", "user", "customer_id"]
    assert [name for name, each in found.items() if each.kind.word == "date"] == ["day"]
    path.write_text("year,year_id,row\n" + "".join(f"{1950 + n},{1950 + n},{n}\n" for n in range(60)))
    assert [name for name, each in profile_of(path).items() if each.is_id] == ["year_id", "row"]
    assert [name for name, each in found.items() if may_be_codes(each)] == ["class", "visit_id"]
    assert (found["size"].lowest, found["size"].highest, found["size"].distinct) == (0.0, 221.63, 600)


def test_a_format_does_not_depend_on_what_follows_the_first_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;x\n" + "2,5;y\n" * 100)
    before = guessed_format(path)
    with path.open("a") as file:
        file.write("3,5;z\n" * 1000)
    assert guessed_format(path) == before


def test_of_a_wide_file_no_more_cells_are_profiled_than_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_profile, "MAX_CELLS", 120_000)
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{n}" for n in range(1_000)) + "\n" + (",".join("1" * 1_000) + "\n") * 300)
    assert profile_of(path)["c999"].values == 120
