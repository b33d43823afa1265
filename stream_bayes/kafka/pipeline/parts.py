"""Construction of a pipeline's Kafka source, sinks and recovery."""

from __future__ import annotations

import logging

from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.kafka.delivery import AtLeastOnce, Delivery
from stream_bayes.kafka.pipeline.config import KafkaSinkConfig, KafkaSourceConfig
from stream_bayes.kafka.recovery import JournalRecovery, OffsetRecovery
from stream_bayes.kafka.sink import KafkaDeadLetters, KafkaSink
from stream_bayes.kafka.source import KafkaSource, Labels, Share
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.streams.pipelines.config import PipelineConfig
from stream_bayes.streams.pipelines.products import Messages, ProductParts
from stream_bayes.streams.records.commands import COMMANDS
from stream_bayes.streams.records.decoder import Decoder
from stream_bayes.streams.records.decoders import make_decoder, needs_registry
from stream_bayes.streams.records.fields import Fields

__all__ = ["kafka_parts", "kafka_source"]

logger = logging.getLogger(__name__)


def kafka_parts(
    config: PipelineConfig,
    schema: Schema | None,
    accept_gap: bool = False,
    messages: Messages | None = None,
) -> ProductParts:
    """Build the source and sinks of a pipeline that are topics, and the delivery that they share.

    Raises
    ------
    BadValue
        If two of them are one topic.
    """
    logger.info("the Kafka client is %s", config.kafka.client)
    source = None
    if isinstance(config.source, KafkaSourceConfig):
        source = kafka_source(config, schema, commands=f"{config.name}.{COMMANDS}", messages=messages)
    sinks = [part for part in (config.predictions, config.dead_letters) if isinstance(part, KafkaSinkConfig)]
    if source is not None:
        for part in sinks:
            if part.topic in source.decoders:
                raise BadValue(
                    f"topic {part.topic!r} is read and written by this pipeline: it would never end"
                )
    delivery = _delivery(config, source) if sinks else None
    used = {*(source.decoders if source is not None else ()), *(part.topic for part in sinks)}
    for end, what in (("journal", "journal"), (COMMANDS, "topic of commands")):
        name = f"{config.name}.{end}"
        if source is not None and isinstance(delivery, Transactions) and name in used:
            raise BadValue(
                f"topic {name!r} is the {what} of the pipeline {config.name!r}, which nothing else may use: rename one"
            )
    letters = predictions = None
    if delivery is not None and isinstance(config.dead_letters, KafkaSinkConfig):
        letters = KafkaDeadLetters(delivery, config.dead_letters.topic)
    if delivery is not None and isinstance(config.predictions, KafkaSinkConfig):
        predictions = KafkaSink(delivery, config.predictions.topic, letters)
    recovery: OffsetRecovery | None = None
    if source is not None and isinstance(delivery, Transactions):
        recovery = JournalRecovery(source, config.name, delivery, accept_gap=accept_gap)
    elif source is not None:
        recovery = OffsetRecovery(source, config.name, delivery, accept_gap=accept_gap)
    return ProductParts(source, predictions, letters, recovery)


def kafka_source(
    config: PipelineConfig,
    schema: Schema | None,
    share: Share | None = None,
    commands: str | None = None,
    messages: Messages | None = None,
) -> KafkaSource:
    """Build the source of a pipeline that reads a topic; with a share, that of a shard."""
    table, labels = config.source, config.labels
    assert isinstance(table, KafkaSourceConfig) and config.kafka is not None
    registry = None if table.registry is None else table.registry.registry()

    def decoder_of(name: str, fields: Fields, schema: Schema | None) -> Decoder:
        of_name = registry if needs_registry(name) else None
        return make_decoder(name, fields, schema, table.max_record_bytes, of_name)

    decoder = (
        decoder_of(table.decoder, table.fields(), schema)
        if messages is None
        else messages(table.max_record_bytes)
    )
    second = None
    if labels is not None and labels.topic is not None:
        fields = decoder.fields.of_labels(labels.target)
        assert config.labels_decoder is not None
        second = Labels(labels.topic, decoder_of(config.labels_decoder, fields, None))
    return KafkaSource(
        config.kafka.connection(),
        table.topic,
        decoder,
        labels=second,
        start=table.start,
        max_skew=config.max_skew,
        wait_idle=table.wait_idle,
        share=share,
        commands=commands,
        tombstones=labels is not None,  # without held samples there is nothing to withdraw
    )


def _delivery(config: PipelineConfig, source: KafkaSource | None) -> Delivery:
    kafka = config.kafka
    assert kafka is not None
    if source is None or kafka.delivery == "at-least-once":
        return AtLeastOnce(
            kafka.connection(),
            config.name,
            stores_positions=source is not None,
            max_message_bytes=kafka.max_message_bytes,
        )
    return Transactions(
        kafka.connection(),
        config.name,
        source,
        replication_factor=kafka.replication_factor,
        transaction_seconds=kafka.transaction_seconds,
        max_message_bytes=kafka.max_message_bytes,
    )
