"""scikit-learn's interface to the regressors of this package."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadLabel
from stream_bayes.sklearn.estimator import LearnerEstimator, blocks

__all__ = ["LearnerRegressor"]

Floats = NDArray[np.float64]


class LearnerRegressor(RegressorMixin, LearnerEstimator):  # type: ignore[misc]  # scikit-learn brings no types
    """A scikit-learn regressor that learns with a clone of a learner."""

    def fit(self, X: Native, y: Native, sample_weight: Native = None) -> Self:
        """Learn all rows, after forgetting everything, in the order that `shuffle` says.

        Parameters
        ----------
        X
            A data frame, an array or a list of rows.
        y
            A number for each row.
        sample_weight
            A weight of at least 0 for each row.

        Returns
        -------
        The estimator.
        """
        return self._learn(X, y, sample_weight, begins=True, is_whole=True)

    def partial_fit(self, X: Native, y: Native, sample_weight: Native = None) -> Self:
        """Learn more rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call decides which columns are nominal.

        Returns
        -------
        The estimator.
        """
        return self._learn(X, y, sample_weight, begins=not hasattr(self, "learner_"))

    def _learn(
        self, X: Native, y: Native, sample_weight: Native, *, begins: bool, is_whole: bool = False
    ) -> Self:
        if y is None:
            raise BadLabel(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None"
            )
        X = self._check_rows(X, reset=begins)
        targets = column_or_1d(y, warn=True, dtype=np.float64)
        assert_all_finite(targets, input_name="y")
        check_consistent_length(X, targets)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if begins:
            self._set_columns(X)
            learner = self._given_learner()
            changes = {"schema": Schema(self._columns.features)} if learner.schema is None else {}
            self.learner_ = learner.clone(changes)
        batch = self._columns.encode(X)
        if is_whole and (order := self._order_of(len(batch))) is not None:
            batch, targets = batch.in_order(order), targets[order]
            weights = None if weights is None else weights[order]
        for start, stop in blocks(batch):
            part = None if weights is None else weights[start:stop].tolist()
            self.learner_.learn_many(batch.rows(start, stop), targets[start:stop].tolist(), part)
        return self

    def _rows(self, X: Native) -> Any:
        check_is_fitted(self)
        return self._columns.encode(self._check_rows(X, reset=False)).to_dicts()

    def predict(self, X: Native, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the number that is predicted for each row.

        Parameters
        ----------
        X
            The rows.
        return_std
            True to return the standard deviation of each forecast, too. It is infinite until targets that differ were
            learned.
        """
        rows = list(self._rows(X))
        predicted = np.array([self.learner_.predict_one(x) for x in rows], float)
        if not return_std:
            return predicted
        forecasts = map(self.learner_.predict_distribution_one, rows)
        return predicted, np.array([forecast.standard_deviation for forecast in forecasts], float)

    def predict_interval(self, X: Native, level: float = 0.95) -> Floats:
        """Return the interval that holds each row's number with a probability: a column for each end."""
        return np.array([self.learner_.predict_interval_one(x, level) for x in self._rows(X)], float)
