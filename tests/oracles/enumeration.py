"""A Bayesian network as a plain list of all its rows: what is asked of it is summed over them, one by one.

Nothing is clever here and no line is shared with the package. Probabilities are fractions, so that sums are exact and
zero means impossible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

Row = dict[Any, Any]


@dataclass
class Enumeration:
    """The parents and labels of each variable, and its rows of weights by the labels of the parents, in their order."""

    parents: Mapping[Any, Sequence[Any]]
    labels: Mapping[Any, Sequence[Any]]
    tables: Mapping[Any, Mapping[tuple[Any, ...], Sequence[float]]]

    def rows(self, evidence: Mapping[Any, Any]) -> list[tuple[Row, Fraction]]:
        """Every row with its probability, times what the evidence says of it."""
        found = []
        for values in product(*self.labels.values()):
            row = dict(zip(self.labels, values, strict=True))
            weight = Fraction(1)
            for variable in self.labels:
                weights = self.tables[variable][tuple(row[p] for p in self.parents[variable])]
                at = list(self.labels[variable]).index(row[variable])
                weight *= Fraction(weights[at]) / sum(map(Fraction, weights))
            for variable, known in evidence.items():
                if isinstance(known, dict):
                    weight *= Fraction(known[row[variable]])
                elif known is not None and known != row[variable]:
                    weight = Fraction(0)
            found.append((row, weight))
        return found

    def probability(self, evidence: Mapping[Any, Any]) -> Fraction:
        return sum((weight for _, weight in self.rows(evidence)), Fraction(0))

    def posterior(self, targets: Sequence[Any], evidence: Mapping[Any, Any]) -> dict[tuple[Any, ...], float]:
        """Of the combinations of the targets' labels; the evidence must be possible."""
        answer = dict.fromkeys(product(*(self.labels[v] for v in targets)), Fraction(0))
        for row, weight in self.rows(evidence):
            answer[tuple(row[v] for v in targets)] += weight
        total = sum(answer.values())
        return {labels: float(weight / total) for labels, weight in answer.items()}

    def best(self, evidence: Mapping[Any, Any]) -> Fraction:
        return max(weight for _, weight in self.rows(evidence))


def log_of(fraction: Fraction) -> float:
    """The logarithm even of what no float can hold."""
    if fraction == 0:
        return -math.inf
    return math.log(fraction.numerator) - math.log(fraction.denominator)
