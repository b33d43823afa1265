"""The directory of a spam filter: its state, a lock for training, and the server's socket.

filter.zip    a snapshot, replaced atomically: a reader gets the old or the new one, whole; for `stream_bayes.load` too
lock          held (flock) by a command that changes the filter, from before it reads the state until it has written it
socket        the server's, while one runs
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stream_bayes.errors import BadState, NoSnapshot
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.snapshots.snapshot import Snapshot
from stream_bayes.streams.files.file_system import FileSystem
from stream_bayes.streams.files.snapshot_file import read_snapshot, write_snapshot

__all__ = ["SpamHome", "id_of_mail"]

SECTION = "model"  # as `stream_bayes.save` names it, so `stream_bayes.load` reads the file too
LOCK_PAUSE = 0.05  # seconds between two attempts to lock
LEFT_BEHIND = re.compile(r"\.filter\.zip\.[0-9]+\.new")


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
        if not self.exists():
            raise NoSnapshot(
                f"there is no filter in {self.directory}: train one with `stream-bayes spam train`"
            )
        snapshot = read_snapshot(self.state)
        try:
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
        for name in self._files.names(self.directory):
            if LEFT_BEHIND.fullmatch(name):  # by a process that was killed while it wrote
                self._files.unlink(self.directory / name)
        snapshot = Snapshot(learner="SpamFilter", sections={SECTION: model.state()}, clock=model.clock)
        write_snapshot(self.state, snapshot, files=self._files)


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
