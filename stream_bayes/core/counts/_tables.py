"""Everything a learner counts, and the clock that fades it.

    values      weight[position, class]           present[feature, class]     (_values)
    pairs       weight[position, position, class]                             (_pairs)
    triples     weight[position, position, position, class]                   (_pairs)
    gaussians   sums of numbers and squares [feature, class]                  (_moments)
    co_moments  sums of products [pair of numeric features, class]            (_moments)
    families    weight[parents' values, value, class]                         (_families)
    window      the newest events                                             (_window)
    class_peak  the largest weight of each class since it was last empty, which rounding is measured by

Weights are float64. Beside them stand samples (`_cells`). While every weight has been whole and nothing fades, samples
and weights are the same numbers, and are one and the same array (`exact`).

`FadingClock` (`_fading`) says what a fresh sample weighs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import cython
import numpy as np

from stream_bayes.errors import NotLearned

if not cython.compiled:
    from stream_bayes.core.counts._fading import FadingClock
    from stream_bayes.core.counts._families import FamilyTables
    from stream_bayes.core.counts._family_batches import count_columns
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._moments import Gaussians
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.counts._window import Ring
    from stream_bayes.core.encoding._bins import Bins
    from stream_bayes.core.encoding._rows import Batch, Row
    from stream_bayes.core.values._cells import samples_of, subtract

ABSENT: Any = None  # for type checkers: a value may take its place
ROUNDING = cython.declare(cython.double, 1e-9)  # of the largest magnitude held: the precision of floats


class Missing(IntEnum):
    """The part of a sample that `Tables.forget` did not find; entries, then numbers, count from 0."""

    NOTHING = -1
    SAMPLE = -2
    COMBINATION = -3


NOTHING = cython.declare(cython.longlong, Missing.NOTHING)
SAMPLE = cython.declare(cython.longlong, Missing.SAMPLE)
COMBINATION = cython.declare(cython.longlong, Missing.COMBINATION)


@cython.cclass
class NumberObserver:
    """Follows events with numbers while cut points are to be set; `Discretizer` is one."""

    @cython.ccall
    def observe(self, row: Row):
        """Keep an event that was just learned; cut points may be set now, and the tables filled anew."""
        raise NotImplementedError

    @cython.ccall
    def find(self, row: Row, at: object) -> cython.Py_ssize_t:
        """Return the index of a kept event, the newest equal one or the one learned at a clock; -1 if none is needed.

        Raises `NotLearned` if the event should be kept, and is not.
        """
        raise NotImplementedError

    @cython.ccall
    def drop(self, index: cython.Py_ssize_t):
        """Stop keeping the event of an index."""
        raise NotImplementedError


@cython.cclass
class Tables(FadingClock):
    def __init__(self, half_life, timed=False):
        FadingClock.__init__(self, half_life, timed)
        self.exact = half_life is None
        self.labels = 0
        self.class_weight = np.zeros(2)
        self.class_samples = self.class_weight if self.exact else np.zeros(2)
        self.class_peak = np.zeros(2)
        self.values = ValueCounts(Layout([], [], [], 2), self.exact)
        self.pairs = None
        self.triples = None
        self.gaussians = Gaussians(0, 2, self.exact)
        self.co_moments = ABSENT
        self.bins = None  # the cut points, if numbers are counted in bins
        self.counts_moments = True  # of numbers; in bins only where a reading needs both
        self.observer = None  # while any of these are to be set
        self.on_moved = ABSENT  # takes the slot of a feature whose numbers have left their cuts
        self.families = ABSENT
        self.window = ABSENT
        self.oldest = Row()

    def scale(self, factor: cython.double):
        """Multiply every weight."""
        weights = [self.class_weight, self.class_peak, self.values.weight, self.values.present]
        if self.pairs is not None:
            weights.append(self.pairs.weight)
            if self.pairs.beside is not None:
                weights.append(self.pairs.beside)
        if self.triples is not None:
            weights.append(self.triples.weight)
        self.gaussians.scale(factor)
        if self.co_moments is not None:
            self.co_moments.scale(factor)
        if self.families is not None:
            self.families.scale(factor)
        for weight in weights:
            values = np.asarray(weight)
            values *= factor

    @cython.ccall
    def add(self, row: Row):
        """Learn an encoded sample, whose codes have room in the tables."""
        unit: cython.double = self.arrive(row)
        if row.weight == 0.0:
            return
        self.put(row, unit)
        self.record(row)

    @cython.cfunc
    def add_without_pairs(self, row: Row):
        """Do the rest of `add` after a loop that scored the row has added its pairs on the way.

        For whole weights that do not fade, and a row that leaves the tables complete.
        """
        self.tick(1)
        self.put_singles(row, 1.0)
        self.record(row)

    @cython.cfunc
    def record(self, row: Row):
        """Keep an event that was just counted, where events are kept."""
        if self.window is not None:
            self.window.push(row, self.clock)
        if row.numbers:
            if self.observer is not None:
                self.observer.observe(row)
            if self.on_moved is not None:
                self.watch(row)

    @cython.cfunc
    def watch(self, row: Row):
        """Tell of a feature whose numbers have left their cuts with this row."""
        slot: cython.Py_ssize_t = self.bins.watch(row)
        if slot >= 0:
            self.on_moved(slot)

    @cython.ccall
    def put(self, row: Row, unit: cython.double):
        """Count an encoded sample in all tables; `unit` is the weight of a fresh sample when it came."""
        self.put_values(row, unit)
        if self.pairs is not None:
            self.pairs.add(row, row.weight * unit)
            if self.triples is not None:
                self.triples.add(row, row.weight * unit)
        if self.families is not None:
            self.families.add(row, unit)

    def clear(self, chosen, windowed: cython.bint = False):
        """Empty the tables of the features chosen, a mask over slots; classes and other features keep theirs.

        Families that are `windowed`, counted from some of the events, are dropped: their owner chooses them anew.
        """
        if self.families is not None and not windowed:
            self.families.clear(chosen)
        else:
            self.families = None
        self.values.clear(chosen)
        if self.pairs is not None:
            self.pairs.clear(chosen)
        if self.triples is not None:
            self.triples.clear(chosen)

    def recount(self, batch: Batch, clocks: cython.longlong[::1], chosen: cython.uchar[::1]):
        """Count samples of which the features chosen, a mask over slots, were cleared; the rest is counted already.
        Their numbers are counted in the bins as these are now. `clocks` has the clock at which each was learned.
        """
        labels = np.asarray(batch.label)[: batch.rows]
        weights = np.asarray(batch.weight)[: batch.rows]
        units = self.units_at(np.asarray(clocks)[: batch.rows])
        touched = None if self.families is None else self.families.touching(chosen)
        wanted = np.array(chosen)
        if self.pairs is not None:
            wanted[:] = 1
        elif touched is not None:
            wanted[self.families.slots_of(touched)] = 1
        slots = np.flatnonzero(wanted)
        column_of = np.full(self.values.layout.features, -1, np.longlong)
        column_of[slots] = np.arange(len(slots))
        codes = self.columns_of(batch, len(slots), column_of)
        self.values.add_columns(chosen, column_of, codes, labels, weights, units)
        if self.pairs is not None:
            self.pairs.add_columns(chosen, codes, labels, weights * units)
        if touched is not None:
            count_columns(self.families, touched, column_of, codes, labels, weights, units)
        if self.triples is not None:
            row: Row = Row()
            for r in range(batch.rows):
                batch.load(r, row)
                self.bins.resolve(row)
                self.triples.add_chosen(row, row.weight * units[r], chosen)
        self.mend()

    def columns_of(self, batch: Batch, rows: cython.Py_ssize_t, row_of: cython.longlong[::1]):
        """Return the codes of samples, a row a feature and a column a sample, -1 where missing; numbers are in the bins
        as these are now. `row_of` has the row of each slot, -1 for none.
        """
        bins: Bins = self.bins
        made = np.full((rows, batch.rows), -1, np.int32)
        codes: cython.int[:, ::1] = made
        entry: cython.Py_ssize_t = 0
        at: cython.Py_ssize_t = 0
        for r in range(batch.rows):
            while entry < batch.entry_end[r]:
                row = row_of[batch.feature[entry]]
                if row >= 0:
                    codes[row, r] = batch.code[entry]
                entry += 1
            while at < batch.number_end[r]:
                slot: cython.Py_ssize_t = batch.numeric_feature[at]
                if row_of[slot] >= 0 and bins.has_cuts(slot):
                    codes[row_of[slot], r] = cython.cast(cython.int, bins.code_of(slot, batch.number[at]))
                at += 1
        return made

    def units_at(self, clocks: cython.longlong[::1]):
        """Return the weight of a fresh sample at each clock, or time, on the present scale."""
        units = np.ones(clocks.shape[0])
        unit: cython.double[::1] = units
        if self.half_life != 0.0:
            for k in range(clocks.shape[0]):
                unit[k] = self.unit_at(clocks[k])
        return units

    def count_newest(self, families: FamilyTables, chosen: cython.uchar[::1]):
        """Count the events of the window in the families chosen, a mask over them; numbers in the bins as these are
        now.
        """
        ring: Ring = self.window
        units = self.units_at(ring.in_order(ring.clock))
        slots = families.slots_of(chosen)
        column_of = np.zeros(len(families.room), np.longlong)  # new slots have no room in the tables yet
        column_of[slots] = np.arange(len(slots))
        codes = ring.codes_of(slots, self.bins)
        count_columns(
            families, chosen, column_of, codes, ring.in_order(ring.label), ring.in_order(ring.weight), units
        )

    @cython.cfunc
    def put_values(self, row: Row, unit: cython.double):
        """Count everything of a sample but its pairs and triples, and see whether it lacks a feature."""
        self.put_singles(row, unit)
        if self.pairs is not None and self.pairs.beside is None and not self.is_complete():
            self.pairs.count_beside()

    @cython.cfunc
    def put_singles(self, row: Row, unit: cython.double):
        """Count everything of a sample but its pairs and triples, where it is known to lack no feature."""
        if self.exact and not row.whole:
            self.leave_exact()
        self.class_weight[row.label] += row.weight * unit
        if not self.exact:
            self.class_samples[row.label] += samples_of(row.weight)
        self.values.add(row, unit)
        self.raise_peak(row)
        if row.numbers and self.counts_moments:
            if self.co_moments is not None:
                self.co_moments.add(row, unit, self.gaussians)
            self.gaussians.add(row, unit)

    @cython.cfunc
    def raise_peak(self, row: Row):
        """Raise the peak of a sample's class."""
        # No value weighs more than its feature. No feature weighs more than the class, except that of a bag.
        heaviest: cython.double = self.class_weight[row.label]
        stride: cython.Py_ssize_t = self.values.layout.classes
        if row.entries:
            heaviest = max(heaviest, self.values.present[row.feature[0] * stride + row.label])
        if heaviest > self.class_peak[row.label]:
            self.class_peak[row.label] = heaviest

    def raise_peaks(self):
        """Raise the peaks of all classes, after the tables were filled from elsewhere."""
        self.class_peak = np.maximum(self.class_peak, self.heaviest())

    def heaviest(self):
        """Return the weight of each class, or of its heaviest feature if that is more."""
        present = np.asarray(self.values.present).reshape(-1, self.values.layout.classes)
        return np.maximum(self.class_weight, present.max(axis=0, initial=0.0))

    @cython.ccall
    def is_complete(self) -> cython.bint:
        """Return True if every sample held has every feature that was declared, or that any sample has."""
        values: ValueCounts = self.values
        layout: Layout = values.layout
        for f in range(layout.features):
            if values.distinct[f] == 0:
                continue  # no sample has it, nor was it declared
            for y in range(self.labels):
                if values.present[f * layout.classes + y] != self.class_weight[y]:
                    return False
        return True

    def mend(self):
        """Update what is derived from the counts, after these were filled from elsewhere."""
        self.values.recount()
        if self.values.histogram is not None:
            self.values.rebuild_histogram()
        if self.pairs is not None:
            self.pairs.beside = None
            if not self.is_complete():
                self.pairs.count_beside()

    @cython.ccall
    def forget(self, row: Row, unit: cython.double, at: cython.longlong) -> cython.longlong:
        """Subtract an encoded sample that was added at the clock `at`, when a fresh one weighed `unit`.

        Returns `Missing.NOTHING`, or, with nothing changed, the part that was never learned: the index of an entry, the
        place of a number after all entries, `Missing.SAMPLE` or `Missing.COMBINATION`.
        """
        y: cython.Py_ssize_t = row.label
        amount: cython.double = row.weight * unit
        least: cython.double = 0.0 if self.exact else ROUNDING * self.class_peak[y]
        if row.weight == 0.0:
            return NOTHING
        if self.class_samples[y] < samples_of(row.weight) and self.class_samples[y] != 1.0:
            return SAMPLE
        if self.class_weight[y] + least < amount:
            return SAMPLE
        missing = self.values.missing_entry(row, unit, least)
        if missing >= 0:
            return missing
        if row.numbers and self.counts_moments:
            missing = self.gaussians.missing_number(row, unit, self.class_peak[y])
            if missing >= 0:
                return row.entries + missing
            if self.co_moments is not None and self.co_moments.lacks(row, unit, least, self.gaussians):
                return COMBINATION
        if self.families is not None and self.families.lacks(row, unit, at) >= 0:
            return COMBINATION
        if self.exact and not row.whole:
            self.leave_exact()
        least = 0.0 if self.exact else ROUNDING * self.class_peak[y]
        subtract(self.class_weight, self.class_samples, y, row.weight, unit, least, self.exact)
        self.values.forget(row, unit, least)
        if self.pairs is not None:
            # Pairs have no samples to show that a cell is empty: only a rest far below a fresh sample is rounding.
            least = min(least, ROUNDING * max(self.unit, amount))
            self.pairs.forget(row, amount, least)
            if self.triples is not None:
                self.triples.forget(row, amount, least)
            if not self.exact:
                for k in range(row.entries):
                    cell: cython.Py_ssize_t = self.values.layout.start[row.feature[k]] + row.code[k]
                    if self.values.samples[cell * self.values.layout.classes + y] == 0.0:
                        self.pairs.clear_position(cell, y)
                        if self.triples is not None:
                            self.triples.clear_position(cell, y)
        if row.numbers and self.counts_moments:
            self.gaussians.forget(row, unit, least)
            if self.co_moments is not None:
                least = min(least, ROUNDING * max(self.unit, amount))
                self.co_moments.forget(row, unit, least, self.gaussians)
                for k in range(row.numbers):
                    if self.gaussians.samples[row.numeric_feature[k] * self.gaussians.classes + y] == 0.0:
                        self.co_moments.clear_feature(row.numeric_feature[k], y)
        if self.families is not None:
            self.families.forget(row, unit, at, least)
        if self.class_samples[y] == 0.0:
            self.class_peak[y] = 0.0
        return NOTHING

    @cython.ccall
    def forget_oldest(self):
        """Subtract the oldest event of the window, unless it was unlearned, and drop it there."""
        row: Row = self.oldest
        index: cython.Py_ssize_t = -1
        at: cython.longlong = self.window.clock_of(0)
        self.window.load(0, row)
        if row.weight > 0.0:
            if row.numbers and self.bins is not None:
                self.bins.resolve(row)
            if row.numbers and self.observer is not None:
                index = self.observer.find(row, at)
            if self.forget(row, self.unit_at(at), at) != NOTHING:
                raise NotLearned(
                    f"cannot unlearn the oldest event of the window, learned at {at}: it is not held"
                )
            if index >= 0:
                self.observer.drop(index)
        self.window.drop_oldest()

    @cython.ccall
    def leave_exact(self):
        """Count samples beside the weights, which are not all whole any more."""
        if not self.exact:
            return
        self.exact = False
        self.class_samples = np.array(self.class_weight)
        self.values.exact = False
        self.values.samples = np.array(self.values.weight)
        self.values.present_samples = np.array(self.values.present)
        self.values.histogram = None
        self.gaussians.exact = False
        self.gaussians.samples = np.array(self.gaussians.weight)
        if self.families is not None:
            self.families.leave_exact()
