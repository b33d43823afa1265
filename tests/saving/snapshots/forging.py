"""Snapshots to look at, and files that only look like snapshots."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BadSnapshot
from stream_bayes.saving.snapshots.snapshot import Snapshot

LITTLE = 2**20  # bytes
KEY = b"sixteen bytes, or more"

META: dict[str, Any] = {
    "format": 1,
    "package": "0.1.0",
    "learner": "Counter",
    "configuration": "",
    "schema": None,
    "clock": 0,
    "positions": [],
    "outputs": {},
    "sections": {},
}


def example() -> Snapshot:
    """A small snapshot with something of everything."""
    return Snapshot(
        learner="Counter",
        sections={
            "learner": {
                "labels": ["größe", "\ud800", True, None],
                "nested": {"b": [1, -0.5, 10**30], "a": {}},
                "arrays": {
                    "weight": np.arange(6.0).reshape(2, 3),
                    "codes": np.array([3, -1], np.int32),
                    "flags": np.array([True, False, True]),
                    "none": np.zeros((0, 4)),
                    "single": np.array(7, np.uint8),
                },
            },
            "metrics": {"seen": 7},
            "empty": {"arrays": {}},
        },
        configuration="9f86d081",
        schema="60303ae2",
        positions={Partition("b"): 5, Partition("a", 1): 2**40, Partition("a"): 0},
        clock=7,
        outputs={"out.jsonl": 90, "a b/ü.csv": 0},
        package="0.1.0",
    )


def text_of(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def npy(array: Any) -> bytes:
    """A .npy file by numpy's own hand, pickles included."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), version=(1, 0), allow_pickle=True)
    return file.getvalue()


def zipped(entries: list[tuple[str, bytes]], comment: bytes = b"") -> bytes:
    """A zip of stored entries in the form of snapshots, written here once more and without a look at what is in it.

    The same as what the package writes, wherever the entries are what it would write.
    """
    file, listed = b"", b""
    for name, data in entries:
        encoded = name.encode("latin-1")
        padding = -(len(file) + 30 + len(encoded)) % 64
        padding += 64 if 0 < padding < 4 else 0
        extra = b"" if not padding else struct.pack("<HH", 0xD935, padding - 4) + bytes(padding - 4)
        sizes = (zlib.crc32(data), len(data), len(data), len(encoded))
        header = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 10, 0, 0, 0, 33, *sizes, len(extra))
        listed += struct.pack(
            *("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 3 << 8 | 10, 10, 0, 0, 0, 33, *sizes),
            *(0, 0, 0, 0, 0o100600 << 16, len(file)),
        )
        listed += encoded
        file += header + encoded + extra + data
    end = struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, len(entries), len(entries), len(listed), len(file), len(comment)
    )
    return file + listed + end + comment


def forged(entries: list[tuple[str, bytes]] | None = None, **changes: Any) -> bytes:
    """A zip in the right form, whose meta.json says whatever is wanted."""
    return zipped([("meta.json", text_of({**META, **changes})), *(entries or [])])


def same(one: Any, other: Any) -> bool:
    """Whether two states are the same to the bit and the type, NaN included."""
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, dict):
        return (
            isinstance(other, dict) and list(one) == list(other) and all(same(one[k], other[k]) for k in one)
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def same_content(one: Snapshot, other: Snapshot) -> bool:
    parts = ("learner", "configuration", "schema", "positions", "clock", "outputs", "package")
    return all(same(getattr(one, part), getattr(other, part)) for part in parts) and same(
        dict(one.sections), dict(other.sections)
    )


@contextmanager
def refused(said: str = "altered|not described as expected|the sections describe") -> Iterator[None]:
    """Refused as a bad snapshot, and without making room for what it claims."""
    tracemalloc.start()
    try:
        with pytest.raises(BadSnapshot, match=said):
            yield
        assert tracemalloc.get_traced_memory()[1] < 30 * LITTLE
    finally:
        tracemalloc.stop()


def accepts(file: bytes, key: bytes | None = None) -> bool:
    """Whether a file is taken. If so, it must be what is written for what was read from it."""
    try:
        snapshot = Snapshot.from_bytes(file, key)
    except BadSnapshot:
        return False
    assert snapshot.to_bytes(key) == file
    return True
