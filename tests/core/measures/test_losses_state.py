"""Losses that are saved and loaded, and states that are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.measures.losses import Losses
from stream_bayes.errors import BadState, BadValue
from stream_bayes.saving.snapshots.snapshot import Snapshot
from tests.builds import examples
from tests.core.measures.scored_streams import (
    agree,
    frozen,
    random_events,
    scored,
    streams,
)


@given(streams, streams, st.integers(1, 12), st.integers(1, 4))
@settings(max_examples=examples(60))
def test_losses_that_were_saved_go_on_as_if_they_had_not_been(before, after, window, max_labels):
    options: dict[str, Any] = {"window": window, "half_life": 3.0, "max_labels": max_labels}
    losses, twin = scored(before, **options), Losses(**options)
    state = losses.state()
    arrays = state.pop("arrays")
    for array in arrays.values():
        array.flags.writeable = False  # as those of a snapshot are
    twin.load(json.loads(json.dumps(state, allow_nan=False)) | {"arrays": arrays})
    assert frozen(twin) == frozen(losses)
    for label, probabilities, predicted, weight in after:
        losses.update(label, probabilities, predicted, weight)
        twin.update(label, probabilities, predicted, weight)
    assert frozen(twin) == frozen(losses)
    agree(twin.windowed.as_dict(), losses.windowed.as_dict())


def test_losses_survive_a_snapshot():
    losses, twin = scored(random_events(100, 3, weighted=True)), Losses()
    file_bytes = Snapshot(learner="NaiveBayes", sections={"losses": losses.state()}).to_bytes()
    twin.load(Snapshot.from_bytes(file_bytes).sections["losses"])
    assert frozen(twin) == frozen(losses)


def test_a_state_does_not_change_with_what_comes_after_it():
    losses = scored(random_events(50, 2))
    state = losses.state()
    before = {name: array.tobytes() for name, array in state["arrays"].items()}
    for label, probabilities, predicted, weight in random_events(50, 2, seed=1):
        losses.update(label, probabilities, predicted, weight)
    losses.state()
    assert {name: array.tobytes() for name, array in state["arrays"].items()} == before


def test_measures_do_not_change_with_what_comes_after_them():
    losses = scored(random_events(50, 2))
    read = (losses.cumulative, losses.windowed, losses.fading)
    before = [measures.as_dict() for measures in read]
    losses.update("l1", {"l0": 1.0})
    losses.update("new", {"l0": 1.0})
    losses.state()
    assert [measures.as_dict() for measures in read] == before


STATE = scored(random_events(30, 3), window=20, half_life=5.0).state()
JUNK: list[Any] = [None, True, -1, 3, 20, 21, 2**62, 0.5, math.nan, "x", [], ["a", "a"], {}, np.zeros(3)]


@pytest.mark.parametrize("name", [name for name in STATE if name != "arrays"])
def test_a_state_with_junk_is_refused_or_makes_losses_that_work(name):
    for junk in [*JUNK, ...]:
        state = {key: value for key, value in STATE.items() if key != name or junk is not ...}
        if junk is not ...:
            state[name] = junk
        works_or_is_refused(state)


@pytest.mark.parametrize("name", list(STATE["arrays"]))
def test_a_state_with_a_bad_array_is_refused_or_makes_losses_that_work(name):
    good = STATE["arrays"][name]
    flat = good.reshape(-1).copy()
    junk = [None, [], good.astype("f4"), good.astype("u8"), good[:-1], good[..., :-1], good[np.newaxis], 5]
    for value in (-1, -2, 3, 99, math.nan, math.inf, 1e308):
        forged = flat.astype(float)
        forged[-1] = value
        with np.errstate(invalid="ignore"):
            junk.append(forged.astype(good.dtype).reshape(good.shape))
    for array in [*junk, ...]:
        arrays = {key: value for key, value in STATE["arrays"].items() if key != name or array is not ...}
        if array is not ...:
            arrays[name] = array
        works_or_is_refused(STATE | {"arrays": arrays})


def with_array(name: str, change: Any) -> dict[str, Any]:
    array = STATE["arrays"][name].copy()
    return STATE | {"arrays": STATE["arrays"] | {name: change(array)}}


def put(value: Any) -> Any:
    def change(array: Any) -> Any:
        array.reshape(-1)[-1] = value
        return array

    return change


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (STATE | {"labels": ["l0", "l1", "l1"]}, "twice"),
        (STATE | {"labels": ["l0", "l1"]}, "shape|last"),
        (STATE | {"labels": [f"l{i}" for i in range(1001)]}, "max_labels"),
        (STATE | {"other": True}, "max_labels"),
        (STATE | {"other": 0}, "neither true nor false"),
        (STATE | {"last": ["l0", "l1"]}, "last"),
        (STATE | {"unanswered": -1}, "unanswered"),
        (with_array("recent_chance", put(1.5)), "recent_chance"),
        (with_array("label_weight", put(-1.0)), "not weights"),
        (STATE | {"place": 320}, "place"),
        (STATE | {"invalid_probabilities": -1}, "invalid_probabilities"),
        (with_array("cumulative_sums", put(-1.0)), "not weights"),
        (with_array("fading_by_label", put(math.inf)), "not weights"),
        (with_array("cumulative_bins", put(math.nan)), "not weights"),
        (with_array("fading_scores", lambda a: a[:2]), "shape"),
        (with_array("recent_label", put(3)), "not codes"),
        (with_array("recent_label", put(-1)), "not codes"),
        (with_array("recent_predicted", put(-2)), "not codes"),
        (with_array("recent_label", lambda a: a.astype(np.float64)), "dtype"),
        (with_array("recent_majority", lambda a: a.astype(np.int8)), "dtype"),
        (with_array("recent_scores", put(1.5)), "above 1"),
        (with_array("recent_weight", lambda a: a.tolist()), "not an array"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused_by_name(state, message):
    Losses(window=20, half_life=5.0).load(STATE)
    with pytest.raises(BadState, match=message):
        Losses(window=20, half_life=5.0).load(state)


def test_a_state_with_more_recent_events_than_its_window_is_refused():
    state = STATE | {"window": 19}
    with pytest.raises(BadState, match="more recent events"):
        Losses(window=19, half_life=5.0).load(state)


def test_what_was_loaded_is_left_as_it_was():
    before = {name: array.tobytes() for name, array in STATE["arrays"].items()}
    losses = Losses(window=20, half_life=5.0)
    losses.load(STATE)
    for label, probabilities, predicted, weight in random_events(30, 4):
        losses.update(label, probabilities, predicted, weight)
    losses.state()
    assert {name: array.tobytes() for name, array in STATE["arrays"].items()} == before


def test_a_state_with_more_arrays_than_there_should_be_is_refused():
    with pytest.raises(BadState, match="arrays"):
        Losses(window=20, half_life=5.0).load(STATE | {"arrays": STATE["arrays"] | {"more": np.zeros(1)}})


def works_or_is_refused(state: Any) -> None:
    losses = Losses(window=20, half_life=5.0)
    losses.update("before", {})
    before = frozen(losses)
    try:
        losses.load(state)
    except BadState:
        assert frozen(losses) == before
        return
    with np.errstate(over="ignore", invalid="ignore"):
        for label, probabilities, predicted, weight in random_events(30, 4):
            losses.update(label, probabilities, predicted, weight)
        for measures in (losses.cumulative, losses.windowed, losses.fading):
            measures.as_dict()


@pytest.mark.parametrize(
    "options", [{"window": 21}, {"half_life": 6.0}, {"least_probability": 1e-6}, {"max_labels": 10}]
)
def test_a_state_of_other_settings_is_refused_by_name(options):
    with pytest.raises(BadState, match=next(iter(options))):
        Losses(**({"window": 20, "half_life": 5.0} | options)).load(STATE)


@pytest.mark.parametrize(
    "options",
    [
        *({"window": bad} for bad in (0, 1.5, True, None)),
        *({"half_life": bad} for bad in (0.5, math.inf, math.nan, True, "1")),
        *({"least_probability": bad} for bad in (0.0, 1.0, -0.1, math.nan, None)),
        *({"max_labels": bad} for bad in (0, 2.0)),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(options):
    with pytest.raises(BadValue, match=next(iter(options))):
        Losses(**options)
