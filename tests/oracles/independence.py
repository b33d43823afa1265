"""The G-test and shared information out of a list of rows: slow, plain, and sharing no line with the package."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from scipy.stats import chi2

from tests.oracles.structure_scores import Rows


def strata(rows: Rows, one: Any, other: Any, given: Sequence[Any]) -> list[dict[tuple[Any, Any], float]]:
    """The joint weights of two variables for each configuration of others, of the rows that have all of them."""
    found: dict[tuple[Any, ...], dict[tuple[Any, Any], float]] = defaultdict(lambda: defaultdict(float))
    for row, weight in rows:
        pair, above = (row[one], row[other]), tuple(row[v] for v in given)
        if None not in pair and None not in above and weight > 0:
            found[above][pair] += weight
    return list(found.values())


def information(rows: Rows, one: Any, other: Any, given: Sequence[Any] = ()) -> float:
    """For all rows together."""
    answer = 0.0
    for cells in strata(rows, one, other, given):
        whole = sum(cells.values())
        for (a, b), n in cells.items():
            of_a = sum(m for (x, _), m in cells.items() if x == a)
            of_b = sum(m for (_, y), m in cells.items() if y == b)
            answer += n * math.log(n * whole / of_a / of_b)
    return answer


def g_test(rows: Rows, one: Any, other: Any, given: Sequence[Any] = ()) -> tuple[float, int, float]:
    """G, degrees of freedom by the values that occur, and the p-value."""
    statistic = 2 * information(rows, one, other, given)
    freedom = sum(
        (len({a for a, _ in cells}) - 1) * (len({b for _, b in cells}) - 1)
        for cells in strata(rows, one, other, given)
    )
    return statistic, freedom, float(chi2.sf(statistic, freedom)) if freedom else 1.0
