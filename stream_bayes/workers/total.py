"""The sum of all shards: the model from which every worker predicts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from stream_bayes.errors import BadState
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.learners.classifiers.live_choice import LiveChoice
from stream_bayes.streams.served_models.answers import LabelProbabilities
from stream_bayes.streams.served_models.learner import ServedLearner, settings_of
from stream_bayes.streams.served_models.regressor import ServedRegressor
from stream_bayes.workers.state_parts import joined
from stream_bayes.workers.sum_memory import check_budget
from stream_bayes.workers.sum_updates import SumUpdates
from stream_bayes.workers.summable import SummedLearner

__all__ = ["Total", "summed"]

L = TypeVar("L", bound=CountLearner)


def summed(empty: L, shards: Mapping[int, L]) -> L:
    """Return the sum of learners: what one learner would hold that had learned the samples of all.

    It is taken in the order of the shards' numbers, so equal shards make equal sums, bit by bit. What is derived from
    counts is derived from the sum. `empty`, of the same class and arguments, and `shards`, by number, stay unchanged.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> one, other = NaiveBayes(), NaiveBayes()
    >>> one.learn_one({"sky": "grey"}, "rain")
    >>> other.learn_one({"sky": "blue"}, "sun", 2.0)
    >>> summed(NaiveBayes(), {0: one, 1: other}).store.by_name()["sky", "blue", "sun"]
    2.0
    """
    total: L = empty.clone()
    for _, learner in sorted(shards.items()):
        total.merge(learner)
    if isinstance(total, BayesClassifier):
        total.rederive()
    return total


class Total:
    """The sum of the shards of a worker, which learn, and of the others, as they were last published.

    A sample of an own shard is added at once. When other shards were published, the sum is taken again over all; so no
    difference is ever added up, and no rounding either.

    `empty` has no counts. `decide` and `max_names` are as `ServedLearner` takes them, `level` as `ServedRegressor`
    does. `memory_budget` is the most bytes of the counts of all shards and their sum, checked when
    the sum is taken; None: no limit.

    Attributes
    ----------
    served
        The sum, as the engine serves it.
    lock
        Held while the sum or a shard changes: a worker's shards share it.
    """

    def __init__(
        self,
        empty: SummedLearner,
        decide: Callable[[LabelProbabilities], Any] | None = None,
        max_names: int | None = None,
        memory_budget: int | None = None,
        level: float | None = None,
    ) -> None:

        def serve(learner: SummedLearner) -> ServedLearner:
            if isinstance(learner, BayesClassifier):
                return ServedLearner(learner, decide, max_names)
            return ServedRegressor(learner, level, None, max_names)

        self._serve = serve
        self.served: Any = self._serve(empty.clone())
        self.lock = threading.RLock()
        self._empty = empty
        self._memory_budget = memory_budget
        self._shards: dict[int, SummedLearner] = {}
        self._updates: SumUpdates[SummedLearner] = SumUpdates(self.lock, self._replace)

    def replace(self, shards: Mapping[int, SummedLearner]) -> None:
        """Replace these shards, and take the sum again: once for all that come at a time.

        Raises
        ------
        BudgetExceeded
            If these take more memory than the budget. Nothing has changed then.
        """
        self._updates.replace(shards)

    def _replace(self, shards: dict[int, SummedLearner]) -> None:
        replaced = self._shards | shards
        model = summed(self._empty, replaced)
        size = model.memory_bytes + sum(learner.memory_bytes for learner in replaced.values())
        features = model.store.encoder.nominal
        sizes = ((str(feature.name), len(feature.vocabulary)) for feature in features)
        check_budget(self._memory_budget, size, len(replaced), sizes)
        self._shards = replaced
        if isinstance(model, LiveChoice) and isinstance(self.model, LiveChoice):
            _keep_leader(self.model, model)
        self.served = self._serve(model)

    def clone(self) -> SummedLearner:
        """Return a learner without counts."""
        return self._empty.clone()

    def loaded(self, shard: int, parts: Mapping[str, bytes]) -> SummedLearner:
        """Return the learner of a publication, with everything checked.

        Raises
        ------
        BadState
            If it is not valid, or of a learner with other arguments.
        """
        learner = type(self._empty).from_state(joined(parts))
        mine, other = settings_of(self._empty)["parameters"], settings_of(learner)["parameters"]
        changed = [
            f"{name}={other[name]!r}, not {mine[name]!r}" for name in mine if mine[name] != other[name]
        ]
        if changed:
            raise BadState(f"shard {shard} is of other arguments: {', '.join(changed)}")
        return learner

    @property
    def model(self) -> Any:
        """The sum."""
        return self.served.model

    @property
    def shards(self) -> Mapping[int, SummedLearner]:
        """The learner of each shard. An own one goes on learning; see `lock`."""
        return self._shards

    @property
    def memory_bytes(self) -> int:
        """The bytes of the sum and of all shards; the names themselves are not counted."""
        with self.lock:
            size: int = self.model.memory_bytes
            return size + sum(learner.memory_bytes for learner in self._shards.values())


def _keep_leader(old: LiveChoice, new: LiveChoice) -> None:
    """Keep the losses of the readings: they belong to predictions, and no count holds them."""
    before, after = old.reading, new.reading
    after.loss = np.array(before.loss)
    after.leader, after.since = before.leader, min(before.since, int(new.clock))
