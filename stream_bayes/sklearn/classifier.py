"""scikit-learn's interface to any learner of this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from river import base
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from stream_bayes.checked_names import check_known
from stream_bayes.core.values.inputs import check_classes
from stream_bayes.core.values.values import canonical_label, shown
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema, usual_target
from stream_bayes.errors import BadLabel, BadValue, NotSupported
from stream_bayes.learners.base.base import BayesClassifier as CountingClassifier
from stream_bayes.learners.catalogue import DEFAULT, LEARNERS, declaration_of, inner_names
from stream_bayes.learners.classifiers.one_dependence import AODE
from stream_bayes.sklearn.columns import FROM_DTYPE, Categorical
from stream_bayes.sklearn.estimator import AnyLearner, LearnerEstimator, blocks

__all__ = ["AnyLearner", "BayesEstimator", "LearnerClassifier", "given_learner", "names_of_learners"]

Codes: TypeAlias = NDArray[np.int32]

# Rows from which cut points are set, at most: sorting a column takes longer than counting it.
CUT_ROWS = 100_000
LARGEST_CODE = 2**62  # labels up to here can be subtracted
VERBS = ("clone", "learn_many", "predict_proba_many")


def given_learner(learner: AnyLearner) -> AnyLearner:
    """Return the learner given by an argument `learner`: itself, or the one of a short name.

    Raises
    ------
    BadValue
        If it is neither.

    Examples
    --------
    >>> given_learner("tan")
    TAN (...)
    """
    if isinstance(learner, str):
        check_known("learner", learner, names_of_learners())
        return LEARNERS[learner](**declaration_of(learner).unordered)
    missing = [verb for verb in VERBS if not callable(getattr(learner, verb, None))]
    if missing or isinstance(learner, type):
        raise BadValue(
            f"learner: expected a learner such as AODE(), or one of {', '.join(names_of_learners())}, got "
            f"{shown(learner)}"
        )
    return learner


def names_of_learners() -> list[str]:
    """Return the names that an argument `learner` takes.

    Examples
    --------
    >>> names_of_learners()[:3]
    ['adaptive', 'nb', 'gaussian-nb']
    """
    return [DEFAULT, *inner_names()]


class LearnerClassifier(ClassifierMixin, LearnerEstimator):  # type: ignore[misc]  # scikit-learn brings no types
    """A scikit-learn classifier that learns with a clone of a learner; `BayesEstimator` has the documentation."""

    # -- learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Native, y: Native, sample_weight: Native = None) -> Self:
        """Learn all rows, after forgetting everything, in the order that `shuffle` says.

        Parameters
        ----------
        X
            A data frame, an array or a list of rows; for learners of text also a sparse matrix of counts.
        y
            A label for each row.
        sample_weight
            A weight of at least 0 for each row.

        Returns
        -------
        The estimator.
        """
        X, labels, weights = self._check_samples(X, y, sample_weight, reset=True)
        classes, codes = _classes_of(labels)
        check_classes(classes.tolist())
        self._begin(X, classes)
        batch = self._columns.encode(X, self._labels, codes)
        _set_cuts(self.learner_, batch, weights)
        if (order := self._order_of(len(batch))) is not None:
            batch, weights = batch.in_order(order), None if weights is None else weights[order]
        self._learn(batch, weights)
        if isinstance(self.learner_, CountingClassifier):
            self.learner_.rederive()
        return self

    def partial_fit(self, X: Native, y: Native, classes: Native = None, sample_weight: Native = None) -> Self:
        """Learn more rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call decides which columns are nominal.
        classes
            All labels that will come. Needed in the first call; later it may be left out.

        Returns
        -------
        The estimator.
        """
        begins = not hasattr(self, "learner_")
        X, labels, weights = self._check_samples(X, y, sample_weight, reset=begins)
        if begins:
            if classes is None:
                raise BadLabel("classes: expected all labels in the first call of partial_fit, got None")
            self._begin(X, np.unique(column_or_1d(classes)))
        elif classes is not None and not np.array_equal(self.classes_, np.unique(column_or_1d(classes))):
            raise BadLabel(
                f"classes: expected those of the first call, {shown(self.classes_.tolist())}, got {shown(classes)}"
            )
        values, codes = _classes_of(labels)
        class_codes = np.searchsorted(self.classes_, values).clip(max=len(self.classes_) - 1)
        if (is_new := self.classes_[class_codes] != values).any():
            raise BadLabel(
                f"label {shown(values[is_new].tolist()[0])} is not among the classes of the first call of "
                f"partial_fit, {shown(self.classes_.tolist())}"
            )
        self._learn(self._columns.encode(X, self._labels, class_codes.astype(np.int32)[codes]), weights)
        return self

    def _check_samples(
        self, X: Native, y: Native, sample_weight: Native, *, reset: bool
    ) -> tuple[Native, NDArray[Any], NDArray[np.float64] | None]:
        """Return the checked rows, labels and weights."""
        if y is None:
            raise BadLabel(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None"
            )
        X = self._check_rows(X, reset=reset)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        if labels.dtype.kind == "f":
            try:
                check_classification_targets(labels)
            except ValueError as error:  # numbers with a fraction
                raise BadLabel(f"{error} To learn numbers: stream_bayes.sklearn.AdaptiveRegressor") from None
        check_consistent_length(X, labels)
        if sample_weight is None:
            return X, labels, None
        return X, labels, _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _begin(self, X: Native, classes: NDArray[Any]) -> None:
        """Begin with a new learner, for the columns of a first batch."""
        self._set_columns(X)
        self.classes_ = classes
        self._labels = tuple(canonical_label(label) for label in classes.tolist())
        self.learner_ = self._new_learner()

    def _new_learner(self) -> AnyLearner:
        """Return a clone of the learner. If it takes a schema and has none, it gets one of the columns and classes."""
        learner = self._given_learner()
        if getattr(learner, "schema", False) is None:
            target = usual_target(self._columns.names)
            return learner.clone({"schema": Schema(self._columns.features, self._labels, target)})
        return learner.clone()

    def _learn(self, batch: Any, weights: NDArray[np.float64] | None) -> None:
        for start, stop in blocks(batch):
            own = None if weights is None else weights[start:stop]
            self.learner_.learn_many(batch.rows(start, stop), w=own)

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Native) -> NDArray[np.float64]:
        """Return the probability of each class, a column for each of `classes_`.

        A row to which the learner gives no class any probability, as without smoothing it can, gets equal ones.
        """
        check_is_fitted(self)
        batch = self._columns.encode(self._check_rows(X, reset=False))
        column_of = {label: column for column, label in enumerate(self._labels)}
        table = np.zeros((len(batch), len(self._labels)))
        for start, stop in blocks(batch):
            answers = self.learner_.predict_proba_many(batch.rows(start, stop))
            if answers.labels:
                table[start:stop, [column_of[label] for label in answers.labels]] = answers.values
        table[table.sum(axis=1) == 0.0] = 1.0 / len(self._labels)
        return table

    def predict_interval(self, X: Native, level: float = 0.95) -> NDArray[np.float64]:
        """Return the credible interval of each probability of `predict_proba`.

        Parameters
        ----------
        X
            The rows.
        level
            The probability of an interval.

        Returns
        -------
        An array of rows, `classes_`, and the low and the high end.
        """
        check_is_fitted(self)
        if not hasattr(self.learner_, "predict_interval_many"):
            raise NotSupported(f"a {type(self.learner_).__name__} has no intervals")
        batch = self._columns.encode(self._check_rows(X, reset=False))
        column_of = {label: column for column, label in enumerate(self._labels)}
        table = np.zeros((len(batch), len(self._labels), 2))
        for start, stop in blocks(batch):
            for end, answers in enumerate(
                self.learner_.predict_interval_many(batch.rows(start, stop), level)
            ):
                table[start:stop, [column_of[label] for label in answers.labels], end] = answers.values
        # A row whose classes are all impossible has equal probabilities, which say nothing.
        table[table[:, :, 1].sum(axis=1) == 0.0] = 0.0, 1.0
        return table

    def predict_log_proba(self, X: Native) -> NDArray[np.float64]:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):  # a probability may be 0
            return np.log(self.predict_proba(X))

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the most probable class of each row; of equal ones the first in `classes_`."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = (
            tags.input_tags.sparse
        )  # as scikit-learn's own naive Bayes over counts
        return tags


class BayesEstimator(LearnerClassifier):
    """A scikit-learn classifier over a learner of this package.

    `fit` learns all rows with `learn_many`, through coded columns. `partial_fit` goes on learning, in the order of the
    rows.
    Missing values (NaN, None) are left out of a sample; nothing is imputed.

    Parameters
    ----------
    learner
        A learner, such as `TAN(strength=0.5)`; or its short name, as `"tan"` or `"adaptive"`. It stays
        unchanged: `fit` learns with a clone. None: `AODE()`. Its arguments are parameters of this
        estimator: `learner__strength`.
    categorical_features
        The nominal columns. `"from_dtype"`: columns of strings, booleans or categories are nominal, columns of
        numbers numeric. `"all"`: every column. None: no column. Or names, positions or a mask of columns.
    shuffle
        True if `fit` learns the rows in a random order, the same each time; False for their own, as of rows in time.
        None: in a random one where the learner depends on the order and does not fade by it (`half_life`), so
        that rows that are sorted do no harm.

    Attributes
    ----------
    classes_
        The labels in sorted order, as the columns of `predict_proba`.
    learner_
        The learner that has learned. All its verbs are available, such as `learner_.explain_one(x)`.
    n_features_in_, feature_names_in_
        The number of columns of `fit`, and their names if it got a data frame.

    Notes
    -----
    Numbers that are names, such as the output of `OrdinalEncoder`, need `categorical_features="all"`; otherwise the
    learner measures them, or puts them in bins.

    Examples
    --------
    >>> import pandas as pd
    >>> from stream_bayes.sklearn import BayesEstimator
    >>> X = pd.DataFrame({"sky": ["grey", "grey", "blue", None] * 20, "wind": [3.5, 2.0, 0.5, 1.0] * 20})
    >>> y = ["rain", "rain", "dry", "dry"] * 20
    >>> model = BayesEstimator("tan", categorical_features=["sky"]).fit(X, y)
    >>> model.predict(X[:4]).tolist(), model.score(X, y)
    (['rain', 'rain', 'dry', 'dry'], 1.0)
    >>> model.get_params()["learner"]
    'tan'
    """

    def __init__(
        self,
        learner: AnyLearner = None,
        *,
        categorical_features: Categorical = FROM_DTYPE,
        shuffle: bool | None = None,
    ) -> None:
        self.learner = learner
        self.categorical_features = categorical_features
        self.shuffle = shuffle

    def _given_learner(self) -> AnyLearner:
        return AODE() if self.learner is None else given_learner(self.learner)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` those of the learner too, as `learner__strength`."""
        parameters: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(parameters.get("learner"), base.Base):
            parameters |= dict(_parameters_within("learner", parameters["learner"]))
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of the learner as `learner__strength`."""
        own = {name: value for name, value in params.items() if not name.startswith("learner__")}
        super().set_params(**own)
        within = {name.removeprefix("learner__"): value for name, value in params.items() if name not in own}
        if within:
            learner = self._given_learner()
            names = {
                name.removeprefix("learner__"): None for name, _ in _parameters_within("learner", learner)
            }
            for name in within:
                check_known("parameter of the learner", name, names)
            self.learner = _with(learner, within)
        return self


def _classes_of(labels: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Return the different labels in sorted order, and the place of each row's label among them."""
    if labels.dtype.kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < len(labels) and high < LARGEST_CODE:
            offsets = (labels.astype(np.int64) - low).astype(
                np.int32
            )  # counting takes a tenth of the time of sorting
            is_present = np.bincount(offsets) > 0
            codes = np.cumsum(is_present, dtype=np.int32) - 1
            return (np.flatnonzero(is_present) + low).astype(labels.dtype), codes[offsets].astype(np.int32)
    if labels.dtype.kind not in "OUS":
        classes, class_of_row = np.unique(labels, return_inverse=True)
        return classes, class_of_row.astype(np.int32)
    index: dict[Any, int] = {}  # sorting a million strings would take longer than learning them
    codes = np.fromiter(
        (index.setdefault(label, len(index)) for label in labels.tolist()), np.int32, len(labels)
    )
    in_type = np.array(list(index), dtype=labels.dtype)
    order = np.argsort(in_type)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return in_type[order], rank[codes]


def _set_cuts(learner: AnyLearner, batch: Any, weights: NDArray[np.float64] | None) -> None:
    """Set the cut points of a learner that puts numbers in bins, from all rows or from rows at equal distances.

    A stream sets them from its first events. A batch may be sorted by its labels, so its first rows are no sample.
    """
    store = learner.store if isinstance(learner, CountingClassifier) else None
    discretizer = None if store is None else store.discretizer
    if store is None or discretizer is None or not isinstance(batch, CodedColumns) or batch.labels is None:
        return
    chosen = np.arange(0, len(batch), -(-len(batch) // CUT_ROWS))
    if weights is not None:
        chosen = chosen[weights[chosen] > 0]
    for name, column in zip(batch.numeric_names, batch.numeric[chosen].T, strict=True):
        slot = store.encoder.features[name].slot
        present = ~np.isnan(column)
        if slot in discretizer.fixed or not present.any():
            continue
        own = np.ones(len(chosen)) if weights is None else weights[chosen]
        discretizer.fix(slot, column[present], own[present], batch.labels[chosen][present])


def _parameters_within(prefix: str, learner: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a learner under `prefix__name`, and those of the learners within it."""
    for name in learner._get_params():
        value = getattr(learner, name)
        yield f"{prefix}__{name}", value
        if isinstance(value, base.Base):
            yield from _parameters_within(f"{prefix}__{name}", value)


def _with(learner: Any, parameters: Mapping[str, Any]) -> Any:
    """Return a clone with other arguments, those of learners within it as `learner__strength`."""
    changes: dict[str, Any] = {name: value for name, value in parameters.items() if "__" not in name}
    within: dict[str, dict[str, Any]] = {}
    for name, value in parameters.items():
        outer, is_within, inner = name.partition("__")
        if is_within:
            within.setdefault(outer, {})[inner] = value
    for name, inner_changes in within.items():
        changes[name] = _with(changes.get(name, getattr(learner, name)), inner_changes)
    return learner.clone(changes)
