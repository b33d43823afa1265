"""What is asked of a client comes back, or is given up: it has limits of its own, and they are not relied on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from kafka.errors import NodeNotReadyError

from stream_bayes.core.event import Partition
from stream_bayes.errors import MissingPackage
from stream_bayes.streams.kafka import confluent_client, python_client
from stream_bayes.streams.kafka.bounded import GRACE_SECONDS, bounded
from stream_bayes.streams.kafka.clients import make_reader, make_writer
from stream_bayes.streams.kafka.connection import Connection
from stream_bayes.streams.kafka.transport import Interrupted


def test_an_answer_or_an_error_comes_back_as_it_is() -> None:
    assert bounded(lambda: 3, 5) == 3

    def fails() -> int:
        raise NodeNotReadyError("one")

    with pytest.raises(NodeNotReadyError, match="one"):
        bounded(fails, 5)


def test_a_question_that_does_not_come_back_is_given_up() -> None:
    never = threading.Event()
    began = time.monotonic()
    with pytest.raises(Interrupted, match=r"did not come back in 0\.1 seconds"):
        bounded(never.wait, 0.1)
    assert time.monotonic() - began < 60
    never.set()


ASKED = {
    "init_transactions": lambda writer: writer.fence(),
    "send_offsets_to_transaction": lambda writer: writer.offsets("group", {Partition("days"): 3}),
    "commit_transaction": lambda writer: writer.commit(),
    "abort_transaction": lambda writer: writer.abort(),
    "flush": lambda writer: writer.flush(),
}


@pytest.mark.parametrize("stuck", ASKED)
def test_a_writer_gives_up_a_call_of_librdkafka_that_does_not_keep_to_its_limit(
    monkeypatch: pytest.MonkeyPatch, stuck: str
) -> None:
    never = threading.Event()
    monkeypatch.setattr(confluent_client, "Producer", partial(StuckClient, never, stuck))
    monkeypatch.setattr(confluent_client, "Consumer", partial(StuckClient, never, "close"))
    monkeypatch.setattr(confluent_client, "GRACE_SECONDS", 0.1)
    connection = Connection(servers=("nobody:9092",), client="confluent-kafka", seconds=0.1)
    writer = confluent_client.ConfluentWriter(connection, "me", seconds=0.1, most_bytes=10_000)
    try:
        with pytest.raises(Interrupted, match=r"did not come back in 0\.2 seconds"):
            ASKED[stuck](writer)
    finally:
        never.set()


@pytest.mark.parametrize(
    ("module", "name", "reader"),
    [
        (python_client, "KafkaConsumer", python_client.PythonReader),
        (confluent_client, "Consumer", confluent_client.ConfluentReader),
    ],
)
def test_a_reader_lets_go_of_a_client_that_does_not_end(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, reader: Callable[..., Any]
) -> None:
    never = threading.Event()
    monkeypatch.setattr(module, name, lambda *told, **settings: StuckClient(never, "close"))
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.1)
    made = reader(Connection(servers=("nobody:9092",)), most_bytes=10_000)
    began = time.monotonic()
    made.close()
    assert time.monotonic() - began < 60
    assert not never.is_set()
    never.set()


class StuckClient:
    """Takes every call, and does not come back from one of them."""

    def __init__(self, never: threading.Event, stuck: str, *told: Any, **settings: Any) -> None:
        self.never = never
        self.stuck = stuck

    def __getattr__(self, name: str) -> Callable[..., None]:
        return self.wait if name == self.stuck else self.take

    def wait(self, *told: Any, **settings: Any) -> None:
        assert self.never.wait(600)

    def take(self, *told: Any, **settings: Any) -> None:
        pass


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
