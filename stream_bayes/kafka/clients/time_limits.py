"""Time limits on calls to a client.

Clients have time-outs of their own. These fail when a broker goes away at the wrong moment: kafka-python then waits for
a thread that has nothing left to do, and librdkafka for a coordinator that is gone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from stream_bayes.kafka.clients.client import ClientFailed

__all__ = ["CLOSE_SECONDS", "GRACE_SECONDS", "LOCAL_SECONDS", "bounded"]

T = TypeVar("T")

GRACE_SECONDS = 2.0  # added to a client's own time-out
CLOSE_SECONDS = 1.0  # for a client to end its threads and connections
LOCAL_SECONDS = 10.0  # for calls that need no broker, on a busy machine


def bounded(call: Callable[[], T], seconds: float) -> T:
    """Return or raise what a call to a client returns or raises.

    A call that does not return stays behind in its own thread; drop the client then.

    Raises
    ------
    ClientFailed
        If the call does not return in time.

    Examples
    --------
    >>> bounded(lambda: 3, seconds=60)
    3
    """
    outcomes: queue.SimpleQueue[tuple[list[T], BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcomes.put(([call()], None))
        except BaseException as error:  # raised again in the caller's thread
            outcomes.put(([], error))

    threading.Thread(target=run, name="kafka-call", daemon=True).start()
    try:
        returned, error = outcomes.get(timeout=seconds)
    except queue.Empty:
        raise ClientFailed(f"the client did not come back in {seconds:g} seconds") from None
    if error is not None:
        try:
            raise error
        finally:
            del error  # it holds this frame, and with it the client
    return returned[0]
