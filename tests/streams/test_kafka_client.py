"""What is asked of kafka-python comes back, or is given up: it has limits of its own, and they are not relied on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from kafka.errors import KafkaTimeoutError, NodeNotReadyError

from stream_bayes.errors import MissingPackage
from stream_bayes.streams.kafka.clients import make_reader, make_writer
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
    assert time.monotonic() - began < 60
    never.set()


@pytest.mark.parametrize("make", [make_reader, partial(make_writer, transactional_id=None, seconds=1.0)])
def test_a_client_that_is_not_installed_is_told_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, make: Callable[..., object]
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    connection = Connection(servers=("nobody:9092",), client="confluent-kafka")
    with pytest.raises(MissingPackage, match=r"pip install 'stream-bayes\[fast\]'"):
        make(connection, most_bytes=10_000)


def test_a_start_gives_up_soon_enough_to_say_so_within_fifteen_seconds() -> None:
    to_load = 5.0  # seconds, for the program itself, on a busy machine
    assert Connection(servers=("nobody:9092",)).seconds + GRACE_SECONDS + to_load <= 15.0
