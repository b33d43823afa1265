"""What is asked of a client comes back, or is given up: it has limits of its own, and they are not relied on."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError as ConfluentError
from kafka.errors import InvalidProducerEpochError, KafkaTimeoutError, LogTruncationError, NodeNotReadyError

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import MissingPackage, SourceError
from stream_bayes.kafka.clients import confluent, kafka_python
from stream_bayes.kafka.clients.client import ClientFailed, EpochLost, Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_reader, make_writer
from stream_bayes.kafka.clients.time_limits import GRACE_SECONDS, bounded
from tests.waiting import until

DAYS = Partition("days")


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


def test_an_error_holds_nothing_of_what_was_asked_once_it_was_dealt_with() -> None:
    class Client:
        def ask(self) -> None:
            raise NodeNotReadyError("one")

    client = Client()
    gone = weakref.ref(client)
    gc.disable()  # what is held in a circle would be let go of by chance
    try:
        with pytest.raises(NodeNotReadyError):
            bounded(client.ask, 60)
        del client
        until("nothing to be held", lambda: gone() is None)  # as soon as the thread that asked has ended
    finally:
        gc.enable()


ASKED = {
    "begin_transaction": lambda writer: writer.begin(),
    "consumer_group_metadata": lambda writer: writer.send_offsets("group", {Partition("days"): 3}),
    "init_transactions": lambda writer: writer.fence(),
    "send_offsets_to_transaction": lambda writer: writer.send_offsets("group", {Partition("days"): 3}),
    "commit_transaction": lambda writer: writer.commit(),
    "abort_transaction": lambda writer: writer.abort(),
    "flush": lambda writer: writer.flush(),
}


@pytest.mark.parametrize("stuck", ASKED)
def test_a_writer_gives_up_a_call_of_librdkafka_that_does_not_keep_to_its_limit(
    monkeypatch: pytest.MonkeyPatch, stuck: str
) -> None:
    never = threading.Event()
    monkeypatch.setattr(confluent, "Producer", partial(StuckClient, never, stuck))
    own = stuck if stuck == "consumer_group_metadata" else "close"
    monkeypatch.setattr(confluent, "Consumer", partial(StuckClient, never, own))
    monkeypatch.setattr(confluent, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(confluent, "CLOSE_SECONDS", 0.1)
    monkeypatch.setattr(confluent, "LOCAL_SECONDS", 0.2)
    connection = Connection(servers=("nobody:9092",), client="confluent-kafka", seconds=0.1)
    writer = confluent.ConfluentWriter(connection, "me", seconds=0.1, max_message_bytes=10_000)
    try:
        with pytest.raises(Interrupted, match=r"did not come back in 0\.2 seconds"):
            ASKED[stuck](writer)
    finally:
        never.set()


@pytest.mark.parametrize(
    ("module", "name", "reader"),
    [
        (kafka_python, "KafkaConsumer", kafka_python.PythonReader),
        (confluent, "Consumer", confluent.ConfluentReader),
    ],
)
def test_a_reader_lets_go_of_a_client_that_does_not_end(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, reader: Callable[..., Any]
) -> None:
    never = threading.Event()
    monkeypatch.setattr(module, name, lambda *args, **settings: StuckClient(never, "close"))
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.1)
    made = reader(Connection(servers=("nobody:9092",)), fetch_max_bytes=10_000)
    began = time.monotonic()
    made.close()
    assert time.monotonic() - began < 60
    assert not never.is_set()
    never.set()


@pytest.mark.parametrize("stuck", ["purge", "flush", "__del__"])
def test_a_writer_lets_go_of_a_client_that_does_not_end(monkeypatch: pytest.MonkeyPatch, stuck: str) -> None:
    never = threading.Event()
    monkeypatch.setattr(confluent, "Producer", partial(StuckClient, never, stuck))
    monkeypatch.setattr(confluent, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(confluent, "CLOSE_SECONDS", 0.1)
    connection = Connection(servers=("nobody:9092",), client="confluent-kafka")
    writer = confluent.ConfluentWriter(connection, "me", seconds=1.0, max_message_bytes=10_000)
    writer.close()  # whoever waits without end never comes back from this
    writer.close()  # there is nothing left to let go of
    never.set()


def test_a_writer_that_was_closed_is_collected_without_waiting_for_what_it_did_not_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Producer(StuckClient):
        _closed = False

        def close(self, timeout: float) -> None:
            raise KafkaTimeoutError("there is something left to send")

    producer: Any = Producer(threading.Event(), "nothing")
    producer._sender = producer
    monkeypatch.setattr(kafka_python, "KafkaProducer", lambda **settings: producer)
    connection = Connection(servers=("nobody:9092",))
    kafka_python.PythonWriter(connection, "me", seconds=1.0, max_message_bytes=10_000).close()
    assert producer._closed  # the client's `__del__` asks for it


class OvertakenProducer:
    """A producer whose records fail after another worker has taken over."""

    _closed = True

    def send(self, *record: Any) -> Any:
        def get(timeout: float) -> Any:
            raise InvalidProducerEpochError

        return SimpleNamespace(is_done=False, get=get)

    def produce(self, topic: str, value: Any, key: Any, partition: int, on_delivery: Any) -> None:
        on_delivery(ConfluentError(ConfluentError.INVALID_PRODUCER_EPOCH), None)

    def close(self, timeout: float) -> None: ...


@pytest.mark.parametrize(
    ("module", "name", "writer"),
    [
        (kafka_python, "KafkaProducer", kafka_python.PythonWriter),
        (confluent, "Producer", confluent.ConfluentWriter),
    ],
    ids=["kafka-python", "confluent-kafka"],
)
def test_the_place_of_a_record_that_another_worker_overtook_is_a_lost_epoch(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, writer: Any
) -> None:
    monkeypatch.setattr(module, name, lambda *_, **settings: OvertakenProducer())
    made = writer(Connection(servers=("nobody:9092",)), "me", seconds=1.0, max_message_bytes=10_000)
    made._known_topics = {"days"}
    offset = made.send("days", 0, None, b"{}")
    with pytest.raises(EpochLost):
        offset()


READ = {
    "assign": lambda reader: reader.assign({DAYS: 3}),
    "poll": lambda reader: reader.poll(10, 0.1),
    "position": lambda reader: reader.position(DAYS),
    "pause": lambda reader: reader.pause([DAYS]),
    "resume": lambda reader: reader.resume([DAYS]),
}
CLIENTS = {
    "kafka-python": (kafka_python, "KafkaConsumer", kafka_python.PythonReader),
    "confluent-kafka": (confluent, "Consumer", confluent.ConfluentReader),
}
COMMON = [name for name in READ if name != "position"]  # which only one of them asks for


def reader_of(client: str, consumer: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    module, name, reader = CLIENTS[client]
    monkeypatch.setattr(module, name, lambda *args, **settings: consumer)
    return reader(Connection(servers=("nobody:9092",), client=client), fetch_max_bytes=10_000)


@pytest.mark.parametrize(
    ("client", "asked"),
    [("kafka-python", name) for name in READ] + [("confluent-kafka", name) for name in COMMON],
)
def test_whatever_a_client_raises_it_is_the_client_that_failed(
    monkeypatch: pytest.MonkeyPatch, client: str, asked: str
) -> None:
    reader = reader_of(client, FailingClient(asked, RuntimeError("Concurrent access")), monkeypatch)
    with pytest.raises(ClientFailed, match="the client failed: RuntimeError"):
        READ[asked](reader)


@pytest.mark.parametrize(
    ("client", "asked"),
    [("kafka-python", "poll"), ("kafka-python", "position"), ("confluent-kafka", "assign")],
)
def test_a_reader_gives_up_a_call_that_does_not_come_back(
    monkeypatch: pytest.MonkeyPatch, client: str, asked: str
) -> None:
    never = threading.Event()
    reader = reader_of(client, StuckClient(never, asked), monkeypatch)
    for module in (kafka_python, confluent):
        monkeypatch.setattr(module, "LOCAL_SECONDS", 0.1)
    monkeypatch.setattr(kafka_python, "POSITION_SECONDS", 0.1)
    try:
        with pytest.raises(ClientFailed, match="did not come back"):
            READ[asked](reader)
    finally:
        never.set()


def test_how_far_was_read_may_not_be_known_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of("kafka-python", StuckClient(threading.Event(), "nothing"), monkeypatch)
    with pytest.raises(Interrupted, match="has no position yet"):
        reader.position(DAYS)


def test_a_log_that_lost_its_end_is_not_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of("kafka-python", FailingClient("poll", LogTruncationError({})), monkeypatch)
    with pytest.raises(SourceError, match="no longer holds the position to read next"):
        reader.poll(10, 0.1)


def test_nothing_is_left_of_a_client_that_could_not_be_made() -> None:
    networks: list[Any] = []

    def make(kafka_client: Callable[..., Any], **settings: Any) -> None:
        networks.append(kafka_client(**settings)._net)
        networks[0].start()
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        kafka_python.make_client(make, 60, bootstrap_servers=["127.0.0.1:1"])
    assert networks[0]._closed and networks[0]._io_thread is None


def test_what_stopped_a_client_from_being_made_is_told_even_where_it_cannot_be_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(kafka_client: Callable[..., Any], **settings: Any) -> None:
        network = kafka_client(**settings)._net
        closing = FailingClient("close", AssertionError("it runs"))
        monkeypatch.setattr(network, "close", closing.close)
        networks.append(network)
        raise NodeNotReadyError("one")

    networks: list[Any] = []
    with pytest.raises(NodeNotReadyError, match="one"):
        kafka_python.make_client(make, 60, bootstrap_servers=["127.0.0.1:1"])
    monkeypatch.undo()
    networks[0].close()


class FailingClient:
    """Takes every call, and raises something at one of them."""

    _fetcher = SimpleNamespace(_next_partition_records=None)  # as of a consumer

    def __init__(self, fails: str, error: Exception) -> None:
        self.fails = fails
        self.error = error

    def __getattr__(self, name: str) -> Callable[..., None]:
        return self.fail if name == self.fails else self.take

    def fail(self, *args: Any, **settings: Any) -> None:
        raise self.error

    def take(self, *args: Any, **settings: Any) -> None:
        pass


class StuckClient:
    """Takes every call, and does not come back from one of them."""

    _fetcher = SimpleNamespace(_next_partition_records=None)  # as of a consumer

    def __init__(self, never: threading.Event, stuck: str, *args: Any, **settings: Any) -> None:
        self.never = never
        self.stuck = stuck

    def __getattr__(self, name: str) -> Callable[..., None]:
        return self.wait if name == self.stuck else self.take

    def __del__(self) -> None:
        if self.stuck == "__del__":
            self.wait()

    def wait(self, *args: Any, **settings: Any) -> None:
        assert self.never.wait(600)

    def take(self, *args: Any, **settings: Any) -> None:
        pass


@pytest.mark.parametrize(
    "make",
    [
        partial(make_reader, fetch_max_bytes=10_000),
        partial(make_writer, transactional_id=None, seconds=1.0, max_message_bytes=10_000),
    ],
)
def test_a_client_that_is_not_installed_is_told_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, make: Callable[..., object]
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    connection = Connection(servers=("nobody:9092",), client="confluent-kafka")
    with pytest.raises(MissingPackage, match=r"pip install '\.\[fast\]'"):
        make(connection)


def test_a_start_gives_up_soon_enough_to_say_so_within_fifteen_seconds() -> None:
    to_load = 5.0  # seconds, for the program itself, on a busy machine
    assert Connection(servers=("nobody:9092",)).seconds + GRACE_SECONDS + to_load <= 15.0
