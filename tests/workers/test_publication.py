"""Publications: however a topic was compacted, cut off and read again, a reader holds what a shard published."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes import AODE, NaiveBayes
from stream_bayes.errors import BadState
from stream_bayes.workers.publication import END, Assembly, Origin, PublicationRecord, Publisher
from stream_bayes.workers.state_parts import joined, parts_of

PIPELINE = Origin("days", "3f1c", 2, 4)
KEY = b"0123456789abcdef"

Parts = dict[str, bytes]
STATES = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.binary(max_size=1), max_size=4), min_size=1, max_size=6
)


def log_of(states: Sequence[Parts], key: bytes | None = None) -> list[list[PublicationRecord]]:
    """Return the records of each publication of one shard."""
    publisher = Publisher(PIPELINE, 0, key)
    return [publisher.records(parts, number, float(number)) for number, parts in enumerate(states)]


def compacted(records: Sequence[PublicationRecord], upto: int) -> list[PublicationRecord]:
    """Return a log of which the records before an offset were compacted."""
    last = {record.name: offset for offset, record in enumerate(records)}
    return [record for offset, record in enumerate(records) if offset >= upto or last[record.name] == offset]


@given(STATES, st.data())
def test_a_reader_holds_the_last_complete_publication(states: list[Parts], data: st.DataObject) -> None:
    transactions = log_of(states)
    count = data.draw(st.integers(1, len(transactions)))  # what was committed so far
    records = [record for transaction in transactions[:count] for record in transaction]
    log = compacted(records, data.draw(st.integers(0, len(records))))
    assembly = Assembly(0)
    for record in log[
        : data.draw(st.integers(0, len(log)))
    ]:  # read once in part, and then from the beginning
        assembly.add(*record)
    for record in log:
        assembly.add(*record)
    assert assembly.parts == states[count - 1]
    assert assembly.end is not None
    assert assembly.end.events == count - 1


@given(STATES, st.data())
def test_whatever_a_reader_holds_on_the_way_was_published(states: list[Parts], data: st.DataObject) -> None:
    records = [record for transaction in log_of(states) for record in transaction]
    log = compacted(records, data.draw(st.integers(0, len(records))))
    assembly = Assembly(0)
    for record in log:
        assembly.add(*record)
        if assembly.end is not None:
            assert assembly.parts == states[assembly.end.events]


@given(STATES, st.data())
def test_a_publisher_that_goes_on_from_the_topic_sends_what_changed_and_no_more(
    states: list[Parts], data: st.DataObject
) -> None:
    assembly = Assembly(0)
    for transaction in log_of(states):
        for record in transaction:
            assembly.add(*record)
    after = data.draw(st.dictionaries(st.sampled_from("abcd"), st.binary(max_size=1), max_size=4))
    publisher = Publisher(PIPELINE, 0)
    publisher.continue_from(assembly.digests)
    sent = publisher.records(after, 99, 99.0)
    changed = {name for name in {*states[-1], *after} if states[-1].get(name) != after.get(name)}
    assert {record.name for record in sent} == changed | {END}
    for record in sent:
        assembly.add(*record)
    assert assembly.parts == after


def end_of(key: bytes | None) -> bytes:
    value = log_of([{"a": b"1"}], key)[0][-1].value
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (None, end_of(None).replace(b'"format":1', b'"format":2'), "newer version"),
        (None, end_of(None).replace(b'"shard":0', b'"shard":1'), "partition of shard 0"),
        (None, b"{}", "did not write"),
        (None, b'{"format":1,"source":"\xff"}', "did not write"),
        (None, None, "did not write"),
        (None, end_of(KEY), "is signed; give the key"),
        (KEY, end_of(None), "not signed with this key"),
        (KEY, end_of(b"another key of 16"), "not signed with this key"),
        (KEY, end_of(KEY).replace(b'"events":0', b'"events":1'), "altered"),
    ],
)
def test_an_end_that_the_workers_did_not_write_is_refused(
    key: bytes | None, value: bytes | None, message: str
) -> None:
    assembly = Assembly(0, key)
    assembly.add("a", b"1")
    with pytest.raises(BadState, match=message):
        assembly.add(END, value)
    assert assembly.end is None


def test_a_signed_publication_whose_part_was_altered_is_not_used() -> None:
    (records,) = log_of([{"a": b"1"}], KEY)
    assembly = Assembly(0, KEY)
    assembly.add("a", b"2")
    assert not assembly.add(*records[-1])


def test_parts_make_the_state_again_and_unchanged_rows_are_unchanged_parts() -> None:
    model = AODE(binning=None)
    for number in range(300):
        model.learn_one({"a": f"é{number}", "b": number % 7 == 0}, "yes" if number % 3 else "no")
    before = parts_of(model.state(), 512)
    loaded = AODE.from_state(joined(before))
    assert loaded.store.by_name() == model.store.by_name()
    model.learn_one({"a": "é3", "b": False}, "yes")
    after = parts_of(model.state(), 512)
    changed = {name for name in after if before.get(name) != after[name]}
    assert len(changed) < len(after) / 3
    assert AODE.from_state(joined(after)).store.by_name() == model.store.by_name()


@pytest.mark.parametrize("fault", ["missing", "short", "superfluous", "meta"])
def test_parts_that_do_not_fit_are_refused(fault: str) -> None:
    model = NaiveBayes()
    model.learn_one({"sky": "grey", "wind": 2.0}, "rain")
    parts = parts_of(model.state())
    if fault == "missing":
        del parts["array/weight/0"]
    elif fault == "short":
        parts["array/weight/0"] = parts["array/weight/0"][:-1]
    elif fault == "superfluous":
        parts["array/other/0"] = b""
    else:
        parts["meta/0"] = msgspec.json.encode({"state": 1})
    with pytest.raises(BadState, match="do not make a state"):
        joined(parts)
