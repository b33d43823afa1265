"""Numbers that have left the bins they were counted in: a new unit, another level, inflation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.counts.store import CountStore

__all__ = ["moved_numbers"]

CROWD = 0.9  # of the newest numbers, in two bins
LEAST_WINDOWS = 10  # of earlier events, to know if numbers always come in such crowds


def moved_numbers(store: CountStore, events: Sequence[Mapping[Any, Any]], newest: int) -> list[Any]:
    """Return the features of a store in bins whose newest numbers crowd into two bins, as no window of as many earlier
    events did. `events` are the newest ones, the oldest first; `newest` of them may have moved.
    """
    encoder, moved = store.encoder, []
    bins: Any = encoder.bins
    ends = range(len(events) - newest, 0, -newest)
    if len(ends) < LEAST_WINDOWS:
        return []
    for name, feature in encoder.features.items():
        if feature.measured and feature.slot in bins.cuts:
            codes = [bins.code_of(feature.slot, float(x[name])) if name in x else None for x in events]
            if _is_crowd(codes[-newest:]) and not any(
                _is_crowd(codes[max(end - newest, 0) : end]) for end in ends
            ):
                moved.append(name)
    return moved


def _is_crowd(codes: Sequence[int | None]) -> bool:
    """Return True if most of a window are in two bins."""
    crowd = Counter(code for code in codes if code is not None).most_common(2)
    return sum(count for _, count in crowd) >= CROWD * len(codes)
