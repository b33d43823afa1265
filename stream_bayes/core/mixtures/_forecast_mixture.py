"""A mixture of Student's t distributions about the locations that experts give, weighted by how well they forecast.

    p(y) = sum of  weight  t(degrees, location, scale^2 (1 + leverage) + unknown)
           over the locations, the half-lives of the scale, and the degrees of freedom

`unknown` is the variance of what an event lacks and others have; it is no error of the locations.

A location's scale is the likeliest one of its fading errors, for each half-life and degrees. Weights are Bayes'
posterior with a fixed share: part of it is given back to all at each event, so that the best may change.
"""

from __future__ import annotations

import math

import cython
import numpy as np
from cython.cimports.libc.math import exp, fabs, log, log1p, sqrt

DEGREES = (4, 16)  # even: the distribution functions are polynomials
HALF_LIVES = (30.0, 300.0)  # of the errors that a scale is of, in events
KINDS = cython.declare(cython.Py_ssize_t, 4)  # of a location: each half-life with each of the degrees
SHARE = cython.declare(cython.double, 0.01)  # of the weights is shared out at each event
LEAST_SQUARE = cython.declare(cython.double, 1e-10)  # of a scale, where targets have a deviation of about 1
LEAST_TAIL = cython.declare(cython.double, 1e-15)
INFINITE = cython.declare(cython.double, float("inf"))
MOST_STEPS = cython.declare(cython.int, 200)  # to a quantile; halving a bracket alone takes fewer
PRECISION = cython.declare(cython.double, 1e-14)  # of a quantile, relative to it or to the deviation


@cython.cclass
class ForecastMixture:
    """A mixture of t distributions. Targets have a deviation of about 1.

    Notes
    -----
    `weights` and `squares`, the squared scales, have for each location the degrees of each half-life. All that
    `learn` and the functions of a number need of an event, `take` copies.
    """

    def __init__(self, locations: cython.Py_ssize_t):
        parts: cython.Py_ssize_t = locations * KINDS
        self.locations = locations
        self.weights = np.full(parts, 1.0 / parts)
        self.squares = np.ones(parts)
        self.gains = np.zeros(parts)
        self.location, self.spread = np.zeros(locations), np.ones(locations)
        self.unknown = 0.0
        self.take_constants()

    @cython.cfunc
    def take_constants(self):
        """Take what all mixtures share."""
        self.degrees, self.rates, self.starts, self.polynomials, self.heights = CONSTANTS

    @cython.ccall
    def take(
        self, locations: cython.double[::1], leverages: cython.double[::1], unknown: cython.double = 0.0
    ):
        """Take over the locations and leverages of an event, and the variance of what it lacks."""
        self.unknown = unknown
        for e in range(self.locations):
            self.location[e], self.spread[e] = locations[e], 1.0 + leverages[e]

    def copy(self) -> ForecastMixture:
        """Return a mixture that later events do not change."""
        other: ForecastMixture = ForecastMixture.__new__(ForecastMixture)
        other.locations = self.locations
        other.location, other.spread = np.array(self.location), np.array(self.spread)
        other.weights, other.squares = np.array(self.weights), np.array(self.squares)
        other.gains = np.empty(self.locations * KINDS)
        other.unknown = self.unknown
        other.take_constants()
        return other

    @cython.ccall
    def noise(self) -> cython.double:
        """Return the squared scale of the errors, without that of what an event lacks."""
        total: cython.double = 0.0
        for e in range(self.locations):
            for k in range(KINDS):
                total += self.weights[e * KINDS + k] * self.squares[e * KINDS + k] * self.spread[e]
        return total

    @cython.ccall
    def mean(self) -> cython.double:
        """Return the mean."""
        total: cython.double = 0.0
        for e in range(self.locations):
            for k in range(KINDS):
                total += self.weights[e * KINDS + k] * self.location[e]
        return total

    @cython.ccall
    def below(self, y: cython.double) -> cython.double:
        """Return the probability of less than a number."""
        total: cython.double = 0.0
        for e in range(self.locations):
            error = y - self.location[e]
            for k in range(KINDS):
                total += self.weights[e * KINDS + k] * self.share_below(
                    error / sqrt(self.squares[e * KINDS + k] * self.spread[e] + self.unknown), k
                )
        return min(1.0 - LEAST_TAIL, max(LEAST_TAIL, total))

    @cython.cfunc
    @cython.exceptval(check=False)
    def share_below(self, t: cython.double, k: cython.Py_ssize_t) -> cython.double:
        """Return the share of a t distribution below a number of scales."""
        x: cython.double = t / sqrt(self.degrees[k] + t * t)
        square: cython.double = x * x
        total: cython.double = 0.0
        for i in range(self.polynomials.shape[1] - 1, -1, -1):
            total = total * square + self.polynomials[k, i]
        return 0.5 + x * total

    @cython.cfunc
    def write_below(self, y: cython.double):
        """Write the probability of less than a number, that of more, and the density, without logarithms."""
        self.is_below = self.is_above = self.is_at = 0.0
        for e in range(self.locations):
            for k in range(KINDS):
                scale = sqrt(self.squares[e * KINDS + k] * self.spread[e] + self.unknown)
                t = (y - self.location[e]) / scale
                share = self.share_below(t, k)
                self.is_below += self.weights[e * KINDS + k] * share
                self.is_above += self.weights[e * KINDS + k] * (1.0 - share)
                part = self.degrees[k] / (self.degrees[k] + t * t)
                density = sqrt(part)
                for _ in range(cython.cast(cython.int, 0.5 * self.degrees[k])):
                    density *= part
                self.is_at += self.weights[e * KINDS + k] / scale * self.heights[k] * density

    @cython.ccall
    def quantile(self, share: cython.double) -> cython.double:
        """Return the number that a share, above 0 and below 1, lies below: Newton's steps on the logarithm of the
        smaller tail, or half of the bracket where a step leaves it or is not much smaller than the one before.
        """
        before: cython.double = INFINITE
        low: cython.double = -INFINITE
        high: cython.double = INFINITE
        mean: cython.double = self.mean()
        deviation: cython.double = 0.0
        for e in range(self.locations):
            apart = self.location[e] - mean
            for k in range(KINDS):
                deviation += self.weights[e * KINDS + k] * (
                    self.squares[e * KINDS + k] * self.spread[e] + self.unknown + apart * apart
                )
        deviation = sqrt(deviation)
        y: cython.double = mean + deviation * log(share / (1.0 - share)) / 1.8  # nearly the normal quantile
        for _ in range(MOST_STEPS):
            self.write_below(y)
            if self.is_below < share:
                low = y
            else:
                high = y
            step = INFINITE
            if self.is_at > 0.0:
                if share < 0.5:
                    tail = max(self.is_below, LEAST_TAIL)
                    step = -tail * log(tail / share) / self.is_at
                else:
                    tail = max(self.is_above, LEAST_TAIL)
                    step = tail * log(tail / (1.0 - share)) / self.is_at
            is_bracketed: cython.bint = low > -INFINITE and high < INFINITE
            if is_bracketed and (not low < y + step < high or fabs(step) > 0.5 * before):
                step = 0.5 * (low + high) - y
            elif fabs(step) == INFINITE:  # where there is no density
                step = deviation if high == INFINITE else -deviation
            before = fabs(step)
            y += step
            if before <= PRECISION * max(fabs(y), deviation):
                break
        return y

    @cython.ccall
    def log_density(self, y: cython.double) -> cython.double:
        """Return the log density at a number, and write that of each part, with its weight, to `gains`."""
        most: cython.double = -1e300
        total: cython.double = 0.0
        for e in range(self.locations):
            error = (y - self.location[e]) * (y - self.location[e])
            for k in range(KINDS):
                at = e * KINDS + k
                square = self.squares[at] * self.spread[e] + self.unknown
                self.gains[at] = (
                    log(self.weights[at])
                    + self.starts[k]
                    - 0.5 * log(square)
                    - 0.5 * (self.degrees[k] + 1.0) * log1p(error / (square * self.degrees[k]))
                )
                most = max(most, self.gains[at])
        for at in range(self.locations * KINDS):
            total += exp(self.gains[at] - most)
        return most + log(total)

    @cython.ccall
    def learn(self, y: cython.double, events: cython.double, weight: cython.double):
        """Learn an event's target. `events` is the number of events before: scales follow the first ones faster. The
        weight is at most 1.
        """
        total: cython.double = self.log_density(y)
        parts: cython.double = self.locations * KINDS
        share: cython.double = SHARE * weight
        sum_: cython.double = 0.0
        for at in range(self.locations * KINDS):
            if weight == 1.0:
                self.gains[at] = exp(self.gains[at] - total)
            else:
                self.gains[at] = self.weights[at] * exp(
                    weight * (self.gains[at] - total - log(self.weights[at]))
                )
            sum_ += self.gains[at]
        for at in range(self.locations * KINDS):
            self.weights[at] = (1.0 - share) * (self.gains[at] / sum_) + share / parts
        for e in range(self.locations):
            error = (y - self.location[e]) * (y - self.location[e])
            for k in range(KINDS):
                at = e * KINDS + k
                # of an error by what is lacking only its part counts
                square = error / (self.spread[e] + self.unknown / self.squares[at])
                rate = weight * max(self.rates[k], 1.0 / (events + 1.0))
                self.squares[at] += rate * (
                    (self.degrees[k] + 1.0) * square / (self.degrees[k] + square / self.squares[at])
                    - self.squares[at]
                )
                self.squares[at] = max(self.squares[at], LEAST_SQUARE)

    @cython.ccall
    def rescale(self, factor: cython.double):
        """Multiply all scales, as the unit of targets has changed."""
        for at in range(self.locations * KINDS):
            self.squares[at] = max(LEAST_SQUARE, self.squares[at] * factor * factor)


def polynomial(degrees: int) -> list[float]:
    """Return the coefficients of the odd polynomial in t / sqrt(degrees + t^2) that is the share between 0 and t.

    Examples
    --------
    >>> polynomial(4)[:3]
    [0.75, -0.25, 0.0]
    """
    n = degrees // 2 - 1  # the density of t / sqrt(degrees + t^2) is (1 - x^2)^n
    terms = [(-1) ** k * math.comb(n, k) / (2 * k + 1) for k in range(n + 1)]
    whole = 2.0 * math.fsum(terms)
    return [term / whole for term in terms] + [0.0] * (max(DEGREES) // 2 - 1 - n)


def constants() -> tuple:
    """Return, of each kind: degrees, rates of the scale, log densities at the location, coefficients, and densities."""
    degrees = np.array([degrees for _ in HALF_LIVES for degrees in DEGREES], float)
    rates = np.array([1.0 - 0.5 ** (1.0 / life) for life in HALF_LIVES for _ in DEGREES])
    starts = [
        math.lgamma(0.5 * v + 0.5) - math.lgamma(0.5 * v) - 0.5 * math.log(math.pi * v) for v in degrees
    ]
    coefficients = np.array([polynomial(int(v)) for v in degrees])
    return degrees, rates, np.array(starts), coefficients, np.exp(starts)


CONSTANTS = constants()
