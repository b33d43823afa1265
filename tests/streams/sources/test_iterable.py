"""Iterables as sources: what can be iterated again can be gone back in, and what cannot says so."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime

import numpy as np
import pytest
from river.datasets import Phishing
from river.datasets.synth import SEA

from stream_bayes.core.events.event import BadRecord, Event, Partition
from stream_bayes.errors import BadValue, Exhausted, SourceError
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.sources.iterable import IterableSource
from tests.streams.files.reading import continued, events, whole

PAIRS = [({"n": number}, number % 2) for number in range(10)]
HERE = Partition("items")


def one_shot():
    return iter(PAIRS)


@pytest.mark.parametrize("items", [PAIRS, tuple(PAIRS), one_shot], ids=["list", "tuple", "function"])
@pytest.mark.parametrize("limits", [[1], [3], [100], [2, 5]])
def test_every_item_is_an_event_and_can_be_gone_back_to(items, limits):
    records = whole(IterableSource(items), limits)
    assert events(records) == PAIRS
    for record in records:
        assert continued(lambda: IterableSource(items), record) == records[record.position :]
    source = IterableSource(items)
    whole(source)
    source.seek({HERE: 4})
    assert whole(source) == records[4:]
    source.seek({})
    assert whole(source) == records


def test_an_iterator_can_be_read_forward_only_and_says_what_to_do():
    source = IterableSource(one_shot())
    source.poll(3)
    source.seek({HERE: 5})
    assert [record.position for record in source.poll(2)] == [5, 6]
    with pytest.raises(
        SourceError, match="can only be read forward, and 7 items have been read: give a list"
    ):
        source.seek({HERE: 6})


def test_the_data_sets_and_generators_of_river_are_sources():
    phishing = whole(IterableSource(Phishing(), name="phishing"))
    assert events(phishing) == list(Phishing())
    generated = IterableSource(SEA(seed=7), limit=100)
    records = whole(generated)
    assert events(records) == list(SEA(seed=7).take(100))
    generated.seek({HERE: 60})
    assert whole(generated) == records[60:]


def test_a_limit_ends_what_has_no_end():
    source = IterableSource(({"n": n} for n in itertools.count()), limit=5)
    assert len(whole(source, [2])) == 5
    with pytest.raises(Exhausted, match="after 5 items"):
        source.poll(1)
    assert whole(IterableSource(PAIRS, limit=0)) == []


def test_events_keep_all_but_their_place():
    event = Event({"a": 1}, "yes", "k", 1.5, 77, 2.0, partition=Partition("other", 3), length=9)
    assert whole(IterableSource([{}, event]))[1] == Event(
        {"a": 1}, "yes", "k", 1.5, 1, 2.0, partition=HERE, length=1
    )


def test_fields_say_what_is_what_in_dicts_and_leave_them_as_they_were():
    rows = [{"a": 1, "y": "no", "id": 5}]
    source = IterableSource(rows, fields=Fields(target="y", key="id"))
    assert whole(source) == [Event({"a": 1}, "no", 5, partition=HERE)]
    assert rows == [{"a": 1, "y": "no", "id": 5}]


def test_messages_are_samples_as_they_are():
    assert events(whole(IterableSource([(b"\xff", "spam"), ("hello", "ham")]))) == [
        (b"\xff", "spam"),
        ("hello", "ham"),
    ]


def test_what_is_no_event_is_a_bad_record():
    records = whole(IterableSource([({}, 1, 2), "text", ([], 1)]))  # type: ignore[list-item]  # wrong on purpose
    assert [record.reason for record in records if isinstance(record, BadRecord)] == ["wrong_type"] * 3
    assert isinstance(records[0], BadRecord)
    assert records[0].detail == "expected (x, y), a dict or an Event, got an array of 3 items"


def test_an_event_whose_time_is_no_number_is_a_bad_record():
    def came(time: object) -> Event:
        return Event({"a": 1}, "x", time=time)  # type: ignore[arg-type]  # wrong on purpose

    good = [None, 0, 1.5, -1e300, math.inf, np.float32(2.5)]
    assert all(isinstance(record, Event) for record in whole(IterableSource([came(time) for time in good])))
    bad = ["now", 10**400, True, [1.0], datetime(2026, 1, 31, tzinfo=UTC)]
    records = whole(IterableSource([came(time) for time in bad]))
    assert [record.reason for record in records if isinstance(record, BadRecord)] == ["wrong_type"] * 5
    assert isinstance(records[0], BadRecord) and records[0].detail.endswith(
        "or None, got text of 3 characters"
    )


def test_positions_that_are_not_those_of_these_items_are_refused():
    for positions, message in [
        ({HERE: 11}, "ends after 10 items, but was read to item 11 before"),
        ({Partition("other"): 1}, "give the source its old name"),
        ({Partition("items", 1): 1}, "give the source its old name"),
    ]:
        with pytest.raises(SourceError, match=message):
            IterableSource(PAIRS).seek(positions)
    with pytest.raises(SourceError, match="ends after 5 items"):
        IterableSource(PAIRS, limit=5).seek({HERE: 6})


@pytest.mark.parametrize(("items", "limit"), [(5, None), (None, None), ([], -1), ([], True), ([], 1.5)])
def test_what_is_no_iterable_or_no_limit_is_refused(items, limit):
    with pytest.raises(BadValue, match="expected"):
        IterableSource(items, limit=limit)
