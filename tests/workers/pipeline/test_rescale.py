"""Another number of shards: sum, answers and late labels are those of one pass; killed anywhere, done or not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import (
    BadConfig,
    BadState,
    BrokerError,
    Fenced,
    NoSnapshot,
    SourceError,
    StreamBayesError,
)
from stream_bayes.kafka import transactions_in_doubt
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.workers.follower import Follower
from stream_bayes.workers.pipeline import rescale as module
from stream_bayes.workers.pipeline.rescale import rescale
from stream_bayes.workers.rescaling import reshard
from stream_bayes.workers.shard_topics import present_topics
from tests.kafka.fake_broker import (
    AFTER_COMMIT,
    BEFORE_COMMIT,
    NOT_ANSWERED,
    FakeBroker,
    FakeCluster,
    FakeWriter,
    Killed,
)
from tests.waiting import until
from tests.workers.fake_shards import NAME, FakeShards


def generation_of(shards: FakeShards) -> int:
    cluster: Any = FakeCluster(shards.broker, shards.connection)
    return present_topics(cluster, NAME, None).generation


@pytest.mark.parametrize(
    ("before", "after", "partitions", "added"),
    [(2, 4, 8, 0), (3, 2, 6, 0), (2, 6, 6, 6), (4, 4, 4, 3)],
    ids=["split", "joined and split", "partitions added", "only partitions added"],
)
def test_the_sum_and_the_answers_of_rescaled_shards_are_those_of_one_pass(
    before: int, after: int, partitions: int, added: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, before, partitions)
    shards.put_days(60)
    shards.run()
    if added:
        shards.broker.topic("weather", partitions + added)
    shards.put_days(40)
    done = rescale(shards.config(), after)
    assert done.has_changed == (before != after)
    shards.put_days(30)
    shards.run(after)
    shards.check()


@pytest.mark.parametrize(
    ("before", "after", "partitions", "added", "half_life"),
    [(2, 4, 8, 0, None), (3, 2, 6, 0, "1h"), (4, 2, 6, 6, None)],
    ids=["split", "joined and split, fading", "partitions added"],
)
def test_late_labels_corrections_and_withdrawals_meet_their_samples_after_a_rescale(
    before: int,
    after: int,
    partitions: int,
    added: int,
    half_life: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, before, partitions, labels=True, half_life=half_life)
    joined = shards.put_days(40)
    waiting = shards.put_days(20, labelled=False)
    shards.run()
    for topic in ("weather", "labels") if added else ():
        shards.broker.topic(topic, partitions + added)
    assert rescale(shards.config(), after).has_changed
    for number in waiting:
        shards.put_label(number, "dry" if number % 3 else "rain")
    for number in joined:  # each is unlearned in the shard that reads its correction
        shards.put_label(number, "fog")
    shards.put_days(20)
    shards.run(after)
    shards.check()


def test_labels_of_a_shard_that_was_behind_meet_their_samples_after_a_rescale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 2, labels=True)
    shards.pipeline["labels"]["wait_for"] = 100.0
    waiting = shards.put_days(10, labelled=False)
    shards.run()
    for number in waiting:
        shards.put_label(number, "fog")
    shards.put_days(400, labelled=False)
    shards.run(only=0)
    assert rescale(shards.config(), 1).has_changed
    shards.run(1)
    shards.check()


def test_a_shard_that_was_killed_is_replayed_before_it_moves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shards = FakeShards(
        FakeBroker(), monkeypatch, 2, 4, snapshots={"directory": str(tmp_path), "every_events": 10_000}
    )
    shards.put_days(20)
    shards.run()
    shards.put_days(60)

    def kill() -> None:
        raise Killed

    for _ in range(2):  # after commits that no snapshot holds
        shards.broker.at(AFTER_COMMIT, f"{NAME}.shard-1", lambda: None)
    shards.broker.at(AFTER_COMMIT, f"{NAME}.shard-1", kill)
    with pytest.raises(Killed):
        shards.run(only=1)
    assert rescale(shards.config(), 4).has_changed
    shards.run(4)
    shards.check()


class Cut:
    """A cluster or a writer whose calls are counted, and of which one is the last."""

    def __init__(self, inner: Any, count: Callable[[], None]) -> None:
        self._inner, self._count = inner, count

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **named: Any) -> Any:
            self._count()
            return value(*arguments, **named)

        return call


def test_killed_at_any_step_it_is_done_or_nothing_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4, labels=True)
    shards.put_days(12)
    shards.put_days(4, labelled=False)
    shards.run()
    monkeypatch.setattr(transactions_in_doubt, "CHECK_PAUSE", 0.0)
    outcomes: list[str] = []
    step = 0
    once = cache(lambda: reshard(*arguments))
    arguments: list[Any] = []

    def moved(*told: Any) -> Any:
        arguments[:] = told
        return once()  # of equal snapshots, each time

    while outcomes[-1:] != ["ended"]:
        step += 1
        trial = copy.copy(shards)
        trial.broker = copy.deepcopy(shards.broker)
        trial.connection = trial.broker.connection(monkeypatch)
        calls = iter(range(step))

        def count(calls: Any = calls) -> None:
            if next(calls, None) is None:
                raise Killed

        with monkeypatch.context() as patch:
            broker = trial.broker
            patch.setattr(module, "reshard", moved)
            patch.setattr(
                module, "make_writer", lambda *args, b=broker, c=count: Cut(FakeWriter(b, args[1]), c)
            )
            patch.setattr(
                module, "Cluster", lambda connection, b=broker, c=count: Cut(FakeCluster(b, connection), c)
            )
            try:
                rescale(trial.config(2), 3)
                outcomes.append("ended")
            except Killed:
                outcomes.append("killed")
        is_done = generation_of(trial) == 2
        if (
            step % 7 == 0 or is_done
        ):  # whatever it is, workers go on with what there is, and it can be run again
            trial._count = shards._count
            trial.put_days(6)
            trial.run(3 if is_done else 2)
            trial.check()
            assert rescale(trial.config(), 3).has_changed is not is_done
            assert generation_of(trial) == 2
    assert outcomes.count("killed") > 30


def test_a_commit_that_is_not_answered_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise Interrupted("timed out")

    for point in (NOT_ANSWERED, BEFORE_COMMIT):
        shards = FakeShards(FakeBroker(), monkeypatch, 2, 4)
        shards.put_days(10)
        shards.run()
        shards.broker.at(point, f"{NAME}.rescale", fail)
        if point == NOT_ANSWERED:
            assert rescale(shards.config(), 4).has_changed
        else:
            with pytest.raises(BrokerError, match="nothing has changed"):
                rescale(shards.config(), 4)
            assert generation_of(shards) == 1


def test_a_worker_that_still_runs_cannot_commit_and_is_told_of_the_new_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4)
    shards.put_days(30)
    shards.run()
    shards.put_days(30)
    shards.broker.at(BEFORE_COMMIT, f"{NAME}.shard-0", lambda: None)  # its first entry
    shards.broker.at(BEFORE_COMMIT, f"{NAME}.shard-0", lambda: rescale(shards.config(), 4) and None)
    with Follower(shards.connection, NAME) as follower:
        with pytest.raises((Fenced, BadState)):
            shards.run(only=0)
        shards.run(4)
        shards.check()
        until("the follower is refused", lambda: follower._replicas.failure is not None)
        with pytest.raises(BadState, match="rescaled to 4 shards"):
            follower.predict_one({"sky": "grey"})


def test_numbers_of_shards_that_do_not_fit_are_refused_and_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4, labels=True)
    with pytest.raises(NoSnapshot, match="there is no pipeline 'days'"):
        rescale(shards.config(), 4)
    shards.put_days(10)
    shards.run()
    with pytest.raises(BrokerError, match="Use at most 4 shards"):
        rescale(shards.config(), 5)
    shards.broker.groups_with_members.add(NAME)
    with pytest.raises(BrokerError, match="stop all workers first"):
        rescale(shards.config(), 4)
    shards.broker.groups_with_members.clear()
    for topic in ("weather", "labels"):
        shards.broker.topic(topic, 6)
    with pytest.raises(
        (SourceError, BadState), match="rescale FILE --shards N`, where N divides both 4 and 6"
    ):
        shards.run(only=0)
    with pytest.raises(BadConfig, match=r"one of \[1, 2\]"):
        rescale(shards.config(), 4)
    assert rescale(shards.config(), 1).before == 2 and generation_of(shards) == 2
    with pytest.raises(StreamBayesError, match="stream-bayes rescale` changes it to 2"):
        shards.run(2)
    shards.run(1)
    shards.check()


def one_process(shards: FakeShards, directory: Path) -> Engine:
    tables = {name: table for name, table in shards.pipeline.items() if name != "workers"}
    return build(checked(tables | {"snapshots": {"directory": str(directory)}}), directory)


@pytest.mark.parametrize("number", [1, 2])
def test_a_pipeline_that_began_without_workers_is_refused_by_name_and_changes_nothing(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, number, 4)
    shards.put_days(20)
    one_process(shards, tmp_path).run(until_end=True)
    topics = set(shards.broker.counts)
    for start in (shards.run, lambda: rescale(shards.config(), 2)):
        with pytest.raises(
            BrokerError, match=r"began without \[workers\].* give the pipeline .* another name"
        ):
            start()
    assert set(shards.broker.counts) == topics
    assert one_process(shards, tmp_path).run(until_end=True).processed == 20


def test_one_process_does_not_rebuild_a_pipeline_whose_workers_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4)
    shards.put_days(20)
    shards.run()
    shards.broker.groups_with_members.add(NAME)
    with pytest.raises(BrokerError, match=r"the group 'days' has members: workers of a pipeline"):
        one_process(shards, tmp_path).run(rebuild=True, until_end=True)
    shards.check()


def test_shards_of_a_spam_filter_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4, model={"kind": "spam-filter"})
    with pytest.raises(BadConfig, match=r"the shards of a spam-filter cannot be moved .* another name"):
        rescale(shards.config(), 4)
