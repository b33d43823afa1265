"""The cells of cliques and of messages, and the loops over them.

    cells     table of clique 0 | ... | message of clique 0 | ... | room for two more
              axes ascend; those that are held are left out, so the length of each part depends on what is known

Variables are held at their codes where they were observed, or where no table needed holds them: such an axis has one
cell, so that evidence makes tables small.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp

LOW = cython.declare(cython.double, 2.0**-32)  # the largest cell of a message lies between this and 1
HIGH = cython.declare(cython.double, 2.0**32)


@cython.cclass
class CliqueCells:
    """The tables of a tree's cliques, gone through one at a time.

    Parameters
    ----------
    findings
        What is known, and the network's tables.
    plan
        An object whose attributes are arrays of integers; `x_start` says where the part of each clique in `x` begins:
        parent; axis, the variables of each clique; family, whose tables are assigned to it, with family_axis, the axes
        of the variables of each table in the clique, -1 for one that is always held; soft, variables whose
        likelihoods are, with soft_axis; child; separator, what its message is about, with own_axis and parent_axis;
        place and message_place, where in the cells its table and its message begin; spare_place and top_place.
    """

    def __init__(self, findings, plan):
        self.findings = findings
        conditionals = findings.conditionals
        self.fixed = findings.fixed
        self.size, self.start, self.stride = conditionals.size, conditionals.start, conditionals.stride
        self.scope_start, self.scope = conditionals.scope_start, conditionals.scope
        self.cliques = len(plan.parent)
        self.parent = plan.parent
        self.axis_start, self.axis = plan.axis_start, plan.axis
        self.family_start, self.family, self.family_axis = plan.family_start, plan.family, plan.family_axis
        self.family_axis_start = plan.family_axis_start
        self.separator_start, self.separator = plan.separator_start, plan.separator
        self.own_axis, self.parent_axis = plan.own_axis, plan.parent_axis
        self.place, self.message_place, self.spare_place = plan.place, plan.message_place, plan.spare_place
        most = int(np.diff(plan.axis_start).max()) + 1
        self.slot = np.zeros(most, np.longlong)
        self.length, self.step = np.ones(most, np.longlong), np.zeros(most, np.longlong)
        self.short_length, self.short_step = np.ones(most, np.longlong), np.zeros(most, np.longlong)
        self.count = np.zeros(most, np.longlong)
        self.cells = np.zeros(0)
        self.exponent = 0
        self.axes = self.total = 0
        self.free = np.zeros(most, np.longlong)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def open(self, s: cython.Py_ssize_t) -> cython.void:
        """Turn to a clique: number its free axes."""
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        first: cython.Py_ssize_t = self.axis_start[s]
        axes: cython.Py_ssize_t = 0
        total: cython.Py_ssize_t = 1
        for k in range(first, self.axis_start[s + 1]):
            v = self.axis[k]
            if self.fixed[v] >= 0 or self.size[v] == 1:
                self.slot[k - first] = -1
            else:
                self.slot[k - first] = axes
                self.length[axes] = self.size[v]
                axes += 1
                total *= self.size[v]
        self.axes = axes
        self.total = total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def table_steps(self, k: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Set the steps through the table of the k-th family, along the axes of the clique; return where it begins."""
        v: cython.Py_ssize_t = self.family[k]
        base: cython.Py_ssize_t = self.start[v]
        i: cython.Py_ssize_t
        scope: cython.Py_ssize_t = self.scope_start[v]
        axis: cython.Py_ssize_t
        for i in range(self.axes):
            self.step[i] = 0
        for i in range(self.scope_start[v + 1] - scope):
            if self.fixed[self.scope[scope + i]] >= 0:
                base += self.fixed[self.scope[scope + i]] * self.stride[scope + i]
            else:
                axis = self.family_axis[self.family_axis_start[k] + i]
                if axis >= 0 and self.slot[axis] >= 0:
                    self.step[self.slot[axis]] = self.stride[scope + i]
        return base

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def message_steps(self, s: cython.Py_ssize_t, axis_of: cython.longlong[::1]) -> cython.Py_ssize_t:
        """Set the steps through a clique's message, along axes of it or of its parent; return its cells."""
        i: cython.Py_ssize_t
        run: cython.Py_ssize_t = 1
        slot: cython.Py_ssize_t
        for i in range(self.axes):
            self.step[i] = 0
        for i in range(self.separator_start[s + 1] - 1, self.separator_start[s] - 1, -1):
            slot = self.slot[axis_of[i]]
            if slot >= 0:
                self.step[slot] = run
                run *= self.length[slot]
        return run

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def message_size(self, s: cython.Py_ssize_t) -> cython.Py_ssize_t:
        self.open(s)
        return self.message_steps(s, self.own_axis)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def scale(self, place: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.double:
        """Take a power of two out of some cells, such that the largest is at most 1; return the smallest positive one,
        0 if there is none.
        """
        k: cython.Py_ssize_t
        value: cython.double
        top: cython.double = 0.0
        least: cython.double = 2.0
        factor: cython.double = 1.0
        shift: cython.longlong = 0
        for k in range(place, place + size):
            top = max(top, self.cells[k])
        if top == 0.0:
            return 0.0
        while top * factor > 1.0:
            factor *= LOW
            shift += 32
        while top * factor < LOW:
            factor *= HIGH
            shift -= 32
        self.exponent = self.exponent + shift
        for k in range(place, place + size):
            value = self.cells[k] * factor
            self.cells[k] = value
            if 0.0 < value < least:
                least = value
        return least

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def shorten(self) -> cython.Py_ssize_t:
        """Join neighbouring axes that run on without a gap in the other table too; return how many are left, at least
        one.
        """
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = 0
        for k in range(self.axes):
            if n > 0 and self.short_step[n - 1] == self.step[k] * self.length[k]:
                self.short_length[n - 1] *= self.length[k]
                self.short_step[n - 1] = self.step[k]
            else:
                self.short_length[n] = self.length[k]
                self.short_step[n] = self.step[k]
                n += 1
        if n == 0:
            self.short_length[0] = 1
            self.short_step[0] = 0
            n = 1
        for k in range(n):
            self.count[k] = 0
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def next_run(self, last: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """From the place of one run of the last axis in the other table to that of the next."""
        k: cython.Py_ssize_t = last - 1
        while k >= 0:
            self.count[k] += 1
            at += self.short_step[k]
            if self.count[k] < self.short_length[k]:
                break
            at -= self.short_step[k] * self.short_length[k]
            self.count[k] = 0
            k -= 1
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def multiply_along(
        self, source: cython.double[::1], at: cython.Py_ssize_t, place: cython.Py_ssize_t
    ) -> cython.void:
        """Multiply the open clique's table with another one, along the steps set."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = place + self.total
        k: cython.Py_ssize_t
        while place < end:
            if step == 1:  # a loop of its own, for the compiler to make wide
                for k in range(length):
                    self.cells[place + k] *= source[at + k]
            else:
                for k in range(length):
                    self.cells[place + k] *= source[at + k * step]
            place += length
            at = self.next_run(last, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_along(
        self, source: cython.double[::1], at: cython.Py_ssize_t, place: cython.Py_ssize_t
    ) -> cython.void:
        """Add another table to the open clique's, along the steps set."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = place + self.total
        k: cython.Py_ssize_t
        while place < end:
            for k in range(length):
                self.cells[place + k] += source[at + k * step]
            place += length
            at = self.next_run(last, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_into(
        self, place: cython.Py_ssize_t, target: cython.double[::1], at: cython.Py_ssize_t
    ) -> cython.void:
        """Add the cells of the open clique's table to those of another one, along the steps set."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = place + self.total
        k: cython.Py_ssize_t
        sum_of_run: cython.double
        while place < end:
            if step == 0:
                sum_of_run = 0.0
                for k in range(length):
                    sum_of_run += self.cells[place + k]
                target[at] += sum_of_run
            else:
                for k in range(length):
                    target[at + k * step] += self.cells[place + k]
            place += length
            at = self.next_run(last, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def best_into(self, place: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.void:
        """As `sum_into` a message, taking the largest."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = place + self.total
        k: cython.Py_ssize_t
        while place < end:
            for k in range(length):
                if self.cells[place + k] > self.cells[at + k * step]:
                    self.cells[at + k * step] = self.cells[place + k]
            place += length
            at = self.next_run(last, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_exp_into(
        self, place: cython.Py_ssize_t, at: cython.Py_ssize_t, top: cython.Py_ssize_t
    ) -> cython.void:
        """As `sum_into` a message, of what the cells are logarithms of; relative to another message, its twin."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = place + self.total
        k: cython.Py_ssize_t
        beside: cython.Py_ssize_t = top - at
        while place < end:
            for k in range(length):
                self.cells[at + k * step] += exp(self.cells[place + k] - self.cells[at + beside + k * step])
            place += length
            at = self.next_run(last, at)


@cython.cfunc
@cython.exceptval(check=False)
def normalise(cells: cython.double[::1]) -> cython.void:
    """Divide cells by their sum, where it is positive."""
    k: cython.Py_ssize_t
    total: cython.double = 0.0
    for k in range(cells.shape[0]):
        total += cells[k]
    if total > 0.0:
        for k in range(cells.shape[0]):
            cells[k] /= total
