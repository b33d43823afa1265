"""Shards of a sum that are to be replaced, collected so that one new sum serves all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

__all__ = ["SumUpdates"]

L = TypeVar("L")


class SumUpdates(Generic[L]):
    """Replaces shards of a sum: those that come while a sum is taken wait, and the next one takes them together.

    A worker that starts brings many shards at once. A new sum for each would be a product of shards and names.

    `lock` is held while the sum changes. `apply` replaces shards and takes the sum, under the lock. If it raises,
    nothing has changed.

    Examples
    --------
    >>> taken = []
    >>> SumUpdates(threading.RLock(), taken.append).replace({0: "counts"})
    >>> taken
    [{0: 'counts'}]
    """

    def __init__(self, lock: AbstractContextManager[object], apply: Callable[[dict[int, L]], None]) -> None:
        self._lock = lock
        self._apply = apply
        self._waiting: dict[int, L] = {}
        self._waiting_lock = threading.Lock()

    def replace(self, shards: Mapping[int, L]) -> None:
        """Return once these shards are in the sum, or newer ones of the same numbers."""
        with self._waiting_lock:
            self._waiting |= shards
        with self._lock:
            with self._waiting_lock:
                taken, self._waiting = self._waiting, {}
            if not taken:  # another thread has taken them
                return
            try:
                self._apply(taken)
            except BaseException:
                others = {number: one for number, one in taken.items() if number not in shards}
                with self._waiting_lock:
                    self._waiting = others | self._waiting
                raise
