"""When a shard's counts are published: as often as asked for, and within a share of the worker's time."""

from __future__ import annotations

from stream_bayes import NaiveBayes
from stream_bayes.workers.model_topic import ModelPublisher
from stream_bayes.workers.publication import Origin, Publisher
from stream_bayes.workers.publication_pace import MOST_SHARE
from stream_bayes.workers.shard_model import ShardModel
from stream_bayes.workers.state_parts import parts_of
from stream_bayes.workers.total import Total


class Clock:
    """A clock that moves by itself at each look, as long as a publication takes."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def published(
    clock: Clock, seconds: float, shards: int = 1, every_events: int | None = None
) -> ModelPublisher:
    """Return the publisher of a shard that learned ten samples a second for so long."""
    total = Total(NaiveBayes())
    model = ShardModel(0, NaiveBayes(), total)
    model.go_live()
    publisher = ModelPublisher(
        "p.model",
        model,
        total,
        Publisher(Origin("p", "", shards, shards), 0),
        every_seconds=1.0,
        every_events=every_events,
        part_bytes=256,
        clock=clock,
    )
    publisher.owned = lambda: shards
    count = 0
    publisher.events = lambda: count
    start = clock.now
    while clock.now - start < seconds:
        model.learn({"sky": "grey"}, "rain", 1.0)
        count += 1
        clock.now += 0.1
        publisher.collect()
    return publisher


def test_counts_are_published_each_interval_and_no_more_often() -> None:
    assert 9 <= published(Clock(), 10.0).published <= 11
    assert published(Clock(), 10.0, every_events=5).published >= 19


def test_publishing_takes_its_share_of_a_workers_time_however_many_shards_it_has() -> None:
    for shards in (1, 4):
        took = 0.5
        found = published(Clock(took), 400.0, shards)
        assert 0.5 * MOST_SHARE <= found.published * took * shards / 400.0 <= 1.5 * MOST_SHARE


def test_a_publication_holds_only_parts_that_changed() -> None:
    model = NaiveBayes()
    model.learn_many([{"id": f"user-{number}"} for number in range(2000)], ["rain", "dry"] * 1000)
    publisher = Publisher(Origin("p", "", 1, 1), 0)
    whole = publisher.records(parts_of(model.state(), 4096), 1, 0.0)
    model.learn_one({"id": "user-7"}, "rain")
    sent = publisher.records(parts_of(model.state(), 4096), 2, 1.0)
    sizes = [sum(len(record.value or b"") for record in records) for records in (whole, sent)]
    assert sizes[1] < sizes[0] / 4
    assert not publisher.records(parts_of(model.state(), 4096), 3, 2.0)[:-1]
