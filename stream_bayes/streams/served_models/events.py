"""Models of events without a label in the engine: they score, predict and learn each event, and forecast later ones.

`predict` names what is predicted of each event. A variable is predicted before the event is learned: from its other
values, or, of a chain, from the events before it. `sky@+2` is forecast once the event is learned: its value two events
later. `state` is the hidden state of the event, of a model that has hidden states.
"""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stream_bayes.checked_names import closest
from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.measures.variable_errors import VariableErrors
from stream_bayes.core.values.payloads import Payload
from stream_bayes.core.values.values import canonical, is_missing, shown
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.log import DriftLog
from stream_bayes.errors import (
    BadLabel,
    BadState,
    BadValue,
    BadWeight,
    BudgetExceeded,
    NotSupported,
    NoValueKnown,
    StreamBayesError,
)
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.learners.base.credible_intervals import ends_of
from stream_bayes.learners.base.state import saved_parameter
from stream_bayes.learners.sequences.hidden_markov import HiddenMarkov
from stream_bayes.learners.sequences.markov_chain import MarkovChain
from stream_bayes.networks.dynamic_network import DynamicNetwork
from stream_bayes.networks.latent_class import LatentClass
from stream_bayes.networks.mixed_network import MixedNetwork
from stream_bayes.saving.river.model_state import configuration_digest, model_content, restore_model
from stream_bayes.streams.served_models.answers import Decide, LabelProbabilities
from stream_bayes.streams.served_models.background import Background
from stream_bayes.streams.served_models.regressor import LEVEL, mean_of

__all__ = [
    "EVENT_CLASSES",
    "TIMELESS",
    "EventAnswers",
    "EventModel",
    "ServedEvents",
    "UnlabelledModel",
    "parameters_of",
    "value_of",
    "variables_of",
]

logger = logging.getLogger(__name__)

EventModel = MixedNetwork | LatentClass | DynamicNetwork | MarkovChain | HiddenMarkov
EVENT_CLASSES = (MixedNetwork, LatentClass, DynamicNetwork, MarkovChain, HiddenMarkov)
TIMELESS = (MixedNetwork, LatentClass)  # models of single events, whose order tells nothing
OF_NUMBERS = (MixedNetwork, LatentClass, HiddenMarkov, DynamicNetwork)  # models that may predict numbers, too
STATE = "state"  # the hidden state of an event, or its latent class


class EventAnswers:
    """The answers of a model without labels to a batch of events. `predict` names the variables that were predicted.

    Attributes
    ----------
    scores
        The surprise of each event; None if it was impossible, or could not be computed.
    surprises
        The same, but NaN if it could not be computed.
    novel
        For each event, the variables whose value was never learned before.
    p_values
        The p-value of each score, once it was added to the surprises before it; None without a score.
    """

    def __init__(self, predict: Sequence[Any]) -> None:
        self.predict = predict
        self.scores: list[float | None] = []
        self.surprises: list[float | None] = []
        self.novel: list[tuple[str, ...]] = []
        self.p_values: list[float | None] = []
        self._shares: list[tuple[LabelProbabilities, ...]] = []  # of each variable to predict
        self._truths: list[tuple[Any, ...]] = []
        self._numbers: list[tuple[tuple[str, LabelProbabilities, float], ...]] = []

    def add(
        self,
        score: float,
        novel: Iterable[Any],
        shares: Iterable[LabelProbabilities],
        truths: Iterable[Any],
        numbers: Iterable[tuple[str, LabelProbabilities, float]] = (),
    ) -> None:
        """Add the answer to an event; a score of NaN could not be computed.

        `truths` are the names that it had, None for what is not scored by names; `numbers` are the variables with
        numbers, with their answers and the numbers that it had.
        """
        self.scores.append(score + 0.0 if score < math.inf else None)  # never -0.0
        self.surprises.append(score if math.isnan(score) else self.scores[-1])
        self.novel.append(tuple(map(str, novel)))
        self._shares.append(tuple(shares))
        self._truths.append(tuple(truths))
        self._numbers.append(tuple(numbers))

    def __len__(self) -> int:
        return len(self.scores)

    def named(self, name: Callable[[Any], str], /) -> list[Mapping[str, Any]]:
        named = [
            [{name(value): p for value, p in answer.items()} for answer in shares] for shares in self._shares
        ]
        return [self._one_or_all(answers, {}) for answers in named]

    def decide(self, decide: Decide, /) -> list[Any]:
        return [self._one_or_all([decide(answer) for answer in shares], None) for shares in self._shares]

    def _one_or_all(self, items: Sequence[Any], nothing: Any) -> Any:
        """Return the item of the only variable to predict, or those of all by name."""
        if len(self.predict) == 1:
            return items[0]
        return dict(zip(map(str, self.predict), items, strict=True)) if items else nothing

    def newest(self, number: int, /) -> EventAnswers:
        part, start = EventAnswers(self.predict), max(0, len(self) - number)
        part.scores, part.novel = self.scores[start:], self.novel[start:]
        part.surprises, part.p_values = self.surprises[start:], self.p_values[start:]
        part._shares, part._truths = self._shares[start:], self._truths[start:]
        part._numbers = self._numbers[start:]
        return part

    def score(self, losses: Losses, labels: Sequence[Any], weights: Sequence[float], /) -> None:
        """Score the predictions of variables that the events had; of several variables, with the variable's name."""
        is_one = len(self.predict) == 1
        for shares, truths, weight in zip(self._shares, self._truths, weights, strict=True):
            for variable, answer, truth in zip(self.predict, shares, truths, strict=True):
                if truth is None:
                    continue
                if is_one:
                    losses.update(truth, answer, ..., weight)
                else:
                    named = {f"{variable}={value}": p for value, p in answer.items()}
                    losses.update(f"{variable}={truth}", named, ..., weight)

    def score_numbers(self, errors: VariableErrors, weights: Sequence[float], /) -> None:
        """Score the predictions of numbers that the events had."""
        for numbers, weight in zip(self._numbers, weights, strict=True):
            errors.add(numbers, weight)


class UnlabelledModel(ABC):
    """A model of events without a label: what it has to say to those who ask for labels."""

    is_unsupervised = True
    predicts_numbers = False
    name: str
    level: float | None = None  # of the intervals of numbers, of a model that predicts some

    @abstractmethod
    def learn(self, x: Any, y: Any, w: float, /) -> None:
        """Learn an event."""

    def decide(self, answer: LabelProbabilities, /) -> Any:
        return most_probable(answer)

    def check_label(self, y: Any) -> None:
        """Raise `BadLabel` if an event has a label."""
        if y is not None:
            raise BadLabel(
                f"a {self.name} has no class, but the event has the label {shown(y)}; leave target out, or use a "
                "BayesNetClassifier"
            )

    def work(self) -> bool:
        return False

    def _has_no_label(self, so_that: str) -> NotSupported:
        return NotSupported(f"a {self.name} has no class, so that {so_that}")

    def answer(self, x: Any, /) -> LabelProbabilities:
        raise self._has_no_label("it answers no single event by the label")

    def predict_then_learn(self, x: Any, y: Any, w: float, /) -> LabelProbabilities:
        raise self._has_no_label("no label can follow an event later")

    def hold(self, x: Any) -> Any:
        raise self._has_no_label("its events wait for no labels")

    def content(self, x: Any) -> Payload:
        raise self._has_no_label("no label can be corrected")

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        raise self._has_no_label("no label can be corrected")

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        raise NotSupported(f"events of a {self.name} are not kept by key")

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        return f"a {self.name} without a class has no labels to take back"


class PredictedNumber(dict[str, float]):
    """The answer for a number: its mean, and the low and high end of its interval."""


class Anticipated(NamedTuple):
    """An entry of `predict`: a variable of the event, or of the event `ahead` of it, or the hidden state."""

    name: str
    variable: Any
    ahead: int
    is_state: bool = False


class ServedEvents(UnlabelledModel):
    """A model of `EVENT_CLASSES`, or a network of these that a `DriftAdaptive` replaces. Events are scored, then
    learned. Loading a state replaces `model`. `level` is the level of the intervals of numbers.

    Examples
    --------
    >>> served = ServedEvents(MarkovChain("sky"), predict=["sky", "sky@+1"])
    >>> events = 10 * [{"sky": "dry"}, {"sky": "wet"}]
    >>> answers, refused = served.process(events, [None] * 20, [1.0] * 20)
    >>> {name: round(shares["wet"], 2) for name, shares in answers.named(str)[-1].items()}
    {'sky': 0.95, 'sky@+1': 0.05}
    """

    def __init__(
        self, whole: EventModel | DriftAdaptive, predict: Sequence[Any] = (), level: float | None = None
    ) -> None:
        self.name = type(whole).__name__
        self._serve(whole)
        model: Any = self.answering
        if _predicts_numbers(model):
            self.level = LEVEL if level is None else level
            ends_of(self.level)
        elif level is not None:
            raise BadValue(f"intervals: a {self.name} predicts no numbers; leave the level out")
        self.anticipated = [_anticipated(model, name) for name in predict]
        self._hidden = frozenset(each.variable for each in self.anticipated if not each.ahead)
        self.is_timed = any(getattr(model, name, None) is not None for name in ("pause", "step"))
        self._warned: set[str] = set()
        self._parameters = parameters_of(model)
        self._settings: dict[str, Any] = {"learner": self.name, "predict": list(predict)}
        if isinstance(whole, DriftAdaptive):
            self._settings["steps"] = configuration_digest(whole)
        else:
            self._settings["parameters"] = self._parameters

    def _serve(self, model: EventModel | DriftAdaptive) -> None:
        self.model: Any = model
        if isinstance(model, DriftAdaptive):
            model.log.timer = time.perf_counter
            model.search_on(Background())

    @property
    def answering(self) -> Any:
        """The model that answers at present."""
        return self.model.model_ if isinstance(self.model, DriftAdaptive) else self.model

    @property
    def drifts(self) -> DriftLog | None:
        """The drift log; None without a `DriftAdaptive`."""
        return self.model.log if isinstance(self.model, DriftAdaptive) else None

    @property
    def drift_state(self) -> str | None:
        """The state of the `DriftAdaptive`; None without one."""
        return self.model.state_ if isinstance(self.model, DriftAdaptive) else None

    @property
    def generation(self) -> int:
        """The number of models that were adopted."""
        return self.model.generation if isinstance(self.model, DriftAdaptive) else 0

    def process(
        self,
        xs: Sequence[Any],
        ys: Sequence[Any],
        ws: Sequence[float],
        ats: Sequence[float | None] | None = None,
        /,
    ) -> tuple[EventAnswers, StreamBayesError | None]:
        """Score, predict and learn events sequentially, up to one that is refused."""
        answers = EventAnswers([each.name for each in self.anticipated])
        reported = 0 if self.drifts is None else self.drifts.added
        try:
            for x, y, w, at in zip(xs, ys, ws, [None] * len(xs) if ats is None else ats, strict=True):
                self.check_label(y)
                log_likelihood, novel = self._judge(x, at)
                present = [None if each.ahead else self._predict(x, each, at) for each in self.anticipated]
                self.learn(x, None, w, at)
                shares = [
                    self.forecast(x, each, at) if now is None else now
                    for each, now in zip(self.anticipated, present, strict=True)
                ]
                numbers = [
                    (each.name, answer, number)
                    for each, answer in zip(self.anticipated, shares, strict=True)
                    if (number := self._number(x, each)) is not None
                ]
                truths = [self._truth(x, each) for each in self.anticipated]
                answers.add(-log_likelihood, novel, shares, truths, numbers)
                if self.drifts is not None and self.drifts.added != reported:
                    break  # the model has changed
        except StreamBayesError as error:
            return answers, error
        return answers, None

    def _judge(self, x: Any, at: float | None) -> tuple[float, Iterable[Any]]:
        """Return the log-likelihood of an event and its new values; NaN if it needs more memory than the budget."""
        try:
            judged: tuple[float, Iterable[Any]] = self.answering.log_likelihood_and_novel(x, *self._time(at))
        except BudgetExceeded as error:
            self._warn("no score of an event; it is learned all the same: %s", error)
            return math.nan, ()
        return judged

    def _warn(self, text: str, *details: Any) -> None:
        """Log a warning once; before any event is learned, nothing can be known."""
        if self.answering.clock and text not in self._warned:
            self._warned.add(text)
            logger.warning(text, *details)

    def _time(self, at: float | None) -> tuple[float | None, ...]:
        """Return the time of an event as an argument, to a model that has sequences."""
        return () if isinstance(self.answering, TIMELESS) else (at,)

    def learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> None:
        if isinstance(self.model, DriftAdaptive):
            self.model.learn_one(x, None, w, *self._time(at))
            return
        if not isinstance(self.answering, (HiddenMarkov, LatentClass)):
            self.answering.learn_one(x, w, *self._time(at))
            return
        if w != 1.0:
            raise BadWeight(f"a {self.name} learns each event once, and this one has the weight {w!r}")
        self.answering.learn_one(x, *self._time(at))

    def _predict(self, x: Any, wanted: Anticipated, at: float | None) -> LabelProbabilities:
        """Return the answer for a variable of an event that is not learned yet; empty if nothing is known."""
        model, variable = self.answering, wanted.variable
        if not self._has_come(wanted):
            return {}
        rest = {v: value for v, value in x.items() if v not in self._hidden} if isinstance(x, Mapping) else x
        try:
            if isinstance(model, (*TIMELESS, DynamicNetwork)):
                return self._of_mixed(model, rest, variable, self._time(at))
            answer = self._ahead(x, 1, variable, at)
            return self._number_of(answer) if isinstance(answer, StudentMixture) else answer
        except (BudgetExceeded, NoValueKnown) as error:
            self._warn(f"no prediction of {wanted.name}; its events are learned all the same: %s", error)
            return {}

    def forecast(self, x: Any, wanted: Anticipated, at: float | None = None) -> LabelProbabilities:
        """Return the answer for an event to come, or for the hidden state, once the event is learned."""
        answer = self.distribution(x, wanted, at)
        return self._number_of(answer) if isinstance(answer, StudentMixture) else answer

    def distribution(
        self, x: Any, wanted: Anticipated, at: float | None = None
    ) -> Mapping[Any, float] | StudentMixture:
        """Return the distribution that `forecast` answers from."""
        if wanted.is_state:
            is_timeless = isinstance(self.answering, LatentClass)
            states = self.answering.classify_one(x) if is_timeless else self.answering.filter_one(x, at)
            return {str(state): p for state, p in states.items()}
        if not self._has_come(wanted):
            return {}
        try:
            return self._ahead(x, wanted.ahead, wanted.variable, at)
        except (BudgetExceeded, NoValueKnown) as error:
            self._warn(f"no forecast of {wanted.name}; its events are learned all the same: %s", error)
            return {}

    def _has_come(self, wanted: Anticipated) -> bool:
        """Return True if an event had the variable, or the model names it; warn once if not."""
        if wanted.variable in variables_of(self.answering):
            return True
        self._warn(
            f"no prediction of {wanted.name}: no event has had {wanted.variable} yet; it may be misspelt in predict"
        )
        return False

    def _ahead(self, x: Any, k: int, variable: Any, at: float | None) -> LabelProbabilities | StudentMixture:
        model = self.answering
        return (
            model.forecast_one(k, x, at)
            if isinstance(model, MarkovChain)
            else model.forecast_one(k, x, at, variable)
        )

    def _of_mixed(
        self, model: Any, x: Mapping[Any, Any], variable: Any, time: tuple[float | None, ...]
    ) -> LabelProbabilities:
        if variable not in model.kinds:
            return {}
        if model.kinds[variable] == "nominal":
            return model.predict_proba_one(x, variable, *time)
        interval = model.predict_interval_one(x, variable, self.level, *time)
        if interval is None:
            return {}
        low, high = interval
        return PredictedNumber(mean=model.predict_one(x, variable, *time), low=low, high=high)

    def _number_of(self, forecast: StudentMixture) -> PredictedNumber:
        assert self.level is not None
        low, high = forecast.interval(self.level)
        return PredictedNumber(mean=forecast.mean, low=low, high=high)

    def _is_number(self, wanted: Anticipated) -> bool:
        """Return True if a variable of the event is a number, as far as is known."""
        has_kinds = isinstance(self.answering, OF_NUMBERS)
        return has_kinds and self.answering.kinds.get(wanted.variable) == "numeric"

    def _truth(self, x: Mapping[Any, Any], wanted: Anticipated) -> Any:
        """Return the name that a prediction of the event is scored by; None if it has none, or a number."""
        return None if wanted.ahead or self._is_number(wanted) else value_of(x.get(wanted.variable))

    def _number(self, x: Mapping[Any, Any], wanted: Anticipated) -> float | None:
        """Return the number that a prediction of the event is scored by; None if it has none."""
        value: Any = x.get(wanted.variable) if not wanted.ahead and self._is_number(wanted) else None
        return None if is_missing(value) else float(value)

    def decide(self, answer: LabelProbabilities, /) -> Any:
        """Return the most probable value, or the mean of a number."""
        return mean_of(answer) if isinstance(answer, PredictedNumber) else most_probable(answer)

    @property
    def clock(self) -> int | None:
        return self.answering.clock

    def settings(self) -> dict[str, Any]:
        return self._settings

    def freeze(self) -> Callable[[], dict[str, Any]]:
        if isinstance(self.model, DriftAdaptive):
            return model_content(self.model).state
        return self.model.content().state

    def load(self, state: Mapping[str, Any]) -> None:
        if isinstance(self.model, DriftAdaptive):
            self._serve(restore_model(self.model, state))
        else:
            self.model = loaded_model(self.model, self._parameters, state)


def _predicts_numbers(model: EventModel) -> bool:
    return isinstance(model, OF_NUMBERS) and (not isinstance(model, DynamicNetwork) or model.numbers)


def _anticipated(model: EventModel, name: Any) -> Anticipated:
    """Read what is to be predicted. Raise `BadValue` if the model cannot predict that."""
    variables = variables_of(model)
    if name == STATE and isinstance(model, (HiddenMarkov, LatentClass)) and STATE not in variables:
        return Anticipated(name, None, 1, True)
    variable, _, ahead = name.rpartition("@+") if isinstance(name, str) else ("", "", "")
    variable, k = (variable, int(ahead)) if variable and ahead.isdecimal() and int(ahead) else (name, 0)
    if k and isinstance(model, TIMELESS):
        raise BadValue(
            f"predict: {shown(name)} is a later event, and a {type(model).__name__} does not follow events in time"
        )
    if variable not in variables and not getattr(model, "is_growing", False):
        raise BadValue(
            f"predict: the model has no variable {shown(variable)}{closest(str(variable), map(str, variables))} It "
            f"has {shown([*variables])}"
        )
    return Anticipated(str(name), variable, k)


def variables_of(model: EventModel) -> Sequence[Any]:
    """Return the variables of a model's events, as far as they have come."""
    if isinstance(model, MarkovChain):
        return [model.variable]
    if isinstance(model, HiddenMarkov):
        return model.variable_names
    return [*model.structure] if isinstance(model, TIMELESS) else model.variables


def parameters_of(model: Any) -> dict[str, Any]:
    """Return the arguments of a model as JSON values."""
    return {name: saved_parameter(value) for name, value in model._get_params().items()}


def loaded_model(model: Any, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Any:
    """Return the model of a state. Raise `BadState` if its arguments are not these, of `model`."""
    loaded = type(model).from_state(state)
    saved = parameters_of(loaded)
    others = [
        f"{name}={getattr(loaded, name)!r}, not {getattr(model, name)!r}"
        for name in parameters
        if saved[name] != parameters[name]
    ]
    if others:
        raise BadState(f"the state is of a {type(model).__name__} with other arguments: {', '.join(others)}")
    return loaded


def value_of(value: Any) -> Any:
    """Return a value as answers name it; None if it is missing or none."""
    try:
        return None if is_missing(value) else canonical(value)
    except BadValue:
        return None
