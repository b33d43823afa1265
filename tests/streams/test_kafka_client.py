"""What is asked of kafka-python comes back, or is given up: it has limits of its own, and they are not relied on."""

from __future__ import annotations

import threading
import time

import pytest
from kafka.errors import KafkaTimeoutError, NodeNotReadyError

from stream_bayes.streams.kafka.connection import Connection
from stream_bayes.streams.kafka.python_client import GRACE_SECONDS, bounded


def test_an_answer_or_an_error_comes_back_as_it_is() -> None:
    assert bounded(lambda: 3, 5) == 3

    def fails() -> int:
        raise NodeNotReadyError("one")

    with pytest.raises(NodeNotReadyError, match="one"):
        bounded(fails, 5)


def test_a_question_that_does_not_come_back_is_given_up() -> None:
    never = threading.Event()
    began = time.monotonic()
    with pytest.raises(KafkaTimeoutError, match=r"did not come back in 0\.1 seconds"):
        bounded(never.wait, 0.1)
    assert time.monotonic() - began < 5
    never.set()


def test_a_start_gives_up_soon_enough_to_say_so_within_fifteen_seconds() -> None:
    to_load = 3.0  # seconds, for the program itself
    assert Connection(servers=("nobody:9092",)).seconds + GRACE_SECONDS + to_load <= 15.0
