"""The base of models with something hidden: states of sequences, classes of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_bayes.core.live_networks.hidden_bank import HiddenBank
from stream_bayes.core.live_networks.hidden_chain import HiddenChain
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.values.unknown_names import no_value_of
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import check_count, check_number, check_seed
from stream_bayes.learners.base.state import CountLearner

__all__ = ["HiddenModel", "interval_of", "mean_or_name"]


class HiddenModel(CountLearner):
    """A bank of models that differ in how much is hidden, of which one answers, over the variables `variable_names`."""

    restarts: int
    half_life: float | None
    max_values: int | None
    seed: int
    store: HiddenBank
    variable_names: list[Any]

    def _made_bank(self, states: Sequence[int], lag: int) -> HiddenBank:
        """Return a new bank with a chain for each number of states. Raise `BadValue` for wrong arguments."""
        check_count("restarts", self.restarts)
        if self.half_life is not None:
            check_number("half_life", self.half_life, above=True)
        if self.max_values is not None:
            check_count("max_values", self.max_values)
        check_seed(self.seed)
        rest = (len(self.variable_names), self.restarts, self.half_life, self.max_values, lag, self._rng_of)
        return HiddenBank([HiddenChain(number, *rest) for number in states])

    def _rng_of(self, numbers: tuple[int, ...]) -> np.random.Generator:
        return np.random.default_rng([self.seed, *numbers])

    def _check_known(self, variables: Sequence[Any]) -> None:
        """Raise `NoValueKnown` unless there are variables, and a value of each has come."""
        unknown = [v for v in variables if not self._best.has_value(self.variable_names.index(v))]
        if unknown or not variables:
            raise no_value_of(unknown, "the model")

    @property
    def kinds(self) -> dict[Any, str]:
        """`"nominal"` or `"numeric"` for each variable that has come, or is declared."""
        kinds = {v: self.store.has_numbers(k) for k, v in enumerate(self.variable_names)}
        return {v: "numeric" if kind else "nominal" for v, kind in kinds.items() if kind is not None}

    @property
    def scores(self) -> dict[int, float]:
        """The fading sum of log-densities of events by each number of states or classes; see the notes."""
        return dict(zip((chain.states for chain in self.store.chains), self.store.scores, strict=True))

    @property
    def clock(self) -> int:
        """The number of events learned."""
        return self.store.events

    @property
    def _best(self) -> HiddenChain:
        return self.store.chains[self.store.number]


def mean_or_name(answer: Any) -> Any:
    """Return the mean of a distribution of numbers, or the most probable name; None of an empty one."""
    if isinstance(answer, StudentMixture):
        return answer.mean
    return max(answer, key=answer.__getitem__) if answer else None


def interval_of(answer: Any, level: float, variable: Any) -> tuple[float, float] | None:
    """Return the interval of a distribution of numbers; None of an empty one.

    Raises
    ------
    BadValue
        If the variable has names, or the level is none.
    """
    check_number("level", level, above=True)
    if level >= 1.0:
        raise BadValue(f"level lies between 0 and 1, not {level!r}")
    if isinstance(answer, StudentMixture):
        return answer.interval(level)
    if not answer:
        return None
    raise BadValue(f"{shown(variable)} has names: predict_proba_one forecasts them")
