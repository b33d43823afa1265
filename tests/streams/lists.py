"""A source and sinks in memory that do what the protocols say, and a little of what they forbid when told to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import Exhausted
from stream_bayes.streams.contracts.sink import Result
from stream_bayes.streams.contracts.source import Record

STREAM = Partition("stream")


class ListSource:
    """Records with the positions 0, 1, 2, ... unless they say otherwise."""

    name = "stream"
    medium = "local"

    def __init__(self, records: Iterable[Record], may_skip: bool = False) -> None:
        self.records = list(records)
        self.may_skip = may_skip
        self.place = 0
        self.closed = False

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return {STREAM: 0}

    def poll(self, limit: int) -> list[Record]:
        if self.place == len(self.records):
            raise Exhausted
        portion = self.records[self.place : self.place + limit]
        self.place += len(portion)
        return portion

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        self.place = next(
            (n for n, record in enumerate(self.records) if record.position >= positions[record.partition]),
            len(self.records),
        )

    def close(self) -> None:
        self.closed = True


class ListSink:
    """Keeps what was committed; what lasts is `lasting`, shared between one run and the next."""

    medium = "local"

    def __init__(self, name: str, lasting: list[Result] | None = None, fail_at: int | None = None) -> None:
        self.name = name
        self.lasting: list[Result] = [] if lasting is None else lasting
        self.fail_at = fail_at  # the number of the write that fails
        self.writes = 0
        self.told: list[str] = []
        self._open: list[Result] = []

    def open(self, length: int | None) -> None:
        self.told.append("open")
        del self.lasting[length or 0 :]

    @property
    def length(self) -> int | None:
        return len(self.lasting)

    def begin(self) -> None:
        self.told.append("begin")

    def write(self, results: Sequence[Result]) -> None:
        self.writes += 1
        if self.writes == self.fail_at:
            raise OSError("the disk is full")
        self._open += results

    def commit(self, slices: Sequence[Slice]) -> None:
        self.told.append("commit")
        self.lasting += self._open
        self._open = []

    def sync(self) -> None:
        self.told.append("sync")

    def abort(self) -> None:
        self.told.append("abort")
        self._open = []

    def close(self) -> None:
        self.told.append("close")


def rows(results: Iterable[Result]) -> list[Any]:
    return [(result.position, type(result).__name__) for result in results]
