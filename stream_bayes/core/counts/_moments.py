"""Sums of numbers by class: the weight, the numbers and their squares of each feature, and the products of each pair.

    Gaussians   weight, peak, last [feature, class]    the largest number, and the largest third double of the squares,
                                                       since the cell was last empty
                sums [feature, 8, class]          rest of the weight (2), numbers (3), squares (3)
    CoMoments   products [class, 3, pair i > j]   pairs innermost, so that a row's are added two at a time
                beside [class, 9, pair]           once a sample lacked a number that others have: weight (3), numbers i
                                                  (3), numbers j (3), over the samples that have both

A sum is kept in three doubles that are added up. Each but the last takes the rounding error of the one before it
(Klein, 2006), and a product comes with its own rounding error (Dekker, 1971), so a sum has 159 bits. A square of a
double has 106: numbers of any offset need no shift, and the moments about a mean have 1e-9 of themselves, whatever was
added and subtracted before, up to 1e18 times their deviation; beyond, a number of weight 1 still leaves nothing, but
two that differ may. Adding such sums is merging. All of it rounds by some 1e-16 of the largest third double.

Means and squared deviations (m2) are derived from the sums when they are read: `settle`.

Weights of numbers are also summed over blocks of features, so that predictions do not read all features:

    block_weight    [block, class]    weight of its features
    top             [block]           weight of its heaviest feature, over all classes
    stale           [block]           true if the two have to be summed again

Such a sum is a function of the weights alone, in their order, and never of what was added when: a loaded table has the
same.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.values._cells import samples_of, subtract

ABSENT: Any = None  # for type checkers: an array may take its place
SPLITTER = cython.declare(cython.double, 134217729.0)  # 2^27 + 1: cuts a double in two halves of 26 bits
NOISE = cython.declare(cython.double, 1e-44)  # of a sum of squares: less is the rounding of its derivation
# Part of the largest third double: less is the rounding of 1e8 additions.
ROUNDING = cython.declare(cython.double, 1e-12)
AGREEMENT = cython.declare(cython.double, 1e-9)  # relative: the precision in which a number was learned
# Squared deviations: more squares than that, and a double loses digits.
CANCELS = cython.declare(cython.double, 16.0)
CLEAR = cython.declare(cython.double, 1e-6)  # of a sum of squares: a larger difference is none by rounding
TINIEST = cython.declare(cython.double, 1e-290)  # below, squares lose their digits
# Features: a sample with 40 of 50,000 then makes as much be summed anew as there are blocks.
BLOCK = cython.declare(cython.Py_ssize_t, 32)
NUMBERS = cython.declare(cython.Py_ssize_t, 2)  # the rows of a feature's sums
SQUARES = cython.declare(cython.Py_ssize_t, 5)
ROWS = cython.declare(cython.Py_ssize_t, 8)
HIGHER = cython.declare(cython.Py_ssize_t, 3)  # the rows of the sums beside a pair's products
LOWER = cython.declare(cython.Py_ssize_t, 6)
BESIDE = cython.declare(cython.Py_ssize_t, 9)
ROWS_OF_FEATURE, ROWS_OF_PRODUCT, ROWS_BESIDE = 8, 3, 9  # the same, for Python

# -- sums of three doubles ---------------------------------------------------------------------------------------------


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def error_of(one: cython.double, other: cython.double, product: cython.double) -> cython.double:
    """Return what rounding left of a product (Dekker)."""
    cut: cython.double = SPLITTER * one
    high: cython.double = cut - (cut - one)
    low: cython.double = one - high
    cut = SPLITTER * other
    other_high: cython.double = cut - (cut - other)
    other_low: cython.double = other - other_high
    return ((high * other_high - product) + high * other_low + low * other_high) + low * other_low


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.double, cython.double))
def two_sum(one: cython.double, other: cython.double):
    """Return the sum of two numbers and what rounding left of it (Knuth)."""
    total: cython.double = one + other
    added: cython.double = total - one
    return total, (one - (total - added)) + (other - added)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def value(sums: cython.double[::1], at: cython.Py_ssize_t, step: cython.Py_ssize_t) -> cython.double:
    """Return a sum as one double."""
    first, second = two_sum(sums[at], sums[at + step])
    return first + (second + sums[at + 2 * step])


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.double, cython.double, cython.double))
def plus(first: cython.double, second: cython.double, third: cython.double, number: cython.double):
    """Return a sum and a number."""
    first, rest = two_sum(first, number)
    second, rest = two_sum(second, rest)
    return first, second, third + rest


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.double, cython.double, cython.double))
def plus_product(
    first: cython.double,
    second: cython.double,
    third: cython.double,
    product: cython.double,
    error: cython.double,
):
    """Return a sum and a product with its rounding error."""
    first, rest = two_sum(first, product)
    second, rest = two_sum(second, rest)
    third += rest
    second, rest = two_sum(second, error)
    return first, second, third + rest


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.double, cython.double, cython.double))
def plus_scaled(
    first: cython.double,
    second: cython.double,
    third: cython.double,
    factor: cython.double,
    number: cython.double,
    error: cython.double,
):
    """Return a sum and a factor times a number with its rounding error."""
    product: cython.double = factor * number
    first, second, third = plus_product(first, second, third, product, error_of(factor, number, product))
    product = factor * error
    second, rest = two_sum(second, product)
    return first, second, third + (rest + error_of(factor, error, product))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.double, cython.double, cython.double))
def plus_weight(weight: cython.double, second: cython.double, third: cython.double, amount: cython.double):
    """Return a weight and an amount; the first double is the nearest to all three."""
    weight, rest = two_sum(weight, amount)
    if rest != 0.0 or second != 0.0:
        second, rest = two_sum(second, rest)
        weight, second = two_sum(weight, second)
        third += rest
    return weight, second, third


@cython.cfunc
@cython.exceptval(check=False)
def move_sum(
    here: cython.double[::1],
    at: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
    there: cython.double[::1],
    their_at: cython.Py_ssize_t,
    their_step: cython.Py_ssize_t,
    factor: cython.double,
) -> cython.double:
    """Add a sum times a factor to another; return the third double."""
    k: cython.Py_ssize_t
    first: cython.double = here[at]
    second: cython.double = here[at + step]
    third: cython.double = here[at + 2 * step]
    for k in range(3):
        number = there[their_at + k * their_step]
        first, second, third = plus_scaled(first, second, third, factor, number, 0.0)
    here[at], here[at + step], here[at + 2 * step] = first, second, third
    return third


@cython.cfunc
@cython.exceptval(check=False)
def move_weight(
    weight: cython.double[::1],
    cell: cython.Py_ssize_t,
    sums: cython.double[::1],
    at: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
    theirs: cython.double,
    their_sums: cython.double[::1],
    their_at: cython.Py_ssize_t,
    their_step: cython.Py_ssize_t,
    factor: cython.double,
) -> cython.double:
    """Add a weight times a factor, with the rest of both in their sums; return the sum."""
    product: cython.double = theirs * factor
    first: cython.double = weight[cell]
    second: cython.double = sums[at]
    third: cython.double = sums[at + step]
    first, second, third = plus_weight(first, second, third, product)
    first, second, third = plus_weight(first, second, third, error_of(theirs, factor, product))
    first, second, third = plus_weight(first, second, third, their_sums[their_at] * factor)
    third += their_sums[their_at + their_step] * factor
    weight[cell], sums[at], sums[at + step] = first, second, third
    return first


# -- moments about the means -------------------------------------------------------------------------------------------


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.double, cython.double, cython.double))
def about_zero(
    sums: cython.double[::1],
    at: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
    weight: cython.double,
    rest: cython.Py_ssize_t,
    mean: cython.double,
):
    """Return a sum less mean * weight in two doubles, and the rest of the mean; `rest` is where the weight's is."""
    first: cython.double = sums[at]
    second: cython.double = sums[at + step]
    third: cython.double = sums[at + 2 * step]
    first, second, third = plus_scaled(first, second, third, -mean, weight, sums[rest])
    third -= mean * sums[rest + step]
    first, second = two_sum(first, second)
    return first, second + third, (first + (second + third)) / weight


@cython.cfunc
@cython.exceptval(check=False)
def about_means(
    products: cython.double[::1],
    at: cython.Py_ssize_t,
    products_step: cython.Py_ssize_t,
    sums: cython.double[::1],
    other: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
    mean: cython.double,
    more: cython.double,
    rest: cython.double,
    other_mean: cython.double,
    rest_of_other: cython.double,
) -> cython.double:
    """Return the products of two numbers about their means.

    `at` is the sum of the products, `other` in `sums` that of the second number; `more` and `rest` are what the first
    number's sum has more than mean * weight. The products about the means are

        products - mean * other - (more + rest) * mean of the other
    """
    first: cython.double = products[at]
    second: cython.double = products[at + products_step]
    third: cython.double = products[at + 2 * products_step]
    product: cython.double = more * other_mean
    first, second, third = plus_scaled(first, second, third, -mean, sums[other], sums[other + step])
    first, second, third = plus_product(first, second, third, -product, -error_of(more, other_mean, product))
    third -= mean * sums[other + 2 * step] + (more * rest_of_other + rest * other_mean)
    first, second = two_sum(first, second)
    return first + (second + third)


@cython.cfunc
@cython.exceptval(check=False)
def precise_product(
    products: cython.double[::1],
    at: cython.Py_ssize_t,
    products_step: cython.Py_ssize_t,
    sums: cython.double[::1],
    one: cython.Py_ssize_t,
    other: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
    weight: cython.double,
    rest_of_weight: cython.Py_ssize_t,
    mean: cython.double,
    other_mean: cython.double,
) -> cython.double:
    """Return the products of two numbers about their means, with all digits."""
    more, rest, rest_of_other = about_zero(sums, other, step, weight, rest_of_weight, other_mean)
    more, rest, _ = about_zero(sums, one, step, weight, rest_of_weight, mean)
    return about_means(
        products, at, products_step, sums, other, step, mean, more, rest, other_mean, rest_of_other
    )


@cython.cclass
class Gaussians:
    """Sums of the numbers of each (feature, class), and the means and squared deviations derived from them."""

    def __init__(self, features: cython.Py_ssize_t, classes: cython.Py_ssize_t, exact: cython.bint):
        self.classes = classes
        self.features = features
        self.exact = exact
        self.weight = np.zeros(features * classes)
        self.samples = self.weight if exact else np.zeros(features * classes)
        self.peak = np.zeros(features * classes)
        self.last = np.zeros(features * classes)
        self.sums = np.zeros(features * ROWS_OF_FEATURE * classes)
        self.mean = np.zeros(features * classes)
        self.mean_rest = np.zeros(features * classes)
        self.m2 = np.zeros(features * classes)
        self.unsettled = np.ones(features * classes, np.uint8)
        self.blocks = (features + BLOCK - 1) // BLOCK
        self.block_weight = np.zeros(self.blocks * classes)
        self.top = np.zeros(self.blocks)
        self.stale = np.ones(self.blocks, np.uint8)

    @cython.ccall
    def changed(self):
        """Derive everything again, after weights or sums were written."""
        self.stale[:] = 1
        self.unsettled[:] = 1

    # -- derived ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def sum_block(self, block: cython.Py_ssize_t):
        """Sum the weights of a block's features."""
        most: cython.double = 0.0
        total: cython.double[::1] = self.block_weight
        first: cython.Py_ssize_t = block * self.classes
        for y in range(self.classes):
            total[first + y] = 0.0
        for f in range(block * BLOCK, min((block + 1) * BLOCK, self.features)):
            weight_of_feature = 0.0
            for y in range(self.classes):
                weight_of_feature += self.weight[f * self.classes + y]
                total[first + y] += self.weight[f * self.classes + y]
            most = max(most, weight_of_feature)
        self.top[block] = most
        self.stale[block] = 0

    @cython.cfunc
    def is_empty(self) -> cython.bint:
        """Return True if no sample held has a number."""
        for block in range(self.blocks):
            if self.stale[block]:
                self.sum_block(block)
            if self.top[block] > 0.0:
                return False
        return True

    @cython.cfunc
    def settle(self, cell: cython.Py_ssize_t):
        """Set `mean`, `mean_rest` and `m2` of a cell to those of its sums."""
        if not self.unsettled[cell]:
            return
        self.unsettled[cell] = 0
        self.mean[cell] = self.mean_rest[cell] = self.m2[cell] = 0.0
        weight = self.weight[cell]
        if weight <= 0.0:
            return
        step = self.classes
        at = cell // step * ROWS * step + cell % step
        numbers, squares = at + NUMBERS * step, at + SQUARES * step
        total = value(self.sums, numbers, step)
        mean = total / weight
        about = total * mean
        m2 = value(self.sums, squares, step) - about
        if m2 * CANCELS < about:
            more, rest, rest_of_mean = about_zero(self.sums, numbers, step, weight, at, mean)
            self.mean_rest[cell] = rest_of_mean
            m2 = about_means(
                self.sums, squares, step, self.sums, numbers, step, mean, more, rest, mean, rest_of_mean
            )
        self.mean[cell] = mean
        # Equal numbers have the deviation 0 exactly, so that a reading can distinguish them from a small variance.
        self.m2[cell] = m2 if m2 > self.noise(cell) else 0.0

    @cython.cfunc
    @cython.exceptval(check=False)
    def noise(self, cell: cython.Py_ssize_t) -> cython.double:
        """Return the most that rounding can have left of a cell's squared deviations."""
        at: cython.Py_ssize_t = (cell // self.classes * ROWS + SQUARES) * self.classes + cell % self.classes
        return NOISE * value(self.sums, at, self.classes) + ROUNDING * self.last[cell]

    @cython.ccall
    def settle_all(self):
        """Derive the means and squared deviations of all cells, for readers of the arrays."""
        for cell in range(self.features * self.classes):
            self.settle(cell)

    def slots(self):
        """Return the features with weight, in ascending order."""
        weight = np.asarray(self.weight).reshape(self.features, self.classes)
        return np.flatnonzero((weight > 0.0).any(axis=1)).astype(np.longlong)

    # -- learning -----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def put(self, row: Row, amount: cython.double):
        """Add the numbers of a row to the sums of its class, with an amount that is negative to subtract them."""
        sums: cython.double[::1] = self.sums
        step: cython.Py_ssize_t = self.classes
        for k in range(row.numbers):
            cell = row.numeric_feature[k] * step + row.label
            at = row.numeric_feature[k] * ROWS * step + row.label
            number = row.number[k]
            square = number * number
            error = error_of(number, number, square)
            self.unsettled[cell] = 1
            self.stale[row.numeric_feature[k] // BLOCK] = 1
            self.weight[cell], sums[at], sums[at + step] = plus_weight(
                self.weight[cell], sums[at], sums[at + step], amount
            )
            i = at + NUMBERS * step
            at += SQUARES * step
            if abs(amount) == 1.0:
                number, square, error = number * amount, square * amount, error * amount
                sums[i], sums[i + step], sums[i + 2 * step] = plus(
                    sums[i], sums[i + step], sums[i + 2 * step], number
                )
                sums[at], sums[at + step], sums[at + 2 * step] = plus_product(
                    sums[at], sums[at + step], sums[at + 2 * step], square, error
                )
            else:
                sums[i], sums[i + step], sums[i + 2 * step] = plus_product(
                    sums[i], sums[i + step], sums[i + 2 * step],
                    amount * number, error_of(amount, number, amount * number),
                )  # fmt: skip
                sums[at], sums[at + step], sums[at + 2 * step] = plus_scaled(
                    sums[at], sums[at + step], sums[at + 2 * step], amount, square, error
                )
            if abs(sums[at + 2 * step]) > self.last[cell]:
                self.last[cell] = abs(sums[at + 2 * step])

    @cython.cfunc
    def add(self, row: Row, unit: cython.double):
        self.put(row, row.weight * unit)
        for k in range(row.numbers):
            cell = row.numeric_feature[k] * self.classes + row.label
            if not self.exact:
                self.samples[cell] += samples_of(row.weight)
            if abs(row.number[k]) > self.peak[cell]:
                self.peak[cell] = abs(row.number[k])

    # -- unlearning ---------------------------------------------------------------------------------------------------

    @cython.cfunc
    def missing_number(self, row: Row, unit: cython.double, heaviest: cython.double) -> cython.longlong:
        """Return the first number of the row that the class cannot have learned, or -1."""
        # Weights round by 1e-9 of the heaviest that the class ever was: what that explains may have been learned.
        amount: cython.double = row.weight * unit
        least: cython.double = 0.0 if self.exact else AGREEMENT * heaviest
        for k in range(row.numbers):
            cell = row.numeric_feature[k] * self.classes + row.label
            if self.samples[cell] < samples_of(row.weight) and self.samples[cell] != 1.0:
                return k
            if self.weight[cell] + least < amount or abs(row.number[k]) > self.peak[cell]:
                return k
            is_last: cython.bint = self.weight[cell] - amount <= least and self.samples[cell] <= samples_of(
                row.weight
            )
            if not self.can_lack(row.numeric_feature[k], row.label, amount, row.number[k], is_last):
                return k
        return -1

    @cython.cfunc
    def can_lack(
        self,
        feature: cython.Py_ssize_t,
        label: cython.Py_ssize_t,
        amount: cython.double,
        number: cython.double,
        is_last: cython.bint,
    ) -> cython.bint:
        """Return True if a cell may hold a number: without it, squared deviations are not negative."""
        cell: cython.Py_ssize_t = feature * self.classes + label
        at: cython.Py_ssize_t = feature * ROWS * self.classes + label
        left: cython.double = (self.weight[cell] - amount) + self.sums[at]
        at += NUMBERS * self.classes
        numbers = value(self.sums, at, self.classes) - amount * number
        at += (SQUARES - NUMBERS) * self.classes
        squares = value(self.sums, at, self.classes)
        if left > 0.0 and not is_last:
            away = squares - amount * number * number - numbers * (numbers / left)
            if away > CLEAR * squares and away > ROUNDING * self.last[cell]:
                return True  # the usual case: numbers that surely differ
        self.settle(cell)
        noise = self.noise(cell) + TINIEST
        away = (number - self.mean[cell]) - self.mean_rest[cell]
        if is_last:  # and it has to be the mean
            return amount * away * away <= AGREEMENT * AGREEMENT * amount * number * number + noise
        if left <= 0.0:
            return True
        away = amount * away * away * (self.weight[cell] / left)
        return self.m2[cell] - away >= -(AGREEMENT * self.m2[cell] + noise)

    @cython.cfunc
    def forget(self, row: Row, unit: cython.double, least: cython.double):
        self.put(row, -(row.weight * unit))
        for k in range(row.numbers):
            cell = row.numeric_feature[k] * self.classes + row.label
            # The weight is subtracted already: with a unit of 0 only its samples are.
            subtract(self.weight, self.samples, cell, row.weight, 0.0, least, self.exact)
            if self.weight[cell] <= 0.0:
                # Nothing is left, or nothing that a double could hold beside what was subtracted.
                self.empty(row.numeric_feature[k], row.label)

    def clear(self, feature: cython.Py_ssize_t):
        """Forget all numbers of a feature."""
        for y in range(self.classes):
            self.samples[feature * self.classes + y] = 0.0
            self.empty(feature, y)
        self.changed()

    @cython.cfunc
    def empty(self, feature: cython.Py_ssize_t, label: cython.Py_ssize_t):
        """Clear the sums of a cell, whose weight is 0."""
        cell: cython.Py_ssize_t = feature * self.classes + label
        for r in range(ROWS):
            self.sums[(feature * ROWS + r) * self.classes + label] = 0.0
        self.unsettled[cell] = 1
        if self.samples[cell] <= 0.0:
            self.weight[cell] = self.peak[cell] = self.last[cell] = 0.0

    # -- tables -------------------------------------------------------------------------------------------------------

    def scale(self, factor: cython.double):
        """Multiply every weight and sum."""
        scaled = Gaussians(self.features, self.classes, True)
        scaled.pour(self, np.arange(self.features), np.arange(self.classes), factor)
        self.weight, self.sums, self.last = scaled.weight, scaled.sums, scaled.last
        self.changed()

    def pour(self, theirs, slots: cython.longlong[::1], labels: cython.longlong[::1], factor: cython.double):
        """Add the sums of others, times a factor; `slots` and `labels` are the places of theirs here."""
        source: Gaussians = theirs
        cell: cython.Py_ssize_t
        at: cython.Py_ssize_t
        for f in range(slots.shape[0]):
            for y in range(labels.shape[0]):
                cell, there = slots[f] * self.classes + labels[y], f * source.classes + y
                at, their_at = slots[f] * ROWS * self.classes + labels[y], f * ROWS * source.classes + y
                if not self.exact:
                    self.samples[cell] += source.samples[there]
                self.peak[cell] = max(self.peak[cell], source.peak[there])
                self.last[cell] = max(self.last[cell], factor * source.last[there])
                move_weight(
                    self.weight, cell, self.sums, at, self.classes,
                    source.weight[there], source.sums, their_at, source.classes, factor,
                )  # fmt: skip
                for r in (NUMBERS, SQUARES):
                    last = move_sum(
                        self.sums, at + r * self.classes, self.classes,
                        source.sums, their_at + r * source.classes, source.classes, factor,
                    )  # fmt: skip
                self.last[cell] = max(self.last[cell], abs(last))  # of the squares
        self.changed()


@cython.cclass
class CoMoments:
    """Sums of the products of each pair of numeric features, by class.

    While every sample with a number has all of them, weights and sums of a pair are those of its features. A sample
    that lacks one needs the sums `beside` the products, over the samples that have both.
    """

    def __init__(self, features: cython.Py_ssize_t, classes: cython.Py_ssize_t):
        self.features = features
        self.classes = classes
        self.pairs = features * (features - 1) // 2
        self.products = np.zeros(classes * ROWS_OF_PRODUCT * self.pairs)
        self.beside = ABSENT
        self.slots = np.zeros(0, np.longlong)  # the features that all samples have

    # -- all numbers, or some -----------------------------------------------------------------------------------------

    @cython.cfunc
    def is_like_all(self, row: Row, numbers: Gaussians) -> cython.bint:
        """Return True if a row has the numbers that all samples have; the first sample decides."""
        is_same: cython.bint = row.numbers == self.slots.shape[0]
        for k in range(row.numbers):
            is_same = is_same and row.numeric_feature[k] == self.slots[k]
        if is_same:
            return True
        slots = numbers.slots()
        row_slots = np.array(row.numeric_feature[: row.numbers], np.longlong)
        if len(slots) == 0 or np.array_equal(slots, row_slots):
            self.slots = row_slots
            return True
        return False

    @cython.ccall
    def count_beside(self, numbers: Gaussians):
        """Begin to sum weights and numbers of pairs: until now they are those of the features."""
        beside = np.zeros((self.classes, ROWS_BESIDE, self.pairs))
        sums = np.asarray(numbers.sums).reshape(numbers.features, ROWS_OF_FEATURE, self.classes)
        weight = np.asarray(numbers.weight).reshape(numbers.features, self.classes)
        high, low = np.tril_indices(numbers.features, -1)
        both = (weight[high] > 0.0) & (weight[low] > 0.0)
        for rows, of, there in (
            (slice(0, 1), weight[:, None], high),
            (slice(1, 3), sums[:, 0:2], high),
            (slice(3, 6), sums[:, 2:5], high),
            (slice(6, 9), sums[:, 2:5], low),
        ):
            beside[:, rows, : len(high)] = np.where(both[:, None], of[there], 0.0).transpose(2, 1, 0)
        self.beside = beside.reshape(-1)

    # -- learning -----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def add(self, row: Row, unit: cython.double, numbers: Gaussians):
        """Add the products of a row, before its numbers are added to `numbers`."""
        if row.numbers and self.beside is None and not self.is_like_all(row, numbers):
            self.count_beside(numbers)
        self.put(row, row.weight * unit)

    @cython.cfunc
    def put(self, row: Row, amount: cython.double):
        """Add the products of a row to those of its class; a negative amount subtracts them."""
        products: cython.double[::1] = self.products
        step: cython.Py_ssize_t = self.pairs
        is_unit: cython.bint = abs(amount) == 1.0
        number: cython.double[::1] = row.number
        if row.numbers < 2:
            return
        if self.beside is not None:
            self.put_beside(row, amount)
        for k in range(1, row.numbers):
            slot: cython.Py_ssize_t = row.numeric_feature[k]
            line = row.label * 3 * step + slot * (slot - 1) // 2
            high = number[k]
            if row.numeric_feature[row.numbers - 1] != row.numbers - 1:
                for e in range(k):  # numbers are in the order of their slots
                    at = line + row.numeric_feature[e]
                    product = high * number[e]
                    products[at], products[at + step], products[at + 2 * step] = plus_scaled(
                        products[at], products[at + step], products[at + 2 * step],
                        amount, product, error_of(high, number[e], product),
                    )  # fmt: skip
            elif is_unit:  # no slot is left out: neighbours, which the compiler adds together
                for e in range(k):
                    product = high * number[e]
                    (
                        products[line + e],
                        products[line + step + e],
                        products[line + 2 * step + e],
                    ) = plus_product(
                        products[line + e],
                        products[line + step + e],
                        products[line + 2 * step + e],
                        amount * product,
                        amount * error_of(high, number[e], product),
                    )
            else:
                for e in range(k):
                    product = high * number[e]
                    (
                        products[line + e],
                        products[line + step + e],
                        products[line + 2 * step + e],
                    ) = plus_scaled(
                        products[line + e],
                        products[line + step + e],
                        products[line + 2 * step + e],
                        amount,
                        product,
                        error_of(high, number[e], product),
                    )

    @cython.cfunc
    def put_beside(self, row: Row, amount: cython.double):
        """Add weight and numbers of each pair of a row."""
        sums: cython.double[::1] = self.beside
        step: cython.Py_ssize_t = self.pairs
        for k in range(1, row.numbers):
            high = amount * row.number[k]
            high_error = error_of(amount, row.number[k], high)
            slot: cython.Py_ssize_t = row.numeric_feature[k]
            for e in range(k):
                at = row.label * BESIDE * step + slot * (slot - 1) // 2 + row.numeric_feature[e]
                low = amount * row.number[e]
                low_error = error_of(amount, row.number[e], low)
                sums[at], sums[at + step], sums[at + 2 * step] = plus_weight(
                    sums[at], sums[at + step], sums[at + 2 * step], amount
                )
                at += HIGHER * step
                sums[at], sums[at + step], sums[at + 2 * step] = plus_product(
                    sums[at], sums[at + step], sums[at + 2 * step], high, high_error
                )
                at += (LOWER - HIGHER) * step
                sums[at], sums[at + step], sums[at + 2 * step] = plus_product(
                    sums[at], sums[at + step], sums[at + 2 * step], low, low_error
                )

    # -- unlearning ---------------------------------------------------------------------------------------------------

    @cython.cfunc
    def lacks(self, row: Row, unit: cython.double, least: cython.double, numbers: Gaussians) -> cython.bint:
        """Return True if the row's numbers cannot have been learned together in its class."""
        amount: cython.double = row.weight * unit
        if row.numbers and self.beside is None:
            return not self.is_like_all(row, numbers)
        for k in range(1, row.numbers):
            slot: cython.Py_ssize_t = row.numeric_feature[k]
            line = row.label * BESIDE * self.pairs + slot * (slot - 1) // 2
            for e in range(k):
                if self.beside[line + row.numeric_feature[e]] + least < amount:
                    return True
        return False

    @cython.cfunc
    def forget(self, row: Row, unit: cython.double, least: cython.double, numbers: Gaussians):
        """Subtract a row, after its numbers; a pair whose rest is not above `least` becomes empty."""
        self.put(row, -(row.weight * unit))
        for k in range(row.numbers):
            slot: cython.longlong = row.numeric_feature[k]
            if numbers.weight[slot * numbers.classes + row.label] <= 0.0:
                self.clear_feature(slot, row.label)
            for e in range(0 if self.beside is None else k):
                pair: cython.longlong = slot * (slot - 1) // 2 + row.numeric_feature[e]
                if self.beside[row.label * BESIDE * self.pairs + pair] <= least:
                    self.empty(pair, row.label)

    @cython.cfunc
    def empty(self, pair: cython.longlong, label: cython.Py_ssize_t):
        for r in range(3):
            self.products[(label * 3 + r) * self.pairs + pair] = 0.0
        for r in range(0 if self.beside is None else BESIDE):
            self.beside[(label * BESIDE + r) * self.pairs + pair] = 0.0

    @cython.cfunc
    def clear_feature(self, slot: cython.longlong, label: cython.Py_ssize_t):
        """Empty the pairs of a feature that no sample of the class has any more."""
        for other in range(slot):
            self.empty(slot * (slot - 1) // 2 + other, label)
        for other in range(slot + 1, self.features):
            self.empty(other * (other - 1) // 2 + slot, label)

    # -- reading ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(check=False)
    def weight(
        self, high: cython.longlong, low: cython.longlong, label: cython.Py_ssize_t, numbers: Gaussians
    ) -> cython.double:
        """Return the weight of the samples of a class that have both features."""
        if self.beside is not None:
            return self.beside[label * BESIDE * self.pairs + high * (high - 1) // 2 + low]
        if numbers.weight[low * numbers.classes + label] <= 0.0:
            return 0.0
        return numbers.weight[high * numbers.classes + label]

    @cython.cfunc
    def product(
        self,
        high: cython.longlong,
        low: cython.longlong,
        label: cython.Py_ssize_t,
        numbers: Gaussians,
        scale: cython.double,
    ) -> cython.double:
        """Return the sum of the products of two features' numbers about their means; 0 without weight.

        `scale` is the size that a double is precise enough for: the product of the two deviations, or 0.
        """
        pair: cython.longlong = high * (high - 1) // 2 + low
        at: cython.Py_ssize_t = label * 3 * self.pairs + pair
        step: cython.Py_ssize_t = numbers.classes
        i: cython.Py_ssize_t = high * step + label
        j: cython.Py_ssize_t = low * step + label
        weight: cython.double = self.weight(high, low, label, numbers)
        if weight <= 0.0:
            return 0.0
        if self.beside is None:
            if numbers.unsettled[i]:
                numbers.settle(i)
            if numbers.unsettled[j]:
                numbers.settle(j)
            self.mean_high, self.mean_low = numbers.mean[i], numbers.mean[j]
        else:
            i, j = (label * BESIDE + HIGHER) * self.pairs + pair, (label * BESIDE + LOWER) * self.pairs + pair
            self.mean_high = value(self.beside, i, self.pairs) / weight
            self.mean_low = value(self.beside, j, self.pairs) / weight
        if abs(self.mean_high * self.mean_low) < CANCELS * scale:
            return value(self.products, at, self.pairs) - self.mean_high * self.mean_low * weight
        if self.beside is None:
            i, j = high * ROWS * step + label, low * ROWS * step + label
            return precise_product(
                self.products, at, self.pairs, numbers.sums, i + NUMBERS * step, j + NUMBERS * step, step,
                weight, i, self.mean_high, self.mean_low,
            )  # fmt: skip
        return precise_product(
            self.products, at, self.pairs, self.beside, i, j, self.pairs,
            weight, i - 2 * self.pairs, self.mean_high, self.mean_low,
        )  # fmt: skip

    @cython.cfunc
    def write_products(
        self,
        slot: cython.longlong,
        others: cython.longlong[::1],
        count: cython.Py_ssize_t,
        label: cython.Py_ssize_t,
        numbers: Gaussians,
        deviations: cython.double[::1],
        products: cython.double[::1],
    ):
        """Write what `product` returns of a feature and each of others.

        `deviations` are those of the others, and after them that of the feature. All cells with weight are settled.
        """
        step: cython.Py_ssize_t = numbers.classes
        mean: cython.double = numbers.mean[slot * step + label]
        weight: cython.double = numbers.weight[slot * step + label]
        size: cython.double = CANCELS * deviations[count]
        is_beside: cython.bint = self.beside is not None
        for k in range(count):
            other = others[k]
            about = mean * numbers.mean[other * step + label]
            if not is_beside and abs(about) < size * deviations[k]:
                pair = slot * (slot - 1) // 2 + other if other < slot else other * (other - 1) // 2 + slot
                products[k] = value(self.products, label * 3 * self.pairs + pair, self.pairs) - about * weight
            else:
                products[k] = self.product(
                    max(slot, other), min(slot, other), label, numbers, deviations[count] * deviations[k]
                )

    def moments(
        self,
        high: cython.longlong,
        low: cython.longlong,
        label: cython.Py_ssize_t,
        numbers: Gaussians,
    ) -> tuple:
        """Return the weight of a pair, the means of the feature with the higher slot and of the other, the product."""
        product = float(self.product(high, low, label, numbers, 0.0))
        weight = float(self.weight(high, low, label, numbers))
        return (weight, float(self.mean_high), float(self.mean_low), product) if weight > 0.0 else (0.0,) * 4

    # -- tables -------------------------------------------------------------------------------------------------------

    def scale(self, factor: cython.double):
        """Multiply every weight and sum."""
        scaled = CoMoments(self.features, self.classes)
        features, classes = np.arange(self.features), np.arange(self.classes)
        move_rows(
            scaled.products, scaled.pairs, self.products, self.pairs, features, classes, factor, 3, False
        )
        self.products = scaled.products
        if self.beside is not None:
            scaled.beside = np.zeros(len(self.beside))
            move_rows(
                scaled.beside, scaled.pairs, self.beside, self.pairs, features, classes, factor, 9, True
            )
            self.beside = scaled.beside

    def pour(
        self,
        numbers: Gaussians,
        theirs: CoMoments,
        their_numbers: Gaussians,
        slots: cython.longlong[::1],
        labels: cython.longlong[::1],
        factor: cython.double,
    ):
        """Add the sums of others, times a factor, before their numbers are added to `numbers`.

        `slots` and `labels` are the places of theirs here.
        """
        mine, added = numbers.slots(), np.sort(np.asarray(slots)[their_numbers.slots()])
        beside = theirs.beside
        if self.beside is None and (
            beside is not None or (len(mine) > 0 and len(added) > 0 and not np.array_equal(mine, added))
        ):
            self.count_beside(numbers)
        if self.beside is not None and beside is None:
            filled = CoMoments(theirs.features, theirs.classes)
            filled.count_beside(their_numbers)
            beside = filled.beside
        move_rows(self.products, self.pairs, theirs.products, theirs.pairs, slots, labels, factor, 3, False)
        if self.beside is not None:
            move_rows(self.beside, self.pairs, beside, theirs.pairs, slots, labels, factor, 9, True)


@cython.cfunc
def move_rows(
    here: cython.double[::1],
    step: cython.Py_ssize_t,
    there: cython.double[::1],
    their_step: cython.Py_ssize_t,
    slots: cython.longlong[::1],
    labels: cython.longlong[::1],
    factor: cython.double,
    rows: cython.Py_ssize_t,
    is_beside: cython.bint,
):
    """Add all rows of the sums of pairs, times a factor, to others; the first three may be weights."""
    for i in range(1, slots.shape[0]):
        for j in range(i):
            high = max(slots[i], slots[j])
            for y in range(labels.shape[0]):
                at: cython.Py_ssize_t = (
                    labels[y] * rows * step + high * (high - 1) // 2 + min(slots[i], slots[j])
                )
                their_at = y * rows * their_step + i * (i - 1) // 2 + j
                if is_beside:
                    move_weight(
                        here, at, here, at + step, step,
                        there[their_at], there, their_at + their_step, their_step, factor,
                    )  # fmt: skip
                for r in range(HIGHER if is_beside else 0, rows, 3):
                    row = r
                    if is_beside and slots[i] < slots[j]:
                        row = (
                            HIGHER + LOWER - r
                        )  # the feature with the higher slot there has the lower one here
                    move_sum(
                        here, at + row * step, step, there, their_at + r * their_step, their_step, factor
                    )
