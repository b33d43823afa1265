"""Labels that people give, written into a pipeline's topic of labels."""

from __future__ import annotations

import msgspec

from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.producing import produce_one
from stream_bayes.kafka.sink import key_bytes
from stream_bayes.streams.files.label_log import GivenLabel

__all__ = ["TopicLabels"]


class TopicLabels:
    """A writer of labels: each becomes a record with the sample's key, and the label in the field `target`.

    `key` names the field of the record that holds the key too, if the records of samples have one.
    """

    def __init__(self, connection: Connection, topic: str, target: str, key: str | None) -> None:
        self._connection = connection
        self._topic = topic
        self._target = target
        self._key = key

    def write(self, label: GivenLabel) -> int:
        # Keys of records are bytes: only in its field is a number one.
        key = {} if self._key is None else {self._key: label.key}
        value = msgspec.json.encode({**key, self._target: label.label})
        produce_one(self._connection, self._topic, key_bytes(label.key), value)
        return -1

    def recent(self) -> list[tuple[GivenLabel, int]]:
        return []  # the topic holds no keys of requests

    def close(self) -> None:
        pass
