"""Streams of two worlds, what is lost on them, and what a model that follows drift says and keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from stream_bayes import DiscreteNetwork, DriftAdaptive
from stream_bayes.learners.base.class_probabilities import log_loss
from stream_bayes.saving.river.model_state import model_state, restore_model
from tests.concepts import drawn_network, stream_of, with_new_tables

__all__ = [
    "TARGET",
    "Scripted",
    "Stream",
    "again",
    "bytes_of",
    "concepts",
    "drifting",
    "kinds_logged",
    "losses",
]

TARGET = "v4"
Stream = list[tuple[dict[Any, Any], Any]]


def concepts(
    seed: int, variables: int = 8, changed: list[str] | None = None
) -> tuple[DiscreteNetwork, DiscreteNetwork]:
    """A network, and the same graph with new tables for some variables, or for all."""
    before = drawn_network(variables, seed)
    return before, with_new_tables(before, seed + 100, changed)


def drifting(seed: int, *lengths: int, variables: int = 8, changed: list[str] | None = None) -> Stream:
    """Two concepts that take turns."""
    worlds = concepts(seed, variables, changed)
    return list(stream_of([(worlds[n % 2], number) for n, number in enumerate(lengths)], TARGET, seed))


def losses(model: Any, stream: Iterable[tuple[Any, Any]]) -> list[float]:
    """Of each event, predicted and then learned."""
    return [log_loss(model.predict_learn_one(x, y), y) for x, y in stream]


def kinds_logged(model: DriftAdaptive) -> list[str]:
    """What happened, in order."""
    return [entry["what"] for entry in model.log.entries]


def bytes_of(model: DriftAdaptive) -> str:
    """All of a model's state."""
    state = model_state(model)
    arrays = {
        name: (array.dtype.str, array.shape, array.tobytes()) for name, array in state.pop("arrays").items()
    }
    return json.dumps(state) + repr(sorted(arrays.items()))


def again(model: DriftAdaptive, make: Callable[[], DriftAdaptive]) -> DriftAdaptive:
    """One that goes on from the state of another, by way of JSON."""
    state = model_state(model)
    arrays = state.pop("arrays")
    restored: DriftAdaptive = restore_model(make(), json.loads(json.dumps(state)) | {"arrays": arrays})
    return restored


class Scripted:
    """A detector that detects drift after given numbers of events."""

    def __init__(self, drifts: tuple[int, ...], warnings: tuple[int, ...] = ()) -> None:
        self.drifts, self.warnings, self.seen = drifts, warnings, 0

    def update(self, x: float) -> None:
        self.seen += 1

    @property
    def drift_detected(self) -> bool:
        return self.seen in self.drifts

    @property
    def warning_detected(self) -> bool:
        return self.seen in self.warnings

    def clone(self) -> Scripted:
        return Scripted(self.drifts, self.warnings)
