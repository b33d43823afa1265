"""SIGTERM and Ctrl-C: the first ends a run after its batch, the second ends the process at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["stopping_on_signals"]

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first signal inside a `with` block; the second acts as before. Main thread only.

    Examples
    --------
    >>> calls = []
    >>> with stopping_on_signals(lambda: calls.append("stop")):
    ...     signal.raise_signal(signal.SIGTERM)
    >>> calls
    ['stop']
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(number: int, frame: FrameType | None) -> None:
        restore()
        stop()

    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
