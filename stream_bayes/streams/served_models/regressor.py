"""Learners of numbers in the engine: they answer with a mean and an interval, and labels are read as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.encoding._targets import read_target
from stream_bayes.core.measures.number_losses import number_answer
from stream_bayes.core.values.durations import MICROSECOND
from stream_bayes.core.values.payloads import Payload, plain
from stream_bayes.core.values.values import shown
from stream_bayes.data.amounts import Amount
from stream_bayes.drift.adaptive_regression import DriftAdaptiveRegression
from stream_bayes.drift.log import DriftLog
from stream_bayes.errors import BadLabel, NotSupported, StreamBayesError
from stream_bayes.learners.adaptive.adaptive_regression import AdaptiveRegression
from stream_bayes.learners.base.credible_intervals import ends_of
from stream_bayes.learners.base.regressor import SummedRegressor
from stream_bayes.streams.served_models.answers import BatchAnswers, LabelProbabilities, process_one_by_one
from stream_bayes.streams.served_models.learner import ServedLearner
from stream_bayes.streams.served_models.name_limit import NameLimit

__all__ = ["LEVEL", "ServedRegressor", "mean_of", "read_text"]

LEVEL = 0.9  # of the intervals, by default


def mean_of(answer: LabelProbabilities) -> float | None:
    """Return the number that an answer predicts; None for an event that was not answered.

    Examples
    --------
    >>> mean_of({"mean": 3.5, "low": 1.0, "high": 6.0}), mean_of({})
    (3.5, None)
    """
    return answer.get("mean")


def read_text(y: Any, written: Amount, what: str) -> Any:
    """Return the number in a text, as its column is written; what is no text as it is. Raise `BadLabel` for another."""
    if not isinstance(y, str):
        return y
    try:
        return written.read(y)[0]
    except ValueError as error:
        raise BadLabel(f"{what}: expected {error}, got {shown(y)}") from None


class ServedRegressor(ServedLearner):
    """A learner of numbers. Its answers are `{"mean": ..., "low": ..., "high": ...}` and what their CRPS needs, empty
    before any learning. Loading a state replaces `model`. `level` is that of the intervals, `written` how labels that
    are texts are written. `max_names` is as of `ServedLearner`.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression
    >>> model = ServedRegressor(BayesianRegression())
    >>> for k in range(100):
    ...     model.learn({"wind": k % 7}, 20.0 - 2 * (k % 7) + k % 2, 1.0)
    >>> {name: round(number, 1) for name, number in [*model.answer({"wind": 3}).items()][:3]}
    {'mean': 14.5, 'low': 13.7, 'high': 15.3}
    """

    predicts_numbers = True
    has_targets = False
    model: Any  # a `BayesRegressor`

    def __init__(
        self,
        learner: Any,
        level: float | None = None,
        written: Amount | Mapping[str, Amount] | None = None,
        max_names: int | None = None,
    ) -> None:
        self.level = LEVEL if level is None else level
        ends_of(self.level)
        self._written = Amount() if written is None else written
        super().__init__(learner, self.point_of, max_names)

    def _serve(self, learner: Any) -> None:
        self.model = learner
        self._holds = isinstance(learner, AdaptiveRegression)
        self.answer, self.learn, self.predict_then_learn = self._answer, self._learn, self._predict_then_learn
        self.is_timed = learner.store.tables.timed
        self._limit = None if self._max_names is None else NameLimit(learner, self._max_names)

    def work(self) -> bool:
        return False

    @staticmethod
    def point_of(answer: LabelProbabilities) -> Any:
        """Return the prediction in an answer; None for an event that was not answered."""
        return mean_of(answer)

    def read_label(self, y: Any) -> Any:
        """Return a label as a number: texts are read as cells of a table are.

        Raises
        ------
        BadLabel
            If it is none, or not finite.
        """
        assert isinstance(self._written, Amount)
        return float(read_target(read_text(y, self._written, "label")))

    def _answer(self, x: Any) -> LabelProbabilities:
        learner = self.model
        if not learner.clock:
            return {}
        return number_answer(learner.predict_one(x), learner.predict_distribution_one(x), self.level)

    def _learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> None:
        self._check(self.model.features_of(x) if self._holds else x)
        if self.is_timed:
            self.model.learn_one(x, self.target_of(y), w, at)
        else:
            self.model.learn_one(x, self.target_of(y), w)

    def target_of(self, label: Any) -> Any:
        """Return what the model learns of a label that was read."""
        return label

    def _predict_then_learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> LabelProbabilities:
        answer = self.answer(x)
        self._learn(x, y, w, at)
        return answer

    def process(
        self,
        xs: Sequence[Any],
        ys: Sequence[Any],
        ws: Sequence[float],
        ats: Sequence[float | None] | None = None,
        /,
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        """Predict and learn samples sequentially, up to one that is refused or after which the drift log has an entry;
        only predict those without a label.
        """
        drifts = self.drifts
        entries = 0 if drifts is None else drifts.added
        return process_one_by_one(
            self.answer,
            self._predict_then_learn,
            xs,
            ys,
            ws,
            ats,
            lambda: drifts is not None and drifts.added != entries,
        )

    # -- drift --------------------------------------------------------------------------------------------------------

    @property
    def _adaptive(self) -> DriftAdaptiveRegression | None:
        return self.model if isinstance(self.model, DriftAdaptiveRegression) else None

    @property
    def drifts(self) -> DriftLog | None:  # type: ignore[override]  # None elsewhere
        return None if self._adaptive is None else self._adaptive.log

    @property
    def drift_state(self) -> str | None:  # type: ignore[override]  # None elsewhere
        return None if self._adaptive is None else self._adaptive.state_

    @property
    def generation(self) -> int:  # type: ignore[override]  # a constant elsewhere
        return 0 if self._adaptive is None else self._adaptive.generation

    # -- late labels and corrections ----------------------------------------------------------------------------------

    def hold(self, x: Any) -> Any:
        return self.model.hold(x) if self._holds else x

    def content(self, x: Any) -> Payload:
        return plain(self.model.features_of(x) if self._holds else x)

    @property
    def _is_summed(self) -> bool:
        """True if what the model learned is a sum, so that it unlearns."""
        return isinstance(self.model, SummedRegressor)

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        if not self._is_summed:
            return f"in a pipeline, {self.name} cannot unlearn; take bayesian-regression"
        if is_read_again and self.model.half_life is not None:
            return (
                f"a {self.name} with half_life unlearns a sample by the moment at which it was learned, which only "
                "remembered samples have; raise labels.most_correctable and correct_within"
            )
        return None

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        if not self._is_summed:
            raise NotSupported(f"in a pipeline, {self.name} cannot unlearn; take bayesian-regression")
        moment: float | None = None
        if self.is_timed and clock is not None:
            moment = clock * MICROSECOND
        elif self.model.half_life is not None:
            moment = clock
        self.model.unlearn_one(content, self.target_of(y), w, moment)

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        if not self._is_summed:
            raise NotSupported(f"{self.name} cannot correct what it learned; take bayesian-regression")
        if self.is_timed and clock is not None:
            self.model.learn_one(content, self.target_of(y), w, clock * MICROSECOND)
        else:
            self.model.learn_one(content, self.target_of(y), w)
        try:
            self.unlearn(content, was, w, clock)
        except StreamBayesError:
            self.unlearn(content, y, w, clock if self.is_timed else self.clock)
            raise
