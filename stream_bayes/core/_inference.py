"""Exact answers from a tree of cliques: messages go in to the root, and out again where they are needed.

Each clique has a table, the product of what is assigned to it and of its children's messages; its message is that table
with the variables summed out that its parent lacks. Variables are held at their codes where they were observed, or
where no table needed holds them: such an axis has one cell, so that evidence makes tables small.

    cells     table of clique 0 | ... | message of clique 0 | ... | room for one more message
              axes ascend; those that are held are left out, so the length of each part depends on what is known

Powers of two are taken out of messages, and counted. Products of what is left could still fall below what a float can
hold. Therefore a lower bound of the smallest positive cell goes along with each table; where it gets too low the table
is looked at, and if that does not help `inward` says LOST. Passes in logarithms, which never are, can answer then.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log

if not cython.compiled:
    from stream_bayes.core._conditionals import log_of

FINE = 0
IMPOSSIBLE = 1  # what is known cannot be
LOST = 2  # something fell below what a float can hold

NEVER = cython.declare(cython.double, float("-inf"))
FLOOR = cython.declare(cython.double, 2.0**-900)  # the quotient of two sums of such cells is no infinity
LOW = cython.declare(cython.double, 2.0**-32)  # the largest cell of a message lies between this and 1
HIGH = cython.declare(cython.double, 2.0**32)
LOG_2 = cython.declare(cython.double, 0.6931471805599453)

# What is done to the cells of a clique with those of a table or message.
PUT = cython.declare(cython.int, 0)
MULTIPLY = cython.declare(cython.int, 1)
ADD = cython.declare(cython.int, 2)
SUBTRACT = cython.declare(cython.int, 3)


@cython.cclass
class Propagation:
    """The passes over one tree.

    Parameters
    ----------
    findings
        What is known, and the tables.
    plan
        An object whose attributes are arrays of integers; `x_start` says where the part of each clique in `x` begins:
        parent; axis, the variables of each clique; family, whose tables are assigned to it, with family_axis, the axes
        of the variables of each table in the clique, -1 for one that is always held; weighed, variables whose
        likelihoods are, with weighed_axis; child; separator, what its message is about, with own_axis and parent_axis;
        place and message_place, where in the cells its table and its message begin; spare_place.
    """

    def __init__(self, findings, plan):
        self.findings = findings
        conditionals = findings.conditionals
        self.size, self.start, self.stride = conditionals.size, conditionals.start, conditionals.stride
        self.scope_start, self.scope = conditionals.scope_start, conditionals.scope
        self.value_start = conditionals.value_start
        self.tables, self.least_of_table = conditionals.cells, conditionals.least
        self.held, self.wanted, self.weighed_now = findings.held, findings.wanted, findings.weighed
        self.likelihood, self.least_likelihood = findings.likelihood, findings.least
        self.cliques = len(plan.parent)
        self.parent = plan.parent
        self.axis_start, self.axis = plan.axis_start, plan.axis
        self.family_start, self.family, self.family_axis = plan.family_start, plan.family, plan.family_axis
        self.family_axis_start = plan.family_axis_start
        self.weighed_start, self.weighed, self.weighed_axis = plan.weighed_start, plan.weighed, plan.weighed_axis
        self.child_start, self.child = plan.child_start, plan.child
        self.separator_start, self.separator = plan.separator_start, plan.separator
        self.own_axis, self.parent_axis = plan.own_axis, plan.parent_axis
        self.place, self.message_place, self.spare_place = plan.place, plan.message_place, plan.spare_place
        most = int(np.diff(plan.axis_start).max()) + 1
        self.slot = np.zeros(most, np.longlong)
        self.length, self.step = np.ones(most, np.longlong), np.zeros(most, np.longlong)
        self.short_length, self.short_step = np.ones(most, np.longlong), np.zeros(most, np.longlong)
        self.count = np.zeros(most, np.longlong)
        self.free = np.zeros(most, np.longlong)
        self.least = np.ones(self.cliques)
        self.least_message = np.ones(self.cliques)
        self.logs = np.zeros(0)
        self.log_likelihood = np.zeros(0)

    # -- passes ----------------------------------------------------------------------------------------------------

    def inward(self, cells: cython.double[::1]):
        """Send messages to the root; `cells` must have room for the plan. FINE, IMPOSSIBLE or LOST."""
        s: cython.Py_ssize_t
        self.cells = cells
        with cython.nogil:
            self.exponent = 0
            self.lost = False
            for s in range(self.cliques):
                if not self.send_inward(s):
                    break
        return self.outcome()

    def outward(self):
        """Send messages from the root to all cliques; after `inward`, with nothing changed."""
        s: cython.Py_ssize_t
        with cython.nogil:
            for s in range(self.cliques - 2, -1, -1):
                self.send_outward(s)
        return self.outcome()

    def outward_to(self, clique: cython.Py_ssize_t):
        """Send messages from the root to one clique only."""
        s: cython.Py_ssize_t = clique
        n: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        with cython.nogil:
            while self.parent[s] >= 0:
                n += 1
                s = self.parent[s]
            while n > 0:  # the way is found anew for each of its steps: it is short
                s = clique
                for k in range(n - 1):
                    s = self.parent[s]
                self.send_outward(s)
                n -= 1
        return self.outcome()

    def inward_logs(self, cells: cython.double[::1], best: cython.bint):
        """As `inward`, in logarithms: no product is ever lost. `best` takes the largest where else is summed."""
        s: cython.Py_ssize_t
        k: cython.Py_ssize_t
        self.findings.conditionals.take_logs()
        self.logs = self.findings.conditionals.logs
        if self.log_likelihood.shape[0] != self.likelihood.shape[0]:
            self.log_likelihood = np.zeros(self.likelihood.shape[0])
        for k in range(self.likelihood.shape[0]):
            self.log_likelihood[k] = log_of(self.likelihood[k])
        self.cells = cells
        with cython.nogil:
            for s in range(self.cliques):
                self.send_logs(s, best)
        return IMPOSSIBLE if self.best_at_root() == NEVER else FINE

    def trace_back(self, chosen: cython.int[::1]):
        """After `inward_logs` for the best: write the code of each variable in the best of all rows. Of equal ones it is
        the first in the table of the root, then in the tables below.
        """
        s: cython.Py_ssize_t
        v: cython.Py_ssize_t
        with cython.nogil:
            for v in range(chosen.shape[0]):
                chosen[v] = self.held[v]
            for s in range(self.cliques - 1, -1, -1):
                self.choose(s, chosen)

    def log_total(self):
        """The logarithm of the sum over everything, after `inward`."""
        root: cython.Py_ssize_t = self.cliques - 1
        k: cython.Py_ssize_t
        total: cython.double = 0.0
        for k in range(self.message_size(root)):
            total += self.cells[self.message_place[root] + k]
        return log_of(total) + self.exponent * LOG_2

    def message(self, target: cython.double[::1]):
        """Write the root's message as shares of 1, after `inward`."""
        k: cython.Py_ssize_t
        place: cython.Py_ssize_t = self.message_place[self.cliques - 1]
        for k in range(target.shape[0]):
            target[k] = self.cells[place + k]
        shares(target)

    def message_of_logs(self, target: cython.double[::1]):
        """The same after `inward_logs`; returns the logarithm of the sum."""
        k: cython.Py_ssize_t
        place: cython.Py_ssize_t = self.message_place[self.cliques - 1]
        top: cython.double = self.best_at_root()
        total: cython.double = 0.0
        for k in range(target.shape[0]):
            target[k] = exp(self.cells[place + k] - top) if top > NEVER else 0.0
            total += target[k]
        shares(target)
        return top + log_of(total)

    def read(self, clique: cython.Py_ssize_t, variables: cython.longlong[::1], target: cython.double[::1]):
        """Write the shares of the combinations of free variables of a clique, ascending; after messages came to it."""
        k: cython.Py_ssize_t
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
        self.sum_into(self.place[clique], target, 0)
        shares(target)

    def add_families(self, target: cython.double[::1], weight: cython.double):
        """Add `weight` times P(family | what is known) to the cells of the tables; after `outward` from everything."""
        s: cython.Py_ssize_t
        k: cython.Py_ssize_t
        total: cython.double
        for s in range(self.cliques):
            self.open(s)
            total = 0.0
            for k in range(self.place[s], self.place[s] + self.total):
                total += self.cells[k]
            for k in range(self.place[s], self.place[s] + self.total):
                self.cells[k] *= weight / total
            for k in range(self.family_start[s], self.family_start[s + 1]):
                self.sum_into(self.place[s], target, self.table_steps(k))

    # -- one clique --------------------------------------------------------------------------------------------------

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
    def open(self, s: cython.Py_ssize_t) -> cython.void:
        """Turn to a clique: number its free axes."""
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        first: cython.Py_ssize_t = self.axis_start[s]
        self.axes = 0
        self.total = 1
        for k in range(first, self.axis_start[s + 1]):
            v = self.axis[k]
            if self.held[v] >= 0 or self.size[v] == 1:
                self.slot[k - first] = -1
            else:
                self.slot[k - first] = self.axes
                self.length[self.axes] = self.size[v]
                self.axes += 1
                self.total *= self.size[v]

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
            if self.held[self.scope[scope + i]] >= 0:
                base += self.held[self.scope[scope + i]] * self.stride[scope + i]
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
    def send_inward(self, s: cython.Py_ssize_t) -> cython.bint:
        """Make a clique's table and its message; whether anything is left of it."""
        k: cython.Py_ssize_t
        c: cython.Py_ssize_t
        base: cython.Py_ssize_t
        place: cython.Py_ssize_t = self.place[s]
        self.open(s)
        self.bound = 1.0
        self.deed = PUT
        for k in range(self.family_start[s], self.family_start[s + 1]):
            if self.wanted[self.family[k]]:
                base = self.table_steps(k)
                self.multiply(self.tables, base, place, self.least_of_table[self.family[k]])
        for k in range(self.weighed_start[s], self.weighed_start[s + 1]):
            c = self.weighed[k]
            if self.weighed_now[c] and self.held[c] < 0 and self.slot[self.weighed_axis[k]] >= 0:
                for base in range(self.axes):
                    self.step[base] = 0
                self.step[self.slot[self.weighed_axis[k]]] = 1
                self.multiply(self.likelihood, self.value_start[c], place, self.least_likelihood[c])
        for k in range(self.child_start[s], self.child_start[s + 1]):
            c = self.child[k]
            self.message_steps(c, self.parent_axis)
            self.multiply(self.cells, self.message_place[c], place, self.least_message[c])
        if self.deed == PUT:
            for k in range(place, place + self.total):
                self.cells[k] = 1.0
        self.least[s] = self.bound
        base = self.message_steps(s, self.own_axis)
        for k in range(self.message_place[s], self.message_place[s] + base):
            self.cells[k] = 0.0
        self.sum_into(place, self.cells, self.message_place[s])
        self.least_message[s] = self.scale(self.message_place[s], base)
        self.nothing = self.least_message[s] == 0.0
        return not self.nothing

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def send_outward(self, s: cython.Py_ssize_t) -> cython.void:
        """Multiply a clique's table with what its parent knows beyond its own message."""
        k: cython.Py_ssize_t
        spare: cython.Py_ssize_t = self.spare_place
        message: cython.Py_ssize_t = self.message_place[s]
        size: cython.Py_ssize_t
        self.open(self.parent[s])
        size = self.message_steps(s, self.parent_axis)
        for k in range(size):
            self.cells[spare + k] = 0.0
        self.sum_into(self.place[self.parent[s]], self.cells, spare)
        self.scale(spare, size)
        for k in range(size):
            if self.cells[message + k] > 0.0:
                self.cells[spare + k] /= self.cells[message + k]
        self.open(s)
        self.message_steps(s, self.own_axis)
        self.bound = self.least[s]
        self.deed = MULTIPLY
        self.multiply(self.cells, spare, self.place[s], self.scale(spare, size))
        self.least[s] = self.bound

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def multiply(
        self,
        source: cython.double[::1],
        base: cython.Py_ssize_t,
        place: cython.Py_ssize_t,
        least: cython.double,
    ) -> cython.void:
        """Multiply the open clique's table with another one along the steps set, and keep the bound."""
        if self.bound * least < FLOOR:
            if self.deed == MULTIPLY:
                self.bound = self.scale(place, self.total)
            if self.bound * least < FLOOR and self.bound > 0.0:
                self.lost = True
        self.combine(source, base, place, self.deed)
        self.bound *= least
        self.deed = MULTIPLY

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def scale(self, place: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.double:
        """Take a power of two out of some cells, such that the largest is at most 1; return the smallest positive one, 0
        if there is none.
        """
        k: cython.Py_ssize_t
        value: cython.double
        top: cython.double = 0.0
        least: cython.double = 2.0
        factor: cython.double = 1.0
        for k in range(place, place + size):
            top = max(top, self.cells[k])
        if top == 0.0:
            return 0.0
        while top * factor > 1.0:
            factor *= LOW
            self.exponent += 32
        while top * factor < LOW:
            factor *= HIGH
            self.exponent -= 32
        for k in range(place, place + size):
            value = self.cells[k] * factor
            self.cells[k] = value
            if 0.0 < value < least:
                least = value
        return least

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def send_logs(self, s: cython.Py_ssize_t, best: cython.bint) -> cython.void:
        """Make a clique's table and its message in logarithms."""
        k: cython.Py_ssize_t
        c: cython.Py_ssize_t
        base: cython.Py_ssize_t
        place: cython.Py_ssize_t = self.place[s]
        message: cython.Py_ssize_t = self.message_place[s]
        spare: cython.Py_ssize_t = self.spare_place
        self.open(s)
        for k in range(place, place + self.total):
            self.cells[k] = 0.0
        for k in range(self.family_start[s], self.family_start[s + 1]):
            if self.wanted[self.family[k]]:
                base = self.table_steps(k)
                self.combine(self.logs, base, place, ADD)
        for k in range(self.weighed_start[s], self.weighed_start[s + 1]):
            c = self.weighed[k]
            if self.weighed_now[c] and self.held[c] < 0 and self.slot[self.weighed_axis[k]] >= 0:
                for base in range(self.axes):
                    self.step[base] = 0
                self.step[self.slot[self.weighed_axis[k]]] = 1
                self.combine(self.log_likelihood, self.value_start[c], place, ADD)
        for k in range(self.child_start[s], self.child_start[s + 1]):
            self.message_steps(self.child[k], self.parent_axis)
            self.combine(self.cells, self.message_place[self.child[k]], place, ADD)
        base = self.message_steps(s, self.own_axis)
        for k in range(message, message + base):
            self.cells[k] = NEVER
        self.best_into(place, message)
        if best:
            return
        for k in range(base):
            self.cells[spare + k] = self.cells[message + k] if self.cells[message + k] > NEVER else 0.0
            self.cells[message + k] = 0.0
        self.combine(self.cells, spare, place, SUBTRACT)
        for k in range(place, place + self.total):
            self.cells[k] = exp(self.cells[k])
        self.sum_into(place, self.cells, message)
        for k in range(base):
            self.cells[message + k] = log_of(self.cells[message + k]) + self.cells[spare + k]

    @cython.cfunc
    def best_at_root(self) -> cython.double:
        root: cython.Py_ssize_t = self.cliques - 1
        k: cython.Py_ssize_t
        top: cython.double = NEVER
        for k in range(self.message_size(root)):
            top = max(top, self.cells[self.message_place[root] + k])
        return top

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose(self, s: cython.Py_ssize_t, chosen: cython.int[::1]) -> cython.void:
        """Choose the codes of a clique's variables that are not chosen yet: the first of the largest cells."""
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = 0
        slot: cython.Py_ssize_t
        run: cython.Py_ssize_t
        at: cython.Py_ssize_t
        first: cython.Py_ssize_t = self.axis_start[s]
        self.open(s)
        at = self.place[s]
        run = self.total
        for k in range(first, self.axis_start[s + 1]):
            slot = self.slot[k - first]
            if slot < 0:
                if chosen[self.axis[k]] < 0:
                    chosen[self.axis[k]] = 0  # it has no other value
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

    # -- cells -------------------------------------------------------------------------------------------------------

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
    def combine(
        self, source: cython.double[::1], at: cython.Py_ssize_t, place: cython.Py_ssize_t, deed: cython.int
    ) -> cython.void:
        """Go through the open clique's table, and beside it along the steps set through another one."""
        last: cython.Py_ssize_t = self.shorten() - 1
        length: cython.Py_ssize_t = self.short_length[last]
        step: cython.Py_ssize_t = self.short_step[last]
        end: cython.Py_ssize_t = place + self.total
        k: cython.Py_ssize_t
        while place < end:
            if deed == MULTIPLY:
                if step == 1:
                    for k in range(length):
                        self.cells[place + k] *= source[at + k]
                else:
                    for k in range(length):
                        self.cells[place + k] *= source[at + k * step]
            elif deed == PUT:
                for k in range(length):
                    self.cells[place + k] = source[at + k * step]
            elif deed == ADD:
                for k in range(length):
                    self.cells[place + k] += source[at + k * step]
            else:
                for k in range(length):
                    self.cells[place + k] -= source[at + k * step]
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
@cython.exceptval(check=False)
def shares(cells: cython.double[::1]) -> cython.void:
    """Divide cells by their sum, where it is positive."""
    k: cython.Py_ssize_t
    total: cython.double = 0.0
    for k in range(cells.shape[0]):
        total += cells[k]
    if total > 0.0:
        for k in range(cells.shape[0]):
            cells[k] /= total
