"""Evidence about the variables of a network, and which tables a question needs given that evidence."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

if not cython.compiled:
    from stream_bayes.core.inference._conditionals import Conditionals


@cython.cclass
class Findings:
    """Evidence about each variable, and marks on the tables that the current question needs.

    observed         the observed code, or -1
    has_likelihood   1 for soft evidence: each value has a likelihood
    needed           1 if the variable's table is needed
    fixed            the code at which a pass fixes a variable: the observed code; 0 if no needed table contains
                     the variable; -1 if it is free
    """

    def __init__(self, conditionals: Conditionals):
        n: cython.Py_ssize_t = conditionals.variables
        self.conditionals = conditionals
        self.observed = np.full(n, -1, np.int32)
        self.has_likelihood = np.zeros(n, np.int32)
        self.fixed = np.full(n, -1, np.int32)
        self.needed = np.ones(n, np.int32)
        self.likelihood = np.ones(conditionals.value_start[n])
        self.least = np.ones(n)
        self.zeros = np.zeros(n, np.int32)
        self.log_scale = 0.0
        self.claimed = False
        self.is_target = np.zeros(n, np.int32)
        self.reached = np.zeros(n, np.int32)
        self.from_child = np.zeros(n, np.int32)
        self.from_parent = np.zeros(n, np.int32)
        self.passed_on = np.zeros(n, np.int32)
        # A variable waits at most once for a visit from a child, and once for a visit from a parent.
        self.waiting = np.zeros(2 * n, np.longlong)

    @cython.ccall
    def claim(self) -> cython.bint:
        """Begin a question without evidence; return False if another one is being answered."""
        if self.claimed:
            return False
        self.claimed = True
        self.clear()
        return True

    @cython.ccall
    def release(self):
        self.claimed = False

    @cython.ccall
    def clear(self):
        """Remove all evidence."""
        for v in range(self.observed.shape[0]):
            self.observed[v] = -1
            self.has_likelihood[v] = False
        self.log_scale = 0.0

    @cython.ccall
    def observe(self, variable: cython.Py_ssize_t, code: cython.int):
        self.observed[variable] = code

    @cython.ccall
    def set_likelihood(self, variable: cython.Py_ssize_t, likelihood: cython.const[cython.double][::1]):
        """Give each value a likelihood: finite, at least 0, one of them positive. Stored relative to the largest."""
        start: cython.Py_ssize_t = self.conditionals.value_start[variable]
        most: cython.double = 0.0
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
        self.has_likelihood[variable] = True
        self.log_scale += log(most)

    @cython.ccall
    def need_all(self):
        """Mark every table as needed."""
        for v in range(self.observed.shape[0]):
            self.needed[v] = True
            self.fixed[v] = self.observed[v]

    @cython.ccall
    def need_for_evidence(self):
        """Mark the tables that the probability of the evidence needs: those of observed variables and
        their ancestors.
        """
        self.clear_marks()
        self.need_ancestors()
        self.fix_codes()

    @cython.ccall
    def need_for(self, targets: cython.longlong[::1]):
        """Mark the tables that P(targets | evidence) needs: those that Shachter's Bayes-Ball (1998) reaches.

        The rest of the evidence only scales the answer. It matters if its probability could be 0, so in that case the
        tables of its ancestors are marked as well.
        """
        self.clear_marks()
        for k in range(targets.shape[0]):
            self.is_target[targets[k]] = True
        self.roll_ball(targets)
        self.fix_codes()
        for v in range(self.observed.shape[0]):
            self.reached[v] = self.needed[v]
        self.need_ancestors()
        for v in range(self.observed.shape[0]):
            if self.needed[v]:
                if not self.reached[v] and self.conditionals.zeros[v]:
                    break
                if self.has_likelihood[v] and self.zeros[v] and self.fixed[v] >= 0:
                    break
        else:
            for v in range(self.observed.shape[0]):
                self.needed[v] = self.reached[v]
        self.fix_codes()

    @cython.cfunc
    @cython.exceptval(check=False)
    def clear_marks(self) -> cython.void:
        for v in range(self.observed.shape[0]):
            self.needed[v] = False
            self.is_target[v] = False
            self.from_child[v] = False
            self.from_parent[v] = False
            self.passed_on[v] = False

    @cython.cfunc
    @cython.exceptval(check=False)
    def need_ancestors(self) -> cython.void:
        """Mark the tables of targets, of observed variables, and of all their ancestors."""
        conditionals: Conditionals = self.conditionals
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        ahead: cython.Py_ssize_t = 0
        for v in range(self.observed.shape[0]):
            self.needed[v] = self.is_target[v] or self.observed[v] >= 0 or self.has_likelihood[v]
            if self.needed[v]:
                self.waiting[ahead] = v
                ahead += 1
        while ahead > 0:
            ahead -= 1
            v = self.waiting[ahead]
            for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1] - 1):
                u: cython.Py_ssize_t = conditionals.scope[k]
                if not self.needed[u]:
                    self.needed[u] = True
                    self.waiting[ahead] = u
                    ahead += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def roll_ball(self, targets: cython.longlong[::1]) -> cython.void:
        """Roll the ball from targets that are not observed, and mark the tables that it requires."""
        conditionals: Conditionals = self.conditionals
        k: cython.Py_ssize_t
        ahead: cython.Py_ssize_t = 0
        # A visit from a child is 2 v, one from a parent 2 v + 1.
        for k in range(targets.shape[0]):
            self.from_child[targets[k]] = True
            self.waiting[ahead] = 2 * targets[k]
            ahead += 1
        while ahead > 0:
            ahead -= 1
            v: cython.Py_ssize_t = self.waiting[ahead] >> 1
            if self.waiting[ahead] & 1:
                # Soft evidence acts as an observed child, which bounces the ball back up.
                goes_up: cython.bint = self.observed[v] >= 0 or self.has_likelihood[v]
            else:
                goes_up = self.observed[v] < 0
            if goes_up and not self.needed[v]:
                self.needed[v] = True
                for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1] - 1):
                    u: cython.Py_ssize_t = conditionals.scope[k]
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
    def fix_codes(self) -> cython.void:
        """Fix observed variables at their codes; leave targets and members of needed tables free."""
        conditionals: Conditionals = self.conditionals
        k: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.fixed[v] = self.observed[v]
            if self.fixed[v] < 0 and not self.is_target[v]:
                self.fixed[v] = 0
        for v in range(self.observed.shape[0]):
            if self.needed[v]:
                for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1]):
                    if self.observed[conditionals.scope[k]] < 0:
                        self.fixed[conditionals.scope[k]] = -1
