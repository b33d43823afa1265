"""A Bayesian regression tree over a stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.regression._tree import SHAPE_OF_NOISE, SPREAD_OF_NOISE, RegressionTree
from stream_bayes.core.regression.missing_columns import NormalColumns
from stream_bayes.core.regression.tree import (
    FAR_IN_ROW,
    MOST_IN_TREE,
    cuts_of,
    deviation_of,
    load_tree,
    most_correlated,
    tree_arrays,
    unit_of,
)
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.data.schema import Schema
from stream_bayes.errors import CannotMerge
from stream_bayes.learners.base.explanation import Contributions
from stream_bayes.learners.base.regressor import BayesRegressor, X
from stream_bayes.learners.base.state import LearnerContent, saved_parameter
from stream_bayes.learners.base.traits import Promise
from stream_bayes.learners.regressors.first_samples import TIMES, FirstSample, first_forecast

__all__ = ["BayesianTree"]

FARTHEST = 30.0  # deviations of a number: farther ones count as that far

Floats = NDArray[np.float64]


class BayesianTree(BayesRegressor):
    """A regression tree whose leaves are Bayesian linear regressions: the line may change where a feature passes a cut.

    A leaf is split where two lines explain its targets better than one does, by more than chance would reach. Strings,
    bytes, bools and tuples are nominal: a split may be on a value.

    Parameters
    ----------
    schema
        The declared features, and no classes. Without one, every feature is learned when it first comes.
    max_values
        The number of values of a nominal feature after which new ones share one effect.
    memory_budget
        The most bytes that sums and names may take; a sample that needs more is refused. Default: no limit.

    Notes
    -----
    There are at most 12 leaves. The tree sees 14 columns, a number or a value of a nominal feature each: those that
    vary most with the target; `left_out_` names the others. Units and cuts, seven a column at its quantiles, are set
    after 8, 16, ..., 128 events, which are then learned anew. What an event lacks is integrated out, under a
    normal distribution of columns given those that it has, which those first events set as well. Targets farther than
    30 deviations away count as that far; eight of them in a row are a new unit, with which the tree begins anew. Every
    25 events of a leaf, the marginal likelihoods of the halves by each cut are compared with that of the whole. If one
    line holds, the leaf is split with a probability of at most 1 / 1,000, however long the stream.

    Promises: the same events from the same state give the same answers. It cannot unlearn, or be merged: its splits
    depend on the order of events.

    Examples
    --------
    >>> model = BayesianTree()
    >>> for k in range(400):
    ...     model.learn_one({"sky": "grey" if k % 2 else "blue", "wind": k % 7}, (k % 7) * (1.0 if k % 2 else -1.0))
    >>> round(model.predict_one({"sky": "grey", "wind": 5})), round(model.predict_one({"sky": "blue", "wind": 5}))
    (5, -5)
    >>> model.leaves_
    2
    """

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.ORDERED})
    counts_pairs: ClassVar[bool] = False

    def __init__(
        self,
        schema: Schema | None = None,
        max_values: int | None = 1000,
        memory_budget: int | None = None,
    ) -> None:
        super().__init__(None, schema, max_values, memory_budget)
        self._first: list[FirstSample] | None = []
        self._far: list[FirstSample] = []  # the newest events, if all of them lie far from those before
        self._columns: dict[int, int] = {}  # by slot, the column of the tree
        # Of each column: the slot that is there where an event has it, the number that counts as 0, and as 1 more.
        self._units = np.zeros((0, 3))
        self._normal = NormalColumns(np.zeros(0), np.zeros((0, 0)))
        self._target = (0.0, 1.0)  # mean and deviation
        self._tree: RegressionTree | None = None

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: float, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The features, `{name: value}`. An absent value, None or NaN is missing.
        y
            The target, a finite number.
        w
            The sample's weight; 2.0 is the same as learning it twice.
        """
        row = self.store.encode(x, y, w)
        if row.weight == 0.0:
            return
        self.store.add(row)
        if self._first is not None:
            self._first.append(FirstSample.of(x, y, w, None, self.clock))
        if self._first is not None and len(self._first) in TIMES:
            self._set_columns(self._first)
            if len(self._first) == TIMES[-1] and self._tree is not None:
                self._first = None
        elif self._tree is not None:
            target = self._in_units(float(row.number[0]))
            newest = [*self._far, FirstSample.of(x, y, w, None, self.clock)][-FAR_IN_ROW:]
            self._far = newest if abs(target) >= FARTHEST else []
            if len(self._far) == FAR_IN_ROW and self._set_columns(self._far):
                self._first, self._far = self._far, []  # the unit has changed: the events before tell nothing
            else:
                self._teach(self._seen(*_content(row)), target, w)
        elif self._first is not None and len(self._first) > TIMES[-1]:  # all targets were equal
            self._first = self._first[-8:]

    def _in_units(self, y: float) -> float:
        """Return a target in deviations from the mean, none of them beyond the farthest."""
        mean, deviation = self._target
        return max(-FARTHEST, min(FARTHEST, (y - mean) / deviation))

    def _teach(self, columns: Floats, target: float, w: float) -> None:
        assert self._tree is not None
        self._tree.learn(self._filled(columns), target, w)

    def _seen(self, slots: Sequence[int], numbers: Sequence[float]) -> Floats:
        """Return the columns of an event with these numbers in these slots; NaN for one that the event lacks."""
        present = set(slots)
        columns = np.array([0.0 if base in present else math.nan for base in self._units[:, 0].tolist()])
        for slot, number in zip(slots, numbers, strict=True):
            k = self._columns.get(slot)
            if k is not None:
                columns[k] = number
        return np.clip((columns - self._units[:, 1]) / self._units[:, 2], -FARTHEST, FARTHEST)

    def _filled(self, columns: Floats) -> Floats:
        """Return the columns of the tree, its 1 first, with the means of what an event lacks given the rest."""
        if np.isnan(columns).any():
            columns = self._normal.filled(columns[None, :])[0][0]
        return np.concatenate([[1.0], columns])

    def _set_columns(self, samples: list[FirstSample]) -> bool:
        """Set units, columns and cuts from the first samples, and learn them anew; return False while targets are
        equal.
        """
        targets = np.array([each.y for each in samples])
        mean, deviation = unit_of(targets)
        if deviation == 0.0:
            return False
        rows = [_content(self._encoder.lookup(each.x)) for each in samples]
        values = np.full((len(rows), len(self._encoder.numeric)), np.nan)
        base = np.asarray(self._encoder.base)
        for number, (present, numbers) in enumerate(rows):
            values[number, np.isin(base[: values.shape[1]], present)] = 0.0
            values[number, present] = numbers
        slots = [s for s in range(1, values.shape[1]) if base[s] >= 0 and not np.isnan(values[:, s]).all()]
        slots.sort(key=lambda slot: repr(self._encoder.numeric[slot].name))
        units = np.array([self._unit_of(values[:, slot], int(base[slot]), slot) for slot in slots])
        units = units.reshape(-1, 3)
        shown = np.clip((values[:, slots] - units[:, 1]) / units[:, 2], -FARTHEST, FARTHEST)
        chosen = most_correlated(np.nan_to_num(shown), targets, MOST_IN_TREE)
        self._columns = {slots[k]: number for number, k in enumerate(chosen)}
        self._units, shown = units[chosen], shown[:, chosen]
        self._normal = NormalColumns.fitted(shown)
        self._target = mean, deviation
        self._tree = RegressionTree(cuts_of(self._normal.filled(shown)[0]), 0.0)
        for row, each in zip(shown, samples, strict=True):
            self._teach(row, self._in_units(each.y), each.w)
        return True

    @staticmethod
    def _unit_of(column: Floats, base: int, slot: int) -> tuple[float, float, float]:
        """Return the slot that is there where a column is, what counts as 0, and as 1 more."""
        present = column[~np.isnan(column)]
        mean = float(np.mean(present))
        if base != slot:
            return base, mean, 1.0
        return base, mean, deviation_of(present) or max(abs(mean), 1.0)

    def merge(self, other: Self) -> Self:
        """Raise `CannotMerge`: splits depend on the order of events."""
        raise CannotMerge(
            "a BayesianTree is not merged: its splits depend on the order of events; take BayesianRegression"
        )

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_one(self, x: X, **kwargs: Any) -> float:
        """Return the mean of an event's target; 0.0 before any learning, as River's regressors do."""
        return self.predict_distribution_one(x).location

    def predict_distribution_one(self, x: X) -> StudentT:
        """Return the distribution of an event's target, with its quantiles, density and score."""
        row, tree = self._encoder.lookup(x), self._tree
        if tree is None:
            return first_forecast(np.array([each.y for each in self._first or ()]))
        columns, (mean, deviation) = self._seen(*_content(row)), self._target
        if not np.isnan(columns).any():
            tree.predict(self._filled(columns))
            return StudentT(
                mean + deviation * float(tree.location), deviation * self._noise(1.0), self._degrees()
            )
        forecasts = []
        for point in np.insert(self._normal.points(columns), 0, 1.0, axis=1):
            tree.predict(point)
            forecasts.append((float(tree.location), self._noise(1.0), self._degrees()))
        locations, scales, degrees = np.array(forecasts).T
        scale = math.sqrt(float(np.mean(scales**2)) + float(np.var(locations)))
        return StudentT(
            mean + deviation * float(np.mean(locations)), deviation * scale, float(np.mean(degrees))
        )

    def _degrees(self) -> float:
        """Return the degrees of freedom of the leaf that predicted last."""
        assert self._tree is not None
        return 2.0 * SHAPE_OF_NOISE + float(self._tree.samples)

    def _noise(self, noises: float) -> float:
        """Return the scale of a number of noises beside the leverage, in deviations of the target."""
        tree = self._tree
        assert tree is not None
        square = (2.0 * SPREAD_OF_NOISE + float(tree.left)) / self._degrees()
        return math.sqrt(square * (noises + float(tree.leverage)))

    def explain_one(self, x: X) -> Contributions:
        """Return what each feature adds to the line of the event's leaf, with its standard deviation."""
        forecast, tree = self.predict_distribution_one(x), self._tree
        if tree is None:
            return Contributions(forecast.location, {})
        columns, size = self._filled(self._seen(*_content(self._encoder.lookup(x)))), tree.columns
        root = np.asarray(tree.regressions[tree.find(columns)].root).reshape(size + 1, size + 1)
        inverse = np.linalg.inv(root[:size, :size])
        coefficients = inverse @ root[:size, size]
        tree.leverage = 0.0
        deviation, noise = self._target[1], self._noise(1.0)
        at: dict[Any, list[int]] = {}
        base, numeric = self._encoder.base, self._encoder.numeric
        for slot, k in self._columns.items():
            name = numeric[slot].name
            at.setdefault(name if base[slot] == slot else name[1], []).append(1 + k)
        features: dict[Any, tuple[float, float]] = {}
        for name, indices in at.items():
            part = np.zeros(size)
            part[indices] = columns[indices]
            spread = noise * float(np.linalg.norm(part @ inverse))
            features[name] = (deviation * float(part @ coefficients), deviation * spread)
        return Contributions(self._target[0] + deviation * float(coefficients[0]), features)

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def leaves_(self) -> int:
        """The number of leaves; 0 until targets that differ have come."""
        return 0 if self._tree is None else int(self._tree.leaves)

    @property
    def left_out_(self) -> tuple[Any, ...]:
        """The features that the tree does not see, or not all values of: they did not fit, or came later."""
        base = self._encoder.base
        left: dict[Any, None] = {}
        for slot, feature in enumerate(self._encoder.numeric):
            if base[slot] >= 0 and slot and slot not in self._columns:
                left[feature.name if base[slot] == slot else feature.name[1]] = None
        return tuple(left)

    @property
    def memory_bytes(self) -> int:
        """The bytes of sums, of the codes of names, and of the tree."""
        first = 8 * sum(len(each.x) + 3 for each in self._first or ())
        return super().memory_bytes + first + sum(array.nbytes for array in self._arrays().values())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return (
            {}
            if self._tree is None
            else {
                "tree_units": np.array(self._units.tolist()),
                "tree_means": np.array(self._normal.mean.tolist()),
                "tree_covariance": np.array(self._normal.covariance.tolist()),
                **tree_arrays(self._tree),
            }
        )

    def content(self) -> LearnerContent:
        """Return a copy of all that the learner holds, at the cost of a copy of its arrays."""
        store = self.store.content()
        parameters = {name: saved_parameter(value) for name, value in self._get_params().items()}
        with_tree = store._replace(arrays=store.arrays | self._arrays())
        return LearnerContent(type(self).__name__, parameters, with_tree, self.derived_state())

    def derived_state(self) -> dict[str, Any]:
        first = None if self._first is None else [each.state() for each in self._first]
        far = [each.state() for each in self._far]
        return {"first": first, "far": far, "slots": [*self._columns], "target": [*self._target]}

    def load_parts(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        with refusing_bad_state():
            ours = {name: array for name, array in store["arrays"].items() if name.startswith("tree_")}
            rest = {name: array for name, array in store["arrays"].items() if name not in ours}
            self.store.load({**store, "arrays": rest})
            expect(set(derived) == {"first", "far", "slots", "target"}, "it holds no tree")
            first, slots = derived["first"], derived["slots"]
            self._first = None if first is None else [FirstSample.from_state(each) for each in first]
            self._far = [FirstSample.from_state(each) for each in derived["far"]]
            expect(len(self._far) <= FAR_IN_ROW, "too many of its newest events lie far away")
            mean, deviation = (float(each) for each in derived["target"])
            expect(math.isfinite(mean) and 0.0 < deviation < math.inf, "the unit of the target is none")
            self._target = mean, deviation
            if not ours:
                expect(not slots, "it has columns, and no tree")
                return
            count = len(self._encoder.numeric)
            is_slot = all(type(slot) is int and 0 < slot < count for slot in slots)
            expect(is_slot and len(set(slots)) == len(slots) <= MOST_IN_TREE, "a column has no feature")
            units = np.array(ours.pop("tree_units"), float)
            expect(units.shape == (len(slots), 3) and bool(np.isfinite(units).all()), "units are none")
            expect(bool((units[:, 2] > 0.0).all()), "a unit is not above 0")
            bases = [float(self._encoder.base[slot]) for slot in slots]
            expect(units[:, 0].tolist() == bases, "a column is there with another feature")
            self._columns, self._units = {slot: k for k, slot in enumerate(slots)}, units
            self._normal = NormalColumns.loaded(
                ours.pop("tree_means"), ours.pop("tree_covariance"), len(slots)
            )
            self._tree = load_tree(ours, 1 + len(slots), 0.0)
            expect(set(ours) == set(tree_arrays(self._tree)), "its arrays are not those of a tree")


def _content(row: Row) -> tuple[list[int], list[float]]:
    """Return the slots of a row and their numbers; the row itself is used again for the next event."""
    _, _, slots, numbers = row.content()
    return list(slots), list(numbers)
