"""Drift of features: false alarms keep their level, changes are found, missing and unseen values are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_bayes.evaluation.feature_drift import FeatureDrift, drift_of_features

Row = dict[str, Any]


def rows(rng: np.random.Generator, count: int, features: int) -> list[Row]:
    """Events whose features never drift: numbers, names, rare names, and one in ten values missing."""
    table = {f"n{k}": rng.normal(size=count).tolist() for k in range(features)}
    table |= {f"c{k}": rng.choice(list("abc"), count, p=[0.6, 0.3, 0.1]).tolist() for k in range(features)}
    table |= {f"r{k}": (rng.zipf(1.7, count) % 50).astype(str).tolist() for k in range(features)}
    found = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    for row in found:
        for name in rng.choice(list(row), len(row) // 10, replace=False).tolist():
            del row[name]
    return found


def by_name(drifts: list[FeatureDrift]) -> dict[Any, FeatureDrift]:
    return {each.name: each for each in drifts}


def test_of_features_that_stay_hardly_any_is_said_to_drift_and_p_values_are_uniform() -> None:
    rng = np.random.default_rng(3)
    alarms, ps = 0, []
    for _ in range(12):
        one, other = rows(rng, 300, 8), rows(rng, 200, 8)
        drifts = drift_of_features(one, other, list(dict.fromkeys(name for row in one for name in row)))
        alarms += any(each.has_drifted for each in drifts)
        ps += [each.p for each in drifts if each.p is not None]
    assert alarms <= 3  # each of twelve with a probability of 5 %
    assert len(ps) == 12 * 24 and stats.kstest(ps, "uniform").pvalue > 0.001


def test_p_values_are_those_of_tests_written_out() -> None:
    rng = np.random.default_rng(4)
    one = [{"x": v, "c": c} for v, c in zip(rng.normal(0, 1, 90), rng.choice(list("ab"), 90), strict=True)]
    other = [
        {"x": v, "c": c} for v, c in zip(rng.normal(0.3, 1, 60), rng.choice(list("aab"), 60), strict=True)
    ]
    other += [{"c": "a"}] * 10
    drifts = by_name(drift_of_features(one, other, ["x", "c"]))
    x, c = drifts["x"], drifts["c"]
    points = sorted(row["x"] for row in [*one, *other[:60]])
    below = [[np.mean([row["x"] <= at for row in part]) for at in points] for part in (one, other[:60])]
    assert x.distance == pytest.approx(np.abs(np.subtract(below[0], below[1])).max())
    # Kolmogorov's limit is what scipy approximates for such sizes.
    assert x.p == pytest.approx(stats.kstwobign.sf(x.distance * np.sqrt(90 * 60 / 150)), rel=0.3)
    counts = np.array([[sum(row["c"] == value for row in part) for part in (one, other)] for value in "ab"])
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    assert c.p == pytest.approx(stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 1))
    assert x.missing_p == pytest.approx(stats.hypergeom.cdf(0, 160, 10, 90), rel=1e-6)
    pairs = [(x.p, x.adjusted), (x.missing_p, x.missing_adjusted), (c.p, c.adjusted)]
    ps, adjusted = np.array(sorted(pairs, key=str), float).T
    order = np.argsort(ps)
    ranked = np.minimum.accumulate((ps[order] * 3 / np.arange(1, 4))[::-1])[::-1]
    assert adjusted[order] == pytest.approx(ranked)


def test_missing_unseen_and_untestable_values_are_counted() -> None:
    reference = [{"a": k / 10, "b": "x", "id": f"r{k}", "flag": True} for k in range(100)]
    now = [{"a": k / 5, "b": "y" if k < 25 else None, "id": f"n{k}", "flag": k % 2 == 0} for k in range(100)]
    drifts = by_name(drift_of_features(reference, now, ["a", "b", "id", "flag", "none"]))
    assert drifts["a"].unseen == pytest.approx(0.5) and drifts["a"].has_drifted
    assert (drifts["b"].missing_before, drifts["b"].missing_now, drifts["b"].unseen) == (0.0, 0.75, 1.0)
    assert drifts["b"].has_drifted and drifts["flag"].has_drifted and drifts["flag"].kind == "nominal"
    assert (drifts["id"].p, drifts["id"].unseen) == (None, 1.0)
    assert (drifts["none"].p, drifts["none"].missing_now, drifts["none"].shares) == (None, 1.0, [])
    assert sum(each.before for each in drifts["a"].shares) == pytest.approx(1.0)
    assert [each.value for each in drifts["id"].shares][-1] is None


def test_numbers_of_arrays_are_numbers() -> None:
    rng = np.random.default_rng(4)
    for number in (np.float32, np.int64):
        reference, now = ([{"wind": number(v)} for v in rng.integers(0, 90, 200)] for _ in range(2))
        (drift,) = drift_of_features(reference, now, ["wind"])
        assert drift.kind == "numeric"
