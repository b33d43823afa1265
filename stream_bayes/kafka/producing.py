"""Writing the records of a file into a topic."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any, NamedTuple

import msgspec
from kafka.partitioner.default import murmur2

from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.data.amounts import number
from stream_bayes.data.features import Numeric
from stream_bayes.errors import Exhausted, SchemaError, Undecodable
from stream_bayes.kafka.clients.client import MAX_MESSAGE_BYTES, TRANSACTION_SECONDS, Send
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_writer
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.kafka.sink import key_bytes, size_of
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.files.csv_format import guessed_format
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.table_profile import FIRST_ROWS, inferred_features
from stream_bayes.streams.records.commands import COMMANDS
from stream_bayes.streams.records.decoder import RawDecoder
from stream_bayes.streams.records.fields import Fields, seconds_from
from stream_bayes.streams.records.undecodable import DecodeReason, bad_record, undecodable
from stream_bayes.streams.sources.file_formats import TypedSource

__all__ = [
    "FileRecords",
    "Produced",
    "csv_records",
    "json_records",
    "produce",
    "produce_mails",
    "produce_one",
    "typed_records",
    "write_command",
]

BATCH = 500  # records between two flushes
MAIL_BATCH = 50  # mails between two flushes: they are large


class FileRecords:
    """A source whose events hold whole records of a file: `x` is the record as a dict, with no field taken out.
    `content` returns the record of one of the source's events; None if there is none. `key` and `time` name the fields
    with a record's key and its time, a number of seconds or ISO 8601.
    """

    medium = "local"
    may_skip = False

    def __init__(
        self,
        source: Source,
        content: Callable[[Any], dict[str, Any] | None],
        key: str | None = None,
        time: str | None = None,
    ) -> None:
        self.source = source
        self.name = source.name
        self._content = content
        self._key = key
        self._time = Fields(time=time)

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return self.source.positions

    def poll(self, limit: int) -> list[Record]:
        return [self._with_key_and_time(record) for record in self.source.poll(limit)]

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        self.source.seek(positions)

    def close(self) -> None:
        self.source.close()

    def _with_key_and_time(self, record: Record) -> Record:
        if not isinstance(record, Event):
            return record
        x = self._content(record.x)
        if x is None:
            fault = undecodable(DecodeReason.NOT_JSON, "expected a JSON object")
            return bad_record(fault, b"", record.position, record.partition, record.length)
        key = None if self._key is None else x.get(self._key)
        try:
            moment = None if self._time.time is None else seconds_from(x.get(self._time.time), self._time)
        except Undecodable as error:
            raise SchemaError(f"{self.name}, position {record.position}: {error}") from error
        return msgspec.structs.replace(record, x=x, key=key, time=moment)


def json_records(
    path: str | os.PathLike[str], key: str | None = None, time: str | None = None
) -> FileRecords:
    """Return the objects of a file of JSON lines."""
    return FileRecords(JSONLinesSource(path, RawDecoder()), _object, key, time)


def _object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a line, nested or not; None if there is none.

    Examples
    --------
    >>> _object(b'{"sky": {"left": "grey"}}'), _object(b"[1]"), _object(b"{")
    ({'sky': {'left': 'grey'}}, None, None)
    """
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def typed_records(source: TypedSource, key: str | None = None, time: str | None = None) -> FileRecords:
    """Return the rows of a file that declares its columns, whose fields have no roles. Missing values are dropped.

    Raises
    ------
    SchemaError
        If there is no column `key` or `time`.
    """
    for name in (key, time):
        if name is not None and name not in source.columns:
            source.close()
            raise SchemaError(
                f"{source.path}: there is no column {name!r}; there are {', '.join(source.columns)}"
            )
    return FileRecords(source, _without_missing, key, time)


def _without_missing(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def csv_records(
    path: str | os.PathLike[str],
    key: str | None = None,
    time: str | None = None,
    delimiter: str | None = None,
) -> FileRecords:
    """Return the rows of a CSV file. Columns of numbers in the first rows become numbers; empty cells are dropped.

    Raises
    ------
    SchemaError
        If there is no column `key` or `time`.
    """
    named = [name for name in (key, time) if name is not None]
    form = guessed_format(path, delimiter=delimiter, missing=("",), named=named)
    source = CSVSource(path, Fields(), form=form)
    for name in (key, time):
        if name is not None and name not in source.columns:
            source.close()
            raise SchemaError(f"{path}: there is no column {name!r}; there are {', '.join(source.columns)}")
    start = source.positions
    try:
        rows = [record.x for record in source.poll(FIRST_ROWS) if isinstance(record, Event)]
    except Exhausted:
        rows = []
    source.seek(start)
    features = inferred_features(source.columns, rows)
    numeric = {name for name, feature in features.items() if isinstance(feature, Numeric)}

    def content(row: Mapping[str, str | None]) -> dict[str, Any]:
        cells = {name: text for name, text in row.items() if text is not None}
        return {name: _number(text) if name in numeric else text for name, text in cells.items()}

    return FileRecords(source, content, key, time)


def _number(text: str) -> int | float | str:
    """Return a text as a JSON number, or unchanged if it is not one.

    Examples
    --------
    >>> _number("3"), _number("3.50"), _number("three")
    (3, 3.5, 'three')
    """
    for kind in (int, number):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class Produced(NamedTuple):
    """The result of `produce`."""

    sent: int  # records written
    skipped: int  # entries in the file that are no records


def produce_one(connection: Connection, topic: str, key: bytes | None, value: bytes) -> None:
    """Write one record into a topic, and return once a broker has it.

    Raises
    ------
    BrokerError
        If there is no such topic, or the record cannot be written to it.
    """
    cluster = Cluster(connection)
    try:
        partitions = cluster.require_topics([topic])[topic].partitions
    finally:
        cluster.close()
    writer = make_writer(connection, None, TRANSACTION_SECONDS, MAX_MESSAGE_BYTES)
    try:
        writer.send_all([(topic, _partition_of(key, partitions), key, value, [])])
        writer.flush()
    finally:
        writer.close()


def write_command(
    connection: Connection,
    pipeline: str,
    command: bytes,
    replication_factor: int | None = None,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
) -> None:
    """Write a command into the topic of commands of a pipeline, which is created if it is missing."""
    topic = f"{pipeline}.{COMMANDS}"
    with closing(Cluster(connection)) as cluster:
        cluster.create_journal(topic, replication_factor)
    with closing(make_writer(connection, None, TRANSACTION_SECONDS, max_message_bytes)) as writer:
        writer.send_all([(topic, 0, None, command, [])])
        writer.flush()


def _partition_of(key: bytes | None, partitions: int) -> int:
    """Return the partition of a key as Kafka's own clients choose it."""
    return 0 if key is None else (murmur2(key) & 0x7FFFFFFF) % partitions


def produce(connection: Connection, topic: str, source: Source, limit: int | None = None) -> Produced:
    """Write a source's records into a topic as JSON objects, those of one key to one partition.

    A record may be written twice if the cluster does not answer.

    Raises
    ------
    BrokerError
        If there is no such topic, or records cannot be written to it.
    """
    cluster = Cluster(connection)
    try:
        partitions = cluster.require_topics([topic])[topic].partitions
    finally:
        cluster.close()
    turns = itertools.cycle(range(partitions))
    sent = skipped = 0
    writer = make_writer(connection, None, TRANSACTION_SECONDS, MAX_MESSAGE_BYTES)
    try:
        while limit is None or sent < limit:
            try:
                records = source.poll(BATCH if limit is None else min(BATCH, limit - sent))
            except Exhausted:
                break
            sends: list[Send] = []
            for record in records:
                if not isinstance(record, Event):
                    skipped += 1
                    continue
                key = key_bytes(record.key)
                partition = next(turns) if key is None else _partition_of(key, partitions)
                value = json.dumps(record.x, ensure_ascii=False, separators=(",", ":")).encode()
                sends.append((topic, partition, key, value, []))
            writer.send_all(sends)
            writer.flush()
            sent += len(sends)
    finally:
        writer.close()
    return Produced(sent, skipped)


def produce_mails(
    connection: Connection,
    topic: str,
    mails: Iterable[tuple[bytes, bytes | None]],
    *,
    label: str | None = None,
    labels: str | None = None,
    limit: int | None = None,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
) -> Produced:
    """Write mails, pairs of key and bytes, into a topic; with a label, also one for each into a topic of labels.

    A mail may be written twice if the cluster does not answer. Skipped are mails that are too large for a record, and
    None, which stands for what is no mail.

    Raises
    ------
    BrokerError
        If there is no such topic, or records cannot be written to it.
    """
    cluster = Cluster(connection)
    try:
        topics = cluster.require_topics([topic] if labels is None else [topic, labels])
    finally:
        cluster.close()
    said = json.dumps({"label": label}).encode()
    sent = skipped = 0
    writer = make_writer(connection, None, TRANSACTION_SECONDS, max_message_bytes)
    try:
        wanted = itertools.islice(mails, limit)
        while batch := list(itertools.islice(wanted, MAIL_BATCH)):
            small = [
                (key, raw)
                for key, raw in batch
                if raw is not None and size_of(key, raw, []) <= max_message_bytes
            ]
            sends: list[Send] = [
                (topic, _partition_of(key, topics[topic].partitions), key, raw, []) for key, raw in small
            ]
            if labels is not None:
                sends += [
                    (labels, _partition_of(key, topics[labels].partitions), key, said, []) for key, _ in small
                ]
            writer.send_all(sends)
            writer.flush()
            sent += len(small)
            skipped += len(batch) - len(small)
    finally:
        writer.close()
    return Produced(sent, skipped)
