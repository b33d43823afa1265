"""Numbers as departures from their recent mean: in recent standard deviations above it."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import copysign, fabs, sqrt

from stream_bayes.core.values.values import canonical, is_missing, name_order
from stream_bayes.errors import BadValue

FARTHEST = cython.declare(cython.double, 1e9)  # standard deviations: a number that never changed before
LARGEST = cython.declare(cython.double, 1e100)  # beyond it a number is refused by whoever counts it
TREND = "(trend) "


@cython.ccall
def is_number(value: object) -> cython.bint:
    """Return True for what a learner reads as a finite number; a bool is nominal, and an int beyond all floats is no
    number.
    """
    if type(value) is float:
        return fabs(value) <= LARGEST
    if type(value) is int:
        return -LARGEST <= value <= LARGEST
    if (
        value is None
        or type(value) is str
        or type(value) is bool
        or type(value) is bytes
        or type(value) is tuple
    ):
        return False
    try:
        plain = canonical(value)
    except BadValue:
        return False
    return (type(plain) is float or type(plain) is int) and -LARGEST <= plain <= LARGEST


def trend_name(name: object) -> str:
    """Return the name of a number's departures."""
    return f"{TREND}{name!r}"


@cython.cclass
class RecentMoments:
    """The fading mean and variance of each number of a stream; `left` of a number's weight stays after another event.

    Attributes
    ----------
    mean, variance
        By the index of a number, which `index_of` gives to its name.
    """

    def __init__(self, left: cython.double):
        self.left = left
        self.indices = {}
        self.names = {}  # of departures, by the names of numbers
        self.mean, self.variance = np.zeros(8), np.zeros(8)
        self.has_come = np.zeros(8, np.uint8)

    def __reduce__(self):
        return _moments_of, (self.left, self.by_name())

    def by_name(self) -> dict:
        """Return the mean and variance of each number that has come, in the order of names."""
        names = [name for name, index in self.indices.items() if self.has_come[index]]
        return {
            name: [float(self.mean[self.indices[name]]), float(self.variance[self.indices[name]])]
            for name in sorted(names, key=name_order)
        }

    def load(self, moments: dict):
        """Replace all by what `by_name` returned."""
        self.indices = {}
        self.mean, self.variance = np.zeros(8), np.zeros(8)
        self.has_come = np.zeros(8, np.uint8)
        for name, (mean, variance) in moments.items():
            index: cython.Py_ssize_t = self.index_of(name)
            self.add_at(index, mean)
            self.variance[index] = variance

    @cython.ccall
    def index_of(self, name) -> cython.Py_ssize_t:
        """Return the index of a number by its name, a new one if need be."""
        present = self.indices.get(name)
        if present is not None:
            return present
        index: cython.Py_ssize_t = len(self.indices)
        if index == self.mean.shape[0]:
            self.mean = np.concatenate([self.mean, np.zeros(index)])
            self.variance = np.concatenate([self.variance, np.zeros(index)])
            self.has_come = np.concatenate([self.has_come, np.zeros(index, np.uint8)])
        self.indices[name] = index
        return index

    @cython.cfunc
    def add_at(self, index: cython.Py_ssize_t, number: cython.double):
        """Add a number."""
        if not self.has_come[index]:
            self.has_come[index], self.mean[index], self.variance[index] = True, number, 0.0
            return
        step = number - self.mean[index]
        self.mean[index] += (1.0 - self.left) * step
        self.variance[index] = self.left * (self.variance[index] + (1.0 - self.left) * step * step)

    @cython.cfunc
    @cython.exceptval(check=False)
    def departure_at(self, index: cython.Py_ssize_t, number: cython.double) -> cython.double:
        """Return how many standard deviations a number is above its mean; 0 for the first of all."""
        if not self.has_come[index]:
            return 0.0
        step = number - self.mean[index]
        scale = sqrt(self.variance[index])
        if scale > fabs(step) / FARTHEST:
            return step / scale
        return copysign(FARTHEST, step) if step != 0.0 else step

    @cython.ccall
    def add(self, x, features: dict):
        """Add the numbers of an event; `features` are those that a learner knows, by name."""
        for name, value in x.items():
            if self.is_measured(name, value, features):
                self.add_at(self.index_of(name), value)

    @cython.ccall
    def is_measured(self, name, value, features: dict) -> cython.bint:
        """Return True for a number, unless its feature takes numbers for names."""
        feature = features.get(name)
        return is_number(value) and (feature is None or feature.measured)

    @cython.ccall
    def departures(self, x, features: dict) -> dict:
        """Return an event's features, each number as its departure, under another name; missing values are left out.
        `features` are those that a learner knows, by name.
        """
        shown: dict = {}
        for name, value in x.items():
            if not self.is_measured(name, value, features):
                if not is_missing(value):
                    shown[name] = value
                continue
            index = self.indices.get(name)
            shown[self.name_of(name)] = 0.0 if index is None else self.departure_at(index, value)
        return shown

    @cython.cfunc
    def name_of(self, name):
        """Return the name of a number's departures."""
        if type(name) is not str:
            return trend_name(name)
        shown_name = self.names.get(name)
        if shown_name is None:
            shown_name = self.names[name] = trend_name(name)
        return shown_name


def _moments_of(left, moments):
    made = RecentMoments(left)
    made.load(moments)
    return made
