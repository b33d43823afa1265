"""The default learner and values that no stream should have: each is learned or refused by name, and breaks nothing."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest

from stream_bayes import AdaptiveBayes
from stream_bayes.errors import StreamBayesError
from stream_bayes.saving.river.model_state import model_state, restore_model

VALUES: list[Any] = [
    *(math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, 10**30, -(10**400), 2**63, 0, -0.0),
    *(True, False, None, "", " ", "a" * 100_000, "\x00", "\ud800", b"bytes", bytearray(b"x")),
    *(dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12), dt.timedelta(1), Decimal("1.5"), 1j),
    *([1, 2], {"a": 1}, {1, 2}, (1, "a"), frozenset("a"), object(), int, ...),
]


def state_bytes(model: AdaptiveBayes) -> tuple[str, dict[str, bytes]]:
    state = dict(model_state(model))
    arrays = state.pop("arrays")
    return repr(state), {name: array.tobytes() for name, array in arrays.items()}


def learned(events: int) -> AdaptiveBayes:
    model = AdaptiveBayes()
    for n in range(events):
        model.learn_one(
            {"size": n % 9 + n / 100, "sky": "grey" if n % 3 else "blue"}, "yes" if n % 2 else "no"
        )
    return model


def demand_probabilities(answer: dict[Any, float]) -> None:
    assert all(0.0 <= p <= 1.0 for p in answer.values())
    assert math.fsum(answer.values()) == pytest.approx(1.0)


def demand_sound(model: AdaptiveBayes) -> None:
    """Demand probabilities, and a state that loads to equal bytes and answers."""
    x = {"size": 3.5, "sky": "grey"}
    answer = model.predict_proba_one(x)
    demand_probabilities(answer)
    again = restore_model(AdaptiveBayes(), model_state(model))
    assert state_bytes(again) == state_bytes(model) and again.predict_proba_one(x) == answer


@pytest.mark.parametrize("column", ["size", "sky", "new"])
def test_any_value_of_a_feature_is_learned_or_refused_and_breaks_nothing(column: str) -> None:
    model = learned(30)
    outcomes, before = set(), state_bytes(model)
    for number, value in enumerate(VALUES):
        x = {"size": 1.5, "sky": "grey"} | {f"new {number}" if column == "new" else column: value}
        try:
            model.learn_one(x, "yes")
            outcomes.add("learned")
            before = state_bytes(model)
        except StreamBayesError:
            assert state_bytes(model) == before, value
            outcomes.add("refused")
        with contextlib.suppress(StreamBayesError):
            demand_probabilities(model.predict_proba_one(x))
    assert outcomes == {"learned", "refused"}
    demand_sound(model)


def test_any_label_is_learned_or_refused_and_breaks_nothing() -> None:
    model = learned(30)
    outcomes = set()
    for value in VALUES:
        before = state_bytes(model)
        try:
            model.learn_one({"size": 1.5, "sky": "grey"}, value)
            outcomes.add("learned")
        except StreamBayesError:
            assert state_bytes(model) == before, value
            outcomes.add("refused")
    assert outcomes == {"learned", "refused"}
    demand_sound(model)
