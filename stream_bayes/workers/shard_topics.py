"""The topics of a pipeline with [workers], which have a partition for each shard.

    generation 1    NAME.journal      NAME.model      NAME.state
    generation 2    NAME.journal.2    NAME.model.2    NAME.state.2      after a rescale

A rescale writes the states of the new shards into topics of a further generation. In the same transaction every
partition of the older `model` and `state` gets a last record, which names that generation. So a pipeline is of one
generation or of the next, and readers of an older one are refused.
"""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.errors import BadState, BrokerError
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.workers.topic_reader import TopicReader

__all__ = ["ShardTopics", "present_topics", "rescale_id", "shard_id"]


class ShardTopics(NamedTuple):
    """The topics of a pipeline's shards.

    Examples
    --------
    >>> ShardTopics("days").journal, ShardTopics("days", 2).model
    ('days.journal', 'days.model.2')
    """

    pipeline: str
    generation: int = 1  # 1, and one more after each rescale

    @property
    def journal(self) -> str:
        """The topic of the journal."""
        return self._topic("journal")

    @property
    def model(self) -> str:
        """The compacted topic of the counts."""
        return self._topic("model")

    @property
    def state(self) -> str:
        """The compacted topic of the snapshots."""
        return self._topic("state")

    @property
    def names(self) -> tuple[str, str, str]:
        """All three."""
        return (self.journal, self.model, self.state)

    def _topic(self, kind: str) -> str:
        return f"{self.pipeline}.{kind}" + ("" if self.generation == 1 else f".{self.generation}")


def shard_id(pipeline: str, shard: int) -> str:
    """Return the transactional id of a shard."""
    return f"{pipeline}.shard-{shard}"


def rescale_id(pipeline: str) -> str:
    """Return the transactional id of a rescale."""
    return f"{pipeline}.rescale"


def present_topics(cluster: Cluster, pipeline: str, key: bytes | None) -> ShardTopics:
    """Return the newest topics of a pipeline; the first ones if it was never rescaled, or never started.

    Raises
    ------
    BrokerError
        If topics of it were deleted.
    BadState
        If another program wrote to its topics.
    """
    topics = ShardTopics(pipeline)
    while True:
        later = ShardTopics(pipeline, topics.generation + 1)
        exists = cluster.topics([topics.model, later.model])
        if topics.model not in exists:
            if topics.generation == 1 and later.model not in exists:
                return topics
            raise BrokerError(
                f"topic {topics.model!r} does not exist at {cluster.connection}, and {later.model!r} or an earlier one "
                f"does: {pipeline!r} was rescaled, and which of its topics are the present ones is not known. Restore "
                "it, or give the pipeline another name to begin anew"
            )
        reader = TopicReader(cluster.connection, topics.model, [0], key, cluster=cluster)
        try:
            moved = reader.newest_move(0)
        finally:
            reader.close()
        if moved is None:
            return topics
        if moved.generation <= topics.generation:
            raise BadState(
                f"topic {topics.model!r} says that its pipeline moved to generation {moved.generation}"
            )
        topics = ShardTopics(pipeline, moved.generation)
