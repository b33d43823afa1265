"""Three brokers, and everything dies again and again: workers, leaders, all brokers at once.

A seed says when; it is printed, and STREAM_BAYES_SEED sets it. STREAM_BAYES_BROKER_KILLS and, for the kills of workers,
STREAM_BAYES_KILLS shorten a run; STREAM_BAYES_PAUSES those of pauses.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.kafka.clients.connection import CLIENTS
from tests.kafka_broker.broker import Broker, cluster_id
from tests.kafka_broker.conftest import have_jars
from tests.kafka_broker.sharing import Shards
from tests.kafka_broker.topics import KafkaTopics, Pipeline, days
from tests.kafka_broker.worker import INSIDE, POINTS
from tests.ports import free_ports
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600, func_only=True)]

BROKERS = 3
PARTITIONS = 4
EVENTS = 100_000
KILLS = 50
PAUSES = int(os.environ.get("STREAM_BAYES_PAUSES", "50"))
BROKER_KILLS = int(os.environ.get("STREAM_BAYES_BROKER_KILLS", "10"))
SETTINGS = ("default.replication.factor=3", "min.insync.replicas=2")
MINUTES = 900.0  # seconds for a worker, while brokers come and go


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Broker]]:
    have_jars()
    directory = tmp_path_factory.mktemp("three")
    free = free_ports(2 * BROKERS)
    ports = list(zip(free[::2], free[1::2], strict=True))
    cluster = cluster_id()
    brokers = [
        Broker(directory / f"broker-{number}", number, ports, cluster, SETTINGS)
        for number in range(1, BROKERS + 1)
    ]
    try:
        for broker in brokers:
            broker.start()
        for broker in brokers:
            broker.wait()
        yield brokers
    finally:
        for broker in brokers:
            broker.kill()


@pytest.fixture
def trio(brokers: list[Broker]) -> Iterator[KafkaTopics]:
    kafka_topics = KafkaTopics(",".join(broker.address for broker in brokers))
    kafka_topics.wait()
    yield kafka_topics
    kafka_topics.close()


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("STREAM_BAYES_SEED") or random.SystemRandom().randrange(10**6))
    print(f"STREAM_BAYES_SEED={seed}")
    return random.Random(seed)


@pytest.mark.parametrize("client", CLIENTS)
def test_fifty_kills_over_a_hundred_thousand_records_lose_and_repeat_nothing(
    trio: KafkaTopics, tmp_path: Path, chance: random.Random, client: str
) -> None:
    pipeline = Pipeline(trio, tmp_path / "state", PARTITIONS, client=client, batch=500, every_events=4000)
    trio.put(pipeline.topic, days(EVENTS, PARTITIONS, seed=chance.randrange(10**6)))
    try:
        kills = 0
        while kills < KILLS:
            point = chance.choice(POINTS)
            count = chance.randrange(1, 900) if point == "sends" else chance.randrange(1, 3)
            worker = pipeline.start(end_at=[point, count], limit=1500)  # or it comes to its end before
            assert worker.ended(MINUTES) in (0, -signal.SIGKILL), worker.stderr_text()
            kills += worker.ended() == -signal.SIGKILL
        assert pipeline.committed_count() < EVENTS
        pipeline.finish(EVENTS)
        pipeline.check(EVENTS)
    finally:
        pipeline.close()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="whether a process is stopped is read there")
@pytest.mark.parametrize("client", CLIENTS)
def test_pauses_before_inside_and_after_commits_lose_and_repeat_nothing(
    trio: KafkaTopics, tmp_path: Path, chance: random.Random, client: str
) -> None:
    pipeline = Pipeline(trio, tmp_path / "state", PARTITIONS, client=client, batch=100, every_events=1000)
    total = pauses = fenced = 0
    try:
        while pauses < PAUSES:
            trio.put(pipeline.topic, days(400, PARTITIONS, seed=chance.randrange(10**6)))
            total += 400
            point = chance.choice(("journal", "commit", INSIDE, INSIDE, "committed"))
            worker = pipeline.start(stop_at=[point, chance.randrange(1, 3)], limit=300)
            until("a worker to be stopped", worker.is_stopped_or_ended, MINUTES)
            if worker.is_stopped():
                pauses += 1
                if chance.random() < 0.8:  # else nobody takes over, and it goes on
                    assert pipeline.start(limit=100).ended(MINUTES) == 0
                worker.send_signal(signal.SIGCONT)
            is_fenced = worker.ended(MINUTES) != 0
            # One that was stopped in its start finds that the snapshots have another owner.
            told = worker.stderr_text()
            assert not is_fenced or "errors.Fenced" in told or "errors.NotOwner" in told, told
            fenced += is_fenced
        print(f"{client}: {pauses} pauses, {fenced} workers that were fenced")
        pipeline.finish(total)
        pipeline.check(total)
    finally:
        pipeline.close()


def test_leaders_that_die_and_hang_and_a_minute_without_brokers_lose_and_repeat_nothing(
    trio: KafkaTopics, brokers: list[Broker], tmp_path: Path, chance: random.Random
) -> None:
    told: dict[str, Any] = {"batch": 200, "every_events": 2000, "pause": 0.05, "stuck_seconds": 20.0}
    pipelines = [Pipeline(trio, tmp_path / client, PARTITIONS, client=client, **told) for client in CLIENTS]
    put = 0

    def feed(count: int = 5000) -> None:
        nonlocal put
        records = days(count, PARTITIONS, seed=chance.randrange(10**6))
        for pipeline in pipelines:
            trio.put(pipeline.topic, records)
        put += count

    def caught_up() -> bool:
        return all(pipeline.committed_count() == put for pipeline in pipelines)

    try:
        feed()
        workers = [pipeline.start() for pipeline in pipelines]
        for trouble in ("kill", "stop", "kill", "stop", "none"):
            feed()
            time.sleep(chance.uniform(1, 4))
            if trouble == "none":
                down = brokers
            else:
                down = [brokers[leader(trio, chance.choice(pipelines).topic) - 1]]
            for broker in down:
                if trouble == "stop":
                    broker.signal(signal.SIGSTOP)
                else:
                    broker.kill()
            time.sleep(60 if trouble == "none" else chance.uniform(5, 20))
            for broker in down:
                if trouble == "stop":
                    broker.signal(signal.SIGCONT)
                else:
                    broker.start()
            for broker in down:
                broker.wait()
            trio.wait()
            until(f"both workers to catch up after {trouble}", caught_up, MINUTES)
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        assert [worker.outcome(MINUTES)["taken"] for worker in workers] == [put, put]
        for pipeline in pipelines:
            pipeline.check(put)
    finally:
        for pipeline in pipelines:
            pipeline.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_workers_lose_and_repeat_nothing_while_brokers_are_killed_ten_times(
    trio: KafkaTopics, brokers: list[Broker], chance: random.Random, client: str
) -> None:
    shards, put = Shards(trio, client=client), 0

    def feed() -> None:
        nonlocal put
        trio.put(shards.topic, days(200, PARTITIONS, seed=chance.randrange(10**6)))
        put += 200

    try:
        workers = [shards.start(instance_id=name) for name in "ab"]
        for _ in range(BROKER_KILLS):
            feed()
            time.sleep(chance.uniform(0, 3))
            broker = chance.choice(brokers)
            broker.kill()
            feed()
            time.sleep(chance.uniform(1, 10))
            broker.start()
            broker.wait()
            trio.wait()
            shards.wait_for(put, MINUTES)
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
            assert worker.ended(MINUTES) == 0, worker.stderr_text()
        shards.check(put)
    finally:
        shards.close()


def leader(kafka_topics: KafkaTopics, topic: str) -> int:
    """The number of the broker that leads the first partition."""
    (told,) = kafka_topics.admin.describe_topics([topic])
    return int(told["partitions"][0]["leader_id"])
