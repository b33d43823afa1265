"""Tests of the families of a network for a change: what changed, and when, on its own counts, so that the others stay.

A family is a variable with its parents. Its events are counted in blocks of `TOGETHER`. After each block some dates in
the past are tested, the further back the fewer:

    blocks after the change     1 2 3 4 6 8 12 16 24 32 ...      the sizes from 8 on only after each second block,
                                                                from 16 on after each fourth, and so on

`core.evidence.exchangeability` has the e-value of a date, which is valid whatever the table is and whatever the graph
lacks, as long as events do not depend on one another. A family's e-value is the mean over these dates. The i-th test of
a network of V variables reports a family if that is at least V (i + 1) (i + 2) / `ERROR`: in a stream without change a
family is ever reported with a probability of at most `ERROR`. Parents are chosen by events before, so a family with new
parents begins to be tested with the events after.
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
from stream_bayes.drift.families import TOGETHER, Coded
from stream_bayes.drift.recent_events import RecentEvents
from stream_bayes.networks.bayes_net import BayesNet

__all__ = ["FamilyChange", "FamilyChanges"]

ERROR = 0.01  # the probability that a stream without change has a family reported
MOST_CELLS = 1024  # of a family: configurations beyond them share rows, which keeps the test valid
DATES_TOGETHER = 64  # tested at once when a change is dated

Counts = NDArray[np.int32]


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
        self._sizes: NDArray[np.int64] = np.zeros(0, np.int64)
        self._clocks: deque[int] = deque(maxlen=self.blocks + 1)  # at the end of each block
        self._sums: deque[Counts] = deque(maxlen=self.blocks + 1)  # all counts until then
        self._base: Counts = np.zeros(0, np.int32)  # those before the test of each family

    # -- blocks -------------------------------------------------------------------------------------------------------

    def after_block(self, model: BayesNet, recent: RecentEvents) -> list[FamilyChange]:
        """Count the newest block and return the families that have changed, the most evident first. `model` has learned
        the events. The newest `TOGETHER` of `recent` are the block.
        """
        sizes = self._sizes_of(model)
        if model.structure is not self._structure or (sizes > 2 * self._sizes).any():
            number = len(recent) - len(recent) % TOGETHER
            self._begin(model, sizes, recent.newest_codes(number), recent.newest_clocks(number))
        else:
            self._count(recent.newest_codes(TOGETHER).codes, recent.newest)
        self.tests += 1
        return self._changes()

    @staticmethod
    def _sizes_of(model: BayesNet) -> NDArray[np.int64]:
        store = model._store
        return np.array([max(len(store.values_of(name)), 1) for name in model.structure], np.int64)

    def _begin(
        self, model: BayesNet, sizes: NDArray[np.int64], events: Coded, clocks: NDArray[np.int64]
    ) -> None:
        """Begin to count the families of a structure: those that it shares with the one before go on."""
        structure, store = model.structure, model._store
        known, now = self.begun, int(clocks[-1])
        is_first = not known
        self._forget()
        self._structure, self._sizes = structure, sizes
        self.begun = {}
        for name in structure.variables:
            parents = tuple(structure.parents(name))
            before = known.get(name)
            if before is not None and set(before[0]) == set(parents):
                self.begun[name] = (parents, before[1])
            else:
                self.begun[name] = (parents, 0 if is_first and not model.is_growing else now)
        size = dict(zip(structure.variables, sizes.tolist(), strict=True))
        slots = np.array([store.slot_of(name) for name in structure.variables])
        rows, strides = [], np.zeros((len(sizes), len(events.codes)), np.int64)
        self._members = np.zeros((len(sizes), len(events.codes)), np.int64)
        for f, name in enumerate(structure.variables):
            step = 1
            for parent in structure.parents(name):
                strides[f, store.slot_of(parent)] = step
                self._members[f, store.slot_of(parent)] = 1
                step *= size[parent]
            self._members[f, slots[f]] = 1
            rows.append(min(step, max(MOST_CELLS // size[name], 1)))
        self._slots, self._strides = slots, strides
        self._slot_sizes = np.ones(len(events.codes), np.int64)
        self._slot_sizes[slots] = sizes
        self._layout = CellLayout(np.array(rows, np.int64), sizes)
        self._base = np.zeros(self._layout.cells, np.int32)
        cells = self._layout.rows * self._layout.columns
        begins = np.array([self.begun[name][1] for name in structure.variables], np.int64)
        self._begins, self._begin_of_cell = begins, np.repeat(begins, cells)
        oldest = int(clocks[0]) - 1 if len(clocks) else 0
        self._clocks.append(oldest)
        self._sums.append(np.zeros(self._layout.cells, np.int32))
        for first in range(0, len(clocks), TOGETHER):
            part = slice(first, first + TOGETHER)
            self._count(events.codes[:, part], int(clocks[part][-1]))

    def _count(self, codes: NDArray[np.int64], clock: int) -> None:
        """Count a block of events, a row of codes for each slot, which ends with a clock."""
        layout, codes = self._layout, codes[: len(self._slot_sizes)]
        there = codes >= 0
        kept = np.where(there, codes % self._slot_sizes[:, None], 0)
        configuration = (self._strides @ kept) % layout.rows[:, None]
        cell = layout.begin[:, None] + configuration * layout.columns[:, None] + kept[self._slots]
        is_whole = (self._members @ (~there).astype(np.int64)) == 0
        counts = np.bincount(cell[is_whole], minlength=layout.cells).astype(np.int32)
        before = self._clocks[-1]
        self._sums.append(self._sums[-1] + counts)
        self._clocks.append(clock)
        begun = self._begin_of_cell <= self._clocks[0]
        if begun.any():
            self._base[begun] = self._sums[0][begun]
        ends = (self._begin_of_cell > before) & (self._begin_of_cell <= clock)
        self._base[ends] = self._sums[-1][ends]

    # -- tests --------------------------------------------------------------------------------------------------------

    def _changes(self) -> list[FamilyChange]:
        """Test the families after a block."""
        number = len(self._sums)
        dates = [number - 1 - size for size in self._due_sizes() if size < number]
        if not dates or not len(self._sizes):
            return []
        evidence = self._evidence(dates)
        means = np.logaddexp.reduce(evidence, axis=0) - math.log(len(dates))
        names = self._structure.variables if self._structure is not None else ()
        least = math.log(len(names) * (self.tests + 1.0) * (self.tests + 2.0) / ERROR)
        found = [
            FamilyChange(names[f], self._date(f), float(means[f]))
            for f in np.flatnonzero(means >= least).tolist()
        ]
        return sorted(found, key=lambda change: -change.log_evidence)

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

    def _date(self, family: int) -> int:
        """Return the clock of the first event after the change of a family: the date with the most evidence."""
        cells, layout = self._layout.part(family)
        dates = [d for d in range(len(self._sums) - 1) if self._clocks[d] > self._begins[family]]
        now, base = self._sums[-1][cells], self._base[cells]
        best, since = -math.inf, self._clocks[-1]
        for first in range(0, len(dates), DATES_TOGETHER):
            part = dates[first : first + DATES_TOGETHER]
            sums = np.stack([self._sums[date][cells] for date in part])
            evidence = log_evidence(sums - base, now - sums, layout, self._log_gamma)[:, 0]
            place = int(np.argmax(evidence))
            if evidence[place] > best:
                best, since = float(evidence[place]), self._clocks[part[place]]
        return since + 1

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
