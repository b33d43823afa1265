r"""The journal of a spam filter's home: an append-only file of the changes since the snapshot.

    head      b"SBCHANGE" | number of the first record (8 bytes)
    record    b"\xc5REC" | number (8) | size (4) | CRC-32 of number, size and content (4) | content

Whole numbers are little-endian; contents are JSON. Each change has the number after the one before it, and the
snapshot names the number that comes next. So a record from before the snapshot is skipped, and a snapshot from before
the journal's first record is refused.

A change is one append and one fsync. A crash can tear the last record only: it was never acknowledged, and is cut off
by the next append. A broken record before a sound one is damage, and is refused.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from stream_bayes.errors import BadState, SnapshotNotWritten
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.messages import FilterBag, checked_bag
from stream_bayes.mail.filter.user_filter import RecordedScore, UserFilter
from stream_bayes.saving.snapshots.file_system import FileSystem

__all__ = ["FRAME", "Change", "ChangeJournal", "JournalLine", "decoded_records", "encode_record"]

MAGIC = b"SBCHANGE"
HEAD = struct.Struct("<8sQ")
MARK = b"\xc5REC"
FRAME = struct.Struct("<4sQII")
COVERED = struct.Struct("<QI")  # covered by the CRC besides the content

VERBS = ("learn", "correct", "forget")


class JournalLine(NamedTuple):
    """A record of a journal: its number, its content, and the place of its end in the file."""

    number: int
    content: bytes
    stop: int


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a filter."""

    verb: str  # "learn", "correct" or "forget"
    id: str  # of the message
    label: str | None = None  # None to forget it
    tokens: dict[str, int] | None = None  # to learn, as the filter stores them: with a key, hashed
    # Of a user's filter, the scores on which the change depends: the site may have others when it is read again.
    scores: tuple[RecordedScore, ...] | None = None
    at: float | None = None  # when it was made, in seconds since 1970, to learn

    def apply(self, model: SpamFilter) -> Change:
        """Make this change, and return it as it is to be written. Raises what the filter raises."""
        if not isinstance(model, UserFilter):
            self._make(model)
            return self
        with model.recording(self.scores) as scores:
            self._make(model)
        return replace(self, scores=tuple(scores))

    def _make(self, model: SpamFilter) -> None:
        if self.verb == "forget":
            model.forget(self.id)
        elif self.verb == "correct":
            model.correct(self.id, self.label)
        else:
            model.learn_one(FilterBag(self.tokens or {}), self.label, id=self.id, at=self.at)

    def encoded(self) -> bytes:
        """Return the change as JSON. Lone surrogates in tokens stay as they are."""
        content = [self.verb, self.id, self.label, self.tokens, self.scores, self.at]
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def decoded(cls, content: bytes) -> Change:
        """Return the change in a record.

        Raises
        ------
        ValueError
            If it holds none.
        """
        verb, name, label, tokens, pairs, at = json.loads(content)
        is_sound = isinstance(name, str) and isinstance(label, str | None) and isinstance(at, float | None)
        if verb not in VERBS or not is_sound:
            raise ValueError(f"it holds no change, but {content[:80]!r}")
        scores = None if pairs is None else tuple((float(score), float(share)) for score, share in pairs)
        return cls(verb, name, label, None if tokens is None else checked_bag(tokens), scores, at)


def encode_record(number: int, content: bytes) -> bytes:
    """Return the bytes of a record."""
    checksum = zlib.crc32(content, zlib.crc32(COVERED.pack(number, len(content))))
    return FRAME.pack(MARK, number, len(content), checksum) + content


def decoded_records(data: bytes | memoryview, start: int) -> Iterator[JournalLine]:
    """Yield the sound records of a file from a place on, up to the first that is broken."""
    while len(data) - start >= FRAME.size:
        mark, number, size, checksum = FRAME.unpack_from(data, start)
        stop = start + FRAME.size + size
        if mark != MARK or stop > len(data):
            return
        content = bytes(data[start + FRAME.size : stop])
        if zlib.crc32(content, zlib.crc32(COVERED.pack(number, size))) != checksum:
            return
        yield JournalLine(number, content, stop)
        start = stop


class ChangeJournal:
    """The changes of a filter since its snapshot. Appending and restarting need the lock of the home."""

    def __init__(self, path: Path, files: FileSystem) -> None:
        self.path = path
        self._files = files

    def size(self) -> int:
        """Return the number of bytes; 0 without a file."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, begin: int, start: int = 0) -> tuple[list[Change], int, int]:
        """Return the changes from a number on, the number that comes next, and the end of the last sound record.
        `begin` is the number of the first change to return, `start` the end of the record before it, if known; 0 reads
        the file from its head.

        Raises
        ------
        BadState
            If changes are missing or a record in the middle is damaged.
        """
        data = self._bytes()
        if len(data) < HEAD.size:  # no journal, or one torn when it was created
            return [], begin, 0
        magic, first = HEAD.unpack_from(data)
        if magic != MAGIC:
            raise BadState(f"{self.path}: expected a journal of changes, which begins with {MAGIC!r}")
        if first > begin:
            raise BadState(
                f"{self.path}: it begins with change {first:,}, the snapshot beside it ends before change {begin:,}: "
                "the snapshot is an older one. Bring back the newest, or move the journal away to lose its changes"
            )
        changes: list[Change] = []
        expected, stop = (begin, start) if start else (first, HEAD.size)
        for record in decoded_records(data, stop):
            if record.number != expected:
                raise BadState(f"{self.path}: expected change {expected:,}, found {record.number:,}")
            expected, stop = expected + 1, record.stop
            if record.number >= begin:
                changes.append(self._change(record))
        self._check_tail(data, stop)
        # Without the records before the next change, the next append begins a new file.
        return changes, max(expected, begin), stop if expected >= begin else 0

    def _change(self, record: JournalLine) -> Change:
        try:
            return Change.decoded(record.content)
        except ValueError as error:
            raise BadState(f"{self.path}: change {record.number:,} is broken: {error}") from error

    def _check_tail(self, data: bytes, stop: int) -> None:
        """Refuse a file with a sound record after a broken one."""
        start = data.find(MARK, stop + 1)
        while start >= 0:
            if next(decoded_records(data, start), None) is not None:
                raise BadState(
                    f"{self.path}: the record at byte {stop:,} is damaged, and changes follow it. Bring back a copy, "
                    "or move the journal away to lose its changes"
                )
            start = data.find(MARK, start + 1)

    def _bytes(self) -> bytes:
        try:
            descriptor = self._files.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return b""
        try:
            return bytes(self._files.read(descriptor, 0, self._files.size(descriptor)))
        finally:
            self._files.close(descriptor)

    def append(self, changes: Sequence[Change], number: int, stop: int) -> int:
        """Add changes after the last sound record; return the new end. They outlast a power cut afterwards. All of the
        changes are written, or none. `number` is that of the first; `stop` is the end of the last sound record, as
        `read` and `append` return it.

        Raises
        ------
        SnapshotNotWritten
            If the disk refuses them. The journal stays as it was.
        """
        if not stop:
            self.restart(number)
            stop = HEAD.size
        data = b"".join(encode_record(number + offset, each.encoded()) for offset, each in enumerate(changes))
        with self._refusals():
            descriptor = self._files.open(self.path, os.O_RDWR | os.O_APPEND)
            try:
                if self._files.size(descriptor) != stop:
                    self._files.truncate(descriptor, stop)
                try:
                    self._files.write(descriptor, data)
                    self._files.sync(descriptor)
                except OSError:
                    with suppress(OSError):
                        self._files.truncate(descriptor, stop)
                    raise
            finally:
                self._files.close(descriptor)
        return stop + len(data)

    def restart(self, number: int) -> int:
        """Drop the changes before a number, which the snapshot holds. Return the new end of the journal."""
        data = self._bytes()
        kept = b""
        if len(data) >= HEAD.size:
            kept = b"".join(
                encode_record(record.number, record.content)
                for record in decoded_records(data, HEAD.size)
                if record.number >= number
            )
        new = self.path.with_name(f".{self.path.name}.new")
        with self._refusals():
            descriptor = self._files.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                self._files.write(descriptor, HEAD.pack(MAGIC, number) + kept)
                self._files.sync(descriptor)
            finally:
                self._files.close(descriptor)
            self._files.rename(new, self.path)
            self._files.sync_directory(self.path.parent)
        return HEAD.size + len(kept)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Raise `SnapshotNotWritten` for what the disk refuses."""
        try:
            yield
        except OSError as error:
            raise SnapshotNotWritten(
                f"{self.path} cannot be written, and stays as it was: {error}"
            ) from error
