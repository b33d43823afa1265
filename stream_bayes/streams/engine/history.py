"""The records that a state has learned from, by time and position, so that those of a span can be read again.

    rows of a partition    [first position, position after the last, records, earliest time, latest time]

Each row stands for `size` records. If there are more than `MOST_ROWS`, two neighbours become one, and `size` doubles.
So memory is bounded, and a span of a long history is found within a few thousandths of it. Positions that were never
processed, as after a rollback that skipped them, lie between two rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.core.events.unlearn_spans import Span, Unlearned
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.streams.contracts.source import Record

__all__ = ["History", "Ranges"]

SIZE = 256  # records of a row, at first
MOST_ROWS = 1024  # of a partition


class Ranges:
    """Ranges of positions, with the number of records in each. `rows` has, by partition, the first position, the
    position after the last, and the number of records of each range, ascending.
    """

    def __init__(self, rows: Mapping[Partition, Sequence[tuple[Position, Position, int]]]) -> None:
        self._rows = {part: list(ranges) for part, ranges in rows.items() if ranges}
        self._firsts = {part: [row[0] for row in ranges] for part, ranges in self._rows.items()}

    def __bool__(self) -> bool:
        return bool(self._rows)

    @property
    def starts(self) -> dict[Partition, Position]:
        """The first position of each partition."""
        return {part: ranges[0][0] for part, ranges in self._rows.items()}

    @property
    def stops(self) -> dict[Partition, Position]:
        """The position after the last record of each partition."""
        return {part: ranges[-1][1] for part, ranges in self._rows.items()}

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(row[2] for ranges in self._rows.values() for row in ranges)

    def __contains__(self, record: Record) -> bool:
        """Return True for a record in one of the ranges."""
        firsts = self._firsts.get(record.partition)
        if firsts is None:
            return False
        index = bisect_right(firsts, record.position) - 1
        return index >= 0 and record.position < self._rows[record.partition][index][1]


class History:
    """The records that a state has learned from. A row has `size` records at first; a partition has `most_rows` at
    most.

    Attributes
    ----------
    is_in_order
        True as long as no record was older than one before it.
    unlearned
        The spans that were unlearned.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event
    >>> history, days = History(size=2), Partition("days")
    >>> history.add([Event({}, time=float(n), position=n) for n in range(6)], [Slice(days, 0, 6)])
    >>> ranges = history.within(2.0, 4.0)
    >>> ranges.starts, ranges.stops, ranges.records
    ({Partition(source='days', partition=0): 2}, {Partition(source='days', partition=0): 4}, 2)
    """

    def __init__(self, size: int = SIZE, most_rows: int = MOST_ROWS) -> None:
        self._first_size = size
        self._most_rows = most_rows
        self._clear()

    def _clear(self) -> None:
        self._partitions: dict[Partition, _HistoryRows] = {}
        self._latest: float | None = None
        self.is_in_order = True
        self.unlearned: list[Unlearned] = []

    def add(self, records: Sequence[Record], slices: Sequence[Slice]) -> None:
        """Add a batch that was processed, which was read from these slices."""
        if not records:
            return
        times = [record.time for record in records]
        self._check_order(times)
        if len(slices) == 1:
            self._rows_of(slices[0].partition).add(records, times, slices[0].start)
            return
        parts: dict[Partition, tuple[list[Record], list[float | None]]] = {}
        for record, time in zip(records, times, strict=True):
            part = parts.get(record.partition)
            if part is None:
                part = parts[record.partition] = ([], [])
            part[0].append(record)
            part[1].append(time)
        starts = {each.partition: each.start for each in slices}
        for partition, (part_records, part_times) in parts.items():
            self._rows_of(partition).add(part_records, part_times, starts[partition])

    def _rows_of(self, partition: Partition) -> _HistoryRows:
        rows = self._partitions.get(partition)
        if rows is None:
            rows = self._partitions[partition] = _HistoryRows(self._first_size, self._most_rows)
        return rows

    def _check_order(self, times: Sequence[float | None]) -> None:
        event_times: Any = times if None not in times else [time for time in times if time is not None]
        if not event_times:
            return
        latest = self._latest
        if event_times != sorted(event_times) or (latest is not None and event_times[0] < latest):
            self.is_in_order = False
        newest = max(event_times)
        self._latest = newest if latest is None else max(latest, newest)

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self._partitions)

    def within(self, start: float, stop: float) -> Ranges:
        """Return the ranges that hold all records with a time in a span."""
        return self._ranges(lambda low, high: low is not None and low < stop and high >= start)

    def since(self, start: float | None) -> Ranges:
        """Return the ranges that hold all records from a time on, and those without a time; all without one."""
        return self._ranges(lambda low, high: start is None or high is None or high >= start)

    def _ranges(self, is_chosen: Callable[[Any, Any], bool]) -> Ranges:
        return Ranges(
            {
                partition: [(row[0], row[1], row[2]) for row in rows.rows if is_chosen(row[3], row[4])]
                for partition, rows in self._partitions.items()
            }
        )

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return everything as JSON values; `load` is the inverse."""
        return {
            "partitions": [
                [*partition, rows.size, [list(row) for row in rows.rows]]
                for partition, rows in sorted(self._partitions.items())
            ],
            "latest": self._latest,
            "in_order": self.is_in_order,
            "unlearned": [
                [
                    [done.span.start, done.span.stop, list(done.span.keys), list(done.span.labels)],
                    [[*partition, at] for partition, at in sorted(done.positions.items())],
                ]
                for done in self.unlearned
            ],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state that `state` made; raise `BadState` if it is not valid."""
        self._clear()
        with refusing_bad_state():
            expect(type(state["in_order"]) is bool, "its order is neither true nor false")
            expect(state["latest"] is None or type(state["latest"]) is float, "its latest time is no number")
            self.is_in_order, self._latest = state["in_order"], state["latest"]
            for source, number, size, saved in state["partitions"]:
                rows = self._rows_of(Partition(source, number))
                rows.load(size, saved)
            for (start, stop, keys, labels), positions in state["unlearned"]:
                span = Span(start, stop, tuple(keys), tuple(labels))
                at = {Partition(source, number): position for source, number, position in positions}
                self.unlearned.append(Unlearned(span, at))


class _HistoryRows:
    """The rows of a partition."""

    __slots__ = ("most_rows", "rows", "size")

    def __init__(self, size: int, most_rows: int) -> None:
        self.size = size
        self.most_rows = most_rows
        self.rows: list[list[Any]] = []

    def add(self, records: Sequence[Record], times: Sequence[float | None], start: Position) -> None:
        """Add records that begin at a position; bytes between two records belong to the second."""
        for first, count in self._pieces(len(records), start):
            begin = start if first == 0 else records[first - 1].after
            event_times: Any = times[first : first + count]
            if None in event_times:
                event_times = [time for time in event_times if time is not None]
            low, high = (float(min(event_times)), float(max(event_times))) if event_times else (None, None)
            self._extend(begin, records[first + count - 1].after, count, low, high)
            if len(self.rows) > self.most_rows:  # here, so that rows do not depend on batches
                self._halve()

    def _pieces(self, count: int, start: Position) -> Iterator[tuple[int, int]]:
        """Yield index and length of the pieces that fill up rows."""
        done = 0
        while done < count:
            is_next = bool(self.rows) and (done > 0 or self.rows[-1][1] == start)
            room = self.size - self.rows[-1][2] if is_next else 0
            piece = min(count - done, room if room > 0 else self.size)
            yield done, piece
            done += piece

    def _extend(self, start: Position, stop: Position, count: int, low: Any, high: Any) -> None:
        last = self.rows[-1] if self.rows else None
        if last is None or last[1] != start or last[2] >= self.size:
            self.rows.append([start, stop, count, low, high])
            return
        self.rows[-1] = _joined(last, [start, stop, count, low, high])

    def _halve(self) -> None:
        """Join neighbours, and let rows hold twice as many records."""
        self.size *= 2
        rows: list[list[Any]] = []
        for row in self.rows:
            if rows and rows[-1][1] == row[0] and rows[-1][2] + row[2] <= self.size:
                rows[-1] = _joined(rows[-1], row)
            else:
                rows.append(row)
        self.rows = rows

    def load(self, size: Any, saved: Any) -> None:
        expect(type(size) is int and size > 0, f"a row of its history has {size!r} records")
        end = 0
        for start, stop, count, low, high in saved:
            expect(all(type(number) is int for number in (start, stop, count)), "a row holds no positions")
            expect(end <= start < stop and count > 0, "its rows are not in their order")
            expect((low is None and high is None) or low <= high, "a row ends before it begins")
            self.rows.append([start, stop, count, low, high])
            end = stop
        self.size = size


def _joined(one: list[Any], other: list[Any]) -> list[Any]:
    lows = [low for low in (one[3], other[3]) if low is not None]
    highs = [high for high in (one[4], other[4]) if high is not None]
    return [one[0], other[1], one[2] + other[2], min(lows, default=None), max(highs, default=None)]
