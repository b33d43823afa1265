"""Rows drawn from a network: forward sampling with likelihood weights, and Gibbs sweeps."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp

if not cython.compiled:
    from stream_bayes.core.inference._conditionals import Conditionals, log_of
    from stream_bayes.core.inference._findings import Findings

NEVER = cython.declare(cython.double, float("-inf"))


@cython.cclass
class Sampler:
    """Draws rows of codes. The caller passes random numbers from [0, 1). `findings` has the evidence, and the tables.
    Variables whose tables are not needed get their observed code, or 0. `order` has all variables, with parents before
    children.
    """

    def __init__(self, findings: Findings, order):
        self.findings = findings
        self.conditionals = findings.conditionals
        self.order = np.array(order, np.longlong)
        self.score = np.zeros(max(np.asarray(self.conditionals.size), default=1))

    def draw(self, chance: cython.double[:, ::1], codes: cython.int[:, ::1], log_weight: cython.double[::1]):
        """Draw rows and the logarithm of each row's weight: the probability of the evidence given the drawn codes."""
        findings: Findings = self.findings
        conditionals: Conditionals = self.conditionals
        row: cython.Py_ssize_t
        k: cython.Py_ssize_t
        with cython.nogil:
            for row in range(codes.shape[0]):
                weight: cython.double = 0.0
                for i in range(self.order.shape[0]):
                    v: cython.Py_ssize_t = self.order[i]
                    code: cython.int = findings.observed[v]
                    if findings.needed[v]:
                        at: cython.Py_ssize_t = conditionals.start[v]
                        for k in range(conditionals.scope_start[v], conditionals.scope_start[v + 1] - 1):
                            at += codes[row, conditionals.scope[k]] * conditionals.stride[k]
                        if code >= 0:
                            weight += log_of(conditionals.cells[at + code])
                        else:
                            code = self.drawn(conditionals.cells, at, conditionals.size[v], chance[row, v])
                            if findings.has_likelihood[v]:
                                weight += log_of(findings.likelihood[conditionals.value_start[v] + code])
                    codes[row, v] = code if code >= 0 else 0
                log_weight[row] = weight

    def sweep(self, chance: cython.double[:, ::1], state: cython.int[::1], codes: cython.int[:, ::1]):
        """Run Gibbs sweeps, each with a row of random numbers: draw each free variable given all others.

        No cell may be zero.
        """
        findings: Findings = self.findings
        conditionals: Conditionals = self.conditionals
        conditionals.update_logs()
        with cython.nogil:
            for row in range(codes.shape[0]):
                for i in range(self.order.shape[0]):
                    v: cython.Py_ssize_t = self.order[i]
                    if findings.needed[v] and findings.observed[v] < 0:
                        self.weigh_values(v, state)
                        state[v] = self.drawn(self.score, 0, conditionals.size[v], chance[row, v])
                for v in range(state.shape[0]):
                    codes[row, v] = state[v]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def weigh_values(self, v: cython.Py_ssize_t, state: cython.int[::1]) -> cython.void:
        """Set the scores to P(value | everything else) for each value of a variable."""
        size: cython.Py_ssize_t = self.conditionals.size[v]
        j: cython.Py_ssize_t
        top: cython.double = NEVER
        total: cython.double = 0.0
        for k in range(size):
            self.score[k] = 0.0
            if self.findings.has_likelihood[v]:
                self.score[k] = log_of(self.findings.likelihood[self.conditionals.value_start[v] + k])
        self.add_table(v, v, state)
        for j in range(self.conditionals.child_start[v], self.conditionals.child_start[v + 1]):
            if self.findings.needed[self.conditionals.child[j]]:
                self.add_table(self.conditionals.child[j], v, state)
        for k in range(size):
            top = max(top, self.score[k])
        for k in range(size):
            self.score[k] = exp(self.score[k] - top)
            total += self.score[k]
        for k in range(size):
            self.score[k] /= total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_table(
        self, family: cython.Py_ssize_t, v: cython.Py_ssize_t, state: cython.int[::1]
    ) -> cython.void:
        """Add to the scores the logarithms of a table's cells along the axis of one variable."""
        at: cython.Py_ssize_t = self.conditionals.start[family]
        step: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        for k in range(self.conditionals.scope_start[family], self.conditionals.scope_start[family + 1]):
            if self.conditionals.scope[k] == v:
                step = self.conditionals.stride[k]
            else:
                at += state[self.conditionals.scope[k]] * self.conditionals.stride[k]
        for k in range(self.conditionals.size[v]):
            self.score[k] += self.conditionals.logs[at + k * step]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def drawn(
        self, cells: cython.double[::1], at: cython.Py_ssize_t, size: cython.Py_ssize_t, chance: cython.double
    ) -> cython.int:
        """Return the code that a random number from [0, 1) selects in a row: never one of probability 0."""
        last: cython.int = 0
        below: cython.double = 0.0
        for k in range(cython.cast(cython.int, size)):
            if cells[at + k] > 0.0:
                below += cells[at + k]
                last = k
                if chance < below:
                    break
        return last
