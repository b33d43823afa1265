"""Questions to a client that come back, or are given up.

Clients have limits of their own, and these fail where a broker goes away at the wrong moment: kafka-python then waits
for a thread that waits for nothing, and librdkafka for a coordinator that is gone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import NoReturn, TypeVar

from stream_bayes.streams.kafka.transport import Interrupted

__all__ = ["CLOSE_SECONDS", "GRACE_SECONDS", "bounded"]

T = TypeVar("T")

GRACE_SECONDS = 2.0  # after a client's own limit
CLOSE_SECONDS = 1.0  # for a client to let go of its threads and connections


def bounded(question: Callable[[], T], seconds: float) -> T:
    """What a question to a client comes to, an error of the client's too.

    A question that does not come back stays behind in a thread of its own, and the client is to be dropped.

    Raises
    ------
    Interrupted
        If it does not come back in time.

    Examples
    --------
    >>> bounded(lambda: 3, seconds=60)
    3
    """
    answers: queue.SimpleQueue[Callable[[], T]] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = question()
        except BaseException as error:  # it belongs to whoever asked
            fault = error
            answers.put(lambda: _raised(fault))
        else:
            answers.put(lambda: found)

    threading.Thread(target=ask, name="kafka-question", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise Interrupted(f"the client did not come back in {seconds:g} seconds") from None
    return answer()


def _raised(error: BaseException) -> NoReturn:
    raise error
