"""Lines of plain cells: what is split is what Python's own splitting gives, and what is not plain is left to others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.streams.files._csv_rows import PlainCells, rows_of_columns

CELL = st.text(alphabet=st.sampled_from("abé€🌧\x00 \x85"), max_size=9)
ANYTHING = st.text(alphabet=st.sampled_from('ab,;"\r\né'), max_size=30).map(str.encode)


def split_by_python(
    data: bytes, delimiter: str, width: int, limit: int
) -> tuple[list[str], list[int]] | None:
    if not data.endswith(b"\n") or b'"' in data:
        return None
    lines = data[:-1].split(b"\n")
    plain = [line.removesuffix(b"\r") for line in lines]
    if any(not line or b"\r" in line or line.count(delimiter.encode()) != width - 1 for line in plain):
        return None
    if any(len(line) + 1 > limit for line in lines):
        return None
    return [cell for line in plain for cell in line.decode().split(delimiter)], [len(x) + 1 for x in lines]


@given(
    rows=st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=20),
    delimiter=st.sampled_from([",", ";", "\t"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_the_cells_of_plain_lines_are_those_that_were_written(rows, delimiter, newline):
    text = "".join(delimiter.join(row) + newline for row in rows)
    cells, lengths = PlainCells(ord(delimiter), 2, 1000).split(text.encode())
    assert cells == [cell for row in rows for cell in row]
    assert lengths == [len((delimiter.join(row) + newline).encode()) for row in rows]


@given(blocks=st.lists(ANYTHING, max_size=4), width=st.integers(1, 3), limit=st.integers(1, 20))
def test_whatever_the_bytes_are_it_splits_as_python_does_or_not_at_all(blocks, width, limit):
    splitter = PlainCells(ord(","), width, limit)
    for data in blocks:
        assert splitter.split(data) == split_by_python(data, ",", width, limit)


def test_a_cell_that_is_not_utf_8_is_an_error_and_changes_nothing():
    splitter = PlainCells(ord(","), 1, 100)
    with pytest.raises(UnicodeDecodeError):
        splitter.split(b"a\n\xff\n")
    assert splitter.split(b"a\nb\n") == (["a", "b"], [2, 2])


def test_more_different_cells_than_there_are_slots_are_all_themselves():
    """Cells of one slot take each other's place; one that is taken for another would stand out."""
    texts = [str(number) for number in range(10_000)] + ["x" * size for size in range(1, 60)]
    splitter = PlainCells(ord(","), 1, 1000)
    for _ in range(2):
        assert splitter.split("".join(text + "\n" for text in texts).encode())[0] == texts


def test_a_short_cell_that_came_before_is_the_same_object():
    splitter = PlainCells(ord(","), 1, 1000)
    (first,), _ = splitter.split(b"grey-or-blue\n")
    (second,), _ = splitter.split(b"grey-or-blue\n")
    assert first is second


def test_rows_of_columns_hold_the_values_of_each_row_and_share_nothing():
    rows = rows_of_columns(["a", "b"], [[1, 2], ["x", None]], 2)
    assert rows == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    rows[0]["a"] = 3
    assert rows[1]["a"] == 2 and rows_of_columns([], [], 2) == [{}, {}]


def test_a_line_that_is_too_long_is_left_to_others():
    assert PlainCells(ord(","), 2, 5).split(b"a,bc\n") == (["a", "bc"], [5])
    assert PlainCells(ord(","), 2, 5).split(b"a,b\r\na,bcd\n") is None
