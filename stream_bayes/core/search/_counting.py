"""Inner loops of structure search: counting families over many rows, and scoring their tables.

The loops release the interpreter's lock, so other threads go on meanwhile.

A row holds a code for each variable; the largest code of its type means missing. A family's cells are

    [configuration of the parents][value of the extra parent][value of the child]

so the child's values, which are neighbours, make one row of the family's table. All extra parents tried for a child are
counted in one pass: their tables are small, and additions to many tables in turn do not wait for each other as
additions to a single table would.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import lgamma, log

if not cython.compiled:
    from math import lgamma, log


HASH = cython.declare(cython.ulonglong, 1_099_511_628_211)  # the multiplier of FNV-1a
BITS = cython.declare(cython.ulonglong, 2**64 - 1)


def group_rows(codes, table, first, group):
    """Give equal rows the same number, in order of first occurrence, and return the count of numbers. A row of `codes`
    is an event. `table` is room for a hash table: a power of two larger than the number of rows, filled with -1.
    `first` is filled with the first row of each number, `group` with the number of each row.
    """
    count: cython.Py_ssize_t = 0
    mask: cython.Py_ssize_t = table.shape[0] - 1
    with cython.nogil:
        for row in range(codes.shape[0]):
            hashed = 0
            for k in range(codes.shape[1]):
                hashed = ((hashed ^ (cython.cast(cython.ulonglong, codes[row, k]) + 1)) * HASH) & BITS
            bucket = cython.cast(cython.Py_ssize_t, (hashed ^ (hashed >> 32)) & mask)
            number = -1
            while number < 0:
                number = table[bucket]
                if number < 0:
                    number = count
                    table[bucket] = cython.cast(cython.int, count)
                    first[count] = row
                    count += 1
                else:
                    other: cython.Py_ssize_t = first[number]
                    for k in range(codes.shape[1]):
                        if codes[row, k] != codes[other, k]:
                            number = -1
                            break
                    bucket = (bucket + 1) & mask
            group[row] = number
    return count


def number_configurations(codes, members, sizes, numbers):
    """Return the number of the joint configuration of some variables in each row; -1 if one of them is missing. A row
    of `codes` is an event. `sizes` are the numbers of values of the variables `members`, with fewer than 2^31 joint
    configurations. `numbers` is filled with an entry for each row.
    """
    row: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for row in range(codes.shape[0]):
            number: cython.longlong = 0
            for k in range(members.shape[0]):
                code: cython.longlong = codes[row, members[k]]
                if code >= sizes[k]:
                    number = -1
                    break
                number = number * sizes[k] + code
            numbers[row] = cython.cast(cython.int, number)


def count_families(codes, weights, numbers, child, candidates, sizes, starts, cells):
    """Add every row to the table of each family made of a child, a configuration and one candidate. `numbers` has the
    configuration in each row; a row with -1 is left out. `child` and `candidates`, the extra parents, are columns.
    `starts` has the first cell of each candidate's table. `cells` has all tables, and is added to.
    """
    width: cython.Py_ssize_t = sizes[child]
    with cython.nogil:
        for row in range(codes.shape[0]):
            number: cython.Py_ssize_t = numbers[row]
            value: cython.Py_ssize_t = codes[row, child]
            if number < 0 or value >= width:
                continue
            weight = weights[row]
            for k in range(candidates.shape[0]):
                code: cython.Py_ssize_t = codes[row, candidates[k]]
                if code < sizes[candidates[k]]:
                    cells[starts[k] + (number * sizes[candidates[k]] + code) * width + value] += weight


def count_packed(packed, codes, weights, numbers, child, width, groups, offsets, joint):
    """Add every row to the table of each group of variables packed in a byte.

    The cells are [configuration][value of the child][joint values of each group, end to end].

    The rows are given packed and plain. `numbers` has the configuration in each row; a row with -1 is left out. `child`
    is a column, and `width` its number of values. `groups` are the columns of the groups; `offsets` has the offset of
    each among the joint values, followed by their number. `joint` has all tables, and is added to.
    """
    many: cython.Py_ssize_t = groups.shape[0]
    total: cython.Py_ssize_t = offsets[many]
    with cython.nogil:
        for row in range(codes.shape[0]):
            number: cython.Py_ssize_t = numbers[row]
            value: cython.Py_ssize_t = codes[row, child]
            if number < 0 or value >= width:
                continue
            weight = weights[row]
            base = (number * width + value) * total
            for k in range(many):
                joint[base + offsets[k] + packed[row, groups[k]]] += weight


def unpack(joint, configurations, width, total, columns, starts, cells):
    """Sum tables of groups into the table of each single variable, as `count_families` would count it.

    `joint` has the tables of the groups; the next three are their numbers of configurations, values of the child, and
    joint values. `columns` has a row for each variable: the offset of its group among the joint values, the group's
    width, the variable's slots, its number of values, and the distance of two of its values among the joint values.
    `starts` has the first cell of each variable's table. `cells` has all tables, and is added to.
    """
    k: cython.Py_ssize_t
    run: cython.Py_ssize_t
    code: cython.Py_ssize_t
    inside: cython.Py_ssize_t
    with cython.nogil:
        for k in range(columns.shape[0]):
            slots: cython.Py_ssize_t = columns[k, 2]
            inner: cython.Py_ssize_t = columns[k, 4]
            for run in range(configurations * width):
                begin: cython.Py_ssize_t = run * total + columns[k, 0]
                end: cython.Py_ssize_t = begin + columns[k, 1]
                for code in range(columns[k, 3]):
                    weight: cython.double = 0.0
                    cell: cython.Py_ssize_t = begin + code * inner
                    while cell < end:
                        for inside in range(inner):
                            weight += joint[cell + inside]
                        cell += slots * inner
                    cells[starts[k] + (run // width * columns[k, 3] + code) * width + run % width] += weight


def pair_information(cells, start, configurations, height, width, of_other, of_one):
    """Sum n_xyz log(n_xyz n_z / (n_xz n_yz)) over a table [configuration z][value y of the other][value x of the one].
    The table begins at the cell `start`, with `height` values y and `width` values x. `of_other` and `of_one` are room
    for a sum for each value of either variable.
    """
    answer: cython.double = 0.0
    with cython.nogil:
        for configuration in range(configurations):
            base = start + configuration * height * width
            whole = 0.0
            for value in range(width):
                of_one[value] = 0.0
            for other in range(height):
                of_other[other] = 0.0
                for value in range(width):
                    weight = cells[base + other * width + value]
                    of_other[other] += weight
                    of_one[value] += weight
                whole += of_other[other]
            for other in range(height):
                for value in range(width):
                    weight = cells[base + other * width + value]
                    if weight > 0.0:
                        answer += weight * (
                            log(weight) + log(whole) - log(of_one[value]) - log(of_other[other])
                        )
    return answer


def score_family(cells, start, rows, width, cell, row):
    """Return the score of a family's counts without a penalty. The table begins at the cell `start`, with `rows`
    configurations of the parents and `width` values of the child. `cell` and `row` are the weights of a Dirichlet prior
    for each value, and for each configuration; 0 for the plain log-likelihood.
    """
    answer: cython.double
    with cython.nogil:
        answer = score_of(cells, start, rows, width, cell, row)
    return answer


def count_values(codes, weights, sizes, starts, cells):
    """Add every row to the count of each variable's value, if it is not missing. `sizes` has the number of values of
    each variable, `starts` the first of its cells. The counts in `cells` are added to.
    """
    with cython.nogil:
        for row in range(codes.shape[0]):
            for k in range(codes.shape[1]):
                code: cython.Py_ssize_t = codes[row, k]
                if code < sizes[k]:
                    cells[starts[k] + code] += weights[row]


def turn_tables(cells, starts, width, turned):
    """Write each of several consecutive tables with rows and columns exchanged. `starts` has the first cell of each,
    followed by the end of the last; `width` is the number of columns. `turned` is filled with the tables, each in the
    cells that it had.
    """
    j: cython.Py_ssize_t
    with cython.nogil:
        for k in range(starts.shape[0] - 1):
            rows: cython.Py_ssize_t = (starts[k + 1] - starts[k]) // width
            for j in range(rows):
                for value in range(width):
                    turned[starts[k] + value * rows + j] = cells[starts[k] + j * width + value]


def score_families(cells, starts, widths, cell, row, scores):
    """Write `score_family` of several consecutive tables.

    `starts` has the first cell of each, followed by the end of the last; `widths` the number of each child's values.
    `cell` and `row` have, for each table, the weight of a Dirichlet prior for each value, and for each configuration; 0
    for none. `scores` is filled with an entry for each table.
    """
    with cython.nogil:
        for k in range(scores.shape[0]):
            rows: cython.Py_ssize_t = (starts[k + 1] - starts[k]) // widths[k]
            scores[k] = score_of(cells, starts[k], rows, widths[k], cell[k], row[k])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_of(cells: cython.double[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.double:
    total: cython.double = 0.0
    for k in range(start, stop):
        total += cells[k]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def score_of(
    cells: cython.double[::1],
    start: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    cell: cython.double,
    row: cython.double,
) -> cython.double:
    """Return the score of one table, the sum over its rows.

    Without a prior, a row's score is its log-likelihood, the sum of n_jk log(n_jk / n_j). With one, it is the log
    marginal likelihood under a Dirichlet prior with weight `cell` for each value and `row` for the configuration.
    """
    answer: cython.double = 0.0
    for j in range(rows):
        at = start + j * width
        total = sum_of(cells, at, at + width)
        if total <= 0.0:
            continue
        if cell > 0.0:
            answer += lgamma(row) - lgamma(row + total)
        for k in range(at, at + width):
            if cells[k] > 0.0 and cell > 0.0:
                answer += lgamma(cell + cells[k]) - lgamma(cell)
            elif 0.0 < cells[k] < total:  # a row of a single value, as most are in a large table, adds log(1)
                answer += cells[k] * log(cells[k] / total)
    return answer
