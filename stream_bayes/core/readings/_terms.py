"""The running products of a prediction that averages over super-parents.

A term is a super-parent's joint probability with a class: P(y, parent), times P(child | y, parent) for each other
value. A super-parent is a value (AODE) or a pair of them (A2DE). Each cell of counts is read once, and multiplied into
the product of every super-parent it belongs to; of a pair of entries e < k of one event

    product[k] *= P(e | y, k)        product[e] *= P(k | y, e)

where all children of a super-parent share a denominator, so that nothing is divided on the way. Products only shrink:
they start high in the range of a double, and are lifted back there before the factors could leave it;
`scale` counts the lifts.

    product, inverse, scale [super-parent, class]      inverse: 1 / the denominator of its children
    parent_weight, add, whole [super-parent]           weight in the average; smoothing and denominator of P(y, parent)
    pseudocount, cell, line [entry]                    smoothing as a child; positions of its counts
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log2

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout

HIGH = cython.declare(cython.double, 2.0**256)
LIFT = cython.declare(cython.double, 2.0**512)
# By which a product above HIGH may shrink and still be exact.
SAFE_BITS = cython.declare(cython.double, 1200.0)
LOWEST = cython.declare(cython.int, -2147483647)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def multiply_cells(
    weight: cython.double[::1],
    product: cython.double[::1],
    inverse: cython.double[::1],
    pseudocount: cython.double[::1],
    cell: cython.longlong[::1],
    line: cython.longlong,
    k: cython.Py_ssize_t,
    stride: cython.Py_ssize_t,
    y: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    learned: cython.bint,
    more: cython.double,
    more_of_next: cython.double,
) -> cython.void:
    """Multiply in the pairs of entry k with the entries from `first` to before `last`, of class y and the next; where
    the event is learned too, its cells get more.

    Both classes are read before either is written, so that a compiler can take the two as one.
    """
    mine: cython.Py_ssize_t = k * stride + y
    pseudocount_k: cython.double = pseudocount[k]
    below: cython.double = inverse[mine]
    below_next: cython.double = inverse[mine + 1]
    running: cython.double = product[mine]
    running_next: cython.double = product[mine + 1]
    for e in range(first, last):
        c = line + cell[e] + y
        other = e * stride + y
        count = weight[c]
        count_next = weight[c + 1]
        running *= (count + pseudocount[e]) * below
        running_next *= (count_next + pseudocount[e]) * below_next
        theirs = product[other] * ((count + pseudocount_k) * inverse[other])
        theirs_next = product[other + 1] * ((count_next + pseudocount_k) * inverse[other + 1])
        product[other] = theirs
        product[other + 1] = theirs_next
        if learned:
            weight[c] = count + more
            weight[c + 1] = count_next + more_of_next
    product[mine] = running
    product[mine + 1] = running_next


@cython.cclass
class Terms:
    """The terms of one event at a time."""

    def __init__(self):
        self.parents = self.classes = self.stride = 0
        self.product, self.inverse = np.zeros(0), np.zeros(0)
        self.scale = np.zeros(0, np.intc)
        self.add, self.whole, self.parent_weight = np.zeros(0), np.zeros(0), np.zeros(0)
        self.pseudocount = np.zeros(0)
        self.cell, self.line = np.zeros(0, np.longlong), np.zeros(0, np.longlong)
        self.largest = self.smallest = 0.0
        self.top = 0
        self.uneven = False

    @cython.cfunc
    def begin(
        self,
        entries: cython.Py_ssize_t,
        parents: cython.Py_ssize_t,
        classes: cython.Py_ssize_t,
        stride: cython.Py_ssize_t,
    ):
        """Make room for an event."""
        self.parents, self.classes, self.stride = parents, classes, stride
        if self.pseudocount.shape[0] < entries:
            self.pseudocount = np.zeros(2 * entries)
            self.cell, self.line = np.zeros(2 * entries, np.longlong), np.zeros(2 * entries, np.longlong)
        if self.parent_weight.shape[0] < parents:
            self.add, self.whole, self.parent_weight = (
                np.zeros(2 * parents),
                np.zeros(2 * parents),
                np.zeros(2 * parents),
            )
        if self.product.shape[0] < parents * stride:
            self.product, self.inverse = np.zeros(2 * parents * stride), np.zeros(2 * parents * stride)
            self.scale = np.zeros(2 * parents * stride, np.intc)

    @cython.cfunc
    def normalise_parents(self, strength: cython.double, least: cython.double) -> cython.bint:
        """Replace the weights of the super-parents, written into `product`, by P(y, parent).

        Parents of less than the least weight get no weight in the average. Return True if any other is left.
        """
        product: cython.double[::1] = self.product
        inverse: cython.double[::1] = self.inverse
        whole: cython.double = 0.0
        share: cython.double = 0.0
        largest: cython.double = 0.0
        has_parent: cython.bint = False
        low: cython.bint = False
        for k in range(self.parents):
            total = 0.0
            add = self.add[k]
            if self.whole[k] != whole:  # as a rule they are all the same
                whole = self.whole[k]
                share = 1.0 / whole if whole > 0.0 else 0.0
            for y in range(self.classes):
                c = k * self.stride + y
                count = product[c]
                total += count
                product[c] = (count + add) * share * LIFT
                low = low or 0.0 < product[c] < HIGH
                count += strength
                if count > largest:
                    largest = count
                inverse[c] = 1.0 / count if count > 0.0 else 0.0
                self.scale[c] = -1
            for y in range(self.classes, self.stride):
                c = k * self.stride + y
                product[c] = inverse[c] = 0.0
                self.scale[c] = -1
            if total < least or total <= 0.0:
                self.parent_weight[k] = 0.0
            elif self.parent_weight[k] > 0.0:
                has_parent = True
        self.largest = largest
        self.uneven = low
        if low:
            self.lift(0, self.parents)
        return has_parent

    @cython.cfunc
    def place_rows(self, layout: Layout, position: cython.longlong[::1], entries: cython.Py_ssize_t):
        """Set the positions of each entry's counts: its cell in a row, and its row of the triangle."""
        for k in range(entries):
            f = layout.owner[position[k]]
            self.cell[k] = position[k] * self.stride
            self.line[k] = (
                layout.pair_start[f] + (position[k] - layout.start[f]) * layout.start[f]
            ) * self.stride

    @cython.cfunc
    def place_compactly(self, entries: cython.Py_ssize_t):
        """Set the same positions for the triangle of one event's pairs, as `_event_counts` gathers it."""
        for k in range(entries):
            self.cell[k] = k * self.stride
            self.line[k] = k * (k - 1) // 2 * self.stride

    @cython.cfunc
    def multiply_pairs(
        self,
        weight: cython.double[::1],
        label: cython.Py_ssize_t,
        amount: cython.double,
        steps: cython.Py_ssize_t,
    ):
        """Multiply all pairs into the products; an amount other than 0 is added to the pairs of the label."""
        product: cython.double[::1] = self.product
        inverse: cython.double[::1] = self.inverse
        pseudocount: cython.double[::1] = self.pseudocount
        cell: cython.longlong[::1] = self.cell
        stride: cython.Py_ssize_t = self.stride
        careful: cython.bint = self.must_lift(steps, self.parents)
        learned: cython.bint = amount != 0.0
        for k in range(1, self.parents):
            first = 0
            while first < k:
                last = min(k, first + steps)
                for y in range(0, self.classes, 2):
                    more = amount if y == label else 0.0
                    more_of_next = amount if y + 1 == label else 0.0
                    multiply_cells(
                        weight,
                        product,
                        inverse,
                        pseudocount,
                        cell,
                        self.line[k],
                        k,
                        stride,
                        y,
                        first,
                        last,
                        learned,
                        more,
                        more_of_next,
                    )
                if careful:
                    self.lift(k, k + 1)
                first = last
            if k % steps == 0:
                self.lift(0, k)
        if careful:
            self.lift(0, self.parents)

    @cython.cfunc
    def must_lift(self, steps: cython.Py_ssize_t, entries: cython.Py_ssize_t) -> cython.bint:
        """Return True if products may leave the range before they have a factor of each entry, or are not all on one
        scale. Then each must end above HIGH, for terms to be compared by their scales.
        """
        return steps < entries or self.uneven

    @cython.cfunc
    def safe_steps(self, exact: cython.bint) -> cython.Py_ssize_t:
        """Return the number of factors that keep a product above HIGH within the range of a double."""
        smallest: cython.double = self.smallest
        if smallest <= 0.0:
            # Unsmoothed, a factor that is not 0 is at least 1 / largest where weights are whole.
            if not exact:
                return 1
            smallest = 1.0
        if self.largest <= smallest:
            return 1000
        bits: cython.double = log2(self.largest / smallest)
        if bits * 1000.0 < SAFE_BITS:
            return 1000
        return max(1, cython.cast(cython.Py_ssize_t, SAFE_BITS / bits))

    @cython.cfunc
    def lift(self, first: cython.Py_ssize_t, last: cython.Py_ssize_t):
        """Bring the products of these super-parents back up."""
        for c in range(first * self.stride, last * self.stride):
            while 0.0 < self.product[c] < HIGH:
                self.product[c] *= LIFT
                self.scale[c] -= 1

    @cython.cfunc
    def mean(self, y: cython.Py_ssize_t) -> cython.double:
        """Return the weighted mean of a class's terms, to be scaled by LIFT to the power of `top`."""
        c: cython.Py_ssize_t = y
        top: cython.int = LOWEST
        total: cython.double = 0.0
        together: cython.double = 0.0
        for k in range(self.parents):
            weight = self.parent_weight[k]
            if weight > 0.0:
                together += weight
                if self.scale[c] > top and self.product[c] > 0.0:
                    total = total / LIFT if self.scale[c] == top + 1 else 0.0
                    top = self.scale[c]
                if self.scale[c] == top:
                    total += self.product[c] * weight
                elif self.scale[c] == top - 1:  # anything lower is below rounding
                    total += self.product[c] / LIFT * weight
            c += self.stride
        self.top = top
        return total / together

    @cython.cfunc
    def share(
        self, k: cython.Py_ssize_t, label: cython.Py_ssize_t, factor: cython.double[::1]
    ) -> cython.double:
        """Return P(label) by one super-parent alone, classes weighted by `factor`; -1 if every class is impossible."""
        c: cython.Py_ssize_t = k * self.stride
        top: cython.int = LOWEST
        of_label: cython.double = 0.0
        total: cython.double = 0.0
        for y in range(self.classes):
            if self.scale[c + y] > top and self.product[c + y] > 0.0 and factor[y] > 0.0:
                top = self.scale[c + y]
        for y in range(self.classes):
            term = self.product[c + y] * factor[y]
            if self.scale[c + y] < top:
                term = term / LIFT if self.scale[c + y] == top - 1 else 0.0
            elif self.scale[c + y] > top:
                term = 0.0
            total += term
            if y == label:
                of_label = term
        return of_label / total if total > 0.0 else -1.0
