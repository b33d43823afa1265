"""The model that the workers of a pipeline publish, as the service follows it."""

from __future__ import annotations

from typing import Any

from stream_bayes.saving.model_snapshot import snapshot_of
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.workers.follower import Follower, follow

__all__ = ["FollowedTopic", "followed_topic"]


class FollowedTopic:
    """The model in the topic that a `Follower` reads."""

    token_key = None
    follows = "topic"

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self.name = follower.name
        self.path = f"{follower.name}.model"
        self._model: object = None
        self._number = 0

    def version(self) -> Any:
        model = self._follower.model
        if model is not self._model:
            self._model = model
            self._number += 1
        return self._number

    def read(self) -> Snapshot:
        model, events = self._follower.model, self._follower.events
        return snapshot_of(model, clock=events)

    def learner(self) -> None:
        return None

    def close(self) -> None:
        self._follower.close()


def followed_topic(model: str, servers: str | None, key: bytes | None) -> FollowedTopic | None:
    """Return the model of a pipeline file, or of a pipeline's name with its servers; None for anything else."""
    if servers is None and not model.endswith(".toml"):
        return None
    return FollowedTopic(follow(model, servers=servers, key=key))
