"""The number of states of a hidden variable is the one that rows were drawn with, and bad input is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes.errors import BadValue, UnknownFeature
from stream_bayes.networks import HiddenStates, hidden_states

SHOWN = [f"x{k}" for k in range(5)]
EDGES = [("mood", name) for name in SHOWN]


def drawn(states: int, count: int, seed: int, gaps: float = 0.0) -> list[dict[str, Any]]:
    """Draw rows whose values are mostly the number of the hidden state."""
    rng = np.random.default_rng(seed)
    rows = []
    for state in rng.integers(states, size=count).tolist():
        row = {name: state if rng.random() < 0.75 else int(rng.integers(3)) for name in SHOWN}
        rows.append({name: value for name, value in row.items() if rng.random() >= gaps})
    return rows


def chosen(rows: Any, **settings: Any) -> HiddenStates:
    return hidden_states(
        rows, EDGES, "mood", **{"states": [1, 2, 3, 4], "folds": 3, "restarts": 2, **settings}
    )


@pytest.mark.parametrize(("states", "gaps"), [(1, 0.0), (2, 0.0), (3, 0.2)])
def test_the_number_that_rows_were_drawn_with_is_chosen(states: int, gaps: float) -> None:
    answer = chosen(drawn(states, 240, 5 + states, gaps))
    assert answer.best == states
    assert list(answer.scores) == list(answer.behind) == [1, 2, 3, 4]
    highest = max(answer.scores, key=answer.scores.__getitem__)
    assert answer.behind[highest] == (0.0, 0.0)
    for number, (lack, _) in answer.behind.items():
        assert lack == pytest.approx(answer.scores[highest] - answer.scores[number])
    shares = answer.network.query("mood")
    assert sorted(shares) == list(range(states))
    assert all(share == pytest.approx(1 / states, abs=0.15) for share in shares.values())
    assert f"{states} states" in next(line for line in str(answer).splitlines() if "chosen" in line)


def test_measurements_are_no_names() -> None:
    rows = [{**row, "x1": number * 0.37} for number, row in enumerate(drawn(2, 60, 3))]
    with pytest.raises(BadValue, match=r"\['x1'\] hold measurements, not names"):
        chosen(rows)


def test_one_state_scores_as_the_shares_of_independent_values() -> None:
    rows = drawn(2, 60, 3)
    answer = chosen(rows, states=[1], folds=2, seed=4)
    part = np.random.default_rng(4).permutation(len(rows)) % 2
    total = 0.0
    for row, own in zip(rows, part, strict=True):
        rest = [other for other, where in zip(rows, part, strict=True) if where != own]
        for name in SHOWN:
            same = sum(other[name] == row[name] for other in rest)
            total += np.log((same + 1 / 3) / (len(rest) + 1.0))
    assert answer.scores[1] == pytest.approx(total / len(rows), abs=1e-9)


def test_the_same_rows_give_the_same_answer() -> None:
    rows = drawn(2, 90, 1)
    assert chosen(rows, states=[2]).scores == chosen(rows, states=(2, 2)).scores


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"states": []}, BadValue, "states"),
        ({"states": [0, 1]}, BadValue, "states"),
        ({"states": [2.0]}, BadValue, "states"),
        ({"folds": 1}, BadValue, "folds"),
        ({"folds": 11}, BadValue, "10 rows"),
        ({"restarts": 0}, BadValue, "restarts"),
    ],
)
def test_bad_arguments_are_refused(settings: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        chosen(drawn(1, 10, 1), **settings)


def test_a_variable_that_is_none_or_is_not_hidden_is_refused() -> None:
    with pytest.raises(UnknownFeature, match="'mod'"):
        hidden_states(drawn(1, 10, 1), EDGES, "mod")
    with pytest.raises(BadValue, match="1 of 11 rows have it"):
        chosen([*drawn(1, 10, 1), {"mood": 1}])
    with pytest.raises(BadValue, match="x0"):
        chosen([dict.fromkeys(SHOWN[1:], 1) for _ in range(10)])
