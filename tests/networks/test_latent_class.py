"""Latent classes against sums over classes, the mixture that is true, and bad input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import stream_bayes
from stream_bayes import LatentClass
from stream_bayes.errors import BadState, BadValue, CannotMerge, FeaturesIgnored, KindChanged, UnknownFeature
from stream_bayes.serve.event_model_answers import EventModelAnswers
from stream_bayes.streams.served_models.served import served


def drawn(seed: int, events: int) -> tuple[list[dict[str, Any]], list[float]]:
    """Return events of three classes, and their losses under the mixture that they are drawn from."""
    rng = np.random.default_rng(seed)
    shares, means = rng.dirichlet(np.full(3, 5.0)), 2.0 * rng.standard_normal((2, 3))
    deviations, show = np.exp(0.5 * rng.standard_normal((2, 3))), rng.dirichlet(np.ones(4), 3)
    rows, losses = [], []
    for _ in range(events):
        k = int(rng.choice(3, p=shares))
        a, b = (float(rng.normal(means[v, k], deviations[v, k])) for v in range(2))
        code = int(rng.choice(4, p=show[k]))
        rows.append({"a": a, "b": b, "sound": f"s{code}"})
        density = shares * show[:, code] * stats.norm.pdf(a, means[0], deviations[0])
        losses.append(-math.log((density * stats.norm.pdf(b, means[1], deviations[1])).sum()))
    return rows, losses


def test_it_predicts_nearly_as_the_true_mixture_and_finds_the_number_of_classes() -> None:
    rows, losses = drawn(62, 1_600)
    model = LatentClass(classes=[1, 2, 3, 4], restarts=3)
    scores = [model.score_learn_one(row) for row in rows]
    assert np.mean(scores[-400:]) < np.mean(losses[-400:]) + 0.1
    assert model.best_classes == 3
    far = [model.score_one({"a": x, "b": x}) for x in (10.0, 1e3, 1e6, 1e50)]
    assert far == sorted(set(far)) and math.isfinite(far[-1])


def test_answers_are_sums_over_the_classes() -> None:
    rows, _ = drawn(2, 303)  # three events wait to be counted
    model = LatentClass(classes=3, restarts=2)
    model.learn_many(rows)
    a, sound = model.emissions("a"), model.emissions("sound")
    seen = np.array(model.class_shares) * [each.density(1.2) for each in a]
    both = seen * [each["s1"] for each in sound]
    assert model.log_density_one({"a": 1.2, "sound": "s1"}) == pytest.approx(math.log(both.sum()), abs=1e-9)
    assert [*model.classify_one({"a": 1.2, "sound": "s1"}).values()] == pytest.approx(both / both.sum())
    shares = model.query("sound", {"a": 1.2})
    assert shares["s1"] == pytest.approx(both.sum() / seen.sum()) and sum(shares.values()) == pytest.approx(
        1.0
    )
    forecast = model.query("a", {"sound": "s1"})
    alone = np.array(model.class_shares) * [each["s1"] for each in sound]
    assert forecast.density(1.2) == pytest.approx(both.sum() / alone.sum())
    assert model.predict_one({"sound": "s1"}, "a") == pytest.approx(forecast.mean)
    assert model.predict_interval_one({"sound": "s1"}, "a", 0.8) == forecast.interval(0.8)
    odd = {"a": 1.2, "sound": "new", "b": 30.0}
    surprise = model.explain_one(odd)
    assert (surprise.oddest[0], surprise.novel) == ("b", ("sound",))
    assert surprise.total == pytest.approx(model.score_one(odd), abs=1e-9)
    drawn_events = model.sample(4_000, np.random.default_rng(1))
    assert np.mean([x["sound"] == "s1" for x in drawn_events]) == pytest.approx(
        model.query("sound")["s1"], abs=0.03
    )


def test_features_come_late_are_bounded_and_bad_events_change_nothing(tmp_path: Path) -> None:
    model = LatentClass(restarts=2, classes=[1, 2], names="code", max_values=2)
    assert model.score_one({"x": 1.0}) == 0.0 and model.classify_one() == {0: 1.0}
    model.learn_one({"load": 5, "code": 7})
    assert model.kinds == {"load": "numeric", "code": "nominal"}
    for k in range(63):
        model.learn_one({"load": float(k % 5), f"x{k}": k % 3 if k % 2 else None, f"y{k}": f"value {k}"})
        assert math.isfinite(model.score_one({"load": 1e100, f"y{k}": "new", "other": 1.0}))
        if len(model.kinds) > 62:
            break
    with pytest.warns(FeaturesIgnored, match="more than 64"):
        model.learn_one({f"z{k}": 1.0 for k in range(40)})
    assert len(model.structure.variables) == 64
    stream_bayes.save(model, tmp_path / "classes.zip")
    loaded = stream_bayes.load(tmp_path / "classes.zip")
    before = model.state()["checksum"]
    assert isinstance(loaded, LatentClass) and loaded.state()["checksum"] == before
    bad: list[tuple[Any, type[Exception]]] = [
        ({"load": math.inf}, BadValue),
        ({"load": "high"}, KindChanged),
        ({"code": 0.5}, KindChanged),
        ("load", BadValue),
    ]
    for x, error in bad:
        with pytest.raises(error):
            model.learn_one(x)
    with pytest.raises(UnknownFeature, match="did you mean 'load'"):
        model.query("laod")
    with pytest.raises(BadValue, match="never learned"):
        model.query("load", {"y1": "new"})
    with pytest.raises(CannotMerge):
        model.merge(loaded)
    assert model.state()["checksum"] == before
    for each in (model, loaded):
        each.learn_many({"load": float(k), "y1": "value 1"} for k in range(15))
    assert loaded.state()["checksum"] == model.state()["checksum"]
    state = model.state()
    state["reading"]["pending"] *= 3
    with pytest.raises(BadState):
        LatentClass.from_state(state)


def test_a_pipeline_predicts_names_numbers_and_the_class() -> None:
    rows, _ = drawn(3, 300)
    model = LatentClass(classes=2, restarts=2)
    pipeline: Any = served(model, predict=["a", "sound", "state"])
    answers, refused = pipeline.process(rows, [None] * 300, [1.0] * 300)
    assert refused is None
    last = answers.named(str)[-1]
    assert last["a"]["low"] < last["a"]["mean"] < last["a"]["high"]
    assert sum(last["sound"].values()) == pytest.approx(1.0) and last["state"].keys() == {"0", "1"}
    assert answers._numbers[-1][0][0] == "a" and len(answers._numbers[-1]) == 1
    view = EventModelAnswers(model)
    posteriors = view.query({"sound": "s1"}, None)["posteriors"]
    assert posteriors["a"]["mean"] == pytest.approx(model.query("a", {"sound": "s1"}).mean)
    assert view.explain(rows[0])["total"] == pytest.approx(model.score_one(rows[0]))
    _, refused = pipeline.process(rows[:1], [None], [2.0])
    assert "learns each event once" in str(refused)
    with pytest.raises(BadValue, match="does not follow events in time"):
        served(model, predict=["a@+1"])


def test_constants_gaps_in_every_row_and_one_class_leave_finite_answers() -> None:
    for classes in ([1], [1, 2]):
        model = LatentClass(restarts=2, classes=classes)
        for k in range(60):
            x = {
                "same": 5.0,
                "load": float(k % 5),
                "twice": 2.0 * (k % 5),
                "light": "on" if k % 59 else "once",
            }
            del x[("same", "load", "twice", "light")[k % 4]]
            model.learn_one(x)
            assert math.isfinite(model.score_one({"same": 5.0, "load": 1e100, "light": "new"}))
        before = model.state()["checksum"]
        with pytest.raises(BadValue, match="1e100"):
            model.learn_one({"load": 1e300})
        assert model.state()["checksum"] == before
        assert sum(model.classify_one({}).values()) == pytest.approx(1.0)


def test_features_in_any_order_make_the_same_classes() -> None:
    rows, _ = drawn(5, 120)
    one, other = LatentClass(classes=[2], restarts=2), LatentClass(classes=[2], restarts=2)
    for row in rows:
        one.learn_one(row)
        other.learn_one({v: row[v] for v in ("sound", "b", "a")})
    assert one.score_one(rows[0]) == other.score_one(rows[0])
    assert one.classify_one(rows[1]) == other.classify_one(rows[1])


def test_first_answers_are_smoothed_shares() -> None:
    for seed in range(5):
        model = LatentClass(seed=seed)
        model.learn_many({"sound": name} for name in "uuuuvu")
        assert model.query("sound")["u"] == pytest.approx(5 / 6, abs=0.15)
        model.learn_many({"sound": "v"} for _ in range(12))
        assert model.query("sound")["v"] > 0.6
