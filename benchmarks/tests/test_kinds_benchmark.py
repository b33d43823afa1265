"""The key of the kinds of columns: its tables can be read, and what is unsure is not counted as right."""

from __future__ import annotations

from benchmarks.kinds import KEY, key_of, scored, tables


def test_each_table_of_the_key_has_a_reader_and_kinds_that_are_words() -> None:
    assert len(tables()) == len(KEY) >= 40
    words = {kind for name in KEY for kind in key_of(name).values()}
    assert words == {
        *("category", "flag", "code", "date", "text", "range", "constant", "empty", "entity", "row id"),
    }


def test_a_column_is_right_unsure_or_wrong() -> None:
    kinds = {
        "a": "number",
        "b": "number, code?",
        "c": "number, code?",
        "d": "number",
        "e": "constant, so far?",
    }
    assert scored(kinds, {"c": "code", "d": "category"}) == {
        "right": ["a", "b"],
        "unsure": ["c: number, code?, not code", "e: constant, so far?, not number"],
        "wrong": ["d: number, not category"],
    }
