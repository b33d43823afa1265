"""States that were altered, cut off or made up: refused, or harmless to the stream that goes on from them."""

from __future__ import annotations

import copy
import json
import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import drift, preprocessing, stats
from river.drift import binary

from stream_bayes import DriftAdaptive, GaussianNB, HalfLifeChoice, NaiveBayes
from stream_bayes.errors import BadState
from stream_bayes.saving.river.model_state import fix_order, model_state, restore_model
from tests.saving.river.driving import label, numbers
from tests.saving.river.listing import Case, cases

CASES = cases()
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

BAD: list[Any] = [
    None,
    "",
    "x",
    "river.drift.ADWIN",
    {"float": "nan"},
    {"float": "inf"},
    {"int": "1" + "0" * 600},
    -1,
    2**62,
    -(2**31),
    1e308,
    -1.5,
    True,
    [],
    {},
    [[[[]]]],
    [0] * 1000,
    {"names": "a", "held": []},
    {"class": "Pipeline"},
    {"tuple": [{"tuple": []}, {"dict": {"w": "x"}}]},
]


def spots(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a state."""
    yield path
    items = state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list) else ()
    for key, item in items:
        yield from spots(item, (*path, key))


def altered(state: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """A copy of a state with one value changed."""
    if not path:
        return change(state)
    changed = copy.copy(state)
    changed[path[0]] = altered(state[path[0]], path[1:], change)
    return changed


def constant(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


def survives(case: Case, state: dict[str, Any]) -> None:
    """A state is refused as such; or it is one that a stream can go on from, and that can be taken again."""
    try:
        restored = restore_model(case.make(), state)
    except BadState:
        return
    again = model_state(restored)
    json.dumps(again["model"])
    # Numbers that River cannot compute with are a refused event, no more. A panic of compiled code is not suppressed.
    with np.errstate(all="ignore"), suppress(ArithmeticError, ValueError, TypeError, KeyError):
        case.drive(restored, 200, 240)


def trained_state(case: Case) -> dict[str, Any]:
    made = case.make()
    fix_order(made)
    case.drive(made, 0, 60)
    return model_state(made)


def alter(case: Case, spots_altered: int) -> None:
    rng = random.Random(case.name)
    state = trained_state(case)
    inside = [path for path in spots(state["model"]) if path]
    for path in rng.sample(inside, min(len(inside), spots_altered)):
        for bad in rng.sample(BAD, 3):
            survives(case, {**state, "model": altered(state["model"], path, constant(bad))})


@each
def test_an_altered_state_is_refused_or_harmless(case: Case) -> None:
    alter(case, 8)


@pytest.mark.soak
@each
def test_a_state_altered_anywhere_is_refused_or_harmless(case: Case) -> None:
    alter(case, 10**6)


@each
def test_a_truncated_state_is_refused(case: Case) -> None:
    rng = random.Random(case.name)
    state = trained_state(case)

    def shorter(value: Any) -> Any:
        return dict(list(value.items())[:-1]) if isinstance(value, dict) else value[:-1]

    containers = [
        path for path in spots(state["model"]) if isinstance(at(state["model"], path), (dict, list))
    ]
    for path in rng.sample(containers, min(len(containers), 8)):
        if at(state["model"], path):
            survives(case, {**state, "model": altered(state["model"], path, shorter)})
    for path in containers:
        if isinstance(at(state["model"], path), dict) and "class" in at(state["model"], path):
            with pytest.raises(BadState):
                restore_model(case.make(), {**state, "model": altered(state["model"], path, shorter)})


def at(state: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        state = state[key]
    return state


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.data())
def test_whatever_stands_anywhere_in_a_state_does_no_harm(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES), label="case")
    state = trained_state(case)
    path = data.draw(st.sampled_from(list(spots(state["model"]))), label="path")
    value = data.draw(json_values, label="value")
    survives(case, {**state, "model": altered(state["model"], path, lambda _: value)})


def trained(make: Callable[[], Any], values: list[float]) -> Any:
    made = make()
    for value in values:
        made.update(value)
    return made


ERRORS: list[float] = [0, 1, 0, 0, 1, 1, 0, 1] * 6
NUMBERS = [float(n * n % 17) for n in range(40)]


@pytest.mark.parametrize(
    ("model", "path", "value", "said"),
    [
        (trained(stats.Mean, NUMBERS), ("n",), -1.0, "n: .* expected a finite number from 0"),
        (trained(stats.Mean, NUMBERS), ("n",), {"float": "nan"}, "n: "),
        (trained(stats.Count, NUMBERS), ("n",), 2**62, "n: .* a whole number from 0"),
        (trained(stats.Quantile, NUMBERS), ("_quantile", 10), {"float": "nan"}, "fit together"),
        (trained(stats.Quantile, NUMBERS), ("_quantile", 11), -1e9, "fit together"),
        (trained(stats.Quantile, NUMBERS), ("_quantile", 15), 6, "how many heights"),
        (trained(stats.Quantile, NUMBERS), ("_quantile", 15), 3, "fit together"),
        (trained(stats.Quantile, NUMBERS), ("_quantile", 5), 99, "floats"),
        (trained(stats.EWMean, NUMBERS), ("_ewmean", 1), 1, "true or false"),
        (
            trained(lambda: stats.RollingMin(3), NUMBERS),
            ("window", "holds", "data"),
            [3.0, 2.0, 1.0],
            "fit together",
        ),
        (
            trained(lambda: stats.RollingQuantile(0.5, 3), NUMBERS),
            ("_rolling_quantile",),
            NUMBERS,
            "at most 3",
        ),
        (trained(drift.ADWIN, NUMBERS), ("_helper", 0, 2), 1e9, "make up the window"),
        (trained(drift.ADWIN, NUMBERS), ("_helper", 2), [], "make up the window"),
        (trained(drift.ADWIN, NUMBERS), ("_helper", 2, 0), [[1.0] * 9, [1.0] * 9], "make up the window"),
        (trained(drift.ADWIN, NUMBERS), ("_helper", 2, 0, 0), [1.0], "a variance for each total"),
        (trained(drift.ADWIN, NUMBERS), ("_helper", 1, 0), 2**31, "32 bits"),
        (trained(drift.ADWIN, NUMBERS), ("_helper", 2), [[[], []]] * 10**5, "make up the window"),
        (trained(binary.DDM, ERRORS), ("_p", "holds", "_mean"), 2.0, "fit together"),
        (trained(binary.DDM, ERRORS), ("_p_min",), None, "fit together"),
        (trained(binary.EDDM, ERRORS), ("_last_error",), 10**6, "fit together"),
        (trained(binary.EDDM, ERRORS), ("_p2s_prime_max",), 0, "fit together"),
        (trained(binary.HDDMA, ERRORS), ("_x_min", "holds", "n"), 1e6, "fit together"),
        (trained(lambda: drift.KSWIN(seed=1), NUMBERS), ("_rng", 3), 2**32, "words of a generator"),
        (trained(lambda: drift.KSWIN(seed=1), NUMBERS), ("_rng", 624), 625, "words of a generator"),
        (trained(lambda: drift.KSWIN(seed=1), NUMBERS), ("p_value",), 1.5, "from 0 to 1"),
        (HalfLifeChoice(NaiveBayes(), (None, 5.0)), ("_leader",), 2, "fit together"),
        (HalfLifeChoice(NaiveBayes(), (None, 5.0)), ("_losses",), [0.0], "fit together"),
        (HalfLifeChoice(NaiveBayes(), (None, 5.0)), ("_since",), 1, "fit together"),
        (DriftAdaptive(NaiveBayes()), ("_succession", "changed_again"), 0, "fit together"),
        (DriftAdaptive(NaiveBayes()), ("_succession", "is_renewing"), True, "fit together"),
        (DriftAdaptive(NaiveBayes()), ("_warned",), 1, "fit together"),
        (DriftAdaptive(NaiveBayes(), signal="family"), ("_watch", "families"), None, "fit together"),
        (
            DriftAdaptive(NaiveBayes()),
            ("_succession", "trial"),
            [5, 5, 5, 25, 0, 0.0, [], [], 0.0],
            "fit together",
        ),
        (
            DriftAdaptive(NaiveBayes()),
            ("_succession", "trial"),
            [5, 5, 5, 25, 25, 0.0, [], [], 0.0],
            "a trial",
        ),
    ],
)
def test_what_could_not_have_been_saved_is_refused_where_it_stands(
    model: Any, path: tuple[Any, ...], value: Any, said: str
) -> None:
    state = model_state(model)
    changed = altered(state["model"], ("holds", *path), lambda _: value)
    with pytest.raises(BadState, match=said):
        restore_model(model, {**state, "model": changed})


def test_deep_nesting_is_refused_and_exhausts_nothing() -> None:
    state = model_state(preprocessing.PreviousImputer())
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    for path in spots(state["model"]):
        with pytest.raises(BadState):
            restore_model(
                preprocessing.PreviousImputer(),
                {**state, "model": altered(state["model"], path, lambda _: deep)},
            )


def test_a_state_makes_room_for_no_more_than_it_holds() -> None:
    model = preprocessing.StandardScaler(window_size=3) | GaussianNB()
    for event in range(20):
        model.learn_one(numbers(event), label(event))
    state = model_state(model)
    window = ("steps", 0, 1, "holds", "means", "held", 0, "holds", "window")
    long = [at(state["model"], window)[0]] * 100_000
    tracemalloc.start()
    try:
        with pytest.raises(BadState, match="at most 3 of something"):
            restore_model(model, {**state, "model": altered(state["model"], window, lambda _: long)})
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
