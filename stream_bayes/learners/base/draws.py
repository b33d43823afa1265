"""Classifiers whose tables are drawn from a posterior, and outcomes drawn by them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy  # its submodules load on first use

from stream_bayes.core.draws.drawn_tables import CountedTables, DrawnTables, chosen, log_terms
from stream_bayes.core.encoding._bins import Bins
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadLabel, BadValue, NotSupported, UnknownFeature
from stream_bayes.learners.base.class_probabilities import most_probable

__all__ = [
    "DrawnClassifier",
    "DrawnFactors",
    "HasNoDraws",
    "checked_rng",
    "drawn_given",
    "generator_of",
    "shares_of",
]

X = Mapping[Any, Any]


class HasNoDraws:
    """A learner whose tables cannot be drawn."""

    why_no_draws: ClassVar[str] = (
        "it mixes the answers of several models, P(y | x), and has no P(x, y) of its own to weigh draws by; draw from "
        "one of them, such as NaiveBayes or AODE"
    )

    def draw(self, rng: np.random.Generator) -> DrawnClassifier:
        """Raise `NotSupported`: a mixture of answers has no tables to draw."""
        raise self._no_draws()

    def simulate_one(self, x: X, n: int, rng: np.random.Generator) -> list[Any]:
        """Raise `NotSupported`: a mixture of answers has no tables to draw."""
        raise self._no_draws()

    def _no_draws(self) -> NotSupported:
        return NotSupported(f"{type(self).__name__} has no draws: {self.why_no_draws}")


class DrawnClassifier(ABC):
    """A classifier with tables drawn from a learner's posterior: what the truth may be, given the events so far.

    `draw(rng)` of a learner makes it. It stays as it is when the learner learns more.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> for number in range(12):
    ...     model.learn_one({"sky": "grey" if number % 4 else "blue"}, "rain" if number % 3 else "dry")
    >>> rng = np.random.default_rng(0)
    >>> draws = [model.draw(rng) for _ in range(200)]
    >>> weights = [np.exp(list(draw.joint_log_likelihood({"sky": "grey"}).values())).sum() for draw in draws]
    >>> answers = [draw.predict_proba_one({"sky": "grey"})["rain"] for draw in draws]
    >>> answer = model.predict_proba_one({"sky": "grey"})["rain"]
    >>> round(float(np.average(answers, weights=weights)), 1), round(answer, 1)
    (0.7, 0.7)
    """

    def __init__(self, encoder: Any, labels: Sequence[Any], target: Any) -> None:
        self._encoder = encoder
        self._bins = None if encoder.bins is None else bins_like(encoder.bins)
        self._labels = list(labels)
        self._target = target

    @property
    def classes_(self) -> tuple[Any, ...]:
        """The classes."""
        return tuple(self._labels)

    @property
    @abstractmethod
    def class_prior_(self) -> dict[Any, float]:
        """P(y) of each class."""

    def joint_log_likelihood(self, x: X) -> dict[Any, float]:
        """Return log P(y, x) of each class; minus infinity where the drawn tables leave it too small for a double."""
        return dict(zip(self._labels, self._joint(x).tolist(), strict=True))

    def predict_proba_one(self, x: X) -> dict[Any, float]:
        """Return P(y | x) of each class."""
        joint = self._joint(x) if self._labels else np.zeros(0)
        if not np.isfinite(joint).any():
            return self.class_prior_
        return dict(zip(self._labels, shares_of(joint).tolist(), strict=True))

    def predict_one(self, x: X) -> Any:
        """Return the most probable class; of equal ones the first by name."""
        return most_probable(self.predict_proba_one(x))

    def conditional(self, feature: Any, given: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the drawn table of P(feature | class): `{value: probability}`, or `{"mean": m, "sd": s}` of a number.

        `given` is the class, under the schema's `target` (`"class"` without a schema): `{"class": "yes"}`.
        """
        if feature not in self._encoder.features:
            raise UnknownFeature(
                f"no feature {feature!r} is known; there are {list(self._encoder.features)!r}"
            )
        if set(given) != {self._target}:
            raise BadValue(f"given is the class alone, {{{self._target!r}: label}}, not {shown(dict(given))}")
        label = given[self._target]
        if label not in self._labels:
            raise BadLabel(f"the classes are {shown(self.classes_)}, not {shown(label)}")
        return self._table(feature, label)

    @abstractmethod
    def _table(self, feature: Any, label: Any) -> dict[Any, float]:
        """Return P(feature | class)."""

    @abstractmethod
    def _joint(self, x: X) -> Any:
        """Return log P(x, y) of each class."""

    def _row(self, x: X) -> Any:
        """Return an event as a row, its numbers in the bins as these were when the tables were drawn."""
        bins = self._encoder.bins
        self._encoder.bins = self._bins
        try:
            return self._encoder.lookup(x)
        finally:
            self._encoder.bins = bins


class DrawnFactors(DrawnClassifier):
    """A draw of a classifier whose P(x, y) is a mean of products of tables."""

    def __init__(self, encoder: Any, posterior: CountedTables, drawn: DrawnTables, target: Any) -> None:
        super().__init__(encoder, [encoder.labels.values[code] for code in posterior.live], target)
        self._posterior, self._drawn = posterior, drawn

    @property
    def class_prior_(self) -> dict[Any, float]:
        shares = np.exp(log_prior_of(self._posterior, self._drawn))
        return dict(zip(self._labels, shares.tolist(), strict=True))

    def _table(self, feature: Any, label: Any) -> dict[Any, float]:
        entry, y = self._encoder.features[feature], self._labels.index(label)
        if entry.numeric:
            assert self._drawn.numbers is not None
            mean, variance = self._drawn.numbers.moments(entry.slot, y)
            return {"mean": mean, "sd": math.sqrt(variance)}
        logs = self._drawn.log_shares(("alone", entry.slot))[:, y]
        values = entry.vocabulary.values[: len(logs)]
        occupied = self._posterior.occupied[self._posterior.slots(entry.slot)]
        return {
            value: float(np.exp(log))
            for value, log, is_there in zip(values, logs, occupied, strict=True)
            if is_there
        }

    def _joint(self, x: X) -> Any:
        row = self._row(x)
        terms = self._posterior.terms(row)
        joint = scipy.special.logsumexp(log_terms(terms, self._drawn, row), axis=0)
        if np.isfinite(joint).any() or np.isfinite(log_terms(terms, self._posterior, row)).any():
            return joint
        return log_prior_of(
            self._posterior, self._drawn
        )  # as the learner answers what its counts call impossible


def generator_of(seed: int, number: int) -> np.random.Generator:
    """Return a source of randomness that is made fast from two numbers."""
    return np.random.Generator(np.random.Philox(key=np.array([seed, number], np.uint64)))


def bins_like(bins: Bins) -> Bins:
    """Return a copy of bins."""
    copy = Bins(bins.most)
    copy.set({slot: (cuts, bins.edges[slot]) for slot, cuts in bins.cuts.items()})
    return copy


def log_prior_of(posterior: CountedTables, tables: Any) -> Any:
    """Return log P(y) of each class."""
    factors, certain = posterior.prior_factors()
    return tables.log_shares(factors[0].tables[0][1])[0] if factors else certain


def shares_of(logs: Any) -> Any:
    """Return logarithms as shares that sum to 1."""
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def checked_rng(rng: object) -> np.random.Generator:
    """Return a source of randomness; refuse what is none."""
    if not isinstance(rng, np.random.Generator):
        raise BadValue(f"rng must be a numpy Generator, as np.random.default_rng(0), not {shown(rng)}")
    return rng


def drawn_given(learner: Any, x: X, rng: np.random.Generator) -> DrawnFactors:
    """Return a classifier with tables drawn given the counts and x."""
    posterior = learner.counted_tables()
    encoder = learner.store.encoder
    if not posterior.live:
        raise NotSupported(
            f"the {type(learner).__name__} has learned no event: there is nothing to draw from"
        )
    row = encoder.lookup(x)
    terms = posterior.terms(row)
    logs = log_terms(terms, posterior, row)
    learned = None
    if np.isfinite(logs).any():
        term, y = divmod(chosen(shares_of(logs.reshape(-1)), rng), len(posterior.live))
        learned = terms[term], y, row
    drawn = DrawnTables(posterior, rng, generator_of, learned)
    return DrawnFactors(encoder, posterior, drawn, learner.target_name)
