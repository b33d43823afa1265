"""A directory keeps the last few snapshots, and falls back when one is broken."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes.errors import (
    BadSnapshot,
    BadValue,
    BrokenSnapshotWarning,
    NoSnapshot,
)
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from tests.saving.snapshots.forging import KEY, forged
from tests.saving.snapshots.numbered_snapshots import (
    counted,
    names_in,
    newest,
    number_of,
    owned,
    stored_numbers,
)

PASSED_OVER = "ignore::stream_bayes.errors.BrokenSnapshotWarning"


def break_file(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "flipped":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    elif how == "newer":
        path.write_bytes(forged(format=2))
    else:
        path.unlink()
        if how == "a pipe":
            os.mkfifo(path)
        elif how == "a directory":
            path.mkdir()
        elif how == "a link to nothing":
            path.symlink_to("nothing")


# -- keeping --------------------------------------------------------------------------------------------------------


def test_what_is_saved_is_the_latest(tmp_path: Path) -> None:
    store = owned(tmp_path)
    assert store.latest() is None and store.list() == []
    assert [store.save(counted(number)) for number in (5, 6)] == [1, 2]
    found = store.latest()
    assert found is not None
    assert (found.generation, found.broken) == (2, ())
    assert number_of(found.snapshot) == 6
    assert number_of(store.load(1)) == 5


def test_the_last_few_are_kept(tmp_path: Path) -> None:
    for keep in (1, 2, 5):
        store = owned(tmp_path / str(keep), keep=keep)
        for number in range(4):
            store.save(counted(number))
            assert stored_numbers(store) == list(range(4))[: number + 1][-keep:]
        assert store.list()[-1] == 4


def test_a_directory_that_is_not_there_holds_nothing_and_is_not_made_by_looking(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path / "a" / "b")
    assert store.latest() is None and store.list() == [] and store.verify() == ()
    assert names_in(tmp_path) == set()
    store.take_over()
    store.save(counted(1))
    assert newest(store) == 1


def test_everything_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = owned(tmp_path / "snapshots")
        store.save(counted(1))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "snapshots").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "snapshots").iterdir()} == {0o600}


def test_nothing_but_snapshots_epoch_and_lock_is_left_behind(tmp_path: Path) -> None:
    store = owned(tmp_path, keep=2)
    for number in range(4):
        store.save(counted(number))
    files = {"snapshot-000000000003.zip", "snapshot-000000000004.zip"}
    assert names_in(tmp_path) == {*files, "epoch", "lock"}


def test_files_that_are_not_the_stores_are_left_alone(tmp_path: Path) -> None:
    others = {"notes.txt", "snapshot-1.zip", "snapshot-000000000001.zip.bak", "writing-x-1", "xwriting-1-1"}
    for name in others:
        (tmp_path / name).write_text("mine")
    store = owned(tmp_path, keep=1)
    for number in range(3):
        store.save(counted(number))
    assert others < names_in(tmp_path)
    assert store.list() == [3]


def test_an_unknown_generation_is_named(tmp_path: Path) -> None:
    store = owned(tmp_path)
    store.save(counted(1))
    for ask in (store.load, store.describe, store.rollback):
        with pytest.raises(NoSnapshot, match=r"no snapshot .*snapshot-000000000009.zip; there are \[1\]"):
            ask(9)


@pytest.mark.parametrize("keep", [0, -1, 1.0, True, None])
def test_a_number_to_keep_that_is_none_is_refused(tmp_path: Path, keep: Any) -> None:
    with pytest.raises(BadValue, match="keep"):
        SnapshotStore(tmp_path, keep=keep)


def test_snapshots_are_signed_and_checked_with_the_key(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path, key=KEY)
    store.take_over()
    store.save(counted(1))
    assert newest(SnapshotStore(tmp_path, key=KEY)) == 1
    assert store.describe(1)["signed"] is True
    with pytest.raises(NoSnapshot, match="is signed; give the key"):
        SnapshotStore(tmp_path).latest()
    with pytest.raises(BadSnapshot, match="signed with another key"):
        SnapshotStore(tmp_path, key=b"k" * 16).load(1)
    assert "bytes" not in repr(store) and KEY.decode() not in repr(store)


# -- describing and verifying -----------------------------------------------------------------------------------------


class Reads(FileSystem):
    def __init__(self) -> None:
        self.bytes = 0

    def read(self, descriptor: int, start: int, size: int) -> memoryview:
        read = super().read(descriptor, start, size)
        self.bytes += len(read)
        return read


def test_describing_reads_no_arrays(tmp_path: Path) -> None:
    files = Reads()
    store = owned(tmp_path)
    # So many that meta.json is longer than a page.
    arrays = {f"array{number}": np.zeros(10_000) for number in range(100)}
    store.save(Snapshot(learner="Counter", sections={"learner": {"arrays": arrays}}, clock=3))
    description = SnapshotStore(tmp_path, file_system=files).describe(1)
    assert (description["generation"], description["clock"], description["bytes"]) == (
        1,
        3,
        store.path(1).stat().st_size,
    )
    assert description["sections"]["learner"]["arrays"]["array99"] == ["<f8", [10_000]]
    assert files.bytes < description["bytes"] / 500


@pytest.mark.filterwarnings(PASSED_OVER)
def test_verifying_names_each_broken_one_and_why(tmp_path: Path) -> None:
    store = owned(tmp_path, keep=9)
    for number in range(5):
        store.save(counted(number))
    assert store.verify() == ()
    break_file(store.path(2), "flipped")
    break_file(store.path(4), "truncated")
    broken = store.verify()
    assert [generation for generation, _ in broken] == [2, 4]
    assert "snapshot-000000000002.zip" in broken[0].reason and "was altered" in broken[0].reason
    assert "truncated" in broken[1].reason


# -- falling back -----------------------------------------------------------------------------------------------------

HOW = ["truncated", "empty", "flipped", "newer", "a pipe", "a directory", "a link to nothing"]


@pytest.mark.parametrize("how", HOW)
def test_a_broken_newest_snapshot_is_skipped_for_the_one_before_with_a_warning(
    tmp_path: Path, how: str
) -> None:
    store = owned(tmp_path)
    for number in range(3):
        store.save(counted(number))
    break_file(store.path(3), how)
    with pytest.warns(BrokenSnapshotWarning, match="the previous one is used: .*") as warned:
        found = store.latest()
    assert found is not None and number_of(found.snapshot) == 1 and found.generation == 2
    assert [generation for generation, _ in found.broken] == [3]
    assert "snapshot-000000000003.zip" in found.broken[0].reason
    assert len(warned) == 1 and warned[0].filename == __file__
    # And the stream can go on from there.
    assert store.save(counted(7)) == 4
    assert newest(store) == 7


@pytest.mark.parametrize("how", HOW)
def test_to_start_anew_where_every_snapshot_is_broken_is_refused(tmp_path: Path, how: str) -> None:
    store = owned(tmp_path)
    for number in range(2):
        store.save(counted(number))
        break_file(store.path(number + 1), how)
    with pytest.raises(
        NoSnapshot, match=r"none of the 2 snapshots in .* can be read: .*move them away to start anew"
    ):
        store.latest()


@pytest.mark.filterwarnings(PASSED_OVER)
def test_broken_snapshots_do_not_count_among_those_that_are_kept(tmp_path: Path) -> None:
    store = owned(tmp_path, keep=2)
    for number in range(2):
        store.save(counted(number))
    break_file(store.path(2), "flipped")
    assert newest(store) == 0
    store.save(counted(2))
    assert store.list() == [1, 2, 3]  # 2 is broken, so 1 is still there to fall back to
    break_file(store.path(3), "truncated")
    assert newest(store) == 0
    store.save(counted(3))
    store.save(counted(4))
    assert store.list() == [4, 5]


@pytest.mark.filterwarnings(PASSED_OVER)
def test_the_number_of_a_broken_file_that_was_moved_away_is_a_sound_one_again(tmp_path: Path) -> None:
    store = owned(tmp_path, keep=2)
    for number in range(2):
        store.save(counted(number))
    break_file(store.path(2), "flipped")
    assert newest(store) == 0
    store.path(2).unlink()
    assert [store.save(counted(number)) for number in (2, 3)] == [2, 3]
    assert stored_numbers(store) == [2, 3]


def test_a_file_of_another_size_than_it_says_is_not_read_whole(tmp_path: Path) -> None:
    files = Reads()
    store = owned(tmp_path)
    store.save(counted(1))
    os.truncate(store.path(1), 2**40)  # a terabyte of zeros, which takes no room on the disk
    with pytest.raises(BadSnapshot, match="something was added"):
        SnapshotStore(tmp_path, file_system=files).load(1)
    assert files.bytes < 10_000


class PrunedMeanwhile(FileSystem):
    """Somebody else saves two snapshots, and deletes the older ones, right before the first is opened here."""

    def __init__(self, store: SnapshotStore) -> None:
        self.store: SnapshotStore | None = store

    def open(self, path: Path, flags: int) -> int:
        if self.store is not None and path.suffix == ".zip":
            store, self.store = self.store, None
            store.save(counted(8))
            store.save(counted(9))
        return super().open(path, flags)


def test_snapshots_that_their_owner_deletes_just_now_are_not_missed(tmp_path: Path) -> None:
    owner = owned(tmp_path, keep=1)
    owner.save(counted(1))
    assert newest(SnapshotStore(tmp_path, file_system=PrunedMeanwhile(owner))) == 9
    owner.save(counted(1))
    assert SnapshotStore(tmp_path, file_system=PrunedMeanwhile(owner)).verify() == ()


# -- rolling back -----------------------------------------------------------------------------------------------------


def test_rolling_back_makes_an_older_snapshot_the_newest(tmp_path: Path) -> None:
    store = owned(tmp_path)
    for number in range(3):
        store.save(counted(number))
    assert store.rollback(1) == 4
    assert store.path(4).read_bytes() == store.path(1).read_bytes()
    assert stored_numbers(store) == [0, 1, 2, 0]
    assert store.rollback(3) == 5  # and it can be taken back
    assert newest(store) == 2


def test_rolling_back_to_a_broken_snapshot_is_refused(tmp_path: Path) -> None:
    store = owned(tmp_path)
    for number in range(2):
        store.save(counted(number))
    break_file(store.path(1), "flipped")
    with pytest.raises(BadSnapshot, match=r"snapshot-000000000001\.zip.*was altered"):
        store.rollback(1)
    assert newest(store) == 1 and store.list() == [1, 2]
