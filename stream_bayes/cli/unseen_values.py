"""Values that a model never learned, and which therefore tell it nothing: found, counted and said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from stream_bayes.core.values.values import is_missing
from stream_bayes.errors import KindChanged
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.factory import Learner
from stream_bayes.learners.regressors.several_targets import MultiTargetRegression
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey

__all__ = ["UnseenValues", "described", "was_learned"]

MOST_REMEMBERED = 10_000  # values of a feature


class UnseenValues:
    """The values of nominal features that a model never learned, in the events it predicts."""

    def __init__(self, learner: Learner | BayesRegressor | MultiTargetRegression) -> None:
        self._learner = learner
        self._learned: dict[Any, set[Any]] = {}  # values that were, by feature
        self._first: dict[Any, Any] = {}  # value that was not, by feature
        self.counts: Counter[Any] = Counter()

    def add(self, xs: Sequence[Mapping[Any, Any]]) -> None:
        """Count those of some events."""
        for name, feature in self._learner.store.encoder.features.items():
            if feature.measured:
                continue
            learned = self._learned.setdefault(name, {None})
            values = _values(name, xs) - learned
            unseen = {
                value
                for value in values
                if not is_missing(value) and not was_learned(self._learner, name, value)
            }
            if len(learned) < MOST_REMEMBERED:
                learned |= values - unseen
            if unseen:
                self.counts[name] += sum(x.get(name) in unseen for x in xs)
                self._first.setdefault(name, next(x[name] for x in xs if x.get(name) in unseen))

    def warnings(self) -> list[str]:
        """Return a line for each feature that had some, the most first."""
        return [
            f"{name}: {count:,} {'row has' if count == 1 else 'rows have'} a value that says nothing, such as "
            f"{described(self._learner, name, self._first[name])}"
            for name, count in self.counts.most_common()
        ]


def _values(name: Any, xs: Sequence[Mapping[Any, Any]]) -> set[Any]:
    try:
        return set(map(itemgetter(name), xs))
    except KeyError:  # it is missing
        return {x.get(name) for x in xs}


def was_learned(learner: Learner | BayesRegressor | MultiTargetRegression, name: Any, value: Any) -> bool:
    """Return True if the feature was learned with this value; for a numeric feature, with any number. A number is none
    of the names of a feature that learned texts alone. The key of a model per key was learned if it has counts.
    """
    if isinstance(learner, ModelPerKey) and name == learner.key:
        return learner.has_learned(value)
    try:
        row = learner.store.encoder.lookup({name: value})
    except KindChanged:
        return False
    return bool(row.entries or row.numbers)


def described(learner: Learner | BayesRegressor | MultiTargetRegression, name: Any, value: Any) -> str:
    """Return a value as text; of one that was never learned, that it was not, or as what else it was."""
    if value is None:
        return "missing"
    if was_learned(learner, name, value):
        return repr(value)
    other = _other_type(value)
    if other is not None and was_learned(learner, name, other):
        return f"{value!r} (never learned; {other!r} was: give it as that)"
    return f"{value!r} (never learned)"


def _other_type(value: Any) -> Any:
    """Return a number as the text of a CSV cell, or a text as its number; None for anything else."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return f"{value:g}" if float(f"{value:g}") == value else str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else number
