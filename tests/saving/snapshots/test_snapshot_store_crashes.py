"""A crash at every operation: the next start finds the old snapshot or the new one, never neither."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from stream_bayes.errors import NoSnapshot
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.testing.faults import Crash, FaultyFileSystem, Survives
from tests.saving.snapshots.numbered_snapshots import (
    Unsynced,
    counted,
    names_in,
    newest,
    owned,
    stored_numbers,
)

EVERY_DISK = pytest.mark.parametrize("survives", Survives)
KEEP = 2


class Run:
    """A process that saves one snapshot after another, and knows which of them it was told are safe."""

    def __init__(self, directory: Path, files: FileSystem, first: int) -> None:
        self.store = SnapshotStore(directory, keep=KEEP, file_system=files)
        self.first = first
        self.safe = first - 1

    def go(self) -> None:
        self.store.take_over()
        for number in range(self.first, self.first + 4):
            self.store.save(counted(number))
            self.safe = number


def crashes(directory: Path, survives: Survives, prepare: Callable[[Path], None], first: int) -> int:
    """Crash at every operation of a run; after each, look at what the next start finds. Returns how many there were."""
    for number in itertools.count(1):
        folder = directory / str(number)
        prepare(folder)
        files = FaultyFileSystem(crash_at=number, survives=survives)
        run = Run(folder, files, first)
        try:
            run.go()
        except Crash:
            pass
        else:
            assert number == len(files.operations) + 1
            return number - 1
        where = f"{files.operations[-1]}, operation {number}"
        reader = SnapshotStore(folder, keep=KEEP)
        found = newest(reader)
        possible = [run.safe, run.safe + 1]
        assert (0 if found is None else found) in possible, (
            f"crash at {where}: found {found}, not one of {possible}"
        )
        assert reader.verify() == (), where
        # The next process finds the same, goes on, and clears up.
        following = owned(folder, KEEP, Unsynced())
        assert newest(following) == found, where
        following.save(counted(90))
        following.save(counted(91))
        assert stored_numbers(following) == [90, 91], where
        left = names_in(folder) - {following.path(generation).name for generation in following.list()}
        assert left <= {"epoch", "lock"}, where
    raise AssertionError


@EVERY_DISK
def test_a_crash_at_every_operation_of_a_first_run_loses_nothing_that_was_safe(
    tmp_path: Path, survives: Survives
) -> None:
    assert crashes(tmp_path, survives, lambda folder: None, first=1) > 60


@EVERY_DISK
def test_a_crash_at_every_operation_of_a_later_run_leaves_the_old_snapshot_or_the_new_one(
    tmp_path: Path, survives: Survives
) -> None:
    def prepare(folder: Path) -> None:
        store = owned(folder, KEEP, Unsynced())
        for number in (1, 2, 3):
            store.save(counted(number))

    assert crashes(tmp_path, survives, prepare, first=4) > 60


@EVERY_DISK
def test_a_crash_at_every_operation_of_a_rollback_leaves_the_old_snapshot_or_the_new_one(
    tmp_path: Path, survives: Survives
) -> None:
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        store = owned(folder, file_system=Unsynced())
        for seen in (1, 2, 3):
            store.save(counted(seen))
        files = FaultyFileSystem(crash_at=number, survives=survives)
        store = SnapshotStore(folder, file_system=files)
        try:
            store.take_over()
            store.rollback(1)
        except Crash:
            assert newest(SnapshotStore(folder)) in (3, 1)
            assert stored_numbers(SnapshotStore(folder))[:3] == [1, 2, 3]
        else:
            assert newest(store) == 1
            return


# -- what is tested with: a store that is careless in one way is found out ------------------------------------------


class NoFileSync(FaultyFileSystem):
    def sync(self, descriptor: int) -> None:
        pass


class NoDirectorySync(FaultyFileSystem):
    def sync_directory(self, path: Path) -> None:
        pass


class NoRename(SnapshotStore):
    def _publish(self, pieces):
        generation = max(self.list(), default=0) + 1
        self._write(self.path(generation), pieces, 0)
        return generation


@pytest.mark.parametrize(
    ("careless", "survives"), [(NoFileSync, Survives.NAMES), (NoDirectorySync, Survives.SYNCED)]
)
def test_a_store_that_does_not_sync_would_be_found_out(
    tmp_path: Path, careless: type[FaultyFileSystem], survives: Survives
) -> None:
    found_out = 0
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        files = careless(crash_at=number, survives=survives)
        run = Run(folder, files, first=1)
        try:
            run.go()
        except Crash:
            try:
                found = newest(SnapshotStore(folder)) or 0
                found_out += found not in (run.safe, run.safe + 1)
            except NoSnapshot:
                found_out += 1
        else:
            break
    assert found_out > 10


def test_a_store_that_does_not_rename_would_be_found_out(tmp_path: Path) -> None:
    found_out = 0
    for number in range(1, 30):
        files = FaultyFileSystem(crash_at=number)
        store = NoRename(tmp_path / str(number), file_system=files)
        with suppress(Crash):
            store.take_over()
            for seen in (1, 2, 3):
                store.save(counted(seen))
        found_out += SnapshotStore(tmp_path / str(number)).verify() != ()
    assert found_out > 5
