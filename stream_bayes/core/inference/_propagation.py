"""Message passing over a junction tree: inward to the root, then outward where needed.

A clique's table is the product of the tables assigned to it and of its children's messages. Its message is that table
with the variables summed out that its parent lacks.

Messages are scaled by powers of two, which are counted. Products could still underflow, so each table carries a lower
bound of its smallest positive cell. When the bound gets too low, the table is rescaled and the bound computed anew; if
that does not help, `inward` returns LOST. Passes in logarithms are slower and never underflow.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp

if not cython.compiled:
    from stream_bayes.core.inference._cliques import CliqueCells, normalise
    from stream_bayes.core.inference._conditionals import Conditionals, log_of

FINE = 0
IMPOSSIBLE = 1  # the evidence has probability 0
LOST = 2  # a product underflowed

NEVER = cython.declare(cython.double, float("-inf"))
FLOOR = cython.declare(cython.double, 2.0**-900)  # the quotient of two sums of such cells is no infinity
LOG_2 = cython.declare(cython.double, 0.6931471805599453)


@cython.cclass
class Propagation(CliqueCells):
    """The passes over one tree; the parameters are those of `CliqueCells`."""

    def __init__(self, findings, plan):
        CliqueCells.__init__(self, findings, plan)
        conditionals: Conditionals = findings.conditionals
        self.value_start = conditionals.value_start
        self.tables, self.least_of_table = conditionals.cells, conditionals.least
        self.needed, self.has_likelihood = findings.needed, findings.has_likelihood
        self.likelihood, self.least_likelihood = findings.likelihood, findings.least
        self.soft_start, self.soft, self.soft_axis = (
            plan.soft_start,
            plan.soft,
            plan.soft_axis,
        )
        self.child_start, self.child = plan.child_start, plan.child
        self.least = np.ones(self.cliques)
        self.least_message = np.ones(self.cliques)
        self.way = np.zeros(self.cliques, np.longlong)
        self.top_offset = plan.top_offset
        self.logs = np.zeros(0)
        self.log_likelihood = np.zeros(0)

    # -- passes ----------------------------------------------------------------------------------------------------

    def inward(self, cells: cython.double[::1]):
        """Send messages to the root, in cells with room for the plan; return FINE, IMPOSSIBLE or LOST."""
        self.cells = cells
        self.in_logs = False
        with cython.nogil:
            self.exponent = 0
            self.lost = self.nothing = False
            for s in range(self.cliques):
                if not self.send_inward(s):
                    break
        return self.outcome()

    def inward_logs(self, cells: cython.double[::1]):
        """Send messages to the root in logarithms, which cannot underflow."""
        self.begin_logs(cells)
        with cython.nogil:
            for s in range(self.cliques):
                self.add_logs(s)
                self.sum_logs(self.offset[s], self.message_offset[s], self.message_steps(s, self.own_axis))
        self.nothing = self.best_at_root() == NEVER
        return self.outcome()

    def inward_best(self, cells: cython.double[::1]):
        """Send messages to the root in logarithms, with maxima in place of sums."""
        self.begin_logs(cells)
        with cython.nogil:
            for s in range(self.cliques):
                self.add_logs(s)
                self.best_of(self.offset[s], self.message_offset[s], self.message_steps(s, self.own_axis))
        self.nothing = self.best_at_root() == NEVER
        return self.outcome()

    def outward(self):
        """Send messages from the root to all cliques; call it right after `inward` or `inward_logs`."""
        with cython.nogil:
            for s in range(self.cliques - 2, -1, -1):
                self.send_outward(s)
            if self.in_logs:
                for s in range(self.cliques):
                    self.exponentiate(s)
        return self.outcome()

    def outward_to(self, clique: cython.Py_ssize_t):
        """Send messages from the root to one clique only."""
        s: cython.Py_ssize_t = clique
        n: cython.Py_ssize_t = 0
        with cython.nogil:
            while self.parent[s] >= 0:
                self.way[n] = s
                n += 1
                s = self.parent[s]
            while n > 0:
                n -= 1
                self.send_outward(self.way[n])
            if self.in_logs:
                self.exponentiate(clique)
        return self.outcome()

    def release_cells(self):
        """Release the cells."""
        self.cells = np.zeros(0)

    # -- answers ---------------------------------------------------------------------------------------------------

    def message(self, target: cython.double[::1]):
        """Write the root's message, normalised, and return the logarithm of its sum; call it after a pass inward."""
        offset: cython.Py_ssize_t = self.message_offset[self.cliques - 1]
        top: cython.double = self.best_at_root() if self.in_logs else 0.0
        total: cython.double = 0.0
        for k in range(target.shape[0]):
            target[k] = self.cells[offset + k]
            if self.in_logs:
                target[k] = exp(target[k] - top) if top > NEVER else 0.0
            total += target[k]
        normalise(target)
        return log_of(total) + (top if self.in_logs else self.exponent * LOG_2)

    def trace_back(self, chosen: cython.int[::1]):
        """Write each variable's code in a most probable row; call it after `inward_best`.

        Ties go to the first row in the root's table, then in the tables below it.
        """
        with cython.nogil:
            for v in range(chosen.shape[0]):
                chosen[v] = self.fixed[v]
            for s in range(self.cliques - 1, -1, -1):
                self.choose(s, chosen)

    def read(self, clique: cython.Py_ssize_t, variables: cython.longlong[::1], target: cython.double[::1]):
        """Write the normalised joint table of some free variables of a clique; call it after `outward`
        or `outward_to`.
        """
        at: cython.Py_ssize_t
        run: cython.Py_ssize_t = 1
        self.open(clique)
        for k in range(self.axes):
            self.step[k] = 0
        for k in range(variables.shape[0] - 1, -1, -1):
            for at in range(self.axis_start[clique], self.axis_start[clique + 1]):
                if self.axis[at] == variables[k] and self.slot[at - self.axis_start[clique]] >= 0:
                    self.step[self.slot[at - self.axis_start[clique]]] = run
            run *= self.size[variables[k]]
        for k in range(target.shape[0]):
            target[k] = 0.0
        self.sum_into(self.offset[clique], target, 0)
        normalise(target)

    def add_families(self, target: cython.double[::1], weight: cython.double):
        """Add `weight` times P(family | evidence) to cells laid out as the tables are; call it after `outward`."""
        k: cython.Py_ssize_t
        for s in range(self.cliques):
            self.open(s)
            total = 0.0
            for k in range(self.offset[s], self.offset[s] + self.total):
                total += self.cells[k]
            for k in range(self.offset[s], self.offset[s] + self.total):
                self.cells[k] *= weight / total
            for k in range(self.family_start[s], self.family_start[s + 1]):
                self.sum_into(self.offset[s], target, self.table_steps(k))

    # -- one clique --------------------------------------------------------------------------------------------------

    @cython.cfunc
    def begin_logs(self, cells: cython.double[::1]):
        self.findings.conditionals.update_logs()
        self.logs = self.findings.conditionals.logs
        if self.log_likelihood.shape[0] != self.likelihood.shape[0]:
            self.log_likelihood = np.zeros(self.likelihood.shape[0])
        for k in range(self.likelihood.shape[0]):
            self.log_likelihood[k] = log_of(self.likelihood[k])
        self.cells = cells
        self.in_logs = True
        self.lost = False

    @cython.cfunc
    def outcome(self) -> cython.int:
        if self.lost:
            return LOST
        if self.nothing:
            return IMPOSSIBLE
        return FINE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def likelihood_steps(self, k: cython.Py_ssize_t) -> cython.bint:
        """Set the steps through a variable's likelihoods in the open clique; return False if it has none."""
        v: cython.Py_ssize_t = self.soft[k]
        slot: cython.Py_ssize_t = self.slot[self.soft_axis[k]]
        if slot < 0 or not self.has_likelihood[v]:
            return False
        for i in range(self.axes):
            self.step[i] = 0
        self.step[slot] = 1
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def send_inward(self, s: cython.Py_ssize_t) -> cython.bint:
        """Compute a clique's table and message; return False if every cell is 0."""
        k: cython.Py_ssize_t
        offset: cython.Py_ssize_t = self.offset[s]
        self.open(s)
        self.bound = 1.0
        for k in range(offset, offset + self.total):
            self.cells[k] = 1.0
        for k in range(self.family_start[s], self.family_start[s + 1]):
            if self.needed[self.family[k]]:
                base = self.table_steps(k)
                self.multiply(self.tables, base, offset, self.least_of_table[self.family[k]])
        for k in range(self.soft_start[s], self.soft_start[s + 1]):
            if self.likelihood_steps(k):
                c: cython.Py_ssize_t = self.soft[k]
                self.multiply(self.likelihood, self.value_start[c], offset, self.least_likelihood[c])
        for k in range(self.child_start[s], self.child_start[s + 1]):
            c = self.child[k]
            self.message_steps(c, self.parent_axis)
            self.multiply(self.cells, self.message_offset[c], offset, self.least_message[c])
        self.least[s] = self.bound
        base = self.message_steps(s, self.own_axis)
        for k in range(self.message_offset[s], self.message_offset[s] + base):
            self.cells[k] = 0.0
        self.sum_into(offset, self.cells, self.message_offset[s])
        self.least_message[s] = self.scale(self.message_offset[s], base)
        self.nothing = self.least_message[s] == 0.0
        return not self.nothing

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def send_outward(self, s: cython.Py_ssize_t) -> cython.void:
        """Multiply a clique's table by its parent's table divided by the clique's own message."""
        spare: cython.Py_ssize_t = self.spare_offset
        message: cython.Py_ssize_t = self.message_offset[s]
        self.open(self.parent[s])
        size = self.message_steps(s, self.parent_axis)
        if self.in_logs:
            self.sum_logs(self.offset[self.parent[s]], spare, size)
            for k in range(size):
                if self.cells[message + k] > NEVER:
                    self.cells[spare + k] -= self.cells[message + k]
            self.open(s)
            self.message_steps(s, self.own_axis)
            self.add_along(self.cells, spare, self.offset[s])
            return
        for k in range(size):
            self.cells[spare + k] = 0.0
        self.sum_into(self.offset[self.parent[s]], self.cells, spare)
        self.scale(spare, size)
        for k in range(size):
            if self.cells[message + k] > 0.0:
                self.cells[spare + k] /= self.cells[message + k]
        self.open(s)
        self.message_steps(s, self.own_axis)
        self.bound = self.least[s]
        self.multiply(self.cells, spare, self.offset[s], self.scale(spare, size))
        self.least[s] = self.bound

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def multiply(
        self,
        source: cython.double[::1],
        base: cython.Py_ssize_t,
        offset: cython.Py_ssize_t,
        least: cython.double,
    ) -> cython.void:
        """Multiply the open clique's table by another one along the current steps, and update the bound."""
        if self.bound * least < FLOOR:
            self.bound = self.scale(offset, self.total)
            if self.bound * least < FLOOR and self.bound > 0.0:
                self.lost = True
        self.multiply_along(source, base, offset)
        self.bound = self.bound * least

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_logs(self, s: cython.Py_ssize_t) -> cython.void:
        """Compute a clique's table in logarithms."""
        k: cython.Py_ssize_t
        offset: cython.Py_ssize_t = self.offset[s]
        self.open(s)
        for k in range(offset, offset + self.total):
            self.cells[k] = 0.0
        for k in range(self.family_start[s], self.family_start[s + 1]):
            if self.needed[self.family[k]]:
                base = self.table_steps(k)
                self.add_along(self.logs, base, offset)
        for k in range(self.soft_start[s], self.soft_start[s + 1]):
            if self.likelihood_steps(k):
                self.add_along(self.log_likelihood, self.value_start[self.soft[k]], offset)
        for k in range(self.child_start[s], self.child_start[s + 1]):
            c: cython.Py_ssize_t = self.child[k]
            self.message_steps(c, self.parent_axis)
            self.add_along(self.cells, self.message_offset[c], offset)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def best_of(
        self, offset: cython.Py_ssize_t, at: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.void:
        """Write a message of the largest cells of the open clique along the current steps."""
        for k in range(at, at + size):
            self.cells[k] = NEVER
        self.best_into(offset, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_logs(
        self, offset: cython.Py_ssize_t, at: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> cython.void:
        """Write a message of log-sum-exp of the open clique's cells along the current steps."""
        top: cython.Py_ssize_t = self.top_offset
        self.best_of(offset, at, size)
        for k in range(size):
            self.cells[top + k] = self.cells[at + k] if self.cells[at + k] > NEVER else 0.0
            self.cells[at + k] = 0.0
        self.sum_exp_into(offset, at, top)
        for k in range(size):
            self.cells[at + k] = log_of(self.cells[at + k]) + self.cells[top + k]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def exponentiate(self, s: cython.Py_ssize_t) -> cython.void:
        """Turn a clique's table from logarithms into numbers, scaled so that the largest is 1."""
        k: cython.Py_ssize_t
        top: cython.double = NEVER
        self.open(s)
        for k in range(self.offset[s], self.offset[s] + self.total):
            top = max(top, self.cells[k])
        for k in range(self.offset[s], self.offset[s] + self.total):
            self.cells[k] = exp(self.cells[k] - top)

    @cython.cfunc
    def best_at_root(self) -> cython.double:
        root: cython.Py_ssize_t = self.cliques - 1
        top: cython.double = NEVER
        for k in range(self.message_size(root)):
            top = max(top, self.cells[self.message_offset[root] + k])
        return top

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose(self, s: cython.Py_ssize_t, chosen: cython.int[::1]) -> cython.void:
        """Choose codes for a clique's variables that have none yet: those of the first of its largest cells."""
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = 0
        first: cython.Py_ssize_t = self.axis_start[s]
        self.open(s)
        at: cython.Py_ssize_t = self.offset[s]
        run: cython.Py_ssize_t = self.total
        for k in range(first, self.axis_start[s + 1]):
            slot: cython.Py_ssize_t = self.slot[k - first]
            if slot < 0:
                if chosen[self.axis[k]] < 0:
                    chosen[self.axis[k]] = 0  # its only value
                continue
            run //= self.length[slot]
            if chosen[self.axis[k]] >= 0:
                at += chosen[self.axis[k]] * run
            else:
                self.free[n] = self.axis[k]
                self.step[n] = run
                self.count[n] = 0
                chosen[self.axis[k]] = 0
                n += 1
        top: cython.double = self.cells[at]
        while True:
            k = n - 1
            while k >= 0:
                self.count[k] += 1
                at += self.step[k]
                if self.count[k] < self.size[self.free[k]]:
                    break
                at -= self.step[k] * self.count[k]
                self.count[k] = 0
                k -= 1
            if k < 0:
                break
            if self.cells[at] > top:
                top = self.cells[at]
                for k in range(n):
                    chosen[self.free[k]] = cython.cast(cython.int, self.count[k])
