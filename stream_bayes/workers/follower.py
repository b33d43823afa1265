"""Read-only copies of the model of a pipeline with shards, which follow its topic."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from stream_bayes.data.frames import Native
from stream_bayes.errors import BadState, BrokerError, NoSnapshot, NotSupported
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.streams.served_models.regressor import LEVEL
from stream_bayes.workers.product_totals import total_like
from stream_bayes.workers.replicas import Replicas
from stream_bayes.workers.shard_topics import present_topics
from stream_bayes.workers.state_parts import joined
from stream_bayes.workers.topic_reader import TopicReader
from stream_bayes.workers.total import Total

__all__ = ["Follower"]


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
            found = [assembly for assembly in reader.assemblies.values() if assembly.end is not None]
            if not found:
                raise NoSnapshot(
                    f"nothing was published in {topic!r} yet: start its workers, or wait until they have read records"
                )
            self._total = total_like(joined(found[0].parts), filter_key)
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
        answer: dict[Any, float] = model.predict_proba_one(x)
        return answer

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
