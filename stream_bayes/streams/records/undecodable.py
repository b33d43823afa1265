"""Reasons why a record could not be decoded: a word for counters and a sentence for people.

Sentences go to logs, so they hold no values of the record, only types and sizes. They name fields, because a record
cannot be mended without that.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from stream_bayes.core.events.event import BadRecord, Partition, Position
from stream_bayes.errors import Undecodable

__all__ = ["KEPT_BYTES", "DecodeReason", "bad_record", "described", "shortened", "undecodable"]

KEPT_BYTES = 4096  # of an undecodable record that are kept


class DecodeReason(Enum):
    """A reason why a record could not be decoded. Its value is its name in dead letters and counters.

    Examples
    --------
    >>> DecodeReason.TOO_LONG.value
    'too_long'
    """

    TOO_LONG = "too_long"
    """More bytes than `max_record_bytes`. Of such a record only the beginning was ever in memory."""

    NOT_UTF8 = "not_utf8"
    """Bytes that are not UTF-8."""

    NOT_JSON = "not_json"
    """Text that is not JSON."""

    TOO_DEEP = "too_deep"
    """Arrays or objects that are nested too deeply."""

    NOT_CSV = "not_csv"
    """A row that cannot be split into cells."""

    UNCLOSED_QUOTE = "unclosed_quote"
    """A quote that is not closed within `max_record_bytes`, or never. Only its first line is the record."""

    RAGGED = "ragged"
    """A row with more or fewer cells than there are columns."""

    REPEATED_HEADING = "repeated_heading"
    """A row that is the names of the columns again, as in files that were put together."""

    WRONG_TYPE = "wrong_type"
    """A field of another type than declared, or of one that an event cannot hold."""

    MISSING_FIELD = "missing_field"
    """A required field that is absent, or holds no value."""

    UNKNOWN_FIELD = "unknown_field"
    """A field that the schema does not declare, and refuses."""

    TOO_MANY_FIELDS = "too_many_fields"
    """More fields than `max_fields`, without a schema that declares them."""

    NOT_FRAMED = "not_framed"
    """A record without the five bytes that hold the id of its schema."""

    NOT_AVRO = "not_avro"
    """Bytes that do not fit the schema that their frame names."""

    UNKNOWN_SCHEMA = "unknown_schema"
    """An id of a schema that the registry does not have."""

    BAD_SCHEMA = "bad_schema"
    """A schema of the registry that cannot be used: it is not of Avro, recursive, or refers to one that is missing."""

    DECODER_FAILED = "decoder_failed"
    """A decoder raised an unexpected error: it has a bug."""


def undecodable(reason: DecodeReason, detail: str) -> Undecodable:
    """Return the error to raise for such a record."""
    return Undecodable(reason.value, detail)


def bad_record(
    error: Undecodable,
    raw: bytes,
    position: Position,
    partition: Partition,
    length: int,
    key: Any = None,
    time: float | None = None,
) -> BadRecord:
    """Return the `BadRecord` of a record that could not be decoded."""
    return BadRecord(error.reason, error.detail, raw[:KEPT_BYTES], key, time, position, partition, length)


def described(value: object) -> str:
    """Describe a value's type and size in words.

    Examples
    --------
    >>> described("secret"), described([1, 2]), described(True), described(1.5)
    ('text of 6 characters', 'an array of 2 items', 'true or false', 'a number')
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"{len(value)} bytes"
    if isinstance(value, (list, tuple)):
        return f"an array of {len(value)} items"
    if isinstance(value, Mapping):
        return f"an object of {len(value)} fields"
    return f"a {type(value).__name__}"


def shortened(name: object) -> str:
    """Return the name of a field for a message: quoted, and at most a line long.

    Examples
    --------
    >>> shortened("größe"), shortened("x" * 1000)[-8:]
    ("'größe'", 'xxxxx...')
    """
    text = repr(name)
    return text if len(text) <= 60 else f"{text[:57]}..."
