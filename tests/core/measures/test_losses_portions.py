"""Losses do not depend on when they are worked out, nor on how many events come at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import NaiveBayes
from stream_bayes.core.measures.losses import Losses
from stream_bayes.errors import BadLabel, BadValue, BadWeight
from tests.builds import examples
from tests.core.measures.scored_streams import (
    NAMES,
    agree,
    frozen,
    predictions,
    random_events,
    scored,
    scores,
    streams,
    weights,
)


@given(streams, st.lists(st.integers(0, 40)), st.integers(1, 10))
@settings(max_examples=examples(60))
def test_reading_in_between_leaves_no_trace(events, reads, window):
    quiet, read = Losses(window, half_life=2.0), Losses(window, half_life=2.0)
    for i, (label, probabilities, predicted, weight) in enumerate(events):
        quiet.update(label, probabilities, predicted, weight)
        read.update(label, probabilities, predicted, weight)
        if i in reads:
            read.cumulative.as_dict()
            read.windowed.as_dict()
    assert frozen(quiet) == frozen(read)


@given(st.integers(0, 2**32), st.lists(st.integers(1, 900), max_size=8), st.sampled_from([1.0, 7.3, 1000.0]))
@settings(max_examples=examples(15))
def test_portions_of_any_size_leave_the_same_bytes(seed, sizes, half_life):
    events = random_events(1500, 1 + seed % 6, seed, weighted=bool(seed % 2))
    one, other = scored(events, half_life=half_life), Losses(half_life=half_life)
    start = 0
    for size in [*sizes, 1500]:
        for label, probabilities, predicted, weight in events[start : start + size]:
            other.update(label, probabilities, predicted, weight)
        other.cumulative  # noqa: B018  # reading ends a portion
        start += size
    assert frozen(one) == frozen(other)


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.lists(scores, min_size=3, max_size=3), predictions, weights),
        max_size=30,
    ),
    st.lists(st.integers(1, 10)),
    st.booleans(),
    st.permutations(NAMES),
    st.integers(1, 4),
)
def test_many_at_once_leave_the_same_bytes_as_one_by_one(rows, sizes, given_, names, max_labels):
    classes = names[:3]
    one, other = Losses(7, 2.0, max_labels=max_labels), Losses(7, 2.0, max_labels=max_labels)
    for label, row, predicted, weight in rows:
        answer = dict(zip(classes, row, strict=True))
        one.update(label, answer, predicted if given_ else ..., weight)
    start = 0
    for size in [*sizes, len(rows)]:
        part = rows[start : start + size]
        other.update_many(
            [row[0] for row in part],
            classes,
            np.array([row[1] for row in part]).reshape(len(part), 3),
            [row[2] for row in part] if given_ else None,
            [row[3] for row in part],
        )
        start += size
    assert frozen(one) == frozen(other)
    assert one.labels == other.labels


@given(streams, st.lists(st.booleans(), min_size=40, max_size=40))
def test_one_by_one_and_many_at_once_can_be_mixed(events, at_once):
    one, mixed = scored(events, window=9, half_life=3.0), Losses(9, 3.0)
    for (label, probabilities, predicted, weight), many in zip(events, at_once, strict=False):
        if many:
            table = np.array([list(probabilities.values())]).reshape(1, -1)
            predictions = None if predicted is ... else [predicted]
            mixed.update_many([label], list(probabilities), table, predictions, [weight])
        else:
            mixed.update(label, probabilities, predicted, weight)
    assert frozen(one) == frozen(mixed)


def test_labels_that_are_still_impossible_get_no_code():
    one, other = Losses(), Losses()
    one.update_many(["a", "b"], ["c", "a", "b"], np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    other.update("a", {})
    other.update("b", {"a": 1.0})
    assert one.labels == other.labels == ["a", "b"] and frozen(one) == frozen(other)


def test_a_learners_answers_can_be_scored_one_by_one_or_as_a_table():
    rows = [({"f": "uv"[i % 2], "g": "xyz"[i % 3]}, "pqr"[(i * i + i // 7) % 3]) for i in range(300)]
    one, many = Losses(), Losses()
    single, batched = NaiveBayes(), NaiveBayes()
    for x, y in rows:
        one.update(y, single.predict_learn_one(x, y))
    for start in range(0, 300, 100):
        part = rows[start : start + 100]
        found = batched.predict_learn_many([x for x, _ in part], [y for _, y in part])
        classes = list(batched.classes_)
        table = np.array([[answer.get(label, 0.0) for label in classes] for answer in found])
        many.update_many([y for _, y in part], classes, table)
    agree(one.cumulative.as_dict(), many.cumulative.as_dict())
    assert one.labels == many.labels


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["a"], ["a"], np.ones((2, 1))), BadValue, "shape"),
        ((["a"], ["a"], np.ones((1, 2))), BadValue, "shape"),
        ((["a"], ["a"], np.ones((1, 1)), ["a", "b"]), BadValue, "prediction"),
        ((["a"], ["a"], np.ones((1, 1)), None, [1.0, 2.0]), BadWeight, "weight"),
        ((["a"], ["a"], np.ones((1, 1)), None, [-1.0]), BadWeight, "weight"),
        ((["a", None], ["a"], np.ones((2, 1))), BadLabel, "label"),
        ((["a", ["x"]], ["a"], np.ones((2, 1))), BadLabel, "label"),
        ((["new", "a"], ["a"], np.ones((2, 1)), ["a", {}]), BadLabel, "label"),
        ((["new", "a"], [math.nan], np.ones((2, 1))), BadLabel, "label"),
    ],
)
def test_many_that_are_not_sound_change_nothing(arguments, error, message):
    losses = Losses()
    losses.update("a", {"a": 1.0})
    before = frozen(losses)
    with pytest.raises(error, match=message):
        losses.update_many(*arguments)
    assert frozen(losses) == before


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((None, {}), BadLabel),
        ((math.nan, {}), BadLabel),
        ((["a"], {}), BadLabel),
        (("new", {}, ["b"]), BadLabel),
        (("new", {None: 0.5}), BadLabel),
        (("new", {"other": 0.5, math.inf: 0.5}), BadLabel),
        (("new", {}, "b", -1.0), BadWeight),
        (("new", {}, "b", math.nan), BadWeight),
        (("new", {}, "b", "2"), BadWeight),
    ],
)
def test_an_event_that_is_not_sound_changes_nothing(arguments, error):
    losses = Losses()
    losses.update("a", {"a": 1.0})
    before = frozen(losses)
    with pytest.raises(error):
        losses.update(*arguments)
    assert frozen(losses) == before
