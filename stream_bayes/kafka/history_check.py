"""Check that a log still holds what was read: by the epochs of its leaders, and by the records themselves."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import closing

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerAway
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.reconnecting import ReconnectingReader
from stream_bayes.kafka.clients.record_marks import Mark, mark_of
from stream_bayes.kafka.offset_rules import ClusterState, Reached
from stream_bayes.kafka.source import KafkaSource

__all__ = ["HistoryCheck"]

logger = logging.getLogger(__name__)

POLL_LIMIT = 1000  # records
POLL_SECONDS = 0.2


class HistoryCheck:
    """Compares marks of records that were read with a log."""

    def __init__(self, source: KafkaSource, open_reader: Callable[[], closing[ReconnectingReader]]) -> None:
        self._source = source
        self._open_reader = open_reader

    def tails(self, state: ClusterState, reached: Reached) -> dict[Partition, Position | None]:
        """Return the partitions that do not hold what was read, and from where on; None if that is unknown.

        A record that expired or was compacted proves nothing, and is no fault.
        """
        marks = {
            part: mark
            for part, mark in reached.marks.items()
            if state.is_same(part.source, reached.identity) and mark.offset < state.ends.get(part, 0)
        }
        epochs = {part: mark.epoch for part, mark in marks.items() if mark.epoch >= 0}
        tails: dict[Partition, Position | None] = {
            part: state.ends[part]
            for part, at in reached.positions.items()
            if state.is_same(part.source, reached.identity) and state.ends.get(part, at) < at
        }
        for part, (_, end) in self._source.cluster.epoch_ends(epochs).items():
            if 0 <= end <= marks[part].offset:
                tails[part] = end
        at = {part: mark.offset for part, mark in marks.items() if part not in tails}
        for part, mark in self.present_marks(state, at).items():
            if not mark.is_of(marks[part]):
                tails[part] = None
        return tails

    def present_marks(
        self, state: ClusterState, offsets: Mapping[Partition, Position]
    ) -> dict[Partition, Mark]:
        """Return the marks of the records at these offsets; those that expired or were compacted are left out."""
        wanted = {
            part: at
            for part, at in offsets.items()
            if state.beginnings.get(part, 0) <= at < state.ends.get(part, 0)
        }
        marks: dict[Partition, Mark] = {}
        if not wanted:
            return marks
        with self._open_reader() as reader:
            reader.assign(wanted)
            left = set(wanted)
            deadline = time.monotonic() + self._source.connection.seconds
            while left:
                try:
                    for message in reader.poll(POLL_LIMIT, POLL_SECONDS):
                        part = message.partition
                        if message.offset == wanted[part]:
                            marks[part] = mark_of(message)
                    done = {part for part in left if reader.position(part) > wanted[part]}
                    left -= done
                    if done and left:
                        reader.pause(done)
                except Interrupted as error:
                    logger.debug("the record before a position is not read yet: %s", error)
                    time.sleep(POLL_SECONDS)
                if left and time.monotonic() > deadline:
                    raise BrokerAway(
                        f"Kafka at {self._source.connection} sent no record of {sorted(left)} in "
                        f"{self._source.connection.seconds:g} seconds; check its brokers"
                    )
        return marks
