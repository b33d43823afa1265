r"""Commands to a pipeline as records, beside those of its source.

{"command":"unlearn","from":1760400000.0,"to":1760486400.0,"where":{"key":["a","b"],"label":["rain"]}}
{"command":"redrive"}
"""

from __future__ import annotations

import math

import msgspec

from stream_bayes.core.events.event import COMMAND, ONE, BadRecord, Event, Partition, Position
from stream_bayes.core.events.unlearn_spans import Span, unlearn_command

__all__ = ["COMMANDS", "decode_command", "encode_redrive", "encode_unlearn"]

COMMANDS = "commands"  # name of their source, and end of the topic's name


class Where(msgspec.Struct, frozen=True, omit_defaults=True):
    """The samples that are meant."""

    key: tuple[str, ...] = ()
    label: tuple[str, ...] = ()


class UnlearnRecord(
    msgspec.Struct, frozen=True, rename={"start": "from", "stop": "to"}, tag_field="command", tag="unlearn"
):
    """The record of a command that takes back the labels of a span."""

    start: float
    stop: float
    where: Where = Where()


class RedriveRecord(msgspec.Struct, frozen=True, tag_field="command", tag="redrive"):
    """The record of a command that processes the records behind dead letters again."""


def encode_redrive() -> bytes:
    """Return the record of a command that processes the records behind dead letters again."""
    return msgspec.json.encode(RedriveRecord())


def encode_unlearn(span: Span) -> bytes:
    """Return the record of a command that unlearns a span.

    Examples
    --------
    >>> encode_unlearn(Span(10.0, 20.0, labels=("rain",)))
    b'{"command":"unlearn","from":10.0,"to":20.0,"where":{"label":["rain"]}}'
    """
    return msgspec.json.encode(UnlearnRecord(span.start, span.stop, Where(span.keys, span.labels)))


def decode_command(
    raw: bytes, position: Position, partition: Partition, length: int = 1, time: float | None = None
) -> Event | BadRecord:
    """Return the command in a record; a bad record if it holds none.

    Examples
    --------
    >>> decode_command(b'{"command":"unlearn","from":10,"to":20}', 0, Partition("commands")).x
    {'unlearn': Span(start=10.0, stop=20.0, keys=(), labels=())}
    """
    try:
        record = msgspec.json.decode(raw, type=UnlearnRecord | RedriveRecord)
        if isinstance(record, RedriveRecord):
            return Event({}, None, None, time, position, ONE, COMMAND, partition, length)
        if not -math.inf < record.start < record.stop < math.inf:
            raise msgspec.ValidationError(f"expected from < to, got {record.start} and {record.stop}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return BadRecord(
            "not_json", f"expected a command: {error}", raw, None, time, position, partition, length
        )
    span = Span(record.start, record.stop, record.where.key, record.where.label)
    return unlearn_command(span, position, partition, length, time)
