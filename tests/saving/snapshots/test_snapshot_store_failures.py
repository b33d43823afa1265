"""A disk that is full, or refuses, costs nothing but the snapshot that it did not take."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import pytest

from stream_bayes.errors import (
    BrokenSnapshotWarning,
    SnapshotNotWritten,
)
from stream_bayes.testing.faults import FaultyStore
from tests.saving.snapshots.numbered_snapshots import counted, names_in, newest, owned, stored_numbers


def test_a_full_disk_leaves_the_older_snapshots_and_no_litter_and_is_survived(tmp_path: Path) -> None:
    store = FaultyStore(tmp_path)
    store.take_over()
    store.save(counted(1))
    before = names_in(tmp_path)
    for space in range(0, len(counted(2).to_bytes()), 97):
        store.faults.space = space
        with pytest.raises(
            SnapshotNotWritten, match=r"No space left on device.*those before it are untouched"
        ):
            store.save(counted(2))
        assert names_in(tmp_path) == before and newest(store) == 1
    store.faults.space = None
    store.save(counted(3))
    assert newest(store) == 3


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_directory_that_cannot_be_written_to_is_named_and_can_be_read(tmp_path: Path, code: int) -> None:
    owned(tmp_path).save(counted(1))
    store = FaultyStore(tmp_path)
    store.take_over()
    store.faults.refusal = code
    with pytest.raises(
        SnapshotNotWritten, match=f"could not be written to {tmp_path}: .*{os.strerror(code)}"
    ):
        store.save(counted(2))
    with pytest.raises(SnapshotNotWritten, match="choose a directory that can be written to"):
        store.take_over()
    with pytest.raises(SnapshotNotWritten, match="choose a directory that can be written to"):
        FaultyStore(tmp_path / "new", refusal=code).take_over()
    assert newest(store) == 1
    store.faults.refusal = None
    store.save(counted(3))
    assert newest(store) == 3


def test_any_operation_may_fail_and_the_next_save_succeeds(tmp_path: Path) -> None:
    counting = FaultyStore(tmp_path / "counting", keep=2)
    counting.take_over()
    for number in (1, 2):
        counting.save(counted(number))
    before = len(counting.faults.operations)
    counting.save(counted(3))
    failed = []
    for operation in range(before + 1, len(counting.faults.operations) + 1):
        store = FaultyStore(tmp_path / str(operation), keep=2, errors={operation: errno.EIO})
        store.take_over()
        for number in (1, 2):
            store.save(counted(number))
        what = counting.faults.operations[operation - 1]
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                store.save(counted(3))
        except SnapshotNotWritten:
            failed.append(what)
            # After the rename it is there, only perhaps not for long.
            assert newest(store) == (3 if what == "sync counting" else 2)
        else:  # it was written, but what is too old could not be deleted
            assert [warning.category for warning in warned] == [BrokenSnapshotWarning]
            assert newest(store) == 3
        store.save(counted(4))
        assert newest(store) == 4 and len(store.list()) == 2
        assert not [name for name in names_in(store.directory) if name.startswith("writing")]
    assert {what.split()[0] for what in failed} == {"open", "write", "sync", "rename"}


def test_an_old_snapshot_that_cannot_be_deleted_is_said_so_and_tried_again(tmp_path: Path) -> None:
    store = FaultyStore(tmp_path, keep=1)
    store.take_over()
    counts = []
    for number in (1, 2, 3):
        store.save(counted(number))
        counts.append(len(store.faults.operations))
    assert store.faults.operations[-1] == "delete snapshot-000000000002.zip"
    store.faults.errors = {2 * counts[2] - counts[1]: errno.EIO}
    with pytest.warns(BrokenSnapshotWarning, match="could not be deleted"):
        store.save(counted(4))
    assert stored_numbers(store) == [3, 4]
    store.save(counted(5))
    assert stored_numbers(store) == [5]
