"""The inner loops of structure search: counting families over many rows, and scoring what was counted.

Other threads run meanwhile.

A row is a run of codes, one for each variable; the largest code that its type holds means missing. A family's cells are

    [configuration of the parents][value of the extra parent][value of the child]

so that each run of the child's values belongs to one row of the family's table. All extra parents that are tried for a
child are counted in one pass: their tables are small, and adding to many of them in turn keeps the processor busy where
adding to a single one would wait for its own last addition.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import lgamma, log

if not cython.compiled:
    from math import lgamma, log


def number_configurations(codes, members, sizes, numbers):
    """Number the joint configuration of some variables in each row, -1 where one of them is missing.

    Parameters
    ----------
    codes
        A row an event, a column a variable.
    members, sizes
        The variables, and how many values each has; with fewer than 2^31 configurations together.
    numbers
        What is filled, an entry a row.
    """
    row: cython.Py_ssize_t
    k: cython.Py_ssize_t
    number: cython.longlong
    code: cython.longlong
    with cython.nogil:
        for row in range(codes.shape[0]):
            number = 0
            for k in range(members.shape[0]):
                code = codes[row, members[k]]
                if code >= sizes[k]:
                    number = -1
                    break
                number = number * sizes[k] + code
            numbers[row] = cython.cast(cython.int, number)


def count_families(codes, weights, numbers, child, candidates, sizes, starts, cells):
    """Add every row to the table of each family made of a child, a configuration and one candidate.

    Parameters
    ----------
    codes, weights
        The rows, and how much each weighs.
    numbers
        The configuration in each row; a row with -1 is left out.
    child
        The child's column.
    candidates
        The columns of the extra parents.
    sizes
        How many values each variable has.
    starts
        Where the table of each candidate begins.
    cells
        All tables, to be added to.
    """
    row: cython.Py_ssize_t
    k: cython.Py_ssize_t
    value: cython.Py_ssize_t
    code: cython.Py_ssize_t
    number: cython.Py_ssize_t
    width: cython.Py_ssize_t = sizes[child]
    weight: cython.double
    with cython.nogil:
        for row in range(codes.shape[0]):
            number = numbers[row]
            value = codes[row, child]
            if number < 0 or value >= width:
                continue
            weight = weights[row]
            for k in range(candidates.shape[0]):
                code = codes[row, candidates[k]]
                if code < sizes[candidates[k]]:
                    cells[starts[k] + (number * sizes[candidates[k]] + code) * width + value] += weight


def score_family(cells, start, rows, width, cell, row):
    """What a family's counts say for it, without a penalty.

    Parameters
    ----------
    cells, start, rows, width
        Its table: from where on, how many configurations of the parents, and how many values the child has.
    cell, row
        The weight of a Dirichlet prior for a value, and for a configuration; 0 for the plain log-likelihood.
    """
    answer: cython.double
    with cython.nogil:
        if cell == 0.0:
            answer = log_likelihood(cells, start, rows, width)
        else:
            answer = dirichlet(cells, start, rows, width, cell, row)
    return answer


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_of(cells: cython.double[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.double:
    total: cython.double = 0.0
    k: cython.Py_ssize_t
    for k in range(start, stop):
        total += cells[k]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_likelihood(
    cells: cython.double[::1], start: cython.Py_ssize_t, rows: cython.Py_ssize_t, width: cython.Py_ssize_t
) -> cython.double:
    """Sum n_jk log(n_jk / n_j)."""
    answer: cython.double = 0.0
    total: cython.double
    row: cython.Py_ssize_t
    k: cython.Py_ssize_t
    at: cython.Py_ssize_t
    for row in range(rows):
        at = start + row * width
        total = sum_of(cells, at, at + width)
        if total > 0.0:
            for k in range(at, at + width):
                if cells[k] > 0.0:
                    answer += cells[k] * log(cells[k] / total)
    return answer


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dirichlet(
    cells: cython.double[::1],
    start: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    cell: cython.double,
    row: cython.double,
) -> cython.double:
    """Log of the marginal likelihood under Dirichlet priors: `cell` a value, `row` a configuration of the parents."""
    answer: cython.double = 0.0
    total: cython.double
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    at: cython.Py_ssize_t
    for j in range(rows):
        at = start + j * width
        total = sum_of(cells, at, at + width)
        if total > 0.0:
            answer += lgamma(row) - lgamma(row + total)
            for k in range(at, at + width):
                if cells[k] > 0.0:
                    answer += lgamma(cell + cells[k]) - lgamma(cell)
    return answer
