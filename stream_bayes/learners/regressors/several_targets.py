"""Bayesian linear regressions of several targets on one store of sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from river import base

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._targets import is_column, read_target
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.regression._summed import RegressionReading
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import no_features
from stream_bayes.core.values.values import is_missing, shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadLabel, BadValue, NotLearned, SchemaError
from stream_bayes.learners.base.arguments import (
    check_count,
    check_half_life,
    check_number,
    warn_of_many_values,
)
from stream_bayes.learners.base.explanation import Contributions
from stream_bayes.learners.base.regressor import target_encoder
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.learners.regressors.linear import EVIDENCE, contributions

__all__ = ["MultiTargetRegression", "named_target"]

X = Mapping[Any, Any]
MARK = "\0target"  # begins the names of targets among the columns of the store, and of no feature


class MultiTargetRegression(CountLearner, base.MultiTargetRegressor):
    """Bayesian linear regressions of several numbers on the same features, from one set of sums.

    A target is one more column of the sums, so learning costs as much as one regression with as many columns, and
    targets predict one another: `targets=` of a prediction takes those that are there already. Without these, each
    forecast is that of a `BayesianRegression` of its target alone.

    Each sample must have all targets.

    Parameters
    ----------
    targets
        The names of the targets. By default those of the first sample.
    strength, half_life, max_values, memory_budget
        As of `BayesianRegression`; by default each target has the strength that fits it and the features.
    schema
        The declared features, as of `BayesianRegression`; `targets` are then needed, too.

    Notes
    -----
    Promises: as of `BayesianRegression`; sums of learners of the same targets add in any order.

    Examples
    --------
    >>> from stream_bayes import MultiTargetRegression
    >>> model = MultiTargetRegression()
    >>> for k in range(60):
    ...     rain = 2.0 * (k % 5) + k % 3
    ...     model.learn_one({"cloud": k % 5}, {"rain": rain, "river": 10.0 + 3.0 * rain})
    >>> {name: round(value, 1) for name, value in model.predict_one({"cloud": 2}).items()}
    {'rain': 5.0, 'river': 25.0}
    >>> round(model.predict_one({"cloud": 2}, targets={"rain": 6.0})["river"], 1)
    27.9
    """

    store: CountStore

    def __init__(
        self,
        targets: Sequence[Any] | None = None,
        strength: float | str = EVIDENCE,
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.targets = targets
        self.strength = strength
        self.half_life = half_life
        self.schema = schema
        self.max_values = max_values
        self.memory_budget = memory_budget
        if strength != EVIDENCE:
            if isinstance(strength, str):
                raise BadValue(f"strength must be {EVIDENCE!r} or a number above 0, not {shown(strength)}")
            check_number("strength", strength, above=True)
        check_half_life(half_life)
        for name, value in (("max_values", max_values), ("memory_budget", memory_budget)):
            if value is not None:
                check_count(name, value)
        names = [] if targets is None else _checked_names(targets)
        if schema is not None and not names:
            raise BadValue("targets: with a schema, their names are needed, as in targets=['rain', 'river']")
        if names and schema is not None and (taken := [name for name in names if name in schema.columns]):
            raise SchemaError(
                f"targets: {shown(taken[0])} is a feature of the schema, too; leave it out of one"
            )
        further = [(MARK, name) for name in names] if schema is not None else ()
        self._encoder = target_encoder(schema, max_values, further)
        self.store = CountStore(
            self._encoder,
            half_life=half_life,
            memory_budget=memory_budget,
            co_moments=True,
            on_many_values=warn_of_many_values,
        )
        self._readings: dict[Any, RegressionReading] = {}

    @property
    def target_names(self) -> list[Any]:
        """The names of the targets: as given, else in the order of the first sample and empty before it."""
        if self.targets is not None:
            return [*self.targets]
        return [each.name[1] for each in self._encoder.numeric if _is_target(each.name)]

    @property
    def feature_names(self) -> list[Any]:
        """The names of the features that were declared or learned."""
        return [name for name in self._encoder.features if not (is_column(name) or _is_target(name))]

    @property
    def clock(self) -> int:
        """The number of events that were learned, or passed by `advance`."""
        return int(self.store.tables.clock)

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: Mapping[Any, float], w: float = 1.0, at: float | None = None) -> None:  # type: ignore[override]  # River's takes any keyword
        """Learn a sample: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The features, `{name: value}`. An absent value, None or NaN is missing.
        y
            All targets, `{name: number}`.
        w
            The sample's weight; 2.0 is the same as learning it twice.
        at
            With `half_life` in stream time: the sample's own time, in seconds since 1970.
        """
        row = self.store.encode(self._columns(x, y), 0.0, w, at)
        self.store.tables.add(row)
        self._changed()

    def unlearn_one(self, x: X, y: Mapping[Any, float], w: float = 1.0, at: float | None = None) -> None:
        """Unlearn a sample, with the weight it was learned with; `at` as of `BayesianRegression.unlearn_one`."""
        if self.store.tables.timed and at is not None:
            at = self.store.moment(at)
        self.store.unlearn(self._columns(x, y), 0.0, w, at)  # type: ignore[arg-type]  # the store refuses a clock that is not whole
        self._changed()

    def advance_to(self, at: float) -> None:
        """Advance the stream time of a learner with `half_life` in stream time, in seconds since 1970."""
        self.store.tables.advance_to(self.store.moment(at))
        self._changed()

    def advance(self, events: int) -> None:
        """Advance the clock by events that another shard learns, so that all shards of a stream fade alike."""
        self.store.advance(events)
        self._changed()

    def after_merge(self) -> None:
        self._changed()

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        super().load_derived(derived)
        there = [each.name[1] for each in self._encoder.numeric if _is_target(each.name)]
        expect(self.clock == 0 or set(there) == set(self.target_names) != set(), "it has other targets")
        self._changed()

    def _changed(self) -> None:
        for reading in self._readings.values():
            reading.changed()

    def _columns(self, x: X, y: Mapping[Any, float]) -> dict[Any, Any]:
        """Return the columns of a sample; raise `BadLabel` unless it has each target, and no other."""
        if not isinstance(x, Mapping):
            raise no_features(x)
        if not isinstance(y, Mapping) or not y:
            raise BadLabel(
                f"targets: expected a dict {{name: number}}, got {shown(y)}; of one: BayesianRegression"
            )
        names = self.target_names or [*y]
        if len(names) != len(y) or any(name not in y for name in names):
            expected = shown(names) + (", as the first sample has" if self.targets is None else "")
            raise BadLabel(f"targets: expected {expected}, got {shown([*y])}")
        return {**self._features(x, names), **{(MARK, name): named_target(name, y[name]) for name in names}}

    def _features(self, x: X, names: Iterable[Any]) -> X:
        if not isinstance(x, Mapping):
            raise no_features(x)
        for name in names:
            if name in x:
                raise BadValue(
                    f"feature {shown(name)}: it is a target; leave it out of x, or give it to a prediction as targets="
                )
        return x

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_one(self, x: X, targets: X | None = None) -> dict[Any, float]:
        """Return the mean of each target that is not in `targets`; {} before any learning."""
        return {name: float(reading.location) for name, reading in self._read(x, targets)}

    def predict_distribution_one(self, x: X, targets: X | None = None) -> dict[Any, StudentT]:
        """Return the distribution of each target that is not in `targets`, given those that are."""
        return {
            name: StudentT(float(reading.location), float(reading.scale), float(reading.degrees))
            for name, reading in self._read(x, targets)
        }

    def predict_interval_one(
        self, x: X, level: float = 0.95, targets: X | None = None
    ) -> dict[Any, tuple[float, float]]:
        """Return the interval of each target that is not in `targets`, each of which holds it with a probability."""
        check_number("level", level, above=True)
        if level >= 1.0:
            raise BadValue(f"level lies between 0 and 1, not {level!r}")
        return {
            name: each.interval(level) for name, each in self.predict_distribution_one(x, targets).items()
        }

    def explain_one(self, x: X) -> dict[Any, Contributions]:
        """Return what each feature adds to the prediction of each target, with its standard deviation."""
        row = self._encoder.lookup(self._features(x, self.target_names))
        names = self.target_names if self.clock else ()
        return {name: contributions(self._reading_of(name), self._encoder, row) for name in names}

    def log_evidence(self) -> dict[Any, float]:
        """Return the log of the marginal likelihood of each target, given the features; `NotLearned` without spread."""
        names = self.target_names if self.clock else ()
        evidence = {name: self._reading_of(name).log_evidence() for name in names}
        if not evidence or None in evidence.values():
            raise NotLearned("targets that differ are needed first: learn more events")
        return evidence

    def _read(self, x: X, targets: X | None) -> Iterable[tuple[Any, RegressionReading]]:
        """Yield each target that is not there yet, and its reading after the prediction."""
        names = self.target_names
        there = {name: value for name, value in (targets or {}).items() if not is_missing(value)}
        if unknown := [name for name in there if name not in names]:
            raise BadValue(f"targets: there is no target {shown(unknown[0])}; there are {shown(names)}")
        columns = {
            **self._features(x, names),
            **{(MARK, name): named_target(name, y) for name, y in there.items()},
        }
        row = self._encoder.lookup(columns)
        for name in names if self.clock else ():
            if name not in there:
                reading = self._reading_of(name)
                reading.predict(row)
                yield name, reading

    def _reading_of(self, target: Any) -> RegressionReading:
        if target not in self._readings:
            slots = {each.name[1]: each.slot for each in self._encoder.numeric if _is_target(each.name)}
            strength = 0.0 if self.strength == EVIDENCE else float(self.strength)
            others = [slot for name, slot in slots.items() if name != target]
            self._readings[target] = RegressionReading(
                self.store.tables, self._encoder, strength, slots[target], others
            )
        return self._readings[target]


def _is_target(name: Any) -> bool:
    """Return True for the name of a target's column."""
    return type(name) is tuple and len(name) == 2 and type(name[0]) is str and name[0] == MARK


def named_target(name: Any, y: object) -> float:
    """Return a target as a float; raise `BadLabel` with its name if it is none."""
    try:
        return float(read_target(y))
    except BadLabel as error:
        raise BadLabel(f"target {shown(name)}: {error}") from None


def _checked_names(targets: object) -> list[Any]:
    """Return the names of targets as a list; raise `BadValue` if they are none, or one comes twice."""
    if isinstance(targets, str) or not isinstance(targets, Sequence) or not targets:
        raise BadValue(f"targets: expected a list of names, as ['rain', 'river'], got {shown(targets)}")
    if len(set(targets)) < len(targets):
        raise BadValue(f"targets: a name comes twice: {shown([*targets])}")
    return [*targets]
