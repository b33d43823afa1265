"""The generated networks over names and numbers, and the table beside pybnesian."""

from __future__ import annotations

import pytest

from benchmarks.networks import mixed
from stream_bayes.networks import Structure


def test_rows_follow_the_network_that_is_drawn_with_them() -> None:
    truth, rows = mixed.drawn(3, 1_500)
    assert [*rows[0]] == [*mixed.NAMES, *mixed.NUMBERS] and rows == mixed.drawn(3, 1_500)[1]
    assert all(p in mixed.NAMES for n in mixed.NAMES for p in truth.parents(n))
    empty = Structure(dict.fromkeys(truth.variables, ()))
    assert mixed.loss(truth, rows[:1_000], rows[1_000:]) < mixed.loss(empty, rows[:1_000], rows[1_000:]) - 1.0


def test_the_table_has_a_line_for_each_network_and_their_mean(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixed, "RUNS", 1)
    monkeypatch.setattr(mixed, "HELD_OUT", 50)
    mixed.main(60, range(1, 3))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| 1", "| 2", "| mean"]
    assert ("pybnesian" in lines[0]) == mixed.is_installed()
