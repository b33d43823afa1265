"""Everything a learner counts, and the clock that fades it.

    values      weight[position, class]           present[feature, class]     (_value_counts)
    pairs       weight[position, position, class]                             (_pair_counts)
    triples     weight[position, position, position, class]                   (_triple_counts)
    gaussians   weight, mean, m2 [feature, class]                             (_gaussians)
    families    weight[parents' values, value, class]                         (_family_counts)
    window      the newest events                                             (_window)
    class_peak  the heaviest that each class has been since it was last empty, which rounding is measured by

Weights are float64. Beside them stand samples (`_cells`). While every weight has been whole and nothing fades, samples
and weights are the same numbers, and are one and the same array (`exact`).

Fading multiplies nothing: a fresh sample weighs `unit`, which doubles every `half_life` events, and everything
is read relative to it. Once in 256 half-lives the tables are rescaled.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

from __future__ import annotations

from typing import Any

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.counts._gaussians import Gaussians
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.values._cells import samples_of, take

NOTHING: Any = None  # a type checker must know that something may take its place
RESCALE_AT = cython.declare(cython.double, 256.0)  # half-lives; 2^256 leaves room for weights up to 1e200
ROUNDING = cython.declare(cython.double, 1e-9)  # of the largest magnitude held: what is promised of floats


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
        self.class_peak = np.zeros(2)
        self.values = ValueCounts(Layout([], [], [], 2), self.exact)
        self.pairs = None
        self.triples = None
        self.gaussians = Gaussians(0, 2, self.exact)
        self.bins = None  # where numbers are counted in bins: their cuts
        self.discretizer = None  # and what sets them, as long as it may
        self.families = NOTHING
        self.window = NOTHING

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
        weights = [self.class_weight, self.class_peak, self.values.weight, self.values.present]
        weights += [self.gaussians.weight, self.gaussians.m2]
        if self.pairs is not None:
            weights.append(self.pairs.weight)
            if self.pairs.beside is not None:
                weights.append(self.pairs.beside)
        if self.triples is not None:
            weights.append(self.triples.weight)
        if self.families is not None:
            self.families.scale(factor)
        for weight in weights:
            values = np.asarray(weight)
            values *= factor

    @cython.ccall
    def add(self, row: Row):
        """Learn an encoded sample. Its codes must have room in the tables."""
        self.tick(1)
        if row.weight == 0.0:
            return
        self.put(row, self.unit)
        if self.window is not None:
            self.window.push(row, self.clock)
        if row.numbers and self.discretizer is not None:
            self.discretizer.keep(row)

    @cython.ccall
    def put(self, row: Row, unit: cython.double):
        """Count an encoded sample with what a fresh one weighed when it came."""
        self.put_values(row, unit)
        if self.pairs is not None:
            self.pairs.add(row, row.weight * unit)
            if self.triples is not None:
                self.triples.add(row, row.weight * unit)
        if self.families is not None:
            self.families.add(row, unit)

    def clear(self, chosen, windowed: cython.bint = False):
        """Hold nothing of the features chosen, a mask over slots; what is held of classes and other features stays.

        Families that were `windowed`, counted from some of the events, are dropped: whoever chose them chooses anew.
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

    def put_chosen(self, row: Row, unit: cython.double, chosen: cython.uchar[::1]):
        """Count what a sample has of the features chosen; of the class and the others it was counted before.

        Call `mend` when all samples are there.
        """
        amount: cython.double = row.weight * unit
        if self.pairs is not None:
            self.pairs.add_chosen(row, amount, chosen)
        if self.triples is not None:
            self.triples.add_chosen(row, amount, chosen)
        if self.families is not None:
            self.families.add_chosen(row, unit, self.families.touching(chosen))
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = 0
        for k in range(row.entries):
            if chosen[row.feature[k]]:
                row.feature[n] = row.feature[k]
                row.code[n] = row.code[k]
                n += 1
        row.entries = n
        self.values.add(row, unit)

    @cython.cfunc
    def put_values(self, row: Row, unit: cython.double):
        """Count everything of a sample but its pairs and triples."""
        self.put_singles(row, unit)
        if self.pairs is not None and self.pairs.beside is None and not self.is_complete():
            self.pairs.count_beside()

    @cython.cfunc
    def put_singles(self, row: Row, unit: cython.double):
        """The same where the sample is known to leave the tables complete."""
        if self.exact and not row.whole:
            self.leave_exact()
        self.class_weight[row.label] += row.weight * unit
        if not self.exact:
            self.class_samples[row.label] += samples_of(row.weight)
        self.values.add(row, unit)
        self.raise_peak(row)
        if row.numbers and self.bins is None:
            self.gaussians.add(row, unit)

    @cython.cfunc
    def raise_peak(self, row: Row):
        """Note how heavy the class of a sample has become."""
        # No value weighs more than its feature, and no feature more than the class, but for the one of a bag.
        heaviest: cython.double = self.class_weight[row.label]
        stride: cython.Py_ssize_t = self.values.layout.classes
        if row.entries:
            heaviest = max(heaviest, self.values.present[row.feature[0] * stride + row.label])
        if heaviest > self.class_peak[row.label]:
            self.class_peak[row.label] = heaviest

    def raise_peaks(self):
        """Note how heavy all classes have become, after the tables were filled from elsewhere."""
        self.class_peak = np.maximum(self.class_peak, self.heaviest())

    def heaviest(self):
        """How heavy each class is, or the feature of it that is heaviest."""
        present = np.asarray(self.values.present).reshape(-1, self.values.layout.classes)
        return np.maximum(self.class_weight, present.max(axis=0, initial=0.0))

    @cython.ccall
    def is_complete(self) -> cython.bint:
        """Whether every sample held has every feature that was declared, or that any of them has."""
        values: ValueCounts = self.values
        layout: Layout = values.layout
        f: cython.Py_ssize_t
        y: cython.Py_ssize_t
        for f in range(layout.features):
            if values.distinct[f] == 0:
                continue  # not met, nor declared
            for y in range(self.labels):
                if values.present[f * layout.classes + y] != self.class_weight[y]:
                    return False
        return True

    def mend(self):
        """Set up what is derived from the counts, after these were filled from elsewhere."""
        self.values.recount()
        if self.values.histogram is not None:
            self.values.rebuild_histogram()
        if self.pairs is not None:
            self.pairs.beside = None
            if not self.is_complete():
                self.pairs.count_beside()

    @cython.ccall
    def forget(self, row: Row, unit: cython.double, at: cython.longlong) -> cython.longlong:
        """Take an encoded sample back that was added when the clock stood `at`, and a fresh one weighed `unit`.

        Returns -1, or, with nothing changed, what was never learned: the number of the entry, the number of the
        numeric value after all entries, -2 for the class, or -3 for values together.
        """
        k: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        found: cython.longlong
        y: cython.Py_ssize_t = row.label
        amount: cython.double = row.weight * unit
        least: cython.double = 0.0 if self.exact else ROUNDING * self.class_peak[y]
        if row.weight == 0.0:
            return -1
        if self.class_samples[y] < samples_of(row.weight) and self.class_samples[y] != 1.0:
            return -2
        if self.class_weight[y] + least < amount:
            return -2
        found = self.values.missing_entry(row, unit, least)
        if found >= 0:
            return found
        if row.numbers and self.bins is None:
            found = self.gaussians.missing_number(row, unit, self.class_peak[y])
            if found >= 0:
                return row.entries + found
        if self.families is not None and self.families.lacks(row, unit, at) >= 0:
            return -3
        if self.exact and not row.whole:
            self.leave_exact()
        least = 0.0 if self.exact else ROUNDING * self.class_peak[y]
        take(self.class_weight, self.class_samples, y, row.weight, unit, least, self.exact)
        self.values.forget(row, unit, least)
        if self.pairs is not None:
            # They have no samples to say when nothing is left, so that only what a fresh sample makes nothing of goes.
            least = min(least, ROUNDING * max(self.unit, amount))
            self.pairs.forget(row, amount, least)
            if self.triples is not None:
                self.triples.forget(row, amount, least)
            if not self.exact:
                for k in range(row.entries):
                    cell = self.values.layout.start[row.feature[k]] + row.code[k]
                    if self.values.samples[cell * self.values.layout.classes + y] == 0.0:
                        self.pairs.clear_position(cell, y)
                        if self.triples is not None:
                            self.triples.clear_position(cell, y)
        if row.numbers and self.bins is None:
            self.gaussians.forget(row, unit, least)
        if self.families is not None:
            self.families.forget(row, unit, at, least)
        if self.class_samples[y] == 0.0:
            self.class_peak[y] = 0.0
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
        if self.families is not None:
            self.families.leave_exact()
