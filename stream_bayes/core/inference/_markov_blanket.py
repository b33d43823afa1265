"""Scores of one variable's values given all others: only the tables that contain the variable are read."""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.inference._conditionals import Conditionals

UNKNOWN = cython.declare(cython.double, float("nan"))


@cython.cclass
class BlanketScores:
    """Scores log P(value, everything else) of each value of one variable, up to a term that all values share."""

    def __init__(self, conditionals: Conditionals, variable: cython.Py_ssize_t):
        family: cython.Py_ssize_t
        k: cython.Py_ssize_t
        self.conditionals = conditionals
        self.variable = variable
        self.values = conditionals.size[variable]
        others: list = []
        strides: list = []
        own_strides: list = []
        begin: list = []
        starts: list = [0]
        families = list(conditionals.child)[
            conditionals.child_start[variable] : conditionals.child_start[variable + 1]
        ]
        families.insert(0, variable)
        for family in families:
            begin.append(conditionals.start[family])
            for k in range(conditionals.scope_start[family], conditionals.scope_start[family + 1]):
                if conditionals.scope[k] == variable:
                    own_strides.append(conditionals.stride[k])
                else:
                    others.append(conditionals.scope[k])
                    strides.append(conditionals.stride[k])
            starts.append(len(others))
        self.other_start = np.array(starts, np.longlong)
        self.other = np.array(others, np.longlong)
        self.stride = np.array(strides, np.longlong)
        self.own_stride = np.array(own_strides, np.longlong)
        self.begin = np.array(begin, np.longlong)

    def write(
        self, codes: cython.const[cython.int][:, ::1], target: cython.double[:, ::1]
    ) -> cython.Py_ssize_t:
        """Write the scores of each row of codes; NaN if a code of the Markov blanket is missing, -1.

        Returns
        -------
        The first row with a code out of range, after which nothing is written; -1 if there is none.
        """
        self.conditionals.update_logs()
        conditionals: Conditionals = self.conditionals
        logs: cython.double[::1] = conditionals.logs
        size: cython.longlong[::1] = conditionals.size
        row: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        y: cython.Py_ssize_t
        bad: cython.Py_ssize_t = -1
        with cython.nogil:
            for row in range(codes.shape[0]):
                is_complete = True
                for y in range(self.values):
                    target[row, y] = 0.0
                for i in range(self.begin.shape[0]):
                    at: cython.Py_ssize_t = self.begin[i]
                    for k in range(self.other_start[i], self.other_start[i + 1]):
                        code: cython.int = codes[row, self.other[k]]
                        if code < 0 or code >= size[self.other[k]]:
                            if code != -1:
                                bad = row
                            is_complete = False
                            break
                        at += code * self.stride[k]
                    if not is_complete:
                        break
                    step: cython.Py_ssize_t = self.own_stride[i]
                    for y in range(self.values):
                        target[row, y] += logs[at + y * step]
                if bad >= 0:
                    break
                if not is_complete:
                    for y in range(self.values):
                        target[row, y] = UNKNOWN
        return bad
