"""Pipelines over topics of Avro, with a schema registry; one that is away is waited for, and no record is dropped."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import BrokerAway
from stream_bayes.kafka.clients.connection import CLIENTS
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.broker import NoBroker
from tests.kafka_broker.registry import Registry, program
from tests.kafka_broker.topics import KafkaTopics, days
from tests.streams.records.registry_stub import RegistryStub, framed, registry_stub
from tests.waiting import TO_BEGIN, until

OLD = {
    "type": "record",
    "name": "Day",
    "fields": [
        {"name": "sky", "type": ["null", "string"], "default": None},
        {"name": "wind", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}},
        {"name": "y", "type": {"type": "enum", "name": "Rain", "symbols": ["rain", "dry"]}},
    ],
}
NEW = {**OLD, "fields": [{"name": "place", "type": "string", "default": "Ulm"}, *OLD["fields"]]}
KEY = {"type": "record", "name": "Key", "fields": [{"name": "day", "type": "string"}]}


def avro_days(count: int, ids: tuple[int, int, int]) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return days of two versions, by turns, with keys of Avro."""
    old, new, key = ids
    records: list[tuple[int, bytes | None, bytes | None]] = []
    for number, (_, name, value) in enumerate(days(count)):
        assert name is not None and value is not None
        day = json.loads(value)
        content = day | {"wind": Decimal(f"{day['wind']:.3f}"), "place": "Bonn"}
        is_new = number % 2 == 1
        raw = framed(new if is_new else old, NEW if is_new else OLD, content)
        records.append((0, framed(key, KEY, {"day": name.decode()}), raw))
    return records


def pipeline(
    topics: KafkaTopics, directory: Path, topic: str, url: str, client: str, outputs: str | None = None
) -> Engine:
    table = {
        "name": f"{topic}-avro",
        "kafka": {"servers": [topics.servers], "client": client, "seconds": TO_BEGIN},
        "source": {
            "kind": "kafka",
            "topic": topic,
            "target": "y",
            "decoder": "avro",
            "registry": {"url": url},
        },
        "model": {"kind": "nb"},
        "predictions": {"kind": "kafka", "topic": outputs or topics.topic(1)},
        "dead_letters": {"kind": "kafka", "topic": topics.topic(1)},
        "snapshots": {"directory": str(directory)},
        "batch": 10,
    }
    return build(checked(table), directory)


@pytest.fixture
def stub() -> Iterator[RegistryStub]:
    """A registry of the schemas of days, with the ids 0, 1 and 2."""
    with registry_stub() as stub:
        for number, schema in enumerate((OLD, NEW, KEY)):
            stub.add(number, schema)
        yield stub


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    try:
        program()
    except NoBroker as error:
        pytest.skip(f"no schema registry: {error}")
    registry = Registry(tmp_path_factory.mktemp("registry"))
    registry.start()
    yield registry
    registry.stop()


def test_two_versions_with_apicurio_are_learned_as_the_same_records_of_json(
    kafka_topics: KafkaTopics, apicurio: Registry, tmp_path: Path
) -> None:
    topic = kafka_topics.topic(1)
    ids = (
        apicurio.register(f"{topic}-value", OLD),
        apicurio.register(f"{topic}-value", NEW),
        apicurio.register(f"{topic}-key", KEY),
    )
    assert len(set(ids)) == 3
    broken = framed(999_999, OLD, {"sky": None, "wind": Decimal("1"), "y": "dry"})
    kafka_topics.put(topic, [*avro_days(40, ids), (0, b"k", broken), (0, b"k", b'{"sky": 1}')])
    engine: Any = pipeline(kafka_topics, tmp_path / "state", topic, apicurio.url, CLIENTS[0])
    assert engine.run(42).processed == 42 and engine.step.learned == 40
    letters = kafka_topics.get(engine.dead_letters.topic)
    assert [dict(letter.headers)["error"] for letter in letters] == [b"unknown_schema", b"not_framed"]
    answers = [json.loads(answer.value) for answer in kafka_topics.get(engine.predictions.topic)]
    assert [answer["key"] for answer in answers] == [f"day-{number}" for number in range(40)]
    # The same records as JSON give the same counts.
    plain = kafka_topics.topic(1)
    records = []
    for number, (_, key, value) in enumerate(days(40)):
        assert value is not None
        content = ({"place": "Bonn"} if number % 2 else {}) | json.loads(value)
        records.append((0, key, json.dumps(content).encode()))
    kafka_topics.put(plain, records)
    table = {
        "name": f"{plain}-json",
        "kafka": {"servers": [kafka_topics.servers]},
        "source": {"kind": "kafka", "topic": plain, "target": "y"},
        "model": {"kind": "nb"},
    }
    other: Any = build(checked(table), tmp_path)
    other.run(40)
    assert learned(engine) == learned(other)


def learned(engine: Engine) -> bytes:
    """Return the state of what was learned."""
    return Snapshot(learner="NaiveBayes", sections={"model": engine.step.freeze()()["model"]}).to_bytes()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_registry_that_is_away_is_waited_for_and_no_record_is_dropped(
    kafka_topics: KafkaTopics, tmp_path: Path, stub: RegistryStub, client: str
) -> None:
    topic = kafka_topics.topic(1)
    kafka_topics.put(topic, avro_days(30, (0, 1, 2)))
    engine: Any = pipeline(kafka_topics, tmp_path / "state", topic, stub.url, client)
    away_from_its_third_request(stub)
    seen: list[bool] = []

    def come_back() -> None:
        until("the source to miss its registry", lambda: len(stub.requests) > 4)
        seen.append(until("the run to be unhealthy", lambda: not engine.healthy))
        stub.status = None

    waiter = threading.Thread(target=come_back)
    waiter.start()
    assert engine.run(30).processed == 30
    waiter.join()
    assert seen == [True]
    assert engine.step.learned == 30 and len(kafka_topics.get(engine.predictions.topic)) == 30
    assert kafka_topics.get(engine.dead_letters.topic) == []


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("rebuild", [False, True])
def test_a_replay_waits_for_its_registry_and_gives_what_live_gave(
    kafka_topics: KafkaTopics,
    tmp_path: Path,
    stub: RegistryStub,
    client: str,
    rebuild: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic, answers = kafka_topics.topic(1), kafka_topics.topic(1)
    kafka_topics.put(topic, avro_days(30, (0, 1, 2)))

    def engine() -> Engine:
        stub.requests.clear()
        return pipeline(kafka_topics, tmp_path / "state", topic, stub.url, client, answers)

    live = engine()
    live.watch(raising_at(30))
    with pytest.raises(KeyboardInterrupt):  # without a last snapshot: a start replays everything
        live.run()
    of_live, journal = learned(live), f"{topic}-avro.journal"
    before = kept(tmp_path / "state"), kafka_topics.end(journal)

    stopped: Any = engine()
    away_from_its_third_request(stub)
    waiter = threading.Thread(target=stop_when_away, args=(stub, stopped))
    waiter.start()
    assert stopped.run(rebuild=rebuild).processed < 30
    waiter.join()
    if rebuild:
        assert (kept(tmp_path / "state"), kafka_topics.end(journal)) == before
    stub.status = None

    waiting: Any = engine()
    away_from_its_third_request(stub)
    waiter = threading.Thread(target=come_back_when_away, args=(stub,))
    waiter.start()
    assert waiting.run(0, rebuild=rebuild).replayed == 30
    waiter.join()
    assert "the replay of" in caplog.text and "returned HTTP 503" in caplog.text
    assert learned(waiting) == of_live
    assert len(kafka_topics.get(answers)) == 30


def test_a_rebuild_without_its_registry_is_an_error_that_names_it_and_changes_nothing(
    kafka_topics: KafkaTopics, tmp_path: Path, stub: RegistryStub
) -> None:
    topic, answers = kafka_topics.topic(1), kafka_topics.topic(1)
    kafka_topics.put(topic, avro_days(30, (0, 1, 2)))
    pipeline(kafka_topics, tmp_path / "state", topic, stub.url, CLIENTS[0], answers).run(until_end=True)
    before = kept(tmp_path / "state"), kafka_topics.end(f"{topic}-avro.journal")
    stub.status = 503
    again = pipeline(kafka_topics, tmp_path / "state", topic, stub.url, CLIENTS[0], answers)
    with pytest.raises(BrokerAway, match=rf"schema registry at {stub.url} returned HTTP 503"):
        again.run(0, rebuild=True)
    assert (kept(tmp_path / "state"), kafka_topics.end(f"{topic}-avro.journal")) == before


def kept(directory: Path) -> dict[str, bytes]:
    """Return the snapshots in a directory."""
    found = {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix == ".zip"}
    assert found
    return found


def raising_at(count: int) -> Callable[[Progress], None]:
    """Return a watcher that ends a run at once after so many records."""

    def watch(progress: Progress) -> None:
        if progress.processed >= count:
            raise KeyboardInterrupt

    return watch


def stop_when_away(stub: RegistryStub, engine: Engine) -> None:
    until("the replay to miss its registry", lambda: len(stub.requests) > 4)
    engine.stop()


def come_back_when_away(stub: RegistryStub) -> None:
    until("the replay to miss its registry", lambda: len(stub.requests) > 4)
    stub.status = None


def away_from_its_third_request(stub: RegistryStub) -> None:
    """Let the registry fail once a start was checked and a schema was returned."""
    answer = stub.answer

    def fails(path: str, headers: Any) -> tuple[int, object]:
        if len(stub.requests) == 3:
            stub.status = 503
        return answer(path, headers)

    stub.answer = fails  # type: ignore[method-assign]  # a registry that fails


def test_a_start_without_its_registry_is_an_error_that_names_it_and_changes_nothing(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    topic = kafka_topics.topic(1)
    engine = pipeline(kafka_topics, tmp_path / "state", topic, "http://127.0.0.1:1", CLIENTS[0])
    with pytest.raises(BrokerAway, match=r"schema registry at http://127.0.0.1:1 does not respond"):
        engine.run(0)
    assert not (tmp_path / "state").exists() and f"{topic}-avro.journal" not in kafka_topics.names()
