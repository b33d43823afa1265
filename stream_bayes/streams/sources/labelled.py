"""A source of files together with a log of labels that people give while it is read."""

from __future__ import annotations

from collections.abc import Mapping

from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.errors import Exhausted
from stream_bayes.streams.contracts.continuity_marks import ReadMark
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.files.label_log import LabelLog
from stream_bayes.streams.sources.source_around import SourceAround

__all__ = ["LabelledSource"]


class LabelledSource(SourceAround):
    """A source, and labels that come between its records; after a restart, between the same ones.

    A label is a batch of its own. `source` has the samples, `log` the labels.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes.streams.files.label_log import GivenLabel, LabelWriter
    >>> from stream_bayes.streams.sources.iterable import IterableSource
    >>> with TemporaryDirectory() as directory:
    ...     writer = LabelWriter(Path(directory))
    ...     days = LabelledSource(IterableSource([{"sky": "grey"}] * 4, name="days"), LabelLog(Path(directory)))
    ...     batches = [days.poll(3)]
    ...     _ = writer.write(GivenLabel("a", "rain"))
    ...     batches += [days.poll(3), days.poll(3)]
    ...     days.close(), writer.close()
    (None, None)
    >>> [[event.partition.source for event in batch] for batch in batches]
    [['days', 'days', 'days'], ['labels'], ['days']]
    """

    def __init__(self, source: Source, log: LabelLog) -> None:
        super().__init__(source)
        self.log = log
        self._begin()

    def _begin(self) -> None:
        self._positions = dict(self.source.positions)
        self._ahead: list[Record] = []  # polled, and after the next label
        self._ended = False

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return {**self._positions, self.log.partition: self.log.position}

    def poll(self, limit: int) -> list[Record]:
        label = self.log.poll(self._positions)
        if label is not None:
            return [label]
        if not self._ahead and not self._ended:
            try:
                self._ahead = self.source.poll(limit)
            except Exhausted:
                self._ended = True
        if self._ended and not self._ahead:
            label = self.log.poll(self._positions, is_last=True)
            if label is None:
                raise Exhausted(f"{self.name} has been read to its end")
            return [label]
        records = self._before_label(limit)
        for record in records:
            self._positions[record.partition] = record.after
        return records

    def _before_label(self, limit: int) -> list[Record]:
        """Take the records up to the place of the next label."""
        count, entry = limit, self.log.next_entry
        if entry is not None:
            positions = dict(self._positions)
            for number, record in enumerate(self._ahead[:limit], 1):
                positions[record.partition] = record.after
                if entry.is_reached(positions):
                    count = number
                    break
        records, self._ahead = self._ahead[:count], self._ahead[count:]
        return records

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        labels = self.log.partition
        self.source.seek({part: at for part, at in positions.items() if part != labels})
        self.log.seek(positions.get(labels, 0))
        self._begin()

    def marks(self, positions: Mapping[Partition, Position], /) -> Mapping[Partition, ReadMark]:
        return {**super().marks(positions), **self.log.marks(positions)}

    def check_marks(self, marks: Mapping[Partition, ReadMark], /) -> None:
        super().check_marks(marks)
        self.log.check_marks(marks)

    def close(self) -> None:
        self.source.close()
        self.log.close()

    def raw_of(self, event: Event, /) -> bytes | None:
        return None if event.partition == self.log.partition else super().raw_of(event)

    @property
    def position_units(self) -> Mapping[str, str]:
        """The units of the source, and of the log of labels."""
        return {**super().position_units, self.log.partition.source: "bytes"}

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The position after the last record of each partition, where it is known."""
        return {**super().end_offsets, self.log.partition: self.log.end}

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        """Return True once all records before this end were returned."""
        return not self._ahead and (self._ended or super().has_reached(end))
