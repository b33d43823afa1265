"""Numbers by the normal scores of their ranks: densities, the copula that is true, files, and what is refused."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import stream_bayes
from stream_bayes import MixedNetwork, Numeric, Schema
from stream_bayes.core.live_networks.mixed_inference import SampledMixture
from stream_bayes.core.live_networks.normal_scores import NormalScores, ScoredMixture
from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.errors import BadValue, CannotMerge, NotSupported
from stream_bayes.networks import mixed_structure


def drawn(seed: int, events: int, power: float = 1.5) -> tuple[list[dict[str, Any]], list[float]]:
    """Return events with two log-normal numbers and a name, and their losses under the truth."""
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], events)
    yes = stats.norm.cdf(2.0 * z[:, 0])
    named = rng.random(events) < yes
    x = np.exp(power * z)
    loss = -stats.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]]).logpdf(z) + np.log(power * x).sum(axis=1)
    loss -= np.log(np.where(named, yes, 1.0 - yes))
    rows = [{"a": a, "b": b, "k": "ny"[int(k)]} for (a, b), k in zip(x.tolist(), named, strict=True)]
    return rows, loss.tolist()


def test_losses_compare_with_those_of_plain_numbers_and_come_near_the_truth() -> None:
    rows, truth = drawn(81, 1_500)
    ranked, plain = MixedNetwork(transform="ranks"), MixedNetwork()
    losses = np.array([[each.score_learn_one(row) for each in (ranked, plain)] for row in rows])[-500:]
    assert losses[:, 0].mean() < np.mean(truth[-500:]) + 0.15
    assert losses[:, 1].mean() > np.mean(truth[-500:]) + 1.0
    assert ("a", "b") in ranked.structure.edges or ("b", "a") in ranked.structure.edges
    far = [ranked.score_one({"a": x, "b": 1.0}) for x in (3.0, 1e3, 1e6, 1e50, 1e100)]
    assert far == sorted(set(far)) and math.isfinite(far[-1])
    assert ranked.p_value_one({"a": 1e6, "b": 0.01, "k": "n"}) < 0.01


def test_densities_integrate_to_one_and_answers_are_those_of_the_density() -> None:
    rows, _ = drawn(82, 400)
    model = MixedNetwork({"a": ["k"], "b": ["a"], "k": []}, transform="ranks", window=400)
    model.learn_many(rows)
    knots = [math.log(x) for x in model._ranks["b"].knots]
    forecast = model.query("b", {"a": 2.0, "k": "y"})
    spans = [-60.0, *knots, 60.0]  # of the logarithm: a tail is as heavy as a log-normal one
    parts = [
        integrate.quad(lambda u: forecast.density(math.exp(u)) * math.exp(u), low, high)[0]
        for low, high in pairwise(spans)
    ]
    below_zero = forecast.below(0.0)
    assert sum(parts) + below_zero == pytest.approx(1.0, abs=1e-4)
    middle = len(knots) // 2 + 1
    assert sum(parts[:middle]) + below_zero == pytest.approx(
        forecast.below(math.exp(spans[middle])), abs=1e-4
    )
    low, high = forecast.interval(0.8)
    assert forecast.below(low) == pytest.approx(0.1) and forecast.below(high) == pytest.approx(0.9)
    joint = {"a": 2.0, "b": 3.0, "k": "y"}
    given = model.log_density_one({"a": 2.0, "k": "y"})
    assert model.log_density_one(joint) == pytest.approx(given + forecast.log_density(3.0), abs=1e-9)
    surprise = model.explain_one(joint)
    assert surprise.total == pytest.approx(model.score_one(joint), abs=1e-9)
    assert surprise.expected["b"] == pytest.approx(forecast.entropy)
    assert low < forecast.mean < high and model.predict_one({"a": 2.0, "k": "y"}, "b") == forecast.mean
    sample = model.sample(3_000, np.random.default_rng(3))
    assert np.median([x["b"] for x in sample]) == pytest.approx(
        np.median([row["b"] for row in rows]), rel=0.25
    )


def test_the_error_of_a_drawn_mean_is_that_of_the_number_and_not_of_its_score() -> None:
    scores = NormalScores.of(np.exp(np.random.default_rng(2).standard_normal(500)), np.ones(500))
    parts = [StudentT(z, 0.3, 9.0) for z in (-1.0, 0.0, 2.0)]
    drawn_scores = SampledMixture([0.5, 0.2, 0.3], parts, [4, 9, 9], 10)
    number = ScoredMixture(drawn_scores, scores)
    away = [weight * (mean - number.mean) for weight, mean in zip(number.weights, number.means, strict=True)]
    assert number.method == "likelihood-weighting"
    assert number.sampled.errors["mean"] == pytest.approx(math.hypot(away[0], away[1] + away[2]))
    assert number.sampled.effective == drawn_scores.sampled.effective == pytest.approx(2.0)
    assert drawn_scores.sampled.errors["mean"] != pytest.approx(number.sampled.errors["mean"], rel=0.1)
    assert StudentMixture([1.0], parts[:1]).sampled is None


def test_names_below_ranked_numbers_are_cut_by_rank() -> None:
    rows, _ = drawn(83, 1_200)
    model = MixedNetwork({"a": [], "k": ["a"]}, transform="ranks", window=800)
    model.learn_many({"a": row["a"], "k": row["k"]} for row in rows)
    for low, high in ((0.0, 0.5), (2.0, 1e9)):
        there = [row["k"] == "y" for row in rows if low <= row["a"] < high]
        share = np.mean([model.query("k", {"a": row["a"]})["y"] for row in rows if low <= row["a"] < high])
        assert share == pytest.approx(np.mean(there), abs=0.06)
    assert model.clock == 1_200 and sum(model.store.counts("k").values()) == 1_200.0


@pytest.mark.parametrize("structure", ["learn", {"a": [], "b": ["a"], "k": ["a"]}])
def test_it_goes_on_from_a_file_as_if_nothing_had_happened(tmp_path: Path, structure: Any) -> None:
    rows, _ = drawn(84, 260)
    model = MixedNetwork(structure, transform="ranks", window=120)
    model.learn_many(rows[:90])
    stream_bayes.save(model, tmp_path / "ranked.zip")
    loaded = stream_bayes.load(tmp_path / "ranked.zip")
    for each in (model, loaded):
        each.learn_many(rows[90:])
        each.learn_one({"a": 1e100, "b": -1e100, "k": "new"})
    assert loaded.state()["checksum"] == model.state()["checksum"]
    assert math.isfinite(model.score_one({"a": -1e100, "b": 5.0}))
    assert len(model._recent) == (120 if structure == "learn" else 0)


def test_constants_ties_and_few_numbers_have_finite_densities_and_what_ranks_cannot_is_refused() -> None:
    model = MixedNetwork(transform="ranks")
    for k in range(150):
        model.learn_one(
            {
                "same": 7.0,
                "count": float(k % 3),
                "seldom": float(k) if k % 40 == 0 else None,
                "tiny": k * 1e-300,
            }
        )
        assert all(
            math.isfinite(model.score_one({v: x}))
            for v in ("same", "count", "seldom")
            for x in (0.0, 7.0, 1e99)
        )
    assert model.query("count").mean == pytest.approx(1.0, abs=0.2)
    with pytest.raises(NotSupported, match="ranks"):
        MixedNetwork({"a": []}, transform="ranks").unlearn_one({"a": 1.0})
    with pytest.raises(CannotMerge, match="ranks"):
        MixedNetwork({"a": []}, transform="ranks").merge(MixedNetwork({"a": []}, transform="ranks"))
    with pytest.raises(BadValue, match="cuts"):
        MixedNetwork(transform="ranks", schema=Schema({"a": Numeric(cuts=[1.0])}))
    with pytest.raises(BadValue, match="transform"):
        MixedNetwork(transform="rank")
    assert mixed_structure(drawn(85, 100)[0]).structure.edges
