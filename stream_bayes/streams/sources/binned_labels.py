"""Numeric labels as classes: intervals that hold equally many of the first labels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

from msgspec.structs import replace

from stream_bayes.core.events.event import Event
from stream_bayes.data.amounts import Amount
from stream_bayes.errors import BadValue
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.sources.source_around import SourceAround

__all__ = ["BinnedLabels", "cut_points"]


def cut_points(values: Sequence[float], bins: int) -> list[float]:
    """Return cut points between intervals with equally many values; fewer if values repeat.

    Raises
    ------
    BadValue
        If the values are all equal.

    Examples
    --------
    >>> cut_points([1, 2, 3, 4, 5, 6], 3)
    [3.0, 5.0]
    """
    ordered = sorted(values)
    cuts = sorted({float(ordered[len(ordered) * part // bins]) for part in range(1, bins)} - {ordered[0]})
    if not cuts:
        raise BadValue(f"--bins {bins}: the labels are all {ordered[0]:g}")
    return cuts


class BinnedLabels(SourceAround):
    """A source whose labels are numbers, with the interval of each as its class. A label that is no number becomes
    missing. The cut points ascend. `amount` is how numbers are written in text.

    Examples
    --------
    >>> from stream_bayes.streams.sources.iterable import IterableSource
    >>> source = BinnedLabels(IterableSource([({}, 1.0), ({}, 5.5), ({}, "7")]), [2.0, 6.0])
    >>> [event.y for event in source.poll(3)]
    ['below 2', '2 to 6', 'from 6']
    """

    def __init__(self, source: Source, cuts: Sequence[float], amount: Amount | None = None) -> None:
        super().__init__(source)
        self.cuts = list(cuts)
        self._amount = Amount() if amount is None else amount
        self.labels = list(_names(self.cuts))

    def poll(self, limit: int) -> list[Record]:
        return [self._binned(record) for record in super().poll(limit)]

    def _binned(self, record: Record) -> Record:
        if not isinstance(record, Event) or record.y is None:
            return record
        try:
            value = cast("float", self._amount.read(record.y)[0])
        except ValueError:
            return replace(record, y=None)
        return replace(record, y=self.labels[bisect_right(self.cuts, value)])


def _names(cuts: Sequence[float]) -> Iterator[str]:
    yield f"below {cuts[0]:g}"
    for low, high in pairwise(cuts):
        yield f"{low:g} to {high:g}"
    yield f"from {cuts[-1]:g}"
