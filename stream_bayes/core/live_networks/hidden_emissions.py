"""Emissions of the states of a hidden chain: names by their shares, numbers by a Student's t distribution.

All arrays have the copies of a chain first. Expected counts fade when the chain says so.

    names     shown [copy, state, value]
    numbers   weights, means, squares [copy, state]      squares are about the means, so that no offset loses digits

A state's numbers have a normal-inverse-gamma posterior, of which the predictive distribution is Student's t. Its prior
is worth `PRIOR` events for the mean and `DEGREES` for the variance. It lies where the variable's numbers lie by
themselves: its mean is theirs plus so many of their deviations as a standard normal draw, which differs between copies
and states, and its variance is theirs. A state that is the only one of its copy has no draws: its prior is their mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import OTHER, tagged, untagged

__all__ = ["TINY", "Emission", "NameEmission", "NumberEmission", "Seen", "shares_of_rows"]

Floats = NDArray[np.float64]
MakeRng = Callable[[tuple[int, ...]], np.random.Generator]
Seen = int | float | None  # the code of a name, a number, or a missing value

OTHER_CODE = None  # in a state, for the values that share a code
PRIOR = 0.5  # events: of each cell of a table on average, and of the mean of numbers
# Degrees of freedom of the prior's variance: the fewest, and whole, of which a forecast has a deviation.
DEGREES = 3.0
TINY = 1e-300  # a likelihood below it would be no number after a few steps


class NameEmission:
    """A table of the shares of names in each state of each copy.

    A copy's prior of a value depends on the seed, the variable and the code alone. After `max_values` values new ones
    share one.
    """

    def __init__(
        self, variable: int, shape: tuple[int, int], max_values: int | None, make_rng: MakeRng
    ) -> None:
        self.variable, self.shape, self.max_values = variable, shape, max_values
        self._make_rng = make_rng
        self.codes: dict[Any, int] = {}
        self.shown: Floats = np.zeros((*shape, 0))
        self._prior: Floats = np.zeros((*shape, 0))
        self.times: Floats = np.zeros(0)  # each value came, without fading
        self.table: Floats = np.zeros((*shape, 0))

    @property
    def is_empty(self) -> bool:
        """True before any name."""
        return not self.codes

    def code_of(self, value: Any) -> int | None:
        """Return the code of a value; None if it never came."""
        return self.codes.get(value, self.codes.get(OTHER))

    def create(self, value: Any) -> int:
        """Return the code of a value, with room for it if it is new."""
        codes = self.codes
        if value not in codes:
            if self.max_values is not None and len(codes) - (OTHER in codes) >= self.max_values:
                value = OTHER
            if value not in codes:
                codes[value] = len(codes)
                self._widen(codes[value])
        return codes[value]

    def _widen(self, code: int) -> None:
        prior = np.full((*self.shape, 1), PRIOR)
        if self.shape[1] > 1:  # a state alone needs nothing that sets it apart
            prior = self._make_rng((self.variable + 1, code)).gamma(1.0, PRIOR, prior.shape)
        self._prior = np.concatenate([self._prior, prior], axis=2)
        self.shown = np.concatenate([self.shown, np.zeros_like(prior)], axis=2)
        self.times = np.append(self.times, 0.0)
        self.derive()

    def note(self, code: int) -> None:
        """Note that a value has come."""
        self.times[code] += 1.0

    def show(self, code: int, belief: Floats) -> None:
        """Count a value by the belief over states."""
        self.shown[:, :, code] += belief

    def fade(self, kept: float) -> None:
        """Multiply the counts."""
        self.shown *= kept

    def derive(self) -> None:
        """Set the shares to those of the counts."""
        self.table = shares_of_rows(self.shown + self._prior)

    @property
    def novel_share(self) -> float:
        """The share of probability that is kept for new values (Good and Turing); 1 before any."""
        once = max(float((self.times == 1.0).sum()), 0.5)
        return min(1.0, once / float(self.times.sum())) if len(self.times) else 1.0

    def arrays(self) -> dict[str, Floats]:
        """Return what is held beside `meta`."""
        return {"shown": self.shown, "times": self.times}

    @property
    def memory_bytes(self) -> int:
        """The bytes of counts and priors."""
        return self.shown.nbytes + self._prior.nbytes + self.times.nbytes

    def meta(self) -> list[Any]:
        """Return the names in the order of their codes, as JSON values."""
        return [OTHER_CODE if v is OTHER else tagged(v) for v in self.codes]

    def load(self, meta: Any) -> None:
        """Make room for names that `meta` returned; the arrays follow."""
        limit = len(meta) if self.max_values is None else self.max_values + 1
        expect(len(meta) <= limit, "it holds more values than max_values")
        for code, name in enumerate(meta):
            value = OTHER if name == OTHER_CODE else untagged(name)
            expect(value not in self.codes, "it names a value twice")
            self.codes[value] = code
            self._widen(code)

    @property
    def is_valid(self) -> bool:
        """True if what is held can have been counted."""
        return bool((self.shown >= 0.0).all() and (self.times >= 0.0).all())

    def fits(self, seen: Any) -> bool:
        """Return True for the code of a value."""
        return type(seen) is int and 0 <= seen < len(self.codes)

    def is_like(self, other: Emission | None) -> bool:
        """Return True if another chain's emission names the same values."""
        return isinstance(other, NameEmission) and other.codes == self.codes


class NumberEmission:
    """The moments of numbers in each state of each copy."""

    def __init__(self, variable: int, shape: tuple[int, int], make_rng: MakeRng) -> None:
        is_alone = shape[1] == 1
        self._offsets = np.zeros(shape) if is_alone else make_rng((variable + 1,)).standard_normal(shape)
        self.weights: Floats = np.zeros(shape)
        self.means: Floats = np.zeros(shape)
        self.squares: Floats = np.zeros(shape)
        self.alone = np.zeros(3)  # weight, mean and squares of all numbers, fading
        self.prior = np.array([0.0, 0.0, 1.0])  # the weight by which it was set, mean and deviation
        self.derive()

    def note(self, number: float) -> None:
        """Note that a number has come."""
        weight, mean, squares = self.alone.tolist()
        weight, away = weight + 1.0, number - mean
        mean += away / weight
        self.alone[:] = weight, mean, squares + away * (number - mean)
        if weight >= 2.0 * self.prior[0]:
            self._set_prior()
            self.derive()

    def _set_prior(self) -> None:
        weight, mean, squares = self.alone.tolist()
        spread, size = math.sqrt(max(squares, 0.0) / weight) if weight > 0.0 else 0.0, abs(mean)
        # Numbers that do not differ tell nothing of their spread: a thousandth of their size keeps densities finite.
        self.prior[:] = weight, mean, spread if spread > 1e-9 * size and spread > 0.0 else 1e-3 * size or 1.0

    def show(self, number: float, belief: Floats) -> None:
        """Count a number by the belief over states."""
        self.weights += belief
        away = number - self.means
        self.means += belief / np.maximum(self.weights, TINY) * away
        self.squares += belief * away * (number - self.means)

    def fade(self, kept: float) -> None:
        """Multiply the weights and squares; the prior is that of the numbers so far."""
        self.weights *= kept
        self.squares *= kept
        self.alone[[0, 2]] *= kept
        self._set_prior()

    def derive(self) -> None:
        """Set the distributions to those of the moments."""
        _, mean, spread = self.prior.tolist()
        prior = mean + spread * self._offsets
        total = PRIOR + self.weights
        self._degrees = DEGREES + self.weights
        away = self.means - prior
        self._location = prior + self.weights / total * away
        squares = DEGREES * spread**2 + self.squares + PRIOR * self.weights / total * away * away
        self._scale = np.sqrt(squares / self._degrees * (1.0 + 1.0 / total))
        half = 0.5 * self._degrees
        self._height = scipy.special.gammaln(half + 0.5) - scipy.special.gammaln(half) - np.log(self._scale)
        self._height -= 0.5 * np.log(math.pi * self._degrees)

    @property
    def is_empty(self) -> bool:
        """True before any number: then a number tells nothing."""
        return bool(self.alone[0] <= 0.0)

    def log_density(self, number: float) -> Floats:
        """Return the logarithm of the density of a number in each state of each copy."""
        if self.is_empty:
            return np.zeros_like(self.weights)
        away = (number - self._location) / self._scale / np.sqrt(self._degrees)
        return self._height - (self._degrees + 1.0) * np.log(np.hypot(1.0, away))

    def students(self, copy: int) -> list[StudentT]:
        """Return the distribution of numbers in each state of a copy."""
        rows = (each[copy].tolist() for each in (self._location, self._scale, self._degrees))
        return [StudentT(*row) for row in zip(*rows, strict=True)]

    def arrays(self) -> dict[str, Floats]:
        """Return all that is held."""
        return {
            "weights": self.weights,
            "means": self.means,
            "squares": self.squares,
            "alone": self.alone,
            "prior": self.prior,
        }

    @property
    def memory_bytes(self) -> int:
        """The bytes of moments and priors."""
        return 4 * self.weights.nbytes + self.alone.nbytes

    def meta(self) -> str:
        """Return what tells numbers from names."""
        return NUMBERS

    def load(self, meta: Any) -> None:
        """Take what `meta` returned; the arrays follow."""
        expect(meta == NUMBERS, "a variable has neither names nor numbers")

    @property
    def is_valid(self) -> bool:
        """True if what is held can have been summed."""
        sums = (self.weights, self.squares, self.alone[[0, 2]])
        return all(bool((each >= 0.0).all()) for each in sums) and bool(self.prior[2] > 0.0)

    def fits(self, seen: Any) -> bool:
        """Return True for a number."""
        return type(seen) is float and math.isfinite(seen)

    def is_like(self, other: Emission | None) -> bool:
        """Return True if another chain's emission has numbers, too."""
        return isinstance(other, NumberEmission)


Emission = NameEmission | NumberEmission
NUMBERS = "numbers"  # in a state


def shares_of_rows(weights: Floats) -> Floats:
    """Return weights as shares of their sum along the last axis."""
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), TINY)
