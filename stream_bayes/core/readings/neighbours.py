"""The nearest of the newest events as a reading: its saved state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core.readings._neighbours import MISSING_CODE, NeighbourReading
from stream_bayes.core.readings.state import load_clock
from stream_bayes.core.values.checks import expect

__all__ = ["Neighbours", "window_bytes"]

_KEYS = {"events", "labels", "weights", "clocks", "numbers", "codes", "moments"}


def window_bytes(window: int, features: int) -> int:
    """Return the bytes of the events that are kept, with so many features."""
    return window * (8 * features + 40)


class Neighbours(NeighbourReading):
    """The newest events, of which the nearest vote."""

    def derived_state(self) -> dict[str, Any]:
        """Return the kept events by feature, in the order in which they are kept, and the moments of the numbers."""
        size = self.size
        count = np.asarray(self.count)
        numeric = int(np.max(np.nonzero(count)[0], initial=-1)) + 1
        codes = np.asarray(self.codes)[:, :size]
        nominal = int(np.max(np.nonzero((codes != MISSING_CODE).any(axis=1))[0], initial=-1)) + 1
        return {
            "events": int(self.events),
            "labels": np.asarray(self.label)[:size].tolist(),
            "weights": np.asarray(self.weight)[:size].tolist(),
            "clocks": np.asarray(self.learned_at)[:size].tolist(),
            "numbers": [
                [None if math.isnan(number) else number for number in row]
                for row in np.asarray(self.numbers)[:numeric, :size].tolist()
            ],
            "codes": codes[:nominal].tolist(),
            "moments": [
                [float(self.count[slot]), float(self.center[slot]), float(self.variance[slot])]
                for slot in range(numeric)
            ],
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        """Continue from what `derived_state` returned; the counts are loaded already."""
        expect(set(saved) == _KEYS, "it holds no newest events")
        events = load_clock(saved["events"])
        expect(events <= int(self.tables.clock), "it keeps more events than were learned")
        size = min(events, self.window)
        labels = np.array(saved["labels"])
        weights = np.array(saved["weights"], float)
        clocks = np.array(saved["clocks"])
        numbers = np.array(saved["numbers"], float).reshape(len(saved["numbers"]), size)
        codes = np.array(saved["codes"], int).reshape(len(saved["codes"]), size)
        moments = np.array(saved["moments"], float).reshape(len(saved["moments"]), 3)
        expect(
            labels.shape == weights.shape == (size,), "its newest events are not as many as they should be"
        )
        expect(
            bool(np.isfinite(weights).all() and (weights > 0.0).all()),
            "the weight of an event is not above 0",
        )
        is_label = size == 0 or (
            labels.dtype.kind == "i" and labels.min() >= 0 and labels.max() < len(self.labels)
        )
        expect(bool(is_label), "the label of an event is none")
        is_clock = clocks.shape == (size,) and (
            size == 0
            or (clocks.dtype.kind == "i" and clocks.min() >= 0 and clocks.max() <= int(self.tables.clock))
        )
        expect(bool(is_clock), "an event was learned at no time")
        layout = self.tables.values.layout
        expect(len(codes) <= layout.features, "an event has a feature that was never learned")
        used = np.array([layout.used[slot] for slot in range(len(codes))], int).reshape(-1, 1)
        expect(
            bool(((codes >= MISSING_CODE) & (codes < used)).all()),
            "an event has a value that was never learned",
        )
        expect(len(moments) == len(numbers), "the moments of its numbers are of others")
        expect(
            len(numbers) <= int(self.tables.gaussians.features),
            "an event has a number that was never learned",
        )
        expect(not bool(np.isinf(numbers).any()), "a number of an event is infinite")
        is_moment = (
            np.isfinite(moments).all() and (moments[:, 0] >= 0.0).all() and (moments[:, 2] >= 0.0).all()
        )
        expect(bool(is_moment), "the moments of a number are none")
        self.make_room(len(numbers), len(codes), len(self.labels))
        self.events = events
        np.asarray(self.label)[:size], np.asarray(self.weight)[:size] = labels, weights
        np.asarray(self.learned_at)[:size] = clocks
        np.asarray(self.numbers)[: len(numbers), :size] = numbers
        np.asarray(self.codes)[: len(codes), :size] = codes
        for slot, (count, center, variance) in enumerate(moments.tolist()):
            self.count[slot], self.center[slot], self.variance[slot] = count, center, variance
