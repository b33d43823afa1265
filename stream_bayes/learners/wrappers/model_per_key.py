"""A model for each value of a feature, such as each customer: its own events, with those of all as the prior."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.values.inputs import no_features
from stream_bayes.core.values.values import Value, canonical, is_missing, shown
from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, NotLearned, NotSupported
from stream_bayes.learners.base.arguments import (
    AroundLearner,
    ReadOnlyArguments,
    check_count,
    check_name,
    check_number,
)
from stream_bayes.learners.base.base import BayesClassifier, X, check_learner
from stream_bayes.learners.base.batches import row_count
from stream_bayes.learners.base.class_probabilities import labels_like, most_probable, probabilities_like
from stream_bayes.learners.base.credible_intervals import Intervals
from stream_bayes.learners.base.draws import HasNoDraws
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.learners.base.prior_tables import PriorTables
from stream_bayes.learners.base.samples import intervals_of_rows, rows_of, samples_of
from stream_bayes.learners.classifiers.naive_bayes import NaiveBayes

__all__ = ["ModelPerKey"]


class ModelPerKey(ReadOnlyArguments, AroundLearner, HasNoDraws, base.MiniBatchClassifier):
    """A model for each customer, machine or user: its own events, with the events of all keys as a prior.

    Each event is learned twice: by a learner of all keys, and by one of its key. A key's answer is that of its own
    counts and of those of all keys, which `add_prior` scales to at most `weight` events. So a new key begins as all
    keys are, later what all keys learn goes on to help it, and a key of many events goes its own way.

    Parameters
    ----------
    learner
        A learner of this package whose counts add up: one that has `add_prior`, cut points declared, and no
        `half_life`. It is the template, and learns nothing itself.
    key
        The feature that names the key. Its values are no evidence. An event without it is one of all keys.
    weight
        The most events that those of all keys count as. 0: each key by itself.
    max_keys
        The most keys with counts of their own. Past it, the one without an event for longest is dropped: its events
        stay in the counts of all keys, and cannot be unlearned any more.

    Notes
    -----
    Let n be the weight of all events, and s the smaller of 1 and weight / n. A key's answer is that of the learner with
    the counts s all + (1 - s) own, in which no event counts twice. With `weight` above n, that is the learner of all
    events; if one key has all the events, the learner of that key. The counts are sums: equal in any order of events,
    and after unlearning, exactly for whole weights.

    A prediction makes the sum anew: some 0.5 to 1.5 ms for narrow tables, and a pass over the counts of all keys.
    Memory: the learner's for all keys, and what each key's own events take.

    Examples
    --------
    >>> from stream_bayes import ModelPerKey, NaiveBayes
    >>> model = ModelPerKey(NaiveBayes(), key="user", weight=20)
    >>> for number in range(200):
    ...     model.learn_one({"user": f"u{number % 10}", "word": "win"}, "spam")
    ...     model.learn_one({"user": f"u{number % 10}", "word": "lunch"}, "ham")
    >>> for _ in range(10):
    ...     model.learn_one({"user": "ann", "word": "win"}, "ham")  # she wins often
    >>> [round(model.predict_proba_one({"user": user, "word": "win"})["spam"], 2) for user in ("ann", "u1", "new")]
    [0.48, 0.95, 0.88]
    """

    unlearns: ClassVar[bool] = True
    half_life = None
    why_no_draws: ClassVar[str] = (
        "each key has a model of its own; draw from one, as model.model_of(key).draw(rng)"
    )

    def __init__(
        self, learner: BayesClassifier, key: Any, weight: float = 100.0, max_keys: int = 10_000
    ) -> None:
        self.learner = learner
        self.key = key
        self.weight = weight
        self.max_keys = max_keys
        check_learner(learner)
        check_name("key", key)
        check_number("weight", weight)
        check_count("max_keys", max_keys)
        if key is None:
            raise BadValue("key must be a feature's name, whose value says which model an event belongs to")
        if learner.clock:
            raise BadValue(f"the {type(learner).__name__} has learned before; give a new one, and add_prior")
        fault = _why_counts_do_not_add_up(learner)
        if fault is not None:
            raise NotSupported(f"a {type(learner).__name__} is no model per key: {fault}")
        self._shared: BayesClassifier = learner.clone()
        self._own: dict[Value, BayesClassifier] = {}  # the key that learned last at the end

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused."""
        name, features = self._split(x)
        self._shared.learn_one(features, y, w)
        if name is not None:
            key_model = self._own.get(name) or self.learner.clone()
            key_model.learn_one(
                features, y, w
            )  # it has met less than the learner of all keys, and refuses no more
            self._own.pop(name, None)  # the key goes to the end
            self._own[name] = key_model
            while len(self._own) > self.max_keys:
                del self._own[next(iter(self._own))]

    def unlearn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Unlearn a sample, with the weight it was learned with. Raise `NotLearned` for a key without counts."""
        name, features = self._split(x)
        if name is not None:
            if name not in self._own:
                raise NotLearned(f"the key {shown(name)} has no counts: it learned nothing, or was dropped")
            self._own[name].unlearn_one(features, y, w)
        self._shared.unlearn_one(features, y, w)

    def add_prior(self, other: BayesClassifier | ModelPerKey | PriorTables, weight: float) -> Self:
        """Add the counts of another model to those of all keys, scaled to `weight` samples; a new key begins with them.

        Parameters
        ----------
        other
            A learner like `learner`, a model per key, of which the counts of all keys are taken, or `PriorTables`.
        weight
            The weight of all its events together, in fresh samples.
        """
        self._shared.add_prior(other.shared_ if isinstance(other, ModelPerKey) else other, weight)
        return self

    def learn_many(self, X: Native, y: Native = None, w: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order."""
        for sample in samples_of(self._shared, X, y, w):
            self.learn_one(*sample)

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0) -> dict[Any, float]:
        """Return the probabilities of a sample, then learn it."""
        answer = self.predict_proba_one(x)
        self.learn_one(x, y, w)
        return answer

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """Return P(y | x) of each class; empty before any learning."""
        model, features = self.answering(x)
        return model.predict_proba_one(features)

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """Return the most probable class; of equal ones the first by name; None before any learning."""
        return most_probable(self.predict_proba_one(x))

    def predict_proba_many(self, X: Native) -> Any:
        """Return the probabilities of many rows: a data frame for a data frame, a list of dicts for a list of dicts,
        `Probabilities` for `CodedColumns`.
        """
        return probabilities_like(X, self.class_probabilities(X), dict(enumerate(self.classes_)))

    def predict_many(self, X: Native) -> Any:
        """Return the most probable class of many rows: a series for a data frame, a list for anything else."""
        return labels_like(X, self.class_probabilities(X), self.classes_)

    def class_probabilities(self, X: Native) -> NDArray[np.float64]:
        """Return the probabilities of many rows, a column for each of `classes_`."""
        values = np.zeros((row_count(X), max(len(self.classes_), 1)))
        for row, x in enumerate(rows_of(X)):
            answer = self.predict_proba_one(x)
            values[row, : len(self.classes_)] = [answer.get(label, 0.0) for label in self.classes_]
        return values

    def predict_interval_one(self, x: X, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return the credible interval of each class's probability, as `BayesClassifier.predict_interval_one` does."""
        model, features = self.answering(x)
        return model.predict_interval_one(features, level)

    def predict_interval_many(self, X: Native, level: float = 0.95) -> Intervals:
        """Return the intervals of many rows: their lower and their upper ends."""
        return intervals_of_rows(self, X, level)

    def explain_one(self, x: X) -> Explanation:
        """Return the evidence of each feature for each class, in the model of the event's key."""
        model, features = self.answering(x)
        return model.explain_one(features)

    def joint_log_likelihood(self, x: X) -> dict[Any, float]:
        """Return log P(y, x) of each class in the model of the event's key; empty before any learning."""
        model, features = self.answering(x)
        return model.joint_log_likelihood(features)

    def simulate_one(self, x: X, n: int, rng: np.random.Generator) -> list[Any]:
        """Return the labels of `n` events with the features x, as `BayesClassifier.simulate_one` of the key's model."""
        model, features = self.answering(x)
        return model.simulate_one(features, n, rng)

    def model_of(self, name: Any) -> BayesClassifier:
        """Return a copy of a key's model as it is now: its posteriors, draws and tables. Of a new key, its prior."""
        model = self._sum_of(canonical(name, feature=self.key))
        return model.twin() if model is self._shared else model

    def answering(self, x: X) -> tuple[BayesClassifier, X]:
        """Return the model that answers an event, to look at, and the features that it sees."""
        name, features = self._split(x)
        return self._shared if name is None else self._sum_of(name), features

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def shared_(self) -> BayesClassifier:
        """The learner of the events of all keys."""
        return self._shared

    @property
    def keys_(self) -> tuple[Any, ...]:
        """The keys that have counts of their own, the one that learned last at the end."""
        return tuple(self._own)

    def has_learned(self, name: Any) -> bool:
        """Return True for a key that has counts of its own."""
        return canonical(name, feature=self.key) in self._own

    @property
    def classes_(self) -> tuple[Any, ...]:
        """The classes that were learned or declared, in the order in which they first came."""
        return self._shared.classes_

    @property
    def schema(self) -> Schema | None:
        """The schema of the learner."""
        return self.learner.schema

    @property
    def store(self) -> CountStore:
        """The counts of all keys."""
        return self._shared.store

    @property
    def clock(self) -> int:
        """The number of events that were learned."""
        return self._shared.clock

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables of all keys together and of each."""
        return self._shared.memory_bytes + sum(model.memory_bytes for model in self._own.values())

    def _split(self, x: X) -> tuple[Value | None, X]:
        """Return an event's key, None if it has none, and its other features."""
        if not isinstance(x, Mapping):
            raise no_features(x)
        value = x.get(self.key)
        features = {name: each for name, each in x.items() if name != self.key}
        return None if is_missing(value) else canonical(value, feature=self.key), features

    def _sum_of(self, name: Value) -> BayesClassifier:
        """Return a learner with the counts of a key, and with those of all keys at their weight."""
        everything = _events_of(self._shared)
        share = min(1.0, self.weight / everything) if everything else 1.0
        if share == 1.0:
            return self._shared
        model: BayesClassifier = self.learner.clone()
        if share:
            model.store.add_prior(self._shared.store, share * everything)
        key_model = self._own.get(name)
        if key_model is not None and (weight := _events_of(key_model)):
            model.store.add_prior(key_model.store, (1.0 - share) * weight)
        model.after_merge()
        model.rederive()
        return model

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": NaiveBayes(), "key": "x0"}


def _events_of(learner: BayesClassifier) -> float:
    """Return the weight of what a learner learned."""
    return math.fsum(learner.store.tables.class_weight)


def _why_counts_do_not_add_up(learner: BayesClassifier) -> str | None:
    """Return why a learner takes no prior that goes on to change, and how to mend it; None if it does."""
    traits = learner.traits
    if learner.half_life is not None:
        return "with half_life its events and those of all keys would fade at different rates; leave half_life out"
    if not traits.is_mergeable or traits.is_order_dependent:
        return "what it learns is no sum over its events; take nb, gaussian-nb, or a learner over pairs such as tan"
    if traits.learns_cut_points:
        return (
            "it sets cut points of numbers from its own first events, and keys would differ; declare them in a schema, "
            "Numeric(cuts=[...]), leave numbers out with binning=None, or take nb, which needs none"
        )
    return None
