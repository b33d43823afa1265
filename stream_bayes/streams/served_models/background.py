"""Background work on threads: a search while the stream continues.

The threads are daemons: a process that ends does not wait for a search. Nothing is lost, for a snapshot holds the data
that is searched, and a restart searches again.
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
        """Begin work in the background. Return the future of its result."""
        promised: Future[T] = Future()

        def run() -> None:
            try:
                result = work()
            except BaseException as error:
                promised.set_exception(error)
            else:
                promised.set_result(result)

        Thread(target=run, name="search", daemon=True).start()
        return promised
