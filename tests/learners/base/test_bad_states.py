"""What was not learned is not unlearned, what does not fit is not merged, and what is no state is not loaded."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BernoulliNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Schema,
)
from stream_bayes.errors import BadState, CannotMerge, NotLearned
from tests.learners.base.trained_learners import EACH, LEARNERS, refuses, trained

# --- unlearning ---


@EACH
def test_unlearning_what_was_never_learned(name):
    model, x = trained(name)
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
    assert model.store.by_name() == {}
    assert model.predict_one(x) is None


def test_unlearning_at_a_time_that_never_was():
    model, x = trained("NaiveBayes, fading")
    for at in (-1, 3, 10**30, 1.0, True, "2"):
        refuses(model, NotLearned, "the clock stands at 2", partial(model.unlearn_one, x, "sun", w=2, at=at))


# --- merging ---


@EACH
def test_merging_another_kind(name):
    model, _ = trained(name)
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
    model, _ = trained(kind.__name__)
    ((setting, _),) = settings.items()
    refuses(model, CannotMerge, f"differ in {setting}", lambda: model.merge(kind(**settings)))


def test_merging_a_feature_of_another_kind():
    model, _ = trained("NaiveBayes")
    other = NaiveBayes()
    other.learn_one({"new": "u", "sky": 3.5}, "new")
    refuses(
        model,
        CannotMerge,
        "'sky' is nominal in one learner and numeric in the other",
        lambda: model.merge(other),
    )


def test_a_budget_is_no_reason_not_to_merge():
    model, x = trained("NaiveBayes")
    other = NaiveBayes(memory_budget=10**6)
    other.learn_one(x, "rain")
    assert model.merge(other).classes_ == ("rain", "sun")


# --- states ---


@EACH
def test_a_state_of_a_newer_format(name):
    model, _ = trained(name)
    state = {**model.state(), "format": 99}
    with pytest.raises(BadState, match=r"format 99.*upgrade"):
        type(model).from_state(state)


@EACH
def test_a_state_of_another_learner(name):
    model, _ = trained(name)
    other = GaussianNB if not isinstance(model, GaussianNB) else NaiveBayes
    with pytest.raises(BadState, match=f"of a {type(model).__name__}, not of a {other.__name__}"):
        other.from_state(model.state())


@EACH
def test_a_truncated_state(name):
    state = trained(name)[0].state()
    kind = type(trained(name)[0])
    for key in state:
        cut = {k: v for k, v in state.items() if k != key}
        with pytest.raises(BadState, match=r"truncated|not a state"):
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
    model, _ = trained(name)
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
    state = copy.deepcopy(trained("NaiveBayes")[0].state())
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
