"""Times that cannot be in a shard: the sum is not moved by them, also when they change shards, and they are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.streams.contracts.incidents import JUMPS
from stream_bayes.workers.follower import Follower
from stream_bayes.workers.pipeline.parts import WorkerParts
from stream_bayes.workers.pipeline.rescale import rescale
from tests.kafka.fake_broker import FakeBroker
from tests.workers.fake_shards import NAME, START, FakeShards

YEARS = 10 * 365 * 86_400.0
RAIN = {"sky": "grey", "wind": 3, "y": "rain"}


def weight_of(shards: FakeShards) -> float:
    with Follower(shards.connection, NAME) as follower:
        counts = follower.model.store.by_name()
        return sum(counts.get((label,), 0.0) for label in ("rain", "dry"))


@pytest.mark.parametrize("first", [START + YEARS, START - YEARS])
@pytest.mark.parametrize("after", [1, 2])
def test_a_first_time_that_cannot_be_moves_no_sum_and_is_learned_after_a_rescale(
    first: float, after: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    snapshots = {"directory": str(tmp_path), "every_events": 10_000}
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 2, half_life="1h", snapshots=snapshots)
    shards.put("weather", b"100", RAIN, first)  # of partition 0, as those with even numbers are
    shards.put("weather", b"101", RAIN, START)
    shards.put("weather", b"103", RAIN, START)
    shards.run()
    assert weight_of(shards) == 2.0  # the shard of partition 0 has learned nothing yet
    if after == 1:
        assert rescale(shards.config(), 1).has_changed
    shards.put_days(20)
    shards.run(after)
    assert 22.5 < weight_of(shards) <= 23.0


def test_jumps_of_time_in_a_shard_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 1, 1, half_life="1h")
    shards.put_days(5)
    shards.put("weather", b"100", RAIN, START + 30 * 86_400.0)
    parts = WorkerParts(shards.config(), Path())
    parts.prepare()
    shard = parts.make_shard(0, until_end=True)
    shard.start()
    assert shard.join(60) and shard.failure is None
    assert shard.counts.incidents[JUMPS] == 1 and shard.engine.step.learned == 6
