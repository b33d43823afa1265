"""Networks over names and numbers against integration by brute force, and what bad input does to them."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from river import anomaly

import stream_bayes
from stream_bayes import DriftAdaptive, MixedNetwork, Nominal, Numeric, Schema
from stream_bayes.core.live_networks.mixed_counts import Marginal
from stream_bayes.core.live_networks.mixed_families import MixedFamilies, NumericFamily
from stream_bayes.errors import (
    BadValue,
    BudgetExceeded,
    CannotMerge,
    FeaturesIgnored,
    KindChanged,
    NotLearned,
    NotSupported,
    NoValueKnown,
    UnknownFeature,
)
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.serve.event_model_answers import EventModelAnswers

GRAPH = {"a": [], "b": ["a"], "x": ["a"], "y": ["x", "b"], "z": ["y", "x"]}


def events(count: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        a = "uv"[rng.integers(2)]
        b = bool(rng.random() < (0.8 if a == "u" else 0.3))
        x = float(rng.normal() + 2.0 * (a == "u"))
        y = float((1.5 if b else -0.5) * x + 0.7 * rng.normal() + 10.0)
        rows.append({"a": a, "b": b, "x": x, "y": y, "z": float(0.4 * y - x + rng.normal())})
    return rows


def trained(count: int = 60, **arguments: Any) -> MixedNetwork:
    model = MixedNetwork(GRAPH, **arguments)
    model.learn_many(events(count))
    return model


def test_a_number_alone_is_predicted_as_by_integrating_over_mean_and_variance() -> None:
    rng = np.random.default_rng(1)
    y, strength = rng.normal(3.0, 2.0, 4), 0.8
    family = NumericFamily(1, strength)
    family.fill([Marginal(9.0, 2.0, 1.5)], 4.0, [y.mean()], [[((y - y.mean()) ** 2).sum()]])
    scaled, light = (y - 2.0) / 1.5, 0.1 * strength

    def integral(new: float | None) -> float:
        means, logs = np.linspace(-9.0, 11.0, 700), np.linspace(-5.0, 8.0, 260)
        variance = np.exp(logs)[:, None]  # its prior has strength + 2 degrees
        log_p = -0.5 * (strength + 2.0) * logs[:, None] - 0.5 * light / variance
        seen = scaled if new is None else np.append(scaled, (new - 2.0) / 1.5)
        for number, scale in [(0.0, variance / light), *((each, variance) for each in seen)]:
            log_p = log_p + scipy.stats.norm.logpdf(means[None, :], number, np.sqrt(scale))
        return float(np.exp(log_p).sum())

    for new in (2.5, 7.0):
        expected = integral(new) / integral(None) / 1.5
        assert family.predict([new]).density(new) == pytest.approx(expected, rel=1e-6)


def test_a_number_given_others_is_the_ratio_of_multivariate_student_densities() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(6, 3)) @ rng.normal(size=(3, 3)) + 5.0
    units = [Marginal(9.0, 4.0 + k, 1.0 + k) for k in range(3)]
    scaled = (rows - [u.mean for u in units]) / [u.spread for u in units]
    s, light, n = 1.3, 0.13, 6
    mean, products = scaled.mean(axis=0), (scaled - scaled.mean(axis=0)).T @ (scaled - scaled.mean(axis=0))
    matrix = light * np.eye(3) + products + light * n / (light + n) * np.outer(mean, mean)
    center, freedom = n * mean / (light + n), s + 2.0 + n
    scale = matrix * (light + n + 1.0) / (light + n) / freedom
    centered = rows - rows.mean(axis=0)
    family = NumericFamily(3, s)
    family.fill(units, 6.0, rows.mean(axis=0), centered.T @ centered)
    new = [4.2, 6.5, 3.0]
    at = (np.array(new) - [u.mean for u in units]) / [u.spread for u in units]
    whole = scipy.stats.multivariate_t(center, scale, freedom).logpdf(at)
    parents = scipy.stats.multivariate_t(center[:2], scale[:2, :2], freedom).logpdf(at[:2])
    assert family.predict(new[:2]).log_density(new[2]) == pytest.approx(
        whole - parents - math.log(3.0), rel=1e-10
    )
    line = family.linear()
    assert line.intercept + np.dot(line.slopes, new[:2]) == pytest.approx(family.predict(new[:2]).location)


def test_queries_with_missing_names_and_numbers_are_those_of_integrating_on_a_grid() -> None:
    model = trained()
    evidence = {"z": 1.0, "y": 9.0}
    grid = np.linspace(-15.0, 15.0, 4_001)

    def gaussian(v: str, values: dict[Any, Any], at: Any, *parents: Any) -> Any:
        line = model.families.numeric(v, values).linear()
        mean = line.intercept + sum(slope * p for slope, p in zip(line.slopes, parents, strict=True))
        return scipy.stats.norm.pdf(at, mean, math.sqrt(line.variance))

    density, by_name = np.zeros(len(grid)), {"u": 0.0, "v": 0.0}
    for a, b in itertools.product("uv", (False, True)):
        names: dict[Any, Any] = {"a": a, "b": b}
        p = model.families.shares("a", names)[a] * model.families.shares("b", names)[b]
        part = (
            p
            * gaussian("x", names, grid)
            * gaussian("y", names, 9.0, grid)
            * gaussian("z", names, 1.0, 9.0, grid)
        )
        density += part
        by_name[a] += float(part.sum())
    total = density.sum()
    forecast = model.query("x", evidence)
    assert model.query("a", evidence) == pytest.approx({a: p / total for a, p in by_name.items()}, rel=1e-9)
    assert forecast.mean == pytest.approx(float(grid @ density / total), rel=1e-9)
    assert forecast.density(0.75) == pytest.approx(
        float(density[2_100] / total / (grid[1] - grid[0])), rel=1e-8
    )
    assert forecast.below(forecast.quantile(0.3)) == pytest.approx(0.3)
    assert model.log_density_one(evidence) == pytest.approx(math.log(total * (grid[1] - grid[0])), rel=1e-9)


def test_the_parts_of_an_event_explain_its_score_and_a_density_of_all_names_sums_to_one() -> None:
    model = trained()
    x = {"a": "u", "b": False, "x": 2.2, "y": 30.0, "z": 1.0}
    odd = model.explain_one(x)
    assert odd.total == pytest.approx(model.score_one(x))
    assert odd.oddest[0] == "y"
    assert sum(
        math.exp(model.log_density_one({"a": a, "b": b})) for a in "uv" for b in (False, True)
    ) == pytest.approx(1)
    assert model.query("y", {"a": "u", "b": True, "x": 1.0}).components[0].degrees > 20


def test_a_number_far_out_is_the_more_unexpected_the_farther_it_is() -> None:
    model = trained(400)
    scores = [
        model.score_one({"a": "u", "b": True, "x": 2.0, "y": y, "z": 1.0}) for y in (13, 20, 40, 1e3, 1e99)
    ]
    assert scores == sorted(scores)
    assert scores[1] > scores[0] + 20.0
    assert scores[2] > scores[1] + 5.0
    filtered = anomaly.QuantileFilter(MixedNetwork(GRAPH), q=0.99)
    for row in events(50):
        filtered.learn_one(row)


def test_sums_are_exact_in_any_order_and_unlearned_events_leave_no_trace() -> None:
    rows = [{**row, "y": row["y"] + 1e8} for row in events(60)]
    whole, one, other = (MixedNetwork(GRAPH) for _ in range(3))
    whole.learn_many(rows)
    one.learn_many(rows[:25])
    other.learn_many(reversed(rows[25:]))
    x = {"a": "v", "b": True, "x": 0.5, "y": 1e8 + 9.0, "z": 1.0}
    for merged in (one + other, other + one, pickle.loads(pickle.dumps(one)) + other):
        assert merged.log_density_one(x) == pytest.approx(whole.log_density_one(x), rel=1e-9)
    for row in rows[25:]:
        whole.unlearn_one(row)
    assert whole.log_density_one(x) == pytest.approx(one.log_density_one(x), rel=1e-9)
    pair = MixedNetwork({"a": [], "b": ["a"], "x": []})
    pair.learn_many([{"a": "u", "b": True, "x": 1.0}, {"a": "v", "b": False, "x": 2.0}])
    before = pair.log_density_one({"a": "u", "b": False, "x": 1.5})
    with pytest.raises(NotLearned):  # each value was learned, the pair was not
        pair.unlearn_one({"a": "u", "b": False, "x": 1.0})
    assert pair.log_density_one({"a": "u", "b": False, "x": 1.5}) == pytest.approx(before, rel=1e-12)


def test_it_goes_on_from_a_file_as_if_nothing_had_happened(tmp_path: Path) -> None:
    schema = Schema(
        {"a": Nominal(["u", "v", "w"]), "b": Nominal(), "x": Numeric(), "y": Numeric(), "z": Numeric()}
    )
    model = MixedNetwork(GRAPH, 0.5, schema, max_values=4)
    model.learn_many(events(30))
    stream_bayes.save(model, tmp_path / "mixed.zip")
    loaded = stream_bayes.load(tmp_path / "mixed.zip")
    for each in (model, loaded):
        each.learn_many(events(30, seed=5))
    assert loaded.state()["checksum"] == model.state()["checksum"]
    assert loaded.query("a", {"z": 2.0}) == model.query("a", {"z": 2.0})
    assert set(model.query("a")) == {"u", "v", "w"}
    with pytest.raises(CannotMerge, match="max_values"):
        model.merge(loaded)


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.FeaturesIgnored")
def test_no_input_makes_a_density_that_is_no_number() -> None:
    model = MixedNetwork({"k": [], "c": ["k"], "p": ["k"], "q": ["p"], "r": ["p", "q"]})
    first = {"k": "one", "c": 5.0, "p": 1e99, "q": -1e99, "r": 0.0}
    assert model.log_density_one(first) == 0.0  # nothing is known of any variable
    with pytest.raises(NoValueKnown):
        model.query("c")
    model.learn_one(first)
    for k in range(12):  # constant c; p, q and r are collinear; one row of k = "rare"
        scores = [
            model.score_one({"k": "one", "c": 5.0 + d, "p": k, "q": 2 * k, "r": 3 * k, "extra": 1})
            for d in (0.0, 1e-9, 9.0)
        ]
        scores += [
            model.score_one({"k": "new", "c": 1e100}),
            model.score_one({"q": 1.0, "r": -1e100}),
            model.score_one({}),
        ]
        assert all(map(math.isfinite, scores))
        model.learn_one({"k": "rare" if k == 5 else "one", "c": 5, "p": k, "q": 2 * k, "r": 3 * k})
        model.learn_one({"k": None, "c": math.nan} if k % 2 else {})
    assert model.score_one({"k": "one", "c": 5.1}) > model.score_one({"k": "one", "c": 5.0}) + 10.0
    assert model.query("q", {"r": 9.0}).standard_deviation < math.inf
    interval = model.predict_interval_one({"p": 4, "q": 8}, "r")
    assert interval is not None and interval[0] < 12 < interval[1]


def test_one_row_a_configuration_leaves_finite_scores_and_intervals_around_all_numbers() -> None:
    model = MixedNetwork({"id": [], "size": ["id"], "price": ["id", "size"]})
    rows = [{"id": f"row {k}", "size": float(k % 7), "price": 2.0 * (k % 7)} for k in range(40)]
    scores = [model.score_learn_one(row) for row in rows] + [model.score_one(rows[0])]
    assert all(map(math.isfinite, scores))
    for x in ({"id": "row 3"}, {"id": "new"}, {}):
        interval = model.predict_interval_one(x, "price", 0.9)
        assert interval is not None and interval[0] < 6.0 < interval[1] and interval[1] - interval[0] < 60.0


def test_bad_events_are_refused_before_anything_changes() -> None:
    model = trained(20)
    before = model.state()["checksum"]
    refused: list[tuple[Any, type[Exception]]] = [
        ({"a": "u", "x": math.inf}, BadValue),
        ({"a": "u", "x": 1e300}, BadValue),
        ({"a": "u", "x": "high"}, KindChanged),
        ({"x": 1.0, "a": 2.5}, KindChanged),
        ({"x": 1.0, "a": ["u"]}, BadValue),
        (["u"], BadValue),
    ]
    for x, error in refused:
        with pytest.raises(error):
            model.learn_one(x)
    with pytest.raises(UnknownFeature, match="did you mean"):
        model.query("xx")
    with pytest.raises(BadValue, match="never learned"):
        model.query("x", {"a": "w"})
    assert model.state()["checksum"] == before


def test_too_many_missing_names_are_drawn_with_a_standard_error_and_said_to_be() -> None:
    names = [f"n{k}" for k in range(17)]
    model = MixedNetwork({**{name: [] for name in names}, "x": []})
    chain = MixedNetwork({name: names[k - 1 : k] for k, name in enumerate(names)} | {"x": names[-1:]})
    for each in (model, chain):
        for k in range(8):
            each.learn_one({name: "uv"[(k >> j % 3) & 1] for j, name in enumerate(names)} | {"x": float(k)})
    assert model.query("x").mean == pytest.approx(3.5) and model.query("x").method == "exact"
    with pytest.raises(BudgetExceeded, match="131,072 combinations"):
        chain.query("x", samples=0)
    with pytest.raises(BudgetExceeded):
        chain.predict_one({}, "x")  # an event of a stream has no time for draws
    share = np.array([1.0, 0.0])  # of u and v: the chance of each follows along the chain
    for name in names:
        above = chain.structure.parents(name)
        rows = [chain.families.shares(name, dict.fromkeys(above, value)) for value in "uv"]
        share = np.array([sum(share[k] * rows[k][value] for k in range(2)) for value in "uv"])
    forecast, named = chain.query("x", samples=500), chain.query("n16", samples=500)
    by_name = [chain.families.numeric("x", {"n16": value}).predict([]).mean for value in "uv"]
    assert forecast.method == named.method == "likelihood-weighting" and "131,072" in named.reason
    assert abs(forecast.mean - share @ by_name) < 4.0 * forecast.sampled.errors["mean"] < 0.8
    assert abs(named["u"] - share[0]) < 4.0 * named.sampled.errors["u"] < 0.2
    posteriors = EventModelAnswers(chain).query({}, ["x", "n16"])["posteriors"]
    assert {each["method"] for each in posteriors.values()} == {"likelihood-weighting"}
    assert "500 draws" in posteriors["n16"]["reason"] and posteriors["x"]["mean"] == forecast.mean
    assert chain.query("x", samples=500).mean == forecast.mean  # equal questions have equal answers


def test_draws_of_names_and_numbers_agree_with_the_exact_answer_within_their_standard_errors() -> None:
    rng = np.random.default_rng(5)
    model = MixedNetwork({"a": [], "b": ["a"], "x": ["b"], "z": ["x"], "s": ["z"], "y": ["z", "a"]})
    for _ in range(500):
        a, b = (bool(k) for k in rng.random(2) < (0.4, 0.6))
        x = float(rng.normal(3.0 * b))
        z = x + float(rng.normal())
        y = 2.0 * z + 5.0 * a + float(rng.normal())
        model.learn_one({"a": a, "b": b or a, "x": x, "z": z, "s": "pq"[int(z + rng.normal() > 2.0)], "y": y})
    inference = model.inference
    evidence: dict[Any, Any] = {"y": 8.0, "s": "q"}
    shares, sampled = inference.sampled_shares("a", evidence, 800, np.random.default_rng(7))
    exact = inference.shares("a", evidence)
    assert abs(shares[True] - exact[True]) < 3.5 * sampled.errors[True] < 0.15
    assert 100.0 < sampled.effective <= 800.0
    questions: list[tuple[str, dict[Any, Any]]] = [("x", evidence), ("z", {"s": "p"}), ("y", {"s": "p"})]
    for target, given in questions:
        drawn = inference.sampled_number(target, given, 400, np.random.default_rng(8))
        whole = inference.number(target, given)
        assert abs(drawn.mean - whole.mean) < 3.5 * drawn.sampled.errors["mean"] < 1.5, target
        assert drawn.below(whole.mean) == pytest.approx(whole.below(whole.mean), abs=0.12)
        assert sum(drawn.weights) == pytest.approx(1.0)


def test_samples_have_the_moments_of_what_was_learned() -> None:
    model = trained(300)
    drawn = model.sample(1_500, np.random.default_rng(3))
    again = MixedNetwork(GRAPH)
    again.learn_many(drawn)
    assert again.query("y").mean == pytest.approx(model.query("y").mean, abs=0.15)
    assert again.query("b")[True] == pytest.approx(model.query("b")[True], abs=0.05)


def test_without_a_structure_it_finds_one_and_goes_on_from_a_file(tmp_path: Path) -> None:
    model = MixedNetwork(window=300)
    rows = events(700)
    for row in rows[:500]:
        model.learn_one(row)
    assert {frozenset(edge) for edge in model.structure.edges} >= {
        frozenset("xy"),
        frozenset("yz"),
        frozenset("by"),
    }
    stream_bayes.save(model, tmp_path / "grown.zip")
    loaded = stream_bayes.load(tmp_path / "grown.zip")
    for row in rows[500:]:
        for each in (model, loaded):
            each.learn_one({**row, "late": 1.0})
    assert loaded.state()["checksum"] == model.state()["checksum"]
    assert len(model._recent) == 300
    assert "late" in model.structure
    assert model.clock == 700
    odd = {**rows[0], "y": 60.0}
    assert model.p_value_one(odd) < 0.01
    assert 0.01 < model.p_value_one(rows[-1]) < 1.0
    assert model.explain_one(odd).oddest[0] in ("y", "z")
    with pytest.raises(CannotMerge):
        model.merge(loaded)
    with pytest.raises(NotSupported):
        model.unlearn_one(rows[0])


def test_a_stream_of_ever_new_features_and_of_gaps_stays_bounded() -> None:
    model = MixedNetwork(window=60)
    rows = [{f"f{k}": 1.0, "a": None if k % 2 else "u", "b": float(k) if k % 2 else None} for k in range(120)]
    with pytest.warns(FeaturesIgnored, match="more than 64 features"):
        model.learn_many(rows)
    assert (len(model.structure), model.structure.edges) == (64, ())
    before = model.state()["checksum"]
    with pytest.raises(BadValue):
        model.learn_one({"a": "u", "b": math.inf})
    empty = MixedNetwork()
    empty.learn_one({"old": 1.0})
    for refused in ({"new": math.inf}, {"old": math.inf, "new": 1.0}, {"old": 2.0, "new": ["a"]}):
        with pytest.raises(BadValue):
            empty.learn_one(refused)
    assert (model.state()["checksum"], empty.structure.variables) == (before, ("old",))


def test_a_new_name_leaves_what_depends_on_it_as_in_a_configuration_without_events() -> None:
    model = trained()
    event = {"a": "never seen", "b": True, "x": 0.5, "y": 10.0, "z": 3.0}
    alone = model.score_one({"a": "never seen"})
    assert alone == pytest.approx(-math.log(model.families.novel_share("a")))
    explained = model.explain_one(event)
    assert math.fsum(explained.values()) == pytest.approx(model.score_one(event))
    assert explained["b"] == pytest.approx(math.log(2.0))  # of two values, none of which came with it


def test_names_of_many_values_are_scored_in_bounded_time_new_or_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = MixedNetwork({"street": [], "city": ["street"], "rent": ["city", "street"]})
    model.learn_many({"street": f"s{k}", "city": f"c{k % 300}", "rent": float(k % 50)} for k in range(600))
    shares, asked = MixedFamilies.shares, []

    def counted(families: MixedFamilies, v: Any, values: Any) -> dict[Any, float]:
        asked.append(v)
        return shares(families, v, values)

    monkeypatch.setattr(MixedFamilies, "shares", counted)
    for event in ({"rent": 3.0}, {"street": "new", "city": "new", "rent": 3.0}, {"city": "c1", "rent": 3.0}):
        assert math.isfinite(model.score_one(event))
        assert all(map(math.isfinite, model.explain_one(event).values()))
    assert len(asked) < 2_000
    with pytest.raises(BudgetExceeded, match="names are missing"):
        model.predict_one({}, "rent")


def test_events_are_scored_and_explained_before_a_parent_ever_had_a_value() -> None:
    model = MixedNetwork(
        {"k": [], "x": ["k"], "y": ["x"], "n": ["y"]},
        schema=Schema({"k": Nominal(), "x": Numeric(), "y": Numeric(), "n": Nominal()}),
    )
    for number in range(20):
        model.learn_one({"y": float(number), "n": "ab"[number % 2]})
    assert model.score_one({"y": 40.0}) > model.score_one({"y": 10.0})
    event = {"x": 3.0, "y": 5.0, "n": "a"}
    assert model.explain_one(event).total == pytest.approx(model.score_one(event))
    with pytest.raises(NoValueKnown, match="'x'"):
        model.query("x")


def test_a_family_read_again_for_each_event_has_the_density_of_one_that_is_made_anew() -> None:
    model = trained(40)
    anew = MixedFamilies(model.store, 1.0)
    odd: dict[Any, Any] = {
        "a": "w",
        "b": True,
        "x": 3.0,
        "y": 11.0,
        "z": -2.0,
    }  # a name that was never learned
    whole_events: list[dict[Any, Any]] = [*map(dict, events(6)), odd, {**odd, "x": 1e90}]
    for x in whole_events:
        for v in GRAPH:
            assert model.families.log_density(v, x) == pytest.approx(anew.log_density(v, x), rel=1e-12)
        whole = math.fsum(anew.log_density(v, x) for v in GRAPH)
        assert model.log_density_one(x) == pytest.approx(whole, rel=1e-12)
    model.learn_one(odd)
    assert model.families.states("a") == ["u", "v", "w"]
    model.unlearn_one(odd)  # the next value is as many as this one was
    model.learn_one({**odd, "a": "t"})
    assert model.families.states("a") == ["t", "u", "v"]
    assert model.log_density_one(odd) == pytest.approx(math.fsum(anew.log_density(v, odd) for v in GRAPH))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"structure": {"a": [], "k": ["a"], "b": ["a"]}},
        {"missing": "window-em"},
        {"transform": "ranks"},
    ],
    ids=str,
)
def test_events_of_weight_0_change_nothing_and_the_state_loads(arguments: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    one, other = (
        DriftAdaptive(MixedNetwork(**arguments)) if not arguments else MixedNetwork(**arguments)
        for _ in range(2)
    )
    one.learn_one({"k": 1.5, "a": "x", "later": True}, w=0.0)  # of other kinds, and of a variable more
    for _ in range(70):
        a, noise = rng.normal(size=2).tolist()
        x = {"a": a, "b": a + 0.1 * noise, "k": "pq"[int(a > 0)]}
        for model in (one, other):
            model.learn_one(x)
        one.learn_one({"a": 9.0, "b": -9.0, "k": "new"}, w=0.0)
    loaded = restore_model(one.clone(), model_state(one))
    question = {"a": 0.3, "b": 0.2}
    assert one.score_one(question) == other.score_one(question) == loaded.score_one(question)
    with pytest.raises(BadValue):
        one.learn_one({"a": math.inf}, w=0.0)
