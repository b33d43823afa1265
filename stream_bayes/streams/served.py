"""The one thing the engine does with a model, whatever it is: answer, learn, take back, save.

Served            what the engine asks for
ServedLearner     a classifier of this package: a sample is encoded once for both, and can be taken back
ServedRiver       a classifier or pipeline of River: what it can do depends on its last step
ServedAdaptive    one whose last step swaps the model that answers, and keeps a log of it
ServedFilter      the spam filter, in a file of its own
"""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from river import base, compose

from stream_bayes.core.payloads import Payload, plain
from stream_bayes.core.values import shown
from stream_bayes.errors import BadState, BadValue, CannotSave, NotSupported, StreamBayesError
from stream_bayes.learners.adaptive import DriftAdaptive
from stream_bayes.learners.base import BayesClassifier, most_probable
from stream_bayes.learners.deciding import DecidingClassifier
from stream_bayes.learners.drift_log import DriftLog
from stream_bayes.learners.saving import saved_parameter
from stream_bayes.learners.taking import take_samples
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.river_state.pipelines import (
    configuration_digest,
    pipeline_content,
    restore_pipeline,
    settle,
)
from stream_bayes.streams.answers import Answer, AnswerColumns, Answers, taken_one_by_one
from stream_bayes.streams.background import Background
from stream_bayes.streams.served_filter import ServedFilter

__all__ = ["Served", "ServedAdaptive", "ServedLearner", "ServedRiver", "digest", "served"]


class Served(Protocol):
    """A model behind the engine.

    Attributes
    ----------
    name
        The name of its class, for snapshots.
    """

    name: str

    def answer(self, x: Any, /) -> Answer:
        """The probability of each label; nothing is learned."""
        ...

    def learn(self, x: Any, y: Any, w: float, /) -> None:
        """Learn a sample."""
        ...

    def answer_and_learn(self, x: Any, y: Any, w: float, /) -> Answer:
        """The probability of each label before the sample is learned; then learn it."""
        ...

    def take(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[Answers, StreamBayesError | None]:
        """Answer and learn samples one after the other, up to one that is refused; answer those without label.

        Returns
        -------
        The answers to those that were taken, and why the next one was refused; None if all were taken.
        """
        ...

    def decide(self, answer: Answer, /) -> Any:
        """What is said, given the probabilities."""
        ...

    @property
    def clock(self) -> int | None:
        """What its clock says, if it has one: what `unlearn` is to be told later."""
        ...

    @property
    def generation(self) -> int:
        """How often the model that answers was swapped for another."""
        ...

    @property
    def drifts(self) -> DriftLog | None:
        """What became of each drift; None of a model that looks for none."""
        ...

    def content(self, x: Any) -> Payload:
        """What was learned of a sample just now, so that it can be taken back."""
        ...

    def relearn(self, content: Payload, y: Any, w: float) -> None:
        """Learn what was learned, with another label."""
        ...

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        """Take back what was learned."""
        ...

    def settings(self) -> dict[str, Any]:
        """Its class and arguments, as JSON: two models of the same can go on from one another's states."""
        ...

    def freeze(self) -> Callable[[], dict[str, Any]]:
        """Everything it is now; what is returned makes the section of a snapshot of it, later and in any thread."""
        ...

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; `BadState` for whatever is wrong with it."""
        ...


class ServedLearner:
    """A classifier of this package.

    Parameters
    ----------
    learner
        The classifier. It is replaced when a state is loaded: see `learner` then.
    decide
        What is said, given the probabilities.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = ServedLearner(NaiveBayes())
    >>> model.answer_and_learn({"sky": "grey"}, "rain", 1.0), model.answer({"sky": "grey"})
    ({}, {'rain': 1.0})
    """

    def __init__(self, learner: BayesClassifier, decide: Callable[[Answer], Any] | None = None) -> None:
        self.name = type(learner).__name__
        self.decide: Callable[[Answer], Any] = most_probable if decide is None else decide
        self._settings = settings_of(learner)
        self._serve(learner)

    def _serve(self, learner: BayesClassifier) -> None:
        self.learner = learner
        # As attributes of their own: looking a method up through two objects costs a tenth of predicting.
        self.answer: Callable[..., Answer] = learner.predict_proba_one
        self.learn: Callable[..., None] = learner.learn_one
        self.answer_and_learn: Callable[..., Answer] = learner.predict_learn_one

    def take(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[Answers, StreamBayesError | None]:
        answers, refused = take_samples(self.learner, xs, ys, ws)
        return AnswerColumns(answers, self.learner._store.encoder.labels.values), refused

    @property
    def clock(self) -> int | None:
        return self.learner.clock

    drifts = None
    generation = 0

    def content(self, x: Any) -> Payload:
        return plain(x)

    def relearn(self, content: Payload, y: Any, w: float) -> None:
        self.learner.learn_one(content, y, w)

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        self.learner.unlearn_one(content, y, w, clock if self.learner.half_life is not None else None)

    def settings(self) -> dict[str, Any]:
        return self._settings

    def freeze(self) -> Callable[[], dict[str, Any]]:
        return self.learner.content().state

    def load(self, state: Mapping[str, Any]) -> None:
        loaded = type(self.learner).from_state(state)
        saved, own = settings_of(loaded)["parameters"], self._settings["parameters"]
        others = [f"{name}={saved[name]!r}, not {own[name]!r}" for name in own if saved[name] != own[name]]
        if others:
            raise BadState(f"the state is of a {self.name} with other arguments: {', '.join(others)}")
        self._serve(loaded)


class ServedRiver:
    """A classifier of River, or a pipeline, whose last step may be a classifier of this package.

    Where it is, what was learned can be taken back: the features are kept as the last step saw them. The transformers
    before it are not taken back.

    Parameters
    ----------
    model
        The classifier or pipeline. It is replaced when a state is loaded: see `model` then.
    decide
        What is said, given the probabilities.

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
    drifts: DriftLog | None = None

    def __init__(self, model: base.Estimator, decide: Callable[[Answer], Any] | None = None) -> None:
        self.name = type(model).__name__
        self.decide: Callable[[Answer], Any] = most_probable if decide is None else decide
        self.model: Any = model
        with suppress(
            CannotSave
        ):  # it can run; a pipeline that keeps snapshots refuses it when it takes the first
            settle(model)
        self._weighted = isinstance(self._last, BayesClassifier) or "w" in _parameters(self._last)

    @property
    def _last(self) -> Any:
        """The step that classifies."""
        model = self.model
        while isinstance(model, (compose.Pipeline, DecidingClassifier)):
            model = model._last_step if isinstance(model, compose.Pipeline) else model.classifier
        return model

    @property
    def _learner(self) -> BayesClassifier:
        last = self._last
        if not isinstance(last, BayesClassifier):
            raise NotSupported(f"{type(last).__name__} cannot take back what it has learned")
        return last

    @property
    def clock(self) -> int | None:
        last = self._last
        return last.clock if isinstance(last, BayesClassifier) else None

    def answer(self, x: Any) -> Answer:
        with _refusals(self.name, x):
            return dict(self.model.predict_proba_one(x))

    def learn(self, x: Any, y: Any, w: float) -> None:
        if w != 1.0 and not self._weighted:
            raise NotSupported(f"{type(self._last).__name__} takes no weights; this sample has {w!r}")
        with _refusals(self.name, x):
            if w == 1.0:
                self.model.learn_one(x, y)
            else:
                self.model.learn_one(x, y, w=w)

    def answer_and_learn(self, x: Any, y: Any, w: float) -> Answer:
        answer = self.answer(x)
        self.learn(x, y, w)
        return answer

    def take(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[Answers, StreamBayesError | None]:
        return taken_one_by_one(self.answer, self.answer_and_learn, xs, ys, ws)

    def content(self, x: Any) -> Payload:
        return plain(self.model.transform_one(x) if isinstance(self.model, compose.Pipeline) else x)

    def relearn(self, content: Payload, y: Any, w: float) -> None:
        self._learner.learn_one(content, y, w)

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        learner = self._learner
        learner.unlearn_one(content, y, w, clock if learner.half_life is not None else None)

    def settings(self) -> dict[str, Any]:
        try:
            return {"learner": self.name, "steps": configuration_digest(self.model)}
        except StreamBayesError:  # as it holds what no snapshot can; where one is to be taken, that says so
            return {"learner": self.name}

    def freeze(self) -> Callable[[], dict[str, Any]]:
        return pipeline_content(self.model).state

    def load(self, state: Mapping[str, Any]) -> None:
        self.model = restore_pipeline(self.model, state)


class ServedAdaptive(ServedRiver):
    """A classifier that follows drift, behind transformers or not.

    Samples are taken together up to one that a drift was noticed at, or a model swapped: what comes after it is
    answered by another model, and what is written of either says which. Searches run beside the stream, and are timed.

    Parameters
    ----------
    model, decide
        As of `ServedRiver`.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = ServedAdaptive(DriftAdaptive(NaiveBayes()))
    >>> model.answer_and_learn({"sky": "grey"}, "rain", 1.0), model.generation, model.drifts.entries
    ({}, 0, [])
    """

    def __init__(self, model: base.Estimator, decide: Callable[[Answer], Any] | None = None) -> None:
        super().__init__(model, decide)
        self._search_beside()

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._search_beside()

    def _search_beside(self) -> None:
        self.adaptive.log.timer = time.perf_counter
        self.adaptive.search_on(Background())

    @property
    def adaptive(self) -> DriftAdaptive:
        """What notices drift."""
        adaptive: DriftAdaptive = self._last
        return adaptive

    @property
    def generation(self) -> int:  # type: ignore[override]  # others have one for good
        return self.adaptive.generation

    @property
    def drifts(self) -> DriftLog:  # type: ignore[override]  # others have none
        return self.adaptive.log

    def answer_and_learn(self, x: Any, y: Any, w: float) -> Answer:
        if self.model is not self.adaptive:
            return super().answer_and_learn(x, y, w)
        with _refusals(self.name, x):
            answer: Answer = self.adaptive.predict_learn_one(x, y, w)
        return answer

    def take(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[Answers, StreamBayesError | None]:
        drifts = self.drifts
        known = drifts.added
        return taken_one_by_one(self.answer, self.answer_and_learn, xs, ys, ws, lambda: drifts.added != known)


@contextmanager
def _refusals(name: str, x: Any) -> Iterator[None]:
    """What River's classifiers raise for an event they cannot use, as a refusal of this event."""
    try:
        yield
    except StreamBayesError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        told = f"{name} refuses the event: {type(error).__name__}: {error}"
        texts = [key for key, value in x.items() if isinstance(value, str)] if isinstance(x, Mapping) else []
        if texts and isinstance(error, (TypeError, ValueError)):
            told += (
                f"; {shown(texts)} hold text: where a step takes numbers alone, leave them out (ignore, or the "
                "transformer select), or declare them numeric in [schema.features]"
            )
        raise BadValue(told) from error


def _parameters(model: Any) -> Any:
    return inspect.signature(model.learn_one).parameters


def served(model: Any) -> Served:
    """The model as the engine serves it.

    Raises
    ------
    BadValue
        If it is no classifier, or no pipeline that ends in one.
    """
    inner: Any = model.classifier if isinstance(model, DecidingClassifier) else model
    decide = model.rule.decide if isinstance(model, DecidingClassifier) else None
    if issubclass(type(inner), SpamFilter):
        return ServedFilter(inner)
    if issubclass(type(inner), BayesClassifier):  # to isinstance, a pipeline of River is whatever it ends in
        return ServedLearner(inner, decide)
    last = inner._last_step if isinstance(inner, compose.Pipeline) else inner
    if isinstance(last, DriftAdaptive):
        return ServedAdaptive(model, decide)
    if isinstance(last, base.Classifier):
        return ServedRiver(model, decide)
    raise BadValue(f"expected a classifier, or a pipeline that ends in one, got {type(model).__name__}")


def settings_of(learner: BayesClassifier) -> dict[str, Any]:
    """A learner's class and arguments, as JSON."""
    parameters = {name: saved_parameter(value) for name, value in learner._get_params().items()}
    return {"learner": type(learner).__name__, "parameters": parameters}


def digest(settings: Any) -> str:
    """A short name for settings: the beginning of the SHA-256 of their JSON.

    Examples
    --------
    >>> digest({"learner": "NaiveBayes"})
    'fc833138f6358a71'
    """
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
