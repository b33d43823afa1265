"""The faulty disk does what it is told: otherwise what is tested with it would prove nothing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from stream_bayes.errors import BadValue
from stream_bayes.testing.faults import Crash, FaultyFileSystem, FaultyStore, Survives
from tests.saving.snapshots.numbered_snapshots import counted

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def write_twice(files: FaultyFileSystem, directory: Path) -> None:
    """One file written, synced and renamed, with its directory; then more to it, and a second file, unsynced."""
    first = files.open(directory / "new", NEW)
    files.write(first, b"12345678")
    files.sync(first)
    files.rename(directory / "new", directory / "first")
    files.sync_directory(directory)
    files.write(first, b"abcd")
    second = files.open(directory / "second", NEW)
    files.write(second, b"ABCD")
    files.rename(directory / "second", directory / "third")
    files.unlink(directory / "old")
    files.close(first)
    files.close(second)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_every_change_is_counted_by_name(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    files = FaultyFileSystem()
    write_twice(files, tmp_path)
    assert files.operations == [
        *("open new", "write new", "sync new", "rename first", f"sync {tmp_path.name}", "write first"),
        *("open second", "write second", "rename third", "delete old"),
    ]
    assert contents(tmp_path) == {"first": b"12345678abcd", "third": b"ABCD"}


@pytest.mark.parametrize(
    ("survives", "crash_at", "left"),
    [
        (Survives.EVERYTHING, 1, {"old": b"old"}),
        (Survives.EVERYTHING, 2, {"old": b"old", "new": b"1234"}),
        (Survives.EVERYTHING, 3, {"old": b"old", "new": b"12345678"}),
        (Survives.EVERYTHING, 10, {"old": b"old", "first": b"12345678abcd", "third": b"ABCD"}),
        (Survives.SYNCED, 2, {"old": b"old"}),
        (Survives.SYNCED, 5, {"old": b"old"}),
        (Survives.SYNCED, 6, {"old": b"old", "first": b"12345678"}),
        (Survives.SYNCED, 10, {"old": b"old", "first": b"12345678"}),
        (Survives.NAMES, 2, {"old": b"old", "new": b"12"}),
        (Survives.NAMES, 3, {"old": b"old", "new": b"1234"}),
        (Survives.NAMES, 5, {"old": b"old", "first": b"12345678"}),
        (Survives.NAMES, 7, {"old": b"old", "first": b"12345678ab"}),
        (Survives.NAMES, 10, {"old": b"old", "first": b"12345678ab", "third": b"AB"}),
    ],
)
def test_a_crash_leaves_what_survives(
    tmp_path: Path, survives: Survives, crash_at: int, left: dict[str, bytes]
) -> None:
    (tmp_path / "old").write_bytes(b"old")
    files = FaultyFileSystem(crash_at=crash_at, survives=survives)
    with pytest.raises(Crash, match=f"instead of operation {crash_at}, "):
        write_twice(files, tmp_path)
    assert contents(tmp_path) == left
    assert len(files.operations) == crash_at


def test_a_deleted_file_comes_back_unless_its_directory_was_synced(tmp_path: Path) -> None:
    for synced in (False, True):
        (tmp_path / "old").write_bytes(b"old")
        files = FaultyFileSystem(crash_at=2 + synced, survives=Survives.SYNCED)
        files.unlink(tmp_path / "old")
        if synced:
            files.sync_directory(tmp_path)
        with pytest.raises(Crash):
            files.open(tmp_path / "new", NEW)
        assert contents(tmp_path) == ({} if synced else {"old": b"old"})


def test_a_cut_that_was_not_synced_may_be_undone(tmp_path: Path) -> None:
    for survives, left in (
        (Survives.EVERYTHING, b"12"),
        (Survives.SYNCED, b"12345678"),
        (Survives.NAMES, b"12345678"),
    ):
        (tmp_path / "old").write_bytes(b"12345678")
        files = FaultyFileSystem(crash_at=3, survives=survives)
        descriptor = files.open(tmp_path / "old", os.O_RDWR)
        files.truncate(descriptor, 2)
        with pytest.raises(Crash):
            files.sync(descriptor)
        assert contents(tmp_path) == {"old": left}


def test_after_a_crash_nothing_happens_any_more(tmp_path: Path) -> None:
    files = FaultyFileSystem(crash_at=2)
    descriptor = files.open(tmp_path / "a", NEW)
    with pytest.raises(Crash):
        files.write(descriptor, b"1234")
    before = contents(tmp_path)
    for call in (
        lambda: files.open(tmp_path / "a", os.O_RDONLY),
        lambda: files.open(tmp_path / "b", NEW),
        lambda: files.write(descriptor, b"more"),
        lambda: files.truncate(descriptor, 0),
        lambda: files.sync(descriptor),
        lambda: files.sync_directory(tmp_path),
        lambda: files.rename(tmp_path / "a", tmp_path / "b"),
        lambda: files.unlink(tmp_path / "a"),
        lambda: files.make_directory(tmp_path / "c"),
        lambda: files.names(tmp_path),
        lambda: files.size(descriptor),
        lambda: files.read(descriptor, 0, 1),
        lambda: files.try_lock(descriptor),
        lambda: files.close(descriptor),
    ):
        with pytest.raises(Crash):
            call()
    assert contents(tmp_path) == before and len(files.operations) == 2


def test_a_crash_lets_go_of_files_and_locks(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    files = FaultyFileSystem(crash_at=2)
    descriptor = files.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    assert files.try_lock(descriptor)
    other = FaultyFileSystem()
    again = other.open(tmp_path / "lock", os.O_RDWR)
    assert not other.try_lock(again)
    with pytest.raises(Crash):
        files.write(descriptor, b"")
    assert other.try_lock(again)
    other.close(again)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_crash_is_not_caught_by_what_catches_errors() -> None:
    assert not issubclass(Crash, Exception)


def test_the_disk_can_be_full_and_have_room_again(tmp_path: Path) -> None:
    files = FaultyFileSystem(space=6)
    descriptor = files.open(tmp_path / "a", NEW)
    files.write(descriptor, b"1234")
    for _ in range(2):
        with pytest.raises(OSError, match="No space left on device") as raised:
            files.write(descriptor, b"5678")
        assert raised.value.errno == errno.ENOSPC
    assert contents(tmp_path) == {"a": b"123456"}
    files.space = None
    files.write(descriptor, b"9")
    files.close(descriptor)
    assert contents(tmp_path) == {"a": b"1234569"}


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_refusing_disk_changes_nothing_and_can_be_read(tmp_path: Path, code: int) -> None:
    (tmp_path / "old").write_bytes(b"old")
    files = FaultyFileSystem(refusal=code)
    for call in (
        lambda: files.open(tmp_path / "new", NEW),
        lambda: files.rename(tmp_path / "old", tmp_path / "new"),
        lambda: files.unlink(tmp_path / "old"),
        lambda: files.make_directory(tmp_path / "new"),
    ):
        with pytest.raises(OSError, match=os.strerror(code)) as raised:
            call()
        assert raised.value.errno == code
    descriptor = files.open(tmp_path / "old", os.O_RDONLY)
    assert bytes(files.read(descriptor, 0, 10)) == b"old"
    files.close(descriptor)
    files.make_directory(tmp_path)
    assert contents(tmp_path) == {"old": b"old"}


def test_chosen_operations_fail_and_the_rest_do_not(tmp_path: Path) -> None:
    files = FaultyFileSystem(errors={2: errno.EIO})
    descriptor = files.open(tmp_path / "a", NEW)
    with pytest.raises(OSError, match="Input/output error"):
        files.write(descriptor, b"1")
    files.write(descriptor, b"2")
    files.close(descriptor)
    assert contents(tmp_path) == {"a": b"2"}


def test_new_directories_are_synced_into_those_above_them(tmp_path: Path) -> None:
    files = FaultyFileSystem()
    files.make_directory(tmp_path / "a" / "b")
    files.make_directory(tmp_path / "a" / "b")
    # The upper one is made in between.
    assert files.operations == ["make b", "make a", f"sync {tmp_path.name}", "sync a"]
    assert (tmp_path / "a" / "b").is_dir()


def test_operations_are_counted_from_1() -> None:
    with pytest.raises(BadValue, match="crash_at"):
        FaultyFileSystem(crash_at=0)


def test_a_faulty_store_without_faults_is_a_store(tmp_path: Path) -> None:
    store = FaultyStore(tmp_path, keep=1)
    store.take_over()
    store.save(counted(1))
    assert store.save(counted(2)) == 2 and store.list() == [2]
    assert store.faults.operations[-1] == "delete snapshot-000000000001.zip"
