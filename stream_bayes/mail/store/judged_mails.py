"""Tokens of mails that were judged, for a while, so that one can be learned by its id.

    judged-new    records as in the journal; the content is JSON: id, time and tokens; without an id, of a removed mail
    judged-old    the file before; deleted when the next one begins

A file is full at half of the bytes allowed, or when its first mail is as old as allowed. A mail that is too old is not
found any more, and has left the disk when it is twice as old. Records are not synced: a power cut loses the last few,
and a mail can still be learned from its bytes.

Several processes may hold mails here: a server, and each `filter` without one. They write in turn, by a lock, and each
first reads what others have appended since.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from stream_bayes.mail.filter.messages import checked_bag
from stream_bayes.mail.store.change_journal import FRAME, decoded_records, encode_record
from stream_bayes.mail.store.locks import holding_lock
from stream_bayes.mail.store.users import checked_user
from stream_bayes.saving.snapshots.file_system import FileSystem

__all__ = ["DAYS", "MAX_BYTES", "JudgedMails", "held_name"]

MAX_BYTES = 64 << 20
DAYS = 14.0
DAY = 86_400.0  # seconds
NEW, OLD = "judged-new", "judged-old"
HEAD_BYTES = 120  # with the id and the time of the first mail
_BEGIN = re.compile(rb'\[("(?:[^"\\]|\\.)*"),([-+0-9.e]+),')  # id and time of a record


class _RecordSpan(NamedTuple):
    """The file and the bytes of a mail's record, and its time."""

    file: str
    start: int
    stop: int
    time: float


class JudgedMails:
    """The tokens of the mails judged last, by id. Not thread-safe. At most `max_bytes` are on disk; 0 holds nothing. A
    mail is held for `days` days. `clock` is in seconds since 1970.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     judged = JudgedMails(Path(directory))
    ...     judged.put("9f86", {"pills": 2})
    ...     judged.get("9f86"), judged.get("0000")
    ({'pills': 2}, None)
    """

    def __init__(
        self,
        directory: Path,
        max_bytes: int = MAX_BYTES,
        days: float = DAYS,
        files: FileSystem | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self.days = days
        self._files = FileSystem() if files is None else files
        self._clock = clock
        self._spans: dict[str, _RecordSpan] = {}
        self._began = clock()  # the time of the first record of the new file
        self._size = 0  # of the new file
        self._head = b""  # the first bytes of the new file: another file has others
        self._follow()

    def __len__(self) -> int:
        return len(self._spans)

    def put(self, name: str, tokens: dict[str, int]) -> None:
        """Hold the tokens of a mail; a mail that is held already stays as it is."""
        if not self.max_bytes:
            return
        with self._turn():
            if self._read(name) is not None:
                return
            now = self._clock()
            record = self._record(name, now, tokens)
            if self._size and (
                2 * (self._size + len(record)) > self.max_bytes or now - self._began > self.days * DAY
            ):
                self._rotate()
            if not self._size:
                self._began, self._head = now, record[:HEAD_BYTES]
            self._append(NEW, record)
            self._spans.pop(name, None)
            self._spans[name] = _RecordSpan(NEW, self._size, self._size + len(record), now)
            self._size += len(record)

    def get(self, name: str) -> dict[str, int] | None:
        """Return the tokens of a mail; None if they are not held."""
        with self._turn():
            return self._read(name)

    def _read(self, name: str) -> dict[str, int] | None:
        span = self._spans.get(name)
        if span is None or self._clock() - span.time > self.days * DAY:
            return None
        return self._tokens(span, name)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Keep other processes from writing, with what they have written read."""
        with holding_lock(self._files, self.directory / "judged-lock"):
            self._follow()
            self._expire()
            yield

    def _follow(self) -> None:
        """Read what other processes have appended since, or all files after one of them has begun another."""
        head = self._first_bytes()
        size = (self.directory / NEW).stat().st_size if head else 0
        if size == self._size and head == self._head:
            return
        if head != self._head or size < self._size:
            self._spans = {}
            self._size = 0
            self._index(OLD, 0)
        self._index(NEW, self._size)
        self._head = head if self._size else b""

    def ids(self) -> list[str]:
        """Return the ids of the mails held, oldest first."""
        with self._turn():
            return list(self._spans)

    def remove(self, names: Iterable[str]) -> int:
        """Remove mails from the disk: blank their records. Return the number of those that were held."""
        with self._turn():
            gone = {name: span for name in names if (span := self._spans.pop(name, None)) is not None}
            for span in gone.values():
                with suppress(FileNotFoundError):
                    self._blank(span)
            self._head = self._first_bytes()
        return len(gone)

    def _blank(self, span: _RecordSpan) -> None:
        """Overwrite a record by a blank one of the same size."""
        content = _content("", span.time, {}).ljust(span.stop - span.start - FRAME.size)
        descriptor = self._files.open(self.directory / span.file, os.O_RDWR)
        try:
            os.lseek(descriptor, span.start, os.SEEK_SET)
            self._files.write(descriptor, encode_record(0, content))
        finally:
            self._files.close(descriptor)

    def _record(self, name: str, now: float, tokens: dict[str, int]) -> bytes:
        return encode_record(0, _content(name, now, tokens))

    def _tokens(self, span: _RecordSpan, name: str) -> dict[str, int] | None:
        try:
            with (self.directory / span.file).open("rb") as file:
                file.seek(span.start)
                record = next(decoded_records(file.read(span.stop - span.start), 0), None)
        except FileNotFoundError:
            return None
        if record is None:
            return None
        recorded, _, tokens = json.loads(record.content)
        return checked_bag(tokens) if recorded == name else None

    def _index(self, file: str, start: int) -> None:
        """Read where the mails of a file are, from a place on, up to a record that a crash has torn."""
        try:
            with (self.directory / file).open("rb") as opened:
                opened.seek(start)
                data = opened.read()
        except FileNotFoundError:
            data = b""
        stop = 0
        for record in decoded_records(data, 0):
            begin = _BEGIN.match(record.content)
            assert begin is not None  # the checksum is right, so it is a record of `_content`
            name, when = json.loads(begin[1]), float(begin[2])
            if file == NEW and start + stop == 0:
                self._began = when
            if name:  # else it was removed
                self._spans.pop(name, None)
                self._spans[name] = _RecordSpan(file, start + stop, start + record.stop, when)
            stop = record.stop
        if file == NEW:
            self._size = start + stop

    def _first_bytes(self) -> bytes:
        try:
            with (self.directory / NEW).open("rb") as file:
                return file.read(HEAD_BYTES)
        except FileNotFoundError:
            return b""

    def _expire(self) -> None:
        """Delete a file when all of its mails are too old, and forget those that are."""
        oldest = self._clock() - self.days * DAY
        late = 0
        for span in self._spans.values():  # oldest first
            if span.time >= oldest:
                break
            late += 1
        if not late:
            return
        for name in list(self._spans)[:late]:
            del self._spans[name]
        files = {span.file for span in self._spans.values()}
        for file in (OLD, NEW):
            if file not in files:
                with suppress(FileNotFoundError):
                    self._files.unlink(self.directory / file)
                if file == NEW:
                    self._size, self._head = 0, b""

    def _rotate(self) -> None:
        self._spans = {
            name: span._replace(file=OLD) for name, span in self._spans.items() if span.file == NEW
        }
        self._files.rename(self.directory / NEW, self.directory / OLD)
        self._size = 0

    def _append(self, file: str, record: bytes) -> None:
        self._write(self.directory / file, record, os.O_RDWR | os.O_CREAT | os.O_APPEND, cut=self._size)

    def _write(self, path: Path, data: bytes, flags: int = os.O_RDWR | os.O_CREAT, cut: int = 0) -> None:
        descriptor = self._files.open(path, flags)
        try:
            if self._files.size(descriptor) != cut:  # a record that the disk did not take whole
                self._files.truncate(descriptor, cut)
            self._files.write(descriptor, data)
        finally:
            self._files.close(descriptor)


def held_name(name: str, user: str | None) -> str:
    """Return the name under which the tokens of a mail are held that was judged for a user, or for the site."""
    return name if user is None else f"{checked_user(user)}/{name}"


def _content(name: str, now: float, tokens: dict[str, int]) -> bytes:
    return json.dumps([name, now, tokens], separators=(",", ":")).encode()
