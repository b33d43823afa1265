"""Exact inference in a network over names and numbers: names are enumerated, numbers are conditioned on as Gaussians.

Only the variables asked about, those observed, and their ancestors matter. Each combination of their missing names has
a weight, its probability times the density of the observed numbers, and makes the target a component of a mixture. If
the only number that is missing is a target without children, families are Student's t, as they are learned; otherwise
linear Gaussians, whose joint mean and covariance are built from parents to children.

A missing number above a name matters by its bin: a bin has the probability that the number lies there given the
observed numbers, and the name its share there. Where a bin is not enough, since another number depends on the missing
one, it is eight points, with Gauss and Legendre's weights.

Where there are too many combinations, likelihood weighting draws them: a missing name from its shares given its
parents, a missing number above names from its distribution given the observed ones. Each draw weighs its probability
times the density of what was observed, divided by the probability to be drawn. Other numbers are integrated out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.inference.posterior import Sampled
from stream_bayes.core.live_networks.mixed_families import UNKNOWN, MixedFamilies, standardised
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.measures.truncated_student import TruncatedStudent
from stream_bayes.core.values.unknown_names import no_value_of
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BudgetExceeded, ImpossibleEvidence

__all__ = ["MOST_COMBINATIONS", "MixedInference"]

MOST_COMBINATIONS = 2**16  # of missing names, and bins
MOST_SUMMED_OUT = 2**8  # of them for a density, which is asked of each event
POINTS = [(0.5 + 0.5 * x, 0.5 * w) for x, w in zip(*np.polynomial.legendre.leggauss(8), strict=True)]
MOST_ORDERS = 64  # sets of variables whose order is kept
# Part of what a variable has alone: less is the rounding of a number that follows from others.
LEAST_VARIANCE = 1e-24

StudentForecast = StudentT | TruncatedStudent | None


class MixedQuestion(NamedTuple):
    """A question: the variables that matter to it, and how."""

    target: Value | None  # what is asked for; None for a density
    numbers: list[Value]  # the variables with numbers, parents first
    is_complete: bool  # True if no number is missing but one that no other number depends on
    # The missing numbers above names, the target last, with the bounds of their bins; none: its median stands for it.
    cut: list[tuple[Value, list[float]]]
    below: list[Value]  # the names below them
    # By which numbers of `cut` are still missing, the numbers that depend on one another, and the names above them.
    parts: dict[tuple[bool, ...], list[tuple[list[Value], list[Value]]]]
    answers: dict[Any, tuple[float, StudentT | None]]  # of a part, for each combination of the names above it

    @property
    def by_bin(self) -> Value | None:
        """The number of `cut` of which the bin is enough: the last, if no other number depends on it."""
        last = self.cut[-1][0] if self.cut else None
        return last if self.target == last or self.target not in self.numbers else None

    @property
    def combinations(self) -> int:
        """The number of bins and points that are summed over."""
        by_bin = self.by_bin
        parts = [(len(edges) + 1, len(POINTS) if edges and v != by_bin else 1) for v, edges in self.cut]
        return math.prod(bins * points for bins, points in parts)


class SampledMixture(StudentMixture):
    """The distribution of a number from draws of what is missing beside it. `draws` has the draw of each component, of
    `samples`.
    """

    method = "likelihood-weighting"

    def __init__(
        self,
        weights: Sequence[float],
        components: Sequence[StudentT | TruncatedStudent],
        draws: Sequence[int],
        samples: int,
    ) -> None:
        super().__init__(weights, components)
        self.draws = tuple(draws)
        self.samples = samples
        whole = [each for each in components if isinstance(each, StudentT)]
        # By location, scale and degrees, if no component is cut: there are thousands.
        self._columns = np.array(whole).T if len(whole) == len(components) else None

    def below(self, y: float) -> float:
        """Return the probability that the number is below another one: the probability integral transform."""
        if self._columns is None:
            return super().below(y)
        location, scale, degrees = self._columns
        away, is_gaussian = (y - location) / scale, np.isinf(degrees)
        finite = np.where(is_gaussian, 1.0, degrees)
        shares = np.where(is_gaussian, scipy.special.ndtr(away), scipy.special.stdtr(finite, away))
        return min(1.0, float(shares @ np.array(self.weights)))

    def reliability(self, means: Sequence[float]) -> Sampled:
        """Return how reliable the mean is, where the components have these means."""
        weights, (_, draw) = np.array(self.weights), np.unique(self.draws, return_inverse=True)
        away = weights * (np.array(means) - weights @ np.array(means))
        error = math.sqrt(float((np.bincount(draw, away) ** 2).sum()))
        effective = 1.0 / float((np.bincount(draw, weights) ** 2).sum())
        return Sampled(self.samples, effective, {"mean": error})


class MixedInference:
    """Answers of a network over names and numbers."""

    def __init__(self, families: MixedFamilies) -> None:
        self.families = families
        self.counts = families.counts
        self._ordered_for = self.counts.structure
        self._orders: dict[frozenset[Value], list[Value]] = {}

    def log_density(self, observed: Mapping[Value, Any]) -> float:
        """Return the logarithm of the density of values that the network knows; missing ones are summed out."""
        order = self._order(frozenset(observed))
        if len(order) == len(observed) and self.counts.kinds.keys() >= observed.keys():
            return sum([self.families.log_density(v, observed) for v in order])  # nothing is missing
        logs = [log_weight for log_weight, _, _ in self._combinations(self.bounded(observed), None)]
        return _log_of_sum(logs)

    def bounded(self, observed: Mapping[Value, Any], target: Value | None = None) -> Mapping[Value, Any]:
        """Return values with `UNKNOWN` for what is missing and costs most, so that little is to be summed out.

        So is what no event has had yet. An unknown name leaves its children in a configuration without events; an
        unknown number is at its median.
        """
        kinds, asked = self.counts.kinds, set() if target is None else {target}
        order = self._order(frozenset(observed) | asked)
        names = [v for v in order if v not in observed and v not in asked and kinds.get(v) is False]
        missing = sorted(names, key=lambda v: len(self.families.states(v)))
        never = [v for v in order if v not in kinds or (v in names and not self.families.states(v))]
        combinations, bounded = (
            1,
            {**observed, **dict.fromkeys([v for v in never if v not in asked], UNKNOWN)},
        )
        for v in missing:
            states = max(len(self.families.states(v)), 1)
            if combinations * states > MOST_SUMMED_OUT:
                bounded |= dict.fromkeys(missing[missing.index(v) :], UNKNOWN)
                break
            combinations *= states
        question = self._question(order, bounded, target)
        for v, _ in question.cut:
            if combinations * question.combinations <= MOST_SUMMED_OUT:
                break
            if v != target:
                bounded[v] = UNKNOWN
                question = self._question(order, bounded, target)
        return bounded

    def shares(self, target: Value, observed: Mapping[Value, Any]) -> dict[Value, float]:
        """Return the probability of each value of a nominal variable. Raise `ImpossibleEvidence` for such evidence."""
        states = self.families.states(target)
        if not states:
            raise no_value_of([target])
        rest = {v: value for v, value in observed.items() if v != target}
        logs: dict[Value, list[float]] = {state: [] for state in states}
        for log_weight, values, _ in self._combinations(rest, target):
            logs[values[target]].append(log_weight)
        totals = [_log_of_sum(logs[state]) for state in states]
        most = max(totals)
        if most == -math.inf:
            raise ImpossibleEvidence(f"the evidence has probability 0: {shown(dict(rest))}")
        weights = [math.exp(total - most) for total in totals]
        whole = math.fsum(weights)
        return {state: weight / whole for state, weight in zip(states, weights, strict=True)}

    def number(self, target: Value, observed: Mapping[Value, Any]) -> StudentMixture:
        """Return the distribution of a numeric variable. Raise `ImpossibleEvidence` for such evidence."""
        if target not in self.counts.kinds:
            raise no_value_of([target])
        rest = {v: value for v, value in observed.items() if v != target}
        components = [(log, each) for log, _, each in self._combinations(rest, target) if log > -math.inf]
        if not components:
            raise ImpossibleEvidence(f"the evidence has probability 0: {shown(dict(rest))}")
        most = max(log for log, _ in components)
        weights = [math.exp(log - most) for log, _ in components]
        whole = math.fsum(weights)
        return StudentMixture(
            [weight / whole for weight in weights], [each for _, each in components if each is not None]
        )

    def sampled_shares(
        self, target: Value, observed: Mapping[Value, Any], samples: int, rng: np.random.Generator
    ) -> tuple[dict[Value, float], Sampled]:
        """Return the probability of each value of a nominal variable by likelihood weighting, and their reliability."""
        rest = {v: value for v, value in observed.items() if v != target}
        column = {state: k for k, state in enumerate(self.families.states(target))}
        draws = [
            (number, log, column[values[target]])
            for number, log, values, _ in self._draws(rest, target, samples, rng)
        ]
        weights = _weights([log for _, log, _ in draws], rest)
        table = np.zeros((samples, len(column)))
        for (number, _, state), weight in zip(draws, weights.tolist(), strict=True):
            table[number, state] += weight
        shares = table.sum(axis=0)
        whole = table.sum(axis=1)
        effective = 1.0 / float((whole * whole).sum())
        errors = np.sqrt(((table - whole[:, None] * shares) ** 2).sum(axis=0)).clip(1.0 / effective)
        names = [*column]
        sampled = Sampled(samples, effective, dict(zip(names, errors.tolist(), strict=True)))
        return dict(zip(names, shares.tolist(), strict=True)), sampled

    def sampled_number(
        self, target: Value, observed: Mapping[Value, Any], samples: int, rng: np.random.Generator
    ) -> SampledMixture:
        """Return the distribution of a numeric variable by likelihood weighting."""
        if target not in self.counts.kinds:
            raise no_value_of([target])
        rest = {v: value for v, value in observed.items() if v != target}
        draws = [
            (number, log, each)
            for number, log, _, each in self._draws(rest, target, samples, rng)
            if each is not None
        ]
        weights = _weights([log for _, log, _ in draws], rest)
        possible = np.flatnonzero(weights > 0.0).tolist()
        return SampledMixture(
            weights[possible].tolist(),
            [draws[k][2] for k in possible],
            [draws[k][0] for k in possible],
            samples,
        )

    def _draws(
        self, observed: Mapping[Value, Any], target: Value | None, samples: int, rng: np.random.Generator
    ) -> Iterator[tuple[int, float, dict[Value, Any], StudentForecast]]:
        """Yield the number of each draw of missing names, its log-weight, all names, and a numeric target."""
        question, missing, settled, evidence = self._prepared(observed, target)
        draws_numbers = any(v != question.by_bin for v, _ in question.cut)
        answers: dict[tuple[Value, ...], list[tuple[float, dict[Value, Any], StudentForecast]]] = {}
        for number in range(samples):
            values, log_chance = dict(evidence), 0.0
            for v in missing:
                shares = self._alone(v) if v in question.below else self.families.shares(v, values)
                values[v] = _drawn(shares, rng)
                log_chance += math.log(shares[values[v]])
            key = tuple(values[v] for v in missing)
            parts = None if draws_numbers else answers.get(key)
            if parts is None:
                parts = answers[key] = [*self._parts(question, values, rng=rng)]
            log_weight = self._log_of_names(settled, values) - log_chance
            for log_density, there, forecast in parts:
                yield number, log_weight + log_density, there, forecast

    def _alone(self, v: Value) -> dict[Value, float]:
        """Return the shares of a nominal variable whatever its parents."""
        counts, states, strength = self.counts.counts(v), self.families.states(v), self.families.strength
        total = math.fsum(counts.values()) + strength
        return {value: (counts.get(value, 0.0) + strength / len(states)) / total for value in states}

    def _prepared(
        self, observed: Mapping[Value, Any], target: Value | None
    ) -> tuple[MixedQuestion, list[Value], list[Value], dict[Value, Any]]:
        """Return a question, the missing names that matter, those that no missing number is above, and the values."""
        kinds = self.counts.kinds
        order = self._order(frozenset(observed) | ({target} if target is not None else set()))
        for v in order:
            if v not in observed and (v not in kinds or (not kinds[v] and not self.families.states(v))):
                raise no_value_of([v])
        order = [v for v in order if v in kinds]
        question = self._question(order, observed, target)
        names = [v for v in order if not kinds[v]]
        missing = [v for v in names if v not in observed]
        settled = [v for v in names if v not in question.below]
        evidence = {v: x for v, x in observed.items() if not (kinds.get(v) and x is UNKNOWN)}
        return question, missing, settled, evidence

    def _combinations(
        self, observed: Mapping[Value, Any], target: Value | None
    ) -> Iterator[tuple[float, dict[Value, Any], StudentForecast]]:
        """Yield, for each combination of missing names and bins, its log-weight, all names, and a numeric target."""
        question, missing, settled, evidence = self._prepared(observed, target)
        states = [self.families.states(v) for v in missing]
        combinations = math.prod(map(len, states)) * question.combinations
        if combinations > MOST_COMBINATIONS:
            numbers = f" and {len(question.cut)} numbers above names" if question.cut else ""
            raise BudgetExceeded(
                f"{len(missing)} names{numbers} are missing, which have {combinations:,} combinations; at most "
                f"{MOST_COMBINATIONS:,} are enumerated. Give more evidence, or ask about fewer variables"
            )
        for combination in itertools.product(*states):
            values = {**evidence, **dict(zip(missing, combination, strict=True))}
            log_weight = self._log_of_names(settled, values)
            if log_weight == -math.inf:
                continue
            for log_density, values_there, forecast in self._parts(question, values):
                yield log_weight + log_density, values_there, forecast

    def _question(
        self, order: list[Value], observed: Mapping[Value, Any], target: Value | None
    ) -> MixedQuestion:
        counts = self.counts
        numbers = [v for v in order if counts.kinds.get(v)]
        missing = {v for v in numbers if observed.get(v, UNKNOWN) is UNKNOWN}
        depend = any(p in missing for v in numbers for p in counts.numeric_parents(v))
        names = [v for v in order if counts.kinds.get(v) is False and observed.get(v) is not UNKNOWN]
        below = [v for v in names if not missing.isdisjoint(counts.cut_parents(v))]
        above = sorted(
            missing.intersection(*[[p for v in below for p in counts.cut_parents(v)]]), key=numbers.index
        )
        cut = [
            (
                p,
                []
                if p in observed
                else sorted({each for v in below for each in counts.cuts.get((p, v), ())}),
            )
            for p in sorted(above, key=lambda p: p == target)
        ]
        return MixedQuestion(target, numbers, len(missing) < 2 and not depend, cut, below, {}, {})

    def _parts(
        self,
        question: MixedQuestion,
        values: dict[Value, Any],
        done: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Iterator[tuple[float, dict[Value, Any], StudentForecast]]:
        """Yield the log-density of observed numbers and of names below missing ones, by the bins of those to do.

        With `rng` these are drawn, but for those of the last number.
        """
        density = self._students if question.is_complete else self._gaussians
        if done == len(question.cut):
            log_density, predicted = density(question, values, question.target)
            yield log_density + self._log_of_names(question.below, values), values, predicted
            return
        v, edges = question.cut[done]
        log_density, alone = density(question, values, v)
        assert alone is not None
        if rng is not None and v != question.by_bin:
            there = {**values, v: alone.quantile(rng.random())}
            log_weight = -alone.log_density(there[v])
            for log_rest, further, forecast in self._parts(question, there, done + 1, rng):
                yield log_weight + log_rest, further, forecast
            return
        for low, high in itertools.pairwise((-math.inf, *edges, math.inf)):
            part = TruncatedStudent(alone, low, high)
            mass = part.mass
            if mass <= 0.0:
                continue
            if v == question.by_bin:
                there = {**values, v: low}  # of this bin, as any number in it
                log_weight = log_density + math.log(mass) + self._log_of_names(question.below, there)
                yield log_weight, there, part if v == question.target else None
                continue
            for share, weight in POINTS if edges else [(0.5, 1.0)]:
                there = {**values, v: min(part.quantile(share), math.nextafter(high, -math.inf))}
                log_weight = math.log(mass * weight) - alone.log_density(there[v])
                for log_rest, further, forecast in self._parts(question, there, done + 1, rng):
                    yield log_weight + log_rest, further, forecast

    def _order(self, asked: frozenset[Value]) -> list[Value]:
        """Return the variables that matter, parents first; those of the newest questions are kept."""
        structure = self.counts.structure
        if structure is not self._ordered_for or len(self._orders) >= MOST_ORDERS:
            self._ordered_for, self._orders = structure, {}
        if asked not in self._orders:
            wanted = asked.union(*(structure.ancestors(v) for v in asked))
            self._orders[asked] = [v for v in structure.topological_order if v in wanted]
        return self._orders[asked]

    def _log_of_names(self, names: list[Value], values: Mapping[Value, Any]) -> float:
        total = 0.0
        for v in names:
            share = self.families.share(v, values)
            if share <= 0.0:
                return -math.inf
            total += math.log(share)
        return total

    def _students(
        self, question: MixedQuestion, values: Mapping[Value, Any], target: Value | None
    ) -> tuple[float, StudentT | None]:
        total, forecast = 0.0, None
        for v in question.numbers:
            if v not in values and v != target:
                continue  # nothing observed depends on it
            parents = [values[p] for p in self.counts.numeric_parents(v)]
            predicted = self.families.numeric(v, values).predict(parents)
            if v == target:
                forecast = predicted
            else:
                total += predicted.log_density(values[v])
        return total, forecast

    def _gaussians(
        self, question: MixedQuestion, values: Mapping[Value, Any], target: Value | None
    ) -> tuple[float, StudentT | None]:
        """Condition the joint Gaussian of all numbers on the observed ones: each part that depends on no other alone,
        once for each combination of the names above it.
        """
        total, forecast = 0.0, None
        filled = tuple(values.get(v) for v, _ in question.cut)
        cuts = tuple(value is None for value in filled)
        if cuts not in question.parts:
            question.parts[cuts] = [*self._independent(question.numbers, values)]
        for number, (part, above) in enumerate(question.parts[cuts]):
            asked = target if target in part else None
            if asked is None and not any(v in values for v in part):
                continue
            key = (number, asked, filled, tuple(values[p] for p in above))
            if key not in question.answers:
                question.answers[key] = self._gaussian(part, values, asked)
            log_density, predicted = question.answers[key]
            total += log_density
            forecast = predicted or forecast
        return total, forecast

    def _independent(
        self, numbers: list[Value], values: Mapping[Value, Any]
    ) -> Iterator[tuple[list[Value], list[Value]]]:
        """Yield the numbers that depend on one another, given those observed, and the names above them."""
        parts: list[list[Value]] = []
        for v in numbers:
            missing = {p for p in self.counts.numeric_parents(v) if p not in values}
            linked = [part for part in parts if not missing.isdisjoint(part)]
            parts = [part for part in parts if missing.isdisjoint(part)]
            parts.append([*itertools.chain(*linked), v])
        for part in parts:
            part.sort(key=numbers.index)
            yield part, [*dict.fromkeys(p for v in part for p in self.counts.nominal_parents(v))]

    def _gaussian(
        self, numbers: list[Value], values: Mapping[Value, Any], target: Value | None
    ) -> tuple[float, StudentT | None]:
        """Condition the joint Gaussian of some numbers, in the units of each variable alone, on the observed ones."""
        size = len(numbers)
        if size == 1:
            return self._single_gaussian(numbers[0], values, target)
        row = {v: k for k, v in enumerate(numbers)}
        units = [self.families.unit(v) for v in numbers]
        mean, covariance = np.zeros(size), np.zeros((size, size))
        for k, v in enumerate(numbers):
            line = self.families.numeric(v, values).linear()
            spread, offset = units[k].spread, [line.intercept, -units[k].mean]
            covariance[k, k] = line.variance / spread**2
            for p, slope in zip(self.counts.numeric_parents(v), line.slopes, strict=True):
                unit = self.families.unit(p)
                offset.append(slope * unit.mean)
                if p in values:
                    mean[k] += slope * unit.spread / spread * standardised(values[p], unit)
                else:
                    mean[k] += slope * unit.spread / spread * mean[row[p]]
                    covariance[k, :k] += slope * unit.spread / spread * covariance[row[p], :k]
            mean[k] += math.fsum(offset) / spread
            covariance[:k, k] = covariance[k, :k]
            for p, slope in zip(self.counts.numeric_parents(v), line.slopes, strict=True):
                if p not in values:
                    covariance[k, k] += slope * self.families.unit(p).spread / spread * covariance[k, row[p]]
        seen = [k for k, v in enumerate(numbers) if v in values]
        away = np.array([standardised(values[numbers[k]], units[k]) for k in seen]) - mean[seen]
        factor = np.linalg.cholesky(covariance[np.ix_(seen, seen)])
        partial = scipy.linalg.solve_triangular(factor, away, lower=True) if seen else away
        log_density = -0.5 * float(partial @ partial) - math.fsum(np.log(np.diag(factor)).tolist())
        log_density -= 0.5 * len(seen) * math.log(2.0 * math.pi)
        log_density -= math.fsum(math.log(units[k].spread) for k in seen)
        if target is None:
            return log_density, None
        k = row[target]
        variance, location = float(covariance[k, k]), float(mean[k])
        if seen:
            gain = scipy.linalg.solve_triangular(factor, covariance[seen, k], lower=True)
            variance, location = variance - float(gain @ gain), location + float(gain @ partial)
        unit = units[k]
        scale = unit.spread * math.sqrt(max(variance, LEAST_VARIANCE))
        return log_density, StudentT(unit.mean + unit.spread * location, scale, math.inf)

    def _single_gaussian(
        self, v: Value, values: Mapping[Value, Any], target: Value | None
    ) -> tuple[float, StudentT | None]:
        """Do what `_gaussian` does for one number, whose parents are all observed."""
        unit, line = self.families.unit(v), self.families.numeric(v, values).linear()
        offset, mean = [line.intercept, -unit.mean], 0.0
        for p, slope in zip(self.counts.numeric_parents(v), line.slopes, strict=True):
            above = self.families.unit(p)
            offset.append(slope * above.mean)
            mean += slope * above.spread / unit.spread * standardised(values[p], above)
        mean += math.fsum(offset) / unit.spread
        variance, log_density = line.variance / unit.spread**2, 0.0
        if v in values:
            deviation = math.sqrt(variance)
            partial = (standardised(values[v], unit) - mean) / deviation
            log_density = -0.5 * (partial * partial + math.log(2.0 * math.pi)) - math.log(deviation)
            log_density -= math.log(unit.spread)
        if target is None:
            return log_density, None
        scale = unit.spread * math.sqrt(max(variance, LEAST_VARIANCE))
        return log_density, StudentT(unit.mean + unit.spread * mean, scale, math.inf)


def _log_of_sum(logs: list[float]) -> float:
    """Return the logarithm of a sum of numbers that are given as logarithms; -inf of none."""
    most = max(logs, default=-math.inf)
    return most if most == -math.inf else most + math.log(math.fsum(math.exp(log - most) for log in logs))


def _drawn(shares: Mapping[Value, float], rng: np.random.Generator) -> Value:
    """Return a value drawn by its share."""
    ends = np.cumsum([*shares.values()])
    return [*shares][min(int(np.searchsorted(ends, rng.random() * ends[-1], side="right")), len(ends) - 1)]


def _weights(logs: list[float], observed: Mapping[Value, Any]) -> NDArray[np.float64]:
    """Return the weights of draws, which sum to 1. Raise `ImpossibleEvidence` if none fits the evidence."""
    most = max(logs, default=-math.inf)
    if most == -math.inf:
        raise ImpossibleEvidence(
            f"no draw fits the evidence, which is all but impossible: {shown(dict(observed))}"
        )
    weights = np.exp(np.array(logs) - most)
    return weights / weights.sum()
