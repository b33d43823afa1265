"""Many workers, one model: the sum of all shards is one pass over all records, whoever dies and whatever moves."""

from __future__ import annotations

import json
import logging
import math
import os
import random
import signal
import threading
import time
import tomllib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.errors import BadState, BrokerError, Fenced, NoSnapshot
from stream_bayes.kafka.clients.connection import CLIENTS, Connection
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.learners.factory import make_learner
from stream_bayes.mail import SpamFilter
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.workers.follower import follow
from stream_bayes.workers.metrics import WorkerMetrics
from stream_bayes.workers.pipeline.rescale import rescale
from stream_bayes.workers.worker import Worker
from tests.cli.test_snapshots import run as run_command
from tests.kafka_broker.sharing import Shards, assert_equal
from tests.kafka_broker.topics import KafkaTopics, days
from tests.waiting import until

# From SIGTERM of a worker to the last answer of the others, to records that are written after it.
STOP_SECONDS = 3.0


@pytest.fixture
def made(kafka_topics: KafkaTopics) -> Iterator[Any]:
    pipelines: list[Shards] = []

    def make(**told: Any) -> Shards:
        pipelines.append(Shards(kafka_topics, **told))
        return pipelines[-1]

    yield make
    for pipeline in pipelines:
        pipeline.close()


def counts_of(worker: Worker) -> dict[Any, Any]:
    """Return the counts of a worker's sum by name."""
    model: Any = worker.total.model
    return dict(model.store.by_name())


def metrics_of(worker: Worker) -> dict[str, float]:
    """Return a worker's figures at /metrics that are one number, by the ends of their names."""
    samples = [sample for metric in WorkerMetrics(worker).collect() for sample in metric.samples]
    return {
        sample.name.removeprefix("stream_bayes_"): sample.value
        for sample in samples
        if set(sample.labels) == {"pipeline"}
    }


def holds(worker: Worker, expected: dict[Any, Any]) -> bool:
    """Return True once a worker's sum has all samples."""
    return bool(counts_of(worker).get(("rain",)) == expected[("rain",)])


KILLS = int(os.environ.get("STREAM_BAYES_KILLS", "100"))  # in the long test; every fifth while publishing
PAUSED_SECONDS = 60.0

ONE_IN_SUITE = [CLIENTS[0], pytest.param(CLIENTS[1], marks=pytest.mark.soak)]
OTHER_IN_SUITE = [pytest.param(CLIENTS[0], marks=pytest.mark.soak), CLIENTS[1]]


@pytest.mark.parametrize("client", ONE_IN_SUITE)
def test_workers_come_and_go_and_the_sum_is_one_pass(made: Any, client: str) -> None:
    shards = made(client=client)
    shards.put(800)
    first = shards.run()
    assert first.summary()["records"] == 800
    assert_equal(counts_of(first), shards.offline().model.model.store.by_name())
    workers = [shards.worker() for _ in range(2)]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        until("shards of both", lambda: all(len(worker.owned) in (1, 2, 3) for worker in workers))
        shards.put(400, seed=8)
        shards.wait_for(1200)
        expected = shards.offline().model.model.store.by_name()
        for worker in workers:  # each predicts from the whole sum
            until("the sum", partial(holds, worker, expected))
            assert_equal(counts_of(worker), expected)
        metrics = [metrics_of(worker) for worker in workers]
        assert sum(each["shards_owned"] for each in metrics) == 4
        assert sum(each["records_total"] for each in metrics) == 400
        for each in metrics:
            assert each["shards_owned"] >= 1
            assert each["rebalances_total"] >= 1
            assert each["publications_total"] >= 1
            assert each["published_bytes_total"] > 1000
            assert each["publications_applied_total"] >= 4
            assert 0 < each["oldest_shard_age_seconds"] < 60
            assert 0 < each["restore_seconds"] < 60
    finally:
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join(60)
    for worker, before in zip(
        workers, metrics, strict=True
    ):  # what is counted stays when the shards are gone
        after = metrics_of(worker)
        assert after["shards_owned"] == 0
        assert all(after[name] >= before[name] for name in before if name.endswith("_total"))
    shards.check(1200)
    done = rescale(checked(shards.pipeline_of(None)), 3)
    assert done.has_changed and done.events == 1200
    shards.pipeline["workers"]["shards"] = 3
    shards.put(200, seed=9)
    assert shards.run().summary()["records"] == 200
    shards.check(1400)


Rows = list[tuple[int, bytes | None, bytes | None]]


def labelled(count: int, partitions: int) -> tuple[Rows, Rows]:
    """Return samples and their labels; of each ten labels one is corrected and one withdrawn."""
    samples: Rows = []
    labels: Rows = []
    for number, (partition, key, value) in enumerate(days(count, partitions)):
        x = json.loads(value or b"")
        y = x.pop("y")
        samples.append((partition, key, json.dumps(x).encode()))
        labels.append((partition, key, json.dumps({"y": y}).encode()))
        if number % 10 == 3:
            labels.append((partition, key, json.dumps({"y": "dry" if y == "rain" else "rain"}).encode()))
        if number % 10 == 7:
            labels.append((partition, key, None))
    return samples, labels


@pytest.mark.soak
@pytest.mark.parametrize("count", [4, 8])
def test_the_sum_of_many_workers_is_one_pass_with_late_labels_too(
    made: Any, kafka_topics: KafkaTopics, count: int
) -> None:
    shards = made(shards=8, partitions=8, labels=True)
    shards.pipeline["labels"]["on_tombstone"] = "unlearn"
    samples, labels = labelled(800, 8)
    kafka_topics.put(shards.topic, samples)
    workers = [shards.worker() for _ in range(count)]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        shards.wait_for(800)
        kafka_topics.put(shards.labels, labels)
        shards.wait_for(800 + len(labels))
        expected = shards.offline().model.model.store.by_name()
        for worker in workers:
            until("the sum", partial(holds, worker, expected))
            assert_equal(counts_of(worker), expected)
        assert sum(len(worker.owned) for worker in workers) == 8
    finally:
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join(60)
    shards.check(800)


def test_labels_corrections_and_withdrawals_are_summed_too(made: Any, kafka_topics: KafkaTopics) -> None:
    shards = made(shards=2, partitions=4, labels=True)
    samples, labels = labelled(400, 4)
    shards.pipeline["labels"]["on_tombstone"] = "unlearn"
    kafka_topics.put(shards.topic, samples)
    shards.run()  # half of it without labels: they are held
    kafka_topics.put(shards.labels, labels)
    worker = shards.run()
    assert worker.summary()["records"] == len(labels)
    step = shards.offline()
    assert step.pending is not None
    assert step.pending.counts["corrected"] == 40
    assert step.unlearned == 40
    shards.check(400)


@pytest.mark.parametrize("client", OTHER_IN_SUITE)
def test_workers_that_are_killed_lose_and_repeat_nothing(made: Any, client: str) -> None:
    shards = made(client=client)
    shards.put(400)
    count = 400
    dying = shards.start(instance_id="a", publish_and_die=3)
    other = shards.start(instance_id="b")
    deadline = time.monotonic() + 60.0
    while (
        dying._process.exitcode is None and time.monotonic() < deadline
    ):  # whichever shards it gets have records
        shards.put(40, seed=count)
        count += 40
        time.sleep(0.2)
    assert dying.ended() == -signal.SIGKILL
    again = shards.start(instance_id="a")
    shards.wait_for(count - 40)
    other.send_signal(signal.SIGKILL)
    shards.put(200, seed=9)
    count += 200
    shards.wait_for(count)
    again.send_signal(signal.SIGTERM)
    assert again.ended() == 0, again.stderr_text()
    shards.check(count)


@pytest.mark.parametrize("client", ONE_IN_SUITE)
def test_shards_of_a_worker_that_dies_while_they_are_revoked_find_another(made: Any, client: str) -> None:
    shards = made(client=client)
    shards.put(100)
    dying = shards.start(instance_id="a", revoke_and_die=True)
    shards.wait_for(100)
    shards.start(instance_id="b")
    assert dying.ended() == -signal.SIGKILL
    shards.start(
        instance_id="a"
    )  # it gets what is left of its shards, and the group has no reason to rebalance
    shards.put(100, seed=8)
    shards.wait_for(200, 60.0)
    shards.check(200)


@pytest.mark.soak
@pytest.mark.parametrize("client", CLIENTS)
def test_a_worker_that_was_paused_drops_its_shards_and_joins_again(made: Any, client: str) -> None:
    shards = made(client=client)
    shards.put(400)
    paused = shards.start()
    shards.wait_for(400)
    paused.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    shards.put(400, seed=8)
    shards.start()
    shards.wait_for(800)
    time.sleep(max(0.0, PAUSED_SECONDS - (time.monotonic() - began)))
    paused.send_signal(signal.SIGCONT)
    shards.put(400, seed=9)
    shards.wait_for(1200)
    time.sleep(3.0)
    shards.put(400, seed=10)
    shards.wait_for(1600)
    assert paused._process.exitcode is None, paused.stderr_text()
    for process in shards.processes:
        process.send_signal(signal.SIGTERM)
        assert process.ended() == 0, process.stderr_text()
    shards.check(1600)


def test_a_second_worker_of_one_instance_id_ends_one_of_them(made: Any) -> None:
    shards = made(client="confluent-kafka", shards=1, partitions=1)
    shards.put(100)
    first = shards.worker("one")
    failures: list[BaseException] = []

    def run() -> None:
        try:
            first.run()
        except Fenced as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    shards.wait_for(100)
    second = shards.worker("one")
    other = threading.Thread(target=second.run)
    other.start()
    try:
        until("the first to be fenced", lambda: failures)
        assert "instance id 'one'" in str(failures[0])
    finally:
        first.stop()
        second.stop()
        thread.join(60)
        other.join(60)
    shards.check(100)


def test_shards_of_numbers_share_the_cuts_that_were_found_in_their_topic(
    made: Any, kafka_topics: KafkaTopics
) -> None:
    shards = made(shards=2, partitions=2)
    shards.put(300)
    found = run_command(
        "cuts", shards.topic, "--servers", kafka_topics.servers, "--target", "y", "--bins", "4"
    )
    assert found.exit_code == 0, found.stderr
    tables = tomllib.loads(found.stdout)
    assert len(tables["schema"]["features"]["wind"]["cuts"]) == 3
    shards.pipeline |= {"model": {"kind": "aode"}} | tables
    worker = shards.run()
    alone = make_learner("aode", schema=checked(shards.pipeline).schema_of_stream())
    for record in kafka_topics.get(shards.topic):
        x = json.loads(record.value)
        alone.learn_one(x, x.pop("y"))
    assert counts_of(worker) == alone.store.by_name()
    with shards.follow() as model:
        assert model.model.store.by_name() == alone.store.by_name()


def test_a_spam_filter_is_shared_and_followed(made: Any, kafka_topics: KafkaTopics) -> None:
    shards = made(shards=2, partitions=2)
    shards.pipeline["model"] = {"kind": "spam-filter"}
    chance, alone = random.Random(3), SpamFilter()
    mails: list[tuple[int, bytes | None, bytes | None]] = []
    for number in range(200):
        label = "spam" if chance.random() < 0.5 else "ham"
        words = ["free", "pills", "offer"] if label == "spam" else ["lunch", "notes", "plan"]
        mail = {"text": " ".join(chance.choices(words, k=4)), "id": str(number), "y": label}
        mails.append((number % 2, str(number).encode(), json.dumps(mail).encode()))
        alone.learn_one(mail["text"], label, id=str(number))
    kafka_topics.put(shards.topic, mails[:100])
    shards.run()
    kafka_topics.put(shards.topic, mails[100:])
    assert shards.run().summary()["records"] == 100  # the other half was in the snapshots and the journal
    with shards.follow() as model:
        assert model.model.export_counts() == alone.export_counts()
        assert model.predict_one({"text": "free pills"}) == "spam"
        assert model.predict_proba_one({"text": "lunch plan"})["ham"] > 0.9


def test_shards_fade_by_the_times_of_their_samples(made: Any, kafka_topics: KafkaTopics) -> None:
    shards = made(shards=2, partitions=2)
    shards.pipeline["model"] = {"kind": "nb", "arguments": {"half_life": "90s"}}
    shards.pipeline["source"] |= {"time": "at"}
    alone = NaiveBayes(half_life="90s")
    records: list[tuple[int, bytes | None, bytes | None]] = []
    for number, (partition, key, value) in enumerate(days(200, 2)):
        day = json.loads(value or b"") | {"at": 1.7e9 + 10.0 * (number * 7 % 200)}
        records.append((partition, key, json.dumps(day).encode()))
        seconds = day.pop("at")
        alone.learn_one(day, day.pop("y"), at=seconds)
    kafka_topics.put(shards.topic, records)
    shards.run()
    with shards.follow() as model:
        found, expected = model.model.store.by_name(), alone.store.by_name()
        assert found.keys() == expected.keys()
        for name, weight in expected.items():
            assert found[name] == pytest.approx(weight, rel=1e-9, abs=1e-9)


# -- the local cache of snapshots --------------------------------------------------------------------------------------


def test_a_local_copy_of_the_state_is_used_where_it_is_as_new_and_never_needed(
    made: Any, caplog: pytest.LogCaptureFixture
) -> None:
    shards = made(shards=2, partitions=2)
    caplog.set_level(logging.INFO, "stream_bayes.workers.snapshot_topic")

    def run_on(machine: str, seed: int) -> int:
        """Run a worker to the end of 200 further records; return how many shards started from its copy."""
        caplog.clear()
        shards.put(200, seed=seed)
        worker = shards.worker(machine)
        worker.run(until_end=True)
        assert worker.summary()["records"] == 200
        return sum("which is as new as" in record.message for record in caplog.records)

    assert run_on("one", 1) == 0
    assert run_on("one", 2) == 2  # nobody else had its shards
    assert run_on("other", 3) == 0  # a machine without a copy
    assert run_on("one", 4) == 0  # with an old one
    for copy in shards.cache("one").iterdir():
        copy.write_bytes(copy.read_bytes()[:-1] + b"?")
    assert run_on("one", 5) == 0
    assert "is damaged" in caplog.text
    shards.check(1000)


# -- followers ---------------------------------------------------------------------------------------------------------


def test_a_follower_predicts_from_the_sum_and_keeps_up(made: Any) -> None:
    shards = made()
    with pytest.raises(BrokerError, match=r"there is no topic .*\.model"):
        shards.follow()
    shards.run()
    with pytest.raises(NoSnapshot, match="nothing was published"):
        shards.follow()
    shards.put(200)
    shards.run()
    with shards.follow() as model:
        assert model.events == 200
        assert model.predict_one({"sky": "grey", "wind": 5.0}) == "rain"
        before = model.model
        shards.put(200, seed=8)
        shards.run()
        until("the follower to keep up", lambda: sum(model.model.store.tables.class_weight) == 400)
        assert sum(before.store.tables.class_weight) == 200
        assert_equal(model.model.store.by_name(), shards.offline().model.model.store.by_name())


def test_publications_are_signed_where_a_key_is_given(
    made: Any, kafka_topics: KafkaTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "0123456789abcdef")
    shards = made(shards=2, workers={"key": "${MODEL_KEY}"})
    shards.put(100)
    shards.run()
    with pytest.raises(BadState, match="is signed"):
        shards.follow()
    with follow(shards.name, servers=kafka_topics.servers, key=b"0123456789abcdef") as model:
        assert model.events == 100


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_shared_is_refused_before_anything_is_created(
    made: Any, kafka_topics: KafkaTopics
) -> None:
    shards = made(labels=True)
    shards.pipeline["labels"]["topic"] = kafka_topics.topic(2)
    with pytest.raises(BrokerError, match=r"has 4 partitions, and .* has 2"):
        shards.run()
    shards = made(shards=8, partitions=4)
    with pytest.raises(BrokerError, match="at most 4 shards"):
        shards.run()
    assert not {f"{shards.name}.{part}" for part in ("journal", "model", "state")} & set(
        kafka_topics.admin.list_topics()
    )


def test_other_shards_other_settings_and_other_topics_are_refused(
    made: Any, kafka_topics: KafkaTopics
) -> None:
    shards = made(shards=2)
    shards.put(100)
    shards.run()
    shards.pipeline["workers"]["shards"] = 4
    with pytest.raises(BrokerError, match="Set the number back to 2; `stream-bayes rescale`"):
        shards.run()
    shards.pipeline["workers"]["shards"] = 2
    shards.pipeline["model"] = {"kind": "nb", "arguments": {"strength": 0.5}}
    with pytest.raises(BadState, match="was written with settings="):
        shards.run()
    shards.pipeline["model"] = {"kind": "nb"}
    kafka_topics.put(f"{shards.name}.model", [(0, b"0/end", b"{}")])
    with pytest.raises(BadState, match="did not write"):
        shards.run()


def test_a_model_topic_that_is_not_compacted_is_refused(made: Any, kafka_topics: KafkaTopics) -> None:
    shards = made(shards=2)
    kafka_topics.admin.create_topics({f"{shards.name}.model": {"num_partitions": 2, "replication_factor": 1}})
    until("the topic", lambda: f"{shards.name}.model" in kafka_topics.admin.list_topics())
    with pytest.raises(BrokerError, match="needs compact"):
        shards.run()


def test_partitions_that_were_added_are_read_if_there_are_no_labels(
    made: Any, kafka_topics: KafkaTopics
) -> None:
    shards = made(shards=2, partitions=2)
    shards.put(100)
    shards.run()
    kafka_topics.add_partitions(shards.topic, 5)
    shards.partitions = 5
    shards.put(100, seed=8)
    assert shards.run().summary()["records"] == 100
    shards.check(200)


def test_partitions_that_were_added_move_keys_and_are_refused_with_labels(
    made: Any, kafka_topics: KafkaTopics
) -> None:
    shards = made(shards=2, partitions=2, labels=True)
    shards.put(100)
    shards.run()
    assert shards.labels is not None
    for topic in (shards.topic, shards.labels):
        kafka_topics.add_partitions(topic, 4)
    with pytest.raises(BadState, match=r"had 2 partitions, and has 4 now.*stream-bayes rescale"):
        shards.run()


@pytest.mark.parametrize("client", CLIENTS)
def test_the_shards_of_a_worker_with_an_instance_id_that_is_stopped_move_at_once(
    made: Any, client: str
) -> None:
    shards = made(client=client, workers={"session_seconds": 45.0})
    shards.start(instance_id="b")
    put = 0
    gaps: list[float] = []
    while len(gaps) < 3 and min(gaps, default=math.inf) > STOP_SECONDS:  # a busy machine takes longer
        first = shards.start(instance_id="a")
        put += 200
        shards.put(200, seed=put)
        shards.wait_for(put)
        until("a group of both", lambda: settled_members(shards) == {"a", "b"})
        began = time.monotonic()
        first.send_signal(signal.SIGTERM)
        put += 200
        shards.put(200, seed=put)
        shards.wait_for(put)
        gaps.append(time.monotonic() - began)
        first.outcome()
    print(f"{client}: {', '.join(f'{gap:.1f}' for gap in gaps)} seconds from SIGTERM to the last record")
    assert min(gaps) <= STOP_SECONDS
    shards.check(put)


def settled_members(shards: Any) -> set[str | None]:
    """Return the instance ids of a settled group."""
    cluster = Cluster(Connection(servers=(shards.kafka_topics.servers,)))
    try:
        return {member.instance_id for member in cluster.settled_members(shards.name)}
    finally:
        cluster.close()


# -- soak --------------------------------------------------------------------------------------------------------------


@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("client", CLIENTS)
def test_many_kills_with_rebalances_lose_and_repeat_nothing(made: Any, client: str) -> None:
    shards = made(client=client)
    chance, count = random.Random(7), 0
    for kill in range(KILLS):
        shards.put(80, seed=kill)
        count += 80
        told = {"publish_and_die": chance.randint(1, 3)} if kill % 5 == 0 else {}
        ids = ["a", "b"] if kill % 3 else ["a"]
        for instance_id in ids:
            shards.start(instance_id=instance_id, **told)
            told = {}
        time.sleep(chance.uniform(0.5, 4.0))
        for process in shards.processes[-len(ids) :]:
            if process._process.exitcode is None:
                process.send_signal(signal.SIGKILL)
                process.ended()
    last = shards.start(instance_id="a")
    shards.wait_for(count, 600)
    last.send_signal(signal.SIGTERM)
    assert last.ended() == 0, last.stderr_text()
    shards.check(count)
