"""Sources over files, for tests: their text, read whole or from a position, and the other way of finding the same."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.errors import Exhausted
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.files.source import FileSource

__all__ = ["continued", "csv_text", "events", "polled", "whole"]


def whole(source: Source, limits: Sequence[int] = (1000,)) -> list[Record]:
    """All records up to the end, polled with these limits in turn; checked to stand one after another."""
    records: list[Record] = []
    before = dict(source.positions)
    for limit in itertools.cycle(limits):
        try:
            found = source.poll(limit)
        except Exhausted:
            return records
        assert len(found) <= limit
        for record in found:
            assert record.position == before.get(record.partition, 0) and record.length > 0
            before[record.partition] = record.after
        if found:
            assert source.positions == {found[-1].partition: found[-1].after}
        records += found
    raise AssertionError


def polled(source: FileSource) -> list[Record]:
    """What a followed file holds by now."""
    records: list[Record] = []
    while found := source.poll(1000):
        records += found
    return records


def continued(make: Callable[[], Source], record: Record) -> list[Record]:
    """All records from this one on, by another source that seeks to it."""
    source = make()
    try:
        source.seek({record.partition: record.position})
        assert source.positions == {record.partition: record.position}
        return whole(source)
    finally:
        source.close()


def events(records: Sequence[Record]) -> list[tuple[Any, Any]]:
    """What is in the records, all of them events."""
    assert not [record for record in records if isinstance(record, BadRecord)]
    return [(record.x, record.y) for record in records if isinstance(record, Event)]


def csv_text(rows: Sequence[Sequence[str]], **dialect: Any) -> str:
    """Rows as Python's csv module writes them."""
    text = io.StringIO()
    csv.writer(text, **dialect).writerows(rows)
    return text.getvalue()
