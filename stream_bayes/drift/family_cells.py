"""Events as cells of tables, one table a family: what the tests of families count.

A name is counted by its value and the configuration of its parents. In time, that is also the configuration of its
copies in earlier events: without them each value that lasts would look like a change while the graph lacks their edges.
A number is counted by its residual, in deviations about its mean given its parents, cut at `RESIDUALS`; its
configuration is that of its nominal parents, and whether its mean is in the lower or the upper half. The mean is that
of the network as it is. So a change of coefficients moves residuals, a change of the variance spreads or narrows them,
and a test that is valid whatever the table is holds whatever the distribution of the numbers is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.evidence.exchangeability import CellLayout
from stream_bayes.core.live_networks.mixed_counts import MixedCounts
from stream_bayes.core.values.values import Value
from stream_bayes.drift.recent_events import JointNetwork, RecentEvents, joint_network_of
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.dynamic_network import DynamicNetwork
from stream_bayes.networks.mixed_network import MixedNetwork

__all__ = ["FamilyCells", "cells_of"]

MOST_CELLS = 1024  # of a family: configurations beyond them share rows, which keeps the test valid
RESIDUALS = (-2.0, -1.0, -0.4, 0.0, 0.4, 1.0, 2.0)  # deviations
HALVES = 2  # of the means given the numeric parents

CellNumbers = NDArray[np.int64]
Column: TypeAlias = NDArray[np.int64] | NDArray[np.float64]  # codes, or numbers


class FamilyCells(Protocol):
    """The tables of a network's families, in the order of its variables."""

    layout: CellLayout

    def are_outgrown_by(self, model: JointNetwork) -> bool:
        """Return True if the network needs other cells now."""

    def feature_of(self, variable: Value) -> Value:
        """Return the name of a variable among the features of events."""

    def of(self, recent: RecentEvents, number: int) -> CellNumbers:
        """Return the cell of each of the newest events (columns) in each family (rows); -1 if it lacks a variable."""


def cells_of(model: JointNetwork) -> FamilyCells:
    """Return the tables of a network as it is."""
    network, copies = joint_network_of(model), _copies_of(model)
    return TableCells(network, copies) if isinstance(network, BayesNet) else MixedCells(network, copies)


def _copies_of(model: JointNetwork) -> Mapping[Value, Sequence[Value]]:
    """Return the lagged copies of each variable of a network in time; no variable of another one has any."""
    if not isinstance(model, DynamicNetwork):
        return {}
    copies: dict[Value, list[Value]] = {}
    for copy, variable in model.copies.items():
        if copy in model.structure:
            copies.setdefault(variable, []).append(copy)
    return copies


class TableCells:
    """Tables of a network of names, with the values that its variables have now. `copies` of a variable, of earlier
    events, count as its parents.
    """

    def __init__(self, model: BayesNet, copies: Mapping[Value, Sequence[Value]]) -> None:
        store, structure = model.store, model.structure
        self._sizes = _sizes_of(model)
        size = dict(zip(structure.variables, self._sizes.tolist(), strict=True))
        self._slots = np.array([store.slot_of(name) for name in structure.variables], np.int64)
        features = int(self._slots.max(initial=-1)) + 1
        self._strides = np.zeros((len(size), features), np.int64)
        self._members = np.zeros((len(size), features), np.int64)
        rows = []
        for f, name in enumerate(structure.variables):
            step = 1
            for parent in dict.fromkeys([*structure.parents(name), *copies.get(name, ())]):
                self._strides[f, store.slot_of(parent)] = step
                self._members[f, store.slot_of(parent)] = 1
                step *= size[parent]
            self._members[f, self._slots[f]] = 1
            rows.append(min(step, max(MOST_CELLS // size[name], 1)))
        self._slot_sizes = np.ones(features, np.int64)
        self._slot_sizes[self._slots] = self._sizes
        self.layout = CellLayout(np.array(rows, np.int64), self._sizes)

    def are_outgrown_by(self, model: JointNetwork) -> bool:
        """Return True if a variable has more than twice the values."""
        network = joint_network_of(model)
        assert isinstance(network, BayesNet)
        return bool((_sizes_of(network) > 2 * self._sizes).any())

    def feature_of(self, variable: Value) -> Value:
        """Return the variable: a feature has its name."""
        return variable

    def of(self, recent: RecentEvents, number: int) -> CellNumbers:
        """Return the cells of the newest events."""
        layout = self.layout
        codes = recent.newest_codes(number).codes[: len(self._slot_sizes)]
        there = codes >= 0
        kept = np.where(there, codes % self._slot_sizes[:, None], 0)
        configuration = (self._strides @ kept) % layout.rows[:, None]
        cell = layout.begin[:, None] + configuration * layout.columns[:, None] + kept[self._slots]
        return np.where((self._members @ (~there).astype(np.int64)) == 0, cell, -1)


def _sizes_of(model: BayesNet) -> NDArray[np.int64]:
    store = model.store
    return np.array([max(len(store.values_of(name)), 1) for name in model.structure], np.int64)


class MixedCells:
    """Tables of a network of names and numbers. Residuals are by its present coefficients, so that all events are
    counted anew with each block. `copies` of a name, of earlier events, count as its parents.
    """

    def __init__(self, model: MixedNetwork, copies: Mapping[Value, Sequence[Value]]) -> None:
        self._model, self._clock = model, model.clock
        counts = model.store
        self._above = {
            v: [*counts.nominal_parents(v)]
            if counts.kinds.get(v)
            else [*dict.fromkeys([*counts.nominal_parents(v), *copies.get(v, ())])]
            for v in model.structure.variables
        }
        self._variables = model.structure.variables
        self._sizes = {
            v: max(len(counts.vocabulary(v)), 1) for v in self._variables if not counts.kinds.get(v)
        }
        columns, rows = [], []
        for v in self._variables:
            width = len(RESIDUALS) + 1 if counts.kinds.get(v) else self._sizes[v]
            height = HALVES if counts.numeric_parents(v) else 1
            for parent in self._above[v]:
                height *= self._sizes[parent]
            for parent in counts.cut_parents(v):
                height *= len(counts.cuts[parent, v]) + 1
            columns.append(width)
            rows.append(min(height, max(MOST_CELLS // width, 1)))
        self.layout = CellLayout(np.array(rows, np.int64), np.array(columns, np.int64))

    def are_outgrown_by(self, model: JointNetwork) -> bool:
        """Return True once the network has learned anything."""
        return joint_network_of(model) is not self._model or model.clock != self._clock

    def feature_of(self, variable: Value) -> Value:
        """Return the text that names a variable among the features."""
        return self._model.store.text_of(variable)

    def of(self, recent: RecentEvents, number: int) -> CellNumbers:
        """Return the cells of the newest events."""
        counts, encoder = self._model.store, self._model.store.encoder
        codes, numbers = recent.newest_codes(number).codes, recent.newest_numbers(number)
        column: dict[Value, Column] = {}
        for v in self._variables:
            feature = encoder.features.get(counts.text_of(v))
            if feature is not None:
                column[v] = numbers[feature.slot] if feature.numeric else codes[feature.slot]
        cells = np.full((len(self._variables), number), -1, np.int64)
        for f, v in enumerate(self._variables):
            family = (*self._model.structure.parents(v), *self._above[v], v)
            if v not in counts.families or not column.keys() >= {*family}:
                continue
            there = np.logical_and.reduce([_is_there(column[each]) for each in family])
            if not there.any():
                continue
            kept = {v: each[there] for v, each in column.items()}
            configuration = self._configuration(counts, v, kept)
            if counts.kinds[v]:
                values, half = self._residuals(counts, v, kept, configuration)
                configuration = configuration * (HALVES if counts.numeric_parents(v) else 1) + half
            else:
                values = kept[v].astype(np.int64)
            rows, columns = int(self.layout.rows[f]), int(self.layout.columns[f])
            cells[f, there] = int(self.layout.begin[f]) + configuration % rows * columns + values
        return cells

    def _configuration(self, counts: MixedCounts, v: Value, column: dict[Value, Column]) -> CellNumbers:
        """Return the number of each event's configuration of nominal parents and bins."""
        configuration = np.zeros(len(column[v]), np.int64)
        for p in self._above[v]:
            configuration = configuration * self._sizes[p] + column[p].astype(np.int64)
        for p in counts.cut_parents(v):
            cuts = np.array(counts.cuts[p, v])
            configuration = configuration * (len(cuts) + 1) + np.searchsorted(cuts, column[p], side="right")
        return configuration

    def _residuals(
        self, counts: MixedCounts, v: Value, column: dict[Value, Column], configuration: CellNumbers
    ) -> tuple[CellNumbers, CellNumbers]:
        """Return the bin of each number's residual, and the half that its mean is in."""
        nominal = counts.nominal_parents(v)
        parents = np.array([column[p] for p in counts.numeric_parents(v)], np.float64).reshape(
            -1, len(column[v])
        )
        means, spread = np.zeros(len(column[v])), np.zeros(len(column[v]))
        for first in np.unique(configuration, return_index=True)[1].tolist():
            values = {p: counts.vocabulary(p)[int(column[p][first])] for p in nominal}
            line = self._model.families.numeric(v, values).linear()
            rows = configuration == configuration[first]
            means[rows] = line.intercept + np.array(line.slopes) @ parents[:, rows]
            spread[rows] = np.sqrt(line.variance)
        residuals = (column[v].astype(np.float64) - means) / spread
        half = means > np.median(means) if len(parents) else np.zeros(len(means))
        return np.searchsorted(RESIDUALS, residuals).astype(np.int64), half.astype(np.int64)


def _is_there(column: Column) -> NDArray[np.bool_]:
    """Return where a value is not missing."""
    return ~np.isnan(column) if column.dtype == np.float64 else column >= 0
