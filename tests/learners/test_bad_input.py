"""What must be refused: with which error, in which words, and with nothing changed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_bayes import (
    BernoulliNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
)
from stream_bayes.errors import BadLabel, BadState, BadValue, BadWeight, CannotMerge, KindChanged, NotLearned

NAMED = {"sky": "grey", "heat": 20.5}
BAG = {"free": 2, "pills": 1}

LEARNERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "NaiveBayes": (NaiveBayes, NAMED),
    "NaiveBayes, schema": (
        lambda **a: NaiveBayes(schema=Schema({"sky": Nominal(), "heat": Numeric()}), **a),
        NAMED,
    ),
    "NaiveBayes, fading": (lambda **a: NaiveBayes(half_life=9.0, **a), NAMED),
    "GaussianNB": (GaussianNB, {"heat": 20.5, "wind": 3}),
    "MultinomialNB": (MultinomialNB, BAG),
    "ComplementNB": (ComplementNB, BAG),
    "BernoulliNB": (BernoulliNB, BAG),
}
EACH = pytest.mark.parametrize("name", LEARNERS)


def taught(name: str) -> tuple[Any, dict[str, Any]]:
    make, x = LEARNERS[name]
    model = make()
    model.learn_one(x, "rain")
    model.learn_one(x, "sun", w=2)
    return model, x


def held(model: Any) -> tuple[Any, ...]:
    """Every byte of a learner's state, and the memory it says it takes."""
    state = model.state()
    arrays = {key: (array.dtype.str, array.shape, array.tobytes()) for key, array in state["arrays"].items()}
    return repr({key: value for key, value in state.items() if key != "arrays"}), arrays, model.memory_bytes


def refuses(model: Any, error: type[Exception], words: str, act: Callable[[], object]) -> None:
    before = held(model)
    with pytest.raises(error) as caught:
        act()
    missing = [word for word in words.split(" ... ") if word not in str(caught.value)]
    assert not missing, (missing, str(caught.value))
    assert held(model) == before


# --- labels ---


@EACH
@pytest.mark.parametrize(
    ("label", "words"),
    [
        (None, "a label is needed ... None ... learn when its label comes"),
        (math.nan, "a label is needed ... nan"),
        (pd.NA, "a label is needed ... NA"),
        (["rain"], "expected str ... got list ... ['rain'] ... convert it first"),
        ({"a": 1}, "expected str ... got dict"),
        ({"rain"}, "expected str ... got set"),
        (np.array(["rain"]), "expected str ... ndarray"),
        (math.inf, "finite float ... inf"),
        (1j, "expected str ... complex"),
        (Decimal(1), "expected str ... Decimal"),
        (("rain", None), "expected str ... tuple"),
        (object(), "expected str ... object"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_label_that_is_none(name, label, words):
    model, x = taught(name)
    fresh = {f"new {key}": value for key, value in x.items()} if "schema" not in name else x
    for act in (model.learn_one, model.predict_learn_one):
        refuses(model, BadLabel, words, partial(act, fresh, label))
    for y in ([None, label], ["rain", label]):
        refuses(model, BadLabel, "row", partial(model.learn_many, [fresh, fresh], y))
    refuses(model, BadLabel, words, lambda: model.unlearn_one(x, label))


def test_a_label_outside_the_declared_classes():
    for model in (
        NaiveBayes(schema=Schema({"a": Nominal()}, classes=["x", "y"])),
        NaiveBayes(class_prior={"x": 1.0}),
    ):
        model.learn_one({"a": "u"}, "x")
        refuses(
            model, BadLabel, "'z' ... declared classes ... 'x'", partial(model.learn_one, {"a": "v"}, "z")
        )
        for rows in ([{"a": "v"}, {"a": "u"}], pd.DataFrame({"a": ["v", "u"]})):
            refuses(model, BadLabel, "row 1 ... 'z'", partial(model.learn_many, rows, ["x", "z"]))


# --- features and values ---


@pytest.mark.parametrize("key", [7, None, ("a", "b"), b"sky", True])
def test_a_feature_name_that_is_no_str_where_a_schema_is_declared(key):
    model, x = taught("NaiveBayes, schema")
    for act in (lambda: model.learn_one({**x, key: "u"}, "new"), lambda: model.predict_one({key: 1})):
        refuses(model, BadValue, f"feature names are str ... schema ... {key!r}", act)


@pytest.mark.parametrize("name", ["NaiveBayes", "NaiveBayes, schema", "NaiveBayes, fading", "GaussianNB"])
@pytest.mark.parametrize("value", ["warm", "20.5", b"1", True, (1.0,), ""])
def test_a_numeric_feature_that_gets_something_else(name, value):
    model, x = taught(name)
    error = KindChanged if name in ("NaiveBayes", "NaiveBayes, fading") else BadValue
    words = f"'heat' is numeric ... {value!r} ... {type(value).__name__}"
    bad = {**x, "new": 3, "heat": value}
    for act in (
        lambda: model.learn_one(bad, "new"),
        lambda: model.predict_learn_one(bad, "new"),
        lambda: model.unlearn_one(bad, "rain"),
        lambda: model.predict_one(bad),
        lambda: model.predict_proba_one({"heat": value}),
        lambda: model.joint_log_likelihood({"heat": value}),
    ):
        refuses(model, error, words, act)
    refuses(model, error, f"row 1 ... {words}", lambda: model.learn_many([x, bad], ["new", "rain"]))


@pytest.mark.parametrize("name", ["NaiveBayes", "NaiveBayes, schema", "GaussianNB"])
@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, np.float32("inf"), np.inf, 10**400], ids=lambda v: str(v)[:9]
)
def test_a_number_that_is_not_finite(name, value):
    model, x = taught(name)
    for act in (
        lambda: model.learn_one({**x, "heat": value}, "new"),
        lambda: model.predict_one({**x, "heat": value}),
    ):
        refuses(model, BadValue, "'heat'", act)


@pytest.mark.parametrize(
    "value", [["u"], {"u"}, object(), 1j, Decimal(1), math.inf, ("u", None)], ids=lambda v: type(v).__name__
)
def test_a_value_of_no_supported_type(value):
    model, x = taught("NaiveBayes")
    for act in (
        lambda: model.learn_one({**x, "new": value}, "new"),
        lambda: model.learn_one({**x, "other": "u", "sky": value}, "new"),
    ):
        refuses(model, BadValue, "feature ... expected ... finite", act)


def test_a_nominal_feature_that_gets_a_number():
    model, x = taught("NaiveBayes")
    words = "'sky' is nominal ... 3 ... declare it Nominal in a schema"
    refuses(model, KindChanged, words, lambda: model.learn_one({**x, "new": "u", "sky": 3}, "new"))


@EACH
@pytest.mark.parametrize("x", [None, 3, "sky", ["sky"], [("sky", "grey", 1)]])
def test_features_that_are_no_dict(name, x):
    model, _ = taught(name)
    for act in (
        lambda: model.learn_one(x, "new"),
        lambda: model.predict_one(x),
        lambda: model.unlearn_one(x, "rain"),
    ):
        refuses(model, BadValue, "as a dict {", act)


# --- weights ---


@EACH
@pytest.mark.parametrize(
    "weight",
    [math.inf, -math.inf, -1, -1e-300, math.nan, "1", "heavy", None, [1], 10**400, b"1"],
    ids=lambda w: repr(w)[:12],
)
def test_a_weight_that_is_none(name, weight):
    model, x = taught(name)
    words = f"a weight must be a finite number ... {weight!r}" if weight != 10**400 else "a weight must be"
    for act in (
        lambda: model.learn_one({**x, "new": 1.5} if "schema" not in name else x, "new", w=weight),
        lambda: model.predict_learn_one(x, "new", w=weight),
        lambda: model.unlearn_one(x, "rain", w=weight),
        lambda: model.learn_many([x, x], ["new", "rain"], w=[1.0, weight]),
    ):
        refuses(model, BadWeight, words, act)


@EACH
def test_a_weight_for_each_of_other_rows(name):
    model, x = taught(name)
    refuses(
        model,
        ValueError,
        "2 rows ... 3 weights",
        lambda: model.learn_many([x, x], ["new", "rain"], w=[1, 1, 1]),
    )
    refuses(model, ValueError, "2 rows ... 1 labels", lambda: model.learn_many([x, x], ["new"]))


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
def test_a_count_and_a_weight_that_only_together_are_infinite(name):
    model, _ = taught(name)
    with pytest.raises((BadValue, BadWeight)):
        model.learn_one({"free": 1e300}, "rain", w=1e300)


# --- bags ---


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
@pytest.mark.parametrize(
    "count", [-1, -0.5, math.inf, -math.inf, np.float64("inf"), 10**400], ids=lambda c: str(c)[:9]
)
def test_a_count_that_is_negative_or_not_finite(name, count):
    model, x = taught(name)
    bad = {"new": 1, **x, "free": count}
    for act in (
        lambda: model.learn_one(bad, "new"),
        lambda: model.predict_learn_one(bad, "new"),
        lambda: model.predict_one(bad),
        lambda: model.predict_one({"unknown": count}),
        lambda: model.unlearn_one(bad, "rain"),
    ):
        refuses(model, BadValue, "a count ... finite", act)
    refuses(
        model, BadValue, "row 1 ... 'free' ... a count", lambda: model.learn_many([x, bad], ["new", "rain"])
    )
    frame = pd.DataFrame({"free": [1.0, math.inf if isinstance(count, int) and count > 1 else float(count)]})
    refuses(model, BadValue, "row 1 ... 'free'", lambda: model.learn_many(frame, ["new", "rain"]))


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
@pytest.mark.parametrize("count", ["2", [1], 1j, b"1", (1,)], ids=repr)
def test_a_count_that_is_no_number(name, count):
    model, x = taught(name)
    for act in (
        lambda: model.learn_one({"new": 1, **x, "free": count}, "new"),
        lambda: model.predict_one({"free": count}),
    ):
        refuses(model, BadValue, "'free'", act)


# --- unlearning ---


@EACH
def test_unlearning_what_was_never_learned(name):
    model, x = taught(name)
    first, value = next(iter(x.items()))
    other: Any = value + 1 if isinstance(value, (int, float)) else "blue"
    samples: list[tuple[dict[str, Any], Any, float]] = [
        (x, "snow", 1),
        (x, "rain", 2),
        (x, "rain", 1.5),
        ({**x, first: other}, "rain", 1),
    ]
    if "schema" not in name:
        samples.append(({**x, "new": 1 if name != "GaussianNB" else 1.5}, "rain", 1))
    for bad, y, w in samples:
        if name in ("BernoulliNB", "GaussianNB") and bad.get(first) == other:
            continue  # the word is there either way; of numbers only the moments are kept
        refuses(model, NotLearned, "cannot unlearn", partial(model.unlearn_one, bad, y, w=w))
    first_at, second_at = (1, 2) if "fading" in name else (None, None)
    model.unlearn_one(x, "rain", at=first_at)
    refuses(model, NotLearned, "cannot unlearn ... 'rain'", lambda: model.unlearn_one(x, "rain", at=first_at))
    model.unlearn_one(x, "sun", w=2, at=second_at)
    assert model._store.by_name() == {}
    assert model.predict_one(x) is None


def test_unlearning_at_a_time_that_never_was():
    model, x = taught("NaiveBayes, fading")
    for at in (-1, 3, 10**30, 1.0, True, "2"):
        refuses(model, NotLearned, "the clock stands at 2", partial(model.unlearn_one, x, "sun", w=2, at=at))


# --- merging ---


@EACH
def test_merging_another_kind(name):
    model, _ = taught(name)
    for other in (*(make() for make, _ in LEARNERS.values()), 3, None, "model", object()):
        if type(other) is type(model) and other._get_params() == model._get_params():
            continue
        refuses(model, CannotMerge, "", partial(model.merge, other))
    with pytest.raises(TypeError):
        model + 3


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (NaiveBayes, {"strength": 2.0}),
        (NaiveBayes, {"prior": "m-estimate"}),
        (NaiveBayes, {"class_prior": "uniform"}),
        (NaiveBayes, {"class_prior": {"rain": 0.5, "sun": 0.5}}),
        (NaiveBayes, {"half_life": 3.0}),
        (NaiveBayes, {"variance": "both"}),
        (NaiveBayes, {"variance_floor": 0.1}),
        (NaiveBayes, {"schema": Schema({"sky": Nominal()})}),
        (NaiveBayes, {"max_values": 5}),
        (GaussianNB, {"strength": 2.0}),
        (MultinomialNB, {"alpha": 0.5}),
        (ComplementNB, {"class_prior": "counted"}),
        (BernoulliNB, {"true_threshold": 0.5}),
    ],
    ids=str,
)
def test_merging_other_settings(kind, settings):
    model, _ = taught(kind.__name__)
    ((setting, _),) = settings.items()
    refuses(model, CannotMerge, f"differ in {setting}", lambda: model.merge(kind(**settings)))


def test_merging_a_feature_of_another_kind():
    model, _ = taught("NaiveBayes")
    other = NaiveBayes()
    other.learn_one({"new": "u", "sky": 3.5}, "new")
    refuses(
        model,
        CannotMerge,
        "'sky' is nominal in one learner and numeric in the other",
        lambda: model.merge(other),
    )


def test_a_budget_is_no_reason_not_to_merge():
    model, x = taught("NaiveBayes")
    other = NaiveBayes(memory_budget=10**6)
    other.learn_one(x, "rain")
    assert model.merge(other).classes_ == ("rain", "sun")


# --- states ---


@EACH
def test_a_state_of_a_newer_format(name):
    model, _ = taught(name)
    state = {**model.state(), "format": 99}
    with pytest.raises(BadState, match=r"format 99.*upgrade"):
        type(model).from_state(state)


@EACH
def test_a_state_of_another_learner(name):
    model, _ = taught(name)
    other = GaussianNB if not isinstance(model, GaussianNB) else NaiveBayes
    with pytest.raises(BadState, match=f"of a {type(model).__name__}, not of a {other.__name__}"):
        other.from_state(model.state())


@EACH
def test_a_truncated_state(name):
    state = taught(name)[0].state()
    kind = type(taught(name)[0])
    for key in state:
        cut = {k: v for k, v in state.items() if k != key}
        with pytest.raises(BadState, match=r"truncated|no state"):
            kind.from_state(cut)
    for part in ("store", "arrays", "parameters"):
        for key in state[part]:
            cut = {**state, part: {k: v for k, v in state[part].items() if k != key}}
            with pytest.raises(BadState):
                kind.from_state(cut)
    wrong: list[Any] = [None, {}, [], "state", b"state", 3]
    for what in wrong:
        with pytest.raises(BadState):
            kind.from_state(what)


@EACH
def test_an_altered_state(name):
    model, _ = taught(name)
    kind, state = type(model), model.state()
    for key, array in state["arrays"].items():
        for altered in (
            array + 1,
            array.astype(np.float32),
            array[:0],
            array.tolist(),
            None,
            np.asfortranarray(array.T),
        ):
            if (
                isinstance(altered, np.ndarray)
                and altered.shape == array.shape
                and np.array_equal(altered, array)
            ):
                if altered.dtype == array.dtype:
                    continue
            with pytest.raises(BadState):
                kind.from_state({**state, "arrays": {**state["arrays"], key: altered}})
    for path in (
        ("store", "clock"),
        ("store", "order"),
        ("parameters", "class_prior"),
        ("learner",),
        ("checksum",),
    ):
        values: list[Any] = [3, "x", None, [], {}]
        for value in values:
            altered_state = copy.deepcopy(state)
            place: Any = altered_state
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            with pytest.raises(BadState):
                kind.from_state(altered_state)


def test_a_state_with_names_out_of_order():
    state = copy.deepcopy(taught("NaiveBayes")[0].state())
    state["store"]["labels"].reverse()
    with pytest.raises(BadState, match="altered"):
        NaiveBayes.from_state(state)


@pytest.mark.parametrize("number", [50.0, -2.9])
def test_a_number_that_the_class_cannot_have_learned_is_not_unlearned(number):
    model = GaussianNB()
    for x in (1.0, 2.0, 3.0):
        model.learn_one({"x": x}, "a")
    before = model.state()["checksum"]
    with pytest.raises(NotLearned, match="'x'"):
        model.unlearn_one({"x": number}, "a")
    assert model.state()["checksum"] == before
