"""The log-probability of an event from the counts of a network's families, without inference.

    log P(x) = sum over the variables that x has of log P(value | parents)

That holds if x has all parents of each variable that it has: the variables it lacks are then summed out to 1. Each
factor is that of `_smoothed_rows`, read from one row of one table.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

if not cython.compiled:
    from stream_bayes.core.counts._configurations import Configurations
    from stream_bayes.core.counts._families import FamilyTables
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._smoothing import pseudocount

UNKNOWN = cython.declare(cython.double, float("nan"))
IMPOSSIBLE = cython.declare(cython.double, float("-inf"))
SMALL = cython.declare(cython.double, 1e-150)


@cython.cclass
class JointReading:
    """The reading of whole events from the families of a store without classes.

    The reading is valid while the tables have the same families. `family_numbers` is the number of each variable's
    family in the tables. `strength` is the weight of the smoothing, in fresh samples; `spread` True spreads it over the
    cells of a row, False adds it to each. `prior` has for each family, these being all of the tables, the probabilities
    given beforehand, with an axis for each parent by slot and the variable's own last; their labels are the first
    codes. `prior_weight` is the weight of each of their rows, in fresh samples.
    """

    def __init__(
        self,
        tables: Tables,
        family_numbers,
        strength: cython.double,
        spread: cython.bint,
        prior=None,
        prior_weight=0.0,
    ):
        families: FamilyTables = tables.families
        self.tables = tables
        self.families = families
        self.strength = strength
        self.spread = spread
        self.prior_weight = prior_weight if prior is not None else 0.0
        self.family_number = np.array(family_numbers, np.longlong)
        self.is_inside = np.zeros(len(families.room), np.uint8)
        np.asarray(self.is_inside)[[families.families[number][0] for number in family_numbers]] = 1
        self.prior_size = np.zeros(len(families.member), np.longlong)
        self.prior_stride = np.zeros(len(families.member), np.longlong)
        self.prior_base = np.zeros(len(families.families), np.longlong)
        self.prior = np.zeros(0)
        if prior is not None:
            self.lay_out(prior)

    def lay_out(self, prior):
        """Lay the tables given beforehand end to end."""
        sizes = [size for table in prior for size in table.shape]
        strides = [stride // table.itemsize for table in prior for stride in table.strides]
        self.prior_size = np.array(sizes, np.longlong)
        self.prior_stride = np.array(strides, np.longlong)
        self.prior_base = np.cumsum([0, *(table.size for table in prior)], dtype=np.longlong)
        self.prior = np.concatenate([np.zeros(0), *(table.reshape(-1) for table in prior)])

    @cython.ccall
    def log_probability(self, row: Row) -> cython.double:
        """Return the log-probability of an event; NaN if it lacks a parent of a variable that it has, or has a value
        without samples.
        """
        families: FamilyTables = self.families
        values: ValueCounts = self.tables.values
        layout: Layout = values.layout
        m: cython.Py_ssize_t
        product: cython.double = 1.0
        total: cython.double = 0.0
        self.observed = 0
        for k in range(row.entries):
            slot: cython.longlong = row.feature[k]
            if slot < self.is_inside.shape[0] and self.is_inside[slot]:
                if not values.occupied[layout.start[slot] + row.code[k]]:
                    return UNKNOWN
                self.observed += 1
        families.scatter(row)
        for k in range(self.family_number.shape[0]):
            f = self.family_number[k]
            if families.code[families.member[families.end[f + 1] - 1]] < 0:
                continue
            for m in range(families.end[f], families.end[f + 1] - 1):
                if families.code[families.member[m]] < 0:
                    return UNKNOWN
            factor = self.factor(f)
            if factor <= 0.0:
                return IMPOSSIBLE
            product *= factor
            if product < SMALL:
                total += log(product)
                product = 1.0
        return total + log(product)

    @cython.cfunc
    def factor(self, f: cython.Py_ssize_t) -> cython.double:
        """Return P(value | parents) of the scattered codes in one family, all of whose members are there."""
        families: FamilyTables = self.families
        values: ValueCounts = self.tables.values
        m: cython.Py_ssize_t
        v: cython.Py_ssize_t
        last: cython.Py_ssize_t = families.end[f + 1] - 1
        child: cython.longlong = families.member[last]
        code: cython.longlong = families.code[child]
        step: cython.longlong = families.stride[last]
        different: cython.longlong = values.distinct[child]
        first: cython.longlong = families.cell(f) - code * step
        weight: cython.double[::1] = families.weight
        unit: cython.double = self.tables.unit
        add: cython.double = pseudocount(self.strength * unit, different, self.spread)
        part: cython.double = 0.0
        counted: cython.double = 0.0
        prior: cython.double = 0.0
        if families.base[f] >= 0:
            first += families.base[f]
        else:
            families.configuration(f)
            configurations: Configurations = families.hashed[f]
            first = configurations.find(families.wanted)
            if first >= 0:
                first *= configurations.width
                weight = configurations.weight
        if first >= 0:
            for v in range(values.layout.used[child]):
                counted += weight[first + v * step]
            part = weight[first + code * step]
        total = counted + add * different
        part += add
        if self.prior_weight > 0.0:
            first = self.prior_base[f]
            for m in range(families.end[f], last):
                if families.code[families.member[m]] >= self.prior_size[m]:
                    first = -1
                    break
                first += families.code[families.member[m]] * self.prior_stride[m]
            if first >= 0:
                for v in range(self.prior_size[last]):  # files round their tables, so a row is not quite 1
                    total += self.prior_weight * unit * self.prior[first + v * self.prior_stride[last]]
                if code < self.prior_size[last]:
                    prior = self.prior[first + code * self.prior_stride[last]]
                    part += self.prior_weight * unit * prior
                if counted <= 0.0 and add <= 0.0:
                    return prior
        if total <= 0.0:
            return 1.0 / different
        return part / total
