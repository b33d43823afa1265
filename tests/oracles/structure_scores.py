"""Scores of structures out of a list of rows: slow, plain, and sharing no line with the package.

A row is a dict of codes, where None is missing, and its weight.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[tuple[Mapping[Any, int | None], float]]


def family_counts(rows: Rows, child: Any, parents: Sequence[Any]) -> dict[tuple[Any, ...], dict[int, float]]:
    """Return the weight of rows with the whole family, by the parents' values and the child's."""
    counts: dict[tuple[Any, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row, weight in rows:
        above = tuple(row[parent] for parent in parents)
        value = row[child]
        if value is not None and None not in above:
            counts[above][value] += weight
    return counts


def family_score(
    kind: str,
    rows: Rows,
    sizes: Mapping[Any, int],
    child: Any,
    parents: Sequence[Any],
    sample_size: float = 1.0,
) -> float:
    """The score of a family; what is missing counts as if it were like the rest."""
    counts = family_counts(rows, child, parents)
    whole = sum(weight for _, weight in rows)
    counted = sum(weight for values in counts.values() for weight in values.values())
    width, configurations = sizes[child], math.prod(sizes[parent] for parent in parents)
    free = configurations * (width - 1)
    answer = 0.0
    for values in counts.values():
        total = sum(values.values())
        if kind in ("LogLikelihood", "AIC", "BIC"):
            answer += sum(n * (math.log(n) - math.log(total)) for n in values.values() if n > 0)
        else:
            cell = 1.0 if kind == "K2" else sample_size / configurations / width
            answer += math.lgamma(cell * width) - math.lgamma(cell * width + total)
            answer += sum(math.lgamma(cell + values.get(k, 0.0)) - math.lgamma(cell) for k in range(width))
    if counted:
        answer *= whole / counted
    if kind == "AIC":
        answer -= free
    if kind == "BIC":
        answer -= math.log(max(whole, 1.0)) / 2 * free
    return answer


def structure_score(
    kind: str,
    rows: Rows,
    sizes: Mapping[Any, int],
    parents: Mapping[Any, Sequence[Any]],
    sample_size: float = 1.0,
) -> float:
    """The sum over the families."""
    return sum(family_score(kind, rows, sizes, child, above, sample_size) for child, above in parents.items())
