"""What spreadsheets, other systems and power cuts leave in CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_bayes import Schema
from stream_bayes.core.events.event import BadRecord, Partition
from stream_bayes.data import features
from stream_bayes.errors import SourceError
from stream_bayes.streams.files.csv_columns import CSVColumns
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.records.fields import Fields
from tests.streams.files.reading import whole


def faults_in(path: Path, content: bytes, block_bytes: int = 2**15) -> list[str | None]:
    """Of each record of the file why it is bad; None if it is not."""
    path.write_bytes(content)
    source = CSVSource(path, Fields(target="rain"), block_bytes=block_bytes)
    try:
        return [record.detail if isinstance(record, BadRecord) else None for record in whole(source)]
    finally:
        source.close()


@pytest.mark.parametrize("block_bytes", [10, 2**15])
@pytest.mark.parametrize("cell", [b"gr\0ey", b'"gr\0ey"', b"\0", b'"gr\n\0ey"'])
def test_a_row_with_a_byte_of_0_is_bad_and_no_other(tmp_path: Path, cell: bytes, block_bytes: int) -> None:
    content = b"sky,rain\n" + b"grey,yes\n" * 3 + cell + b",yes\n" + b"blue,no\n" * 3
    details = faults_in(tmp_path / "days.csv", content, block_bytes)
    assert [detail is None for detail in details] == [True] * 3 + [False] + [True] * 3
    assert details[3] == (
        "expected text, got a byte that is 0; if the file is in UTF-16: iconv -f utf-16 -t utf-8"
    )


def test_a_hole_of_zeros_costs_the_record_that_it_stands_in(tmp_path: Path) -> None:
    content = b"sky,rain\ngrey,yes\n" + b"\0" * 5000 + b"grey,yes\nblue,no\n"
    assert [detail is None for detail in faults_in(tmp_path / "days.csv", content)] == [True, False, True]


@pytest.fixture
def cell_limit() -> Iterator[int]:
    """Set csv's limit of a cell for a test: readers of other packages raise it for the whole process."""
    before = csv.field_size_limit(2**17)
    yield 2**17
    csv.field_size_limit(before)


@pytest.mark.parametrize("ahead", [b"", b"1,2,3\n"], ids=["all rows are sound", "a row is ragged"])
@pytest.mark.parametrize("quote", [b"", b'"'], ids=["plain", "quoted"])
def test_a_cell_beyond_the_limit_is_bad_whatever_stands_around_it(
    tmp_path: Path, ahead: bytes, quote: bytes, cell_limit: int
) -> None:
    rows = [quote + b"x" * size + quote + b",no\n" for size in (cell_limit, cell_limit + 1)]
    content = b"sky,rain\n" + ahead + b"grey,yes\n".join([b"", *rows, b""])
    for block_bytes in (2**10, 2**20):
        details = faults_in(tmp_path / "days.csv", content, block_bytes)[bool(ahead) :]
        assert details == [
            *[None] * 3,
            f"expected a row of CSV: a cell of it is longer than {cell_limit:,} characters",
            None,
        ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sky,rain\ngrey,yes\n".encode("utf-16"), "in UTF-16: iconv -f utf-16 -t utf-8"),
        ("sky,rain\ngrey,yes\n".encode("utf-16-be"), "in UTF-16: iconv -f utf-16 -t utf-8"),
        ("größe,rain\n1,yes\n".encode("latin-1"), "in Latin-1: iconv -f latin1 -t utf-8"),
        (b"sky,rain\rgrey,yes\r", r"all lines of the file end so: tr '\\r' '\\n'"),
    ],
)
def test_a_file_that_another_program_wrote_is_refused_with_what_to_do(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(SourceError, match=f"columns' names cannot be read: .*{message}"):
        faults_in(tmp_path / "days.csv", content)


class Counted(str):
    """A name that counts how often any was compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return super().__eq__(other)


@pytest.mark.parametrize("block_bytes", [16, 65536])
def test_a_heading_that_comes_again_is_no_row(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "parts.csv"
    path.write_text('sky,rain\ngrey,yes\nsky,rain\nblue,no\nsky,no\n"sky",rain\n')
    source = CSVSource(path, Fields(target="rain"), block_bytes=block_bytes)
    records = whole(source)
    source.close()
    reasons = [record.reason if isinstance(record, BadRecord) else record.x["sky"] for record in records]
    assert reasons == ["grey", "repeated_heading", "blue", "sky", "repeated_heading"]
    path.write_bytes(b"sky,rain\ngrey,yes\n\xef\xbb\xbfsky,rain\nblue,no\n")
    source = CSVSource(path, Fields(target="rain"), block_bytes=block_bytes)
    assert [isinstance(record, BadRecord) for record in whole(source)] == [False, True, False]
    source.close()
    path.write_text("sky\ngrey\nsky\n")  # of one column the name may be a value
    source = CSVSource(path)
    assert [isinstance(record, BadRecord) for record in whole(source)] == [False, False]
    source.close()


def test_thousands_of_columns_are_not_each_looked_for_among_all() -> None:
    names = [Counted(f"c{number}") for number in range(2000)]
    schema = Schema({str(name): features.Nominal() for name in names})
    Counted.compared = 0
    columns = CSVColumns(names, Fields(required=names[:100]), schema)
    assert Counted.compared < 50 * len(names)
    (event,) = columns.events(["x"] * len(names), [0], [10], Partition("days"))
    assert len(event.x) == len(names)


@pytest.mark.parametrize("block_bytes", [10, 2**15])
@pytest.mark.parametrize(
    "between", [b"", b"3,carl,no\n", b'3,"",no\n', b"3,carl,no\r\n4,eve,no\r\n"], ids=repr
)
def test_a_quote_left_open_costs_its_own_record_even_if_a_later_one_has_quotes(
    tmp_path: Path, between: bytes, block_bytes: int
) -> None:
    content = b'id,name,rain\n1,ann,yes\n99,"broken,yes\n' + between + b'5,"dora",no\n6,finn,yes\n'
    details = faults_in(tmp_path / "days.csv", content, block_bytes)
    assert [detail is None for detail in details] == [True, False] + [True] * (2 + between.count(b"\n"))
    assert "expected a quote to be closed" in str(details[1])


@pytest.mark.parametrize("block_bytes", [10, 2**15])
def test_cells_of_several_lines_are_read_as_they_are(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "days.csv"
    path.write_bytes(b'name,rain\n"a\nb",yes\n"say ""a""\r\n, twice",no\nc,yes\n')
    source = CSVSource(path, Fields(target="rain"), block_bytes=block_bytes)
    assert [record.x["name"] for record in whole(source)] == ["a\nb", 'say "a"\r\n, twice', "c"]  # type: ignore[union-attr]  # events
    source.close()
