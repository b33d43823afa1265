"""A state from a stranger: whatever is in it, it is refused as such, or makes a learner that works."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.errors import BadState, StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing import learners
from stream_bayes.testing.assertions import same_bytes
from stream_bayes.testing.sample_streams import Streams
from tests.builds import EVERYTHING, UNCOMPILED
from tests.resealing import resealed
from tests.shares import share_of

# Numbers that a forger wrote may overflow; numpy says so. They may also ask for what can never be held.
pytestmark = [
    pytest.mark.skipif(
        UNCOMPILED,
        reason="Python checks states alike on each build; uncompiled kernels read beyond no table",
    ),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::stream_bayes.errors.NeverEligible"),
]

EXAMPLES = 8 if EVERYTHING else 3
ALL = learners()


def a_share(number: int) -> pytest.MarkDecorator:
    names: list[str] = share_of(ALL, lambda name: type(ALL[name]), number)
    return pytest.mark.parametrize("name", names)


JUNK: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        7,
        2**31,
        2**62,
        2**63,
        -(2**63),
        10**30,
        0.5,
        -0.5,
        1e308,
        math.inf,
        math.nan,
    ),
    *(
        "",
        "x",
        "red",
        "counted",
        [],
        [[]],
        ["red"],
        [None],
        [0],
        {},
        {"int": "5"},
        {"int": "05"},
        {"tuple": []},
    ),
    *({"schema": {}}, {"labels": []}, {"labels": [["a", 1.0]]}, {"labels": [["a", "b"]]}, {"labels": 3}),
]
WORDS: list[Any] = [0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1e-300, 1e308, math.inf, math.nan]


WHOLE = [0, 1, 2, -1, -2, 1000, 2**31 - 1, -(2**31)]  # fits whatever whole numbers an array is made of


def trained(name: str) -> BayesClassifier:
    model = ALL[name].clone()
    for x, y, w in Streams(model).samples(12):
        model.learn_one(x, y, w)
    return model


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside JSON, as the keys that lead to it."""
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places_in(value[key], (*path, key))


def put(state: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        state = state[key]
    state[path[-1]] = value


def demand_refused_or_sound(model: BayesClassifier, state: dict[str, Any]) -> None:
    try:
        loaded = type(model).from_state(state)
    except BadState:
        return
    same_bytes(type(model).from_state(loaded.state()), loaded, "what an altered state made, loaded again")
    streams = Streams(model)
    for sample in streams.samples(5):
        # What was altered may be a name's kind, or a number that overflows: refusing is as good as learning.
        with contextlib.suppress(StreamBayesError):
            assert all(type(p) is float for p in loaded.predict_proba_one(sample.x).values())
            loaded.learn_one(*sample)
    assert loaded.memory_bytes > 0


@a_share(0)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_altered_names_and_settings_are_refused_or_harmless(name: str, data: st.DataObject) -> None:
    model = trained(name)
    state = model.state()
    arrays = state.pop("arrays")
    state = json.loads(json.dumps(state))
    for _ in range(data.draw(st.integers(1, 3))):
        places = [path for path in places_in(state) if path[0] in ("store", "parameters")]
        path = data.draw(st.sampled_from(places))
        put(state, path, copy.deepcopy(data.draw(st.sampled_from(JUNK))))
    try:
        forged = resealed({**state, "arrays": arrays})
    except (TypeError, ValueError):
        return
    demand_refused_or_sound(model, forged)


@a_share(1)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_altered_numbers_are_refused_or_harmless(name: str, data: st.DataObject) -> None:
    model = trained(name)
    state = model.state()
    arrays = {key: array.copy() for key, array in state["arrays"].items()}
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(st.sampled_from(sorted(arrays)))
        if arrays[key].size:
            place = data.draw(st.integers(0, arrays[key].size - 1))
            words = WORDS if arrays[key].dtype.kind == "f" else WHOLE
            arrays[key].flat[place] = data.draw(st.sampled_from(words))
    demand_refused_or_sound(model, resealed({**state, "arrays": arrays}))


@a_share(2)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_arrays_of_another_form_are_refused(name: str, data: st.DataObject) -> None:
    model = trained(name)
    state = model.state()
    key = data.draw(st.sampled_from(sorted(state["arrays"])))
    array = state["arrays"][key]
    altered = {
        "longer": np.concatenate([array, array[:1] if len(array) else np.zeros((1, *array.shape[1:]))]),
        "more classes": np.zeros((*array.shape[:-1], array.shape[-1] + 1)),
        "one more dimension": array[None],
        "flat": array.reshape(-1) if array.ndim > 1 else array.reshape(-1, 1),
        "transposed": array.T if array.ndim > 1 and array.shape[0] != array.shape[1] else array[None],
        "smaller numbers": array.astype(np.float32),
        "other whole numbers": array.astype(np.int64 if array.dtype != np.int64 else np.int32),
        "objects": array.astype(object),
        "other byte order": array.astype(">f8"),
    }
    how = data.draw(st.sampled_from(sorted(altered)))
    arrays = {**state["arrays"], key: altered[how]}
    try:
        forged = resealed({**state, "arrays": arrays})
    except (TypeError, ValueError):
        return
    with pytest.raises(BadState):
        type(model).from_state(forged)


@a_share(3)
def test_what_is_in_no_state_is_refused(name: str) -> None:
    model = trained(name)
    state = model.state()
    with pytest.raises(BadState):
        type(model).from_state(resealed({**state, "arrays": {**state["arrays"], "more": np.zeros(3)}}))
    with pytest.raises(BadState):
        type(model).from_state(resealed({**state, "parameters": {**state["parameters"], "more": 1}}))
    for key in state["parameters"]:
        fewer = {name: value for name, value in state["parameters"].items() if name != key}
        demand_refused_or_sound(model, resealed({**state, "parameters": fewer}))
