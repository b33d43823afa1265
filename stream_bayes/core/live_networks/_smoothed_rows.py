"""The conditional table of one variable read from weights: gathered by the held values, smoothed, normalised by row.

    P(value | parents) = (n + w q + a) / (N + w Q + a V)

n is the weight of the value in this row of the family, N the weight of the row, V the number of values, and a the
pseudocount of a cell. w is the weight of a network given beforehand, q its probability here, and Q is 1 if that network
has the row, else 0. A row of 0/0 is uniform, its limit as the smoothing vanishes. Without smoothing, a row without
counts equals the given one to the last bit.
"""

from __future__ import annotations

import cython
import numpy as np


@cython.cclass
class SmoothedRows:
    """The rows of a table. `first` is the position of each row's weights, in the order of the parents' values; `step`
    the offset of each value's weight from there. `add` is the pseudocount of a cell, in fresh samples. `prior` are the
    probabilities given beforehand, row by row, and `prior_weight` the weight of each of their rows in fresh samples.
    """

    def __init__(self, first, step, add: cython.double, prior=None, prior_weight: cython.double = 0.0):
        self.first = np.ascontiguousarray(first, np.longlong)
        self.step = np.ascontiguousarray(step, np.longlong)
        self.add = add
        self.prior = np.ascontiguousarray(np.zeros(0) if prior is None else prior, np.float64).reshape(-1)
        self.prior_weight = prior_weight if prior is not None else 0.0

    @cython.cfunc
    @cython.exceptval(check=False)
    def smooth(
        self,
        weight: cython.double[::1],
        unit: cython.double,
        row: cython.Py_ssize_t,
        target: cython.double[::1],
    ) -> cython.double:
        """Write the smoothed weights of a row, and return the row's counted weight."""
        values: cython.Py_ssize_t = self.step.shape[0]
        at: cython.Py_ssize_t = row * values
        first: cython.longlong = self.first[row]
        counted: cython.double = 0.0
        add: cython.double = self.add * unit
        prior_weight: cython.double = self.prior_weight * unit
        for k in range(values):
            target[at + k] = weight[first + self.step[k]]
            counted += target[at + k]
            target[at + k] += add
        if prior_weight > 0.0:
            for k in range(values):
                target[at + k] += prior_weight * self.prior[at + k]
        return counted

    @cython.ccall
    def weights_into(self, weight: cython.double[::1], unit: cython.double, target: cython.double[::1]):
        """Write the parameters of each row's Dirichlet posterior, in fresh samples."""
        for row in range(self.first.shape[0]):
            self.smooth(weight, unit, row, target)
        for k in range(target.shape[0]):
            target[k] /= unit

    @cython.ccall
    def gather_into(self, weight: cython.double[::1], target: cython.double[::1]):
        """Write the weights as counted, without smoothing."""
        values: cython.Py_ssize_t = self.step.shape[0]
        for row in range(self.first.shape[0]):
            for k in range(values):
                target[row * values + k] = weight[self.first[row] + self.step[k]]

    @cython.ccall
    def scatter(self, weight: cython.double[::1], amount: cython.double, source: cython.double[::1]):
        """Add each source cell times an amount to the weights."""
        values: cython.Py_ssize_t = self.step.shape[0]
        for row in range(self.first.shape[0]):
            for k in range(values):
                weight[self.first[row] + self.step[k]] += amount * source[row * values + k]

    @cython.ccall
    def shares_into(self, weight: cython.double[::1], unit: cython.double, target: cython.double[::1]):
        """Write the probabilities; `unit` is the weight of a fresh sample."""
        values: cython.Py_ssize_t = self.step.shape[0]
        for row in range(self.first.shape[0]):
            counted = self.smooth(weight, unit, row, target)
            at = row * values
            total = 0.0
            for k in range(values):
                total += target[at + k]
            if total <= 0.0:
                for k in range(values):
                    target[at + k] = 1.0 / values
            elif counted <= 0.0 and self.add <= 0.0:
                for k in range(values):
                    target[at + k] = self.prior[at + k]
            else:
                for k in range(values):
                    target[at + k] /= total
