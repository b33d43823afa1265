"""The order of several partitions: by time where they are in time order, and always one that their ranges determine."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.events.event import Event, Partition
from stream_bayes.core.events.time_merge import TimeMerge, merge_ranges

SOURCES = ["samples", "labels"]
PARTITIONS = [Partition("samples", 0), Partition("samples", 1), Partition("labels", 0)]
TIMES = st.lists(st.integers(0, 12).map(float), max_size=12)
ANY_TIMES = st.lists(st.none() | st.floats(allow_nan=True) | st.integers(0, 6).map(float), max_size=12)


def events(partition: Partition, times: Sequence[float | None]) -> list[Event]:
    return [
        Event({}, time=time, position=position, partition=partition) for position, time in enumerate(times)
    ]


def places(records: Sequence[Event]) -> list[tuple[Partition, int]]:
    return [(record.partition, record.position) for record in records]


def batches_of(
    streams: dict[Partition, list[Event]], chunks: list[tuple[int, int]], limit: int, waits: bool
) -> list[list[Event]]:
    """Return the batches of records that arrive in chunks; if `waits`, no partition is passed over before its end."""
    merge = TimeMerge(SOURCES)
    left = {partition: list(stream) for partition, stream in streams.items()}
    batches: list[list[Event]] = []
    arrivals = [*chunks, *((index, 100) for index in range(len(PARTITIONS)))]
    for index, size in arrivals:
        partition = PARTITIONS[index]
        chunk, left[partition] = left[partition][:size], left[partition][size:]
        merge.push(partition, chunk)
        while True:
            ended = {partition for partition, stream in left.items() if not stream or not waits}
            if any(partition not in merge and partition not in ended for partition in PARTITIONS):
                break
            merge.begin_batch()
            batch: list[Event] = []
            while not merge.ends_batch and len(batch) < limit:
                popped = merge.pop(limit - len(batch), ended)
                batch += popped  # type: ignore[arg-type]  # events alone
                if not popped or any(part not in merge and part not in ended for part in PARTITIONS):
                    break
            if not batch:
                break
            batches.append(batch)
    return batches


def check_ranges(batches: list[list[Event]]) -> None:
    """Check that each batch is the merge of its ranges, whatever came before it."""
    for batch in batches:
        ranges: dict[Partition, list[Event]] = {}
        for record in batch:
            ranges.setdefault(record.partition, []).append(record)
        assert places(merge_ranges(SOURCES, dict(reversed(ranges.items())))) == places(batch)  # type: ignore[arg-type]  # events are records
        for records in ranges.values():
            positions = [record.position for record in records]
            assert positions == list(range(positions[0], positions[0] + len(positions)))


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(TIMES, TIMES, TIMES),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=20),
    st.integers(1, 8),
)
def test_partitions_in_time_order_come_as_one_sorted_file_whatever_arrives_when(
    times: tuple[list[float], ...], chunks: list[tuple[int, int]], limit: int
) -> None:
    streams = {
        partition: events(partition, sorted(part)) for partition, part in zip(PARTITIONS, times, strict=True)
    }
    batches = batches_of(streams, chunks, limit, waits=True)
    ranks = {partition: rank for rank, partition in enumerate(PARTITIONS)}
    everything = [event for stream in streams.values() for event in stream]
    expected = sorted(everything, key=lambda event: (event.time, ranks[event.partition], event.position))
    assert places([event for batch in batches for event in batch]) == places(expected)
    check_ranges(batches)


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(ANY_TIMES, ANY_TIMES, ANY_TIMES),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=20),
    st.integers(1, 8),
    st.booleans(),
)
def test_any_order_of_arrival_gives_batches_that_their_ranges_determine(
    times: tuple[list[float | None], ...], chunks: list[tuple[int, int]], limit: int, waits: bool
) -> None:
    streams = {partition: events(partition, part) for partition, part in zip(PARTITIONS, times, strict=True)}
    batches = batches_of(streams, chunks, limit, waits)
    check_ranges(batches)
    for partition, stream in streams.items():
        assert [
            record.position for batch in batches for record in batch if record.partition == partition
        ] == list(range(len(stream)))


@settings(max_examples=100, deadline=None)
@given(st.tuples(ANY_TIMES, ANY_TIMES, ANY_TIMES), st.integers(1, 8), st.integers(1, 8))
def test_the_order_does_not_depend_on_where_batches_end(
    times: tuple[list[float | None], ...], limit: int, other: int
) -> None:
    streams = {partition: events(partition, part) for partition, part in zip(PARTITIONS, times, strict=True)}
    whole, parts = (
        [record for batch in batches_of(streams, [], size, waits=True) for record in batch]
        for size in (limit, other)
    )
    assert places(whole) == places(parts)


def test_records_older_than_one_before_them_in_their_partition_are_counted_and_keep_their_place() -> None:
    merge = TimeMerge(SOURCES)
    first, second, _ = PARTITIONS
    merge.push(first, events(first, [10.0, 3.0, 12.0, 11.0]))
    merge.push(second, events(second, [11.5, math.nan, None]))
    popped = merge.pop(100, PARTITIONS)
    assert [record.time for record in popped[:3]] == [10.0, 3.0, 11.5]
    assert [record.partition.partition for record in popped] == [0, 0, 1, 1, 1, 0, 0]
    assert merge.out_of_order == 2


def test_a_late_record_begins_a_new_batch() -> None:
    merge = TimeMerge(SOURCES)
    first, second, _ = PARTITIONS
    merge.push(first, events(first, [10.0]))
    assert len(merge.pop(9, PARTITIONS)) == 1
    merge.push(second, events(second, [5.0, 20.0]))
    assert merge.ends_batch and merge.pop(9, PARTITIONS) == []
    merge.begin_batch()
    assert [record.time for record in merge.pop(9, PARTITIONS)] == [5.0, 20.0]
