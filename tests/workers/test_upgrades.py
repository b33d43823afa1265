"""Two versions in one group: the older one refuses by name what it cannot read, and no record is answered twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from stream_bayes.errors import BadSnapshot, BadState, CannotResume
from stream_bayes.kafka import journal, transactions
from stream_bayes.saving.snapshots import snapshot
from stream_bayes.streams.engine import engine
from stream_bayes.workers import publication
from tests.kafka.fake_broker import FakeBroker
from tests.workers.fake_shards import FakeShards

MODULES = {"journal": [journal, transactions], "publications": [publication], "snapshots": [snapshot]}


@contextmanager
def newer(changed: str) -> Iterator[None]:
    """Let workers be of the next version, in which one format has changed."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES[changed]:
            patch.setattr(module, "FORMAT", 2)
        yield


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ("journal", CannotResume, "written by a newer version: record .* has format 2"),
        ("publications", BadState, "published by a newer version, in format 2"),
        ("snapshots", BadSnapshot, "format 2, .* a newer version wrote it"),
    ],
)
def test_a_worker_that_is_not_upgraded_yet_refuses_a_newer_format_and_answers_nothing_again(
    changed: str, error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4)
    shards.put_days(30)
    with newer(changed):
        shards.run(only=0)  # by the first worker that is upgraded
    shards.put_days(30)
    with pytest.raises(error, match=message):
        shards.run(only=0)  # it has crashed, and the group gave its shard to an older one
    with newer(changed):
        shards.run()
        shards.check()


def test_workers_of_two_versions_with_the_same_formats_share_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4)
    for turn in range(4):
        shards.put_days(20)
        version = f"9.9.{turn % 3}"
        monkeypatch.setattr(engine, "Snapshot", partial(snapshot.Snapshot, package=version))
        shards.run(only=turn % 2)
    shards.run()
    shards.check()
