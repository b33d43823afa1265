"""What a classifier tells of itself: its classes and tables, why it answered as it did, and how sure that is."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.values.values import canonical_label, shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadLabel, BadValue, NotSupported
from stream_bayes.learners.classifier.explanation import Explanation
from stream_bayes.learners.classifier.intervals import (
    Cumulants,
    beta_interval,
    log_odds_interval,
    log_weight,
    logistic_interval,
)

__all__ = ["Telling"]

X = Mapping[Any, Any]


class Telling:
    """A classifier that is a store of counts and a reading of it."""

    additive: ClassVar[bool] = True  # log P(y, x) is a sum over features

    class_prior: Any  # "counted", "uniform" or {label: p}
    schema: Schema | None
    _store: CountStore
    _reading: Reading

    # -- what it tells by ---------------------------------------------------------------------------------------------

    @abstractmethod
    def joint_log_likelihood(self, x: X) -> dict[Any, float]:
        """Log P(y, x) of each class with weight, or declared; empty before any learning."""

    @abstractmethod
    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """P(y | x) of each class, empty before any learning."""

    def _log_odds(self, x: X) -> dict[Any, Cumulants] | None:
        """How the log-odds of each class are spread, for a model in which the classes are not independent."""
        return None

    def _log_joint_cumulants(self, x: X, codes: Mapping[Any, int]) -> dict[Any, Cumulants] | None:
        """How log P(x, label) of each class is spread, for a model where it is more than a prior and a likelihood."""
        return None

    def _log_likelihood_cumulants(self, x: X, label: int) -> Cumulants:
        """How log P(x | label), for a label's code, is spread under the posterior of the counts."""
        raise NotSupported(f"{type(self).__name__} has no posterior to take an interval from")

    # -- classes and tables -------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> tuple[Any, ...]:
        """The classes that hold samples, or were declared, in the order in which they were met."""
        return tuple(
            label for code, label in enumerate(self._store.encoder.labels.values) if self._is_live(code)
        )

    def _is_live(self, code: int) -> bool:
        tables = self._store.tables
        return bool(tables.class_samples[code] > 0 or code < self._store.encoder.labels.declared)

    @property
    def class_prior_(self) -> dict[Any, float]:
        """P(y) of each class."""
        return {label: math.exp(score) for label, score in self._log_prior().items()}

    def _log_prior(self) -> dict[Any, float]:
        scores = np.zeros(max(self._store.tables.labels, 1))
        self._reading.prior_into(scores)
        labels = self._store.encoder.labels.values
        learned = bool(np.any(self._store.tables.class_samples))
        return {labels[c]: float(scores[c]) for c in range(len(labels)) if learned and self._is_live(c)}

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """P(feature | class, ...) as the model has it now.

        Parameters
        ----------
        feature
            Its name.
        given
            What is known: the class under the schema's `target` (`"class"` where no schema names it). Without the
            class, a table for each class is returned.
        """
        raise NotSupported(f"{type(self).__name__} has no table of {feature!r} given {given!r}")

    @property
    def _target(self) -> str:
        """What the class is called."""
        return "class" if self.schema is None else self.schema.target

    def _check_given(self, given: object) -> None:
        if given is not None and not isinstance(given, Mapping):
            raise BadValue(
                f"given must be a dict of what is known, {{{self._target!r}: label}}, "
                f"not {type(given).__name__}: {shown(given)}"
            )

    def _given_label(self, given: Mapping[Any, Any] | None) -> Any:
        """The class in `given`, or `...` where it is not there."""
        target = self._target
        self._check_given(given)
        if given is None or target not in given:
            rest = list(given or ())
            label: Any = ...
        else:
            rest = [name for name in given if name != target]
            label = canonical_label(given[target])
            if label not in self.classes_:
                raise BadLabel(f"the classes are {shown(self.classes_)}, not {shown(label)}")
        if rest:
            raise NotSupported(
                f"{type(self).__name__} has no table given {rest[0]!r}; the class is called {target!r}"
            )
        return label

    # -- why, and how sure --------------------------------------------------------------------------------------------

    def explain_one(self, x: X) -> Explanation:
        """What each feature says for each class: log-evidence that adds up to `joint_log_likelihood(x)` where the model
        is a sum over features, and otherwise the difference that leaving the feature out makes.
        """
        joint = self.joint_log_likelihood(x)
        evidence: dict[Any, dict[Any, float]] = {}
        if self.additive:
            # One feature more at a time, so that the differences add up whatever two of them share.
            so_far: dict[Any, Any] = {}
            last = baseline = self._evidence({})
            for name, value in x.items():
                so_far[name] = value
                scores = self._evidence(so_far)
                evidence[name] = _less(scores, last)
                last = scores
            return Explanation("log-evidence", baseline, evidence, joint)
        for name in x:
            without = self.joint_log_likelihood({n: v for n, v in x.items() if n != name})
            evidence[name] = _less(joint, without)
        return Explanation("leave-one-out", self.joint_log_likelihood({}), evidence, joint)

    def _evidence(self, x: X) -> dict[Any, float]:
        """Log P(y, x) of each class, impossible ones included even where all are."""
        scores: dict[Any, float] = self._reading.evidence(self._store.encoder.lookup(x))
        return scores

    def predict_interval_one(self, x: X, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """The credible interval of each class's probability.

        The tables are taken as independent Dirichlet posteriors, Gaussians with their reference prior; the interval
        is the delta method's on the log-odds, with a correction for skewness. Without any evidence it is the exact
        Beta interval.

        Examples
        --------
        >>> from stream_bayes import NaiveBayes
        >>> model = NaiveBayes()
        >>> model.learn_one({}, "white", w=75)
        >>> model.learn_one({}, "black", w=25)
        >>> low, high = model.predict_interval_one({})["white"]
        >>> round(low, 4), round(high, 4)
        (0.6567, 0.8244)
        """
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise BadValue(f"level lies between 0 and 1, not {level!r}")
        codes = {label: self._store.encoder.labels.find(label) for label in self.classes_}
        if not self.joint_log_likelihood(x):
            return {}
        odds = self._log_odds(x)
        if odds is not None:
            return {label: logistic_interval(odds[label], level) for label in codes}
        joint = self._log_joint_cumulants(x, codes)
        if joint is not None:
            return {label: log_odds_interval(joint, label, level) for label in codes}
        evidence = {label: self._log_likelihood_cumulants(x, code) for label, code in codes.items()}
        silent = all(moments == Cumulants() for moments in evidence.values())
        prior = self._prior_parameters()
        if prior is None and silent:
            # Given, and so beyond doubt.
            return {label: (p, p) for label, p in self.predict_proba_one({}).items()}
        if prior is None:
            fixed = self._log_prior()
            joint = {label: Cumulants(fixed[label]) + evidence[label] for label in codes}
        elif silent:
            total = math.fsum(prior.values())
            return {label: beta_interval(own, total - own, level) for label, own in prior.items()}
        else:
            # The sum of the prior's weights is common to all classes and cancels in the odds.
            joint = {label: log_weight(own) + evidence[label] for label, own in prior.items()}
        return {label: log_odds_interval(joint, label, level) for label in codes}

    def _prior_parameters(self) -> dict[Any, float] | None:
        """The Dirichlet parameters of P(y) in fresh samples; None where it was given and not learned."""
        if self.class_prior != "counted":
            return None
        tables, reading = self._store.tables, self._reading
        codes = {label: self._store.encoder.labels.find(label) for label in self.classes_}
        add = reading.prior_strength / (len(codes) if reading.spread else 1)
        return {label: tables.class_weight[code] / tables.unit + add for label, code in codes.items()}


def _less(scores: Mapping[Any, float], others: Mapping[Any, float]) -> dict[Any, float]:
    """The difference per class; what is impossible both ways makes none."""
    return {
        label: 0.0 if score == others[label] else score - others[label] for label, score in scores.items()
    }
