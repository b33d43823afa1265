"""Numbers beyond the outer cuts of a network of bins: how far out one is counts in its score."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import stream_bayes
from stream_bayes import BayesNet, Nominal, Numeric, Schema
from stream_bayes.networks import DynamicNetwork

CUTS = [-1.0, 0.0, 1.0]
SCHEMA = Schema({"n": Numeric(cuts=CUTS), "a": Nominal(["x", "y"])})
NUMBERS = np.random.default_rng(4).normal(0.3, 1.2, 400)


def fed(numbers: Any = NUMBERS, **arguments: Any) -> BayesNet:
    model = BayesNet({"n": ["a"], "a": []}, schema=SCHEMA, **arguments)
    for k, number in enumerate(numbers):
        model.learn_one({"n": float(number), "a": "xy"[k % 3 == 0]})
    return model


def whole_of(numbers: Any = NUMBERS) -> Any:
    values = np.array([*numbers, *CUTS])
    return stats.t(4, values.mean(), values.std() / math.sqrt(2))


def test_the_farther_out_a_number_is_the_more_surprising_it_is_and_inside_it_is_its_bin():
    model = fed()
    scores = [model.score_one({"n": x}) for x in (1.1, 3.0, 9.0, 99.0, 1e100)]
    assert scores == sorted(set(scores)) and scores[3] > scores[0] + 15.0
    assert model.score_one({"n": -99.0}) > model.score_one({"n": -1.1}) + 15.0
    assert (
        model.score_one({"n": 0.1})
        == model.score_one({"n": 0.9})
        == pytest.approx(-math.log(model.query("n")["[0.0, 1.0)"]))
    )
    assert model.view().score_one({"n": 99.0, "a": "x"}) == model.score_one({"n": 99.0, "a": "x"})
    assert BayesNet({"n": []}, schema=SCHEMA).score_one({"n": 99.0}) > 15.0  # the cuts tell the scale


def test_within_an_outer_bin_the_score_is_that_of_a_density():
    model, whole = fed(), whole_of()
    event = {"a": "y"}
    log_rest = model.log_likelihood_one(event)
    tables = model.query("n", event)
    for low, high, name in [(1.0, math.inf, "[1.0, inf)"), (-math.inf, -1.0, "(-inf, -1.0)")]:
        peak = min(max(whole.mean(), low), high)
        unit = (whole.cdf(high) - whole.cdf(low)) / whole.pdf(peak)
        density = lambda x: math.exp(model.log_likelihood_one({"n": x, **event}) - log_rest)
        assert integrate.quad(density, low, high)[0] / unit == pytest.approx(tables[name], rel=1e-6)


def test_the_parts_of_a_far_out_event_explain_its_score_and_its_excess_is_beyond_the_mean_surprise():
    model, whole = fed(), whole_of()
    surprise = model.explain_one({"n": 40.0, "a": "x"})
    assert surprise.total == pytest.approx(model.score_one({"n": 40.0, "a": "x"}), rel=1e-12)
    assert surprise.oddest[0] == "n"
    shares = model.query("n", {"a": "x"})
    mean = -math.fsum(p * math.log(p) for p in shares.values())
    for (low, high), share in zip([(-math.inf, -1.0), (1.0, math.inf)], [*shares.values()][::3], strict=True):
        mass = whole.cdf(high) - whole.cdf(low)
        top = whole.logpdf(min(max(whole.mean(), low), high))
        lost = integrate.quad(lambda x: whole.pdf(x) * (top - whole.logpdf(x)), low, high)[0]  # noqa: B023  # called at once
        mean += share * lost / mass
    assert surprise.expected["n"] == pytest.approx(mean, rel=5e-3)


@pytest.mark.parametrize("arguments", [{}, {"half_life": 50.0}, {"window": 100, "slides": True}])
def test_tails_are_unlearned_merged_faded_and_saved_with_the_counts(
    tmp_path: Path, arguments: dict[str, Any]
):
    model, odd = fed(**arguments), {"n": 7.5, "a": "x"}
    before = model.score_one(odd)
    stream_bayes.save(model, tmp_path / "model.zip")
    loaded = stream_bayes.load(tmp_path / "model.zip")
    assert isinstance(loaded, BayesNet) and loaded.score_one(odd) == before
    model.learn_one({"n": 300.0, "a": "y"})
    assert model.score_one(odd) < before  # the world is wider than it was
    if not arguments:
        model.unlearn_one({"n": 300.0, "a": "y"})
        assert model.score_one(odd) == pytest.approx(before, rel=1e-9)
        halves = [BayesNet({"n": ["a"], "a": []}, schema=SCHEMA) for _ in range(2)]
        for k, number in enumerate(NUMBERS):
            halves[k % 2].learn_one({"n": float(number), "a": "xy"[k % 3 == 0]})
        assert halves[0].merge(halves[1]).score_one(odd) == pytest.approx(before, rel=1e-9)
    if "slides" in arguments:
        apart = [
            m.score_one({"n": 7.5}) - m.score_one({"n": 2.0}) for m in (fed(**arguments), fed(NUMBERS[-100:]))
        ]
        assert apart[0] == pytest.approx(apart[1], rel=1e-9)


def test_an_event_in_time_is_as_far_out_as_its_numbers():
    model = DynamicNetwork({"a": [1]}, structure={"n": ["a@-1"], "a": ["a@-1"]}, schema=SCHEMA)
    for k, number in enumerate(NUMBERS):
        model.learn_one({"n": float(number), "a": "xy"[k % 2]})
    assert model.score_one({"n": 99.0}) > model.score_one({"n": 1.5}) + 15.0
    assert model.explain_one({"n": 99.0}).total == pytest.approx(model.score_one({"n": 99.0}))


def test_with_cuts_at_quantiles_numbers_of_another_world_are_the_most_surprising():
    rng = np.random.default_rng(11)
    names = [f"v{k}" for k in range(5)]
    rows, far = rng.standard_normal((600, 5)), 6.0 * rng.standard_normal((30, 5))
    cuts = {
        v: Numeric(cuts=np.quantile(rows[:, k], np.arange(1, 10) / 10).tolist()) for k, v in enumerate(names)
    }
    model = BayesNet({v: [] for v in names}, schema=Schema(cuts))
    scores = [model.score_learn_one(dict(zip(names, row, strict=True))) for row in rows.tolist()][300:]
    odd = [model.score_one(dict(zip(names, row, strict=True))) for row in far.tolist()]
    assert np.mean([one > other for one in odd for other in scores]) > 0.99  # 0.24 by bins alone
