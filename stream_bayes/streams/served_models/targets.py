"""Regressions of several targets in the engine: they answer with a mean and an interval of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.core.measures.number_losses import number_answer
from stream_bayes.core.values.values import shown
from stream_bayes.data.amounts import Amount
from stream_bayes.errors import BadLabel
from stream_bayes.learners.regressors.several_targets import named_target
from stream_bayes.streams.served_models.answers import LabelProbabilities
from stream_bayes.streams.served_models.regressor import ServedRegressor, mean_of, read_text

__all__ = ["ServedTargets"]


class ServedTargets(ServedRegressor):
    """A `MultiTargetRegression`. Its answers are those of a `ServedRegressor` by target, empty before any learning.

    A label is `{target: number}` in an event. Where it waits or is remembered it is a tuple of pairs, which is a value.
    `written` says by target how numbers that are texts are written.

    Examples
    --------
    >>> from stream_bayes import MultiTargetRegression
    >>> model = ServedTargets(MultiTargetRegression())
    >>> for k in range(100):
    ...     model.learn({"wind": k % 7}, model.read_label({"rain": "3.5", "river": k % 7 + k % 2}), 1.0)
    >>> {name: round(each["mean"], 1) for name, each in model.answer({"wind": 3}).items()}
    {'rain': 3.5, 'river': 3.5}
    """

    has_targets = True
    model: Any  # a `MultiTargetRegression`
    _is_summed = True

    @staticmethod
    def point_of(answer: LabelProbabilities) -> Any:
        means: Mapping[Any, Any] = {name: mean_of(each) for name, each in answer.items()}  # type: ignore[arg-type]  # one answer each
        return means or None

    def read_label(self, y: Any) -> Any:
        """Return a label as a tuple of target and number, in the order of the model's targets.

        Raises
        ------
        BadLabel
            If a target is missing or no finite number, or there are others.
        """
        if not isinstance(y, Mapping):
            raise BadLabel(f"label: expected {{target: number}}, got {shown(y)}")
        names = self.model.target_names or [*y]
        if others := [name for name in y if name not in names]:
            raise BadLabel(f"label: there is no target {shown(others[0])}; there are {shown(names)}")
        missing = [name for name in names if y.get(name) is None]
        if missing:
            raise BadLabel(
                f"targets {shown(missing)} are missing: a sample is learned with all of {shown(names)}, or waits with "
                "none of them"
            )
        amounts = self._written if isinstance(self._written, Mapping) else {}
        return tuple(
            (
                name,
                named_target(name, read_text(y[name], amounts.get(name, Amount()), f"target {shown(name)}")),
            )
            for name in names
        )

    def target_of(self, label: Any) -> Any:
        return dict(label)

    def _answer(self, x: Any) -> LabelProbabilities:
        forecasts = self.model.predict_distribution_one(x)
        answers: Any = {name: number_answer(each.mean, each, self.level) for name, each in forecasts.items()}
        return answers
