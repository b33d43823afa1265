"""Work beside the loop, on threads of its own: a search that a stream goes on during.

A thread here is a daemon: a process that is told to end does not wait for a search. Nothing is lost by that, as what is
searched in is part of the snapshot, and a restart searches again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

__all__ = ["Background"]

T = TypeVar("T")


class Background:
    """Runs each piece of work on a thread of its own.

    Examples
    --------
    >>> Background().submit(lambda: 6 * 7).result()
    42
    """

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Begin some work; what it returns or raises is the `result()` of what is returned now."""
        promised: Future[T] = Future()

        def run() -> None:
            try:
                found = work()
            except BaseException as error:
                promised.set_exception(error)
            else:
                promised.set_result(found)

        Thread(target=run, name="search", daemon=True).start()
        return promised
