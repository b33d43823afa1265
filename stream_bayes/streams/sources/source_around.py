"""A source around another: what all such sources pass on, each optional part of the contract among it."""

from __future__ import annotations

from collections.abc import Mapping

from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.streams.contracts.continuity_marks import ReadMark, check_marks, marks_of
from stream_bayes.streams.contracts.incidents import HasIncidents
from stream_bayes.streams.contracts.source import (
    EndlessSource,
    HasEndOffsets,
    HasRawRecords,
    Record,
    Source,
    units_of,
)

__all__ = ["SourceAround"]


class SourceAround:
    """A source that passes on everything of another one. A subclass overrides what it changes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = source.name
        self.medium = source.medium
        self.may_skip = source.may_skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return self.source.positions

    def poll(self, limit: int) -> list[Record]:
        return self.source.poll(limit)

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        self.source.seek(positions)

    def marks(self, positions: Mapping[Partition, Position], /) -> Mapping[Partition, ReadMark]:
        return marks_of(self.source, positions)

    def check_marks(self, marks: Mapping[Partition, ReadMark], /) -> None:
        check_marks(self.source, marks)

    def close(self) -> None:
        self.source.close()

    def raw_of(self, event: Event, /) -> bytes | None:
        return self.source.raw_of(event) if isinstance(self.source, HasRawRecords) else None

    @property
    def connected(self) -> bool:
        return not isinstance(self.source, HasEndOffsets) or self.source.connected

    @property
    def position_units(self) -> Mapping[str, str]:
        return units_of(self.source)

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        return self.source.end_offsets if isinstance(self.source, HasEndOffsets) else {}

    def fetch_end(self) -> Mapping[Partition, Position]:
        return self.source.fetch_end() if isinstance(self.source, EndlessSource) else {}

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        """Return True once all records before this end were returned; a source without ends is read until exhausted."""
        return isinstance(self.source, EndlessSource) and self.source.has_reached(end)

    @property
    def incidents(self) -> Mapping[str, int]:
        return self.source.incidents if isinstance(self.source, HasIncidents) else {}
