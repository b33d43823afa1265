"""What was noted of drifts stands in its file once, also where results are sent and a journal says what was taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import DriftAdaptive, NaiveBayes
from stream_bayes.core.events.event import Event, Partition, Position, Slice
from stream_bayes.errors import SinkError
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.recovery import ResumePoint
from stream_bayes.streams.contracts.sink import Result
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.served_models.served import served
from tests.streams.lists import STREAM, ListSource

EVENTS, CHANGES = 900, 500


class Outside(ListSource):
    """A log elsewhere, which holds what was sent, too."""

    medium = "outside"


class Sent:
    """Results that cannot be taken back; with each batch it is written down which records it was made of."""

    name, medium, length = "sent", "outside", None

    def __init__(self, stop_at: int) -> None:
        self.results: list[Result] = []
        self.committed = 0  # the records that all batches were made of
        self.stop_at = stop_at
        self._open: list[Result] = []

    def open(self, length: int | None) -> None: ...

    def begin(self) -> None: ...

    def write(self, results: Sequence[Result]) -> None:
        self._open += results

    def commit(self, slices: Sequence[Slice]) -> None:
        self.results += self._open
        self._open.clear()
        self.committed = slices[-1].stop
        if self.committed >= self.stop_at:
            self.stop_at = EVENTS + 1
            raise ConnectionError("the process died once the batch had been sent")

    def sync(self) -> None: ...

    def abort(self) -> None:
        self._open.clear()

    def close(self) -> None: ...


class SentRecovery:
    """A `Recovery` of a log with one partition."""

    name, ready, replays_rebuild, replay_is_listed = "journal", True, True, True
    identity: Mapping[str, Any] = {}

    def __init__(self, sent: Sent, records: Sequence[Record]) -> None:
        self.sent, self.records, self.first = sent, records, 0

    @property
    def length(self) -> int:
        return self.sent.committed

    def check(self, point: ResumePoint | None, rebuild: bool) -> None: ...

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, Position]:
        self.first = 0 if point is None else point.positions[STREAM]
        return {STREAM: self.first}

    def catch_up(self) -> Iterator[Sequence[Record]]:
        return iter(())

    def replay(self) -> Iterator[Sequence[Record]]:
        for start in range(self.first, self.sent.committed, 30):
            yield self.records[start : min(start + 30, self.sent.committed)]

    def maintain(self, positions: Mapping[Partition, Position]) -> None: ...

    def prune(self, length: int, positions: Mapping[Partition, Position]) -> None: ...

    def finish(self, positions: Any) -> None: ...

    def interrupt(self) -> None: ...


def records() -> list[Record]:
    return [
        Event({"light": str(n % 2)}, (n + (n >= CHANGES)) % 2, partition=STREAM, position=n)
        for n in range(EVENTS)
    ]


def run(directory: Path, sent: Sent) -> Engine:
    given = records()
    engine = Engine(
        Step(served(DriftAdaptive(NaiveBayes()))),
        Outside(given),
        predictions=sent,
        drifts=JSONLinesSink(directory / "drifts.jsonl", "drifts"),
        recovery=SentRecovery(sent, given),
        store=SnapshotStore(directory / "state"),
        schedule=Schedule(every_events=200),
        batch=20,
    )
    assert engine.delivery == "exactly once"
    engine.run()
    return engine


@pytest.mark.parametrize("stop_at", [480, 540, 560, 580, 620, 900])
def test_it_is_in_its_file_once_wherever_the_run_died(tmp_path: Path, stop_at: int) -> None:
    whole = Sent(EVENTS + 1)
    run(tmp_path / "whole", whole)
    expected = (tmp_path / "whole" / "drifts.jsonl").read_text()
    assert len(expected.splitlines()) == 2
    sent = Sent(stop_at)
    with pytest.raises(ConnectionError):
        run(tmp_path / "died", sent)
    assert run(tmp_path / "died", sent).replayed > 0
    assert (tmp_path / "died" / "drifts.jsonl").read_text() == expected
    assert sent.results == whole.results


def test_a_file_of_drifts_that_is_another_is_refused_beside_a_log_too(tmp_path: Path) -> None:
    drifts, sent = tmp_path / "drifts.jsonl", Sent(EVENTS + 1)
    run(tmp_path, sent)
    text = drifts.read_text()
    drifts.write_text("mine\n" * len(text))
    with pytest.raises(SinkError, match=r"is not what was written.*nothing of it is cut off"):
        run(tmp_path, sent)
    assert drifts.read_text() == "mine\n" * len(text)
    drifts.write_text(text)
    run(tmp_path, sent)
