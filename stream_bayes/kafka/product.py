"""The product Kafka: the names under which rooms below find what it brings."""

from __future__ import annotations

__all__ = ["BRINGS", "PRODUCE", "REDRIVE"]

BRINGS = {
    "commands": {
        "produce": "stream_bayes.kafka.product:PRODUCE",
        "redrive": "stream_bayes.kafka.product:REDRIVE",
    },
    "sources": {"kafka": "stream_bayes.kafka.pipeline.config:KafkaSourceConfig"},
    "sinks": {"kafka": "stream_bayes.kafka.pipeline.config:KafkaSinkConfig"},
    "tables": {"kafka": "stream_bayes.kafka.pipeline.config:KafkaConfig"},
    "parts": {"kafka": "stream_bayes.kafka.pipeline.parts:kafka_parts"},
    "topics": {"kafka": "stream_bayes.kafka.topics:from_kafka"},
}

PRODUCE = (
    "stream_bayes.kafka.commands.produce:produce",
    "Write the records of a file to a Kafka topic: rows as JSON objects, mails as they are with their ids as keys.",
)
REDRIVE = (
    "stream_bayes.kafka.commands.redrive:redrive",
    "Process the records behind dead letters again, each letter once.",
)
