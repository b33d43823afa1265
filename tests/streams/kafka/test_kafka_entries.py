"""Records of a journal: what was written once is read for ever, and written the same today. No broker is asked."""

from __future__ import annotations

import msgspec
import pytest

from stream_bayes.errors import CannotResume
from stream_bayes.streams.kafka.journal_topic import Entry, decode_entry

# As format 1 has them. They are never changed, only joined by those of later formats.
WRITTEN = {
    "takes over": (
        b'{"format":1,"worker":"5c1e","number":0,"slices":[],"cluster":"w1u7","topics":{"days":"b9a4"}}',
        Entry(1, "5c1e", 0, (), (), "w1u7", {"days": "b9a4"}, offset=7),
    ),
    "commits": (
        b'{"format":1,"worker":"5c1e","number":1,"slices":[["days",0,0,500],["days",1,0,480]]}',
        Entry(1, "5c1e", 1, (("days", 0, 0, 500), ("days", 1, 0, 480)), offset=7),
    ),
    "says how far": (
        b'{"format":1,"worker":"5c1e","number":2,"slices":[],"positions":[["days",0,500]],"cluster":"w1u7",'
        b'"topics":{"days":"b9a4"}}',
        Entry(1, "5c1e", 2, (), (("days", 0, 500),), "w1u7", {"days": "b9a4"}, offset=7),
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


@pytest.mark.parametrize("value", [b"", None, b"text", b"[]", b'{"format":1}'])
def test_what_is_no_record_of_a_journal_is_refused(value: bytes | None) -> None:
    with pytest.raises(CannotResume, match="is no journal of this package: record 7 is"):
        decode_entry("days", value, 7)
