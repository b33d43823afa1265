"""Waiting, never without end: whoever waits says what for, and after so many seconds that it did not come."""

from __future__ import annotations

import faulthandler
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 180.0  # seconds, on a machine with much else to do: what takes so long has come to a standstill
TO_BEGIN = 60.0  # seconds for a client to begin, where nothing is in its way but that machine
PAUSE = 0.05


def within(seconds: float, do: Callable[[], T]) -> T:
    """Do something that takes less than so many seconds; on a busy machine it may do so only the second or third time.

    Examples
    --------
    >>> within(1.0, lambda: 3)
    3
    """
    for _ in range(3):
        began = time.monotonic()
        found = do()
        if time.monotonic() - began < seconds:
            return found
    raise AssertionError(f"it took {seconds:g} seconds or more, three times")


def until(what: str, look: Callable[[], T], seconds: float = PATIENCE) -> T:
    """Look until there is something, and give it back. Where nothing comes, it says too where all threads are.

    Examples
    --------
    >>> until("three", lambda: 3)
    3
    """
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            faulthandler.dump_traceback(all_threads=True)
            raise AssertionError(f"waited {seconds:g} seconds for {what}; the last look saw {found!r}")
        time.sleep(PAUSE)
