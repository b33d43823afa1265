"""A choice of half-life: one learner with several, of which the best answers, or all of them by weight."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_bayes.core.counts.store import CountStore
from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import AroundLearner, ReadOnlyArguments, check_choice, check_number
from stream_bayes.learners.base.base import BayesClassifier, X, check_learner
from stream_bayes.learners.base.class_probabilities import (
    labels_like,
    log_loss,
    most_probable,
    probabilities_like,
)
from stream_bayes.learners.base.credible_intervals import Intervals, ends_by_label
from stream_bayes.learners.base.draws import HasNoDraws
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.learners.base.samples import intervals_of_rows, samples_of
from stream_bayes.learners.classifiers.naive_bayes import NaiveBayes

__all__ = ["HalfLifeChoice", "HalfLifeLeader", "OfHalfLives"]

L = TypeVar("L", bound=Any)  # a classifier or a regressor


class HalfLifeLeader(NamedTuple):
    """The half-life that answers, and the event since which it does."""

    half_life: float | None
    since: int


def check_half_lives(half_lives: Any) -> None:
    """Raise `BadValue` for anything but a list of numbers of events above 0, or None, each once."""
    if (
        not isinstance(half_lives, (list, tuple))
        or not half_lives
        or any(half_lives.index(one) < number for number, one in enumerate(half_lives))
    ):
        raise BadValue(
            f"half_lives must be a list of numbers of events, or None, each once, not {half_lives!r}"
        )
    for half_life in half_lives:
        if half_life is not None:
            check_number("half_lives", half_life, above=True)


class OfHalfLives(Generic[L]):
    """A learner around its members, copies of one template with a half-life each; the one with the least loss leads."""

    learner: L
    half_lives: Sequence[float | None]
    loss_half_life: float

    def _make_members(self) -> None:
        """Check the arguments, and make the members, with no loss yet."""
        if self.learner.half_life is not None:
            raise BadValue("the learner must have no half_life of its own; half_lives are its half-lives")
        check_half_lives(self.half_lives)
        check_number("loss_half_life", self.loss_half_life, above=True)
        self._members: list[L] = [
            self.learner.clone({"half_life": half_life}) for half_life in self.half_lives
        ]
        self._losses = [0.0] * len(self._members)
        self._leader = self._since = 0

    def _order_of_learning(self) -> list[int]:
        """Return the order in which the members learn a sample: first those that fade, as they need more memory. All
        refuse the same samples, so the first one refuses before any has learned.
        """
        return sorted(range(len(self._members)), key=lambda number: self.half_lives[number] is None)

    def _add_losses(self, losses: Iterable[float]) -> None:
        """Add the loss of each member at an event that all have learned."""
        left = 2.0 ** (-1.0 / self.loss_half_life)
        self._losses = [loss * left + new for loss, new in zip(self._losses, losses, strict=True)]

    def _choose_leader(self) -> None:
        best = min(range(len(self._losses)), key=self._losses.__getitem__)
        if best != self._leader:
            self._leader, self._since = best, self.clock

    @property
    def members(self) -> Sequence[L]:
        """The learners, in the order of the half-lives."""
        return self._members

    @property
    def leader_(self) -> HalfLifeLeader:
        """The half-life with the least loss, and the event since which it has led."""
        return HalfLifeLeader(self.half_lives[self._leader], self._since)

    @property
    def losses_(self) -> dict[float | None, float]:
        """The fading loss of each half-life, in nats; of regressors, above the best at each event."""
        return dict(zip(self.half_lives, self._losses, strict=True))

    @property
    def clock(self) -> int:
        """The number of events that were learned."""
        return int(self._members[0].clock)


class HalfLifeChoice(
    OfHalfLives[BayesClassifier], ReadOnlyArguments, AroundLearner, HasNoDraws, base.MiniBatchClassifier
):
    """A learner once for each of several half-lives; how fast to forget is chosen live by how well each predicts.

    Each event is predicted by all before they learn it, and minus the logarithm of what one gave the true class is
    added to its loss, which fades.

    Parameters
    ----------
    learner
        A learner of this package. It is the template of one for each half-life and learns nothing itself.
    half_lives
        The half-lives, in events; None forgets nothing. Of equal losses the first leads.
    combine
        `"best"`: the one with the least loss answers. `"mixture"`: all answer, weighted by exp(-rate * loss).
    loss_half_life
        The number of learned events after which a loss counts half.
    rate
        The rate at which a mixture turns to the one with the least loss, as in `LiveChoice`.

    Notes
    -----
    Promises: the same events from the same state give the same answers. Time and memory are those of as many learners.
    It cannot unlearn.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = HalfLifeChoice(NaiveBayes(), [None, 10.0])
    >>> for number in range(200):
    ...     model.learn_one({"light": "on"}, "day" if number < 150 else "night")
    >>> model.leader_.half_life, model.predict_one({"light": "on"})
    (10.0, 'night')
    """

    def __init__(
        self,
        learner: BayesClassifier,
        half_lives: Sequence[float | None] = (None, 10_000.0, 1_000.0),
        combine: str = "best",
        loss_half_life: float = 500.0,
        rate: float = 0.1,
    ) -> None:
        self.learner = learner
        self.half_lives = half_lives
        self.combine = combine
        self.loss_half_life = loss_half_life
        self.rate = rate
        check_learner(learner)
        check_choice("combine", combine, ("best", "mixture"))
        check_number("rate", rate, above=True)
        self._make_members()

    def learn_one(self, x: X, y: Any, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused."""
        self.predict_learn_one(x, y, w)

    def learn_many(self, X: Native, y: Native = None, w: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order: all of them, or none if one is refused."""
        for sample in samples_of(self._members[0], X, y, w):
            self.learn_one(*sample)

    def predict_learn_one(self, x: X, y: Any, w: float = 1.0) -> dict[Any, float]:
        """Return the probabilities of a sample, then learn it."""
        answers: list[dict[Any, float]] = [{}] * len(self._members)
        for number in self._order_of_learning():
            answers[number] = self._members[number].predict_learn_one(x, y, w)
        answer = self._combined(answers)
        self._add_losses([w * log_loss(chances, y) for chances in answers])
        self._choose_leader()
        return answer

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """Return P(y | x) of each class; empty before any learning."""
        if self.combine == "best":
            return self._members[self._leader].predict_proba_one(x)
        return self._combined([member.predict_proba_one(x) for member in self._members])

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """Return the most probable class; of equal ones the first by name; None before any learning."""
        return most_probable(self.predict_proba_one(x))

    def predict_proba_many(self, X: Native) -> Any:
        """Return the probabilities of many rows: a data frame for a data frame, a list of dicts for a list of dicts,
        `Probabilities` for `CodedColumns`.
        """
        if self.combine == "best":
            return self._members[self._leader].predict_proba_many(X)
        labels = self._members[0].store.encoder.labels.values
        live = {code: label for code, label in enumerate(labels) if label in self.classes_}
        return probabilities_like(X, self._mixed(X), live)

    def predict_many(self, X: Native) -> Any:
        """Return the most probable class of many rows: a series for a data frame, a list for anything else."""
        if self.combine == "best":
            return self._members[self._leader].predict_many(X)
        return labels_like(X, self._mixed(X), self._members[0].store.encoder.labels.values)

    def explain_one(self, x: X) -> Explanation:
        """Return the evidence of each feature for each class, in the learner of the half-life that leads.

        The answer of a mixture is that of all half-lives; `losses_` has their losses.
        """
        return self._members[self._leader].explain_one(x)

    def predict_interval_one(self, x: X, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return the credible interval of each class's probability, as `BayesClassifier.predict_interval_one` does.

        That of a mixture is the mixture of theirs, the weights of the half-lives held.
        """
        if self.combine == "best":
            return self._members[self._leader].predict_interval_one(x, level)
        parts = [member.predict_interval_one(x, level) for member in self._members]
        low, high = (self._combined([ends_by_label(part, end) for part in parts]) for end in (0, 1))
        return {label: (low[label], high[label]) for label in low}

    def predict_interval_many(self, X: Native, level: float = 0.95) -> Intervals:
        """Return the intervals of many rows: their lower and their upper ends."""
        if self.combine == "best":
            return self._members[self._leader].predict_interval_many(X, level)
        return intervals_of_rows(self, X, level)

    @property
    def classes_(self) -> tuple[Any, ...]:
        """The classes that were learned or declared, in the order in which they first came."""
        return self._members[0].classes_

    @property
    def schema(self) -> Schema | None:
        """The schema of the learner."""
        return self.learner.schema

    @property
    def store(self) -> CountStore:
        """The counts of the half-life that leads."""
        return self._members[self._leader].store

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables of all half-lives."""
        return sum(member.memory_bytes for member in self._members)

    def _mixed(self, X: Native) -> NDArray[np.float64]:
        """Return the mixture's probabilities of many rows, a column for each label's code; all have the same codes."""
        parts = [member.class_probabilities(X) for member in self._members]
        return np.minimum(np.tensordot(self._weights(), parts, axes=1), 1.0)

    def _weights(self) -> list[float]:
        """Return the weight of each half-life in the mixture; rounded, they add up to a little more or less than 1."""
        least = self._losses[self._leader]
        weights = [math.exp(self.rate * (least - loss)) for loss in self._losses]
        total = math.fsum(weights)
        return [weight / total for weight in weights]

    def _combined(self, answers: Sequence[dict[Any, float]]) -> dict[Any, float]:
        if self.combine == "best":
            return answers[self._leader]
        weights = self._weights()
        return {
            label: min(1.0, math.fsum(w * answer[label] for w, answer in zip(weights, answers, strict=True)))
            for label in answers[0]
        }

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": NaiveBayes(), "half_lives": (None, 50.0)}
