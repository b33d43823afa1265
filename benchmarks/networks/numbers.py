"""Live networks over names and numbers: an event is scored, then learned, by a network that searches its structure.

Seven numbers, each linear in the two before it; and twelve variables, a chain of six names of which each shifts a
number that is linear in the number before. Figures are processor time.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contest, Events, Side
from stream_bayes import DriftAdaptive, DynamicNetwork, MixedNetwork

__all__ = ["cases"]

LEARNED = 2_000  # events before the first pass
EVENTS = 2_000
NUMBERS = [f"x{k}" for k in range(7)]

Event = dict[str, Any]


def seven_numbers(count: int, seed: int = 1) -> list[Event]:
    """Draw events of seven numbers."""
    rng, events = np.random.default_rng(seed), []
    for _ in range(count):
        values: list[float] = []
        for _ in NUMBERS:
            values.append(0.6 * sum(values[-2:]) + float(rng.normal()))
        events.append(dict(zip(NUMBERS, values, strict=True)))
    return events


def twelve_variables(count: int, seed: int = 1) -> list[Event]:
    """Draw events of six names and six numbers."""
    rng, events = np.random.default_rng(seed), []
    for _ in range(count):
        name, number = int(rng.integers(3)), 0.0
        x: Event = {}
        for k in range(6):
            name = name if rng.random() < 0.7 else int(rng.integers(3))
            number = 0.7 * number + name + float(rng.normal())
            x |= {f"n{k}": "abc"[name], f"x{k}": number}
        events.append(x)
    return events


def scores_and_learns(make: Callable[[], Any], draw: Callable[[int], list[Event]]) -> Callable[[], Contest]:
    """Return what prepares a network that has learned some events, and scores and learns others."""

    def prepare() -> Contest:
        model, events = make(), draw(LEARNED + EVENTS)
        for x in events[:LEARNED]:
            model.learn_one(x)

        def run(part: Events) -> float:
            """Return seconds of processor time."""
            begun = process_time()
            for x in part:
                model.score_learn_one(x)
            return process_time() - begun

        return Contest(events[LEARNED:], Side(EVENTS, run, lambda raw: [{**x} for x in raw]))

    return prepare


def cases() -> list[Case]:
    """Return the lines of the report."""
    lags = {name: [1] for name in NUMBERS}
    return [
        Case(
            "MixedNetwork score and learn, 7 numbers",
            scores_and_learns(MixedNetwork, seven_numbers),
            limit=50.0,
        ),
        Case(
            "MixedNetwork score and learn, 12 names and numbers",
            scores_and_learns(MixedNetwork, twelve_variables),
            limit=125.0,
        ),
        Case(
            "DriftAdaptive(MixedNetwork) score and learn, 7 numbers",
            scores_and_learns(lambda: DriftAdaptive(MixedNetwork()), seven_numbers),
        ),
        Case(
            "DriftAdaptive(MixedNetwork) score and learn, 12 names and numbers",
            scores_and_learns(lambda: DriftAdaptive(MixedNetwork()), twelve_variables),
        ),
        Case(
            "DynamicNetwork score and learn, 7 numbers and their copies",
            scores_and_learns(lambda: DynamicNetwork(lags, numbers=True), seven_numbers),
        ),
    ]
