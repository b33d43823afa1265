"""The local copy of a snapshot: used for the end record that closes it, and for no other; a bad disk only loses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.workers.publication import Origin, Publisher
from stream_bayes.workers.snapshot_cache import SnapshotCache
from stream_bayes.workers.state_parts import pieces

PART = 4


def end_of(snapshot: bytes, events: int = 7) -> bytes:
    """Return the end record of the publication of a snapshot."""
    records = Publisher(Origin("p", "", 2, 2), 1).records(pieces("snapshot", snapshot, PART), events, 0.0)
    assert records[-1].value is not None
    return records[-1].value


@pytest.fixture
def cache(tmp_path: Path) -> SnapshotCache:
    return SnapshotCache(tmp_path / "made" / "here", "p", 1, PART)


def test_a_copy_is_of_its_end_record_alone(cache: SnapshotCache) -> None:
    end = end_of(b"0123456789")
    assert cache.read(end) is None
    cache.write(end, b"0123456789")
    assert cache.read(end) == b"0123456789"
    assert cache.read(end_of(b"0123456789", events=8)) is None
    cache.write(end_of(b"abc"), b"abc")
    assert cache.read(end) is None
    assert [path.name for path in cache.path.parent.iterdir()] == ["p.shard-1"]


@pytest.mark.parametrize("cut", [0, 3, 9, -1])
def test_a_damaged_copy_is_not_used(cache: SnapshotCache, cut: int) -> None:
    end = end_of(b"0123456789")
    cache.write(end, b"0123456789")
    cache.path.write_bytes(cache.path.read_bytes()[:cut])
    assert cache.read(end) is None


def test_a_disk_that_refuses_is_reported_once(
    cache: SnapshotCache, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "made").write_text("a file in the place of the directory")
    for _ in range(2):
        cache.write(end_of(b"abc"), b"abc")
    assert len(caplog.records) == 1
    assert "a restart will read the topic" in caplog.text
    assert cache.read(end_of(b"abc")) is None
