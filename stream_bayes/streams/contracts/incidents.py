"""Incidents: faults that a running stream survives, counted by the engine and its parts for the metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

__all__ = [
    "BAD_FIELDS",
    "FUTURE_TIMES",
    "GAP",
    "IMPOSSIBLE_TIMES",
    "JUMPS",
    "LATE_TIMES",
    "OUT_OF_ORDER",
    "OVERSIZE",
    "REPEATED",
    "RESEEKS",
    "RESENT",
    "WRONG_UNIT",
    "HasIncidents",
    "total_incidents",
]

GAP, OVERSIZE, RESEEKS, RESENT = "offset_gap", "oversize_outputs", "reseeks", "transaction_aborts"
BAD_FIELDS = "bad_fields"  # features of wrong types that count as missing
OUT_OF_ORDER = "out_of_order"  # records older than an earlier one of their partition
REPEATED = "repeated_ranges"  # ranges that two workers answered
IMPOSSIBLE_TIMES = "impossible_times"  # records with a time after they were written
FUTURE_TIMES = "future_times"  # records with a time after the present
JUMPS = "time_jumps"  # records further ahead of the stream than one record may move its clock
LATE_TIMES = "late_times"  # records further behind the stream than one record may move its clock
WRONG_UNIT = "wrong_time_unit"  # records whose time is right in another unit than the declared one


@runtime_checkable
class HasIncidents(Protocol):
    """A source, sink or journal that counts incidents."""

    @property
    def incidents(self) -> Mapping[str, int]:
        """The number of incidents in this run, by one of the names above. Thread-safe."""
        ...


def total_incidents(parts: Iterable[object]) -> dict[str, int]:
    """Return the incidents of several sources, sinks and journals added up by name.

    Examples
    --------
    >>> class Topic:
    ...     incidents = {OVERSIZE: 2}
    >>> total_incidents([Topic(), None, Topic()])
    {'oversize_outputs': 4}
    """
    total: Counter[str] = Counter()
    for part in parts:
        if isinstance(part, HasIncidents):
            total.update(part.incidents)
    return dict(sorted(total.items()))
