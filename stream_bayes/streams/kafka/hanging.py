"""Ending what a transaction left open in its partitions, though the cluster takes it for ended.

A broker that was killed as it decided a transaction may take it, once it is back, for one whose partitions know it.
Nobody can read past its records then, and whatever ends the next transaction of the same id ends this one too: results
that were sent again because nobody could read them would then count twice. So it is ended first, and none of it counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from stream_bayes.core.event import Partition
from stream_bayes.streams.kafka.cluster import Cluster
from stream_bayes.streams.kafka.transport import Interrupted, Writer

__all__ = ["end_what_hangs"]

logger = logging.getLogger(__name__)

LOOKS = 40
PAUSE = 0.05  # between two looks


def end_what_hangs(
    cluster: Cluster,
    writer: Writer,
    journal: Partition,
    outputs: Sequence[Partition],
    group: str,
    sleep: Callable[[float], None],
) -> None:
    """Let no transaction be open in a journal, nor in what is written with it.

    Parameters
    ----------
    cluster
        Where.
    writer
        What has just fenced all others, so that whatever is open has been left by them.
    journal
        What nobody else writes to: it tells whether something is open.
    outputs, group
        What else their transactions may have written to.
    sleep
        Waiting.

    Raises
    ------
    Interrupted
        If something is open still.
    """
    if not _hangs(cluster, journal, sleep):
        return
    logger.warning(
        "a transaction of %s was left open by the cluster; it is ended, and counts for nothing", group
    )
    writer.begin()
    writer.send_all([(*partition, None, b"", []) for partition in (journal, *outputs)])
    writer.offsets(group, {journal: 0})
    writer.flush()  # a partition that nothing has come to is not told of the end
    writer.abort()
    if _hangs(cluster, journal, sleep):
        raise Interrupted(f"a transaction is left open in {journal.source}")


def _hangs(cluster: Cluster, journal: Partition, sleep: Callable[[float], None]) -> bool:
    """Whether there are records in a journal that nobody can read, and that stay so."""
    for look in range(LOOKS):
        if look:
            sleep(PAUSE)
        if cluster.ends([journal]) == cluster.lengths([journal]):
            return False
    return True
