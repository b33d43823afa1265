"""The conditional tables of a network, laid end to end.

    cells     table of variable 0 | table of variable 1 | ...     axes of each: its parents, then itself; in C order
    scope     parents of 0, then 0 | parents of 1, then 1 | ...
    stride    the step along each of these axes

Variables and values are numbers. Only `bad_cell` checks its input.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

NEVER = cython.declare(cython.double, float("-inf"))
UNKNOWN = cython.declare(cython.double, float("nan"))
MOST = cython.declare(cython.double, 1.7976931348623157e308)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_of(value: cython.double) -> cython.double:
    return log(value) if value > 0.0 else NEVER


@cython.cclass
class Conditionals:
    """P(variable | parents) of every variable. `sizes` has the number of values of each; `parents` are in the order of
    the axes.
    """

    def __init__(self, sizes, parents):
        self.variables = len(sizes)
        self.size = np.array(sizes, np.longlong)
        self.start = np.zeros(self.variables + 1, np.longlong)
        self.value_start = np.zeros(self.variables + 1, np.longlong)
        self.scope_start = np.zeros(self.variables + 1, np.longlong)
        scope: list = []
        stride: list = []
        children: list = [[] for _ in parents]
        for v in range(self.variables):
            family = list(parents[v]) + [v]  # noqa: RUF005  # Cython has no starred lists here
            cells = 1
            steps = []
            for member in reversed(family):
                steps.append(cells)
                cells *= sizes[member]
            for parent in parents[v]:
                children[parent].append(v)
            scope += family
            stride += reversed(steps)
            self.start[v + 1] = self.start[v] + cells
            self.value_start[v + 1] = self.value_start[v] + sizes[v]
            self.scope_start[v + 1] = len(scope)
        self.scope = np.array(scope, np.longlong)
        self.stride = np.array(stride, np.longlong)
        self.child_start = np.cumsum([0] + [len(c) for c in children], dtype=np.longlong)
        self.child = np.array([child for several in children for child in several], np.longlong)
        self.cells = np.zeros(self.start[self.variables])
        self.logs = np.zeros(0)
        self.least = np.ones(self.variables)
        self.zeros = np.zeros(self.variables, np.int32)
        self.has_logs = False

    @cython.ccall
    def bad_cell(
        self, variable: cython.Py_ssize_t, numbers: cython.const[cython.double][::1]
    ) -> cython.Py_ssize_t:
        """Return the first cell that cannot stand in a table: one that is negative or not finite, or the last cell of a
        row without a positive one. Return -1 if there is none.
        """
        size: cython.Py_ssize_t = self.size[variable]
        total: cython.double = 0.0
        for k in range(numbers.shape[0]):
            if not 0.0 <= numbers[k] <= MOST:
                return k
            total += numbers[k]
            if (k + 1) % size == 0:
                if not 0.0 < total <= MOST:
                    return k
                total = 0.0
        return -1

    @cython.ccall
    def fill(self, variable: cython.Py_ssize_t, numbers: cython.const[cython.double][::1]):
        """Set a table without bad cells; each row is divided by its sum."""
        size: cython.Py_ssize_t = self.size[variable]
        start: cython.Py_ssize_t = self.start[variable]
        least: cython.double = 1.0
        zeros: cython.bint = False
        for row in range(0, numbers.shape[0], size):
            total = 0.0
            for k in range(row, row + size):
                total += numbers[k]
            for k in range(row, row + size):
                share = numbers[k] / total
                self.cells[start + k] = share
                if share <= 0.0:
                    zeros = True
                elif share < least:
                    least = share
        self.least[variable] = least
        self.zeros[variable] = zeros
        self.has_logs = False

    @cython.ccall
    def update_logs(self):
        """Compute the logarithms of all cells, unless they are up to date."""
        if self.has_logs:
            return
        if self.logs.shape[0] != self.cells.shape[0]:
            self.logs = np.zeros(self.cells.shape[0])
        for k in range(self.cells.shape[0]):
            self.logs[k] = log_of(self.cells[k])
        self.has_logs = True

    def log_likelihoods(self, codes: cython.int[:, ::1], target: cython.double[::1]):
        """Write the log-likelihood of each row of codes; NaN for a row with a missing code, -1."""
        row: cython.Py_ssize_t
        v: cython.Py_ssize_t
        k: cython.Py_ssize_t
        self.update_logs()
        with cython.nogil:
            for row in range(codes.shape[0]):
                total: cython.double = 0.0
                for v in range(self.variables):  # check all codes first: any parent's may be missing
                    if codes[row, v] < 0:
                        total = UNKNOWN
                if total != 0.0:
                    target[row] = total
                    continue
                for v in range(self.variables):
                    at: cython.Py_ssize_t = self.start[v]
                    for k in range(self.scope_start[v], self.scope_start[v + 1]):
                        at += codes[row, self.scope[k]] * self.stride[k]
                    total += self.logs[at]
                target[row] = total
