"""Questions to a client that come back, or are given up.

Clients have limits of their own, and these fail where a broker goes away at the wrong moment: kafka-python then waits
for a thread that waits for nothing, and librdkafka for a coordinator that is gone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from stream_bayes.streams.kafka.client import ClientFailed

__all__ = ["CLOSE_SECONDS", "GRACE_SECONDS", "OWN_SECONDS", "bounded"]

T = TypeVar("T")

GRACE_SECONDS = 2.0  # after a client's own limit
CLOSE_SECONDS = 1.0  # for a client to let go of its threads and connections
OWN_SECONDS = 10.0  # for what a client does by itself, with no broker, on a machine with much else to do


def bounded(question: Callable[[], T], seconds: float) -> T:
    """What a question to a client comes to, an error of the client's too.

    A question that does not come back stays behind in a thread of its own, and the client is to be dropped.

    Raises
    ------
    ClientFailed
        If it does not come back in time.

    Examples
    --------
    >>> bounded(lambda: 3, seconds=60)
    3
    """
    answers: queue.SimpleQueue[tuple[list[T], BaseException | None]] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(([question()], None))
        except BaseException as error:  # it belongs to whoever asked
            answers.put(([], error))

    threading.Thread(target=ask, name="kafka-question", daemon=True).start()
    try:
        found, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise ClientFailed(f"the client did not come back in {seconds:g} seconds") from None
    if error is not None:
        try:
            raise error
        finally:
            del error  # it holds this frame, and with it all that was asked
    return found[0]
