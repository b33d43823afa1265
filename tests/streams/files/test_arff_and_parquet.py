"""ARFF and Parquet files, and files compressed by zstd."""

from __future__ import annotations

import datetime
import decimal
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.io import arff as scipy_arff

from stream_bayes import Nominal, Numeric, Schema, streams
from stream_bayes.core.events.event import BadRecord, Event, Partition
from stream_bayes.errors import MissingPackage, SchemaError, SourceError
from stream_bayes.streams.files.arff import ARFFSource
from stream_bayes.streams.files.parquet import ParquetSource
from stream_bayes.streams.records.fields import Fields
from tests.streams.files.reading import whole

HEADING = """% made by hand
@RELATION 'some days'

@ATTRIBUTE 'the sky' {grey, 'light blue', "it's"}
@attribute wind REAL
@attribute note string
@attribute rain {yes,no}
@DATA
"""


def read(path: Path, **settings: Any) -> tuple[list[Any], Any]:
    source = streams.from_file(path, target="rain", **settings)
    try:
        return whole(source), source
    finally:
        source.close()


def test_rows_of_arff_become_events(tmp_path: Path) -> None:
    path = tmp_path / "t.arff"
    path.write_text(
        HEADING + "grey,3.5,'a, b',yes\n\n% a comment\n 'light blue' , ? ,x, no\n"
        "\"it's\",1e2,'it\\'s',?\n{1 2.5, 3 no}\n{}\n"
    )
    records, source = read(path)
    assert [(event.x, event.y) for event in records] == [
        ({"the sky": "grey", "wind": 3.5, "note": "a, b"}, "yes"),
        ({"the sky": "light blue", "wind": None, "note": "x"}, "no"),
        ({"the sky": "it's", "wind": 100.0, "note": "it's"}, None),
        ({"the sky": "grey", "wind": 2.5, "note": "0"}, "no"),
        ({"the sky": "grey", "wind": 0.0, "note": "0"}, "yes"),
    ]
    assert source.schema == Schema(
        {"the sky": ["grey", "light blue", "it's"], "wind": Numeric(), "note": Nominal()},
        classes=["yes", "no"],
        target="rain",
    )


@pytest.mark.parametrize("between", ["\t", "  ", " \t "])
def test_blanks_and_tabs_stand_between_cells_of_arff_as_commas_do(tmp_path: Path, between: str) -> None:
    rows = [
        ["grey", "3.5", "'a, b'", "yes"],
        ["'light blue'", "?", "x", "no"],
        ['"it\'s"', "1e2", "'it\\'s'", "?"],
    ]
    read_rows = []
    for name, separator in (("commas.arff", ","), ("blanks.arff", between)):
        path = tmp_path / name
        path.write_text(HEADING + "".join(separator.join(row) + "\n" for row in rows))
        read_rows.append([(event.x, event.y) for event in read(path)[0]])
    assert read_rows[0] == read_rows[1]
    path.write_text(HEADING + f"grey{between}3.5{between}x\ngrey{between}3.5{between}x,yes\n")
    assert [type(each) for each in read(path)[0]] == [BadRecord, BadRecord]  # three cells, and two


def test_wrong_rows_of_arff_are_bad_records_and_odd_numbers_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.arff"
    path.write_bytes(
        HEADING.encode() + b"grey,3\ngrey,tall,x,yes\n{9 x}\ngrey,1,'x,yes\ngr\xe9y,1,x,yes\ngrey,1,x,yes"
    )
    records, source = read(path)
    reasons = [record.reason if isinstance(record, BadRecord) else None for record in records]
    assert reasons == ["ragged", None, "ragged", "unclosed_quote", "not_utf8", None]
    assert (source.misfits["wind"].count, source.misfits["wind"].first) == (1, "tall")


def test_a_comma_after_the_last_cell_of_arff_adds_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "days.arff"
    heading = "@relation days\n@attribute sky {grey,blue}\n@attribute wind numeric\n@attribute rain {no,yes}\n@data\n"
    path.write_text(heading + "grey,1,no,\n'blue',2 , yes ,\nblue,3,?,\nblue,3,?,,\n")
    records, _ = read(path)
    assert [(record.x, record.y) for record in records[:3]] == [
        ({"sky": "grey", "wind": 1.0}, "no"),
        ({"sky": "blue", "wind": 2.0}, "yes"),
        ({"sky": "blue", "wind": 3.0}, None),
    ]
    assert records[3].detail == "expected 3 cells, got 5"


@pytest.mark.parametrize("block_bytes", [1, 7, 2**15])
def test_arff_is_read_from_any_position_in_any_blocks(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "t.arff"
    path.write_text(HEADING + "".join(f"grey,{n},x,yes\n% {n}\n" for n in range(40)))

    source = ARFFSource(path, Fields(target="rain"), block_bytes=block_bytes)
    records: list[Any] = whole(source)
    assert [record.x["wind"] for record in records] == list(range(40))
    source.seek({records[17].partition: records[17].position})
    assert whole(source) == records[17:]
    source.close()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a,b\n1,2\n", SourceError, "line 1: expected @relation, .* is this an ARFF file"),
        ("@relation x\n@attribute a numeric\n", SourceError, "expected a line with @data"),
        ("@relation x\n@attribute a relational\n@data\n", SourceError, "line 2: attribute 'a'.*relational"),
        ("@relation x\n@attribute\n@data\n", SourceError, "line 2: expected @attribute NAME TYPE"),
        (HEADING.replace("rain", "rane"), SchemaError, "no attribute 'rain'; did you mean 'rane'"),
    ],
)
def test_what_is_no_arff_is_refused_in_a_line(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    path = tmp_path / "t.arff"
    path.write_text(text)
    with pytest.raises(error, match=message):
        read(path)


def test_numbers_and_names_of_arff_are_those_that_scipy_reads(tmp_path: Path) -> None:
    path = tmp_path / "t.arff"
    path.write_text("@relation t\n@attribute a real\n@attribute rain {x,yz}\n@data\n1.5,x\n-2e-3,yz\n?,x\n")
    data, _ = scipy_arff.loadarff(str(path))
    records, _ = read(path)
    assert [event.y for event in records] == [row["rain"].decode() for row in data]
    assert [event.x["a"] for event in records[:2]] == [float(row["a"]) for row in data[:2]]
    assert records[2].x["a"] is None and data[2]["a"] != data[2]["a"]


def table() -> pa.Table:
    return pa.table(
        {
            "sky": pa.array(["grey", None, "blue"]).dictionary_encode(),
            "wind": [1.5, float("inf"), None],
            "n": [1, 2, None],
            "price": [decimal.Decimal("1.50"), None, decimal.Decimal(2)],
            "day": [datetime.date(2026, 1, 31), None, None],
            "flag": [True, False, None],
            "rain": ["yes", "no", None],
        }
    )


def test_columns_of_parquet_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(table(), path)
    records, source = read(path)
    day = {"day": 20484.0, "day month": "Jan", "day day": 31.0, "day weekday": "Sat"}
    assert [event.x for event in records] == [
        {"sky": "grey", "wind": 1.5, "n": 1, "price": 1.5, **day, "flag": True},
        {"sky": None, "wind": None, "n": 2, "price": None, **dict.fromkeys(day), "flag": False},
        {"sky": "blue", "wind": None, "n": None, "price": 2.0, **dict.fromkeys(day), "flag": None},
    ]
    assert [event.y for event in records] == ["yes", "no", None]
    kinds = dict.fromkeys(("wind", "n", "price"), Numeric())
    assert {name: spec for name, spec in source.schema.columns.items() if spec == Numeric()} == kinds
    assert source.misfits["wind"].count == 1


def test_parquet_is_read_from_any_row(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = pa.table({"n": range(10_000), "rain": ["yes", "no"] * 5000})
    parquet.write_table(rows, path, row_group_size=1000)
    records, _ = read(path)
    assert [event.x["n"] for event in records] == list(range(10_000))
    for position in (0, 1, 999, 1000, 5500, 10_000):
        again = ParquetSource(path, Fields(target="rain"))
        again.seek({records[0].partition: position})
        assert [record.x["n"] for record in whole(again) if isinstance(record, Event)] == list(
            range(position, 10_000)
        )
        again.close()


def test_what_parquet_cannot_give_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(table().append_column("tags", [[["a"], [], None]]), path)
    with pytest.raises(SchemaError, match=r"column 'tags' holds list<.*--ignore tags"):
        read(path)
    assert len(read(path, ignore=["tags"])[0]) == 3
    with pytest.raises(SchemaError, match="target: there is no column 'rane'; did you mean 'rain'"):
        streams.from_file(path, target="rane", ignore=["tags"])
    (tmp_path / "u.parquet").write_text("sky,rain\n")
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        read(tmp_path / "u.parquet")


@pytest.mark.parametrize(
    ("suffix", "package", "extra"), [("parquet", "pyarrow", "parquet"), ("avro", "fastavro", "registry")]
)
def test_without_its_package_a_typed_file_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=rf"{package}, .*pip install '\.\[{extra}\]'"):
        read(tmp_path / f"t.{suffix}")


@pytest.mark.parametrize("name", ["t.csv.zst", "t.jsonl.zst", "t.arff.zst"])
def test_files_compressed_by_zstd_are_read_and_sought(tmp_path: Path, name: str) -> None:
    texts = {
        "csv": "n,rain\n" + "".join(f"{n},yes\n" for n in range(5000)),
        "jsonl": "".join(f'{{"n": {n}, "rain": "yes"}}\n' for n in range(5000)),
        "arff": "@relation t\n@attribute n real\n@attribute rain {yes}\n@data\n"
        + "".join(f"{n},yes\n" for n in range(5000)),
    }
    path = tmp_path / name
    with pa.OSFile(str(path), "wb") as file, pa.CompressedOutputStream(file, "zstd") as packed:
        packed.write(texts[name.split(".")[1]].encode())
    records, _ = read(path)
    assert [event.x["n"] for event in records] == list(range(5000))
    again = streams.from_file(path, target="rain")
    again.seek({records[3000].partition: records[3000].position})
    assert whole(again) == records[3000:]
    again.close()
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(SourceError, match="cannot be read past byte"):
        read(path)


def test_fields_of_structs_are_columns_and_those_of_a_missing_struct_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    days = [None if n % 5 == 0 else {"p": {"q": n, "w": None if n % 3 else "grey"}} for n in range(40)]
    table = pa.table({"o": days, "li": [[1]] * 40, "y": ["a", "b"] * 20})
    parquet.write_table(table, path, row_group_size=7)
    source = ParquetSource(path, Fields(target="y", ignore=["li"]))
    wanted = [{f"o.p.{name}": None if day is None else day["p"][name] for name in ("q", "w")} for day in days]
    events: list[Any] = whole(source)
    assert [event.x for event in events] == wanted
    source.seek({Partition(source.name): 23})
    (event,) = source.poll(1)
    assert isinstance(event, Event) and event.x == wanted[23]
    outer = ParquetSource(path, Fields(target="y", ignore=["li", "o"]))
    assert not outer.schema.columns
    parquet.write_table(table.append_column("o.p.q", pa.array([1] * 40)), path)
    with pytest.raises(SourceError, match=r"two columns are named 'o\.p\.q'"):
        ParquetSource(path, Fields(target="y"))
