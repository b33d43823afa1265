"""Regressors: the public verbs of every learner of numbers, written once.

A regressor is a store of sums and a reading of it, as a classifier is one of counts. The target is one more number of
the store, so learning, unlearning, merging, fading and saving are those of the sums (`state.py`), and all that is asked
of a prediction follows from its distribution.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from river import base

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.encoding._targets import TargetEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.mixtures.forecast import Forecast
from stream_bayes.core.pictures.html import block, plain_table
from stream_bayes.core.regression._summed import RegressionReading
from stream_bayes.core.regression.random_fourier_features import is_derived
from stream_bayes.core.values.values import shown
from stream_bayes.data.frames import Native, is_frame, labels_of, like_series
from stream_bayes.data.schema import Nominal, Schema
from stream_bayes.errors import BadLabel, BadValue, SchemaError
from stream_bayes.learners.base.arguments import check_count, check_half_life, warn_of_many_values
from stream_bayes.learners.base.batches import check_batch, encode_batch, row_count, row_weights
from stream_bayes.learners.base.explanation import Contributions
from stream_bayes.learners.base.samples import rows_of
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.learners.base.traits import Promise, Traits

__all__ = ["BayesRegressor", "SummedRegressor", "target_encoder"]

X = Mapping[Any, Any]


class BayesRegressor(CountLearner, base.Regressor):
    """A learner of numbers that predicts a distribution. Its store has the names, and sums of what it learned. The
    arguments, which every regressor has, are stored and checked here.
    """

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.FLOATS, Promise.ORDERED})
    inputs: ClassVar[frozenset[str]] = frozenset({"nominal", "numeric"})

    counts_pairs: ClassVar[bool] = True
    """True if the store has the sums of products of all pairs of columns."""

    can_be_within: ClassVar[bool] = True
    """True if it may be the learner of a `RegressorWrapper`."""

    store: CountStore
    _encoder: TargetEncoder

    def __init__(
        self,
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.half_life = half_life
        self.schema = schema
        self.max_values = max_values
        self.memory_budget = memory_budget
        check_half_life(half_life)
        for name, value in (("max_values", max_values), ("memory_budget", memory_budget)):
            if value is not None:
                check_count(name, value)
        self._encoder = self._make_encoder()
        self.store = self._make_store()

    def _make_encoder(self) -> TargetEncoder:
        """Return an empty encoder."""
        return target_encoder(self.schema, self.max_values)

    def _make_store(self) -> CountStore:
        """Return an empty store over the encoder."""
        return CountStore(
            self._encoder,
            half_life=self.half_life,
            memory_budget=self.memory_budget,
            co_moments=self.counts_pairs,
            on_many_values=warn_of_many_values,
        )

    @abstractmethod
    def learn_one(self, x: X, y: float, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused."""

    def _columns_of(self, x: X) -> X:
        """Return what the store learns of an event."""
        return x

    def learn_many(self, X: Native, y: Native, w: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order: all of them, or none if one is refused."""
        for x, target, weight in self._checked(X, y, w):
            self.learn_one(x, target, weight)

    def _checked(self, X: Native, y: Native, w: Native, at: Native = None) -> list[tuple[Any, Any, float]]:
        """Return the samples of many rows, none of which will be refused."""
        rows: list[Any] = [*rows_of(X)]
        targets: Any = labels_of(y)
        check_batch(self.store, [self._columns_of(x) for x in rows], targets, w, at)
        return list(zip(rows, targets, row_weights(w, len(rows)).tolist(), strict=True))

    @abstractmethod
    def explain_one(self, x: X) -> Any:
        """Return what makes up a prediction."""

    @property
    def traits(self) -> Traits:
        """The abilities of this learner, which follow from its class and its arguments."""
        return Traits(
            is_order_dependent=True,
            is_mergeable=False,
            accepts_numbers=True,
            learns_cut_points=False,
            accepts_new_features=self.schema is None,
        )

    @property
    def feature_names(self) -> list[Any]:
        """The names of the features that were declared or learned."""
        return [name for name in self._encoder.features if not is_derived(name)]

    @property
    def clock(self) -> int:
        """The number of events that were learned, or passed by `advance`."""
        return int(self.store.tables.clock)

    # -- predicting ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def predict_distribution_one(self, x: X) -> StudentT | Forecast:
        """Return the distribution of an event's target, with its quantiles and density."""

    @abstractmethod
    def predict_one(self, x: X, **kwargs: Any) -> float:
        """Return the mean of an event's target; 0.0 before any learning, as River's regressors do."""

    def predict_median_one(self, x: X) -> float:
        """Return the median of an event's target."""
        return self.predict_distribution_one(x).median

    def predict_interval_one(self, x: X, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds an event's target with a probability, with equal tails.

        It is infinite until targets that differ have been learned, or so many equal ones that the next is the same with
        this probability, whatever their distribution: 19 for 0.9, 39 for 0.95.
        """
        return self.predict_distribution_one(x).interval(_probability("level", level))

    def predict_density_one(self, x: X, y: float) -> float:
        """Return the density of an event's target at a number; 0.0 until targets that differ have been learned."""
        return self.predict_distribution_one(x).density(_number(y))

    def quantile_one(self, x: X, p: float) -> float:
        """Return the number that an event's target is below with probability p."""
        return self.predict_distribution_one(x).quantile(_probability("p", p))

    def predict_learn_one(self, x: X, y: float, w: float = 1.0) -> float:
        """Return the mean of a sample's target, then learn it: test-then-train."""
        predicted = self.predict_one(x)
        self.learn_one(x, y, w)
        return predicted

    def predict_many(self, X: Native) -> Any:
        """Return the mean of the target of many rows: a series for a data frame, a list for anything else."""
        predicted = [self.predict_one(x) for x in rows_of(X)] if row_count(X) else []
        return like_series(X, predicted) if is_frame(X) else predicted

    # -- notebooks ----------------------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        encoder = self._encoder
        facts = [
            ("samples", self.clock),
            ("nominal features", len(encoder.nominal)),
            ("numeric features", sum(not is_derived(feature.name) for feature in encoder.numeric)),
            ("bytes", self.memory_bytes),
        ]
        return block(plain_table(repr(self), ("", ""), facts))


class SummedRegressor(BayesRegressor):
    """A regressor that is a store of sums and a reading of it: it unlearns, merges and fades as sums do."""

    reading: RegressionReading

    def __init__(
        self,
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        super().__init__(half_life, schema, max_values, memory_budget)
        self.reading = self._make_reading(self.store)

    @abstractmethod
    def _make_reading(self, store: CountStore) -> RegressionReading:
        """Return this learner's reading of its store."""

    @abstractmethod
    def explain_one(self, x: X) -> Contributions:
        """Return what each feature adds to a prediction, with its standard deviation."""

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: float, w: float = 1.0, at: float | None = None) -> None:
        """Learn a sample: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The features, `{name: value}`. An absent value, None or NaN is missing.
        y
            The target, a finite number.
        w
            The sample's weight; 2.0 is the same as learning it twice.
        at
            With `half_life` in stream time: the sample's own time, in seconds since 1970. The order in which samples
            are learned then changes nothing.
        """
        self._learn(self.store.encode(self._columns_of(x), y, w, at), x, y, at)

    def _learn(self, row: Row, x: X, y: float, at: float | None) -> None:
        """Learn a sample that was encoded."""
        self.reading.learn(row)

    def unlearn_one(self, x: X, y: float, w: float = 1.0, at: float | None = None) -> None:
        """Unlearn a sample, with the weight it was learned with.

        Parameters
        ----------
        x, y, w
            The sample.
        at
            With fading: the value of `clock` right after the sample was learned. Default: now. With `half_life` in
            stream time: the sample's time, in seconds since 1970.
        """
        self._unlearn(x, y, w, at)

    def _unlearn(self, x: X, y: float, w: float, at: float | None) -> None:
        if self.store.tables.timed and at is not None:
            at = self.store.moment(at)
        self.store.unlearn(self._columns_of(x), y, w, at)  # type: ignore[arg-type]  # the store refuses a clock that is not whole
        self.reading.changed()

    def learn_many(self, X: Native, y: Native, w: Native = None, at: Native = None) -> None:
        """Learn many rows, as `learn_one` would in their order: all of them, or none if one is refused.

        Parameters
        ----------
        X
            A data frame (pandas, polars, ...), `CodedColumns`, or a list of dicts.
        y
            The targets, in the order of the rows; a pandas index is ignored.
        w
            A weight for all rows, or one per row.
        at
            With `half_life` in stream time: the time of each row, in seconds since 1970.
        """
        self._learn_rows(X, y, w, at)

    def _learn_rows(self, X: Native, y: Native, w: Native, at: Native) -> None:
        rows = [self._columns_of(x) for x in rows_of(X)]
        self.reading.learn_batch(encode_batch(self.store, rows, labels_of(y), w, at, learning=True))

    def advance_to(self, at: float) -> None:
        """Advance the stream time of a learner with `half_life` in stream time; what it holds fades accordingly.

        Parameters
        ----------
        at
            A time in seconds since 1970. An earlier time than the present one changes nothing.
        """
        self.store.tables.advance_to(self.store.moment(at))
        self.reading.changed()

    def advance(self, events: int) -> None:
        """Advance the clock by events that another shard learns, so that all shards of a stream fade alike."""
        self.store.advance(events)
        self.reading.changed()

    def after_merge(self) -> None:
        self.reading.changed()

    @property
    def traits(self) -> Traits:
        """The abilities of this learner, which follow from its class and its arguments."""
        return super().traits._replace(is_order_dependent=False, is_mergeable=True)

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_distribution_one(self, x: X) -> StudentT:
        """Return the distribution of an event's target, with its quantiles, density and score."""
        reading = self.reading
        reading.predict(self._encoder.lookup(self._columns_of(x)))
        return StudentT(float(reading.location), float(reading.scale), float(reading.degrees))

    def predict_one(self, x: X, **kwargs: Any) -> float:
        """Return the mean of an event's target; 0.0 before any learning, as River's regressors do."""
        self.reading.predict(self._encoder.lookup(self._columns_of(x)))
        return float(self.reading.location)

    def predict_learn_one(self, x: X, y: float, w: float = 1.0, at: float | None = None) -> float:
        """Return the mean of a sample's target, then learn it: test-then-train."""
        predicted = self.predict_one(x)
        self.learn_one(x, y, w, at)
        return predicted


def target_encoder(
    schema: Schema | None, max_values: int | None, further: Iterable[Any] = ()
) -> TargetEncoder:
    """Return an encoder of the features that a schema declares, and of further numbers beside them."""
    labels = Vocabulary(("number",), None, True)
    if schema is None:
        return TargetEncoder(labels, None, False, max_values)
    if not isinstance(schema, Schema):
        raise BadValue(
            "schema must be a Schema, as Schema({'sky': Nominal(), 'wind': Numeric()}), "
            f"not {type(schema).__name__}: {shown(schema)}"
        )
    if schema.classes is not None:
        raise SchemaError(
            f"the schema declares the classes {shown(schema.classes)}, but a regressor's target is a number; leave "
            "classes out, or take a classifier"
        )
    declared: dict[str, Vocabulary | None] = {}
    for name, spec in schema.features.items():
        declared[name] = None
        if isinstance(spec, Nominal):
            limit = max_values if spec.max_values is None else spec.max_values
            declared[name] = Vocabulary(spec.values or (), limit, spec.closed)
    declared |= dict.fromkeys(further)
    return TargetEncoder(labels, declared, schema.unknown == "refuse", max_values)


def _probability(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < 1.0:
        raise BadValue(f"{name} lies between 0 and 1, not {value!r}")
    return float(value)


def _number(y: object) -> float:
    if isinstance(y, bool) or not isinstance(y, (int, float)) or y != y:
        raise BadLabel(f"a density is that at a number, not at {shown(y)}")
    return float(y)
