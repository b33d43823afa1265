"""The key of the kinds of columns: its tables can be read, and what is unsure is not counted as right."""

from __future__ import annotations

from pathlib import Path

from benchmarks.kinds import KEY, files_of_repositories, key_of, scored, tables
from benchmarks.kinds_of_repositories import REPOSITORY_KEY, USERS_KEY


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


def test_each_column_of_the_key_of_repositories_has_one_kind(tmp_path: Path) -> None:
    for name, by_kind in [*REPOSITORY_KEY.items(), *USERS_KEY.items()]:
        columns = [column for listed in by_kind.values() for column in listed.split(" | ")]
        assert len(set(columns)) == len(columns), name
        assert name.count(":") == 1 and name.count("/") >= 1
    assert len(REPOSITORY_KEY) >= 35 and not REPOSITORY_KEY.keys() & USERS_KEY
    assert [*files_of_repositories(tmp_path)] == []  # each is left out by name, where there is no clone
    assert scored({"a": "entity"}, {"a": "name"})["right"] == ["a"]
