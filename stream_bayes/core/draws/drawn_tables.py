"""The tables behind an answer as their posterior has them: at their means, or drawn from it.

A class's P(x, y) is a mean of terms, one for each super-parent; other learners have one. A term is a product of
factors, each from a table of its own, and tables are independent:

    names      Dirichlet                 n(y, parents' values, value) + pseudocount, in a class and under its parents
    numbers    normal-inverse-gamma      of each class and number
    presence   Gamma                     of each class and sparse number

So the mean of P(x, y) over draws is the learner's. A factor is a ratio of weights, and a drawn table has drawn weights:
a Dirichlet distribution is that of Gammas over their sum. Where a parent is a number that is read between bins, a
factor is a ratio of mixed weights, and its mean over draws is near the learner's.

To draw given an event x, choose a class and a term by their shares of P(x), and draw the tables as after learning x in
these: a term is conjugate to its tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.draws.drawn_numbers import PRIOR_MEANS, JointNumbers, NumberPosteriors, Numbers
from stream_bayes.core.readings._smoothing import pseudocount

__all__ = [
    "CountedTables",
    "DiscriminantTables",
    "DrawnTables",
    "Factor",
    "Mixture",
    "TableKey",
    "Term",
    "log_terms",
]

Floats = NDArray[np.float64]
TableKey = tuple[
    Any, ...
]  # ("classes",), ("alone", slot), ("joint", slots) or ("given", slot, ((parent, code), ...))
Mixture = tuple[tuple[float, int], ...]  # shares of the codes that a value is read from

CLASSES: TableKey = ("classes",)
ALONE: TableKey = ("alone",)  # all tables of values given the class, and that of the classes
FIRST = np.zeros(1, np.intp)
LEAST_SHAPE = 0.05  # draws of Gammas of a lesser shape may all be 0: their logarithms are drawn


class Factor(NamedTuple):
    """A ratio of weights: of a value in a table, mixed over codes and over tables, to the power of `amount`."""

    tables: tuple[tuple[float, TableKey], ...]
    values: Mixture
    amount: float = 1.0


class Term(NamedTuple):
    """A product of factors, of the numbers' densities, and of what is certain, by class.

    `weight` is its share in the mean of the terms.
    """

    factors: Sequence[Factor]
    certain: Floats
    weight: float = 1.0


class TableWeights(Protocol):
    """Tables to evaluate terms with: those of the counts, or drawn ones."""

    def weights(self, key: TableKey) -> Floats:
        """Return the weights of a table, [value, class]; their ratios are its probabilities."""

    def log_shares(self, key: TableKey) -> Floats:
        """Return the logarithms of the probabilities of a table."""

    def log_densities(self, row: Any) -> Floats | float:
        """Return the log-density of an event's numbers by class."""


def is_joint(key: TableKey) -> bool:
    """Return True for a table whose classes sum to 1 together."""
    return key[0] in ("classes", "joint")


def logs_of(weights: Floats, totals: Floats) -> Floats:
    """Return the logarithms of shares of totals; 0, which is no evidence, for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(totals > 0.0, np.log(weights) - np.log(totals), 0.0)


def totals_of(weights: Floats, key: TableKey) -> Floats:
    """Return what the weights of a table are divided by."""
    return np.asarray(weights.sum()) if is_joint(key) else weights.sum(axis=0)


def log_terms(terms: Sequence[Term], tables: TableWeights, row: Any) -> Floats:
    """Return the logarithm of each term and class."""
    densities = tables.log_densities(row)
    logs = []
    for term in terms:
        rows = [term.certain + np.log(term.weight) + densities]
        for factor in term.factors:
            if len(factor.tables) == len(factor.values) == 1:
                log = tables.log_shares(factor.tables[0][1])[factor.values[0][1]]
            else:
                mixed = np.sum([share * tables.weights(key) for share, key in factor.tables], axis=0)
                above = np.sum([share * mixed[code] for share, code in factor.values], axis=0)
                log = logs_of(above, totals_of(mixed, factor.tables[0][1]))
            rows.append(log if factor.amount == 1.0 else factor.amount * log)
        logs.append(np.sum(rows, axis=0))
    return np.array(logs)


class CountedTables:
    """The posterior of the tables of a reading, copied from its counts.

    The names and numbers of the base depend on the class alone. `live` are the codes of the classes that hold samples
    or were declared.
    """

    def __init__(self, reading: Any) -> None:
        tables = reading.tables
        values, layout = tables.values, tables.values.layout
        declared = reading.labels.declared
        samples = tables.class_samples
        self.live = [y for y in range(int(tables.labels)) if samples[y] > 0.0 or y < declared]
        # A slice copies faster than a list of columns.
        self.columns: Any = slice(len(self.live)) if self.live == [*range(len(self.live))] else self.live
        self.strength, self.spread = float(reading.strength), bool(reading.spread)
        self.unit = float(tables.unit)
        self.layout = layout
        self.start, self.used = np.array(layout.start), np.array(layout.used)
        # The first rows of `alone` of each feature that has any, and of the classes.
        self.runs = np.append(self.start[np.asarray(layout.room) > 0], layout.positions)
        self.occupied = np.array(values.occupied, bool)
        self.distinct = np.array(values.distinct)
        self.class_weight = np.asarray(tables.class_weight)[self.columns] / self.unit
        self.class_parameters = self.class_weight + pseudocount(
            float(reading.prior_strength), len(self.live), bool(reading.spread)
        )
        self.certain_prior: Floats | None = None
        if reading.class_prior != "counted" or not self.class_parameters.sum() > 0.0:
            log_prior = np.zeros(max(int(tables.labels), 1))
            reading.write_prior(log_prior)
            self.certain_prior = log_prior[self.live]
        # The parameters of values given the class, and in the last row those of the classes.
        self.alone = np.empty((int(layout.positions) + 1, len(self.live)))
        self.alone[:-1] = self._with_pseudocounts(self._by_position(values.weight))
        self.alone[-1] = self.class_parameters
        self.numbers = self.numbers_of(reading)
        self.certain = np.zeros(len(self.live))
        self._logs: dict[TableKey, Floats] = {}

    def numbers_of(self, reading: Any) -> Numbers | None:
        """Return the posteriors of the numbers; None if there are none."""
        if not reading.tables.gaussians.features:
            return None
        return NumberPosteriors.of(reading, self.columns, self.class_weight)

    def _by_position(self, weight: Any) -> Floats:
        """Return the weights of the live classes in fresh samples."""
        return np.asarray(weight).reshape(-1, self.layout.classes)[:, self.columns] / self.unit

    def _with_pseudocounts(self, weight: Floats) -> Floats:
        add: Any = self.strength
        if self.spread:
            add = (self.strength / np.maximum(self.distinct, 1))[np.asarray(self.layout.owner)][:, None]
        return np.where(self.occupied[:, None], weight + add, 0.0)

    # -- tables -------------------------------------------------------------------------------------------------------

    def slots(self, slot: int) -> slice:
        """Return the positions of a feature."""
        return slice(int(self.start[slot]), int(self.start[slot] + self.used[slot]))

    def weights(self, key: TableKey) -> Floats:
        """Return the parameters of a table's Dirichlet distributions, [value, class]."""
        if key == CLASSES:
            return self.alone[-1:]
        if key[0] == "alone":
            return self.alone[self.slots(key[1])]
        return self.parameters(key, self)

    def parameters(self, key: TableKey, tables: TableWeights) -> Floats:
        """Return the parameters of a table that depends on more than the class, with what it takes from `tables`."""
        raise NotImplementedError

    def row_of(self, key: TableKey, code: int) -> tuple[TableKey, int]:
        """Return the key and the row under which a value's weight is drawn."""
        if key == CLASSES:
            return ALONE, len(self.alone) - 1
        return (ALONE, int(self.start[key[1]]) + code) if key[0] == "alone" else (key, code)

    def also_learned(self, key: TableKey, code: int, y: int, rng: np.random.Generator) -> TableKey | None:
        """Return the key of a table that learns a value too when the table of a key has learned it."""
        return None  # the absence of a table is a value

    def log_densities(self, row: Any) -> Floats | float:
        """Return the log-density of an event's numbers by class."""
        return 0.0 if self.numbers is None else self.numbers.log_densities(row)

    def log_shares(self, key: TableKey) -> Floats:
        """Return the logarithms of a table's means."""
        if key not in self._logs:
            weights = self.weights(key)
            self._logs[key] = logs_of(weights, totals_of(weights, key))
        return self._logs[key]

    # -- terms --------------------------------------------------------------------------------------------------------

    def entries(self, row: Any) -> list[tuple[int, Mixture]]:
        """Return the nominal values of an event that hold samples or were declared, as slots and mixtures of codes."""
        entries = []
        for k in range(row.entries):
            slot, code = int(row.feature[k]), int(row.code[k])
            if (
                slot >= len(self.used)
                or code >= self.used[slot]
                or not self.occupied[self.start[slot] + code]
            ):
                continue
            values: Mixture = ((1.0, code),)
            if row.soft and row.inside[k] >= 0.0:
                inside = float(row.inside[k])
                left = 0.5 * (1.0 - inside) ** 2 if code > 0 else 0.0
                right = 0.5 * inside**2 if code < self.used[slot] - 1 else 0.0
                mixed = ((left, code - 1), (1.0 - left - right, code), (right, code + 1))
                values = tuple((share, value) for share, value in mixed if share > 0.0)
            entries.append((slot, values))
        return entries

    def prior_factors(self) -> tuple[list[Factor], Floats]:
        """Return the factor of P(y), or what is certain of it."""
        if self.certain_prior is not None:
            return [], self.certain_prior
        return [Factor(((1.0, CLASSES),), ((1.0, 0),))], self.certain

    def naive_term(self, entries: Sequence[tuple[int, Mixture]]) -> Term:
        """Return the term of values that depend on the class alone."""
        factors, certain = self.prior_factors()
        return Term(
            [*factors, *(Factor(((1.0, ("alone", slot)),), values) for slot, values in entries)], certain
        )

    def terms(self, row: Any) -> list[Term]:
        """Return the terms of P(x, y)."""
        return [self.naive_term(self.entries(row))]


class DrawnTables:
    """Tables drawn from a posterior; each is drawn when it is first read, always the same.

    `make_rng` returns a generator seeded with two numbers of 64 bits, for a table that is drawn when it is read. With
    `learned`, a term, a class and an event, tables are drawn as after the event was learned in these.
    """

    def __init__(
        self,
        posterior: CountedTables,
        rng: np.random.Generator,
        make_rng: Callable[[int, int], np.random.Generator],
        learned: tuple[Term, int, Any] | None = None,
    ) -> None:
        self.posterior = posterior
        self._make_rng = make_rng
        self._raised: dict[TableKey, list[tuple[int, int, float]]] = {}
        self._numbers = posterior.numbers
        if learned is not None:
            self._learn(*learned, rng)
        self._drawn: dict[TableKey, Floats] = {}
        self._logs: dict[TableKey, Floats] = {}
        alone = self._with_raised(posterior.alone, ALONE)
        self._alone = gammas(alone, rng, posterior.runs)
        self._alone_logs: Floats | None = None
        self.numbers = None if self._numbers is None else self._numbers.drawn(rng)
        self.seed = int(rng.bit_generator.random_raw())

    def _learn(self, term: Term, y: int, row: Any, rng: np.random.Generator) -> None:
        """Learn an event in one class and term; where values are mixed, in one of them, by their shares."""
        for factor in term.factors:
            choices = [
                (share * part, key, code)
                for (share, key), (part, code) in product(factor.tables, factor.values)
            ]
            weights = [share * self.posterior.weights(key)[code, y] for share, key, code in choices]
            if not sum(weights) > 0.0:
                continue  # 0/0 is no evidence
            _, key, code = choices[chosen(weights, rng)] if len(choices) > 1 else choices[0]
            learned: TableKey | None = key
            while learned is not None:
                drawn_as, row_of_value = self.posterior.row_of(learned, code)
                self._raised.setdefault(drawn_as, []).append((row_of_value, y, factor.amount))
                learned = self.posterior.also_learned(learned, code, y, rng)
        if self._numbers is not None:
            self._numbers = self._numbers.learned(row, y, rng)

    def _with_raised(self, weights: Floats, key: TableKey) -> Floats:
        if key not in self._raised:
            return weights
        weights = weights.copy()
        for code, y, amount in self._raised[key]:
            weights[code, y] += amount
        return weights

    def _draw(self, key: TableKey, rng: np.random.Generator) -> Floats:
        shapes = self._with_raised(self.posterior.parameters(key, self), key)
        rows = shapes.reshape(-1, 1) if is_joint(key) else shapes
        self._drawn[key] = gammas(rows, rng, FIRST).reshape(shapes.shape)
        return self._drawn[key]

    def weights(self, key: TableKey) -> Floats:
        """Return the drawn weights of a table; each has a generator of its own, so the order of reading is the same."""
        if key == CLASSES:
            return self._alone[-1:]
        if key[0] == "alone":
            return self._alone[self.posterior.slots(key[1])]
        if key not in self._drawn:
            digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
            self._draw(key, self._make_rng(self.seed, int.from_bytes(digest)))
        return self._drawn[key]

    def log_shares(self, key: TableKey) -> Floats:
        """Return the logarithms of a table's probabilities."""
        if key[0] == "alone":
            if self._alone_logs is None:
                starts = self.posterior.runs
                totals = np.add.reduceat(self._alone, starts, axis=0)
                self._alone_logs = logs_of(self._alone, repeated(totals, starts, len(self._alone)))
            return self._alone_logs[self.posterior.slots(key[1])]
        if key not in self._logs:
            weights = self.weights(key)
            self._logs[key] = logs_of(weights, totals_of(weights, key))
        return self._logs[key]

    def log_densities(self, row: Any) -> Floats | float:
        """Return the log-density of an event's numbers by class, by the drawn means and variances."""
        return 0.0 if self.numbers is None else self.numbers.log_densities(row)


def gammas(shapes: Floats, rng: np.random.Generator, starts: NDArray[Any]) -> Floats:
    """Return draws of Gamma distributions by rows; 0 for a shape of 0.

    `starts` are the first rows of the tables. Draws of small shapes may all be too small for a double: then each
    column of a table is scaled by its largest.
    """
    if (
        shapes.size == 0
        or shapes.min() >= LEAST_SHAPE
        or shapes[shapes > 0.0].min(initial=1.0) >= LEAST_SHAPE
    ):
        return rng.standard_gamma(shapes)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rng.standard_gamma(shapes + 1.0)) + np.log(rng.random(shapes.shape)) / shapes
    logs[shapes <= 0.0] = -np.inf
    largest = repeated(np.maximum.reduceat(logs, starts, axis=0), starts, len(logs))
    return np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))


def repeated(rows: Floats, starts: NDArray[Any], size: int) -> Floats:
    """Return a row of each table for each of its rows; `starts` are the first ones."""
    return np.repeat(rows, np.diff(np.append(starts, size)), axis=0)


def chosen(weights: Any, rng: np.random.Generator) -> int:
    """Return an index, drawn by weights."""
    ends = np.cumsum(weights)
    return int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))


class DiscriminantTables(CountedTables):
    """The tables of names, and the posteriors of all numbers together."""

    def numbers_of(self, reading: Any) -> Numbers | None:
        slots, groups = np.asarray(reading.slots), int(reading.groups)
        if len(slots) == 0:
            return None
        posteriors = reading.number_posteriors()[:, slots][:, :, self.columns]
        deviation = np.asarray(reading.deviation).reshape(groups, len(slots))
        scale = np.asarray(reading.correlation).reshape(groups, len(slots), len(slots))
        scale = scale * deviation[:, :, None] * deviation[:, None, :]
        first = 1.0
        if not reading.shares_covariance:
            scale, first = scale[np.minimum(self.live, groups - 1)], float(len(slots))
        index = np.full(int(reading.tables.gaussians.features), -1)
        index[slots] = np.arange(len(slots))
        return JointNumbers(posteriors[0], PRIOR_MEANS + posteriors[7], scale, first, index)
