"""The newest events of the default learner, from which a store that begins anew is filled."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from itertools import islice
from typing import Any

from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.values.values import OTHER
from stream_bayes.learners.adaptive._encoding import parts_of

__all__ = ["MOST_EVENTS", "NewestEvents"]

MOST_EVENTS = 1_000
MOST_ENTRIES = 50_000  # names and numbers of all events: some 2 MB


class NewestEvents:
    """The newest samples, as codes of an encoder: label, weight, and the slots and codes of names and numbers.

    Attributes
    ----------
    events
        A tuple for each event, the oldest first.
    entries
        The names and numbers of all.
    """

    def __init__(self) -> None:
        self.events: deque[tuple[Any, ...]] = deque()
        self.entries = 0

    def __len__(self) -> int:
        return len(self.events)

    def add(self, row: Row) -> None:
        """Keep a sample that was just learned, and drop the oldest that have no room."""
        self.events.append(parts_of(row))
        self.entries += row.entries + row.numbers
        while len(self.events) > MOST_EVENTS or (self.entries > MOST_ENTRIES and len(self.events) > 1):
            _, _, features, _, slots, _ = self.events.popleft()
            self.entries -= len(features) + len(slots)

    def samples(
        self, encoder: Encoder, most: int = MOST_EVENTS, names: Container[Any] | None = None
    ) -> Iterator[tuple[dict[Any, Any], Any, float]]:
        """Yield the newest events by name, with label and weight, the oldest first; values that share a code are
        missing, and so are features that are not among these names.
        """
        nominal = {
            slot: feature
            for slot, feature in enumerate(encoder.nominal)
            if names is None or feature.name in names
        }
        numeric = {
            slot: feature.name
            for slot, feature in enumerate(encoder.numeric)
            if names is None or feature.name in names
        }
        first = max(len(self.events) - most, 0)
        for label, weight, features, codes, slots, numbers in islice(self.events, first, None):
            x: dict[Any, Any] = {}
            for slot, code in zip(features, codes, strict=True):
                if slot in nominal:
                    value = nominal[slot].vocabulary.values[code]
                    if value is not OTHER:
                        x[nominal[slot].name] = value
            for slot, number in zip(slots, numbers, strict=True):
                if slot in numeric:
                    x[numeric[slot]] = number
            yield x, encoder.labels.values[label], weight
