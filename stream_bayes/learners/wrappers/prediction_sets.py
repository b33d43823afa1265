"""Sets of labels that hold the true one in a given share of events, whatever the model and however events drift.

The thresholds are set in `core.measures.coverage_control`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from river import base, compose

from stream_bayes.core.measures.coverage_control import LabelSets, checked_levels
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import ReadOnlyArguments
from stream_bayes.learners.wrappers.deciding_classifier import check_classifier

__all__ = ["PredictionSets"]


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
        The share of events whose set holds the label; or several shares, as `[0.8, 0.95]`, with a set for each.
    by_class
        True for this share among the events of each label, with a threshold for each: else a rare label can be missed
        in most of its events.

    Notes
    -----
    With I the number of sets that missed minus (1 - coverage) times the number of events, the threshold of the
    log-odds is -0.5 I / (1 - (I / 20)^2): all labels are in the set from I = 20 on, and none from I = -20 on. So
    the share of sets that hold the label differs from `coverage` by at most 21 / n after n events, and by
    (21 + d) / n if labels come when d others wait and each is learned with the set that was `given`. A set may be
    empty: a classifier that is right in more events than `coverage` asks for is to miss some. A label that the
    classifier has not learned is in no set; it is counted in `unknown_` and moves no threshold. State: a
    number and a count for each level, for each label if `by_class`. Each level has a threshold of its own: for some
    events the set of a higher level may lack a label of a lower one. A learned event costs a prediction besides.

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
        coverage: float | Sequence[float] = 0.9,
        by_class: bool = False,
    ) -> None:
        self.classifier = classifier
        self.coverage = coverage
        self.by_class = by_class
        check_classifier(classifier)
        self._sets = LabelSets(checked_levels(coverage), by_class)

    @property
    def _wrapped_model(self) -> base.Estimator:
        return self.classifier

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, given: Any = None, **kwargs: Any) -> None:
        """Learn a sample, and move the threshold by whether its set held the label.

        The label None, of an event without one, moves nothing, and neither does a weight of 0.

        Parameters
        ----------
        x
            The features.
        y
            The label.
        given
            What `predict_set_one` returned for this event, if its label comes after other events were learned. None
            for the set of the moment, which knows those events: its share says nothing of sets that were given before.
            River's `progressive_val_score` with a `delay` gives None, so `coverage_` is not that of its answers then;
            a pipeline with `coverage` scores the sets of its outputs.
        kwargs
            For the classifier.
        """
        given = None if given is None else self._by_level(given)
        answer = self.classifier.predict_proba_one(x)
        self.classifier.learn_one(x, y, **kwargs)
        if y is not None:
            self._sets.score(y, answer, given, kwargs.get("w", 1.0))

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_set_one(self, x: dict[Any, Any]) -> Any:
        """Return the labels of the set, the most probable first; empty before any learning.

        With several levels of coverage, the set of each: `{0.8: [...], 0.95: [...]}`.
        """
        return self._of_levels(self._sets.labels(self.classifier.predict_proba_one(x)))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the classifier's probabilities."""
        return self.classifier.predict_proba_one(x, **kwargs)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the classifier's most probable label."""
        return self.classifier.predict_one(x, **kwargs)

    # -- measures -----------------------------------------------------------------------------------------------------

    @property
    def coverage_(self) -> Any:
        """The share of learned events whose set held the label; NaN before the first. By level if there are several."""
        return self._of_levels({level: self._sets.coverage(level) for level in self._sets.levels})

    @property
    def coverage_by_class_(self) -> dict[Any, Any]:
        """With `by_class`, the share of each label's events whose set held it. By level if there are several."""
        shares = {level: self._sets.coverage_by_class(level) for level in self._sets.levels}
        return self._of_levels(shares)

    @property
    def unknown_(self) -> int:
        """The number of learned events whose label the classifier had not learned before."""
        return self._sets.unknown

    def _of_levels(self, values: dict[float, Any]) -> Any:
        """Return the value of the only level; of several, the values by level."""
        return values if isinstance(self.coverage, (list, tuple)) else values[self._sets.levels[0]]

    def _by_level(self, given: Any) -> dict[float, list[Any]]:
        """Return the set of each level; raise `BadValue` for what `predict_set_one` does not return."""
        sets = given if isinstance(self.coverage, (list, tuple)) else {self._sets.levels[0]: given}
        if (
            not isinstance(sets, dict)
            or set(sets) != set(self._sets.levels)
            or not all(isinstance(labels, list) for labels in sets.values())
        ):
            raise BadValue(f"given is what predict_set_one returned for the event, not {shown(given)}")
        return sets

    @property
    def _multiclass(self) -> bool:
        return bool(getattr(self.classifier, "_multiclass", True))

    def _unit_test_skips(self) -> set[str]:
        return self.classifier._unit_test_skips()  # of River's checks: what holds depends on the classifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import naive_bayes  # here, as it loads for half a second

        yield {"classifier": naive_bayes.GaussianNB()}
