"""Decoder: the bytes of one record to an event, or to a `BadRecord` with the reason."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, ClassVar

from stream_bayes.core.events.event import ONE, SAMPLE, SOMEWHERE, Event, Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, BrokerError, Undecodable
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.records.fields import Assembler, Fields
from stream_bayes.streams.records.text_watch import TextWatch
from stream_bayes.streams.records.undecodable import DecodeReason, bad_record, undecodable

__all__ = ["MAX_RECORD_BYTES", "Decoder", "RawDecoder", "checked_bytes", "too_long"]

MAX_RECORD_BYTES = 2**20  # of one record, by default: as with Kafka's brokers


class Decoder(ABC):
    """The base of decoders: bytes to events. A subclass writes `content`.

    Parameters
    ----------
    fields
        Roles of the fields.
    schema
        The declared features. A record that differs from it is a bad record.
    max_record_bytes
        The maximum number of bytes. A longer record is a bad record, and is not parsed.

    Attributes
    ----------
    name
        Name in configuration files.
    uses_registry
        True if the constructor takes a `registry` of schemas as a further argument.
    has_fields
        False if a record is one value without fields; its labels come as JSON.
    model
        The kind of model that the records are messages for, if they are for one alone.
    bad_fields
        The number of features of wrong types that count as missing, by name.

    Examples
    --------
    >>> class Words(Decoder):
    ...     name = "words"
    ...
    ...     def content(self, raw):
    ...         return {word: True for word in raw.decode("ascii", "replace").split()}
    >>> Words().decode(b"cheap pills", 7)
    Event(x={'cheap': True, 'pills': True}, position=7)
    """

    name: ClassVar[str]
    uses_registry: ClassVar[bool] = False
    has_fields: ClassVar[bool] = True
    model: ClassVar[str | None] = None

    def __init__(
        self,
        fields: Fields | None = None,
        schema: Schema | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self.fields = (Fields() if fields is None else fields).with_schema(schema)
        self.schema = schema
        self.max_record_bytes = checked_bytes("max_record_bytes", max_record_bytes)
        self.bad_fields: Counter[str] = Counter()
        self._event = Assembler(self.fields).event
        self._is_open = (
            schema is None and self.fields.only is None
        )  # the number of features comes from the record
        self._watch: TextWatch | None = None

    @abstractmethod
    def content(self, raw: bytes) -> dict[str, Any]:
        """Return the fields of a record as a new dict.

        Raises
        ------
        Undecodable
            If these bytes are no such record.
        BrokerError
            If a service that is needed to decode them, such as a schema registry, does not respond or refuses.
        """

    def decoded_key(self, raw: bytes | None) -> str | bytes | None:
        """Return the key of a Kafka record as text; bytes if it is not UTF-8.

        Raises
        ------
        Undecodable, BrokerError
            As of `content`, if keys have a format of their own.
        """
        if raw is None:
            return None
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw

    def check(self) -> None:
        """Raise `BrokerError` if a service that is needed to decode records does not respond or refuses."""
        return

    def watch_texts(self, name: str, sample: str = "FILE") -> None:
        """Warn once of texts that are amounts, dates or sentences in the first records, unless a schema reads them.

        Parameters
        ----------
        name
            The source's name.
        sample
            A file of such records, for the advice to inspect it.
        """
        if self.schema is None and self.model is None:
            self._watch = TextWatch(name, sample)

    def close(self) -> None:
        """Close connections. The decoder can be used again."""
        if self._watch is not None:
            self._watch.warn()

    def decode(
        self,
        raw: bytes,
        position: Position = 0,
        partition: Partition = SOMEWHERE,
        length: int = 1,
        key: Any = None,
        time: float | None = None,
    ) -> Record:
        """Return the event in these bytes, or a `BadRecord` with the reason.

        Parameters
        ----------
        raw
            The record.
        position, partition, length
            The place of the record.
        key, time
            The record's key and time, unless fields hold others.

        Raises
        ------
        BrokerError
            As of `content`. Nothing else is raised.
        """
        try:
            if len(raw) > self.max_record_bytes:
                raise too_long(len(raw), self.max_record_bytes)
            return self._made(raw, position, partition, length, key, time)
        except Undecodable as fault:
            error = fault
        except RecursionError:
            error = undecodable(
                DecodeReason.TOO_DEEP, "expected fields with values, got arrays or objects without end"
            )
        except UnicodeDecodeError as failure:
            error = undecodable(
                DecodeReason.NOT_UTF8, f"expected UTF-8, got another byte after {failure.start} bytes"
            )
        except BrokerError:
            raise  # the record is not bad: it is decoded once the service responds
        except Exception as failure:  # users write decoders too, and no record may stop the stream
            error = undecodable(
                DecodeReason.DECODER_FAILED,
                f"the decoder {self.name!r} raised {type(failure).__name__}; mend it",
            )
        return bad_record(error, raw, position, partition, length, key, time)

    def _made(
        self,
        raw: bytes,
        position: Position,
        partition: Partition,
        length: int,
        key: Any,
        time: float | None,
    ) -> Event:
        return self._event_of(self.content(raw), position, partition, length, key, time)

    def _event_of(
        self,
        content: dict[str, Any],
        position: Position,
        partition: Partition,
        length: int,
        key: Any,
        time: float | None,
    ) -> Event:
        """Return the event of a record's fields."""
        if self._is_open and len(content) > self.fields.max_fields:
            raise undecodable(
                DecodeReason.TOO_MANY_FIELDS,
                f"expected at most max_fields = {self.fields.max_fields:,} fields, got {len(content):,}",
            )
        event = self._event(content, position, partition, length, key, time)
        if self._watch is not None and not self._watch.add(event.x):
            self._watch = None
        return event


class RawDecoder(Decoder):
    """A decoder that leaves the bytes as they are, for records that the learner parses itself.

    The event's `x` is the record, as `bytes`. There are no fields in it, so the key and the time are those that the
    source has, and there is no label.

    Only the default kind of `fields` is used, as no field has a role. `schema` is None: raw bytes have no fields.

    Examples
    --------
    >>> RawDecoder().decode(b"Subject: hello", key="mail-1").x
    b'Subject: hello'
    """

    name = "raw"
    has_fields = False

    def __init__(
        self,
        fields: Fields | None = None,
        schema: Schema | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        if schema is not None or (fields is not None and (fields.roles or fields.required)):
            raise BadValue("the decoder 'raw' has no fields: leave out the schema and the fields' roles")
        super().__init__(fields, None, max_record_bytes)

    def content(self, raw: bytes) -> dict[str, Any]:
        raise undecodable(DecodeReason.WRONG_TYPE, "expected fields, and raw bytes have none")

    def _made(
        self,
        raw: bytes,
        position: Position,
        partition: Partition,
        length: int,
        key: Any,
        time: float | None,
    ) -> Event:
        kind = self.fields.default_kind
        x: Any = raw if kind is SAMPLE else {}  # the one event whose features have no names
        return Event(x, None, key, time, position, ONE, kind, partition, length)


def too_long(length: int, limit: int) -> Undecodable:
    """Return the error for a record with too many bytes."""
    return undecodable(DecodeReason.TOO_LONG, f"expected at most {limit} bytes, got {length}")


def checked_bytes(name: str, value: object) -> int:
    """Return a number of bytes above 0, or raise `BadValue`."""
    if type(value) is not int or value < 1:
        raise BadValue(f"{name}: expected a whole number of bytes of at least 1, got {shown(value)}")
    return value
