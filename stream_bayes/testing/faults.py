"""A disk that fails on purpose: to test that a stream's files survive a crash at any moment.

Run once and count `operations`; then run again for each of them with `crash_at`, and start anew on what is left.

Examples
--------
>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from stream_bayes.saving.snapshots.snapshot import Snapshot
>>> from stream_bayes.saving.snapshots.store import SnapshotStore
>>> def run(store):
...     store.take_over()
...     for seen in (1, 2):
...         store.save(Snapshot(learner="Counter", sections={"metrics": {"seen": seen}}))
>>> with TemporaryDirectory() as directory:
...     store = FaultyStore(Path(directory, "counted"))
...     run(store)
...     count = len(store.faults.operations)
...     found = []
...     for number in range(1, count + 1):
...         try:
...             run(FaultyStore(Path(directory, str(number)), crash_at=number))
...         except Crash:
...             latest = SnapshotStore(Path(directory, str(number))).latest()
...             found.append(latest and latest.snapshot.sections["metrics"]["seen"])
>>> len(found) == count, sorted(set(found), key=str)
(True, [1, 2, None])
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn

from stream_bayes.errors import BadValue
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.store import SnapshotStore

__all__ = ["Crash", "FaultyFileSystem", "FaultyStore", "Survives"]

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Crash(BaseException):
    """The process ends here. Not an `Exception`, so that nothing goes on after it."""


class Survives(Enum):
    """The files that a crash leaves on the disk.

    Examples
    --------
    >>> Survives("everything")
    <Survives.EVERYTHING: 'everything'>
    """

    EVERYTHING = "everything"
    """As when a process is killed: all that was written and renamed."""

    SYNCED = "synced"
    """As in a power cut, at worst: of files what was synced, of names what the last sync of their directory saw."""

    NAMES = "names"
    """As in a power cut, at its most treacherous: every name, but of what was not synced only the first half."""


class _File:
    """A file: its present name, and its contents after a power cut."""

    def __init__(self, path: Path, durable: bytes) -> None:
        self.path = path
        self.durable = durable


class FaultyFileSystem(FileSystem):
    """A file system that counts what changes it, and can crash, lose, refuse or run full.

    It works on real files, and must see all changes to them. Nothing is really synced, for what a power cut would
    leave is decided here. After a crash it closes its files and locks, leaves the surviving bytes on the disk, and does
    nothing any more: everything raises `Crash` again, as nothing runs in a process that has ended. Directories
    themselves are never lost.

    A `Crash` comes instead of operation `crash_at`, counted from 1; of a write, the first half is still written.
    `survives` says which files are left. `errors` are numbers of operations that fail, with their `errno`. `refusal` is
    an `errno` that every change fails with: `errno.EROFS` for a read-only disk, `errno.EACCES` for a directory of
    another user. `space` is the number of bytes that can be written before the disk is full. The last two may be set at
    any time.

    Attributes
    ----------
    operations
        The operations counted so far: making directories, opening to write, writing, truncating, syncing, renaming and
        deleting, each with a name, as in "rename epoch".

    Examples
    --------
    >>> files = FaultyFileSystem(refusal=errno.EROFS)
    >>> files.unlink(Path("precious"))
    Traceback (most recent call last):
    OSError: [Errno 30] Read-only file system: 'precious'
    """

    def __init__(
        self,
        crash_at: int | None = None,
        survives: Survives = Survives.EVERYTHING,
        errors: Mapping[int, int] | None = None,
        refusal: int | None = None,
        space: int | None = None,
    ) -> None:
        if crash_at is not None and crash_at < 1:
            raise BadValue(f"crash_at: operations are counted from 1, got {crash_at!r}")
        self.crash_at = crash_at
        self.survives = survives
        self.errors = dict(errors or {})
        self.refusal = refusal
        self.space = space
        self.operations: list[str] = []
        self.crashed = False
        self._open: dict[int, _File] = {}
        self._present: dict[Path, dict[str, _File]] = {}  # the names of each directory, as they are
        self._durable: dict[Path, dict[str, _File]] = {}  # and as they would be after a power cut

    # -- what changes the disk ----------------------------------------------------------------------------------------

    def make_directory(self, path: Path) -> None:
        if not path.is_dir():
            self._count("make", path)
        super().make_directory(path)

    def open(self, path: Path, flags: int) -> int:
        names = self._names_in(path.parent)
        if flags & WRITING:
            self._count("open", path)
            flags = flags & ~os.O_WRONLY | os.O_RDWR  # so that `sync` can see what there is
        else:
            self._check_alive()
        descriptor = super().open(path, flags)
        self._open[descriptor] = names.setdefault(path.name, _File(path, b""))
        return descriptor

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        self._check_alive()
        path, view = self._open[descriptor].path, memoryview(data)
        if len(self.operations) + 1 == self.crash_at:
            super().write(descriptor, view[: len(view) // 2])
        self._count("write", path)
        fits = len(view) if self.space is None else min(self.space, len(view))
        super().write(descriptor, view[:fits])
        if self.space is not None:
            self.space -= fits
        if fits < len(view):
            _fail(errno.ENOSPC, path)

    def truncate(self, descriptor: int, size: int) -> None:
        self._check_alive()
        self._count("truncate", self._open[descriptor].path)
        super().truncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        self._check_alive()
        file = self._open[descriptor]
        self._count("sync", file.path)
        file.durable = bytes(super().read(descriptor, 0, super().size(descriptor)))

    def sync_directory(self, path: Path) -> None:
        self._count("sync", path)
        if path in self._present:
            self._durable[path] = dict(self._present[path])

    def rename(self, old: Path, new: Path) -> None:
        names, others = self._names_in(old.parent), self._names_in(new.parent)
        self._count("rename", new)
        super().rename(old, new)
        others[new.name] = file = names.pop(old.name)
        file.path = new

    def unlink(self, path: Path) -> None:
        names = self._names_in(path.parent)
        self._count("delete", path)
        super().unlink(path)
        del names[path.name]

    # -- what does not ------------------------------------------------------------------------------------------------

    def names(self, directory: Path) -> list[str]:
        self._check_alive()
        return super().names(directory)

    def size(self, descriptor: int) -> int:
        self._check_alive()
        return super().size(descriptor)

    def read(self, descriptor: int, start: int, size: int) -> memoryview:
        self._check_alive()
        return super().read(descriptor, start, size)

    def try_lock(self, descriptor: int) -> bool:
        self._check_alive()
        return super().try_lock(descriptor)

    def close(self, descriptor: int) -> None:
        self._check_alive()
        del self._open[descriptor]
        super().close(descriptor)

    # -- faults -------------------------------------------------------------------------------------------------------

    def _check_alive(self) -> None:
        if self.crashed:
            raise Crash("the process has ended already")

    def _count(self, verb: str, path: Path) -> None:
        """Count an operation, unless it is the one to fail at."""
        self._check_alive()
        self.operations.append(f"{verb} {path.name}")
        number = len(self.operations)
        if number == self.crash_at:
            self._end()
            raise Crash(f"instead of operation {number}, {verb} {path.name}")
        code = self.errors.get(number, self.refusal)
        if code is not None:
            _fail(code, path)

    def _names_in(self, directory: Path) -> dict[str, _File]:
        """Return the files of a directory by name; those there at first are durable."""
        if directory not in self._present and directory.is_dir():
            paths = [path for path in directory.iterdir() if path.is_file()]
            self._present[directory] = {path.name: _File(path, path.read_bytes()) for path in paths}
            self._durable[directory] = dict(self._present[directory])
        return self._present.get(directory, {})

    def _end(self) -> None:
        """Close everything, and leave the surviving bytes on the disk."""
        self.crashed = True
        for descriptor in self._open:
            os.close(descriptor)
        if self.survives is Survives.NAMES:
            for names in self._present.values():
                for file in names.values():
                    file.path.write_bytes(_half_synced(file.path.read_bytes(), file.durable))
        elif self.survives is Survives.SYNCED:
            for directory, durable in self._durable.items():
                for name in self._present[directory]:
                    (directory / name).unlink()
                for name, file in durable.items():
                    (directory / name).write_bytes(file.durable)


class FaultyStore(SnapshotStore):
    """A snapshot store on a `FaultyFileSystem`, which stands under `faults`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     FaultyStore(directory, space=1).take_over()
    Traceback (most recent call last):
    stream_bayes.errors.SnapshotNotWritten: ... No space left on device: ...
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        keep: int = 3,
        key: bytes | None = None,
        **faults: Any,  # typed as the parameters of FaultyFileSystem
    ) -> None:
        self.faults = FaultyFileSystem(**faults)
        super().__init__(directory, keep, key, self.faults)


def _half_synced(present: bytes, durable: bytes) -> bytes:
    """Return what may be left of a file that holds `present`, when `durable` was synced."""
    if durable.startswith(present):  # cut, or as it was
        return durable
    synced = len(durable) if present.startswith(durable) else 0
    return present[: (synced + len(present)) // 2]


def _fail(code: int, path: Path) -> NoReturn:
    raise OSError(code, os.strerror(code), str(path))
