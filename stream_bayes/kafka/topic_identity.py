"""Identity of a cluster and its topics: a topic that was deleted and created again has its name, and another id."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from stream_bayes.errors import CannotResume, SourceError
from stream_bayes.kafka.offset_rules import ClusterState

__all__ = ["check_identity", "check_not_recreated"]


def check_identity(state: ClusterState, recorded: Mapping[str, Any], where: str) -> None:
    """Refuse another cluster, other topics, and topics that were recreated. `where` says in the error where the
    identity was recorded.
    """
    if not recorded:
        return
    cluster = state.identity["cluster"]
    if recorded["cluster"] != cluster:
        raise CannotResume(
            f"{where} is of Kafka cluster {recorded['cluster']}, and this one is {cluster}: positions of one mean "
            f"nothing in the other. Correct the servers' addresses, or {state.rebuild_remedy()}"
        )
    before, now = recorded["topics"], state.identity["topics"]
    if set(before) != set(now):
        raise CannotResume(
            f"{where} is of topics {sorted(before)}, and {state.pipeline!r} reads {sorted(now)}: give this pipeline "
            "another name, for the state under a name belongs to one pipeline"
        )
    for topic, identity in now.items():
        if before[topic] != identity:
            raise CannotResume(
                f"topic {topic!r} was deleted and recreated: its id in {where} is {before[topic]}, and now it is "
                f"{identity}. To begin again with its present records, {state.rebuild_remedy()}"
            )


def check_not_recreated(ids: MutableMapping[str, str], topic: str, present: str) -> None:
    """Remember the id of a topic seen for the first time, and refuse another one later.

    Examples
    --------
    >>> ids = {}
    >>> check_not_recreated(ids, "orders", "id-1")
    >>> check_not_recreated(ids, "orders", "id-2")
    Traceback (most recent call last):
    stream_bayes.errors.SourceError: topic 'orders' was deleted and recreated while it was read
    """
    if ids.setdefault(topic, present) != present:
        raise SourceError(f"topic {topic!r} was deleted and recreated while it was read")
