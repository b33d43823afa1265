"""Answers of a model whose labels are numbers, from the copy in a view: a number with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.regression.random_fourier_features import is_derived
from stream_bayes.errors import BadLabel, NotLearned
from stream_bayes.learners.adaptive.adaptive_regression import AdaptiveRegression
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.serve.model_answers import MOST_FEATURES, MOST_VALUES, ModelAnswers
from stream_bayes.serve.plain_values import as_json, label_name
from stream_bayes.streams.served_models.regressor import ServedRegressor, mean_of

__all__ = ["RegressorAnswers"]


class RegressorAnswers(ModelAnswers):
    """A copy of a learner of numbers, for one thread. `level` is that of its intervals, where a request gives none;
    None for the default.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression
    >>> model = BayesianRegression()
    >>> for k in range(100):
    ...     model.learn_one({"wind": k % 7}, 20.0 - 2 * (k % 7))
    >>> round(RegressorAnswers(model).predict({"wind": 3})["prediction"], 1)
    14.0
    """

    predicts_numbers = True

    def __init__(self, model: BayesRegressor, level: float | None = None) -> None:
        super().__init__(model, mean_of)
        self._served = ServedRegressor(model, level)

    def read_label(self, label: Any) -> float:
        """Return a label as a number; raise `BadLabel` if it is none."""
        if isinstance(label, bool):
            raise BadLabel(f"label: expected a number, got {label!r}")
        return float(self._served.read_label(label))

    # -- predicting ---------------------------------------------------------------------------------------------------

    def _answer(self, x: Mapping[str, Any], level: float | None) -> dict[str, Any]:
        served = self._served if level is None else ServedRegressor(self.model, level)
        answer = served.answer(x)
        ends = None if not answer else [as_json(answer["low"]), as_json(answer["high"])]
        return {"prediction": mean_of(answer), "interval": ends, "level": served.level}

    def _encoder(self) -> Encoder:
        return self.model.store.encoder

    # -- explaining ---------------------------------------------------------------------------------------------------

    def explain(
        self,
        x: Mapping[str, Any],
        *,
        ignore_unknown: bool = False,
        is_read: bool = False,
        level: float | None = None,
    ) -> dict[str, Any]:
        """Return the prediction with what each feature adds to it; of a mixture, what each expert predicts."""
        x = x if is_read else self._read(x)
        answer = self._predicted(x, ignore_unknown, level)
        if answer["prediction"] is None:
            raise NotLearned("the model has not learned anything yet")
        if isinstance(self.model, AdaptiveRegression):
            opinions = self.model.explain_one(x)
            experts = [{"expert": name, **opinion._asdict()} for name, opinion in opinions.items()]
            return answer | {"kind": "experts", "experts": experts}
        parts = self.model.explain_one(x)
        contributions = [
            {
                "feature": label_name(name),
                "value": as_json(x.get(name)),
                "contribution": value,
                "sd": as_json(sd),
            }
            for name, (value, sd) in parts.ranked()
        ]
        return answer | {"kind": "contributions", "mean": parts.mean, "contributions": contributions}

    # -- describing ---------------------------------------------------------------------------------------------------

    def _described(self) -> dict[str, Any]:
        named = [(name, each) for name, each in self._encoder().features.items() if not is_derived(name)]
        features = []
        for name, feature in named[:MOST_FEATURES]:
            values = [] if feature.numeric else list(feature.vocabulary.values)
            features.append(
                {
                    "name": label_name(name),
                    "kind": "numeric" if feature.numeric else "nominal",
                    "values": as_json(values[:MOST_VALUES]),
                    "values_left_out": max(0, len(values) - MOST_VALUES),
                    "table": None,
                    "information": None,
                }
            )
        return {
            "learner": type(self.model).__name__,
            "task": "regression",
            "level": self._served.level,
            "labels": [],
            "prior": {},
            "features": features,
            "features_left_out": len(named) - len(features),
            "edges": [],
            "edges_are": "structure",
            "can": {"predict": True, "explain": True, "intervals": False, "query": False, "check": False},
        }
