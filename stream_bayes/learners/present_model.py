"""A classifier that answers as another one does, which may be exchanged."""

from __future__ import annotations

from typing import Any

from river import base

from stream_bayes.frames import Native
from stream_bayes.learners.base import BayesClassifier, X
from stream_bayes.learners.explanation import Explanation

__all__ = ["PresentModel"]


class PresentModel(base.MiniBatchClassifier):
    """What is asked goes to the model that answers now."""

    _model: BayesClassifier

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[Any, float]:
        """P(y | x) of each class, empty before any learning."""
        return self._model.predict_proba_one(x)

    def predict_one(self, x: X, **kwargs: Any) -> Any:
        """The most probable class, None before any learning; a tie goes to the first by name."""
        return self._model.predict_one(x)

    def predict_proba_many(self, X: Native) -> Any:
        """The probabilities of many rows, in kind, as the model that answers now gives them."""
        return self._model.predict_proba_many(X)

    def predict_many(self, X: Native) -> Any:
        """The most probable class of many rows: a series for a data frame, a list for anything else."""
        return self._model.predict_many(X)

    def explain_one(self, x: X) -> Explanation:
        """What each feature says for each class, by the model that answers now."""
        return self._model.explain_one(x)

    @property
    def model_(self) -> BayesClassifier:
        """The learner that answers now."""
        return self._model

    @property
    def _multiclass(self) -> bool:
        return True
