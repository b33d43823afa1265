"""E-values of a change: their mean without one is at most 1, whatever the table, and a change raises them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from stream_bayes.core.evidence.exchangeability import CellLayout, LogGamma, log_evidence


@pytest.mark.parametrize("values", [[0, 0, 1, 1, 2, 0], [0, 1, 1, 1, 1, 1]])
def test_over_all_orders_of_the_same_values_the_mean_is_at_most_1(values: list[int]) -> None:
    layout, log_gamma = CellLayout(np.array([1]), np.array([3])), LogGamma()
    orders = np.array(list(permutations(values)))
    for newest in range(1, 6):
        counts = [
            np.array([np.bincount(part, minlength=3) for part in parts])
            for parts in (orders[:, :-newest], orders[:, -newest:])
        ]
        assert np.exp(log_evidence(counts[0], counts[1], layout, log_gamma)).mean() <= 1.0 + 1e-12


def test_each_table_has_the_evidence_that_it_has_alone() -> None:
    rng, log_gamma = np.random.default_rng(1), LogGamma()
    whole = CellLayout(np.array([2, 1, 4]), np.array([3, 2, 5]))
    before, after = (rng.integers(0, most, (3, whole.cells)) for most in (40, 9))
    together = log_evidence(before, after, whole, log_gamma)
    for table in range(3):
        cells, alone = whole.part(table)
        expected = log_evidence(before[:, cells], after[:, cells], alone, log_gamma)
        np.testing.assert_allclose(together[:, [table]], expected)
