"""Linear regression over fading samples, as the triangular root of its sums.

    R'R = ridge + sum of weight * (z, y)'(z, y)      z: the columns of a sample, y: its target

    R = | R_zz  r_zy |    coefficients  R_zz^-1 r_zy
        |       r_yy |    squares left  r_yy^2

A sample is rotated into R row by row, so no difference of large numbers is ever taken, whatever is learned. Samples
fade and the ridge does not: what it loses at an event is given back to one column, each in its turn.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import sqrt

FIRST_PRIOR = cython.declare(cython.double, 1e-6)  # the ridge of the first column, which is 1 in all samples


@cython.cclass
class FadingRegression:
    """A ridge regression on a fixed number of columns, the first of which is 1. `ridge` is the weight of the prior, in
    samples: coefficients are about 0. After `half_life` learned samples one weighs half; 0 never forgets.
    """

    def __init__(self, columns: cython.Py_ssize_t, ridge: cython.double, half_life: cython.double):
        self.columns = columns
        self.ridge = ridge
        self.kept = 1.0 if half_life == 0.0 else sqrt(0.5 ** (1.0 / half_life))
        self.root = np.zeros((columns + 1) * (columns + 1))
        self.row = np.zeros(columns + 1)
        self.turn = 0
        self.begin()

    @cython.ccall
    def begin(self):
        """Forget everything."""
        m: cython.Py_ssize_t = self.columns + 1
        self.turn = 0
        self.location = self.leverage = 0.0
        for j in range(m * m):
            self.root[j] = 0.0
        for j in range(self.columns):
            self.root[j * m + j] = sqrt(self.prior(j))

    @cython.cfunc
    def prior(self, j: cython.Py_ssize_t) -> cython.double:
        return FIRST_PRIOR if j == 0 else self.ridge

    @cython.ccall
    def predict(self, columns: cython.double[::1]):
        """Write the location of a sample's target, and the leverage: the variance of the location, in noises."""
        m: cython.Py_ssize_t = self.columns + 1
        leverage: cython.double = 0.0
        row: cython.double[::1] = self.row
        root: cython.double[::1] = self.root
        for k in range(self.columns):
            row[k] = columns[k]
        row[m - 1] = 0.0
        for i in range(self.columns):
            if row[i] == 0.0:
                continue
            first = i * m
            part = row[i] / root[first + i]
            leverage += part * part
            for k in range(i + 1, m):
                row[k] -= part * root[first + k]
        self.location = -row[m - 1]
        self.leverage = leverage

    @cython.ccall
    def learn(self, columns: cython.double[::1], target: cython.double, weight: cython.double):
        """Learn a sample."""
        m: cython.Py_ssize_t = self.columns + 1
        scale: cython.double = sqrt(weight)
        for k in range(self.columns):
            self.row[k] = scale * columns[k]
        self.row[m - 1] = scale * target
        if self.kept == 1.0:
            self.rotate(0)
            return
        self.fade()
        self.rotate(0)
        for k in range(m):
            self.row[k] = 0.0
        scale = self.prior(self.turn) * (1.0 - self.kept * self.kept) * self.columns
        self.row[self.turn] = sqrt(scale)
        self.rotate(self.turn)
        self.turn += 1
        if self.turn == self.columns:
            self.turn = 0

    @cython.cfunc
    def fade(self):
        """Let all samples fade by an event."""
        m: cython.Py_ssize_t = self.columns + 1
        root: cython.double[::1] = self.root
        for i in range(m):
            for k in range(i * m + i, i * m + m):
                root[k] *= self.kept

    @cython.ccall
    def coefficients(self, result: cython.double[::1]):
        """Write the coefficient of each column."""
        m: cython.Py_ssize_t = self.columns + 1
        for i in range(self.columns - 1, -1, -1):
            left = self.root[i * m + m - 1]
            for k in range(i + 1, self.columns):
                left -= self.root[i * m + k] * result[k]
            result[i] = left / self.root[i * m + i]

    @cython.cfunc
    def rotate(self, first: cython.Py_ssize_t):
        """Rotate the row, which is zero before a column, into the root."""
        m: cython.Py_ssize_t = self.columns + 1
        row: cython.double[::1] = self.row
        root: cython.double[::1] = self.root
        for i in range(first, m):
            if row[i] == 0.0:
                continue
            at = i * m
            length = sqrt(root[at + i] * root[at + i] + row[i] * row[i])
            cosine, sine = root[at + i] / length, row[i] / length
            for k in range(i, m):
                above = root[at + k]
                root[at + k] = cosine * above + sine * row[k]
                row[k] = cosine * row[k] - sine * above
