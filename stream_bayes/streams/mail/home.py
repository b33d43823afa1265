"""The directory of a spam filter: its state, a lock for training, and the server's socket.

filter.zip    a snapshot, replaced atomically: a reader sees the old one or the new one, whole
lock          held (flock) by a command that changes the filter, from before it reads the state until it has written it
socket        the server's, while one runs
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stream_bayes.errors import BadState, NoSnapshot, SnapshotNotWritten
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.snapshots.snapshot import Snapshot
from stream_bayes.streams.files.file_system import FileSystem

__all__ = ["SpamHome", "id_of_mail"]

SECTION = "filter"
LOCK_PAUSE = 0.05  # seconds between two attempts to lock
MAX_STATE = 1 << 32  # bytes


class SpamHome:
    """The directory of a spam filter.

    Parameters
    ----------
    directory
        The path. It is created at the first training, for its owner alone.
    key
        The key of the filter's tokens, if they are hashed.
    files
        The file system.
    """

    def __init__(self, directory: Path, key: bytes | None = None, files: FileSystem | None = None) -> None:
        self.directory = directory
        self.key = key
        self.state = directory / "filter.zip"
        self.socket = directory / "socket"
        self._files = FileSystem() if files is None else files

    def exists(self) -> bool:
        """Return True if there is a filter."""
        return self.state.exists()

    def version(self) -> tuple[int, int, int]:
        """Return a value that changes whenever the state is written; zeros without a state."""
        try:
            found = self.state.stat()
        except FileNotFoundError:
            return 0, 0, 0
        return found.st_ino, found.st_size, found.st_mtime_ns

    def load(self) -> SpamFilter:
        """Return the filter as last written.

        Raises
        ------
        NoSnapshot
            If there is none yet.
        BadState
            If the file holds no filter, or one with another key. The error names the file.
        """
        try:
            descriptor = self._files.open(self.state, os.O_RDONLY)
        except FileNotFoundError:
            raise NoSnapshot(
                f"there is no filter in {self.directory}: train one with `stream-bayes spam train`"
            ) from None
        try:
            data = self._files.read(descriptor, 0, min(self._files.size(descriptor), MAX_STATE))
        finally:
            self._files.close(descriptor)
        try:
            snapshot = Snapshot.from_bytes(data)
            if snapshot.learner != "SpamFilter" or SECTION not in snapshot.sections:
                raise BadState(f"it holds a {snapshot.learner}, not a SpamFilter")
            return SpamFilter.from_state(snapshot.sections[SECTION], self.key)
        except BadState as error:
            raise BadState(f"{self.state}: {error}") from error

    @contextmanager
    def changing(
        self, make: Callable[[], SpamFilter] | None = None, waiting: Callable[[], None] | None = None
    ) -> Iterator[SpamFilter]:
        """Lock the filter, yield it to be changed, and write it. After an error, do not write it.

        Parameters
        ----------
        make
            Makes the first filter. None: there must be one.
        waiting
            Called once if another process holds the lock.
        """
        if make is not None:
            self._files.make_directory(self.directory)
        elif not self.exists():
            self.load()  # raises NoSnapshot
        lock = self._files.open(self.directory / "lock", os.O_RDWR | os.O_CREAT)
        try:
            while not self._files.try_lock(lock):
                if waiting is not None:
                    waiting()
                    waiting = None
                time.sleep(LOCK_PAUSE)
            model = self.load() if make is None or self.exists() else make()
            yield model
            self._write(model)
        finally:
            self._files.close(lock)

    def _write(self, model: SpamFilter) -> None:
        snapshot = Snapshot(learner="SpamFilter", sections={SECTION: model.state()}, clock=model.clock)
        new = self.state.with_name("filter.new")
        try:
            descriptor = self._files.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                self._files.write(descriptor, snapshot.to_bytes())
                self._files.sync(descriptor)
            finally:
                self._files.close(descriptor)
            self._files.rename(new, self.state)
        except OSError as error:
            with suppress(OSError):  # on a full disk, half a state takes space
                self._files.unlink(new)
            raise SnapshotNotWritten(
                f"{self.state} cannot be written, and stays as it was: {error}"
            ) from error
        self._files.sync_directory(self.directory)


def id_of_mail(raw: bytes) -> str:
    r"""Return the id of a mail: a SHA-256 that is the same in an mbox, a Maildir and a pipe.

    It leaves out the separator line of an mbox and white space around the mail. The filter's own headers must have been
    removed.

    Examples
    --------
    >>> id_of_mail(b"From ann Mon Jan  1\nSubject: a\n\nb\n\n") == id_of_mail(b"Subject: a\n\nb\n")
    True
    """
    if raw.startswith(b"From "):
        raw = raw[raw.find(b"\n") + 1 :]
    return hashlib.sha256(raw.replace(b"\r\n", b"\n").strip()).hexdigest()
