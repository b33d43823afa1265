"""Networks without a class in the engine: they score, predict and learn events without labels."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stream_bayes.core.values.values import shown
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.log import DriftLog
from stream_bayes.errors import (
    BudgetExceeded,
    NoValueKnown,
    StreamBayesError,
)
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.saving.river.model_state import configuration_digest, model_content, restore_model
from stream_bayes.streams.served_models.answers import LabelProbabilities
from stream_bayes.streams.served_models.background import Background
from stream_bayes.streams.served_models.events import (
    EventAnswers,
    UnlabelledModel,
    loaded_model,
    parameters_of,
    value_of,
)
from stream_bayes.streams.served_models.name_limit import NameLimit

__all__ = ["ServedNetwork"]

logger = logging.getLogger(__name__)


class ServedNetwork(UnlabelledModel):
    """A `BayesNet`, or one that a `DriftAdaptive` replaces. Each event is scored and learned; variables may be missing.
    Loading a state replaces `model`. `predict` names the variables to predict from the others. `max_names` is the most
    variables of a network that adds them as they come; see `NameLimit`. None: no limit.

    Examples
    --------
    >>> served = ServedNetwork(BayesNet({"rain": [], "lawn": ["rain"]}), predict=["lawn"])
    >>> events = 3 * [{"rain": "yes", "lawn": "wet"}]
    >>> answers, refused = served.process(events, [None] * 3, [1.0] * 3)
    >>> [round(score, 2) for score in answers.scores], answers.named(str)[-1], answers.novel[0]
    ([0.0, 0.0, 0.0], {'wet': 1.0}, ('rain', 'lawn'))
    """

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
            self._settings["parameters"] = parameters_of(model)
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

    @property
    def drift_state(self) -> str | None:
        """The state of the `DriftAdaptive`; None without one."""
        return None if isinstance(self.model, BayesNet) else self.model.state_

    def process(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[EventAnswers, StreamBayesError | None]:
        """Score, predict and learn events sequentially, up to one that is refused, or that changes the model."""
        answers = EventAnswers(self.predict)
        version = self._version
        limit = None if self._max_names is None else NameLimit(self.network, self._max_names)
        try:
            for x, y, w in zip(xs, ys, ws, strict=True):
                self.check_label(y)
                if limit is not None:
                    limit.check(x)
                network = self.network
                log_likelihood, novel = self._judge(network, x)
                shares = [self._predict_one(network, x, name) for name in self.predict]
                truths = [value_of(x.get(name)) for name in self.predict]
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
            return network.log_likelihood_and_novel(x)
        except BudgetExceeded as error:
            if not self._has_unscored:
                self._has_unscored = True
                logger.warning(
                    "no score of events with missing values; they are learned all the same: %s", error
                )
            return math.nan, network.novel_values(x)

    def _predict_one(self, network: BayesNet, x: Any, name: Any) -> LabelProbabilities:
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

    @property
    def clock(self) -> int | None:
        return self.model.clock

    @property
    def generation(self) -> int:
        """The number of models, or structures, that were adopted."""
        if isinstance(self.model, BayesNet):
            return self.model.generation
        return self.model.generation + self.network.generation

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
        self._serve(loaded_model(self.model, self._settings["parameters"], state))
