"""All calls to inner parts of kafka-python, which are faster than its public methods, or end where these wait for ever.

    KafkaProducer._accumulator.append, ._sender.wakeup, .force_close and .join, ._closed
    KafkaProducer._transaction_manager: maybe_add_partition_to_transaction, send_offsets_to_transaction, begin_commit,
        begin_abort
    KafkaConsumer._fetcher._next_partition_records
    KafkaConsumer._coordinator.rejoining, .request_rejoin
    KafkaAdminClient._manager.run and .send, ._async_get_leader_for_partitions, and OffsetForLeaderEpochRequest
    KafkaNetClient, its ._net.stop and ._net.close, its .cluster.config

They are called where the installed version has been tried with them. With another version `kafka_python.py` uses public
methods, in which each record of an output takes longer. To try a version, run tests/kafka and tests/kafka_broker with
it, and add it to `TRIED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from kafka import TopicPartition
from kafka import errors as kafka_errors

from stream_bayes.core.events.event import Position
from stream_bayes.kafka.clients.client import Send
from stream_bayes.kafka.clients.time_limits import CLOSE_SECONDS

__all__ = ["NetworkParts", "ProducerParts", "are_tried", "drop_exhausted", "fetch_epoch_ends", "finish_join"]

TRIED = ("3.0",)


def are_tried() -> bool:
    """Return True if the inner parts of the installed version may be called."""
    return version("kafka-python").rpartition(".")[0] in TRIED


class NetworkParts:
    """The network of a client that is being made: `settings` go to it, and `stop` ends what it leaves behind."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self.settings = {"kafka_client": self._make}

    def _make(self, **settings: Any) -> Any:
        from kafka.net.compat import KafkaNetClient

        part = KafkaNetClient(**settings)
        # The client accepts this setting and does not pass it on.
        part.cluster.config["allow_auto_create_topics"] = False
        self._parts.append(part)
        return part

    def stop(self) -> None:
        """End its threads, which go on trying to connect."""
        for part in self._parts:
            part._net.stop(1000 * CLOSE_SECONDS)
            with suppress(Exception):  # if it did not stop in time; the first error is the one to raise
                part._net.close()


def drop_exhausted(consumer: Any) -> None:
    """Drop a consumer's present portion if nothing is left of it.

    What the client had fetched of a resumed partition takes the place of that portion only if there is none. If no
    other partition has records, it would stay aside for ever.
    """
    fetcher = consumer._fetcher
    if not fetcher._next_partition_records:
        fetcher._next_partition_records = None


def finish_join(consumer: Any) -> None:
    """Let a consumer's next poll finish a join that an earlier poll began.

    A join outlasts a short poll. Meanwhile the reason for it may be gone, as when the partitions that the client has
    learned of are those that it assigns as leader. No poll would then take the answer, and without heartbeats, which
    stop for the time of a join, the member drops out of its group for good.
    """
    coordinator = consumer._coordinator
    if coordinator.rejoining:
        coordinator.request_rejoin()


class ProducerParts:
    """The steps of a producer by its inner parts. Those of a transaction take at most so many seconds."""

    def __init__(self, producer: Any, seconds: float) -> None:
        self._producer = producer
        self._seconds = seconds

    def send_all(self, sends: Iterable[Send], join: Callable[[str, int], Any]) -> list[Any]:
        """Write records in order; `join` returns the partition of a topic, which is then in the transaction.

        The client's own `send` checks sizes and partitions again for every record, and after a full batch wakes its
        thread for each, which takes longer than everything else.
        """
        append, wake = self._producer._accumulator.append, self._producer._sender.wakeup
        partitions: dict[tuple[str, int], Any] = {}
        futures = []
        for topic, number, key, value, headers in sends:
            partition = partitions.get((topic, number))
            if partition is None:
                partition = partitions[topic, number] = join(topic, number)
            future, _, is_first, _ = append(partition, None, key, value, headers)
            if is_first:  # of its batch: the previous batch is full
                wake()
            futures.append(future)
        return futures

    @property
    def _transaction(self) -> Any:
        return self._producer._transaction_manager

    def join(self, partition: Any) -> None:
        """Add a partition to the transaction without writing to it."""
        self._transaction.maybe_add_partition_to_transaction(partition)

    def send_offsets(self, offsets: Mapping[Any, Any], group: str) -> None:
        """Add a group's offsets to the transaction."""
        self._await(self._transaction.send_offsets_to_transaction(offsets, group))

    def commit(self) -> None:
        """Commit the transaction."""
        self._await(self._transaction.begin_commit())

    def abort(self) -> None:
        """Abort the transaction."""
        self._await(self._transaction.begin_abort())

    def _await(self, result: Any) -> None:
        """Wait for an answer: the client's own methods wait for ever if no broker answers."""
        self._producer._sender.wakeup()
        if not result.wait(1000 * self._seconds):
            raise kafka_errors.KafkaTimeoutError(f"no answer in {self._seconds:g} seconds")

    def close(self) -> None:
        """End the thread: `close` alone leaves it running while there is something to send."""
        try:
            self._producer._sender.force_close()
            self._producer._sender.join(CLOSE_SECONDS)
            self._producer.close(timeout=0)
        finally:
            self._producer._closed = True  # else its `__del__` waits for what was not sent


def fetch_epoch_ends(admin: Any, wanted: Mapping[Any, int]) -> dict[Any, tuple[int, Position]]:
    """Return the end of an epoch of each partition; those with an error that stays are left out."""
    return admin._manager.run(_fetch_epoch_ends, admin, wanted)


async def _fetch_epoch_ends(admin: Any, wanted: Mapping[Any, int]) -> dict[Any, tuple[int, Position]]:
    from kafka.protocol.consumer import OffsetForLeaderEpochRequest

    ends: dict[Any, tuple[int, Position]] = {}
    leaders = await admin._async_get_leader_for_partitions(set(wanted))
    for leader, partitions in leaders.items():
        by_topic: dict[str, list[Any]] = {}
        for partition in partitions:
            asked = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition(
                partition=partition.partition, current_leader_epoch=-1, leader_epoch=wanted[partition]
            )
            by_topic.setdefault(partition.topic, []).append(asked)
        request = OffsetForLeaderEpochRequest(replica_id=-1, topics=list(by_topic.items()))
        response = await admin._manager.send(request, node_id=leader)
        for topic in response.topics:
            for answer in topic.partitions:
                fault = kafka_errors.for_code(answer.error_code)
                if fault is kafka_errors.NoError:
                    end = (answer.leader_epoch, answer.end_offset)
                    ends[TopicPartition(topic.topic, answer.partition)] = end
                elif fault.retriable:
                    raise fault()
    return ends
