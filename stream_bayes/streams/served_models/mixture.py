"""`AdaptiveBayes` as the engine uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.streams.served_models.answers import LabelProbabilities
from stream_bayes.streams.served_models.name_limit import NameLimit
from stream_bayes.streams.served_models.river import ServedRiver

__all__ = ["ServedMixture"]


class ServedMixture(ServedRiver):
    """`AdaptiveBayes`, whose samples are held with the last labels until their own label comes. Loading a state
    replaces `model`. `decide` makes a decision from the probabilities. `max_names` is the most feature names to learn;
    see `NameLimit`. None: no limit.

    Examples
    --------
    >>> model = ServedMixture(AdaptiveBayes(label_memory=1))
    >>> model.predict_then_learn({"sky": "grey"}, "rain", 1.0), model.hold({"sky": "blue"})
    ({}, {'sky': 'blue', '(last label 1)': 'rain'})
    """

    def __init__(
        self,
        model: AdaptiveBayes,
        decide: Callable[[LabelProbabilities], Any] | None = None,
        max_names: int | None = None,
    ) -> None:
        super().__init__(model, decide)
        self._weighted = True
        self._max_names = max_names
        self._limit = self._limit_of(model)

    def _limit_of(self, model: AdaptiveBayes) -> NameLimit | None:
        # The first member has the names of all features.
        return None if self._max_names is None else NameLimit(model.members[0], self._max_names)

    @property
    def clock(self) -> int:
        return self.model.clock

    def answer(self, x: Any) -> LabelProbabilities:
        return self.model.predict_proba_one(x)

    def hold(self, x: Any) -> Any:
        return self.model.hold(x)

    def learn(self, x: Any, y: Any, w: float) -> None:
        self.predict_then_learn(x, y, w)

    def predict_then_learn(self, x: Any, y: Any, w: float) -> LabelProbabilities:
        if self._limit is not None:
            self._limit.check(self.model.features_of(x))
        return self.model.predict_learn_one(x, y, w)

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._limit = self._limit_of(self.model)
