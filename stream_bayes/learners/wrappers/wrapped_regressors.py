"""Regressors around regressors: one of several answers, and all are saved together.

The state of a wrapper holds the states of its regressors by name, under one checksum.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._targets import TargetEncoder
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.mixtures.forecast import Forecast
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadState, BadValue, CannotMerge
from stream_bayes.learners.base.arguments import WithLearnersArguments
from stream_bayes.learners.base.regressor import BayesRegressor, X
from stream_bayes.learners.base.state import LearnerContent, saved_parameter
from stream_bayes.learners.base.traits import Promise
from stream_bayes.learners.catalogue import class_named

__all__ = ["RegressorWrapper", "check_regressor"]

SEPARATOR = "-"  # between the name of a regressor and that of its array


def check_regressor(learner: object) -> None:
    """Raise `BadValue` for anything but a new regressor of this package that may stand within another one."""
    if not isinstance(learner, BayesRegressor):
        raise BadValue(f"learner must be a regressor of this package, not {shown(learner)}")
    kind = type(learner).__name__
    if not learner.can_be_within:
        raise BadValue(f"learner must not be a {kind}, which follows drift itself")
    if learner.clock:
        raise BadValue(f"the {kind} has learned before; give a new one")
    if isinstance(learner.half_life, str):
        raise BadValue(
            f"half_life={learner.half_life!r} is in stream time, and events are counted here; give half_life in events"
        )


class _JoinedContent(NamedTuple):
    """The contents of some regressors at one moment, by name."""

    parts: Mapping[str, LearnerContent]

    def state(self) -> dict[str, Any]:
        """Return them as JSON values under "meta" and arrays under "arrays"."""
        states = {name: part.state() for name, part in self.parts.items()}
        arrays = {
            f"{name}{SEPARATOR}{array}": values
            for name, state in states.items()
            for array, values in state["arrays"].items()
        }
        written = {
            name: {key: value for key, value in state.items() if key != "arrays"}
            for name, state in states.items()
        }
        return {"meta": {"regressors": written}, "arrays": arrays}


def _separate(store: Mapping[str, Any]) -> dict[str, BayesRegressor]:
    """Return the regressors of a joined state, by name."""
    written: Any = store["meta"].get("regressors") if isinstance(store["meta"], Mapping) else None
    expect(isinstance(written, Mapping), "it holds no regressors")
    arrays: dict[str, dict[str, Any]] = {name: {} for name in written}
    for path, values in store["arrays"].items():
        name, _, array = path.partition(SEPARATOR)
        expect(name in arrays, f"the array {path!r} is of no regressor")
        arrays[name][array] = values
    regressors = {}
    for name, state in written.items():
        kind = class_named(str(state["learner"]))
        if kind is None or not issubclass(kind, BayesRegressor):
            raise BadState(f"the state does not fit: {state['learner']!r} is no regressor")
        regressors[name] = kind.from_state({**state, "arrays": arrays[name]})
    return regressors


class RegressorWrapper(WithLearnersArguments, BayesRegressor):  # type: ignore[override]  # arguments as properties
    """A regressor that holds several, of which one answers. `learner` is their template and learns nothing itself."""

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.ORDERED})
    can_be_within: ClassVar[bool] = False

    learner: BayesRegressor

    # -- what a subclass writes ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def model_(self) -> BayesRegressor:
        """The regressor that answers."""

    @abstractmethod
    def _regressors(self) -> dict[str, BayesRegressor]:
        """Return all regressors, by name."""

    @abstractmethod
    def _take(self, regressors: Mapping[str, BayesRegressor], derived: Mapping[str, Any]) -> None:
        """Continue with the regressors and the derived parts of a state."""

    @property
    @abstractmethod
    def clock(self) -> int:
        """The number of events that were learned."""

    # -- the template's and the present model's attributes ------------------------------------------------------------

    @property
    def store(self) -> CountStore:  # type: ignore[override]  # that of the regressor that answers
        """The sums and names of the regressor that answers."""
        return self.model_.store

    @property
    def _encoder(self) -> TargetEncoder:  # type: ignore[override]  # that of the regressor that answers
        encoder: Any = self.model_.store.encoder
        return encoder

    def _columns_of(self, x: X) -> X:
        return self.model_._columns_of(x)  # noqa: SLF001  (of the same class)

    @property
    def memory_bytes(self) -> int:
        """The bytes of all regressors."""
        return sum(each.memory_bytes for each in self._regressors().values())

    def merge(self, other: Self) -> Self:
        """Raise `CannotMerge`: which regressor answers depends on the order of events."""
        raise CannotMerge(
            f"a {type(self).__name__} is not merged: which regressor answers depends on the order of events; take "
            "BayesianRegression"
        )

    # -- predicting: the answers of one regressor ---------------------------------------------------------------------

    def predict_one(self, x: X, **kwargs: Any) -> float:
        """Return the mean of an event's target; 0.0 before any learning, as River's regressors do."""
        return self.model_.predict_one(x)

    def predict_distribution_one(self, x: X) -> StudentT | Forecast:
        """Return the distribution of an event's target, with its quantiles and density."""
        return self.model_.predict_distribution_one(x)

    def explain_one(self, x: X) -> Any:
        """Return what makes up a prediction, as the regressor that answers explains it."""
        return self.model_.explain_one(x)

    # -- saving -------------------------------------------------------------------------------------------------------

    def content(self) -> LearnerContent:
        """Return a copy of all that the regressors hold."""
        return LearnerContent(
            type(self).__name__,
            {name: saved_parameter(value) for name, value in self._get_params().items()},
            _JoinedContent({name: each.content() for name, each in self._regressors().items()}),
            self.derived_state(),
        )

    def load_parts(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        with refusing_bad_state():
            regressors = _separate(store)
            self._check_template(regressors.values())
            self._take(regressors, derived)

    def _check_template(self, regressors: Iterable[BayesRegressor]) -> None:
        for each in regressors:
            expect(type(each) is type(self.learner), f"it holds a {type(each).__name__}")
