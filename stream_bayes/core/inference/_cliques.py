"""Loops over the cells of cliques and messages.

    cells     table of clique 0 | ... | message of clique 0 | ... | room for two more
              axes ascend; fixed variables have no axis, so the length of each part depends on the evidence

Variables are fixed at one code if they were observed, or if no needed table contains them. Such an axis has one cell,
so evidence makes tables small.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp

LOW = cython.declare(cython.double, 2.0**-32)  # the largest cell of a message lies between this and 1
HIGH = cython.declare(cython.double, 2.0**32)


@cython.cclass
class CliqueCells:
    """The tables of a tree's cliques, of which one at a time is open for work. `findings` has the evidence, and the
    network's tables. `plan` is a `plans.Plan`: arrays of integers, where `x_start` holds the beginning of each clique's
    part in `x`.
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
        self.offset, self.message_offset, self.spare_offset = (
            plan.offset,
            plan.message_offset,
            plan.spare_offset,
        )
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
        """Open a clique: number its free axes."""
        k: cython.Py_ssize_t
        first: cython.Py_ssize_t = self.axis_start[s]
        axes: cython.Py_ssize_t = 0
        total: cython.Py_ssize_t = 1
        for k in range(first, self.axis_start[s + 1]):
            v: cython.Py_ssize_t = self.axis[k]
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
        """Set the steps through the k-th family's table along the axes of the open clique; return its first cell."""
        v: cython.Py_ssize_t = self.family[k]
        base: cython.Py_ssize_t = self.start[v]
        i: cython.Py_ssize_t
        scope: cython.Py_ssize_t = self.scope_start[v]
        for i in range(self.axes):
            self.step[i] = 0
        for i in range(self.scope_start[v + 1] - scope):
            if self.fixed[self.scope[scope + i]] >= 0:
                base += self.fixed[self.scope[scope + i]] * self.stride[scope + i]
            else:
                axis: cython.Py_ssize_t = self.family_axis[self.family_axis_start[k] + i]
                if axis >= 0 and self.slot[axis] >= 0:
                    self.step[self.slot[axis]] = self.stride[scope + i]
        return base

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def message_steps(self, s: cython.Py_ssize_t, axis_of: cython.longlong[::1]) -> cython.Py_ssize_t:
        """Set the steps through a clique's message, along its own or its parent's axes; return the message's size."""
        i: cython.Py_ssize_t
        run: cython.Py_ssize_t = 1
        for i in range(self.axes):
            self.step[i] = 0
        for i in range(self.separator_start[s + 1] - 1, self.separator_start[s] - 1, -1):
            slot: cython.Py_ssize_t = self.slot[axis_of[i]]
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
    def scale(self, offset: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.double:
        """Divide some cells by a power of two so that the largest is at most 1; return the smallest positive cell, or
        0.
        """
        top: cython.double = 0.0
        least: cython.double = 2.0
        factor: cython.double = 1.0
        shift: cython.longlong = 0
        for k in range(offset, offset + size):
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
        for k in range(offset, offset + size):
            value = self.cells[k] * factor
            self.cells[k] = value
            if 0.0 < value < least:
                least = value
        return least

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def shorten(self) -> cython.Py_ssize_t:
        """Join neighbouring axes that are contiguous in the other table too; return the number of axes left, at least
        1.
        """
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
        """Return the position in the other table where the next run of the last axis begins."""
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
        self, source: cython.double[::1], at: cython.Py_ssize_t, offset: cython.Py_ssize_t
    ) -> cython.void:
        """Multiply the open clique's table by another one along the current steps."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = offset + self.total
        while offset < end:
            if step == 1:  # a separate loop, which the compiler can vectorise
                for k in range(length):
                    self.cells[offset + k] *= source[at + k]
            else:
                for k in range(length):
                    self.cells[offset + k] *= source[at + k * step]
            offset += length
            at = self.next_run(last, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_along(
        self, source: cython.double[::1], at: cython.Py_ssize_t, offset: cython.Py_ssize_t
    ) -> cython.void:
        """Add another table to the open clique's along the current steps."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = offset + self.total
        while offset < end:
            for k in range(length):
                self.cells[offset + k] += source[at + k * step]
            offset += length
            at = self.next_run(last, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_into(
        self, offset: cython.Py_ssize_t, target: cython.double[::1], at: cython.Py_ssize_t
    ) -> cython.void:
        """Add the cells of the open clique's table to another one along the current steps."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = offset + self.total
        while offset < end:
            if step == 0:
                sum_of_run = 0.0
                for k in range(length):
                    sum_of_run += self.cells[offset + k]
                target[at] += sum_of_run
            else:
                for k in range(length):
                    target[at + k * step] += self.cells[offset + k]
            offset += length
            at = self.next_run(last, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def best_into(self, offset: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.void:
        """Write the largest cells into a message, where `sum_into` writes sums."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = offset + self.total
        while offset < end:
            for k in range(length):
                if self.cells[offset + k] > self.cells[at + k * step]:
                    self.cells[at + k * step] = self.cells[offset + k]
            offset += length
            at = self.next_run(last, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_exp_into(
        self, offset: cython.Py_ssize_t, at: cython.Py_ssize_t, top: cython.Py_ssize_t
    ) -> cython.void:
        """Add exp(cell - top) into a message, with `top` the message that holds the largest cells."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = offset + self.total
        shift: cython.Py_ssize_t = top - at
        while offset < end:
            for k in range(length):
                self.cells[at + k * step] += exp(self.cells[offset + k] - self.cells[at + shift + k * step])
            offset += length
            at = self.next_run(last, at)


@cython.cfunc
@cython.exceptval(check=False)
def normalise(cells: cython.double[::1]) -> cython.void:
    """Divide cells by their sum, if it is positive."""
    total: cython.double = 0.0
    for k in range(cells.shape[0]):
        total += cells[k]
    if total > 0.0:
        for k in range(cells.shape[0]):
            cells[k] /= total
