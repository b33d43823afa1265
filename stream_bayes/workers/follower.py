"""Followers: read-only copies of the model of a pipeline with shards, which read its topic."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stream_bayes.data.frames import Native
from stream_bayes.errors import BadState, BadValue, BrokerError, NoSnapshot, NotSupported
from stream_bayes.kafka.clients.connection import Connection, default_client
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.served_models.regressor import LEVEL
from stream_bayes.workers.product_totals import total_like
from stream_bayes.workers.replicas import Replicas
from stream_bayes.workers.shard_topics import present_topics
from stream_bayes.workers.state_parts import joined
from stream_bayes.workers.topic_reader import TopicReader
from stream_bayes.workers.total import Total

__all__ = ["Follower", "follow"]


class Follower:
    """The sum of all shards of a pipeline, as its workers publish it: it predicts and never learns.

    A thread reads the topic and updates the model. Predictions are those of the newest publications. `key` is the one
    under which its workers publish, if they sign; `filter_key` that of a spam filter's tokens, if they are hashed.

    Raises
    ------
    NoSnapshot
        If nothing was published yet.
    BrokerError
        If there is no such pipeline with [workers].
    BadState
        If what was published is not valid.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        key: bytes | None = None,
        filter_key: bytes | None = None,
    ) -> None:
        self.name = name
        cluster = Cluster(connection)
        try:
            topic = present_topics(cluster, name, key).model
            found_topics = cluster.topics([topic])
            if topic not in found_topics:
                raise BrokerError(
                    f"there is no topic {topic!r} at {connection}: no worker of a pipeline {name!r} with [workers] was "
                    "started there; correct the name or the servers, or start one"
                )
            shards = found_topics[topic].partitions
        finally:
            cluster.close()
        reader = TopicReader(connection, topic, range(shards), key)
        try:
            reader.read_to_end()
            assemblies = [assembly for assembly in reader.assemblies.values() if assembly.end is not None]
            if not assemblies:
                raise NoSnapshot(
                    f"nothing was published in {topic!r} yet: start its workers, or wait until they have read records"
                )
            self._total = total_like(joined(assemblies[0].parts), filter_key)
            self._reader = reader
            self._replicas = Replicas(reader, self._total)
            self._replicas.take_all()
        except BaseException:
            reader.close()
            raise
        self._replicas.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Follower({self.name!r})"

    @property
    def model(self) -> Any:
        """The sum as it is now: a learner, or a spam filter.

        A later publication makes another one, and leaves this one as it is.

        Raises
        ------
        BadState
            If the topic holds what the workers of this pipeline did not write; from then on nothing is followed.
        """
        if self._replicas.failure is not None:
            raise BadState(f"{self.name!r} is not followed any more: {self._replicas.failure}")
        return self._total.model

    @property
    def events(self) -> int:
        """Number of records in the model."""
        return sum(assembly.end.events for assembly in self._reader.assemblies.values() if assembly.end)

    @property
    def age(self) -> float:
        """Seconds since the shard that was published longest ago was published."""
        return self._replicas.oldest_age

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return P(y | x) of each class; for a spam filter, x is an event with its message, as in the topic."""
        model = self._model_of_classes()
        if not isinstance(self._total, Total):
            return dict(self._total.answer(x))
        return model.predict_proba_one(x)

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class, or the mean of a number; of a spam filter the verdict."""
        model = self.model
        if not isinstance(self._total, Total):
            return model.decide(self._total.answer(x))
        return model.predict_one(x)

    @property
    def predicts_numbers(self) -> bool:
        """True if labels are numbers."""
        return isinstance(self._total.model, BayesRegressor)

    def predict_interval_one(self, x: Any, level: float = LEVEL) -> Any:
        """Return the interval of a number, or of each class' probability, as the learner's `predict_interval_one`."""
        return self.model.predict_interval_one(x, level)

    def _model_of_classes(self) -> Any:
        if self.predicts_numbers:
            raise NotSupported(
                f"{self.name!r} predicts numbers, which have no probabilities: take predict_one and "
                "predict_interval_one"
            )
        return self.model

    def predict_proba_many(self, X: Native) -> Any:
        """Return the probabilities of many rows, as the learner's `predict_proba_many` does."""
        return self._model_of_classes().predict_proba_many(X)

    def predict_many(self, X: Native) -> Any:
        """Return the most probable class of many rows, or the mean of their numbers."""
        return self.model.predict_many(X)

    def close(self) -> None:
        """End the thread, and close the connections."""
        self._replicas.stop()


def follow(
    pipeline: str | os.PathLike[str],
    *,
    servers: str | Sequence[str] | None = None,
    client: str | None = None,
    key: bytes | None = None,
    filter_key: bytes | None = None,
) -> Follower:
    """Return a read-only model that follows the counts that the workers of a pipeline publish.

    It predicts in any process, so predictions scale out apart from learning. Close it, or use it in a `with` block.

    Parameters
    ----------
    pipeline
        The pipeline file (.toml), or the pipeline's name; then give its servers.
    servers
        The brokers, as `"host:port"` or a list.
    client
        `"confluent-kafka"` or `"kafka-python"`; by default the faster one that is installed.
    key
        The key under which the workers publish; a pipeline file has its own.
    filter_key
        The key of a spam filter's tokens, if they are hashed; a pipeline file has its own.

    Raises
    ------
    NoSnapshot
        If nothing was published yet.
    BrokerError
        If no broker answers, or the pipeline has no shards.

    Examples
    --------
    >>> from stream_bayes import streams
    >>> with streams.follow("weather", servers="localhost:9092") as model:    # doctest: +SKIP
    ...     model.predict_one({"sky": "grey"})
    """
    name = os.fspath(pipeline)
    if servers is not None:
        addresses = servers.split(",") if isinstance(servers, str) else servers
        return Follower(
            Connection(servers=tuple(addresses), client=client or default_client()), name, key, filter_key
        )
    if not name.endswith(".toml"):
        raise BadValue(
            f"servers: expected the brokers of the pipeline {name!r}, as servers='localhost:9092'; or give its "
            "pipeline file (.toml)"
        )
    config = load_config(Path(name))
    if config.kafka is None or config.workers is None:
        raise BadValue(f"{name}: expected a pipeline with [workers], whose counts are published")
    table_key = config.workers.key
    of_tokens = config.model.key
    return Follower(
        config.kafka.connection(),
        config.name,
        key or (table_key and table_key.get_secret_value().encode()) or None,
        filter_key or (of_tokens and of_tokens.get_secret_value().encode()) or None,
    )
