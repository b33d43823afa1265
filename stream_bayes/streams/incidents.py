"""What goes wrong while a stream goes on, and is counted: sources, sinks and journals tell it to the metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

__all__ = ["GAP", "OVERSIZE", "RESEEKS", "RESENT", "Incidents", "all_incidents"]

GAP, OVERSIZE, RESEEKS, RESENT = "offset_gap", "oversize_outputs", "reseeks", "transaction_aborts"


@runtime_checkable
class Incidents(Protocol):
    """A source, sink or journal that counts what goes wrong. May be read by other threads."""

    @property
    def incidents(self) -> Mapping[str, int]:
        """How often each thing happened in this run, by one of the names above."""
        ...


def all_incidents(parts: Iterable[object]) -> dict[str, int]:
    """How often each thing happened in all of these, by name.

    Examples
    --------
    >>> class Topic:
    ...     incidents = {OVERSIZE: 2}
    >>> all_incidents([Topic(), None, Topic()])
    {'oversize_outputs': 4}
    """
    total: Counter[str] = Counter()
    for part in parts:
        if isinstance(part, Incidents):
            total.update(part.incidents)
    return dict(sorted(total.items()))
