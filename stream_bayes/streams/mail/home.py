"""Where a spam filter lives between two runs: a directory with its state, a lock for who teaches it, and a socket.

filter.zip    a snapshot, replaced in one step: whoever reads it sees the old one or the new one, whole
lock          locked (flock) from before the state is read until after it was written by whoever changes it
socket        of the server, if one runs
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
WAIT = 0.05  # seconds between two looks at the lock
MOST_STATE = 1 << 32  # bytes


class SpamHome:
    """The directory of a spam filter.

    Parameters
    ----------
    directory
        Where. It is made when something is first learned, for its owner alone.
    key
        The key of the filter's tokens, if they are hashed.
    files
        What is asked of the file system.
    """

    def __init__(self, directory: Path, key: bytes | None = None, files: FileSystem | None = None) -> None:
        self.directory = directory
        self.key = key
        self.state = directory / "filter.zip"
        self.socket = directory / "socket"
        self._files = FileSystem() if files is None else files

    def exists(self) -> bool:
        """Whether there is a filter."""
        return self.state.exists()

    def version(self) -> tuple[int, int, int]:
        """What changes whenever the state is written; zeros without one."""
        try:
            found = self.state.stat()
        except FileNotFoundError:
            return 0, 0, 0
        return found.st_ino, found.st_size, found.st_mtime_ns

    def load(self) -> SpamFilter:
        """The filter as it was written last.

        Raises
        ------
        NoSnapshot
            If there is none yet.
        BadState
            If what is there is none, or its tokens are hashed with another key. It names the file.
        """
        try:
            descriptor = self._files.open(self.state, os.O_RDONLY)
        except FileNotFoundError:
            raise NoSnapshot(
                f"there is no filter in {self.directory}: teach one with `stream-bayes spam train`"
            ) from None
        try:
            data = self._files.read(descriptor, 0, min(self._files.size(descriptor), MOST_STATE))
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
        """The filter, to be changed by nobody else until it is written at the end; not written if something is raised.

        Parameters
        ----------
        make
            What makes the first one. None: there must be one.
        waiting
            Called once if somebody else is changing it just now, and so has to be waited for.
        """
        if make is not None:
            self._files.make_directory(self.directory)
        elif not self.exists():
            self.load()  # says what is wrong
        lock = self._files.open(self.directory / "lock", os.O_RDWR | os.O_CREAT)
        try:
            while not self._files.try_lock(lock):
                if waiting is not None:
                    waiting()
                    waiting = None
                time.sleep(WAIT)
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
            with suppress(OSError):  # on a full disk, half a state is in the way
                self._files.unlink(new)
            raise SnapshotNotWritten(
                f"{self.state} cannot be written, and stays as it was: {error}"
            ) from error
        self._files.sync_directory(self.directory)


def id_of_mail(raw: bytes) -> str:
    r"""What a mail is known by: the SHA-256 of what is the same wherever it lies.

    The line with which an mbox begins a message is no part of it, nor is white space around it. Our own headers must
    have been taken away.

    Examples
    --------
    >>> id_of_mail(b"From ann Mon Jan  1\nSubject: a\n\nb\n\n") == id_of_mail(b"Subject: a\n\nb\n")
    True
    """
    if raw.startswith(b"From "):
        raw = raw[raw.find(b"\n") + 1 :]
    return hashlib.sha256(raw.replace(b"\r\n", b"\n").strip()).hexdigest()
