"""A lock that processes hold in turn: a file, locked by flock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stream_bayes.saving.snapshots.file_system import FileSystem

__all__ = ["holding_lock"]

LOCK_PAUSE = 0.02  # seconds between two attempts to lock


@contextmanager
def holding_lock(files: FileSystem, path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of a file, which is made if need be. `waiting` is called once if another process holds it."""
    lock = files.open(path, os.O_RDWR | os.O_CREAT)
    try:
        while not files.try_lock(lock):
            if waiting is not None:
                waiting()
                waiting = None
            time.sleep(LOCK_PAUSE)
        yield
    finally:
        files.close(lock)
