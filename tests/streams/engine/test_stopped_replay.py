"""A run that is told to end while it replays ends after the present batch, and the next start replays the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Event, Partition
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.recovery import ResumePoint
from stream_bayes.streams.contracts.sink import Output
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.sinks import CallableSink
from stream_bayes.streams.sources.iterable import IterableSource

LOG = Partition("days")
DAYS = [
    Event({"sky": "grey" if n % 3 else "blue"}, "rain" if n % 2 else "sun", position=n) for n in range(100)
]
BATCH = 10


class Journal:
    """A recovery with an entry for each batch that was committed."""

    name = "journal"
    replays_rebuild = True
    replay_is_listed = True
    ready = True
    identity: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, committed: int) -> None:
        self.committed = committed  # entries
        self.length: int | None = 0
        self.replayed: list[int] = []
        self.stop_after: tuple[int, Engine] | None = None

    def check(self, point: ResumePoint | None, rebuild: bool) -> None: ...

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, int]:
        self.length = 0 if point is None else point.length
        return {LOG: BATCH * (self.length or 0)}

    def catch_up(self) -> Iterator[Sequence[Record]]:
        return iter(())

    def replay(self) -> Iterator[Sequence[Record]]:
        for number in range(self.length or 0, self.committed):
            self.length = number + 1
            self.replayed.append(number)
            if self.stop_after is not None and number == self.stop_after[0]:
                self.stop_after[1].stop()
            yield [
                Event(day.x, day.y, position=day.position, partition=LOG)
                for day in DAYS[BATCH * number : BATCH * (number + 1)]
            ]

    def maintain(self, positions: Mapping[Partition, int]) -> None: ...

    def prune(self, length: int, positions: Mapping[Partition, int]) -> None: ...

    def finish(self, positions: Mapping[Partition, int]) -> None: ...

    def interrupt(self) -> None: ...


def engine_of(directory: Path, journal: Journal) -> tuple[Engine, list[Output]]:
    answers: list[Any] = []
    source = IterableSource([Event(day.x, day.y) for day in DAYS], "days")
    engine = Engine(
        Step(served(NaiveBayes())),
        source,
        predictions=CallableSink(answers.extend),
        recovery=journal,
        store=SnapshotStore(directory),
        batch=BATCH,
    )
    return engine, answers


@pytest.mark.parametrize("stop_after", [0, 3, 7])
def test_a_stop_during_a_replay_ends_soon_and_loses_nothing(tmp_path: Path, stop_after: int) -> None:
    first = Journal(committed=8)
    engine, answers = engine_of(tmp_path, first)
    first.stop_after = (stop_after, engine)
    engine.run()
    assert first.replayed == list(range(stop_after + 1))  # no batch after the one at which it was stopped
    assert engine.step.learned == BATCH * (stop_after + 1) and not answers
    second = Journal(committed=8)
    engine, answers = engine_of(tmp_path, second)
    engine.run()
    assert second.replayed == list(range(stop_after + 1, 8))
    assert engine.step.learned == len(DAYS)
    assert [output.position for output in answers] == list(range(80, 100))  # only what was not committed
    alone = NaiveBayes()
    for day in DAYS:
        alone.learn_one(dict(day.x), day.y)
    assert engine.step.model.model.state()["checksum"] == alone.state()["checksum"]
