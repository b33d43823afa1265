"""Ending what a transaction left open in its partitions, though the cluster takes it for ended.

A broker that was killed as it decided a transaction may take it, once it is back, for one whose partitions know it.
Nobody can read past its records then, and whatever ends the next transaction of the same id ends this one too: results
that were sent again because nobody could read them would then count twice, and with one that fails, those that were
committed would be lost. So it is ended as it was decided, before anything is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from stream_bayes.core.event import Partition
from stream_bayes.streams.kafka.cluster import Cluster
from stream_bayes.streams.kafka.python_client import PythonWriter

__all__ = ["end_what_hangs", "hangs"]

logger = logging.getLogger(__name__)

LOOKS = 40
PAUSE = 0.05  # between two looks


def hangs(cluster: Cluster, journal: Partition, sleep: Callable[[float], None]) -> bool:
    """Whether there are records in a journal that nobody can read, and that stay so.

    Nobody else writes to a journal: once all others were fenced, whatever is open has been left by them.
    """
    for look in range(LOOKS):
        if look:
            sleep(PAUSE)
        if cluster.ends([journal]) == cluster.lengths([journal]):
            return False
    return True


def end_what_hangs(
    make_writer: Callable[[], PythonWriter], partitions: Sequence[Partition], group: str, committed: bool
) -> None:
    """End it in all partitions that it may have written to, with nothing written to them.

    Parameters
    ----------
    make_writer
        Makes a writer of the transactions' id: of the client that can end one in which nothing was written.
    partitions, group
        Where.
    committed
        What was decided.

    Raises
    ------
    Interrupted
        If that did not take place.
    """
    decided = "committed" if committed else "aborted"
    logger.warning("a transaction of %s was left open by the cluster; it is ended, as %s", group, decided)
    writer = make_writer()
    try:
        writer.fence()
        writer.begin()
        writer.join(partitions, group)
        if committed:
            writer.commit()
        else:
            writer.abort()
    finally:
        writer.close()
