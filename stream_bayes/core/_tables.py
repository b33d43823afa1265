"""The count tables and the loops that add one event to them, or take it back.

    positions   feature 0: room for its values | feature 1 ... | feature 2 ...      (Layout)
    values      weight[position, class]           present[feature, class]           classes innermost
    pairs       weight[row of position p, position q, class] for each q of an earlier feature: a triangle,
                so a pair of values has one cell, and a prediction walks along rows
    gaussians   weight, mean, m2 [feature, class]                                   (_gaussians)

Weights are float64. Beside them stand samples (`_cells`). While every weight has been whole and nothing fades, samples
and weights are the same numbers, and are one and the same array (`exact`).

Fading multiplies nothing: a fresh sample weighs `unit`, which doubles every `half_life` events, and everything
is read relative to it. Once in 256 half-lives the tables are rescaled.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core._cells import samples_of, take
    from stream_bayes.core._gaussians import Gaussians
    from stream_bayes.core._histogram import CountHistogram
    from stream_bayes.core._rows import Row

RESCALE_AT = cython.declare(cython.double, 256.0)  # half-lives; 2^256 leaves room for weights up to 1e200
ROUNDING = cython.declare(cython.double, 1e-9)  # of the largest magnitude held: what is promised of floats


@cython.cclass
class Layout:
    """Where the values of each feature stand: a run of positions a feature, with room to grow.

    Parameters
    ----------
    used
        How many codes each feature has.
    room
        How many positions each feature gets, at least `used`.
    declared
        How many of a feature's first codes were declared.
    classes
        The room for classes, the innermost dimension of every table.
    """

    def __init__(self, used, room, declared, classes: cython.Py_ssize_t):
        self.classes = classes
        self.features = len(used)
        self.used = np.asarray(used, np.longlong)
        self.room = np.asarray(room, np.longlong)
        self.declared = np.asarray(declared, np.longlong)
        rooms = np.asarray(self.room)
        self.start = np.cumsum(rooms, dtype=np.longlong) - rooms
        self.positions = int(rooms.sum())
        blocks = rooms * np.asarray(self.start)
        self.pair_start = np.cumsum(blocks, dtype=np.longlong) - blocks
        self.pairs = int(blocks.sum())

    def positions_of(self, counts):
        """The positions of the first `counts[f]` codes of each feature f, in order."""
        counts = np.asarray(counts, np.longlong)
        starts = np.asarray(self.start)[: len(counts)]
        inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return (np.repeat(starts, counts) + inside).astype(np.longlong)


@cython.cclass
class ValueCounts:
    """Weights of (class, value), and of (class, feature present), with the number of values that hold samples."""

    def __init__(self, layout: Layout, exact: cython.bint):
        cells = layout.positions * layout.classes
        self.layout = layout
        self.exact = exact
        self.weight = np.zeros(cells)
        self.samples = self.weight if exact else np.zeros(cells)
        self.present = np.zeros(layout.features * layout.classes)
        self.present_samples = self.present if exact else np.zeros(layout.features * layout.classes)
        self.held = np.zeros(layout.positions, np.uint8)
        self.distinct = np.zeros(layout.features, np.longlong)
        self.histogram = None
        self.recount()

    def recount(self):
        """Find out anew which values hold samples, after the tables were filled from elsewhere."""
        layout: Layout = self.layout
        held = np.asarray(self.held)
        held[:] = (np.asarray(self.samples).reshape(layout.positions, layout.classes) > 0).any(axis=1)
        held[layout.positions_of(layout.declared)] = 1
        self.distinct = np.diff(np.concatenate([[0], np.cumsum(held, dtype=np.longlong)])[self.bounds()])

    def bounds(self):
        """Where each feature's run begins, and where the last one ends."""
        return np.append(np.asarray(self.layout.start), self.layout.positions)

    def rebuild_histogram(self):
        """Sort the words into buckets anew."""
        histogram = CountHistogram(self.layout.classes, self.layout.positions * self.layout.classes)
        histogram.load(self.weight)
        self.histogram = histogram

    @cython.cfunc
    def add(self, row: Row, unit: cython.double):
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        y: cython.Py_ssize_t = row.label
        k: cython.Py_ssize_t
        f: cython.Py_ssize_t
        position: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        amount: cython.double
        for k in range(row.entries):
            f = row.feature[k]
            position = layout.start[f] + row.code[k]
            cell = position * stride + y
            amount = row.amount[k] * row.weight
            self.weight[cell] += amount * unit
            self.present[f * stride + y] += amount * unit
            if not self.exact:
                self.samples[cell] += samples_of(amount)
                self.present_samples[f * stride + y] += samples_of(amount)
            if not self.held[position]:
                self.held[position] = True
                self.distinct[f] += 1
        if self.histogram is not None:
            for k in range(row.entries):
                cell = (layout.start[row.feature[k]] + row.code[k]) * stride + y
                self.histogram.move(cell, y, self.weight[cell])
            self.histogram.fresh[y] = False

    @cython.cfunc
    def missing_entry(self, row: Row, unit: cython.double) -> cython.longlong:
        """The first entry of the row that was never learned in this class, or -1."""
        layout: Layout = self.layout
        k: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        amount: cython.double
        for k in range(row.entries):
            cell = (layout.start[row.feature[k]] + row.code[k]) * layout.classes + row.label
            amount = row.amount[k] * row.weight
            if self.samples[cell] < samples_of(amount) and self.samples[cell] != 1.0:
                return k
            if self.weight[cell] * (1.0 + ROUNDING) < amount * unit:
                return k
        return -1

    @cython.cfunc
    def forget(self, row: Row, unit: cython.double, least: cython.double):
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        y: cython.Py_ssize_t = row.label
        k: cython.Py_ssize_t
        f: cython.Py_ssize_t
        c: cython.Py_ssize_t
        position: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        amount: cython.double
        for k in range(row.entries):
            f = row.feature[k]
            position = layout.start[f] + row.code[k]
            cell = position * stride + y
            amount = row.amount[k] * row.weight
            take(self.weight, self.samples, cell, amount, unit, least, self.exact)
            take(self.present, self.present_samples, f * stride + y, amount, unit, least, self.exact)
            if self.samples[cell] == 0.0 and row.code[k] >= layout.declared[f]:
                for c in range(stride):
                    if self.samples[position * stride + c] > 0.0:
                        break
                else:
                    self.held[position] = False
                    self.distinct[f] -= 1
        if self.histogram is not None:
            for k in range(row.entries):
                cell = (layout.start[row.feature[k]] + row.code[k]) * stride + y
                self.histogram.move(cell, y, self.weight[cell])
            self.histogram.fresh[y] = False


@cython.cclass
class PairCounts:
    """Weights of (class, value, value of an earlier feature)."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self.weight = np.zeros(layout.pairs * layout.classes)

    @cython.cfunc
    def add(self, row: Row, amount: cython.double):
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        y: cython.Py_ssize_t = row.label
        k: cython.Py_ssize_t
        earlier: cython.Py_ssize_t
        f: cython.Py_ssize_t
        line: cython.Py_ssize_t
        for k in range(1, row.entries):
            f = row.feature[k]
            line = layout.pair_start[f] + row.code[k] * layout.start[f]
            for earlier in range(k):
                self.weight[(line + layout.start[row.feature[earlier]] + row.code[earlier]) * stride + y] += (
                    amount
                )

    @cython.cfunc
    def forget(self, row: Row, amount: cython.double, least: cython.double):
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        k: cython.Py_ssize_t
        earlier: cython.Py_ssize_t
        f: cython.Py_ssize_t
        line: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        for k in range(1, row.entries):
            f = row.feature[k]
            line = layout.pair_start[f] + row.code[k] * layout.start[f]
            for earlier in range(k):
                cell = (line + layout.start[row.feature[earlier]] + row.code[earlier]) * stride + row.label
                self.weight[cell] -= amount
                if self.weight[cell] < least:
                    self.weight[cell] = 0.0

    @cython.cfunc
    def clear_position(self, position: cython.Py_ssize_t, label: cython.Py_ssize_t):
        """Nothing of this class holds the value any more: no pair with it does."""
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        own: cython.Py_ssize_t = 0
        f: cython.Py_ssize_t
        code: cython.Py_ssize_t
        q: cython.Py_ssize_t
        for f in range(layout.features):
            if layout.start[f] <= position:
                own = f
        line: cython.Py_ssize_t = layout.pair_start[own] + (position - layout.start[own]) * layout.start[own]
        for q in range(layout.start[own]):
            self.weight[(line + q) * stride + label] = 0.0
        for f in range(own + 1, layout.features):
            for code in range(layout.room[f]):
                line = layout.pair_start[f] + code * layout.start[f]
                self.weight[(line + position) * stride + label] = 0.0

    def pour(self, other: PairCounts, targets, classes, factor: cython.double):
        """Add another table, whose positions and classes are called `targets` and `classes` here."""
        here: Layout = self.layout
        there: Layout = other.layout
        to: cython.longlong[::1] = targets
        label: cython.longlong[::1] = classes
        owner: cython.longlong[::1] = np.repeat(np.arange(here.features), np.asarray(here.room)).astype(
            np.longlong
        )
        f: cython.Py_ssize_t
        g: cython.Py_ssize_t
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        y: cython.Py_ssize_t
        high: cython.Py_ssize_t
        low: cython.Py_ssize_t
        source: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        for f in range(there.features):
            for a in range(there.used[f]):
                for g in range(f):
                    for b in range(there.used[g]):
                        high = to[there.start[f] + a]
                        low = to[there.start[g] + b]
                        if high < low:
                            high, low = low, high
                        source = there.pair_start[f] + a * there.start[f] + there.start[g] + b
                        cell = owner[high]
                        cell = here.pair_start[cell] + (high - here.start[cell]) * here.start[cell] + low
                        for y in range(label.shape[0]):
                            self.weight[cell * here.classes + label[y]] += (
                                factor * other.weight[source * there.classes + y]
                            )


@cython.cclass
class Tables:
    """Everything a learner counts, and the clock that fades it."""

    def __init__(self, half_life):
        self.half_life = 0.0 if half_life is None else half_life
        self.clock = 0
        self.origin = 0
        self.unit = 1.0
        self.exact = half_life is None
        self.labels = 0
        self.class_weight = np.zeros(2)
        self.class_samples = self.class_weight if self.exact else np.zeros(2)
        self.values = ValueCounts(Layout([], [], [], 2), self.exact)
        self.pairs = None
        self.gaussians = Gaussians(0, 2, self.exact)

    @cython.ccall
    def unit_at(self, clock: cython.longlong) -> cython.double:
        """What a fresh sample weighed at that time, on the present scale."""
        if self.half_life == 0.0:
            return 1.0
        return 2.0 ** ((clock - self.origin) / self.half_life)

    @cython.ccall
    def tick(self, events: cython.longlong):
        """Let events pass; everything held fades accordingly."""
        self.clock += events
        if self.half_life == 0.0:
            return
        if (self.clock - self.origin) > RESCALE_AT * self.half_life:
            self.rescale()
        self.unit = self.unit_at(self.clock)

    def rescale(self):
        """Let a fresh sample weigh 1 again."""
        age = (self.clock - self.origin) / self.half_life
        self.scale(2.0**-age if age < 1000 else 0.0)
        self.origin = self.clock
        self.unit = 1.0

    def scale(self, factor: cython.double):
        """Multiply every weight."""
        weights = [self.class_weight, self.values.weight, self.values.present]
        weights += [self.gaussians.weight, self.gaussians.m2]
        if self.pairs is not None:
            weights.append(self.pairs.weight)
        for weight in weights:
            values = np.asarray(weight)
            values *= factor

    @cython.ccall
    def add(self, row: Row):
        """Learn an encoded sample. Its codes must have room in the tables."""
        self.tick(1)
        if row.weight == 0.0:
            return
        if self.exact and not row.whole:
            self.leave_exact()
        amount: cython.double = row.weight * self.unit
        self.class_weight[row.label] += amount
        if not self.exact:
            self.class_samples[row.label] += samples_of(row.weight)
        self.values.add(row, self.unit)
        if self.pairs is not None:
            self.pairs.add(row, amount)
        if row.numbers:
            self.gaussians.add(row, self.unit)

    @cython.ccall
    def forget(self, row: Row, unit: cython.double) -> cython.longlong:
        """Take an encoded sample back that was added when a fresh one weighed `unit`.

        Returns -1, or, with nothing changed, what was never learned: the number of the entry, the number of the
        numeric value after all entries, or -2 for the class.
        """
        k: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        found: cython.longlong
        y: cython.Py_ssize_t = row.label
        amount: cython.double = row.weight * unit
        if row.weight == 0.0:
            return -1
        if self.class_samples[y] < samples_of(row.weight) and self.class_samples[y] != 1.0:
            return -2
        if self.class_weight[y] * (1.0 + ROUNDING) < amount:
            return -2
        found = self.values.missing_entry(row, unit)
        if found >= 0:
            return found
        if row.numbers:
            found = self.gaussians.missing_number(row, unit)
            if found >= 0:
                return row.entries + found
        if self.exact and not row.whole:
            self.leave_exact()
        least: cython.double = 0.0 if self.exact else ROUNDING * max(self.unit, amount)
        take(self.class_weight, self.class_samples, y, row.weight, unit, least, self.exact)
        self.values.forget(row, unit, least)
        if self.pairs is not None:
            self.pairs.forget(row, amount, least)
            if not self.exact:
                for k in range(row.entries):
                    cell = self.values.layout.start[row.feature[k]] + row.code[k]
                    if self.values.samples[cell * self.values.layout.classes + y] == 0.0:
                        self.pairs.clear_position(cell, y)
        if row.numbers:
            self.gaussians.forget(row, unit, least)
        return -1

    @cython.ccall
    def leave_exact(self):
        """From now on samples are counted beside the weights."""
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
