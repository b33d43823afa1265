"""Files with a JSON object a line."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.records.decoder import RawDecoder
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from tests.streams.files.reading import continued, events, whole

OBJECTS = st.dictionaries(
    st.text(max_size=3), st.text(max_size=5) | st.integers(-5, 5) | st.booleans(), max_size=3
)


@given(
    objects=st.lists(OBJECTS, max_size=6),
    blank=st.sampled_from(["", "\n", "\r\n", " \n\n"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    ends_with_one=st.booleans(),
    packed=st.booleans(),
    block_bytes=st.integers(1, 50),
    limit=st.integers(1, 4),
    data=st.data(),
)
def test_every_object_is_an_event_in_any_blocks_and_from_any_event(
    tmp_path_factory, objects, blank, newline, ends_with_one, packed, block_bytes, limit, data
):
    lines = (newline + blank).join(json.dumps(o) for o in objects) + newline * ends_with_one
    content = (blank + lines).encode()
    path = tmp_path_factory.mktemp("json") / "o"
    path.write_bytes(gzip.compress(content) if packed else content)

    def source():
        return JSONLinesSource(path, block_bytes=block_bytes)

    records = whole(opened := source(), [limit])
    opened.close()
    assert [x for x, _ in events(records)] == objects
    if records:
        number = data.draw(st.integers(0, len(records) - 1))
        assert continued(source, records[number]) == records[number:]


@given(
    content=st.lists(
        st.sampled_from([b"\n", b"\r\n", b"{}", b'{"a":1}', b"x" * 9, b" ", b"\0", b"\xff"])
    ).map(b"".join),
    block_bytes=st.integers(1, 30),
)
def test_no_bytes_whatsoever_stop_the_stream_and_blocks_do_not_matter(tmp_path_factory, content, block_bytes):
    path = tmp_path_factory.mktemp("json") / "o"
    path.write_bytes(content)
    found = []
    for block in (block_bytes, 10**6):
        source = JSONLinesSource(path, JSONDecoder(max_record_bytes=8), block_bytes=block)
        found.append(whole(source))
        source.close()
    assert found[0] == found[1]
    lines = [line for line in content.split(b"\n") if line.strip()]
    assert len(found[0]) == len(lines)
    assert [isinstance(record, Event) for record in found[0]] == [
        line.strip() in (b"{}", b'{"a":1}') and len(line) <= 8 for line in lines
    ]


def test_a_byte_order_mark_is_passed_over(tmp_path):
    path = tmp_path / "o"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n')
    for block_bytes in (1, 2, 100):
        source = JSONLinesSource(path, block_bytes=block_bytes)
        read = [record for record in whole(source) if isinstance(record, Event)]
        assert [(each.x, each.position, each.length) for each in read] == [
            ({"a": 1}, 0, 12),
            ({"a": 2}, 12, 9),
        ]
        source.close()


def test_another_decoder_reads_other_lines(tmp_path):
    path = tmp_path / "o"
    path.write_bytes(b"one\n\xfftwo\n")
    source = JSONLinesSource(path, RawDecoder())
    assert [x for x, _ in events(whole(source))] == [b"one", b"\xfftwo"]
    source.close()


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_100_megabytes_is_skipped_without_ever_being_in_memory(
    tmp_path: Path, packed: bool
) -> None:
    path = tmp_path / "o"
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        file.write(b'{"a": 1, "y": 2}\n{"a": "')
        for _ in range(100):
            file.write(b"x" * 10**6)
        file.write(b'"}\n{"a": 3, "y": 4}\n')
    source = JSONLinesSource(path, JSONDecoder(Fields(target="y"), max_record_bytes=10**5))
    tracemalloc.start()
    try:
        records = whole(source)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
        source.close()
    assert events([records[0], records[2]]) == [({"a": 1}, 2), ({"a": 3}, 4)]
    bad = records[1]
    assert isinstance(bad, BadRecord)
    assert (bad.reason, bad.detail) == ("too_long", "expected at most 100000 bytes, got 100000009")
    assert bad.raw == b'{"a": "' + b"x" * 4089
    assert (bad.position, bad.length) == (17, 100_000_010)
