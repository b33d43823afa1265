"""Small snapshots that are told apart by a number, and what a directory of them holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stream_bayes.core.events.event import Partition
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore


def counted(number: int) -> Snapshot:
    return Snapshot(
        learner="Counter",
        sections={"learner": {"arrays": {"weight": np.full(5, float(number))}}, "metrics": {"seen": number}},
        positions={Partition("log"): number},
        clock=number,
    )


def number_of(snapshot: Snapshot) -> int:
    """The number a snapshot was made with, once all parts of it agree."""
    number = snapshot.clock
    assert snapshot.to_bytes() == counted(number).to_bytes()
    return number


def newest(store: SnapshotStore) -> int | None:
    found = store.latest()
    return None if found is None else number_of(found.snapshot)


class Unsynced(FileSystem):
    """For what comes before and after the crash that is tested: no power is cut there, and syncing takes time."""

    def sync(self, descriptor: int) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass


def owned(directory: Path, keep: int = 3, file_system: FileSystem | None = None) -> SnapshotStore:
    store = SnapshotStore(directory, keep=keep, file_system=file_system)
    store.take_over()
    return store


def stored_numbers(store: SnapshotStore) -> list[int]:
    """The numbers of all snapshots that are kept, oldest first."""
    return [number_of(store.load(generation)) for generation in store.list()]


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}
