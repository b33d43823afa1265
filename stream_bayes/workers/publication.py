"""Publications: the current parts of a shard's state in a compacted topic, and the state that they make.

    key            value
    3/array/...    a part; no value: the part is gone
    3/end          {"format": 1, "shard": 3, "shards": 16, ..., "parts": {name: digest}, "signature": ...}
    3/moved        {"format": 1, "pipeline": ..., "generation": 2, "shards": 32, ...}: the last record, after a rescale

A publication is the parts that changed, and at its end a record with the digest of every part. It is one transaction.
Values are current ones and never increments, so compaction may drop older records, and a record may be read again. A
reader may also begin among records that compaction has left of several publications. It uses parts only once all of
them have the digests of one end, so it holds what a shard published, or nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec

from stream_bayes.errors import BadState

__all__ = ["END", "FORMAT", "MOVED", "Assembly", "End", "Moved", "Origin", "Publisher"]

FORMAT = 1
END = "end"
MOVED = "moved"
DIGEST_BYTES = 16


class Origin(msgspec.Struct, frozen=True):
    """The origin of publications: readers refuse those of another."""

    pipeline: str
    settings: str  # a digest of all settings that counts depend on
    shards: int
    partitions: int  # of each input topic; 0 if the number may change, as without labels


class End(msgspec.Struct, frozen=True):
    """The last record of a publication."""

    format: int  # `FORMAT`, when it was written
    source: Origin
    shard: int
    parts: dict[str, str]  # the digest of each part
    events: int  # records that the shard has processed
    written: float  # seconds since 1970
    signature: str = ""  # the HMAC of all other fields; empty without a key

    def signed(self, key: bytes | None) -> End:
        """Return it with its signature under a key."""
        return _signed(self, key)


class Moved(msgspec.Struct, frozen=True):
    """The last record of a partition whose pipeline was rescaled."""

    format: int  # `FORMAT`, when it was written
    pipeline: str
    generation: int  # of its next topics
    shards: int  # the number of shards there
    signature: str = ""  # as of an `End`

    def signed(self, key: bytes | None) -> Moved:
        """Return it with its signature under a key."""
        return _signed(self, key)

    def __str__(self) -> str:
        return (
            f"{self.pipeline!r} was rescaled to {self.shards} shards: set workers.shards = {self.shards} in its file, "
            "and start again"
        )


R = TypeVar("R", End, Moved)


def _signed(record: R, key: bytes | None) -> R:
    plain = msgspec.structs.replace(record, signature="")
    if key is None:
        return plain
    text = msgspec.json.encode(plain, order="deterministic")
    return msgspec.structs.replace(plain, signature=hmac.digest(key, text, "sha256").hex())


class PublicationRecord(NamedTuple):
    """A record of a publication: its key without the shard, and its value."""

    name: str
    value: bytes | None


def digest_of(part: bytes) -> str:
    """Return a part's digest."""
    return hashlib.blake2b(part, digest_size=DIGEST_BYTES).hexdigest()


class Publisher:
    """Publishes the parts of one shard that changed since its last publication. It signs with `key`; None for no
    signature. `published` are the digests of the parts that the topic holds already.

    Examples
    --------
    >>> publisher = Publisher(Origin("days", "", 1, 1), 0)
    >>> [record.name for record in publisher.records({"a": b"1", "b": b"2"}, 10, 0.0)]
    ['a', 'b', 'end']
    >>> [record.name for record in publisher.records({"a": b"1", "b": b"3"}, 20, 1.0)]
    ['b', 'end']
    """

    def __init__(
        self,
        source: Origin,
        shard: int,
        key: bytes | None = None,
        published: Mapping[str, str] | None = None,
    ) -> None:
        self.source = source
        self.shard = shard
        self._key = key
        self._published = dict(published or {})

    def continue_from(self, published: Mapping[str, str]) -> None:
        """Send only parts whose digests differ from these, which the topic holds."""
        self._published = dict(published)

    def records(self, parts: Mapping[str, bytes], events: int, written: float) -> list[PublicationRecord]:
        """Return the records of a publication; they count as published from now on."""
        digests = {name: digest_of(part) for name, part in parts.items()}
        before, self._published = self._published, digests
        gone = [PublicationRecord(name, None) for name in before if name not in digests]
        changed = [
            PublicationRecord(name, part) for name, part in parts.items() if before.get(name) != digests[name]
        ]
        end = End(FORMAT, self.source, self.shard, digests, events, written).signed(self._key)
        return [*gone, *changed, PublicationRecord(END, msgspec.json.encode(end))]


class Assembly:
    """The parts of one shard, read from a topic in its order. `key` is the secret of the signatures; None to take
    unsigned ends.

    Attributes
    ----------
    end
        The end of the newest complete publication; None before there is one.
    parts
        Its parts.

    Examples
    --------
    >>> publisher = Publisher(Origin("days", "", 1, 1), 0)
    >>> assembly = Assembly(0)
    >>> [assembly.add(*record) for record in publisher.records({"a": b"1", "b": b"2"}, 10, 0.0)]
    [False, False, True]
    >>> assembly.parts
    {'a': b'1', 'b': b'2'}
    """

    def __init__(self, shard: int, key: bytes | None = None) -> None:
        self.shard = shard
        self.end: End | None = None
        self.parts: dict[str, bytes] = {}
        self._key = key
        self._stored: dict[str, tuple[bytes, str]] = {}

    @property
    def digests(self) -> dict[str, str]:
        """The digests of all parts that the topic holds, of complete publications or not."""
        return {name: digest for name, (_, digest) in self._stored.items()}

    def add(self, name: str, value: bytes | None) -> bool:
        """Add a record. Return True if it completes a publication.

        Raises
        ------
        BadState
            If the record is an end that was written with other settings or another key.
        """
        if name != END:
            if value is None:
                self._stored.pop(name, None)
            else:
                self._stored[name] = value, digest_of(value)
            return False
        end = self.checked_end(value)
        parts = self._stored
        if any(part not in parts or parts[part][1] != digest for part, digest in end.parts.items()):
            return False  # compaction has left parts of a later publication, whose end follows
        self.end = end
        # What the end does not name was deleted later, or is of a later publication.
        self.parts = {part: parts[part][0] for part in end.parts}
        return True

    def checked_end(self, value: bytes | None) -> End:
        """Return an end that a worker with these settings and this key wrote.

        Raises
        ------
        BadState
            If it is another.
        """
        end = self._decoded(value, End)
        if end.shard != self.shard:
            raise BadState(f"the records of shard {end.shard} are in the partition of shard {self.shard}")
        return end

    def checked_move(self, value: bytes | None) -> Moved:
        """Return the record of a rescale that was made with this key. Raise `BadState` if it is another."""
        return self._decoded(value, Moved)

    def _decoded(self, value: bytes | None, kind: type[R]) -> R:
        try:
            form = msgspec.json.decode(value or b"", type=_Form).format
            if form > FORMAT:
                raise BadState(
                    f"shard {self.shard} was published by a newer version, in format {form}; this version reads "
                    f"{FORMAT}; upgrade this worker"
                )
            record = msgspec.json.decode(value or b"", type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadState(
                f"shard {self.shard} holds an end that this package did not write: {error}"
            ) from error
        if self._key is None and record.signature:
            raise BadState(f"shard {self.shard} is signed; give the key under which the workers publish")
        if not hmac.compare_digest(record.signed(self._key).signature, record.signature):
            raise BadState(
                f"shard {self.shard} is not signed with this key: it was written with another one, without one, or "
                "altered"
            )
        return record


class _Form(msgspec.Struct):
    format: int
