"""The intervals at which a shard publishes its counts and a worker adds up those of others: shares of its time."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Pace"]

MOST_SHARE = 0.05  # of a worker's time; where a model is large, the work is done less often


class Pace:
    """Intervals of a repeated piece of work, so that it takes no more than its share of the time. Two pieces are at
    least `least` seconds apart.
    """

    def __init__(self, clock: Callable[[], float], least: float = 0.0) -> None:
        self._clock = clock
        self._least = least
        self._began = self._next_at = float("-inf")

    def is_due(self) -> bool:
        """Return whether the next piece may begin."""
        return self._clock() >= self._next_at

    def begin(self) -> None:
        """Note that a piece begins."""
        self._began = self._clock()

    def end(self, sharers: int = 1) -> None:
        """Note that it has ended. So many shards share the worker's time."""
        now = self._clock()
        self._next_at = max(self._began + self._least, now + (now - self._began) * sharers / MOST_SHARE)
