"""The state of a store: it comes back whole, and whatever is wrong with one is refused."""

from __future__ import annotations

import copy
import itertools
import math
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.values.values import packed, unpacked
from stream_bayes.errors import BadState
from tests.core.counts.stores import (
    MANY,
    ORDERS,
    Sample,
    counted,
    frozen,
    learned,
    named,
    rows_store,
    samples,
)

MIXED: list[Sample] = [
    ({"sky": "grey", "wind": ("west", 3), "heat": 20.5, "n": True}, "rain", 2),
    ({"sky": "blue", "n": False, "heat": 27.0}, True, 1),
    ({"wind": b"\xff", "late": "ü"}, 7, 1),
    ({"sky": "grey", "cold": -3}, "rain", 1),
]


def fresh(half_life: float | None, order: int) -> CountStore:
    return rows_store(order, max_values=5, half_life=half_life)


def stored(half_life: float | None, order: int) -> CountStore:
    store = fresh(half_life, order)
    for x, y, w in MIXED:
        store.learn(x, y, w)
    for number in range(8):
        store.learn({"sky": f"shade {number}"}, "rain")
    return store


KINDS = pytest.mark.parametrize("half_life", [None, 5.0], ids=["exact", "faded"])


@ORDERS
@KINDS
def test_a_loaded_store_goes_on_as_the_saved_one(order, half_life):
    store, twin = stored(half_life, order), fresh(half_life, order)
    twin.load(store.state())
    assert frozen(twin)[:2] == frozen(store)[:2]
    for one in (store, twin):
        one.unlearn(*MIXED[3][:2], at=4 if half_life else None)
        for x, y, w in MIXED:
            one.learn({**x, "new": "x"}, y, w / 2)
        one.learn({"sky": "shade 9"}, "snow")
    assert frozen(twin)[:2] == frozen(store)[:2]
    assert twin.by_name() == store.by_name()


def test_a_feature_that_rounding_makes_heavier_than_its_class_comes_back():
    heavier = 0
    for seed in range(25):
        source, store = random.Random(seed), rows_store(2)
        store.learn({"a": "x"}, "u", 0.3)
        for number in range(12):
            store.learn({"a": "x", "b": "y"}, "u", source.choice([0.1, 0.7, 1.3]))
            if number == 4:
                store.unlearn({"a": "x"}, "u", 0.3)
            state, twin = store.state(), rows_store(2)
            twin.load(state)
            assert frozen(twin)[:2] == frozen(store)[:2]
            heavier += bool(state["arrays"]["present"].max() > state["arrays"]["class_peak"].max())
    assert heavier  # it does happen


@given(samples, samples)
def test_an_empty_or_partly_unlearned_store_comes_back(many, gone):
    store = learned(many + gone, 2)
    for x, y, w in gone:
        store.unlearn(x, y, w)
    twin = rows_store(2)
    twin.load(store.state())
    assert named(twin) == named(store) == counted(many, 2)
    assert frozen(twin)[:2] == frozen(store)[:2]


@ORDERS
def test_taking_a_state_changes_nothing_and_holds_nothing_of_the_store(order):
    store = stored(None, order)
    state = store.state()
    original = copy.deepcopy(state["arrays"])
    before = frozen(store)
    store.state()
    assert frozen(store) == before
    for x, y, w in MANY:
        store.learn(x, y, w)
    assert all((state["arrays"][name] == original[name]).all() for name in original)


def altered_arrays(state: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """A state for each way in which each array can be wrong."""
    variants = []

    def add(what: str, name: str, array: Any) -> None:
        arrays = {**state["arrays"], name: array}
        variants.append((f"{name} {what}", {**state, "arrays": arrays}))

    for name, array in state["arrays"].items():
        for what, value in (("nan", math.nan), ("infinite", math.inf), ("negative", -1.0)):
            altered = array.copy()
            altered.flat[0] = value
            add(what, name, altered)
        add("shorter", name, array[:-1].copy())
        add("longer", name, np.concatenate([array, array[:1]]))
        add("flat", name, array.reshape(-1, 1, 1).copy())
        add("of one more class", name, np.concatenate([array, array[..., :1]], axis=-1))
        for dtype in (np.float32, np.int64, ">f8", object, np.complex128):
            add(f"as {np.dtype(dtype)}", name, array.astype(dtype))
        add("as a list", name, array.tolist())
        add("absent", name, None)
        if name.endswith("samples"):
            altered = array.copy()
            altered.flat[0] += 0.5
            add("fractional", name, altered)
        arrays = dict(state["arrays"])
        del arrays[name]
        variants.append((f"{name} missing", {**state, "arrays": arrays}))
    add("unknown", "extra", np.zeros(3))
    return variants


@ORDERS
@KINDS
def test_every_altered_array_is_bad_state(order, half_life):
    state = stored(half_life, order).state()
    for what, altered in altered_arrays(state):
        try:
            fresh(half_life, order).load(altered)
        except BadState:
            continue
        pytest.fail(f"{what}: loaded")


@pytest.mark.parametrize("name", ["class_weight", "weight", "present", "numeric_weight"])
def test_fractions_in_counts_that_are_said_to_be_whole_are_bad_state(name):
    state = stored(None, 1).state()
    state["arrays"][name].flat[0] += 0.5
    with pytest.raises(BadState):
        fresh(None, 1).load(state)


@pytest.mark.parametrize(
    ("weight", "samples"),
    [("class_weight", "class_samples"), ("weight", "samples"), ("present", "present_samples")],
)
def test_a_weight_without_a_sample_is_bad_state(weight, samples):
    state = stored(5.0, 1).state()
    place = int(np.argmax(state["arrays"][weight]))
    state["arrays"][samples].flat[place] = 0.0
    with pytest.raises(BadState):
        fresh(5.0, 1).load(state)


def changed(**parts: Any) -> Callable[[dict[str, Any]], None]:
    return lambda meta: meta.update(parts)


def in_the_first_vocabulary(change: Callable[[list[Any]], list[Any]]) -> Callable[[dict[str, Any]], None]:
    def alter(meta: dict[str, Any]) -> None:
        meta["vocabularies"][0] = packed(change(unpacked(meta["vocabularies"][0])))

    return alter


ALTERATIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    "order": changed(order=3),
    "clock negative": changed(clock=-1),
    "clock a float": changed(clock=3.0),
    "clock a bool": changed(clock=True),
    "clock a text": changed(clock="3"),
    "clock huge": changed(clock=2**62),
    "clock beyond 64 bits": changed(clock=2**70),
    "clock far from its origin": changed(clock=10**6),
    "origin after the clock": changed(origin=10**6, clock=5),
    "origin negative": changed(origin=-1),
    "origin a float": changed(origin=0.0),
    "exact a text": changed(exact="yes"),
    "exact none": changed(exact=None),
    "exact turned over": lambda meta: meta.update(exact=not meta["exact"]),
    "labels a text": changed(labels="abc"),
    "labels missing one": lambda meta: meta["labels"].pop(),
    "labels one more": lambda meta: meta["labels"].append("x"),
    "labels twice the same": lambda meta: meta["labels"].__setitem__(0, meta["labels"][1]),
    "labels equal to Python": lambda meta: meta["labels"].__setitem__(0, {"int": "1"}),
    "labels of no type": lambda meta: meta["labels"].__setitem__(0, {"int": 1}),
    "labels null": lambda meta: meta["labels"].__setitem__(0, None),
    "features missing one": lambda meta: meta["features"].pop(),
    "features one more": lambda meta: meta["features"].append("x"),
    "features twice the same": lambda meta: meta["features"].__setitem__(0, meta["features"][1]),
    "features null": changed(features=None),
    "numeric turned over": lambda meta: meta["numeric"].__setitem__(0, not meta["numeric"][0]),
    "numeric a number": lambda meta: meta["numeric"].__setitem__(0, 0),
    "numeric shorter": lambda meta: meta["numeric"].pop(),
    "vocabularies missing one": lambda meta: meta["vocabularies"].pop(),
    "vocabularies one more": lambda meta: meta["vocabularies"].append([]),
    "vocabulary missing a value": in_the_first_vocabulary(lambda values: values[:-1]),
    "vocabulary past its limit": in_the_first_vocabulary(lambda values: [*values, "x"]),
    "vocabulary twice the same": in_the_first_vocabulary(lambda values: [values[1], *values[1:]]),
    "vocabulary of no type": lambda meta: meta["vocabularies"].__setitem__(0, [{"what": "x"}, *"abcd"]),
    "vocabulary null": lambda meta: meta["vocabularies"].__setitem__(0, None),
    "other a number": lambda meta: meta["other"].__setitem__(0, 1),
    "other gone": lambda meta: meta["other"].__setitem__(0, False),
    "other too early": lambda meta: meta["other"].__setitem__(1, True),
    "other shorter": lambda meta: meta["other"].pop(),
    **{
        f"no {key}": (lambda meta, key=key: meta.pop(key))  # type: ignore[misc]  # its key, as it is now
        for key in (
            "order",
            "clock",
            "origin",
            "exact",
            "labels",
            "features",
            "numeric",
            "vocabularies",
            "other",
        )
    },
}


@pytest.mark.parametrize(
    ("half_life", "what"),
    [
        pytest.param(half_life, what, id=f"{kind}-{what}")
        for kind, half_life in (("exact", None), ("faded", 5.0))
        for what in ALTERATIONS
        if half_life or what != "clock far from its origin"  # without fading any clock will do
    ],
)
def test_every_altered_name_or_clock_is_bad_state(half_life, what):
    state = copy.deepcopy(stored(half_life, 2).state())
    ALTERATIONS[what](state["meta"])
    with pytest.raises(BadState):
        fresh(half_life, 2).load(state)


@pytest.mark.parametrize("state", [{}, {"meta": {}}, {"meta": None, "arrays": None}, None, [], "state"])
def test_what_is_no_state_is_bad_state(state):
    with pytest.raises(BadState):
        rows_store().load(state)


def test_names_without_arrays_are_refused_before_room_is_made_for_them():
    state = copy.deepcopy(rows_store().state())
    state["meta"]["labels"] = [f"label {i}" for i in range(3000)]
    state["meta"]["features"], state["meta"]["numeric"], state["meta"]["other"] = ["f"], [False], [False]
    state["meta"]["vocabularies"] = [packed([f"value {i}" for i in range(3000)])]
    tracemalloc.start()
    try:
        with pytest.raises(BadState):
            rows_store().load(state)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6  # the tables of 3000 classes and values would take 98 MB


def test_names_are_any_value():
    store = rows_store(2)
    names = ["ü", "\ud800", "", b"\x00", True, 2, -0.5, ("a", (1, b"c"))]
    for name, value in itertools.product(names, names[:5]):
        store.learn({name: value if not isinstance(value, (int, float)) else str(value)}, name)
    twin = rows_store(2)
    twin.load(store.state())
    assert frozen(twin)[:2] == frozen(store)[:2]
    assert [type(y) for y in twin.encoder.labels.values] == [type(y) for y in names]
