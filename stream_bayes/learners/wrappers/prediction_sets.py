"""Sets of labels that hold the true one in a given share of events, whatever the model and however events drift."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from river import base, compose

from stream_bayes.core.values.values import canonical_label, name_order, shown
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import ReadOnlyArguments
from stream_bayes.learners.wrappers.deciding_classifier import check_classifier

__all__ = ["PredictionSets"]

MOST_BALANCE = 20.0  # errors too many, or too few, at which a set has all labels, or none
SLOPE = 0.5  # log-odds that the threshold falls by for one error too many
ALL = None  # the label under which the balance of all labels is kept
LEAST = 1e-300


class PredictionSets(ReadOnlyArguments, base.Wrapper[base.Estimator], base.Classifier):
    """A classifier with sets of labels that hold the true one in a given share of events, such as nine of ten.

    A set has the labels whose probability is above a threshold. After each event the threshold moves down if the set
    missed the label, and up otherwise, so that the share holds in the long run for any classifier and any sequence of
    labels, drift included. Learning and probabilities are the classifier's.

    Parameters
    ----------
    classifier
        Any classifier, or pipeline ending in one, that has `predict_proba_one`.
    coverage
        The share of events whose set holds the label.
    by_class
        True for this share among the events of each label, with a threshold for each: else a rare label can be missed
        in most of its events.

    Notes
    -----
    With I the number of sets that missed minus (1 - coverage) times the number of events, the threshold of the
    log-odds is -0.5 I / (1 - (I / 20)^2): all labels are in the set from I = 20 on, and none from I = -20 on. So
    the share of sets that hold the label differs from `coverage` by at most 21 / n after n events. A set may be
    empty: a classifier that is right in more events than `coverage` asks for is to miss some. A label that the
    classifier has not learned is in no set; it is counted in `unknown_` and moves no threshold. State: a
    number and a count, for each label if `by_class`. A learned event costs a prediction besides.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, PredictionSets
    >>> model = PredictionSets(NaiveBayes(), coverage=0.9)
    >>> for number in range(990):
    ...     model.learn_one({"sky": "grey" if number % 2 else "blue"}, "rain" if number % 6 in (1, 3) else "dry")
    >>> model.predict_set_one({"sky": "grey"}), model.predict_set_one({"sky": "blue"})
    (['rain', 'dry'], ['dry'])
    >>> round(model.coverage_, 2)
    0.9
    """

    def __init__(
        self,
        classifier: base.Classifier | compose.Pipeline,
        coverage: float = 0.9,
        by_class: bool = False,
    ) -> None:
        self.classifier = classifier
        self.coverage = coverage
        self.by_class = by_class
        check_classifier(classifier)
        if isinstance(coverage, bool) or not isinstance(coverage, (int, float)) or not 0.0 < coverage < 1.0:
            raise BadValue(f"coverage lies between 0 and 1, as 0.9, not {shown(coverage)}")
        if not isinstance(by_class, bool):
            raise BadValue(f"by_class is True or False, not {shown(by_class)}")
        self._balances: dict[Any, list[float]] = {}  # by label, or under ALL: errors too many, and events
        self._unknown = 0

    @property
    def _wrapped_model(self) -> base.Estimator:
        return self.classifier

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, **kwargs: Any) -> None:
        """Learn a sample, and move the threshold by whether its set held the label; `kwargs` go to the classifier."""
        answer = self.classifier.predict_proba_one(x)
        self.classifier.learn_one(x, y, **kwargs)
        if y not in answer:
            self._unknown += 1
            return
        key = canonical_label(y) if self.by_class else ALL
        balance = self._balances.setdefault(key, [0.0, 0.0])
        balance[0] += (not self._holds(y, answer[y])) - (1.0 - self.coverage)
        balance[1] += 1.0

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_set_one(self, x: dict[Any, Any]) -> list[Any]:
        """Return the labels of the set, the most probable first; empty before any learning."""
        answer = self.classifier.predict_proba_one(x)
        inside = [(-p, name_order(y), y) for y, p in answer.items() if self._holds(y, p)]
        return [y for *_, y in sorted(inside)]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the classifier's probabilities."""
        answer: dict[Any, float] = self.classifier.predict_proba_one(x, **kwargs)
        return answer

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the classifier's most probable label."""
        return self.classifier.predict_one(x, **kwargs)

    def _holds(self, y: Any, p: float) -> bool:
        """Return True if a label of this probability is in the set."""
        key = canonical_label(y) if self.by_class else ALL
        balance = self._balances.get(key, (0.0, 0.0))[0] / MOST_BALANCE
        if abs(balance) >= 1.0:
            return balance > 0.0
        odds = math.log(max(p, LEAST)) - math.log(max(1.0 - p, LEAST))
        return odds >= -SLOPE * MOST_BALANCE * balance / (1.0 - balance**2)

    def is_balance(self, errors: float, events: float) -> bool:
        """Return True if so many errors too many can come of so many events."""
        return 0.0 < events < 2.0**53 and events.is_integer() and abs(errors) <= MOST_BALANCE + 1.0

    # -- measures -----------------------------------------------------------------------------------------------------

    @property
    def coverage_(self) -> float:
        """The share of learned events whose set held the label; NaN before the first."""
        errors = math.fsum(balance for balance, _ in self._balances.values())
        events = math.fsum(count for _, count in self._balances.values())
        return self.coverage - errors / events if events else math.nan

    @property
    def coverage_by_class_(self) -> dict[Any, float]:
        """With `by_class`, the share of each label's events whose set held it."""
        return {
            y: self.coverage - errors / events
            for y, (errors, events) in self._balances.items()
            if y is not ALL
        }

    @property
    def unknown_(self) -> int:
        """The number of learned events whose label the classifier had not learned before."""
        return self._unknown

    @property
    def _multiclass(self) -> bool:
        return bool(getattr(self.classifier, "_multiclass", True))

    def _unit_test_skips(self) -> set[str]:
        return self.classifier._unit_test_skips()  # of River's checks: what holds depends on the classifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import naive_bayes  # here, as it loads for half a second

        yield {"classifier": naive_bayes.GaussianNB()}
