"""A network whose tables are read from counts, for inference, conditional tables and export.

`_smoothed_rows` has the formula. A variable that has no known value yet gets the one label None, with probability 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.inference._conditionals import Conditionals
from stream_bayes.core.live_networks._joint_reading import JointReading
from stream_bayes.core.live_networks._smoothed_rows import SmoothedRows
from stream_bayes.core.live_networks.family_counts import FamilyCounts
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.readings._smoothing import pseudocount
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BudgetExceeded

__all__ = ["CountedNetwork", "check_bytes", "shares_of", "variance_of"]

Floats = NDArray[np.float64]

CELL_BYTES = 8
MOST_BYTES = 2**28  # in one table


def shares_of(weights: Floats) -> Floats:
    """Return each row divided by its sum; a row of zeros becomes uniform.

    Examples
    --------
    >>> shares_of(np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    totals = weights.sum(axis=-1, keepdims=True)
    if not totals.all():
        weights = np.where(totals > 0.0, weights, 1.0)
        totals = weights.sum(axis=-1, keepdims=True)
    return weights / totals


def variance_of(slopes: Floats, weights: Floats | None) -> float:
    """Return the variance of sum(slopes * log(share)) over rows of Dirichlet parameters; 0 without parameters."""
    if weights is None:
        return 0.0
    total = weights.sum(axis=-1)
    squares = np.divide(slopes**2, weights, out=np.zeros_like(slopes), where=weights > 0.0).sum(axis=-1)
    return float(((squares * total - slopes.sum(axis=-1) ** 2) / (total + 1.0)).sum())


def check_bytes(variable: Value, parents: Sequence[Value], shape: Sequence[int]) -> None:
    """Raise `BudgetExceeded` for a table that would be too large."""
    need = CELL_BYTES * math.prod(shape)
    if need > MOST_BYTES:
        raise BudgetExceeded(
            f"the table of {shown(variable)} given {shown(list(parents))} would need {need:,} bytes, {MOST_BYTES:,} "
            "are the most; give it fewer parents, or bound the values with max_values"
        )


class CountedNetwork:
    """The network that counts make.

    The counts are read on each access to a table. `strength` is the weight of the smoothing, in fresh samples; `spread`
    False adds it to each cell (Laplace), True spreads it over those of a row (m-estimate). `prior` is a network of the
    same structure that was known beforehand, and `weight` that of each of its rows, in fresh samples.

    Notes
    -----
    It holds the position of each table among the counts, so reading a table costs a few nanoseconds a cell. The
    positions are valid while `is_current`.
    """

    def __init__(
        self,
        counts: FamilyCounts,
        strength: float,
        spread: bool,
        prior: DiscreteNetwork | None = None,
        weight: float = 0.0,
    ) -> None:
        self.counts = counts
        self.strength = strength
        self.spread = spread
        self.prior = prior
        self.weight = weight
        self.structure: Structure = counts.structure
        variables = self.structure.variables
        self._held_codes = {v: np.flatnonzero(counts.held_values(v)) for v in variables}
        self.states: Mapping[Any, tuple[Any, ...]] = MappingProxyType(
            {v: counts.held_states(v) or (None,) for v in variables}
        )
        self._arrangement = counts.arrangement()
        self._rows: dict[Value, SmoothedRows] = {}
        # By slot: the position of the variable, and the code here for each code of the vocabulary.
        self._codes: dict[int, tuple[int, list[int]]] | None = None
        self._shares: list[tuple[Value, Floats]] | None = None  # room for each variable's probabilities

    @property
    def is_current(self) -> bool:
        """True if the counts still hold the same values in the same positions."""
        return self._arrangement == self.counts.arrangement()

    @property
    def tables(self) -> Mapping[Any, Floats]:
        """P(variable | parents) of each variable, its own axis last."""
        return {v: self.table(v) for v in self.structure.variables}

    def table(self, variable: Value) -> Floats:
        """Return P(variable | parents), with an axis for each parent and the variable's own last."""
        shares = np.empty(self._shape(variable))
        self._shares_into(variable, shares.reshape(-1))
        return shares

    def weights(self, variable: Value) -> Floats:
        """Return the parameters of each row's Dirichlet posterior, in fresh samples."""
        weights = np.empty(self._shape(variable))
        rows, cells = self._read(variable)
        rows.weights_into(cells, self.counts.tables.unit, weights.reshape(-1))
        return weights

    def codes_of(self, row: Row) -> NDArray[np.int32]:
        """Return an encoded event as a row of codes of the values held here; -1 if missing or not held."""
        if self._codes is None:
            self._codes = {}
            for position, v in enumerate(self.structure.variables):
                code_map = np.full(len(self.counts.values_of(v)), -1, np.int32)
                code_map[self._held_codes[v]] = np.arange(len(self._held_codes[v]))
                self._codes[self.counts.slot_of(v)] = position, code_map.tolist()
        codes = np.full((1, len(self.structure.variables)), -1, np.int32)
        for k in range(row.entries):
            if row.feature[k] in self._codes:
                position, codes_here = self._codes[row.feature[k]]
                if row.code[k] < len(codes_here):  # a value that came after the network was read is not held
                    codes[0, position] = codes_here[row.code[k]]
        return codes

    def joint_reading(self) -> JointReading | None:
        """Return the reading of whole events, which needs no inference, for the families as they are now.

        None if a network was given beforehand and a schema has the values in another order than its labels.
        """
        variables, prior = self.structure.variables, self.prior
        tables = None
        if prior is not None:
            labels = prior.states
            if any(self.counts.values_of(v)[: len(labels[v])] != labels[v] for v in variables):
                return None
            tables = [self._prior_by_slot(v, prior) for v in variables]
        family_numbers = [self.counts.family_number(v) for v in variables]
        return JointReading(
            self.counts.tables, family_numbers, self.strength, self.spread, tables, self.weight
        )

    def _prior_by_slot(self, variable: Value, prior: DiscreteNetwork) -> Floats:
        """Return a table given beforehand with the parents in the order of slots; its labels are the first codes."""
        parents = sorted(prior.structure.parents(variable), key=self.counts.slot_of)
        return np.ascontiguousarray(prior.table(variable, parents))

    def fill(self, conditionals: Conditionals) -> None:
        """Write all tables into those of an inference engine with the same values."""
        if self._shares is None:
            sizes = np.diff(np.asarray(conditionals.start)).tolist()
            self._shares = [
                (v, np.empty(size)) for v, size in zip(self.structure.variables, sizes, strict=True)
            ]
        unit, weight = self.counts.tables.unit, self.counts.cells
        for position, (variable, shares) in enumerate(self._shares):
            rows = self._rows.get(variable)
            if rows is None:
                self._shares_into(variable, shares)
            else:
                rows.shares_into(weight, unit, shares)
            conditionals.fill(position, shares)

    def gather(self, conditionals: Conditionals) -> Floats:
        """Return the weights without smoothing, in fresh samples, laid out as the tables of inference are."""
        answer = np.zeros(len(conditionals.cells))
        start = np.asarray(conditionals.start).tolist()
        for position, variable in enumerate(self.structure.variables):
            rows, cells = self._read(variable)
            rows.gather_into(cells, answer[start[position] : start[position + 1]])
        answer /= self.counts.tables.unit
        return answer

    def scatter(self, cells: Floats, conditionals: Conditionals, amount: float) -> None:
        """Add an amount of cells, laid out as the tables of inference are, to the counts of families with a full table.

        Weights are in the tables' own units.
        """
        start = np.asarray(conditionals.start).tolist()
        for position, variable in enumerate(self.structure.variables):
            rows, weight = self._read(variable)
            rows.scatter(weight, amount, cells[start[position] : start[position + 1]])

    def _shares_into(self, variable: Value, target: Floats) -> None:
        rows, cells = self._read(variable)
        rows.shares_into(cells, self.counts.tables.unit, target)

    def _shape(self, variable: Value) -> list[int]:
        parents = self.structure.parents(variable)
        shape = [len(self.states[name]) for name in (*parents, variable)]
        check_bytes(variable, parents, shape)
        return shape

    # -- positions of the weights -------------------------------------------------------------------------------------

    def _read(self, variable: Value) -> tuple[SmoothedRows, Floats]:
        """Return the rows of a variable's table, and the weights that they index."""
        held_codes = [self._held_codes[name] for name in (*self.structure.parents(variable), variable)]
        if self.counts.is_whole(variable) and all(map(len, held_codes)):
            if variable not in self._rows:
                offsets = self.counts.offsets_of(variable)
                self._rows[variable] = self._rows_at(
                    variable,
                    [along[codes] for along, codes in zip(offsets, held_codes, strict=True)],
                )
            return self._rows[variable], self.counts.cells
        counted = self._sparse_weights(variable, held_codes)
        steps = [
            np.arange(n) * (s // counted.itemsize)
            for n, s in zip(counted.shape, counted.strides, strict=True)
        ]
        return self._rows_at(variable, steps), counted.reshape(-1)

    def _rows_at(self, variable: Value, offsets: list[NDArray[Any]]) -> SmoothedRows:
        """Make the rows of a table from the offsets of the values along each axis."""
        first = np.zeros(1, np.longlong)
        for along in offsets[:-1]:
            first = np.add.outer(first, along).reshape(-1)
        add = pseudocount(self.strength, len(offsets[-1]), self.spread)
        if self.prior is None:
            return SmoothedRows(first, offsets[-1], add)
        return SmoothedRows(first, offsets[-1], add, self._prior_table(variable, self.prior), self.weight)

    def _sparse_weights(self, variable: Value, held_codes: list[NDArray[np.intp]]) -> Floats:
        """Return the weights of a family without a full table, or without any value yet."""
        counted = np.zeros(self._shape(variable))
        if all(map(len, held_codes)):
            codes, weights = self.counts.family(variable).configurations
            positions = [np.searchsorted(axis, codes[:, k]) for k, axis in enumerate(held_codes[:-1])]
            counted[tuple(positions)] = weights[:, held_codes[-1]] * self.counts.tables.unit
        return counted

    def _prior_table(self, variable: Value, prior: DiscreteNetwork) -> Floats:
        """Return the probabilities given beforehand; zeros for values that the given network lacks."""
        parents = self.structure.parents(variable)
        table = np.ascontiguousarray(prior.table(variable, parents))
        family = (*parents, variable)
        if all(self.states[name] == prior.states[name] for name in family):
            return table
        padded = np.zeros([len(self.states[name]) for name in family])
        # The labels of the given network were declared, so each of them is among the values held.
        positions = [[self.states[name].index(value) for value in prior.states[name]] for name in family]
        padded[np.ix_(*positions)] = table
        return padded
