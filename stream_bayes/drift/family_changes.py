"""Tests of the families of a network for a change: what changed, and when, on its own counts, so that the others stay.

A family is a variable with its parents. Its events are counted in blocks of `TOGETHER`. After each block some dates in
the past are tested, the further back the fewer:

    blocks after the change     1 2 3 4 6 8 12 16 24 32 ...      the sizes from 8 on only after each second block,
                                                                from 16 on after each fourth, and so on

`core.evidence.exchangeability` has the e-value of a date, which is valid whatever the table is and whatever the graph
lacks, as long as events do not depend on one another. A family's e-value is the mean over these dates. The i-th test of
a network of V variables reports a family if that is at least V (i + 1) (i + 2) / `ERROR`: in a stream without change a
family is ever reported with a probability of at most `ERROR`. Parents are chosen by events before, so a family with new
parents begins to be tested with the events after. In time, a change is reported if given each other variable its
e-value is still 1 / `ERROR`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.evidence.exchangeability import CellLayout, LogGamma, log_evidence
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value
from stream_bayes.drift.family_cells import FamilyCells, cells_of
from stream_bayes.drift.family_detectors import TOGETHER
from stream_bayes.drift.recent_events import JointNetwork, RecentEvents, has_densities
from stream_bayes.networks.dynamic_network import DynamicNetwork

__all__ = ["FamilyChange", "FamilyChanges"]

ERROR = 0.01  # the probability that a stream without change has a family reported
DATES_TOGETHER = 64  # tested at once when a change is dated
# Events before a change, and twice those after it, in which another variable may explain it.
EXPLAINED_FROM = 2_048
HARDLY_LESS = 3.0  # nats of evidence of a date
NEVER = 2**61  # the clock after which copies of earlier events are tested: they change with their variables

CellCounts = NDArray[np.int32]


class FamilyChange(NamedTuple):
    """A family that has changed."""

    variable: Value  # the child
    since: int  # the clock of the first event after the change
    log_evidence: float  # the logarithm of the e-value, over all dates that were tested


class FamilyChanges:
    """A test of each family of a network, one block of events after another. Changes are dated within the newest
    `blocks`.
    """

    def __init__(self, blocks: int) -> None:
        self.blocks = max(blocks, 2)
        self.tests = 0  # blocks that were tested
        self.begun: dict[
            Value, tuple[tuple[Value, ...], int]
        ] = {}  # parents, and the clock after which it is tested
        self._log_gamma = LogGamma()
        self._forget()

    def state(self) -> list[Any]:
        """Return all that is not counted again from the recent events, as values of JSON and names."""
        begun = [[name, list(parents), clock] for name, (parents, clock) in self.begun.items()]
        return [self.tests, begun]

    def load(self, state: Sequence[Any]) -> None:
        """Continue from a state."""
        self.tests, begun = state
        self.begun = {name: (tuple(parents), clock) for name, parents, clock in begun}

    def _forget(self) -> None:
        """Drop all counts: they are counted again from the recent events."""
        self._structure: Structure | None = None
        self._cells: FamilyCells | None = None
        self._clocks: deque[int] = deque(maxlen=self.blocks + 1)  # at the end of each block
        self._sums: deque[CellCounts] = deque(maxlen=self.blocks + 1)  # all counts until then
        self._base: CellCounts = np.zeros(0, np.int32)  # those before the test of each family

    # -- blocks -------------------------------------------------------------------------------------------------------

    def after_block(self, model: JointNetwork, recent: RecentEvents) -> list[FamilyChange]:
        """Count the newest block and return the families that have changed, the most evident first. `model` has learned
        the events. The newest `TOGETHER` of `recent` are the block.
        """
        if (
            self._cells is None
            or model.structure is not self._structure
            or self._cells.are_outgrown_by(model)
        ):
            self._begin(model, recent)
        else:
            self._count(self._cells, recent, TOGETHER)
        self.tests += 1
        changes = self._changes(recent)
        if isinstance(model, DynamicNetwork):
            return [change for change in changes if not self._is_explained(change, recent)]
        return changes

    def _is_explained(self, change: FamilyChange, recent: RecentEvents) -> bool:
        """Return True if little evidence of a change is left given another variable.

        Values in time last. What depends on such a value seems to change with it, as long as the graph lacks the edge.
        """
        assert self._structure is not None and self._cells is not None
        layout, variables = self._layout, self._structure.variables
        number = min(len(recent), EXPLAINED_FROM + 2 * (recent.newest - change.since + 1))
        cells, clocks = self._cells.of(recent, number), recent.newest_clocks(number)
        family = variables.index(change.variable)
        tested = clocks > self._begins[family]
        table = cells[family] - layout.begin[family]
        size = int(layout.rows[family] * layout.columns[family])
        for values in recent.names_but(self._cells.feature_of(change.variable), number):
            there = tested & (cells[family] >= 0) & (values >= 0)
            column, is_after = (table + size * values)[there], clocks[there] >= change.since
            rows = layout.rows[family : family + 1] * (int(values.max(initial=0)) + 1)
            wide = CellLayout(rows, layout.columns[family : family + 1])
            before, after = (
                np.bincount(column[part], minlength=wide.cells)[None] for part in (~is_after, is_after)
            )
            if float(log_evidence(before, after, wide, self._log_gamma)[0, 0]) < -math.log(ERROR):
                return True
        return False

    def _begin(self, model: JointNetwork, recent: RecentEvents) -> None:
        """Begin to count the families of a network: those that it shares with the one before go on."""
        structure, number = model.structure, len(recent) - len(recent) % TOGETHER
        begun, clocks = self.begun, recent.newest_clocks(number)
        is_first = not begun
        self._forget()
        cells = cells_of(model)
        self._structure, self._cells, self._layout = structure, cells, cells.layout
        self._has_numbers = has_densities(model)
        self.begun = {}
        copies = model.copies if isinstance(model, DynamicNetwork) else {}
        for name in structure.variables:
            parents = tuple(structure.parents(name))
            before = begun.get(name)
            if name in copies:
                self.begun[name] = (parents, NEVER)
            elif before is not None and set(before[0]) == set(parents):
                self.begun[name] = (parents, before[1])
            else:
                self.begun[name] = (parents, 0 if is_first and not model.is_growing else int(clocks[-1]))
        self._base = np.zeros(self._layout.cells, np.int32)
        begins = np.array([self.begun[name][1] for name in structure.variables], np.int64)
        self._begins = begins
        self._begin_of_cell = np.repeat(begins, self._layout.rows * self._layout.columns)
        self._clocks.append(int(clocks[0]) - 1)
        self._sums.append(np.zeros(self._layout.cells, np.int32))
        self._count(cells, recent, number)

    def _count(self, cells: FamilyCells, recent: RecentEvents, number: int) -> None:
        """Count the newest events, in blocks."""
        cell, size = cells.of(recent, number), self._layout.cells
        for first, clock in zip(
            range(0, number, TOGETHER), recent.newest_clocks(number)[TOGETHER - 1 :: TOGETHER], strict=True
        ):
            block = cell[:, first : first + TOGETHER]
            self._add(np.bincount(block[block >= 0], minlength=size).astype(np.int32), int(clock))

    def _add(self, counts: CellCounts, clock: int) -> None:
        """Add the counts of a block of events, which ends with a clock."""
        before = self._clocks[-1]
        self._sums.append(self._sums[-1] + counts)
        self._clocks.append(clock)
        begun = self._begin_of_cell <= self._clocks[0]
        if begun.any():
            self._base[begun] = self._sums[0][begun]
        ends = (self._begin_of_cell > before) & (self._begin_of_cell <= clock)
        self._base[ends] = self._sums[-1][ends]

    # -- tests --------------------------------------------------------------------------------------------------------

    def _changes(self, recent: RecentEvents) -> list[FamilyChange]:
        """Test the families after a block."""
        number = len(self._sums)
        dates = [number - 1 - size for size in self._due_sizes() if size < number]
        if not dates or self._structure is None or not len(self._structure):
            return []
        evidence = self._evidence(dates)
        means = np.logaddexp.reduce(evidence, axis=0) - math.log(len(dates))
        names = self._structure.variables
        least = math.log(len(names) * (self.tests + 1.0) * (self.tests + 2.0) / ERROR)
        changes = [
            FamilyChange(names[f], self._date(f, recent), float(means[f]))
            for f in np.flatnonzero(means >= least).tolist()
        ]
        return sorted(changes, key=lambda change: -change.log_evidence)

    def _due_sizes(self) -> list[int]:
        """Return the numbers of blocks after the change that are tested now."""
        sizes, octave = [], 1
        while octave < self.blocks:
            every = max(octave // 4, 1)
            if self.tests % every == 0:
                sizes += [octave] if octave == 1 else [octave, octave + octave // 2]
            octave *= 2
        return sizes

    def _evidence(self, dates: list[int]) -> NDArray[np.float64]:
        """Return the evidence of each family (columns) that it changed after each block; -inf before its test began."""
        sums, now = np.stack([self._sums[date] for date in dates]), self._sums[-1]
        before = np.maximum(sums - self._base, 0)
        evidence = log_evidence(before, now - sums, self._layout, self._log_gamma)
        clocks = np.array([self._clocks[date] for date in dates])
        evidence[clocks[:, None] <= self._begins[None, :]] = -math.inf
        return evidence

    def _date(self, family: int, recent: RecentEvents) -> int:
        """Return the clock of the first event after the change of a family: the date with the most evidence.

        That is the best of the ends of blocks. Of a network with numbers it is then the latest event with hardly less
        evidence in the two blocks about that: a few events of before would spoil the lines of numbers for long.
        """
        cells, layout = self._layout.part(family)
        dates = [d for d in range(len(self._sums) - 1) if self._clocks[d] > self._begins[family]]
        now, base = self._sums[-1][cells], self._base[cells]
        best, block = -math.inf, len(self._sums) - 1
        for first in range(0, len(dates), DATES_TOGETHER):
            part = dates[first : first + DATES_TOGETHER]
            sums = np.stack([self._sums[date][cells] for date in part])
            evidence = log_evidence(sums - base, now - sums, layout, self._log_gamma)[:, 0]
            heaviest = int(np.argmax(evidence))
            if evidence[heaviest] > best:
                best, block = float(evidence[heaviest]), part[heaviest]
        if not self._has_numbers:
            return self._clocks[block] + 1
        first, last = max(block - 1, 0), min(block + 1, len(self._sums) - 1)
        begin, end = max(self._clocks[first], int(self._begins[family])), self._clocks[last]
        assert self._cells is not None
        number = min(len(recent), recent.newest - self._clocks[first])
        clocks, column = recent.newest_clocks(number), self._cells.of(recent, number)[family]
        column = np.where(column < 0, -1, column - self._layout.begin[family])
        hits = (column[:, None] == np.arange(layout.cells)) & (clocks > self._clocks[first])[:, None]
        sums = self._sums[first][cells] + np.cumsum(hits, axis=0)
        evidence = log_evidence(
            np.maximum(sums - base, 0), np.maximum(now - sums, 0), layout, self._log_gamma
        )[:, 0]
        evidence[(clocks <= begin) | (clocks > end)] = -math.inf
        as_good = np.flatnonzero(evidence >= max(best, float(evidence.max(initial=best))) - HARDLY_LESS)
        return (
            max(self._clocks[block], *clocks[as_good].tolist()) + 1
            if len(as_good)
            else self._clocks[block] + 1
        )

    def begin_again(self, variables: Iterable[Value]) -> None:
        """Begin the test of some families anew, with the next event: their tables were counted again."""
        now = self._clocks[-1]
        for name in variables:
            self.begun[name] = (self.begun[name][0], now)
        assert self._structure is not None
        cells = self._layout.rows * self._layout.columns
        self._begins = np.array([self.begun[name][1] for name in self._structure.variables], np.int64)
        self._begin_of_cell = np.repeat(self._begins, cells)
        chosen = self._begin_of_cell == now
        self._base[chosen] = self._sums[-1][chosen]
