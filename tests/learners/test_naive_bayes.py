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

from stream_bayes import GaussianNB, NaiveBayes, Nominal, Numeric, Schema
from stream_bayes.errors import BadLabel, BadValue, KindChanged, NotSupported, SchemaError, UnknownFeature

LEARNERS = pytest.mark.parametrize("kind", [NaiveBayes, GaussianNB])
MODES = pytest.mark.parametrize("variance", [None, "classes", "features", "both"])

Row = tuple[dict[str, Any], Any]


def taught(model: Any, rows: list[Row]) -> Any:
    for x, y in rows:
        model.learn_one(x, y)
    return model


# --- nominal features: the two smoothings ---


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("prior", ["laplace", "m-estimate"])
def test_smoothing_is_the_formula_for_classes_and_values(prior, strength):
    model = NaiveBayes(prior=prior, strength=strength)
    for sky, y, n in [("grey", "rain", 4), ("blue", "rain", 1), ("blue", "sun", 2), ("red", "sun", 1)]:
        model.learn_one({"sky": sky}, y, w=n)

    def smoothed(n: float, total: float, cells: int) -> float:
        if prior == "laplace":
            return (n + strength) / (total + strength * cells)
        return (n + strength / cells) / (total + strength)

    assert model.class_prior_ == pytest.approx(
        {"rain": smoothed(5, 8, 2), "sun": smoothed(3, 8, 2)}, abs=1e-15
    )
    rain, sun = {"grey": 4, "blue": 1, "red": 0}, {"grey": 0, "blue": 2, "red": 1}
    for y, counts, total in (("rain", rain, 5), ("sun", sun, 3)):
        expected = {value: smoothed(n, total, 3) for value, n in counts.items()}
        assert model.conditional("sky", {"class": y}) == pytest.approx(expected, abs=1e-15)
        for value in counts:
            score = model.joint_log_likelihood({"sky": value})[y]
            joint = expected[value] * model.class_prior_[y]
            assert math.exp(score) == pytest.approx(joint, abs=1e-15)
            cells = model.joint("sky")[y]
            assert cells[value] == pytest.approx(smoothed(counts[value], 8, 6), abs=1e-15)


def test_a_missing_value_is_left_out_of_the_denominator():
    model = NaiveBayes()
    for sky in ["grey", None, float("nan"), "grey"]:
        model.learn_one({"sky": sky}, "rain")
    model.learn_one({"wind": "west"}, "rain")
    model.learn_one({"sky": "blue"}, "sun")
    assert model.conditional("sky")["rain"] == {"grey": 3 / 4, "blue": 1 / 4}


def test_a_value_never_seen_or_all_unlearned_is_skipped():
    model = taught(
        NaiveBayes(), [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun"), ({"sky": "red"}, "sun")]
    )
    model.unlearn_one({"sky": "red"}, "sun")
    for value in ("green", "red"):
        assert model.joint_log_likelihood({"sky": value}) == model.joint_log_likelihood({})
    assert model.conditional("sky")["rain"].keys() == {"grey", "blue"}


def test_a_declared_value_without_weight_is_a_zero_count():
    schema = Schema({"sky": ["grey", "blue", "red"]}, classes=["rain", "sun", "snow"])
    model = taught(NaiveBayes(schema=schema), [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")])
    assert model.conditional("sky")["rain"] == {"grey": 2 / 4, "blue": 1 / 4, "red": 1 / 4}
    assert model.conditional("sky")["snow"] == {"grey": 1 / 3, "blue": 1 / 3, "red": 1 / 3}
    assert model.class_prior_ == pytest.approx({"rain": 2 / 5, "sun": 2 / 5, "snow": 1 / 5})
    assert model.joint_log_likelihood({"sky": "red"})["rain"] == pytest.approx(math.log(2 / 5 * 1 / 4))
    assert model.joint_log_likelihood({"sky": "green"}) == model.joint_log_likelihood({})


def test_unsmoothed_0_of_0_is_skipped():
    model = NaiveBayes(strength=0)
    model.learn_one({"sky": "grey"}, "rain")
    model.learn_one({}, "sun")  # never had a sky
    assert model.predict_proba_one({"sky": "grey"}) == pytest.approx({"rain": 0.5, "sun": 0.5})


def test_where_every_class_is_impossible_the_class_prior_answers():
    model = NaiveBayes(strength=0)
    for x, y in [
        ({"a": 1 == 1, "b": "u"}, "y"),
        ({"a": False, "b": "v"}, "z"),
        ({"a": False, "b": "v"}, "z"),
    ]:
        model.learn_one(x, y)
    x = {"a": True, "b": "v"}
    assert model.joint_log_likelihood({"a": True})["z"] == -math.inf
    assert model.predict_proba_one(x) == pytest.approx({"y": 1 / 3, "z": 2 / 3})
    assert model.predict_one(x) == "z"


def test_five_hundred_features_do_not_underflow():
    model = NaiveBayes(strength=0.01)
    for y, n in (("a", 400), ("b", 500)):
        for value in ("u", "v"):
            w = n if (value == "u") == (y == "a") else 1
            model.learn_one({f"f{i}": value for i in range(3000)}, y, w=w)
    x = {f"f{i}": "u" if i % 2 else "v" for i in range(3000)}
    scores = model.joint_log_likelihood(x)
    for y in "ab":
        table = model.conditional("f0", {"class": y})
        expected = 1500 * (math.log(table["u"]) + math.log(table["v"])) + math.log(model.class_prior_[y])
        assert scores[y] == pytest.approx(expected, rel=1e-12)
    assert model.predict_one(x) == "a"


def test_class_priors_can_be_uniform_or_given():
    rows: list[Row] = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun"), ({"sky": "grey"}, "rain")]
    assert taught(NaiveBayes(class_prior="uniform"), rows).class_prior_ == pytest.approx(
        {"rain": 0.5, "sun": 0.5}
    )
    given_prior = {"rain": 0.1, "sun": 0.7, "snow": 0.2}
    model = taught(NaiveBayes(class_prior=given_prior), rows)
    assert model.class_prior_ == pytest.approx(given_prior)
    assert model.predict_proba_one({}) == pytest.approx(given_prior)
    with pytest.raises(BadLabel, match="'hail' is not among the declared classes"):
        model.learn_one({"sky": "grey"}, "hail")


def test_a_tie_goes_to_the_first_by_name():
    for labels in itertools.permutations([10, "b", 2, "a"]):
        assert taught(NaiveBayes(), [({}, y) for y in labels]).predict_one({}) == 2


def test_before_any_learning_there_is_no_answer():
    for model in (NaiveBayes(), GaussianNB(), NaiveBayes(class_prior={"a": 0.5, "b": 0.5})):
        assert model.predict_one({"x": 1.0}) is None
        assert model.predict_proba_one({"x": 1.0}) == {}
        assert model.joint_log_likelihood({"x": 1.0}) == {}
        assert model.class_prior_ == {}


# --- numeric features against numpy ---


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
    model = kind(variance=variance, strength=0, variance_floor=0)
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
    model = taught(
        GaussianNB(), [({"x": v}, y) for y, v in [("a", 1.0), ("a", 3.0), ("b", 10.0), ("b", 16.0)]]
    )
    model.learn_one({"x": 40.0}, "c", w=weight)
    pooled = (2.0 + 18.0) / (1 + 1)
    table = model.conditional("x")
    assert table["c"] == pytest.approx({"mean": 40.0, "sd": math.sqrt(pooled)})
    assert table["a"] == pytest.approx({"mean": 2.0, "sd": math.sqrt(2.0)})


def test_with_one_sample_a_class_the_variance_is_that_of_all_classes():
    model = taught(GaussianNB(), [({"x": 1.0}, "a"), ({"x": 5.0}, "b")])
    assert model.conditional("x")["a"] == pytest.approx({"mean": 1.0, "sd": math.sqrt(8.0)})
    assert model.predict_one({"x": 2.0}) == "a"


def test_a_class_that_never_had_the_feature_has_the_moments_of_all_classes():
    model = taught(
        GaussianNB(), [({"x": v}, y) for y, v in [("a", 1.0), ("a", 3.0), ("b", 10.0), ("b", 16.0)]]
    )
    model.learn_one({"z": 1.0}, "c")
    values = np.array([1.0, 3.0, 10.0, 16.0])
    assert model.conditional("x")["c"] == pytest.approx({"mean": values.mean(), "sd": values.std(ddof=1)})


def test_no_variance_is_below_its_share_of_the_features_variance():
    rows: list[Row] = [({"x": v}, y) for y, v in [("a", 5.0), ("a", 5.0), ("b", 0.0), ("b", 10.0)]]
    overall = np.array([5.0, 5.0, 0.0, 10.0]).var(ddof=1)
    for floor in (1e-9, 1e-3, 0.5):
        table = taught(GaussianNB(variance_floor=floor), rows).conditional("x")
        assert table["a"]["sd"] == pytest.approx(math.sqrt(floor * overall))
        assert table["b"]["sd"] == pytest.approx(math.sqrt(50.0))


@pytest.mark.parametrize("numbers", [[1e200], [1e300, -1e300], [1e160, 1.0, 1e160], [-1.7e308, 1.7e308]])
def test_a_number_of_any_size_is_refused_or_learned_so_that_the_state_comes_back(numbers):
    model = taught(GaussianNB(), [({"x": 1.0}, "a"), ({"x": 2.0}, "a"), ({"x": 3.0}, "b")])
    for number in numbers:
        before = model.state()["checksum"]
        try:
            model.learn_one({"x": number}, "a")
        except BadValue:
            assert model.state()["checksum"] == before
    assert GaussianNB.from_state(model.state()).state()["checksum"] == model.state()["checksum"]
    p = model.predict_proba_one({"x": 1.5})
    assert sum(p.values()) == pytest.approx(1.0)
    alone = GaussianNB()
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
    model = GaussianNB(variance=variance)
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
    model = GaussianNB()
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
    weighted, repeated = NaiveBayes(), NaiveBayes()
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
    model, rest = GaussianNB(variance=variance), GaussianNB(variance=variance)
    for v, y in gone + rows:
        model.learn_one({"x": v}, y)
    for v, y in rows:
        rest.learn_one({"x": v}, y)
    for v, y in gone:
        model.unlearn_one({"x": v}, y)
    assert model.class_prior_ == pytest.approx(rest.class_prior_, abs=1e-12)
    assert model.classes_ and set(model.classes_) == set(rest.classes_)
    for y in rest.classes_:
        got, expected = model._store.by_name()["x", y], rest._store.by_name()["x", y]
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
    model, window = GaussianNB(half_life=half_life), collections.deque[tuple[float, int]]()
    for step in range(4000 + width):
        if step < 4000:
            window.append((draw(), model.clock + 1))
            model.learn_one({"x": window[-1][0]}, "a")
        if len(window) > width or step >= 4000:
            number, at = window.popleft()
            model.unlearn_one({"x": number}, "a", at=at)
    assert not window
    assert model._store.by_name() == {}


def test_a_numeric_feature_that_holds_no_samples_is_skipped():
    model = taught(
        NaiveBayes(), [({"s": "u", "x": 1.0}, "a"), ({"s": "v", "x": 2.0}, "b"), ({"s": "u"}, "a")]
    )
    model.unlearn_one({"x": 1.0, "s": "u"}, "a")
    model.unlearn_one({"x": 2.0, "s": "v"}, "b")
    model.learn_one({"s": "v"}, "b")
    expected = model.predict_proba_one({"s": "u"})
    assert model.predict_proba_one({"s": "u", "x": 3.0}) == expected
    assert model.predict_proba_one({"s": "u", "never": 3.0}) == expected


def test_test_then_train_predicts_as_before_the_sample_was_known():
    model, twin = NaiveBayes(), NaiveBayes()
    rows: list[Row] = [
        ({"s": "u"}, "a"),
        ({"s": "v", "x": 3.0}, "b"),  # a numeric feature nobody has met
        ({"s": "w", "x": 4.0}, "a"),  # and a value
        ({"s": "u", "x": 1.0, "t": True}, "c"),  # and a class
        ({"s": "v", "z": -2.0}, "a"),
    ]
    for x, y in rows:
        expected = twin.predict_proba_one(x)
        twin.learn_one(x, y)
        assert model.predict_learn_one(x, y) == pytest.approx(expected, abs=1e-12)
    assert model.state()["checksum"] == twin.state()["checksum"]


def test_test_then_train_with_weight_0_names_nothing_and_predicts():
    model = taught(NaiveBayes(), [({"s": "u"}, "a"), ({"s": "v"}, "b"), ({"s": "u"}, "a")])
    expected = model.predict_proba_one({"s": "u"})
    rows: list[Row] = [
        ({"s": "w", "new": "x"}, "a"),
        ({"x": 3.5, "s": "u"}, "c"),
        ({f"f{i}": "x" for i in range(99)}, "d"),
    ]
    for x, y in rows:
        known = {name: value for name, value in x.items() if value == "u"}
        assert model.predict_learn_one(x, y, w=0) == pytest.approx(model.predict_proba_one(known))
    assert model.predict_proba_one({"s": "u"}) == expected
    assert model.classes_ == ("a", "b")


# --- kinds and schemas ---


def test_without_a_schema_the_first_value_decides_the_kind():
    model = taught(NaiveBayes(), [({"s": "u", "b": True, "t": (1, 2), "y": b"x", "i": 3, "f": 0.5}, "a")])
    for name in "sbty":
        assert list(model.conditional(name)["a"].values()) == [1.0]
    for name in "if":
        assert model.conditional(name)["a"].keys() == {"mean", "sd"}


def test_a_boolean_and_a_number_are_the_same_value_where_they_are_nominal():
    model = NaiveBayes(schema=Schema({"n": Nominal()}))
    for value in (True, 1, 1.0, "1"):
        model.learn_one({"n": value}, "a")
    assert model.conditional("n")["a"] == {True: 4 / 6, "1": 2 / 6}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("u", 1, "nominal"),
        (True, 2.5, "nominal"),
        (1, "u", "numeric"),
        (2.5, b"x", "numeric"),
        (1, ("a",), "numeric"),
    ],
)
def test_a_feature_that_changes_kind_is_refused_at_learning_and_predicting(first, second, expected):
    model = taught(NaiveBayes(), [({"x": first}, "a")])
    before = model.state()["checksum"]
    for act in (lambda: model.learn_one({"x": second}, "a"), lambda: model.predict_one({"x": second})):
        with pytest.raises(KindChanged, match=f"'x' is {expected}"):
            act()
    assert model.state()["checksum"] == before


@pytest.mark.parametrize(
    "model",
    [
        taught(NaiveBayes(), [({"x": 1.0}, "a")]),
        taught(GaussianNB(), [({"x": 1.0}, "a")]),
        GaussianNB(),
        NaiveBayes(schema=Schema({"x": Numeric()})),
        GaussianNB(schema=Schema({"x": Numeric()})),
    ],
    ids=["met", "Gaussian, met", "Gaussian, new", "declared", "Gaussian, declared"],
)
@pytest.mark.parametrize("value", [True, np.True_, "1.0", b"1", (1.0,)])
def test_a_numeric_feature_takes_numbers_only(model, value):
    with pytest.raises((BadValue, KindChanged), match="'x' is numeric"):
        model.learn_one({"x": value}, "a")


def test_numpy_numbers_are_numbers():
    model = taught(
        GaussianNB(), [({"x": np.float32(1.5), "y": np.int64(3)}, "a"), ({"x": 2, "y": np.uint8(5)}, "a")]
    )
    assert model.conditional("x")["a"]["mean"] == 1.75
    assert model.conditional("y")["a"]["mean"] == 4.0


def test_ints_are_nominal_where_the_schema_says_so():
    model = taught(
        NaiveBayes(schema=Schema({"die": [1, 2, 3, 4, 5, 6]})), [({"die": 6}, "loaded"), ({"die": 2}, "fair")]
    )
    assert model.conditional("die")["loaded"] == {1: 1 / 7, 2: 1 / 7, 3: 1 / 7, 4: 1 / 7, 5: 1 / 7, 6: 2 / 7}


def test_a_closed_feature_refuses_other_values_at_learning_and_skips_them_at_predicting():
    model = NaiveBayes(schema=Schema({"sky": Nominal(["grey", "blue"], closed=True)}))
    model.learn_one({"sky": "grey"}, "rain")
    before = model.state()["checksum"]
    with pytest.raises(BadValue, match="'sky': 'green' is not among the declared values"):
        model.learn_one({"sky": "green"}, "rain")
    assert model.state()["checksum"] == before
    assert model.predict_proba_one({"sky": "green"}) == {"rain": 1.0}


@pytest.mark.parametrize("kind", [NaiveBayes, GaussianNB])
def test_a_feature_that_is_not_declared_is_ignored_or_refused(kind):
    ignoring = kind(schema=Schema({"x": Numeric()}))
    refusing = kind(schema=Schema({"x": Numeric()}, unknown="refuse"))
    ignoring.learn_one({"x": 1.0, "other": "u"}, "a")
    assert ignoring._store.by_name() == {("a",): 1.0, ("x", "a"): (1.0, 1.0, 0.0)}
    ignoring.unlearn_one({"x": 1.0, "other": "u"}, "a")
    assert ignoring._store.by_name() == {}
    for act in (refusing.predict_one, lambda x: refusing.learn_one(x, "a")):
        with pytest.raises(UnknownFeature, match="'other' is not declared"):
            act({"x": 1.0, "other": "u"})
    assert refusing._store.by_name() == {}


def test_declared_classes_are_all_there_are():
    model = NaiveBayes(schema=Schema({"x": Numeric()}, classes=["a", "b"]))
    with pytest.raises(BadLabel, match="'c' is not among the declared classes"):
        model.learn_one({"x": 1.0}, "c")
    model.learn_one({"x": 1.0}, "a")
    assert model.predict_proba_one({}) == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert model.classes_ == ("a", "b")


def test_the_class_goes_by_the_schemas_name():
    model = NaiveBayes(schema=Schema({"class": Nominal()}, target="survived"))
    model.learn_one({"class": "first"}, True)
    assert model.conditional("class", {"survived": True}) == {"first": 1.0}
    with pytest.raises(NotSupported, match="the class is called 'survived'"):
        model.conditional("class", {"class": "first"})
    with pytest.raises(BadLabel, match="the classes are"):
        model.conditional("class", {"survived": "perhaps"})


def test_a_schema_must_suit_the_learner():
    with pytest.raises(SchemaError, match="'sky' is declared nominal"):
        GaussianNB(schema=Schema({"sky": Nominal()}))
    with pytest.raises(SchemaError, match="class_prior names the classes"):
        NaiveBayes(schema=Schema({"x": Numeric()}, classes=["a", "b"]), class_prior={"a": 0.5, "c": 0.5})
    with pytest.raises(BadValue, match="schema must be a Schema"):
        NaiveBayes(schema={"x": Numeric()})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"prior": "bayes"}, "prior must be one of 'laplace', 'm-estimate'"),
        ({"strength": -1}, "strength must be a finite number of at least 0"),
        ({"strength": math.nan}, "strength must be a finite number"),
        ({"strength": "1"}, "strength must be a finite number"),
        ({"class_prior": "even"}, "class_prior must be 'counted', 'uniform' or"),
        ({"class_prior": {"a": 0.5, "b": 0.6}}, "must sum to 1"),
        ({"class_prior": {"a": 1.5, "b": -0.5}}, "at least 0"),
        ({"half_life": 0}, "half_life must be a finite number above 0"),
        ({"half_life": math.inf}, "half_life must be a finite number"),
        ({"variance": "all"}, "variance must be one of"),
        ({"variance_floor": -1e-9}, "variance_floor must be"),
        ({"max_values": 0}, "max_values must be a whole number of at least 1"),
        ({"max_values": True}, "max_values must be a whole number"),
        ({"memory_budget": 1.5}, "memory_budget must be a whole number"),
    ],
)
def test_wrong_arguments_are_refused_when_the_learner_is_made(settings, words):
    with pytest.raises(BadValue, match=words):
        NaiveBayes(**settings)


def test_values_past_max_values_share_one_place():
    model = NaiveBayes(max_values=2)
    for sky in ["grey", "blue", "red", "green", "red"]:
        model.learn_one({"sky": sky}, "rain")
    assert list(model.conditional("sky")["rain"].values()) == [2 / 8, 2 / 8, 4 / 8]
    assert model.joint_log_likelihood({"sky": "violet"}) == model.joint_log_likelihood({"sky": "red"})


@pytest.mark.parametrize("feature", ["nothing", 7, None])
def test_a_table_of_a_feature_nobody_met_is_refused_by_name(feature):
    model = taught(NaiveBayes(), [({"sky": "grey"}, "rain")])
    for ask in (model.conditional, model.joint):
        with pytest.raises(UnknownFeature, match="no feature"):
            ask(feature)


def test_a_numeric_feature_has_no_joint_table_of_counts():
    with pytest.raises(NotSupported, match="'x' is numeric"):
        taught(NaiveBayes(), [({"x": 1.0}, "a")]).joint("x")


@pytest.mark.parametrize("strength", [0.0, 1.0])
@pytest.mark.parametrize("prior", ["laplace", "m-estimate"])
def test_faded_counts_are_smoothed_in_units_of_a_fresh_sample(prior, strength):
    faded, fresh = NaiveBayes(prior, strength, half_life=4.0), NaiveBayes(prior, strength)
    for x, y, w in [
        ({"s": "u", "x": 1.0}, "a", 8),
        ({"s": "v", "x": 5.0}, "b", 16),
        ({"s": "v", "x": 2.0}, "a", 8),
    ]:
        faded.learn_one(x, y, w=w * 2 ** (2 + -faded.clock / 4))
        fresh.learn_one(x, y, w=w * 2 ** (2 - fresh.clock / 4) * 2 ** (-(4.0 * 3 - 1 - fresh.clock) / 4))
    faded.advance(9)
    x = {"s": "u", "x": 3.0}
    assert faded.joint_log_likelihood(x) == pytest.approx(fresh.joint_log_likelihood(x), rel=1e-9)
    assert faded.class_prior_ == pytest.approx(fresh.class_prior_, rel=1e-9)
