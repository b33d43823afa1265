"""Records of a journal: what was written once is read for ever, and written the same today. No broker is asked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import CannotResume
from stream_bayes.kafka import journal as journal_topic
from stream_bayes.kafka.clients.client import Message
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.journal import JournalRecord, decode_entry

# As format 1 has them. They are never changed, only joined by those of later formats.
WRITTEN = {
    "takes over": (
        b'{"format":1,"worker":"5c1e","number":0,"slices":[],"cluster":"w1u7","topics":{"days":"b9a4"}}',
        JournalRecord(1, "5c1e", 0, (), (), "w1u7", {"days": "b9a4"}, offset=7),
    ),
    "commits": (
        b'{"format":1,"worker":"5c1e","number":1,"slices":[["days",0,0,500],["days",1,0,480]]}',
        JournalRecord(1, "5c1e", 1, (("days", 0, 0, 500), ("days", 1, 0, 480)), offset=7),
    ),
    "says how far": (
        b'{"format":1,"worker":"5c1e","number":2,"slices":[],"positions":[["days",0,500]],"cluster":"w1u7",'
        b'"topics":{"days":"b9a4"}}',
        JournalRecord(1, "5c1e", 2, (), (("days", 0, 500),), "w1u7", {"days": "b9a4"}, offset=7),
    ),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_a_record_that_was_written_once_is_read_for_ever_and_written_the_same(what: str) -> None:
    written, entry = WRITTEN[what]
    assert decode_entry("journal", written, 7) == entry
    assert msgspec.json.encode(msgspec.structs.replace(entry, offset=0)) == written


def test_a_record_of_a_newer_version_is_refused() -> None:
    with pytest.raises(CannotResume, match="record 7 has format 2, this version reads 1; upgrade"):
        decode_entry("journal", WRITTEN["commits"][0].replace(b'"format":1', b'"format":2'), 7)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"slices": [["days", 0, 20, 10]]}, "the ranges"),
        ({"slices": [["days", 0, -10, 10]]}, "the ranges"),
        ({"slices": [["days", 0, 0, 5], ["days", 0, 5, 9]]}, "two ranges of one partition"),
        ({"slices": [["days", 0, 0, 5]], "records": [5, 5]}, "2 numbers of records for 1 ranges"),
        ({"slices": [["days", 0, 0, 5]], "records": [6]}, r"\[6\] records in the ranges"),
        ({"slices": [["days", 0, 0, 5]], "marks": [[0, 1, 2], [0, 1, 2]]}, "2 marks for 1 positions"),
        ({"slices": [["days", 0, 0, 5]], "positions": [["days", 0, 5]]}, "ranges and positions"),
        ({"slices": [], "positions": [["days", 0, -5]]}, "the positions"),
    ],
)
def test_an_entry_that_no_worker_writes_is_refused(fields: dict[str, Any], fault: str) -> None:
    value = msgspec.json.encode({"format": 1, "worker": "5c1e", "number": 1} | fields)
    with pytest.raises(CannotResume, match=f"'days' was altered: record 7 has {fault}"):
        decode_entry("days", value, 7)


@pytest.mark.parametrize("value", [b"", None, b"text", b"[]", b'{"format":1}', b'{"worker":"\xff"}'])
def test_what_is_no_record_of_a_journal_is_refused(value: bytes | None) -> None:
    with pytest.raises(CannotResume, match="is not a journal of this package: record 7 is"):
        decode_entry("days", value, 7)


class BusyJournal:
    """A journal to which another worker writes faster than anybody reads; a cluster, and a reader of it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.next = 0

    def end_offsets(self, partitions: list[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, self.count)

    def beginning_offsets(self, partitions: list[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 0)

    def assign(self, positions: dict[Partition, int]) -> None:
        (self.next,) = positions.values()

    def poll(self, limit: int, seconds: float) -> list[Message]:
        assert self.next < 10 * self.count, "it is read without an end"
        first, self.next = self.next, self.next + 7
        value = WRITTEN["commits"][0]
        return [
            Message(Partition("journal"), offset, None, None, value) for offset in range(first, self.next)
        ]

    def position(self, partition: Partition) -> int:
        return self.next

    def close(self) -> None:
        pass


def test_a_journal_that_keeps_growing_is_read_up_to_the_end_that_it_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal: Any = BusyJournal(30)
    journal.connection = Connection(servers=("nobody:9092",))
    monkeypatch.setattr(journal_topic, "make_reader", lambda *settings: journal)
    entries = list(journal_topic.entries_from(journal, Partition("journal"), 4))
    assert [entry.offset for entry in entries if entry is not None] == list(range(4, 30))
