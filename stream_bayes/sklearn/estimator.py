"""Rows and their columns, in blocks: the part of scikit-learn's interface that all estimators share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_non_negative, validate_data

from stream_bayes.core.values.values import shown
from stream_bayes.data.frames import Native, is_frame
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.traits import is_led_by_order, random_order
from stream_bayes.sklearn.columns import Categorical, ColumnKinds

__all__ = ["AnyLearner", "LearnerEstimator", "blocks"]

AnyLearner: TypeAlias = Any  # with `clone` and `learn_many`

BLOCK_ROWS = 1 << 13  # rows that are learned or predicted at once, so that their codes stay in the cache


class LearnerEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn brings no types
    """A scikit-learn estimator that learns with a clone of a learner."""

    categorical_features: Categorical
    shuffle: bool | None

    @abstractmethod
    def _given_learner(self) -> AnyLearner:
        """Return the learner to clone."""

    def _check_rows(self, X: Native, *, reset: bool) -> Native:
        """Return rows as a data frame, an array or a sparse matrix, checked as scikit-learn does."""
        tags = self.__sklearn_tags__().input_tags
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if 0 in X.shape:
                raise BadValue(
                    f"expected at least one row and one column, got a data frame of shape {X.shape}"
                )
        else:
            X = validate_data(
                self,
                X,
                reset=reset,
                dtype=None if tags.string else "numeric",
                ensure_all_finite="allow-nan",
                accept_sparse=["csr"] if tags.sparse else False,
            )
            if X.dtype.kind not in "fiubOUS":
                raise BadValue(f"expected numbers or names, got an array of {X.dtype}")
        if tags.positive_only and not is_frame(X):
            check_non_negative(X, f"{type(self).__name__} (input X)")
        return X

    def _set_columns(self, X: Native) -> None:
        """Decide which columns of a first batch are nominal."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{number}" for number in range(self.n_features_in_)]
        self._columns = ColumnKinds.of(X, tuple(map(str, names)), self.categorical_features)

    def _is_asked_for_order(self) -> bool:
        """Return True if a parameter, other than one by which old rows fade, gives the order of the rows a meaning."""
        return False

    def _order_of(self, rows: int) -> NDArray[np.int64] | None:
        """Return the places of the rows of `fit` in the order in which they are learned; None for that of the rows."""
        if self.shuffle not in (None, True, False):
            raise BadValue(f"shuffle: expected True, False or None, got {shown(self.shuffle)}")
        is_random = self.shuffle
        if is_random is None:
            is_random = is_led_by_order(self.learner_) and not self._is_asked_for_order()
        return random_order(rows) if is_random else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = self._given_learner()
        kinds = getattr(learner, "inputs", frozenset({"nominal", "numeric"}))
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = "nominal" in kinds
        tags.input_tags.sparse = "bag" in kinds
        tags.input_tags.positive_only = "positive input" in getattr(learner, "_tags", ())
        return tags


def blocks(batch: Any) -> Iterator[tuple[int, int]]:
    """Yield the beginning and end of blocks of rows. A large vocabulary is translated for each block, so it makes
    blocks longer.
    """
    values = sum(map(len, getattr(batch, "vocabularies", ())))
    step = max(BLOCK_ROWS, 8 * values)
    bounds = [*range(0, len(batch), step), len(batch)]
    return pairwise(bounds)
