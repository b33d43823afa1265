"""Networks without a class in the engine: they score, predict and learn events without labels."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.values.payloads import Payload
from stream_bayes.core.values.values import canonical, is_missing, shown
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.log import DriftLog
from stream_bayes.errors import (
    BadLabel,
    BadState,
    BadValue,
    BudgetExceeded,
    NotSupported,
    NoValueKnown,
    StreamBayesError,
)
from stream_bayes.learners.base.predictions import most_probable
from stream_bayes.learners.base.state import saved_parameter
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.saving.river.model_state import configuration_digest, model_content, restore_model
from stream_bayes.streams.served_models.answers import Answer, Decide
from stream_bayes.streams.served_models.background import Background
from stream_bayes.streams.served_models.name_limit import NameLimit

__all__ = ["NetworkAnswers", "ServedNetwork"]

logger = logging.getLogger(__name__)


class NetworkAnswers:
    """The answers of a network to a batch of events.

    Parameters
    ----------
    predict
        The variables that were predicted.

    Attributes
    ----------
    scores
        The surprise of each event; None if it was impossible, or could not be computed.
    surprises
        The same, but NaN if it could not be computed.
    novel
        For each event, the variables whose value was never learned before.
    """

    def __init__(self, predict: Sequence[Any]) -> None:
        self.predict = predict
        self.scores: list[float | None] = []
        self.surprises: list[float | None] = []
        self.novel: list[tuple[str, ...]] = []
        self._shares: list[tuple[Answer, ...]] = []  # of each variable to predict
        self._truths: list[tuple[Any, ...]] = []

    def add(
        self, score: float, novel: Iterable[Any], shares: Iterable[Answer], truths: Iterable[Any]
    ) -> None:
        """Add the answer to an event, with the values that it had; a score of NaN could not be computed."""
        self.scores.append(score + 0.0 if score < math.inf else None)  # never -0.0
        self.surprises.append(score if math.isnan(score) else self.scores[-1])
        self.novel.append(tuple(map(str, novel)))
        self._shares.append(tuple(shares))
        self._truths.append(tuple(truths))

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

    def newest(self, number: int, /) -> NetworkAnswers:
        part, start = NetworkAnswers(self.predict), max(0, len(self) - number)
        part.scores, part.novel = self.scores[start:], self.novel[start:]
        part.surprises = self.surprises[start:]
        part._shares, part._truths = self._shares[start:], self._truths[start:]
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


class ServedNetwork:
    """A `BayesNet`, or one that a `DriftAdaptive` replaces. Each event is scored and learned; variables may be missing.

    Parameters
    ----------
    model
        The network, or the `DriftAdaptive`. Loading a state replaces it; `model` is the present one.
    predict
        The variables to predict from the others.
    max_names
        The most variables of a network that adds them as they come; see `NameLimit`. None: no limit.

    Examples
    --------
    >>> served = ServedNetwork(BayesNet({"rain": [], "lawn": ["rain"]}), predict=["lawn"])
    >>> events = 3 * [{"rain": "yes", "lawn": "wet"}]
    >>> answers, refused = served.process(events, [None] * 3, [1.0] * 3)
    >>> [round(score, 2) for score in answers.scores], answers.named(str)[-1], answers.novel[0]
    ([0.0, 0.0, 0.0], {'wet': 1.0}, ('rain', 'lawn'))
    """

    is_unsupervised = True
    predicts_numbers = False
    is_timed = False

    def __init__(
        self, model: BayesNet | DriftAdaptive, predict: Sequence[Any] = (), max_names: int | None = None
    ) -> None:
        self.name = type(model).__name__
        self.predict = tuple(predict)
        self._hidden = frozenset(self.predict)
        self._warned: set[Any] = set()  # variables for which a prediction could not be computed
        self._has_unscored = False  # an event could not be scored
        self._max_names = max_names
        self._settings: dict[str, Any] = {"learner": self.name, "predict": list(self.predict)}
        if isinstance(model, BayesNet):
            self._settings["parameters"] = _parameters_of(model)
        else:
            self._settings["steps"] = configuration_digest(model)
        self._serve(model)

    def _serve(self, model: BayesNet | DriftAdaptive) -> None:
        self.model = model
        if isinstance(model, DriftAdaptive):
            model.log.timer = time.perf_counter
            model.search_on(Background())

    @property
    def network(self) -> BayesNet:
        """The network that answers at present."""
        network = self.model if isinstance(self.model, BayesNet) else self.model.model_
        assert isinstance(network, BayesNet)
        return network

    @property
    def drifts(self) -> DriftLog | None:
        """The drift log; None without a `DriftAdaptive`."""
        return None if isinstance(self.model, BayesNet) else self.model.log

    def decide(self, answer: Answer, /) -> Any:
        return most_probable(answer)

    def process(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[NetworkAnswers, StreamBayesError | None]:
        """Score, predict and learn events sequentially, up to one that is refused, or that changes the model."""
        answers = NetworkAnswers(self.predict)
        version = self._version
        limit = None if self._max_names is None else NameLimit(self.network, self._max_names)
        try:
            for x, y, w in zip(xs, ys, ws, strict=True):
                if y is not None:
                    raise BadLabel(
                        f"a BayesNet has no class, but the event has the label {shown(y)}; leave target out, or use a "
                        "BayesNetClassifier"
                    )
                if limit is not None:
                    limit.check(x)
                network = self.network
                log_likelihood, novel = self._judge(network, x)
                shares = [self._predict_one(network, x, name) for name in self.predict]
                truths = [_value_of(x.get(name)) for name in self.predict]
                self.learn(x, None, w)
                answers.add(-log_likelihood, novel, shares, truths)
                if self._version != version:
                    break
        except StreamBayesError as error:
            return answers, error
        return answers, None

    def _judge(self, network: BayesNet, x: Any) -> tuple[float, Iterable[Any]]:
        """Return the log-likelihood of an event and its new values.

        If it needs more memory than the budget it is NaN, so that the event is learned.
        """
        try:
            return network._judge(x)
        except BudgetExceeded as error:
            if not self._has_unscored:
                self._has_unscored = True
                logger.warning(
                    "no score of events with missing values; they are learned all the same: %s", error
                )
            return math.nan, network._novel(x)

    def _predict_one(self, network: BayesNet, x: Any, name: Any) -> Answer:
        """Return the probabilities of a variable; empty if they cannot be computed, so that the event is learned."""
        try:
            return network.predict_proba_one(x, name, self._hidden)
        except (BudgetExceeded, NoValueKnown) as error:
            if name not in self._warned:
                self._warned.add(name)
                logger.warning(
                    "no prediction of %s; its events are learned all the same: %s", shown(name), error
                )
            return {}

    def answer(self, x: Any, /) -> Answer:
        raise NotSupported("a BayesNet has no class, so it answers no single event by the label")

    def learn(self, x: Any, y: Any, w: float, /) -> None:
        if isinstance(self.model, BayesNet):
            self.model.learn_one(x, w)
        else:
            self.model.learn_one(x, None, w)

    def work(self) -> bool:
        return self.model.work()

    @property
    def _version(self) -> tuple[int, int]:
        """The generation, and the number of entries of the drift log: a batch ends where they change."""
        return self.generation, 0 if self.drifts is None else self.drifts.added

    def predict_then_learn(self, x: Any, y: Any, w: float, /) -> Answer:
        raise NotSupported("a BayesNet has no class, so that no label can follow an event later")

    @property
    def clock(self) -> int | None:
        return self.model.clock

    @property
    def generation(self) -> int:
        """The number of models, or structures, that were adopted."""
        if isinstance(self.model, BayesNet):
            return self.model.generation
        return self.model.generation + self.network.generation

    def hold(self, x: Any) -> Any:
        raise NotSupported("a BayesNet has no class, so that its events wait for no labels")

    def content(self, x: Any) -> Payload:
        raise NotSupported("a BayesNet has no class, so that no label can be corrected")

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        raise NotSupported("a BayesNet has no class, so that no label can be corrected")

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        raise NotSupported("events of a BayesNet are not kept by key")

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        return "a BayesNet without a class has no labels to take back"

    def settings(self) -> dict[str, Any]:
        return self._settings

    def freeze(self) -> Callable[[], dict[str, Any]]:
        if isinstance(self.model, BayesNet):
            return self.model.content().state
        return model_content(self.model).state

    def load(self, state: Mapping[str, Any]) -> None:
        if isinstance(self.model, DriftAdaptive):
            self._serve(restore_model(self.model, state))
            return
        loaded = type(self.model).from_state(state)
        saved, own = _parameters_of(loaded), self._settings["parameters"]
        others = [
            f"{name}={getattr(loaded, name)!r}, not {getattr(self.model, name)!r}"
            for name in own
            if saved[name] != own[name]
        ]
        if others:
            raise BadState(f"the state is of a {self.name} with other arguments: {', '.join(others)}")
        self._serve(loaded)


def _parameters_of(model: BayesNet) -> dict[str, Any]:
    return {name: saved_parameter(value) for name, value in model._get_params().items()}


def _value_of(given: Any) -> Any:
    """Return a value as answers name it; None if it is missing or none."""
    try:
        return None if is_missing(given) else canonical(given)
    except BadValue:
        return None
