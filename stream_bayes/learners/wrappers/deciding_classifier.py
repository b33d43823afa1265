"""A classifier that answers with decisions: a rule behind any River classifier that has `predict_proba_one`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import narwhals as nw
import numpy as np
from river import base, compose

from stream_bayes.core.values.values import shown
from stream_bayes.data.frames import Native, is_frame, iter_dicts, like_series
from stream_bayes.errors import BadValue, NotLearned, NotSupported
from stream_bayes.learners.base.arguments import ReadOnlyArguments, check_number
from stream_bayes.learners.base.batches import row_count
from stream_bayes.learners.base.class_probabilities import Probabilities
from stream_bayes.learners.base.credible_intervals import Intervals
from stream_bayes.learners.base.draws import DrawnClassifier
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.learners.wrappers.decision_rules import Costs, Rule, Thresholds
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
from stream_bayes.learners.wrappers.value_of_information import least_risk, value_of_feature, value_of_label

__all__ = ["DecidingClassifier", "check_classifier"]


class DecidingClassifier(ReadOnlyArguments, base.Wrapper[base.Estimator], base.MiniBatchClassifier):
    """A classifier that answers with a rule's decision instead of the most probable label.

    Learning and probabilities are the classifier's; the rule adds nothing to its memory. Before anything is learned the
    answer is None.

    Unlearning, learning many rows and predicting many rows are passed on to a classifier that can; for one that
    cannot they raise `NotSupported`. Many rows are predicted together, but decided one by one.

    Parameters
    ----------
    classifier
        Any classifier, or pipeline ending in one, that has `predict_proba_one`.
    rule
        `Costs`, `Thresholds`, or anything else with `decide(probabilities)`.

    Examples
    --------
    >>> from stream_bayes import BernoulliNB, Costs, DecidingClassifier
    >>> costs = Costs.false_positive(9, unsure=0.5)
    >>> model = DecidingClassifier(BernoulliNB(), costs)
    >>> for word, label in [("offer", "spam"), ("offer", "spam"), ("lunch", "ham"), ("lunch", "ham")]:
    ...     model.learn_one({word: 1}, label)
    >>> model.predict_one({"lunch": 1})
    'ham'
    >>> model.predict_many([{"offer": 1}, {"lunch": 1}])
    ['unsure', 'ham']
    >>> round(model.predict_proba_one({"offer": 1})["spam"], 2)
    0.9
    """

    def __init__(self, classifier: base.Classifier | compose.Pipeline, rule: Rule) -> None:
        self.classifier = classifier
        self.rule = rule
        check_classifier(classifier)
        if isinstance(rule, type) or not callable(getattr(rule, "decide", None)):
            raise BadValue(
                "rule must be Costs(...), Thresholds(...) or another object with decide(probabilities), "
                f"not {shown(rule)}"
            )

    @property
    def _wrapped_model(self) -> base.Estimator:
        return self.classifier

    # The keyword arguments are the classifier's (a weight, for one), so their types are not known here; and names are
    # of any type, since to a type checker a dict[str, Any] is not a dict[Hashable, Any].
    def learn_one(self, x: dict[Any, Any], y: base.typing.ClfTarget, **kwargs: Any) -> None:
        self.classifier.learn_one(x, y, **kwargs)

    def unlearn_one(self, x: dict[Any, Any], y: base.typing.ClfTarget, **kwargs: Any) -> None:
        """Unlearn a sample, if the classifier can.

        Parameters
        ----------
        x, y
            The sample.
        kwargs
            Further arguments of the classifier: `w`, and with fading `at`, for one of this package.

        Raises
        ------
        NotSupported
            The classifier does not unlearn.
        """
        self._verb("unlearn_one")(x, y, **kwargs)

    def learn_many(self, X: Native, y: Native = None, **kwargs: Any) -> None:
        """Learn many rows; raise `NotSupported` if the classifier cannot."""
        self._verb("learn_many")(X, y, **kwargs)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[base.typing.ClfTarget, float]:
        return self.classifier.predict_proba_one(x, **kwargs)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> base.typing.ClfTarget | None:
        # River's type speaks of labels; "unsure" may be anything hashable.
        return cast("base.typing.ClfTarget | None", self.rule.decide(self.predict_proba_one(x, **kwargs)))

    def predict_proba_many(self, X: Native, **kwargs: Any) -> Any:  # as the classifier answers
        """Return the classifier's probabilities of many rows; raise `NotSupported` if it has none."""
        return self._verb("predict_proba_many")(X, **kwargs)

    def predict_interval_one(self, x: dict[Any, Any], level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return the classifier's interval of each class's probability; raise `NotSupported` if it has none."""
        return cast("dict[Any, tuple[float, float]]", self._verb("predict_interval_one")(x, level))

    def predict_interval_many(self, X: Native, level: float = 0.95) -> Intervals:
        """Return the classifier's intervals of many rows; raise `NotSupported` if it has none."""
        return cast("Intervals", self._verb("predict_interval_many")(X, level))

    def explain_one(self, x: dict[Any, Any]) -> Explanation:
        """Return the classifier's evidence for each class; raise `NotSupported` if it explains nothing."""
        return cast("Explanation", self._verb("explain_one")(x))

    def draw(self, rng: np.random.Generator) -> DrawnClassifier:
        """Return a draw of the classifier; raise `NotSupported` if it has none."""
        return cast("DrawnClassifier", self._verb("draw")(rng))

    def simulate_one(self, x: dict[Any, Any], n: int, rng: np.random.Generator) -> list[Any]:
        """Return labels that the classifier simulates; raise `NotSupported` if it simulates none."""
        return cast("list[Any]", self._verb("simulate_one")(x, n, rng))

    # -- the value of information -------------------------------------------------------------------------------------

    def risk_one(self, x: dict[Any, Any]) -> float:
        """Return the expected cost of the decision about an event, by `Costs`; NaN before any learning."""
        answer = self.predict_proba_one(x)
        return least_risk(self._costs(), answer) if answer else math.nan

    def value_of_one(self, x: dict[Any, Any], feature: Any = None) -> float:
        """Return the expected cost that knowing a feature of an event would save: what it is worth to learn it.

        Each value weighs with its probability given the event; the decision after it is the best one then. It is never
        below 0, and 0 where no value would change the decision.

        Parameters
        ----------
        x
            The event, without the feature.
        feature
            A nominal or numeric feature; None for the label itself. A number weighs by its density, which is
            integrated, and in bins as if it were uniform in each of them.

        Raises
        ------
        NotSupported
            If the rule is not `Costs`; of a feature, if the classifier has no P(x, y): if it is a mixture, learns
            P(y | x), or is not of this package.

        Examples
        --------
        >>> from stream_bayes import Costs, DecidingClassifier, NaiveBayes
        >>> model = DecidingClassifier(NaiveBayes(), Costs.zero_one(["rain", "dry"]))
        >>> for number in range(40):
        ...     x = {"sky": "grey" if number % 2 else "blue", "day": "odd" if number % 4 > 1 else "even"}
        ...     model.learn_one(x, "rain" if number % 2 else "dry")
        >>> round(model.value_of_one({}, "sky"), 3), model.value_of_one({}, "day")
        (0.455, 0.0)
        >>> model.value_of_one({}), model.ask_one({}, price=0.2), model.ask_one({"sky": "grey"}, price=0.2)
        (0.5, True, False)
        """
        costs = self._costs()
        if feature is not None:
            model: Any = self.classifier
            model, features = model.answering(x) if type(model) is ModelPerKey else (model, x)
            return value_of_feature(costs, model, features, feature)
        answer = self.predict_proba_one(x)
        if not answer:
            raise NotLearned("no class is known yet, so that nothing can be worth anything")
        return value_of_label(costs, answer)

    def ask_one(self, x: dict[Any, Any], price: float) -> bool:
        """Return True if the label of an event is worth its price: if knowing it saves more than that.

        Raises `BadValue` for a price that is no finite number of at least 0.
        """
        check_number("price", price)
        return self.value_of_one(x) > price

    def _costs(self) -> Costs:
        if not isinstance(self.rule, Costs):
            raise NotSupported(
                f"{type(self.rule).__name__} has no costs, so that nothing has a value; make it with Costs(...)"
            )
        return self.rule

    def predict_many(self, X: Native, **kwargs: Any) -> Any:  # a series of X's library, or a list
        """Return the decision of each row: a series for a data frame, a list for anything else.

        Raises
        ------
        NotSupported
            The classifier has no `predict_proba_many`; or it answered with a frame whose columns can only have
            strings for names, and has no `classes_` to say which labels they mean.
        """
        # A frame without columns has no rows in some libraries: nothing is learned yet.
        rows = list(self._rows(self.predict_proba_many(X, **kwargs))) or [{}] * row_count(X)
        decisions: list[Any] = [self.rule.decide(row) for row in rows]
        return like_series(X, decisions) if is_frame(X) else decisions

    def _rows(self, answer: Any) -> Iterable[Mapping[Any, float]]:
        """Return the rows of a classifier's answer to many rows."""
        if isinstance(answer, Probabilities):
            return (dict(zip(answer.labels, row, strict=True)) for row in answer.values.tolist())
        if not is_frame(answer):
            return cast("Iterable[Mapping[Any, float]]", answer)
        named = cast("Iterable[Mapping[Any, float]]", iter_dicts(answer))
        answer = nw.to_native(answer, pass_through=True)
        if nw.dependencies.is_pandas_like_dataframe(answer):
            return named
        labels = self._labels_of(nw.from_native(answer).columns)
        return ({labels[name]: p for name, p in row.items()} for row in named)

    def _labels_of(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the labels of a frame's columns, in a library that names columns by strings only."""
        classifier = _last_of(self.classifier)
        labels = {str(label): label for label in getattr(classifier, "classes_", ())}
        if not labels.keys() >= set(columns):
            raise NotSupported(
                f"{type(classifier).__name__} answered with columns named {', '.join(columns)}, all strings, and has "
                "no classes_ that say which labels these are; give it a pandas frame, or predict row by row"
            )
        return labels

    def _verb(self, name: str) -> Callable[..., Any]:
        """Return the classifier's method of this name; in a pipeline, its end must have it too."""
        # River's mini-batch classifiers inherit a predict_proba_many that only raises.
        absent = (None, base.MiniBatchClassifier.predict_proba_many)
        for model in (self.classifier, _last_of(self.classifier)):
            if getattr(type(model), name, None) in absent:
                raise NotSupported(
                    f"{type(model).__name__} has no {name}, so there is none for its decisions"
                )
        return cast("Callable[..., Any]", getattr(self.classifier, name))

    def _unit_test_skips(self) -> set[str]:
        return self.classifier._unit_test_skips()  # of River's checks: what holds depends on the classifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, naive_bayes  # here, as they load for half a second

        # River's checks bring labels of their own: thresholds suit any, costs only two.
        yield {"classifier": naive_bayes.GaussianNB(), "rule": Thresholds(0.8)}
        yield {
            "classifier": linear_model.LogisticRegression(),
            "rule": Costs.false_positive(9, positive=True, negative=False, unsure=0.5),
        }


def check_classifier(model: Any) -> None:
    """Raise `BadValue` for a classifier without probabilities."""
    # River's classifiers inherit a predict_proba_one that only raises; a pipeline has one in any case.
    absent = (None, base.Classifier.predict_proba_one)
    last = None if isinstance(model, type) else _last_of(model)
    if getattr(type(last), "predict_proba_one", None) in absent:
        raise BadValue(
            "classifier must be a classifier, or a pipeline ending in one, that has predict_proba_one, "
            f"not {shown(model)}"
        )


def _last_of(model: Any) -> Any:
    """Return the classifier at the end of pipelines and of deciders."""
    while isinstance(model, (compose.Pipeline, DecidingClassifier)):
        model = model[-1] if isinstance(model, compose.Pipeline) else model.classifier
    return model
