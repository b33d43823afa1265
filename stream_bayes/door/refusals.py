"""Refusals: counted by reason for the metrics, with a line in the log for each reason now and then."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from threading import Lock

from prometheus_client.core import Metric

__all__ = ["Refusals"]

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 10.0  # of one reason: an attack must not fill the disk
LONGEST_DETAIL = 300  # characters


class Refusals:
    """The refusals at one listening socket. Thread-safe. `port` is the socket's name in metrics and log lines, such as
    "service" or "spamd". `clock` is monotonic, in seconds.

    Examples
    --------
    >>> refusals = Refusals("spamd")
    >>> refusals.add("too-large", "192.0.2.1", "expected at most 100 bytes")
    >>> refusals.counts
    {'too-large': 1}
    """

    def __init__(self, port: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.port = port
        self._clock = clock
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._logged: dict[str, tuple[float, int]] = {}  # by reason: when, and the count then

    @property
    def counts(self) -> dict[str, int]:
        """The number of refusals by reason."""
        with self._lock:
            return dict(self._counts)

    def count(self, reason: str) -> None:
        """Count a refusal without a line in the log: it is about what a request holds, not about its sender."""
        with self._lock:
            self._counts[reason] += 1

    def add(self, reason: str, address: str, detail: str) -> None:
        """Count a refusal. Write a line, at most one for each reason in ten seconds, with the number since the last."""
        now = self._clock()
        with self._lock:
            self._counts[reason] += 1
            count = self._counts[reason]
            at, before = self._logged.get(reason, (float("-inf"), 0))
            if now - at < SECONDS_BETWEEN_LINES:
                return
            self._logged[reason] = (now, count)
        more = f" ({count - before:,} of this kind since the last such line)" if count - before > 1 else ""
        logger.warning(
            "%s refused a request of %s: %s: %s%s",
            self.port,
            address or "a Unix socket",
            reason,
            _one_line(detail),
            more,
        )

    def metric(self, labels: Mapping[str, str]) -> Metric:
        """Return the counts as a metric. Its labels hold the port and the reason; never anything of a request."""
        metric = Metric("stream_bayes_refusals", "Requests and connections refused, by reason.", "counter")
        for reason, count in sorted(self.counts.items()):
            where = {**labels, "port": self.port, "reason": reason}
            metric.add_sample("stream_bayes_refusals_total", where, count)
        return metric


def _one_line(text: str) -> str:
    """Return a text whose characters cannot forge a second line, and of bounded length."""
    shown = "".join(each if each.isprintable() else "?" for each in text[: LONGEST_DETAIL + 1])
    return shown if len(shown) <= LONGEST_DETAIL else shown[:LONGEST_DETAIL] + "..."
