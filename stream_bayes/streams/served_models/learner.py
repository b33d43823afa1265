"""A classifier of this package as the engine uses it: a sample is encoded once, to predict and to learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream_bayes.core.values.payloads import Payload, plain
from stream_bayes.errors import BadState, StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.learners.base.edges import learner_within
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.base.samples import process_samples
from stream_bayes.learners.base.state import saved_parameter
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.streams.served_models.answers import (
    AnswerColumns,
    BatchAnswers,
    LabelProbabilities,
    process_one_by_one,
)
from stream_bayes.streams.served_models.corrections import relabel, unlearn, unlearning_fault
from stream_bayes.streams.served_models.name_limit import NameLimit

__all__ = ["ServedLearner", "settings_of"]


class ServedLearner:
    """A classifier of this package.

    Loading a state replaces `model`. `decide` makes a decision from the probabilities. `max_names` is the most feature
    names to learn; see `NameLimit`.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = ServedLearner(NaiveBayes())
    >>> model.predict_then_learn({"sky": "grey"}, "rain", 1.0), model.answer({"sky": "grey"})
    ({}, {'rain': 1.0})
    """

    def __init__(
        self,
        learner: BayesClassifier | BayesRegressor,
        decide: Callable[[LabelProbabilities], Any] | None = None,
        max_names: int | None = None,
    ) -> None:
        self.name = type(learner).__name__
        self._max_names = max_names
        self.decide: Callable[[LabelProbabilities], Any] = most_probable if decide is None else decide
        self._settings = settings_of(learner)
        self._serve(learner)

    def _serve(self, learner: Any) -> None:
        self.model: Any = learner  # typed here, a subclass of numbers could not have its own
        # As attributes of their own: looking a method up through two objects costs a tenth of predicting.
        self.answer: Callable[..., LabelProbabilities] = learner.predict_proba_one
        self.learn: Callable[..., None] = learner.learn_one
        self.predict_then_learn: Callable[..., LabelProbabilities] = learner.predict_learn_one
        self.is_timed = learner.store.tables.timed
        self._limit = None if self._max_names is None else NameLimit(learner, self._max_names)
        if self._limit is not None:
            self.learn = self._learn_within_limit
            self.predict_then_learn = self._predict_then_learn_within_limit

    def _learn_within_limit(self, x: Any, y: Any, w: float, at: float | None = None, /) -> None:
        self._check(x)
        self.model.learn_one(x, y, w, at)

    def _predict_then_learn_within_limit(
        self, x: Any, y: Any, w: float, at: float | None = None, /
    ) -> LabelProbabilities:
        self._check(x)
        return self.model.predict_learn_one(x, y, w, at)

    def _check(self, x: Any) -> None:
        """Raise `BadValue` for a sample beyond the limit of names."""
        if self._limit is not None:
            self._limit.check(x)

    def _moments(
        self, ys: Sequence[Any], ats: Sequence[float | None] | None
    ) -> tuple[list[int], StreamBayesError | None]:
        """Return the times of samples in microseconds, up to the first that has none; its error.

        A sample that is not learned has time 0.
        """
        moments: list[int] = []
        for y, at in zip(ys, [None] * len(ys) if ats is None else ats, strict=True):
            try:
                moments.append(0 if y is None else self.model.store.moment(at))
            except StreamBayesError as error:
                return moments, error
        return moments, None

    def process(
        self,
        xs: Sequence[Any],
        ys: Sequence[Any],
        ws: Sequence[float],
        ats: Sequence[float | None] | None = None,
        /,
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        if self.model.unlabelled == "em":
            return process_one_by_one(
                self.answer, self.predict_then_learn, xs, ys, ws, learns_unlabelled=True
            )
        refused: StreamBayesError | None = None
        if self._limit is not None and (admitted := self._limit.admitted(xs, ys)) < len(xs):
            xs, ys, ws = xs[: max(admitted, 1)], ys[: max(admitted, 1)], ws[: max(admitted, 1)]
            if not admitted:
                try:
                    self._limit.check(xs[0])
                except StreamBayesError as error:
                    xs, ys, ws, refused = [], [], [], error
        moments = None
        if self.is_timed:
            moments, untimely = self._moments(ys, None if ats is None else ats[: len(xs)])
            if untimely is not None:
                xs, ys, ws, refused = xs[: len(moments)], ys[: len(moments)], ws[: len(moments)], untimely
        answers, fault = process_samples(self.model, xs, ys, ws, moments)
        return AnswerColumns(answers, self.model.store.encoder.labels.values), fault or refused

    @property
    def clock(self) -> int | None:
        return int(self.model.store.tables.learned_at) if self.is_timed else self.model.clock

    drifts = None
    drift_state = None
    generation = 0
    is_unsupervised = False
    predicts_numbers = False

    def hold(self, x: Any) -> Any:
        return x

    def content(self, x: Any) -> Payload:
        return plain(x)

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        relabel(self.model, content, was, y, w, clock)

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        unlearn(self.model, content, y, w, clock)

    def work(self) -> bool:
        network = learner_within(self.model)
        return isinstance(network, BayesNetClassifier) and network.work()

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        return unlearning_fault(self.model, is_read_again=is_read_again)

    def settings(self) -> dict[str, Any]:
        return self._settings

    def freeze(self) -> Callable[[], dict[str, Any]]:
        return self.model.content().state

    def load(self, state: Mapping[str, Any]) -> None:
        loaded = type(self.model).from_state(state)
        saved, ours = settings_of(loaded)["parameters"], self._settings["parameters"]
        others = [
            f"{name}={getattr(loaded, name)!r}, not {getattr(self.model, name)!r}"
            for name in ours
            if saved[name] != ours[name]
        ]
        if others:
            raise BadState(f"the state is of a {self.name} with other arguments: {', '.join(others)}")
        self._serve(loaded)


def settings_of(learner: BayesClassifier | BayesRegressor) -> dict[str, Any]:
    """Return a learner's class and arguments as JSON values."""
    parameters = {name: saved_parameter(value) for name, value in learner._get_params().items()}
    return {"learner": type(learner).__name__, "parameters": parameters}
