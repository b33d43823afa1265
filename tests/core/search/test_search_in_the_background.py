"""Searches release the interpreter's lock, so that a stream is learned while they run in the background."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes.core.search import _counting as _search
from stream_bayes.core.search.sample import PackedColumns

ROWS = 200_000
SIZES = np.full(8, 3, np.longlong)
CODES = np.random.default_rng(1).integers(0, 3, (ROWS, 8)).astype(np.uint8)
CANDIDATES = np.arange(1, 8, dtype=np.longlong)
WEIGHTS, NUMBERS = np.ones(ROWS), np.zeros(ROWS, np.int32)
CELLS = np.zeros(7 * 9 + 2 * 10**6)
PACKED = PackedColumns.of(CODES, SIZES)
GROUPS = np.arange(len(PACKED.widths), dtype=np.longlong)
OFFSETS = np.cumsum([0, *PACKED.widths], dtype=np.longlong)
ENDS = np.array([0, len(CELLS) // 3 * 3], np.longlong)
COLUMN = np.array([[0, 27, 3, 3, 3]], np.longlong)
STARTS = np.arange(8, dtype=np.longlong) * 9


class Beside:
    """A thread that counts up whenever it gets the interpreter."""

    def __init__(self) -> None:
        self.turns = 0
        self.ended = False

    def run(self) -> None:
        while not self.ended:
            self.turns += 1
            time.sleep(0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While it runs nobody has to give the interpreter up: who does has done so by itself."""
        before = sys.getswitchinterval()
        thread = threading.Thread(target=self.run)
        thread.start()
        sys.setswitchinterval(1000.0)
        try:
            yield
        finally:
            sys.setswitchinterval(before)
            self.ended = True
            thread.join()


LOOPS: dict[str, Callable[[], Any]] = {
    "group": lambda: _search.group_rows(
        CODES, np.full(2**19, -1, np.int32), *np.empty((2, ROWS), np.longlong)
    ),
    "score all": lambda: _search.score_families(
        CELLS, ENDS, np.full(1, 3, np.longlong), np.ones(1), np.ones(1), np.empty(1)
    ),
    "number": lambda: _search.number_configurations(CODES, CANDIDATES[:1], SIZES[1:2], NUMBERS),
    "count": lambda: _search.count_families(CODES, WEIGHTS, NUMBERS, 0, CANDIDATES, SIZES, STARTS, CELLS),
    "count packed": lambda: _search.count_packed(
        PACKED.codes, CODES, WEIGHTS, NUMBERS, 0, 3, GROUPS, OFFSETS, CELLS
    ),
    "unpack": lambda: _search.unpack(CELLS, 2 * 10**6 // 81, 3, 27, COLUMN, STARTS[:1], CELLS),
    "information": lambda: _search.pair_information(
        CELLS, 0, len(CELLS) // 9, 3, 3, CELLS[-3:], CELLS[-6:-3]
    ),
    "score": lambda: _search.score_family(CELLS, 0, len(CELLS) // 3, 3, 1.0, 3.0),
}


@pytest.mark.skipif(not stream_bayes.compiled, reason="plain Python holds the interpreter while it computes")
@pytest.mark.parametrize("loop", LOOPS)
def test_another_thread_runs_while_rows_are_counted(loop: str) -> None:
    beside = Beside()
    # On a busy machine it may be a while until the other thread gets a processor.
    deadline = time.monotonic() + 30.0
    with beside.running():
        met = False
        while not met and time.monotonic() < deadline:
            before = beside.turns
            LOOPS[loop]()
            met = beside.turns > before
    assert met
