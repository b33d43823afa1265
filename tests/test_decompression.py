"""Compressed bytes expand within bounds, whoever reads them."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import decompression
from stream_bayes.decompression import unpacked
from stream_bayes.errors import BadFormat, BadValue, CannotResume
from stream_bayes.networks.files import network_bytes
from stream_bayes.networks.files.bif import read_bif
from stream_bayes.workers import answer_tape
from stream_bayes.workers.answer_tape import Tape

PACK: dict[str, Callable[[bytes], bytes]] = {"zlib": zlib.compress, "gzip": gzip.compress}


@pytest.mark.parametrize("form", ["zlib", "gzip"])
@pytest.mark.parametrize("content", [b"", b"x", b"grey," * 100_000])
def test_what_was_packed_comes_back(form: str, content: bytes) -> None:
    packed = PACK[form](content)
    assert unpacked(packed, len(content), form) == content
    for broken in (packed[:-1], packed[:2], b"", b"no" + packed, packed + b"more"):
        with pytest.raises(BadValue):
            unpacked(broken, len(content) + 10, form)


def test_members_of_gzip_follow_each_other_and_count_together() -> None:
    two = gzip.compress(b"grey") + gzip.compress(b"blue") + b"\0\0"
    assert unpacked(two, 8, "gzip") == b"greyblue"
    with pytest.raises(BadValue, match="at most 7 bytes"):
        unpacked(two, 7, "gzip")


def test_a_bomb_is_bounded_while_it_expands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_bytes, "MOST_BYTES", 100_000)
    monkeypatch.setattr(answer_tape, "MOST_BYTES", 100_000)
    (tmp_path / "net.bif.gz").write_bytes(gzip.compress(bytes(100_000_000)))
    packed = zlib.compress(bytes(100_000_000))
    calls: list[tuple[type[Exception], Callable[[], Any]]] = [
        (BadFormat, lambda: read_bif(tmp_path / "net.bif.gz")),
        (CannotResume, lambda: Tape(packed)),
        (BadValue, lambda: decompression.unpacked(packed, 100_000)),
    ]
    tracemalloc.start()
    for kind, call in calls:
        with pytest.raises(kind, match="at most 100,000 bytes"):
            call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000
