"""The directory of a spam filter: its state, the changes since, a lock for training, and the server's socket.

filter.zip    a snapshot, replaced atomically: a reader gets the old or the new one, whole; for `stream_bayes.load` too
changes       the journal: changes since the snapshot, each appended and synced
id-key        signs the ids in headers
judged-...    tokens of mails that were judged, for a while
lock          held (flock) while the filter is changed, from before the state is read until it is written
socket        the server's, while one runs
users/        the filters of users; see `users.py`

A snapshot names the number of the change that comes next. Folding the journal into a new snapshot is a rename, and the
journal is cut afterwards: after a crash between the two, changes that the snapshot holds are skipped.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BadState, NoSnapshot
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.store.change_journal import Change, ChangeJournal
from stream_bayes.mail.store.identity import KEY_BYTES, IdKey
from stream_bayes.mail.store.locks import holding_lock
from stream_bayes.saving.model_snapshot import SECTION, snapshot_of
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.single_file import read_snapshot, write_snapshot
from stream_bayes.saving.snapshots.snapshot import Snapshot

__all__ = ["OpenFilter", "SpamHome"]

CHANGES = Partition("changes", 0)
LEFT_BEHIND = re.compile(r"\.(filter|folded-[0-9]+)\.zip\.[0-9]+\.new|folded-[0-9]+\.zip|\.changes\.new")
FOLD_SHARE = 4  # the journal is folded when it exceeds this part of the snapshot's size,
MIN_FOLD_BYTES = 1 << 20  # and this
Version = tuple[int, int, int]  # of a file: inode, size and time
READS = 5  # attempts, if other processes replace the snapshot meanwhile


class SpamHome:
    """The directory of a spam filter. It is created at the first training, for its owner alone. `key` is that of the
    filter's tokens, if they are hashed.
    """

    def __init__(self, directory: Path, key: bytes | None = None, files: FileSystem | None = None) -> None:
        self.directory = directory
        self.key = key
        self.state = directory / "filter.zip"
        self.socket = directory / "socket"
        self.files = FileSystem() if files is None else files
        self.journal = ChangeJournal(directory / "changes", self.files)

    def exists(self) -> bool:
        """Return True if there is a filter."""
        return self.state.exists()

    @property
    def min_fold_bytes(self) -> int:
        """The least size of a journal that is folded into the snapshot."""
        return MIN_FOLD_BYTES

    def missing(self) -> NoSnapshot:
        """Return the error of a directory without a filter."""
        return NoSnapshot(f"there is no filter in {self.directory}: train one with `stream-bayes spam train`")

    def restored(self, state: Mapping[str, Any]) -> SpamFilter:
        """Return the filter of a state."""
        return SpamFilter.from_state(state, self.key)

    def version(self) -> Version:
        """Return a value that changes whenever the snapshot is written; zeros without one."""
        try:
            status = self.state.stat()
        except FileNotFoundError:
            return 0, 0, 0
        return status.st_ino, status.st_size, status.st_mtime_ns

    def load(self) -> SpamFilter:
        """Return the filter with all changes.

        Raises
        ------
        NoSnapshot
            If there is none yet.
        BadState
            If the file holds no filter, or one with another key, or if changes are missing. The error names the file.
        """
        return OpenFilter(self).model

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the filter with all changes. Raises as `load` does."""
        return OpenFilter(self).snapshot()[0]

    def load_snapshot(self) -> tuple[SpamFilter, int]:
        """Return the filter of the snapshot, and the number of the change that comes next."""
        if not self.exists():
            raise self.missing()
        snapshot = read_snapshot(self.state)
        try:
            if snapshot.learner != "SpamFilter" or SECTION not in snapshot.sections:
                raise BadState(f"it holds a {snapshot.learner}, not a SpamFilter")
            model = self.restored(snapshot.sections[SECTION])
        except BadState as error:
            raise BadState(f"{self.state}: {error}") from error
        return model, snapshot.positions.get(CHANGES, 0)

    def id_key(self) -> IdKey | None:
        """Return the key that signs ids in headers; None before the filter was first changed."""
        try:
            key = (self.directory / "id-key").read_bytes()
        except FileNotFoundError:
            return None
        return IdKey(key) if len(key) == KEY_BYTES else None

    @contextmanager
    def locked(self, waiting: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold the lock of the filter. `waiting` is called once if another process holds it."""
        with holding_lock(self.files, self.directory / "lock", waiting):
            yield

    @contextmanager
    def changing(
        self, make: Callable[[], SpamFilter] | None = None, waiting: Callable[[], None] | None = None
    ) -> Iterator[SpamFilter]:
        """Lock the filter, yield it to be changed, and write a snapshot. After an error, do not write it. `make` makes
        the first filter. None: there must be one. `waiting` is called once if another process holds the lock.
        """
        if make is not None:
            self.files.make_directory(self.directory)
        elif not self.exists():
            self.load()  # raises NoSnapshot
        with self.locked(waiting):
            if make is None or self.exists():
                opened = OpenFilter(self)
                model, following = opened.model, opened.following
            else:
                model, following = make(), 0
                with suppress(FileNotFoundError):
                    self.files.unlink(self.journal.path)  # of a filter that was deleted
            yield model
            self._clean()
            self._make_id_key()
            write_snapshot(self.state, self.snapshot_of(model, following), files=self.files)
            if self.journal.size():
                self.journal.restart(following)

    def snapshot_of(self, model: SpamFilter, following: int) -> Snapshot:
        """Return a snapshot of the filter before a change."""
        return snapshot_of(
            model, learner=SpamFilter.__name__, positions={CHANGES: following} if following else {}
        )

    def _clean(self) -> None:
        """Delete what processes that were killed have left."""
        for name in self.files.names(self.directory):
            if LEFT_BEHIND.fullmatch(name):
                self.files.unlink(self.directory / name)

    def _make_id_key(self) -> None:
        if self.id_key() is not None:
            return
        new = self.directory / ".id-key.new"
        descriptor = self.files.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            self.files.write(descriptor, secrets.token_bytes(KEY_BYTES))
            self.files.sync(descriptor)
        finally:
            self.files.close(descriptor)
        self.files.rename(new, self.directory / "id-key")  # synced with the snapshot that follows


class OpenFilter:
    """A filter in memory that follows its directory, and whose changes are durable one by one.

    A change is applied, appended to the journal, and synced once. Not thread-safe. A filter must be in the directory.

    Attributes
    ----------
    model
        The filter, as of the last `catch_up` or `change`.
    following
        The number of the change that comes next.
    holds_forgotten
        True if the journal may still hold the tokens of a forgotten mail.
    """

    def __init__(self, home: SpamHome) -> None:
        self.home = home
        self._folded = home.directory / f"folded-{os.getpid()}.zip"
        self._read()

    def _read(self) -> None:
        """Read the snapshot and the journal. Without the lock, another process may replace both meanwhile."""
        for attempt in range(1, READS + 1):
            self._version = self.home.version()
            try:
                self.model, self.following = self.home.load_snapshot()
                self.holds_forgotten = False
                self._stop = self._seen = 0
                self._follow()
                return
            except BadState:
                if attempt == READS or self.home.version() == self._version:
                    raise

    def _follow(self) -> None:
        """Apply the changes that other processes have appended."""
        self._seen = self.home.journal.size()
        changes, following, self._stop = self.home.journal.read(self.following, self._stop)
        for change in changes:
            change.apply(self.model)
        self.holds_forgotten |= any(change.verb == "forget" for change in changes)
        self.following = following

    def catch_up(self) -> None:
        """Apply what other processes have changed since."""
        if self.home.version() != self._version:
            self._read()
        elif self.home.journal.size() != self._seen:
            self._follow()

    def change(self, changes: Sequence[Change]) -> None:
        """Make changes, durable when this returns: all of them, or none.

        Raises
        ------
        StreamBayesError
            What the filter raises, or `SnapshotNotWritten` if the disk refuses the changes.
        """
        with self.home.locked():
            self.catch_up()
            try:
                changes = [change.apply(self.model) for change in changes]
                self._stop = self.home.journal.append(changes, self.following, self._stop)
            except BaseException:
                self._version = (-1, -1, -1)  # the model may hold half of the changes: read it anew
                raise
            self.holds_forgotten |= any(change.verb == "forget" for change in changes)
            self.following += len(changes)
            self._seen = self._stop

    @property
    def fold_is_due(self) -> bool:
        """True if the journal is so long that a start would take much longer."""
        return self._stop > max(self.home.min_fold_bytes, self._version[1] // FOLD_SHARE)

    def snapshot(self) -> tuple[Snapshot, Version]:
        """Return a snapshot of the present state, and the version of the one that it may replace."""
        return self.home.snapshot_of(self.model, self.following), self._version

    def write_folded(self, snapshot: Snapshot) -> None:
        """Write a snapshot beside the present one. Takes no lock: changes may go on in another thread."""
        write_snapshot(self._folded, snapshot, files=self.home.files)

    def adopt_folded(self, snapshot: Snapshot, version: Version) -> bool:
        """Put the snapshot written last in place of the present one, and cut the journal.

        Return False, and change nothing, if another process has replaced the snapshot meanwhile.
        """
        home = self.home
        with home.locked():
            self.catch_up()
            if self._version != version:
                with suppress(FileNotFoundError):
                    home.files.unlink(self._folded)
                return False
            try:
                home.files.rename(self._folded, home.state)
            except FileNotFoundError:  # deleted by a process that began to write a snapshot, and failed
                return False
            home.files.sync_directory(home.directory)
            following = snapshot.positions.get(CHANGES, 0)
            self._stop = self._seen = home.journal.restart(following)
            self._version = home.version()
            self.holds_forgotten = self.holds_forgotten and following < self.following
        return True

    def fold(self) -> bool:
        """Fold the journal into the snapshot. Return False if another process did meanwhile."""
        snapshot, version = self.snapshot()
        self.write_folded(snapshot)
        return self.adopt_folded(snapshot, version)
