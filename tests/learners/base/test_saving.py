from __future__ import annotations

import copy
import json
import pickle
import zlib
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
    Numeric,
    Schema,
)
from stream_bayes.errors import BadState, StreamBayesError
from stream_bayes.learners.base.state import checksum, text_of
from tests.hash_seeds import printed_with
from tests.resealing import resealed
from tests.samples_of_pairs import paired

NAMED: list[tuple[dict[Any, Any], Any, float]] = [
    ({"sky": "grey", "warm": True, "heat": 20.5}, "rain", 1),
    ({"sky": "blue", "heat": -3, "t": ("a", 1)}, True, 2),
    ({"sky": "\ud800", "b": b"\xff", "line\nbreak": "x\ny"}, 7, 1),
    ({}, "rain", 3),
]
NUMBERS: list[tuple[dict[Any, Any], Any, float]] = [({"x": 1.5, "ü": -2}, "a", 1), ({"x": 1e100}, "b", 2)]
BAGS: list[tuple[dict[Any, Any], Any, float]] = [
    ({"free": 2, "pills": 1, "line\nbreak": 1}, "spam", 1),
    ({"lunch": 1, 7: 3, ("new", "york"): 1}, "ham", 2),
]
WORDS: list[tuple[dict[Any, Any], Any, float]] = [
    ({"free": 2, "pills": 1}, "spam", 1),
    ({"lunch": 1}, "ham", 2),
]


LEARNERS: dict[str, tuple[Any, list[tuple[dict[Any, Any], Any, float]]]] = {
    "NaiveBayes": (NaiveBayes(), NAMED),
    "fading": (NaiveBayes("m-estimate", 0.5, half_life=7.0), NAMED),
    "limited": (NaiveBayes(max_values=1, variance="both", variance_floor=0.5, memory_budget=10**6), NAMED),
    "given prior": (NaiveBayes(class_prior={"rain": 0.5, True: 0.25, 7: 0.25}), NAMED),
    "schema": (
        NaiveBayes(schema=Schema({"sky": Nominal(["grey"]), "heat": Numeric()}, target="weather")),
        NAMED,
    ),
    "GaussianNB": (GaussianNB(class_prior="uniform"), NUMBERS),
    "MultinomialNB": (MultinomialNB(alpha=0.1), BAGS),
    "MultinomialNB, declared": (MultinomialNB(schema=Schema({"free": Numeric(), "lunch": Numeric()})), WORDS),
    "ComplementNB": (ComplementNB(max_values=2), BAGS),
    "BernoulliNB": (BernoulliNB(true_threshold=1.0), BAGS),
    "BernoulliNB, fading": (BernoulliNB(half_life=2.5), BAGS),
}
EACH = pytest.mark.parametrize("name", LEARNERS)


def trained(name: str, *, fraction: bool = False) -> tuple[Any, list[tuple[dict[Any, Any], Any, float]]]:
    blank, samples = LEARNERS[name]
    model = blank.clone()
    for x, y, w in samples:
        model.learn_one(x, y, w=w / 2 if fraction else w)
    return model, samples


def held(model: Any) -> tuple[str, dict[str, Any], int]:
    state = model.state()
    arrays = {key: (array.dtype.str, array.shape, array.tobytes()) for key, array in state["arrays"].items()}
    return text_of(state), arrays, state["checksum"]


WAYS = pytest.mark.parametrize(
    "again",
    [
        lambda model: type(model).from_state(model.state()),
        lambda model: type(model).from_state(
            {
                **json.loads(json.dumps({k: v for k, v in model.state().items() if k != "arrays"})),
                "arrays": model.state()["arrays"],
            }
        ),
        lambda model: pickle.loads(pickle.dumps(model)),
        copy.deepcopy,
    ],
    ids=["state", "through JSON", "pickle", "deepcopy"],
)


@EACH
@WAYS
@pytest.mark.parametrize("fraction", [False, True])
def test_a_learner_comes_back_and_goes_on_byte_for_byte(name, again, fraction):
    model, samples = trained(name, fraction=fraction)
    twin = again(model)
    assert held(twin) == held(model)
    assert twin._get_params() == model._get_params()
    assert twin.classes_ == model.classes_
    assert [type(y) for y in twin.classes_] == [type(y) for y in model.classes_]
    for x, y, w in samples:
        assert twin.predict_proba_one(x) == model.predict_proba_one(x)
        for one in (model, twin):
            one.learn_one({**x, **({"new": 4} if name != "limited" else {})}, y, w=w)
    for one in (model, twin):
        one.unlearn_one(
            samples[0][0], samples[0][1], w=0.5 if fraction else 1, at=1 if one.half_life else None
        )
    assert held(twin) == held(model)


@EACH
def test_taking_a_state_and_predicting_change_nothing(name):
    model, samples = trained(name)
    before = held(model)
    for x, _, _ in samples:
        x = {**x, "unknown": 3}
        model.predict_one(x)
        model.predict_proba_one(x)
        model.joint_log_likelihood(x)
        model.predict_many([x, x])
        model.explain_one(x)
        model.predict_interval_one(x)
        copy.deepcopy(model)
        pickle.dumps(model)
    assert held(model) == before


@EACH
def test_a_blank_learner_comes_back_blank(name):
    blank = LEARNERS[name][0].clone()
    twin = type(blank).from_state(blank.state())
    assert held(twin) == held(blank)
    assert twin.predict_proba_one({"x": 1}) == {}


@EACH
def test_a_state_is_json_and_arrays_of_doubles_alone(name):
    state = trained(name)[0].state()
    json.dumps({key: value for key, value in state.items() if key != "arrays"}, allow_nan=False)
    for array in state["arrays"].values():
        assert type(array) is np.ndarray
        assert array.dtype == np.float64
        assert array.flags.c_contiguous


def test_a_state_and_a_pickle_are_the_same_bytes_in_every_process():
    code = (
        "import hashlib, pickle\n"
        "from stream_bayes import NaiveBayes\n"
        "model = NaiveBayes()\n"
        "for i in range(50):\n"
        "    model.learn_one({'f%d' % (i % 7): 'v%d' % i, 'n': i / 3}, 'c%d' % (i % 3))\n"
        "print(model.state()['checksum'], hashlib.sha256(pickle.dumps(model)).hexdigest())\n"
    )
    assert len({printed_with(seed, code) for seed in (0, 12345)}) == 1


def test_merging_saved_shards_is_learning_all():
    whole, shards = MultinomialNB(), [MultinomialNB(), MultinomialNB()]
    for i in range(20):
        x, y = {f"w{i % 7}": 1, f"w{i % 3}": 2}, "xy"[i % 2]
        whole.learn_one(x, y)
        shards[i % 2].learn_one(x, y)
    merged = MultinomialNB.from_state(shards[0].state()) + MultinomialNB.from_state(shards[1].state())
    assert merged.store.by_name() == whole.store.by_name()


WRONG_PARAMETERS = [
    ("alpha", "much"),
    ("strength", -1),
    ("class_prior", "none"),
    ("class_prior", {"labels": [["x", 2.0]]}),
    ("class_prior", {"labels": 3}),
    ("class_prior", {"labels": [[{"int": 5}, 1.0]]}),
    ("class_prior", {"schema": {}}),
    ("class_prior", {"what": 1}),
    ("half_life", 0),
    ("half_life", []),
    ("schema", {"schema": {"features": []}}),
    ("schema", 3),
    ("max_values", -1),
    ("memory_budget", "all"),
    ("unknown_parameter", 1),
]


@pytest.mark.parametrize(
    ("name", "parameter", "value"), [(name, *each) for name, each in paired(LEARNERS, WRONG_PARAMETERS)]
)
def test_parameters_that_make_no_learner_are_bad_state(name, parameter, value):
    state = trained(name)[0].state()
    with pytest.raises(BadState):
        type(LEARNERS[name][0]).from_state(
            resealed({**state, "parameters": {**state["parameters"], parameter: value}})
        )


@EACH
def test_a_budget_that_the_state_passes_is_refused(name):
    state = trained(name)[0].state()
    small = resealed({**state, "parameters": {**state["parameters"], "memory_budget": 10}})
    with pytest.raises(StreamBayesError):
        type(LEARNERS[name][0]).from_state(small)


@EACH
def test_no_altered_byte_of_an_array_is_read(name):
    state = trained(name)[0].state()
    for key, array in state["arrays"].items():
        if not array.size:
            continue
        for place in {0, array.nbytes // 2, array.nbytes - 1}:
            altered = np.frombuffer(bytearray(array.tobytes()), np.uint8).copy()
            altered[place] ^= 1
            altered_array = altered.view(np.float64).reshape(array.shape)
            with pytest.raises(BadState, match="checksum"):
                type(LEARNERS[name][0]).from_state(
                    {**state, "arrays": {**state["arrays"], key: altered_array}}
                )


@EACH
def test_a_resealed_state_with_impossible_arrays_is_bad_state(name):
    state = trained(name)[0].state()
    for key, array in state["arrays"].items():
        for value in (np.nan, np.inf, -np.inf, -1.0):
            if not array.size:
                continue
            altered_array = array.copy()
            altered_array.flat[-1] = value
            with pytest.raises(BadState, match=key):
                type(LEARNERS[name][0]).from_state(
                    resealed({**state, "arrays": {**state["arrays"], key: altered_array}})
                )
        for shape in (array[:-1], array[:, :-1] if array.ndim > 1 else array[1:], array[..., None]):
            altered_array = np.ascontiguousarray(shape)
            if altered_array.shape == array.shape:
                continue
            with pytest.raises(BadState):
                type(LEARNERS[name][0]).from_state(
                    resealed({**state, "arrays": {**state["arrays"], key: altered_array}})
                )


def test_a_saved_other_needs_a_limit():
    state = copy.deepcopy(trained("limited")[0].state())
    state["parameters"]["max_values"] = None
    with pytest.raises(BadState):
        NaiveBayes.from_state(resealed(state))


def test_the_checksum_covers_names_types_shapes_and_text():
    arrays = {"a": np.arange(6.0)}
    sums = {
        checksum("text", arrays),
        checksum("texts", arrays),
        checksum("text", {"b": arrays["a"]}),
        checksum("text", {"a": arrays["a"].reshape(2, 3)}),
        checksum("text", {"a": arrays["a"].astype(np.float32)}),
        checksum("text", {"a": arrays["a"] + 1}),
        zlib.crc32(b"text"),
    }
    assert len(sums) == 7


def test_an_unknown_parameter_cannot_be_saved():
    model = NaiveBayes()
    vars(model)["strength"] = np.arange(3)  # wrong on purpose
    with pytest.raises(BadState, match="ndarray cannot be saved"):
        model.state()
