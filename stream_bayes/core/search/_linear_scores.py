"""Inner loops of the scores of a number given others, in each configuration of the names above it.

The sums of a configuration are factored once, parents first and the number last: the last pivot is what its parents
leave of its variation. The numbers of a configuration are one Gaussian with a normal-inverse-Wishart prior, so the
marginal likelihood of the last one is that of all less that of its parents, in which all but two pivots cancel.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import lgamma, log

if not cython.compiled:
    from math import lgamma, log

LOG_PI = cython.declare(cython.double, 1.1447298858494002)
# Part of its variation: less of a number follows from those before it.
LEAST_PIVOT = cython.declare(cython.double, 1e-12)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.returns(cython.void)
def add_up(
    numbers: cython.double[:, ::1],
    members: cython.longlong[::1],
    group: cython.int[::1],
    counts: cython.double[::1],
    means: cython.double[:, ::1],
    products: cython.double[:, :, ::1],
):
    """Add up rows by group: their number, the means of some numbers, and the products about them below the diagonal.

    All sums begin at 0.
    """
    size: cython.Py_ssize_t = members.shape[0]
    for row in range(group.shape[0]):
        g = group[row]
        counts[g] += 1.0
        for i in range(size):
            means[g, i] += numbers[members[i], row]
    for g in range(counts.shape[0]):
        if counts[g] > 0.0:
            for i in range(size):
                means[g, i] /= counts[g]
    for row in range(group.shape[0]):
        g = group[row]
        for i in range(size):
            away = numbers[members[i], row] - means[g, i]
            for j in range(i + 1):
                products[g, i, j] += away * (numbers[members[j], row] - means[g, j])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.returns((cython.double, cython.double))
def last_pivot(matrix: cython.double[:, ::1], prior: cython.double):
    """Return the last pivot of a symmetric matrix, given below the diagonal and factored in place, and the sum of the
    logarithms of the others.

    No pivot is below `prior`, which the matrix holds on its diagonal. Without one, a number that follows from those
    before it, but for rounding, has none.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    size: cython.Py_ssize_t = matrix.shape[0]
    logs: cython.double = 0.0
    for k in range(size - 1):
        matrix[k, size - 1] = matrix[k, k]  # its variation; the place above the diagonal is free
    for k in range(size - 1):
        pivot: cython.double = matrix[k, k]
        if prior > 0.0:
            pivot = max(pivot, prior)
        elif pivot <= LEAST_PIVOT * matrix[k, size - 1]:
            continue
        logs += log(pivot)
        for i in range(k + 1, size):
            factor: cython.double = matrix[i, k] / pivot
            for j in range(k + 1, i + 1):
                matrix[i, j] -= factor * matrix[j, k]
    return max(matrix[size - 1, size - 1], prior), logs


def marginal_likelihood(numbers, members, group, prior, strength, counts, means, products):
    """Return the log marginal likelihood of a number given others. `numbers` has a variable in each row; `members` are
    the rows of the parents, and of the number itself at the end. `group` has the configuration of each event.

    `prior` is the weight of the prior of means and squares, `strength` that of the degrees. `counts`, `means` and
    `products` are room for the sums of each configuration, filled with 0.
    """
    size: cython.Py_ssize_t = members.shape[0]
    freedom: cython.double = size + 1.0 + strength
    total: cython.double = 0.0
    with cython.nogil:
        add_up(numbers, members, group, counts, means, products)
        for g in range(counts.shape[0]):
            n = counts[g]
            if n > 0.0:
                between = prior * n / (prior + n)
                for i in range(size):
                    for j in range(i + 1):
                        products[g, i, j] += between * means[g, i] * means[g, j]
                    products[g, i, i] += prior
                pivot, logs = last_pivot(products[g], prior)
                total += 0.5 * ((2.0 * size + strength) * log(prior) - logs - (freedom + n) * log(pivot))
                total += 0.5 * (log(prior / (prior + n)) - n * LOG_PI)
                total += lgamma(0.5 * (freedom + n)) - lgamma(0.5 * freedom)
    return total


def greatest_likelihood(numbers, members, group, least, counts, means, products):
    """Return the logarithm of the greatest likelihood of a number given others, with a line for each configuration; no
    variance is below `least`. The other arguments are those of `marginal_likelihood`.
    """
    total: cython.double = 0.0
    with cython.nogil:
        add_up(numbers, members, group, counts, means, products)
        for g in range(counts.shape[0]):
            if counts[g] > 0.0:
                pivot, _ = last_pivot(products[g], 0.0)
                total -= 0.5 * counts[g] * (LOG_PI + log(2.0 * max(pivot / counts[g], least)) + 1.0)
    return total
