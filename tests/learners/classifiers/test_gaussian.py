"""Gaussians: their formula by numpy, variances shared or floored, far tails, unlearning."""

from __future__ import annotations

import collections
import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes import GaussianNB, NaiveBayes
from stream_bayes.errors import BadValue
from tests.learners.training import Row, trained

LEARNERS = pytest.mark.parametrize("kind", [NaiveBayes, GaussianNB])
MODES = pytest.mark.parametrize("variance", [None, "classes", "features", "both"])


def gaussian_scores(
    rows: list[tuple[dict[str, float], Any, float]], x: dict[str, float], variance: str | None
) -> dict[Any, float]:
    """Log P(y, x) with every class and feature known at least twice, computed from whole columns."""
    labels, features = sorted({y for _, y, _ in rows}), sorted({f for row, _, _ in rows for f in row})
    total = sum(w for _, _, w in rows)
    m2, freedom, mean = {}, {}, {}
    for y, f in itertools.product(labels, features):
        column = np.array([(row[f], w) for row, label, w in rows if label == y and f in row])
        mean[y, f] = np.average(column[:, 0], weights=column[:, 1])
        m2[y, f] = float((column[:, 1] * (column[:, 0] - mean[y, f]) ** 2).sum())
        freedom[y, f] = float(column[:, 1].sum()) - 1
    scores = {}
    for y in labels:
        scores[y] = math.log(sum(w for _, label, w in rows if label == y) / total)
        for f in x:
            cells = [
                (c, g)
                for c, g in itertools.product(labels, features)
                if (variance in ("classes", "both") or c == y)
                and (variance in ("features", "both") or g == f)
            ]
            v = sum(m2[cell] for cell in cells) / sum(freedom[cell] for cell in cells)
            scores[y] -= 0.5 * (math.log(2 * math.pi * v) + (x[f] - mean[y, f]) ** 2 / v)
    return scores


@MODES
@LEARNERS
@given(data=st.data())
def test_gaussians_are_numpys_in_each_way_of_sharing_variances(kind, variance, data):
    number = st.floats(-1000, 1000).map(lambda v: round(v, 3))
    weights = st.sampled_from([1.0, 2.0, 0.5, 1.25])
    rows: list[tuple[dict[str, float], Any, float]] = []
    for y in "abc":
        # Spread by hand, so that hardly any variance is nearly 0.
        rows += [
            ({"u": 10.0 * i + data.draw(number), "v": data.draw(number) / 100 + i}, y, 1.0) for i in range(3)
        ]
    rows += data.draw(
        st.lists(
            st.tuples(
                st.fixed_dictionaries({}, optional={"u": number, "v": number}),
                st.sampled_from("abc"),
                weights,
            ),
            max_size=15,
        )
    )
    model = kind(predictive="plug-in", variance=variance, strength=0, variance_floor=0)
    for x, y, w in rows:
        model.learn_one(x, y, w=w)
    variances = [model.conditional(f, {"class": y})["sd"] ** 2 for f in "uv" for y in "abc"]
    x = {"u": data.draw(number), "v": data.draw(number)}
    if min(variances) < 1e-3:
        return
    assert model.joint_log_likelihood(x) == pytest.approx(
        gaussian_scores(rows, x, variance), rel=1e-7, abs=1e-7
    )


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_a_class_of_weight_1_or_less_uses_the_variance_pooled_over_classes(weight):
    model = trained(
        GaussianNB(predictive="plug-in"),
        [({"x": v}, y) for y, v in [("a", 1.0), ("a", 3.0), ("b", 10.0), ("b", 16.0)]],
    )
    model.learn_one({"x": 40.0}, "c", w=weight)
    pooled = (2.0 + 18.0) / (1 + 1)
    table = model.conditional("x")
    assert table["c"] == pytest.approx({"mean": 40.0, "sd": math.sqrt(pooled)})
    assert table["a"] == pytest.approx({"mean": 2.0, "sd": math.sqrt(2.0)})


def test_with_one_sample_a_class_the_variance_is_that_of_all_classes():
    model = trained(GaussianNB(predictive="plug-in"), [({"x": 1.0}, "a"), ({"x": 5.0}, "b")])
    assert model.conditional("x")["a"] == pytest.approx({"mean": 1.0, "sd": math.sqrt(8.0)})
    assert model.predict_one({"x": 2.0}) == "a"


def test_a_class_that_never_had_the_feature_has_the_moments_of_all_classes():
    model = trained(
        GaussianNB(predictive="plug-in"),
        [({"x": v}, y) for y, v in [("a", 1.0), ("a", 3.0), ("b", 10.0), ("b", 16.0)]],
    )
    model.learn_one({"z": 1.0}, "c")
    values = np.array([1.0, 3.0, 10.0, 16.0])
    assert model.conditional("x")["c"] == pytest.approx({"mean": values.mean(), "sd": values.std(ddof=1)})


def test_no_variance_is_below_its_share_of_the_features_variance():
    rows: list[Row] = [({"x": v}, y) for y, v in [("a", 5.0), ("a", 5.0), ("b", 0.0), ("b", 10.0)]]
    overall = np.array([5.0, 5.0, 0.0, 10.0]).var(ddof=1)
    for floor in (1e-9, 1e-3, 0.5):
        table = trained(GaussianNB(predictive="plug-in", variance_floor=floor), rows).conditional("x")
        assert table["a"]["sd"] == pytest.approx(math.sqrt(floor * overall))
        assert table["b"]["sd"] == pytest.approx(math.sqrt(50.0))


@pytest.mark.parametrize("numbers", [[1e200], [1e300, -1e300], [1e160, 1.0, 1e160], [-1.7e308, 1.7e308]])
def test_a_number_of_any_size_is_refused_or_learned_so_that_the_state_comes_back(numbers):
    model = trained(
        GaussianNB(predictive="plug-in"), [({"x": 1.0}, "a"), ({"x": 2.0}, "a"), ({"x": 3.0}, "b")]
    )
    for number in numbers:
        before = model.state()["checksum"]
        try:
            model.learn_one({"x": number}, "a")
        except BadValue:
            assert model.state()["checksum"] == before
    assert GaussianNB.from_state(model.state()).state()["checksum"] == model.state()["checksum"]
    p = model.predict_proba_one({"x": 1.5})
    assert sum(p.values()) == pytest.approx(1.0)
    alone = GaussianNB(predictive="plug-in")
    try:
        alone.learn_one({"x": numbers[0]}, "a")
    except BadValue:
        return
    assert alone.predict_proba_one({"x": 1.0}) == {"a": 1.0}
    assert GaussianNB.from_state(alone.state()).predict_one({"x": 1.0}) == "a"


@MODES
@pytest.mark.parametrize("away", [10.0, 1e3, 1e6])
def test_far_in_the_tail_the_nearer_or_the_wider_class_still_wins(variance, away):
    spread = [-1.0, -0.5, 0.0, 0.5, 1.0]
    model = GaussianNB(predictive="plug-in", variance=variance)
    for offset in spread:
        model.learn_one({"x": offset}, "left")
        model.learn_one({"x": 3.0 + offset}, "right")
    for side, nearest in ((-away, "left"), (3.0 + away, "right")):
        p = model.predict_proba_one({"x": side})
        assert model.predict_one({"x": side}) == nearest
        assert p["left"] != p["right"]
        assert sum(p.values()) == pytest.approx(1.0)
        assert all(map(math.isfinite, model.joint_log_likelihood({"x": side}).values()))


@pytest.mark.parametrize("away", [1e3, 1e6, 1e9])
def test_far_from_both_the_wider_class_wins(away):
    model = GaussianNB(predictive="plug-in")
    for offset in (-1.0, 0.0, 1.0):
        model.learn_one({"x": offset}, "narrow")
        model.learn_one({"x": 2 * offset}, "wide")
    assert model.predict_proba_one({"x": away})["wide"] == pytest.approx(1.0)
    assert model.predict_proba_one({"x": -away})["wide"] == pytest.approx(1.0)


@LEARNERS
@pytest.mark.parametrize("constant", [0.0, 5.0, -1e6, 1e-9])
@pytest.mark.parametrize("at", [0.0, 5.0, 1.0, -3e3])
def test_a_feature_that_never_varied_tells_no_class_from_another(kind, constant, at):
    with_it, without = kind(), kind()
    for value, y in [(1.0, "a"), (2.0, "a"), (6.0, "b"), (8.0, "b"), (7.0, "b")]:
        with_it.learn_one({"x": value, "still": constant}, y)
        without.learn_one({"x": value}, y)
    expected = without.predict_proba_one({"x": 3.4})
    assert with_it.predict_proba_one({"x": 3.4, "still": at}) == pytest.approx(expected, rel=1e-6)


def test_a_weight_is_a_repeat_count():
    rows = [({"x": 1.5, "s": "u"}, "a"), ({"x": 2.5, "s": "v"}, "b"), ({"x": 4.0, "s": "u"}, "a")]
    weighted, repeated = NaiveBayes(predictive="plug-in"), NaiveBayes(predictive="plug-in")
    for (x, y), w in zip(rows, (3, 2, 1), strict=True):
        weighted.learn_one(x, y, w=w)
        for _ in range(w):
            repeated.learn_one(x, y)
    x = {"x": 2.0, "s": "u"}
    assert weighted.joint_log_likelihood(x) == pytest.approx(repeated.joint_log_likelihood(x), rel=1e-12)
    assert weighted.conditional("s") == repeated.conditional("s")
    for y in "ab":
        assert weighted.conditional("x")[y] == pytest.approx(repeated.conditional("x")[y], rel=1e-12)


@MODES
@given(
    rows=st.lists(st.tuples(st.floats(-100, 100), st.sampled_from("ab")), min_size=1, max_size=20),
    gone=st.lists(st.tuples(st.floats(-100, 100), st.sampled_from("abc")), max_size=20),
)
def test_unlearning_leaves_the_gaussians_of_the_rest(variance, rows, gone):
    model, rest = (
        GaussianNB(predictive="plug-in", variance=variance),
        GaussianNB(predictive="plug-in", variance=variance),
    )
    for v, y in gone + rows:
        model.learn_one({"x": v}, y)
    for v, y in rows:
        rest.learn_one({"x": v}, y)
    for v, y in gone:
        model.unlearn_one({"x": v}, y)
    assert model.class_prior_ == pytest.approx(rest.class_prior_, abs=1e-12)
    assert model.classes_ and set(model.classes_) == set(rest.classes_)
    for y in rest.classes_:
        got, expected = model.store.by_name()["x", y], rest.store.by_name()["x", y]
        scale = max(1.0, max(abs(v) for v, _ in rows + gone)) ** 2 * len(rows + gone)
        assert got == pytest.approx(expected, abs=1e-9 * scale)


@pytest.mark.parametrize("width", [1, 5, 100])
@pytest.mark.parametrize("half_life", [None, 50.0])
@pytest.mark.parametrize("numbers", ["often 0", "of all magnitudes", "digits"])
def test_a_window_that_slides_over_numbers_never_refuses_to_let_one_go(numbers, half_life, width):
    source = random.Random(1)
    draw = {
        "often 0": lambda: source.choice([0.0, 0.0, source.random()]),
        "of all magnitudes": lambda: source.lognormvariate(0, 5),
        "digits": lambda: float(source.randrange(10)),
    }[numbers]
    model, window = (
        GaussianNB(predictive="plug-in", half_life=half_life),
        collections.deque[tuple[float, int]](),
    )
    for step in range(4000 + width):
        if step < 4000:
            window.append((draw(), model.clock + 1))
            model.learn_one({"x": window[-1][0]}, "a")
        if len(window) > width or step >= 4000:
            number, at = window.popleft()
            model.unlearn_one({"x": number}, "a", at=at)
    assert not window
    assert model.store.by_name() == {}
