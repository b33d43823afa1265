r"""The snapshot store: a directory with the last few snapshots, crash-safe, with one owner.

    snapshot-000000000011.zip    a generation; the higher number is newer
    snapshot-000000000012.zip
    writing-7-3                  the third one that owner 7 writes; it gets its number when it is complete
    epoch                        "7\n": number of owners so far; the last one owns the directory
    lock                         empty; locked while a file is renamed or deleted

A snapshot is written under a temporary name and synced, then renamed, then the directory is synced. So after a crash at
any moment, a start finds the previous snapshot or the new one. Taking the directory over raises the epoch. A previous
owner may still run, or wake up from a pause. So every owner checks the epoch, under the lock, before it renames or
deletes a file: a previous owner can write files that are never read, but can neither publish nor delete a snapshot.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from stream_bayes.errors import (
    BadSnapshot,
    BadState,
    BadValue,
    BrokenSnapshotWarning,
    NoSnapshot,
    NotOwner,
    SnapshotNotWritten,
)
from stream_bayes.saving.snapshots.archive import Bytes
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.snapshot import Snapshot, describe, head_size

__all__ = ["Broken", "ReadableSnapshot", "SnapshotStore", "WrittenSnapshot"]

GENERATION = re.compile(r"snapshot-(\d{12})\.zip")
WRITING = re.compile(r"writing-(\d{1,18})-\d+")
LOG = "log"  # the section with the identity of the log that the positions belong to
EPOCH = re.compile(rb"(\d{1,18})\n")
LOCK_SECONDS = 10.0  # maximum wait; the lock is held for the time of a rename
LOCK_PAUSE = 0.01
BEGINNING = 4096  # bytes; they hold the size of the head


class Broken(NamedTuple):
    """A generation that cannot be read, and why."""

    generation: int
    reason: str


class WrittenSnapshot(NamedTuple):
    """The time of the newest snapshot, readable or not, in seconds since 1970, and its size in bytes."""

    written: float
    size: int


class ReadableSnapshot(NamedTuple):
    """The newest snapshot that can be read, and the newer ones that cannot."""

    generation: int
    snapshot: Snapshot
    broken: tuple[Broken, ...]


class SnapshotStore:
    """The last few snapshots, in a directory.

    Writing and deleting need `take_over`, which makes this store the only owner; reading does not. A snapshot for which
    `save` returned is found again after a crash or a power cut. One for which it did not return is found whole or not
    at all.

    Parameters
    ----------
    directory
        The directory. The first write creates it; only its user can read it and its files.
    keep
        Number of snapshots to keep. With fewer than 2 there is none to fall back to.
    key
        A secret that signs written snapshots and verifies read ones. See `Snapshot.pieces`.
    file_system
        The calls to the disk.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     store = SnapshotStore(directory, keep=2)
    ...     store.take_over()
    ...     for seen in range(3):
    ...         generation = store.save(Snapshot(learner="Counter", sections={"metrics": {"seen": seen}}))
    ...     store.list(), store.latest().snapshot.sections["metrics"]
    ([2, 3], {'seen': 2})
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        keep: int = 3,
        key: bytes | None = None,
        file_system: FileSystem | None = None,
    ) -> None:
        if type(keep) is not int or keep < 1:
            raise BadValue(f"keep: expected a whole number of snapshots of at least 1, got {keep!r}")
        self.directory = Path(directory)
        self.keep = keep
        self._key = key
        self._files = FileSystem() if file_system is None else file_system
        self._epoch = 0
        self._written = 0
        self._broken: set[int] = set()

    def __repr__(self) -> str:
        return f"SnapshotStore({str(self.directory)!r}, keep={self.keep})"

    # -- reading ------------------------------------------------------------------------------------------------------

    def list(self) -> list[int]:
        """Return the generations in the store, oldest first; none if there is no directory yet."""
        try:
            names = self._files.names(self.directory)
        except FileNotFoundError:
            return []
        return sorted(int(match[1]) for match in map(GENERATION.fullmatch, names) if match)

    def path(self, generation: int) -> Path:
        """Return the path of a generation."""
        return self.directory / f"snapshot-{generation:012}.zip"

    def newest_written(self) -> WrittenSnapshot | None:
        """Return the newest file, valid or not; None if there is none. Thread-safe."""
        for generation in reversed(self.list()):
            with suppress(FileNotFoundError):  # its owner may delete it meanwhile
                status = self.path(generation).stat()
                return WrittenSnapshot(status.st_mtime, status.st_size)
        return None

    def latest(self) -> ReadableSnapshot | None:
        """Return the newest snapshot that can be read; None if there has never been one.

        One that cannot be read is skipped with a `BrokenSnapshotWarning`.

        Raises
        ------
        NoSnapshot
            If there are snapshots, but none that can be read: starting anew would lose the state.
        """
        while generations := self.list():
            broken = []
            for generation in reversed(generations):
                try:
                    snapshot = self.load(generation)
                except (NoSnapshot, BadState, OSError) as error:
                    if generation not in self.list():
                        break  # its owner deleted it meanwhile, so there are newer ones
                    broken.append(Broken(generation, str(error)))
                    continue
                self._warn_of(broken)
                return ReadableSnapshot(generation, snapshot, tuple(broken))
            else:
                reasons = "; ".join(reason for _, reason in broken)
                raise NoSnapshot(
                    f"none of the {len(broken)} snapshots in {self.directory} can be read: {reasons}. "
                    "Bring back one that can, or move them away to start anew"
                )
        return None

    def load(self, generation: int) -> Snapshot:
        """Load one snapshot, checked.

        Raises
        ------
        NoSnapshot
            If there is no such generation.
        BadSnapshot
            If it cannot be read, with the reason.
        """
        return self._read(generation)[1]

    def describe(self, generation: int) -> dict[str, Any]:
        """Return the metadata of a snapshot, with its number under "generation"; the arrays are not read.

        Raises
        ------
        NoSnapshot
            If there is no such generation.
        BadSnapshot
            If its head cannot be read, or the file has another size than the head declares.
        """
        with self._opened(generation) as descriptor:
            return {"generation": generation, **self._described(descriptor)}

    def verify(self) -> tuple[Broken, ...]:
        """Read every snapshot, and return the broken ones."""
        broken = []
        for generation in self.list():
            try:
                self.load(generation)
            except (NoSnapshot, BadState, OSError) as error:
                if generation in self.list():  # not deleted by its owner meanwhile
                    broken.append(Broken(generation, str(error)))
        return tuple(broken)

    def _read(self, generation: int) -> tuple[memoryview, Snapshot]:
        """Return the bytes of a file, and the snapshot in it."""
        with self._opened(generation) as descriptor:
            size = self._described(descriptor)["bytes"]  # checked before memory is allocated
            file = self._files.read(descriptor, 0, size)
            return file, Snapshot.from_bytes(file, self._key)

    def _described(self, descriptor: int) -> dict[str, Any]:
        size = self._files.size(descriptor)
        beginning = self._files.read(descriptor, 0, BEGINNING)
        needed = head_size(beginning)
        head = beginning if needed <= len(beginning) else self._files.read(descriptor, 0, needed)
        return describe(head, size)

    @contextmanager
    def _opened(self, generation: int) -> Iterator[int]:
        path = self.path(generation)
        try:
            descriptor = self._files.open(path, os.O_RDONLY)
        except FileNotFoundError as error:
            raise NoSnapshot(f"there is no snapshot {path}; there are {self.list()}") from error
        try:
            yield descriptor
        except BadSnapshot as error:
            raise BadSnapshot(f"{path}: {error}") from error
        finally:
            self._files.close(descriptor)

    def _warn_of(self, broken: Iterable[Broken]) -> None:
        for generation, reason in broken:
            self._broken.add(generation)
            message = f"a broken snapshot is skipped; the previous one is used: {reason}"
            warnings.warn(message, BrokenSnapshotWarning, stacklevel=3)

    # -- writing ------------------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Become the owner: no other store, in this process or another, can change the directory afterwards.

        Raises
        ------
        SnapshotNotWritten
            If the directory cannot be written to.
        """
        try:
            self._files.make_directory(self.directory)
            with self._locked():
                epoch = self._read_epoch() + 1
                temporary = self.directory / "epoch.new"
                self._write(temporary, [f"{epoch}\n".encode()], os.O_TRUNC)
                self._files.rename(temporary, self.directory / "epoch")
                self._files.sync_directory(self.directory)
                self._epoch = epoch
                self._delete_leftovers()
        except OSError as error:
            raise SnapshotNotWritten(
                f"no snapshots can be written to {self.directory}: {error}; choose a directory that can be written to"
            ) from error

    def check_owner(self) -> None:
        """Raise `NotOwner` if another process has taken over since `take_over`."""
        with self._owned():
            pass

    def save(self, snapshot: Snapshot) -> int:
        """Write a snapshot, and delete the oldest ones; return its generation.

        Raises
        ------
        NotOwner
            If another process has taken over since.
        SnapshotNotWritten
            If the disk did not take it. The snapshots before it are as they were.
        """
        generation = self._publish(snapshot.pieces(self._key))
        try:
            with self._owned():
                self._prune()
                self._delete_leftovers()
        except OSError as error:  # the snapshot is safe; the next one tries again
            message = f"old snapshots in {self.directory} could not be deleted: {error}"
            warnings.warn(message, BrokenSnapshotWarning, stacklevel=2)
        return generation

    def rollback(self, generation: int) -> int:
        """Make an older snapshot the newest, as a generation of its own, whose number is returned.

        Nothing is deleted before the next `save`, so this can be taken back in the same way. Raises what `load` and
        `save` raise.
        """
        file, _ = self._read(generation)
        return self._publish([file])

    def rollback_and_skip(self, generation: int) -> int:
        """Make the state of an older snapshot the newest, at the positions of the newest one; return its number.

        The records between the two are never processed again, and outputs and journal keep what was written of them.
        Raises what `load` and `save` raise.
        """
        older, newest = self.load(generation), self.latest()
        assert newest is not None  # `load` found one
        replaced = newest.snapshot
        log = {LOG: replaced.sections[LOG]} if LOG in replaced.sections else {}
        moved = replace(
            older, sections={**older.sections, **log}, positions=replaced.positions, outputs=replaced.outputs
        )
        return self._publish(moved.pieces(self._key))

    def keep_aside(self) -> Path | None:
        """Copy all snapshots into a directory beside this one, and return it; None without any.

        It is `NAME.before-rebuild-N`, where N is the newest generation. The copies are complete and synced when this
        returns.

        Raises
        ------
        NotOwner
            If another process has taken over since.
        SnapshotNotWritten
            If the disk did not take them.
        """
        generations = self.list()
        if not generations:
            return None
        beside = self.directory.with_name(f"{self.directory.name}.before-rebuild-{generations[-1]}")
        try:
            self._files.make_directory(beside)
            with self._owned():
                for generation in generations:
                    self._copy(self.path(generation), beside)
                self._files.sync_directory(beside)
        except OSError as error:
            raise SnapshotNotWritten(
                f"the snapshots in {self.directory} could not be copied to {beside}: {error}; a rebuild replaces none "
                "before that. Free some space, or move them away yourself"
            ) from error
        return beside

    def _copy(self, path: Path, directory: Path) -> None:
        """Copy a file, under a temporary name first."""
        descriptor = self._files.open(path, os.O_RDONLY)
        try:
            contents = self._files.read(descriptor, 0, self._files.size(descriptor))
        finally:
            self._files.close(descriptor)
        temporary = directory / f"{path.name}.new"
        self._write(temporary, [contents], os.O_TRUNC)
        self._files.rename(temporary, directory / path.name)

    def _publish(self, pieces: Iterable[Bytes]) -> int:
        """Write a file and make it the newest generation."""
        self._written += 1
        temporary = self.directory / f"writing-{self._epoch}-{self._written}"
        try:
            with self._owned():  # a former owner need not write 100 MB to learn that it is one
                pass
            self._write(temporary, pieces, os.O_EXCL)
            with self._owned():
                generation = max(self.list(), default=0) + 1
                self._files.rename(temporary, self.path(generation))
                self._files.sync_directory(self.directory)
        except Exception as error:
            with suppress(OSError, NotOwner), self._owned():
                self._files.unlink(temporary)
            if isinstance(error, OSError):
                raise SnapshotNotWritten(
                    f"a snapshot could not be written to {self.directory}: {error}; those before it are untouched"
                ) from error
            raise
        self._broken.discard(generation)
        return generation

    def _write(self, path: Path, pieces: Iterable[Bytes], flags: int) -> None:
        descriptor = self._files.open(path, os.O_WRONLY | os.O_CREAT | flags)
        try:
            for piece in pieces:
                self._files.write(descriptor, piece)
            self._files.sync(descriptor)
        finally:
            self._files.close(descriptor)

    def _prune(self) -> None:
        """Delete what is older than the last few that can be read, as far as is known."""
        generations = self.list()
        sound = [generation for generation in generations if generation not in self._broken]
        oldest = min(sound[-self.keep :], default=0)
        for generation in generations:
            if generation < oldest:
                self._files.unlink(self.path(generation))

    def _delete_leftovers(self) -> None:
        """Delete what former owners were writing."""
        for name in self._files.names(self.directory):
            if (match := WRITING.fullmatch(name)) and int(match[1]) < self._epoch:
                self._files.unlink(self.directory / name)

    # -- ownership ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """Hold the lock, as the owner: until then no other process can become the owner."""
        if not self._epoch:
            raise NotOwner(f"{self.directory} is only read here; call take_over() before changing it")
        with self._locked():
            epoch = self._read_epoch()
            if epoch != self._epoch:
                raise NotOwner(
                    f"another process has taken over {self.directory}: it is owner {epoch}, this one was owner "
                    f"{self._epoch}. Nothing more can be saved here; stop, or restart to take over again"
                )
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = self.directory / "lock"
        descriptor = self._files.open(path, os.O_RDWR | os.O_CREAT)
        try:
            deadline = time.monotonic() + LOCK_SECONDS
            while not self._files.try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"{path} has been locked by another process for {LOCK_SECONDS} seconds; "
                        "a process that stopped while it held the lock must be ended"
                    )
                time.sleep(LOCK_PAUSE)
            yield
        finally:
            self._files.close(descriptor)

    def _read_epoch(self) -> int:
        path = self.directory / "epoch"
        try:
            descriptor = self._files.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return 0
        try:
            text = bytes(self._files.read(descriptor, 0, BEGINNING))
        finally:
            self._files.close(descriptor)
        match = EPOCH.fullmatch(text)
        if not match:
            raise BadState(
                f"{path}: expected a number, got {text[:40]!r}; once no process uses the directory, delete it"
            )
        return int(match[1])
