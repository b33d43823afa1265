"""Mutual information from counts: its interval holds the true value as often as it says."""

from __future__ import annotations

import numpy as np
import pytest

from stream_bayes.core.measures.mutual_information import mutual_information


@pytest.mark.parametrize("rows", [200, 2000])
@pytest.mark.parametrize("strength", [0.0, 0.05, 0.3, 0.9])
def test_the_interval_holds_the_true_information_of_most_samples(strength: float, rows: int) -> None:
    shares = (1 - strength) * np.full((4, 3), 1 / 12)
    shares[[0, 1, 2, 3], [0, 1, 2, 0]] += strength / 4
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    true = float((shares * np.log(shares / expected)).sum())
    rng = np.random.default_rng(3)
    samples = rng.multinomial(rows, shares.ravel(), 400).reshape(400, 4, 3)
    found = [mutual_information(sample) for sample in samples]
    assert np.mean([each.low <= true + 1e-12 and true <= each.high + 1e-12 for each in found]) > 0.92
    assert np.mean([each.nats for each in found]) == pytest.approx(true, rel=0.1, abs=0.01)


def test_one_row_or_column_tells_nothing() -> None:
    assert (
        mutual_information(np.array([[3, 4]])) == mutual_information(np.array([[3, 0], [4, 0]])) == (0, 0, 0)
    )
