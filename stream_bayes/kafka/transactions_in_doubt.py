"""Transactions in doubt: decided, according to the cluster, but still open in their partitions.

If a broker is killed while it decides a transaction, the cluster may later report the transaction as complete in all
partitions although it is still open in some. Kafka's tools call such a transaction hanging. Consumers cannot read past
its records. And the next transaction of the same id would end it, too, with its own outcome: results that were sent
again would count twice, or committed results would be lost with a transaction that fails. So it is ended as it was
decided, before anything else is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from stream_bayes.core.events.event import Partition
from stream_bayes.kafka.clients.kafka_python import PythonWriter
from stream_bayes.kafka.cluster import Cluster

__all__ = ["end_in_doubt", "is_in_doubt"]

logger = logging.getLogger(__name__)

CHECKS = 40
CHECK_PAUSE = 0.05  # seconds between two checks


def is_in_doubt(cluster: Cluster, journal: Partition, sleep: Callable[[float], None]) -> bool:
    """Return True if a journal holds unreadable records, and they stay unreadable.

    Call it after fencing: then no other worker writes to the journal, and what is open was left open.
    """
    for check in range(CHECKS):
        if check:
            sleep(CHECK_PAUSE)
        if cluster.end_offsets([journal]) == cluster.high_watermarks([journal]):
            return False
    return True


def end_in_doubt(
    make_writer: Callable[[], PythonWriter], partitions: Sequence[Partition], group: str, committed: bool
) -> None:
    """End a transaction in doubt in all partitions that it may have written to, by an empty one of its id.

    `make_writer` makes one with the transactional id, of the client that can end a transaction without records. The
    transaction may have written to `partitions`, and offsets of the consumer group `group`. `committed` is the
    decision.

    Raises
    ------
    Interrupted
        If the transaction could not be ended.
    """
    decided = "committed" if committed else "aborted"
    logger.warning("a transaction of %s was left open by the cluster; it is ended, as %s", group, decided)
    writer = make_writer()
    try:
        writer.fence()
        writer.begin()
        writer.add_partitions(partitions, group)
        if committed:
            writer.commit()
        else:
            writer.abort()
    finally:
        writer.close()
