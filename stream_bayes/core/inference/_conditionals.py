"""The tables of a network's variables, laid end to end; and what is known of the variables.

    cells     table of variable 0 | table of variable 1 | ...     axes of each: its parents, then itself; in C order
    scope     parents of 0, then 0 | parents of 1, then 1 | ...   with the step along each of these axes beside it

Variables and values are numbers. Nothing is checked here but the numbers in the tables.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

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
    """P(variable | parents) of every variable.

    Parameters
    ----------
    sizes
        How many values each variable has.
    parents
        The parents of each, ascending.
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
        """Where numbers for a table are no row of weights: a cell that is negative or not finite, or the last one of a
        row without a positive one; -1 if they are fit.
        """
        size: cython.Py_ssize_t = self.size[variable]
        k: cython.Py_ssize_t
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
        """Take over a table that has no bad cell; each row is divided by its sum."""
        size: cython.Py_ssize_t = self.size[variable]
        start: cython.Py_ssize_t = self.start[variable]
        k: cython.Py_ssize_t
        row: cython.Py_ssize_t
        total: cython.double
        share: cython.double
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
    def take_logs(self):
        """Make the logarithms of all cells, once after they changed."""
        k: cython.Py_ssize_t
        if self.has_logs:
            return
        if self.logs.shape[0] != self.cells.shape[0]:
            self.logs = np.zeros(self.cells.shape[0])
        for k in range(self.cells.shape[0]):
            self.logs[k] = log_of(self.cells[k])
        self.has_logs = True

    def log_likelihoods(self, codes: cython.int[:, ::1], target: cython.double[::1]):
        """Write the log-likelihood of each row of codes; NaN where one is missing, -1."""
        row: cython.Py_ssize_t
        v: cython.Py_ssize_t
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t
        total: cython.double
        self.take_logs()
        with cython.nogil:
            for row in range(codes.shape[0]):
                total = 0.0
                for v in range(self.variables):  # all of them first: a parent's code may be the missing one
                    if codes[row, v] < 0:
                        total = UNKNOWN
                if total != 0.0:
                    target[row] = total
                    continue
                for v in range(self.variables):
                    at = self.start[v]
                    for k in range(self.scope_start[v], self.scope_start[v + 1]):
                        at += codes[row, self.scope[k]] * self.stride[k]
                    total += self.logs[at]
                target[row] = total


@cython.cclass
class Findings:
    """What is known of the variables, and which tables a question needs.

    observed     the code that was seen, or -1
    weighed      whether each value has a likelihood instead
    wanted       whether a variable's table is needed
    held         the code at which a pass holds a variable: the observed one; 0 if no table needed holds it; or -1
    """

    def __init__(self, conditionals: Conditionals):
        n: cython.Py_ssize_t = conditionals.variables
        self.conditionals = conditionals
        self.observed = np.full(n, -1, np.int32)
        self.weighed = np.zeros(n, np.int32)
        self.held = np.full(n, -1, np.int32)
        self.wanted = np.ones(n, np.int32)
        self.likelihood = np.ones(conditionals.value_start[n])
        self.least = np.ones(n)
        self.zeros = np.zeros(n, np.int32)
        self.log_scale = 0.0
        self.claimed = False
        self.asked = np.zeros(n, np.int32)
        self.reached = np.zeros(n, np.int32)
        self.from_child = np.zeros(n, np.int32)
        self.from_parent = np.zeros(n, np.int32)
        self.passed_on = np.zeros(n, np.int32)
        self.waiting = np.zeros(
            2 * n, np.longlong
        )  # a variable waits at most once for a visit from either side

    @cython.ccall
    def claim(self) -> cython.bint:
        """Begin a question, and forget what the last one was about; whether none is being answered already."""
        if self.claimed:
            return False
        self.claimed = True
        self.forget()
        return True

    @cython.ccall
    def release(self):
        self.claimed = False

    @cython.ccall
    def forget(self):
        """Nothing is known any more."""
        v: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.observed[v] = -1
            self.weighed[v] = False
        self.log_scale = 0.0

    @cython.ccall
    def observe(self, variable: cython.Py_ssize_t, code: cython.int):
        self.observed[variable] = code

    @cython.ccall
    def weigh(self, variable: cython.Py_ssize_t, likelihood: cython.const[cython.double][::1]):
        """Give each value a likelihood, finite and at least 0, one of them positive. They are kept relative to the
        largest.
        """
        start: cython.Py_ssize_t = self.conditionals.value_start[variable]
        k: cython.Py_ssize_t
        most: cython.double = 0.0
        share: cython.double
        for k in range(likelihood.shape[0]):
            most = max(most, likelihood[k])
        self.least[variable] = 1.0
        self.zeros[variable] = False
        for k in range(likelihood.shape[0]):
            share = likelihood[k] / most
            self.likelihood[start + k] = share
            if share <= 0.0:
                self.zeros[variable] = True
            elif share < self.least[variable]:
                self.least[variable] = share
        self.weighed[variable] = True
        self.log_scale += log(most)

    @cython.ccall
    def look_at_all(self):
        """Ask for everything: every table is needed."""
        v: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.wanted[v] = True
            self.held[v] = self.observed[v]

    @cython.ccall
    def look_at_evidence(self):
        """Ask how probable it is what is known: the tables of what is known and of all above it are needed."""
        self.clear_marks()
        self.want_above()
        self.hold()

    @cython.ccall
    def look_at(self, targets: cython.longlong[::1]):
        """Ask for some variables given what is known: needed is what Shachter's ball reaches (Bayes-Ball, 1998).

        What it does not reach only says how probable the rest of the evidence is; that matters where this could be
        nought, so there it is looked at as well.
        """
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        self.clear_marks()
        for k in range(targets.shape[0]):
            self.asked[targets[k]] = True
        self.roll(targets)
        self.hold()
        for v in range(self.observed.shape[0]):
            self.reached[v] = self.wanted[v]
        self.want_above()
        for v in range(self.observed.shape[0]):
            if self.wanted[v]:
                if not self.reached[v] and self.conditionals.zeros[v]:
                    break
                if self.weighed[v] and self.zeros[v] and self.held[v] >= 0:
                    break
        else:
            for v in range(self.observed.shape[0]):
                self.wanted[v] = self.reached[v]
        self.hold()

    @cython.cfunc
    @cython.exceptval(check=False)
    def clear_marks(self) -> cython.void:
        v: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.wanted[v] = False
            self.asked[v] = False
            self.from_child[v] = False
            self.from_parent[v] = False
            self.passed_on[v] = False

    @cython.cfunc
    @cython.exceptval(check=False)
    def want_above(self) -> cython.void:
        """Want the tables of what is asked, of what is known, and of all above these."""
        conditionals: Conditionals = self.conditionals
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        u: cython.Py_ssize_t
        ahead: cython.Py_ssize_t = 0
        for v in range(self.observed.shape[0]):
            self.wanted[v] = self.asked[v] or self.observed[v] >= 0 or self.weighed[v]
            if self.wanted[v]:
                self.waiting[ahead] = v
                ahead += 1
        while ahead > 0:
            ahead -= 1
            v = self.waiting[ahead]
            for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1] - 1):
                u = conditionals.scope[k]
                if not self.wanted[u]:
                    self.wanted[u] = True
                    self.waiting[ahead] = u
                    ahead += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def roll(self, targets: cython.longlong[::1]) -> cython.void:
        """Let the ball roll from targets that are not observed, and want the tables that it calls for."""
        conditionals: Conditionals = self.conditionals
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        u: cython.Py_ssize_t
        goes_up: cython.bint
        ahead: cython.Py_ssize_t = 0
        # A visit from a child is 2 v, one from a parent 2 v + 1.
        for k in range(targets.shape[0]):
            self.from_child[targets[k]] = True
            self.waiting[ahead] = 2 * targets[k]
            ahead += 1
        while ahead > 0:
            ahead -= 1
            v = self.waiting[ahead] >> 1
            if self.waiting[ahead] & 1:
                # Likelihoods are an observed child of its own, which throws the ball back up.
                goes_up = self.observed[v] >= 0 or self.weighed[v]
            else:
                goes_up = self.observed[v] < 0
            if goes_up and not self.wanted[v]:
                self.wanted[v] = True
                for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1] - 1):
                    u = conditionals.scope[k]
                    if not self.from_child[u]:
                        self.from_child[u] = True
                        self.waiting[ahead] = 2 * u
                        ahead += 1
            if self.observed[v] < 0 and not self.passed_on[v]:
                self.passed_on[v] = True
                for k in range(conditionals.child_start[v], conditionals.child_start[v + 1]):
                    u = conditionals.child[k]
                    if not self.from_parent[u]:
                        self.from_parent[u] = True
                        self.waiting[ahead] = 2 * u + 1
                        ahead += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def hold(self) -> cython.void:
        """Leave free what is asked or held by a table that is wanted, and not observed."""
        conditionals: Conditionals = self.conditionals
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.held[v] = self.observed[v]
            if self.held[v] < 0 and not self.asked[v]:
                self.held[v] = 0
        for v in range(self.observed.shape[0]):
            if self.wanted[v]:
                for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1]):
                    if self.observed[conditionals.scope[k]] < 0:
                        self.held[conditionals.scope[k]] = -1
