"""Evidence on the variables of a network, and the tables that a question needs because of it."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

if not cython.compiled:
    from stream_bayes.core.inference._conditionals import Conditionals


@cython.cclass
class Findings:
    """What is known of the variables, and which tables a question needs.

    observed     the code that was seen, or -1
    has_likelihood      whether each value has a likelihood instead
    needed       whether a variable's table is needed
    held         the code at which a pass holds a variable: the observed one; 0 if no table needed holds it; or -1
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
        self.clear()
        return True

    @cython.ccall
    def release(self):
        self.claimed = False

    @cython.ccall
    def clear(self):
        """Nothing is known any more."""
        v: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.observed[v] = -1
            self.has_likelihood[v] = False
        self.log_scale = 0.0

    @cython.ccall
    def observe(self, variable: cython.Py_ssize_t, code: cython.int):
        self.observed[variable] = code

    @cython.ccall
    def set_likelihood(self, variable: cython.Py_ssize_t, likelihood: cython.const[cython.double][::1]):
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
        self.has_likelihood[variable] = True
        self.log_scale += log(most)

    @cython.ccall
    def need_all(self):
        """Ask for everything: every table is needed."""
        v: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.needed[v] = True
            self.fixed[v] = self.observed[v]

    @cython.ccall
    def need_for_evidence(self):
        """Ask how probable it is what is known: the tables of what is known and of all above it are needed."""
        self.clear_marks()
        self.need_ancestors()
        self.fix_codes()

    @cython.ccall
    def need_for(self, targets: cython.longlong[::1]):
        """Ask for some variables given what is known: needed is what Shachter's ball reaches (Bayes-Ball, 1998).

        What it does not reach only says how probable the rest of the evidence is; that matters where this could be
        nought, so there it is looked at as well.
        """
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        self.clear_marks()
        for k in range(targets.shape[0]):
            self.asked[targets[k]] = True
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
        v: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.needed[v] = False
            self.asked[v] = False
            self.from_child[v] = False
            self.from_parent[v] = False
            self.passed_on[v] = False

    @cython.cfunc
    @cython.exceptval(check=False)
    def need_ancestors(self) -> cython.void:
        """Want the tables of what is asked, of what is known, and of all above these."""
        conditionals: Conditionals = self.conditionals
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        u: cython.Py_ssize_t
        ahead: cython.Py_ssize_t = 0
        for v in range(self.observed.shape[0]):
            self.needed[v] = self.asked[v] or self.observed[v] >= 0 or self.has_likelihood[v]
            if self.needed[v]:
                self.waiting[ahead] = v
                ahead += 1
        while ahead > 0:
            ahead -= 1
            v = self.waiting[ahead]
            for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1] - 1):
                u = conditionals.scope[k]
                if not self.needed[u]:
                    self.needed[u] = True
                    self.waiting[ahead] = u
                    ahead += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def roll_ball(self, targets: cython.longlong[::1]) -> cython.void:
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
                goes_up = self.observed[v] >= 0 or self.has_likelihood[v]
            else:
                goes_up = self.observed[v] < 0
            if goes_up and not self.needed[v]:
                self.needed[v] = True
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
    def fix_codes(self) -> cython.void:
        """Leave free what is asked or held by a table that is needed, and not observed."""
        conditionals: Conditionals = self.conditionals
        k: cython.Py_ssize_t
        v: cython.Py_ssize_t
        for v in range(self.observed.shape[0]):
            self.fixed[v] = self.observed[v]
            if self.fixed[v] < 0 and not self.asked[v]:
                self.fixed[v] = 0
        for v in range(self.observed.shape[0]):
            if self.needed[v]:
                for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1]):
                    if self.observed[conditionals.scope[k]] < 0:
                        self.fixed[conditionals.scope[k]] = -1
