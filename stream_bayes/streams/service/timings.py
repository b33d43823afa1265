"""Histograms of the time that records and batches take."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import Metric
from prometheus_client.utils import floatToGoString

from stream_bayes.streams.engine.engine import Engine

__all__ = ["Timings"]

LATENCY_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 86_400)  # seconds
BATCH_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds


class Timings:
    """Histograms of latency, of predicting and of committing.

    One thread observes; others may read at any moment.
    """

    def __init__(self) -> None:
        self._latency = _Histogram(
            "latency_seconds",
            "Seconds from the time of a record to the commit of its result; replayed records do not count.",
            LATENCY_BUCKETS,
        )
        self._process = _Histogram(
            "predict_seconds", "Seconds to predict and learn a batch of records.", BATCH_BUCKETS
        )
        self._commit = _Histogram(
            "commit_seconds", "Seconds to write and commit the results of a batch.", BATCH_BUCKETS
        )

    def observe(self, engine: Engine) -> None:
        """Add the batch that an engine has just committed."""
        if not engine.committed:
            return
        now = time.time()
        self._latency.observe([now - record.time for record in engine.committed if record.time is not None])
        self._process.observe([engine.predict_seconds])
        self._commit.observe([engine.commit_seconds])

    def add(self, other: Timings) -> None:
        """Add the observations of other timings."""
        for mine, theirs in zip(self._histograms, other._histograms, strict=True):
            mine.add(theirs)

    def metrics(self, labels: dict[str, str]) -> Iterator[Metric]:
        """Yield the metrics of those that have observations."""
        for histogram in self._histograms:
            yield histogram.metric(labels)

    @property
    def _histograms(self) -> tuple[_Histogram, ...]:
        return (self._latency, self._process, self._commit)


class _Histogram:
    """Counts of observations in buckets, and their sum."""

    def __init__(self, name: str, text: str, bounds: Sequence[float]) -> None:
        self._name = f"stream_bayes_{name}"
        self._text = text
        self._bounds = bounds
        # Replaced as a whole, because other threads read it; the last count: above all bounds.
        self._content: tuple[list[int], float] = ([0] * (len(bounds) + 1), 0.0)

    def observe(self, seconds: Sequence[float]) -> None:
        counts, total = self._content
        counts = counts[:]
        for value in seconds:
            counts[bisect_left(self._bounds, value)] += 1
        self._content = counts, total + sum(max(0.0, value) for value in seconds)  # a sum must not fall

    def add(self, other: _Histogram) -> None:
        (counts, total), (more, further) = self._content, other._content
        self._content = [a + b for a, b in zip(counts, more, strict=True)], total + further

    def metric(self, labels: dict[str, str]) -> Metric:
        metric = Metric(self._name, self._text, "histogram")
        content, total = self._content
        counts = list(accumulate(content))
        if counts[-1]:
            bounds = [*map(float, self._bounds), math.inf]
            for bound, count in zip(bounds, counts, strict=True):
                metric.add_sample(f"{self._name}_bucket", labels | {"le": floatToGoString(bound)}, count)
            metric.add_sample(f"{self._name}_count", labels, counts[-1])
            metric.add_sample(f"{self._name}_sum", labels, total)
        return metric
