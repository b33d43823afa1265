"""Thresholds of sets of labels: what a state may hold."""

from __future__ import annotations

from typing import Any

import pytest

from stream_bayes.core.measures.coverage_control import LabelSets, saved_sets
from stream_bayes.errors import BadState


def scored(by_class: bool) -> LabelSets:
    sets = LabelSets((0.8, 0.9), by_class)
    for number in range(50):
        sets.score("abz"[number % 3], {"a": 0.6, "b": 0.4})
    return sets


def test_a_level_that_is_kept_goes_on_and_all_others_begin_anew() -> None:
    sets, again = scored(by_class=False), LabelSets((0.9, 0.99))
    again.load(sets.state())
    assert again.coverage(0.9) == sets.coverage(0.9) and again.unknown == 16
    assert again.coverage(0.99) != again.coverage(0.99)
    other = LabelSets((0.9,), by_class=True)
    other.load(sets.state())
    assert other.coverage(0.9) != other.coverage(0.9) and other.coverage_by_class(0.9) == {}
    assert saved_sets(sets.state()).state() == sets.state()  # type: ignore[union-attr]  # it has a state


@pytest.mark.parametrize("by_class", [False, True])
def test_a_state_that_cannot_be_is_refused_and_changes_nothing(by_class: bool) -> None:
    wrong: list[dict[str, Any]] = [
        {"balances": [[0.9, None, 92.0, 100.0]]},
        {"balances": [[0.9, None, -12.0, 100.0]]},
        {"balances": [[0.9, None, 1.0, 0.5]]},
        {"balances": [[0.9, None, 1.0]]},
        {"balances": [[9, None, 1.0, 1.0]]},
        {"balances": [[0.9, {"?": 1}, 1.0, 1.0]]},
        {"unknown": -1},
        {"by_class": not by_class},
        {"by_class": 1},
    ]
    for part in wrong:
        sets = scored(by_class)
        with pytest.raises(BadState):
            sets.load(sets.state() | part)
        assert sets.state() == scored(by_class).state()
