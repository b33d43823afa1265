"""A topic as a source in one call: `from_kafka`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stream_bayes.data.schema import Schema
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.source import KafkaSource, Labels
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES
from stream_bayes.streams.records.decoders import make_decoder
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.schema_registry import Schemas
from stream_bayes.streams.sources.constructors import ROLES

__all__ = ["from_kafka"]


def from_kafka(
    servers: str | Sequence[str],
    topic: str,
    *,
    target: str | None = None,
    schema: Schema | None = None,
    decoder: str = "json",
    start: str | float = "earliest",
    labels: str | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    wait_idle: float = 0.0,
    registry: Schemas | None = None,
    **roles_and_connection: Any,
) -> KafkaSource:
    """Return a topic of Kafka as a source. No broker is contacted before the first read.

    Parameters
    ----------
    servers
        `host:port` of one or more brokers.
    topic
        The topic of the samples.
    target, schema, max_record_bytes
        As of `from_jsonl`.
    decoder
        Format of the records: `"json"`, `"avro"`, `"raw"`, ... or one registered by `register_decoder`.
    start
        Where a first run begins: `"earliest"`, `"latest"`, or seconds since 1970.
    labels
        A second topic, with the labels and corrections of the samples; its records have the samples' keys.
    wait_idle
        Seconds to wait for a partition at its end while others have records.
    registry
        With `decoder="avro"`, the `SchemaRegistry` of the records.
    **roles_and_connection
        `Roles` as of `from_jsonl`; without `key` and `time` those of the record count. And further arguments of
        `Connection`: `client`, `tls`, `ca_file`, `mechanism`, `user`, `password`, ...

    Raises
    ------
    BadValue
        If arguments contradict each other.

    Examples
    --------
    >>> from stream_bayes import streams
    >>> source = streams.from_kafka("localhost:9092", "orders", target="late", start="latest")
    >>> source.name, source.medium
    ('orders', 'kafka')
    """
    connection = roles_and_connection
    fields = Fields(target=target, **{role: connection.pop(role) for role in ROLES if role in connection})
    broker = Connection(servers=(servers,) if isinstance(servers, str) else tuple(servers), **connection)
    samples = make_decoder(decoder, fields, schema, max_record_bytes, registry)
    of_labels = None
    if labels is not None:
        own_fields = samples.fields.of_labels()
        of_labels = Labels(labels, make_decoder(decoder, own_fields, None, max_record_bytes, registry))
    return KafkaSource(
        broker,
        topic,
        samples,
        labels=of_labels,
        start=start,
        wait_idle=wait_idle,
        tombstones=of_labels is not None,
    )
