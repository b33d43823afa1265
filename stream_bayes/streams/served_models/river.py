"""Classifiers and pipelines of River as the engine uses them, with and without drift detection."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from river import base, compose

from stream_bayes.core.values.inputs import check_class
from stream_bayes.core.values.payloads import Payload, plain
from stream_bayes.core.values.values import shown
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.log import DriftLog
from stream_bayes.error_origin import is_bug
from stream_bayes.errors import BadValue, CannotSave, NotSupported, StreamBayesError
from stream_bayes.learners.adaptive.adaptive_bayes import AdaptiveBayes
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.learners.wrappers.deciding_classifier import DecidingClassifier
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey
from stream_bayes.saving.river.model_state import (
    configuration_digest,
    fix_order,
    model_content,
    restore_model,
)
from stream_bayes.streams.served_models.answers import BatchAnswers, LabelProbabilities, process_one_by_one
from stream_bayes.streams.served_models.background import Background
from stream_bayes.streams.served_models.corrections import Correctable, relabel, unlearn, unlearning_fault

__all__ = ["ServedAdaptive", "ServedRiver", "refusals"]

CHECK_LABELS = (BayesClassifier, AdaptiveBayes, ModelPerKey, DriftAdaptive)  # they refuse measurements


class ServedRiver:
    """A classifier or pipeline of River.

    If its last step is a classifier of this package, samples can be unlearned: their features are stored as that step
    received them. The transformers before it keep what they have learned. Loading a state replaces `model`. `decide`
    makes a decision from the probabilities.

    Examples
    --------
    >>> from river import preprocessing
    >>> from stream_bayes import GaussianNB
    >>> model = ServedRiver(preprocessing.StandardScaler() | GaussianNB())
    >>> model.learn({"height": 1.5}, "short", 1.0)
    >>> model.answer({"height": 1.6}), model.content({"height": 1.5})
    ({'short': 1.0}, {'height': 0.0})
    """

    generation = 0
    is_unsupervised = False
    predicts_numbers = False
    is_timed = False
    drifts: DriftLog | None = None
    drift_state: str | None = None

    def __init__(
        self, model: base.Estimator, decide: Callable[[LabelProbabilities], Any] | None = None
    ) -> None:
        self.name = type(model).__name__
        self.decide: Callable[[LabelProbabilities], Any] = most_probable if decide is None else decide
        self.model: Any = model
        # A model that no snapshot can hold still runs; a pipeline with snapshots refuses it at the first one.
        with suppress(CannotSave):
            fix_order(model)
        self._weighted = (
            isinstance(self._last, BayesClassifier)
            or "w" in inspect.signature(self._last.learn_one).parameters
        )

    @property
    def _last(self) -> Any:
        """The step that classifies."""
        model = self.model
        while issubclass(type(model), (compose.Pipeline, DecidingClassifier)):
            model = model[-1] if issubclass(type(model), compose.Pipeline) else model.classifier
        return model

    @property
    def _learner(self) -> Correctable:
        last = self._last
        if not isinstance(last, Correctable):
            raise NotSupported(f"{type(last).__name__} cannot unlearn")
        return last

    @property
    def clock(self) -> int | None:
        last = self._last
        return last.clock if isinstance(last, Correctable) else None

    def answer(self, x: Any) -> LabelProbabilities:
        with refusals(self.name, x):
            return dict(self.model.predict_proba_one(x))

    def learn(self, x: Any, y: Any, w: float) -> None:
        if w != 1.0 and not self._weighted:
            raise NotSupported(f"{type(self._last).__name__} takes no weights; this sample has {w!r}")
        with refusals(self.name, x):
            if isinstance(y, float) and not isinstance(self._last, CHECK_LABELS):
                classes = self.model.predict_proba_one(x)
                if y not in classes:
                    check_class(y, classes)
            if w == 1.0:
                self.model.learn_one(x, y)
            else:
                self.model.learn_one(x, y, w=w)

    def predict_then_learn(self, x: Any, y: Any, w: float) -> LabelProbabilities:
        answer = self.answer(x)
        if y is not None or answer:  # before the first class, an event without a label tells nothing
            self.learn(x, y, w)
        return answer

    def process(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        learns = getattr(self._last, "unlabelled", "refuse") == "em"
        return process_one_by_one(self.answer, self.predict_then_learn, xs, ys, ws, learns_unlabelled=learns)

    def hold(self, x: Any) -> Any:
        return x

    def content(self, x: Any) -> Payload:
        return plain(self.model.transform_one(x) if isinstance(self.model, compose.Pipeline) else x)

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        relabel(self._learner, content, was, y, w, clock)

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        unlearn(self._learner, content, y, w, clock)

    def work(self) -> bool:
        return False

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        if is_read_again and isinstance(self.model, compose.Pipeline):
            return (
                "a pipeline of transformers has learned since, and would give other features now: only remembered "
                "samples can be unlearned; raise labels.most_correctable and correct_within"
            )
        return unlearning_fault(self._last, is_read_again=is_read_again)

    def settings(self) -> dict[str, Any]:
        try:
            return {"learner": self.name, "steps": configuration_digest(self.model)}
        except StreamBayesError:  # no snapshot can hold it; taking one raises the reason
            return {"learner": self.name}

    def freeze(self) -> Callable[[], dict[str, Any]]:
        return model_content(self.model).state

    def load(self, state: Mapping[str, Any]) -> None:
        self.model = restore_model(self.model, state)


class ServedAdaptive(ServedRiver):
    """A classifier with drift detection, with or without transformers before it.

    A batch ends at a sample that caused a drift entry: later samples may be answered by another model, and each output
    names its model. Searches run in the background, and are timed.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = ServedAdaptive(DriftAdaptive(NaiveBayes()))
    >>> model.predict_then_learn({"sky": "grey"}, "rain", 1.0), model.generation, model.drifts.entries
    ({}, 0, [])
    """

    def __init__(
        self, model: base.Estimator, decide: Callable[[LabelProbabilities], Any] | None = None
    ) -> None:
        super().__init__(model, decide)
        self._search_in_background()

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._search_in_background()

    def _search_in_background(self) -> None:
        self.adaptive.log.timer = time.perf_counter
        self.adaptive.search_on(Background())

    @property
    def adaptive(self) -> DriftAdaptive:
        """The part that detects drift."""
        return self._last

    @property
    def generation(self) -> int:  # type: ignore[override]  # a constant elsewhere
        return self.adaptive.generation

    @property
    def drifts(self) -> DriftLog:  # type: ignore[override]  # None elsewhere
        return self.adaptive.log

    @property
    def drift_state(self) -> str:  # type: ignore[override]  # None elsewhere
        return self.adaptive.state_

    def work(self) -> bool:
        return self.adaptive.work()

    def predict_then_learn(self, x: Any, y: Any, w: float) -> LabelProbabilities:
        if self.model is not self.adaptive:
            return super().predict_then_learn(x, y, w)
        with refusals(self.name, x):
            answer: LabelProbabilities = self.adaptive.predict_learn_one(x, y, w)
        return answer

    def process(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        drifts = self.drifts
        added_before = drifts.added
        return process_one_by_one(
            self.answer, self.predict_then_learn, xs, ys, ws, is_last=lambda: drifts.added != added_before
        )


@contextmanager
def refusals(name: str, x: Any) -> Iterator[None]:
    """Turn the errors of River's classifiers for an event into `BadValue`. Bugs of this package pass."""
    try:
        yield
    except StreamBayesError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        if is_bug(error):
            raise
        detail = f"{name} refuses the event: {type(error).__name__}: {error}"
        texts = [key for key, value in x.items() if isinstance(value, str)] if isinstance(x, Mapping) else []
        if texts and isinstance(error, (TypeError, ValueError)):
            detail += (
                f"; {shown(texts)} hold text: if a step accepts only numbers, leave them out (ignore, or the "
                "transformer select), or declare them numeric in [schema.features]"
            )
        raise BadValue(detail) from error
