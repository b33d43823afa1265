"""Draws of a network over names and numbers: tables of names, and coefficients and variances of numbers.

The posteriors of families are independent, so the mean over draws of a complete event's density is the network's. Of y
given z, in the symbols of `mixed_families`, with T_y.z the square of the factor's last entry and n the weight:

    variance v ~ T_y.z / chi2(f + d)       mean at mean_z ~ N(mean_y, v / n)       T_zz slopes ~ N(T_yz, v T_zz)

Both are drawn when a family is first read, always the same, whatever was read before.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from stream_bayes.core.draws.drawn_tables import FIRST, gammas
from stream_bayes.core.live_networks.mixed_counts import MixedCounts
from stream_bayes.core.live_networks.mixed_families import UNKNOWN, MixedFamilies, NumericFamily
from stream_bayes.core.live_networks.mixed_inference import MixedInference
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.values.unknown_names import no_value_of
from stream_bayes.core.values.values import Value, tagged

__all__ = ["DrawnFamilies", "completed"]


class _DrawnFamily(NumericFamily):
    """A number given its numeric parents, with drawn coefficients and variance."""

    def __init__(self, family: NumericFamily, rng: np.random.Generator) -> None:
        size = family.size
        super().__init__(size, family.strength)
        self.centre, self.spread = family.centre, family.spread
        self.weight, self.freedom = family.weight, family.freedom
        mean, factor = np.array(family.mean), np.array(family.factor).reshape(size, size)
        self.deviation = float(factor[-1, -1]) / math.sqrt(rng.chisquare(family.freedom + size - 1))
        noise = self.deviation * rng.standard_normal(size)
        mean[-1] += noise[-1] / math.sqrt(family.weight)
        factor[-1, :-1] += noise[:-1]
        factor[-1, -1] = self.deviation
        self.mean, self.factor = mean, factor.reshape(-1)

    def predict(self, numbers: list[float]) -> StudentT:
        mean, _ = self.mean_at(numbers)
        unit = float(self.spread[-1])
        return StudentT(float(self.centre[-1]) + unit * mean, unit * self.deviation, math.inf)

    @property
    def variance(self) -> float:
        return self.deviation**2


class DrawnFamilies(MixedFamilies):
    """The families of a network with drawn tables. `make_rng` returns a generator seeded with two numbers."""

    def __init__(
        self,
        counts: MixedCounts,
        strength: float,
        seed: int,
        make_rng: Callable[[int, int], np.random.Generator],
    ) -> None:
        super().__init__(counts, strength)
        self._seed = seed
        self._make_rng = make_rng
        self._drawn_shares: dict[tuple[Any, ...], dict[Value, float]] = {}
        self._drawn_numbers: dict[tuple[Any, ...], NumericFamily] = {}

    def shares(self, v: Value, values: Mapping[Value, Any]) -> dict[Value, float]:
        configuration = self.counts.configuration(v, values)
        key = (v, configuration)
        if key not in self._drawn_shares:
            means = super().shares(v, values)
            weight = math.fsum(self.counts.counts(v, configuration).values()) + self.strength
            shapes = np.array([[weight * share] for share in means.values()])
            drawn = gammas(shapes, self._generator(key), FIRST)[:, 0]
            self._drawn_shares[key] = dict(zip(means, (drawn / drawn.sum()).tolist(), strict=True))
        return self._drawn_shares[key]

    def numeric(self, v: Value, values: Mapping[Value, Any]) -> NumericFamily:
        key = (v, self.counts.configuration(v, values))
        if key not in self._drawn_numbers:
            self._drawn_numbers[key] = _DrawnFamily(super().numeric(v, values), self._generator(key))
        return self._drawn_numbers[key]

    def _generator(self, key: tuple[Value, tuple[Any, ...]]) -> np.random.Generator:
        v, configuration = key
        text = json.dumps(
            [tagged(v), *("unknown" if each is UNKNOWN else tagged(each) for each in configuration)]
        )
        number = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        return self._make_rng(self._seed, number)


def completed(
    inference: MixedInference, observed: Mapping[Value, Any], rng: np.random.Generator
) -> dict[Value, Any]:
    """Return an event with what is missing drawn given what it has, parents first."""
    families, counts = inference.families, inference.counts
    structure, values = counts.structure, dict(observed)
    above = set().union(*(structure.ancestors(v) for v in observed))
    for v in structure.topological_order:
        if v in values:
            continue
        kind = counts.kinds.get(v)
        if kind is None or not (kind or families.states(v)):
            raise no_value_of([v])
        if kind:
            parents = [values[p] for p in counts.numeric_parents(v)]
            if v in above:
                mixture = inference.number(v, values)
                component: Any = mixture.components[_chosen(mixture.weights, rng)]
            else:
                component = families.numeric(v, values).predict(parents)
            values[v] = float(component.quantile(rng.random()))
        else:
            shares = inference.shares(v, values) if v in above else families.shares(v, values)
            values[v] = [*shares][_chosen([*shares.values()], rng)]
    return values


def _chosen(weights: Any, rng: np.random.Generator) -> int:
    return int(rng.choice(len(weights), p=np.array(weights) / math.fsum(weights)))
