"""The product Kafka: the names under which rooms below find what it brings."""

from __future__ import annotations

__all__ = ["BRINGS"]

BRINGS = {
    "sources": {"kafka": "stream_bayes.kafka.pipeline.config:KafkaSourceConfig"},
    "sinks": {"kafka": "stream_bayes.kafka.pipeline.config:KafkaSinkConfig"},
    "tables": {"kafka": "stream_bayes.kafka.pipeline.config:KafkaConfig"},
    "parts": {"kafka": "stream_bayes.kafka.pipeline.parts:kafka_parts"},
    "topics": {"kafka": "stream_bayes.kafka.topics:from_kafka"},
}
