"""The window is the newest events, as a deque would keep them; read out in columns, found, taken back, saved."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.counts.window import Window
from stream_bayes.core.encoding._bins import Bins
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.errors import BadState, BudgetExceeded, CannotMerge, NotLearned
from tests.builds import examples

EXAMPLES = examples(50)
NAN = float("nan")

rows = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.sampled_from(["x", "y", None, NAN]) for name in "abc"},
        **{name: st.sampled_from([0.5, 1.5, 2.5, None]) for name in "mn"},
    },
)
samples = st.lists(st.tuples(rows, st.sampled_from("uv"), st.sampled_from([1.0, 2.0, 0.5, 0.0])), max_size=30)


def binned_store(size: int, **settings: Any) -> CountStore:
    """Numbers wait for cuts until the third event, and are cut again at the sixth."""
    encoder = RowEncoder(Vocabulary(), bins=Bins(4))
    binning = {"method": "quantile", "bins": 4, "after": 3, "window": 6, "declared": {}}
    return CountStore(encoder, order=2, window=size, binning=binning, **settings)


def window_of(store: CountStore) -> Window:
    assert store.window is not None
    return store.window


def decoded(store: CountStore, row: Row) -> tuple[dict[str, Any], str, float]:
    """What a row says, numbers as the bins they are in."""
    encoder = store.encoder
    found = {}
    for k in range(row.entries):
        feature = encoder.nominal[row.feature[k]]
        found[feature.name] = feature.vocabulary.values[row.code[k]]
    return found, encoder.labels.values[row.label], row.weight


def expected(store: CountStore, x: dict[str, Any], y: str, w: float) -> tuple[dict[str, Any], str, float]:
    without_missing = {}
    bins: Any = store.encoder.bins
    for name, value in x.items():
        if value is None or value != value:
            continue
        if isinstance(value, float):
            slot = store.encoder.features[name].slot
            if slot not in bins.cuts:
                continue
            value = store.encoder.nominal[slot].vocabulary.values[bins.code_of(slot, value)]
        without_missing[name] = value
    return without_missing, y, w


@settings(max_examples=EXAMPLES)
@given(samples, st.integers(1, 8))
def test_the_newest_events_are_kept_in_the_bins_of_now(samples, size):
    store = binned_store(size)
    kept: deque[Any] = deque(maxlen=size)
    for clock, (x, y, w) in enumerate(samples, start=1):
        store.learn(x, y, w)
        if w > 0.0:
            kept.append((x, y, w, clock))
        window = window_of(store)
        assert [(*decoded(store, row), clock) for row, clock in window.rows()] == [
            (*expected(store, x, y, w), clock) for x, y, w, clock in kept
        ]
        frozen = window.freeze()
        assert len(frozen) == len(window) == len(kept)
        assert frozen.weights.tolist() == [w for _, _, w, _ in kept]
        assert frozen.clocks.tolist() == [clock for *_, clock in kept]
        assert [store.encoder.labels.values[code] for code in frozen.labels] == [y for _, y, _, _ in kept]
        for slot, feature in enumerate(store.encoder.nominal):
            values = [
                None if code < 0 else feature.vocabulary.values[code] for code in frozen.codes[slot].tolist()
            ]
            assert values == [expected(store, x, y, w)[0].get(feature.name) for x, y, w, _ in kept]
            assert frozen.codes[slot].flags.c_contiguous


@settings(max_examples=EXAMPLES)
@given(samples, st.integers(1, 8), st.data())
def test_what_was_taken_back_is_found_no_more_and_the_rest_still_is(samples, size, data):
    store = binned_store(size)
    kept: deque[Any] = deque(maxlen=size)
    for clock, (x, y, w) in enumerate(samples, start=1):
        store.learn(x, y, w)
        if w > 0.0:
            kept.append((x, y, w, clock))
    held = list(kept)
    for _ in range(min(len(held), 3)):
        x, y, w, clock = data.draw(st.sampled_from(held))
        same = [
            other
            for other in held
            if without_missing(other[0]) == without_missing(x) and other[1:3] == (y, w)
        ]
        if data.draw(st.booleans()):
            store.unlearn(x, y, w, at=clock)
            held.remove((x, y, w, clock))
        else:
            store.unlearn(x, y, w)
            held.remove(same[-1])
        assert [clock for _, clock in window_of(store).rows()] == [clock for *_, clock in held]
        assert window_of(store).freeze().clocks.tolist() == [clock for *_, clock in held]


def without_missing(x: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in x.items() if value is not None and value == value}


@settings(max_examples=EXAMPLES)
@given(samples, samples, st.integers(1, 8))
def test_a_saved_window_goes_on_as_if_nothing_had_been(samples, more, size):
    store = binned_store(size)
    for x, y, w in samples:
        store.learn(x, y, w)
    twin = binned_store(size)
    twin.load(store.state())
    for x, y, w in more:
        for one in (store, twin):
            one.learn(x, y, w)
    mine, theirs = store.state(), twin.state()
    assert mine["meta"] == theirs["meta"]
    for name, array in mine["arrays"].items():
        assert array.tobytes() == theirs["arrays"][name].tobytes(), name


def nominal_store(size: int = 3, **settings: Any) -> CountStore:
    store = CountStore(RowEncoder(Vocabulary()), window=size, **settings)
    for sky, y in [("grey", "u"), ("blue", "v"), ("grey", "u"), ("grey", "v")]:
        store.learn({"sky": sky}, y)
    return store


def test_what_is_frozen_stays_as_it_was():
    store = nominal_store()
    frozen = window_of(store).freeze()
    for _ in range(5):
        store.learn({"sky": "blue", "wind": "west"}, "u")
    assert frozen.codes.tolist() == [[1, 0, 0]]
    assert frozen.clocks.tolist() == [2, 3, 4]


def test_the_oldest_event_can_be_let_go():
    window = window_of(nominal_store())
    assert window.oldest_clock == 2
    window.drop_oldest()
    assert [clock for _, clock in window.rows()] == [3, 4]
    window.drop_oldest()
    window.drop_oldest()
    assert window.oldest_clock is None
    with pytest.raises(IndexError, match="empty"):
        window.drop_oldest()
    with pytest.raises(IndexError, match="holds 0 events"):
        window.row(0, Row())


def test_an_event_older_than_the_window_needs_its_time():
    store = nominal_store()
    store.unlearn({"sky": "grey"}, "u")
    with pytest.raises(NotLearned, match=r"3 recent events.*at="):
        store.unlearn({"sky": "grey"}, "u")
    store.unlearn({"sky": "grey"}, "u", at=1)
    assert store.by_name() == {("v",): 2.0, ("sky", "blue", "v"): 1.0, ("sky", "grey", "v"): 1.0}


@pytest.mark.parametrize(
    ("x", "y", "w", "at"),
    [("blue", "u", 1.0, 3), ("grey", "v", 1.0, 3), ("grey", "u", 2.0, 3), ("grey", "u", 1.0, 5)],
)
def test_another_event_than_the_one_of_that_time_is_refused(x, y, w, at):
    store = nominal_store()
    store.advance(2)
    before = store.state()
    with pytest.raises(NotLearned):
        store.unlearn({"sky": x}, y, w, at=at)
    after = store.state()
    assert before["meta"] == after["meta"]
    for name, array in before["arrays"].items():
        assert array.tobytes() == after["arrays"][name].tobytes()


def test_stores_with_a_window_are_not_merged():
    store = nominal_store()
    with pytest.raises(CannotMerge, match="depends on their order"):
        store.merge(nominal_store())


def test_room_for_the_window_counts_against_the_budget():
    store = nominal_store(size=1000)
    window = window_of(store)
    assert 1000 * (4 + 20) <= window.memory_bytes <= 1100 * (4 + 20)
    assert store.memory_bytes > window.memory_bytes
    tight = nominal_store(size=1000, memory_budget=store.memory_bytes + 2000)
    with pytest.raises(BudgetExceeded):
        tight.learn({"sky": "grey", "wind": "west"}, "u")
    assert len(window_of(tight)) == 4
    assert list(tight.encoder.features) == ["sky"]


def test_numbers_of_gaussians_are_kept_as_they_came():
    store = CountStore(RowEncoder(Vocabulary()), window=2)
    for number in (1.5, 2.5, None):
        store.learn({"sky": "grey", "wind": number}, "u")
    window, row, found = window_of(store), Row(), []
    for index in range(2):
        window.row(index, row)
        found.append([row.number[k] for k in range(row.numbers)])
    assert found == [[2.5], []]


# -- states that were tampered with -----------------------------------------------------------------------------------


def altered(change: Any) -> dict[str, Any]:
    store = binned_store(4)
    for n in range(6):
        store.learn({"a": "xy"[n % 2], "m": n / 2}, "uv"[n % 2])
    state = store.state()
    arrays = {name: array.copy() for name, array in state["arrays"].items()}
    change(arrays)
    return {"meta": state["meta"], "arrays": arrays}


def put(name: str, place: Any, value: Any) -> Any:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


def replaced(name: str, make: Any) -> Any:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name] = make(arrays[name])

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("window_codes", (0, 1), 2), "unknown value"),
        (put("window_codes", (0, 1), -2), "unknown value"),
        (put("window_labels", 0, 2), "no label"),
        (put("window_labels", 0, -1), "no label"),
        (put("window_weights", 0, -1.0), "no weight"),
        (put("window_weights", 0, NAN), "no weight"),
        (put("window_weights", 0, np.inf), "infinite"),
        (put("window_clocks", 1, 3), "out of order"),
        (put("window_clocks", -1, 7), "no time"),
        (put("window_clocks", 0, 0), "no time"),
        (put("window_numbers", (0, 0), np.inf), "infinite"),
        (put("window_numbers", (0, 0), 1e101), "too large"),
        (replaced("window_codes", lambda a: a.astype(np.int64)), "window_codes: expected an array of int32"),
        (replaced("window_codes", lambda a: np.concatenate([a, a])), "window_codes"),
        (replaced("window_labels", lambda a: a[:-1]), "of shape"),
        (replaced("window_weights", lambda a: a.tolist()), "window_weights: expected an array of float64"),
        (replaced("window_clocks", lambda a: a.reshape(1, -1)), "window_clocks"),
        (lambda arrays: arrays.pop("window_numbers"), "KeyError"),
        (lambda arrays: arrays.update(window_more=np.zeros(1)), "window_more"),
    ],
)
def test_a_window_that_does_not_fit_is_refused(change, words):
    state = altered(change)
    with pytest.raises(BadState, match=words):
        binned_store(4).load(state)


def test_a_window_larger_than_this_one_is_refused():
    with pytest.raises(BadState, match="holds 4 events, more than 3"):
        binned_store(3).load(altered(lambda arrays: None))
