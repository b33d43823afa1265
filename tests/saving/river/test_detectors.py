"""A detector that is saved at the very event of a warning or a drift goes on as one of River's that was not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream_bayes.saving.river.model_state import model_state, restore_model
from tests.saving.river.driving import rng_at
from tests.saving.river.listing import Case, of_detectors

DETECTORS = [Case(type(make()).__name__, make, drive) for make, drive in of_detectors()]
EVENTS, CHANGES, LATER = 1200, 300, 120


def signals_after(detector: Any, event: int) -> tuple[bool, bool]:
    """What it says of an event of a stream in which more and fewer errors take turns."""
    worse = event // CHANGES % 2
    detector.update(rng_at(event).random() < (0.6 if worse else 0.1))
    return detector.drift_detected, getattr(detector, "warning_detected", False)


@pytest.mark.parametrize("number", range(len(DETECTORS)), ids=[case.name for case in DETECTORS])
def test_saved_where_it_notices_something_it_goes_on_the_same(number: int) -> None:
    make = DETECTORS[number].make
    rivers, others, distinct = make(), list[tuple[int, Any]](), set()
    for event in range(EVENTS):
        signals = signals_after(rivers, event)
        others = [(until, other) for until, other in others if until > event]
        assert [signals_after(other, event) for _, other in others] == [signals] * len(others)
        if any(signals) and (signals not in distinct or signals[0]):
            distinct.add(signals)
            state = model_state(rivers)
            arrays = state.pop("arrays")
            restored = restore_model(make(), json.loads(json.dumps(state)) | {"arrays": arrays})
            others.append((event + LATER, restored))
    assert type(rivers).__name__ == "NoDrift" or any(signals[0] for signals in distinct)
