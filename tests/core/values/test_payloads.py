from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.values.payloads import MAX_DEPTH, plain, tagged_payload, untagged_payload
from stream_bayes.errors import BadState, BadValue

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**80), 2**80),
    st.floats(),
    st.text(),
    st.binary(),
)
names = st.one_of(st.text(), st.integers(), st.booleans(), st.binary(), st.tuples(st.text(), st.integers()))
payloads = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text(), inner),
        st.dictionaries(names, inner),
    ),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types, in the same order, to the bit; a NaN equals a NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or one.hex() == other.hex()
    return bool(one == other)


def through_json(payload: Any) -> Any:
    return untagged_payload(json.loads(json.dumps(tagged_payload(payload), allow_nan=False)))


@given(payloads)
def test_a_payload_comes_back_as_it_was(payload):
    assert same(through_json(payload), payload)


@given(payloads)
def test_what_is_plain_stays_as_it_is(payload):
    assert same(plain(payload), payload)


def test_features_that_are_plain_are_not_copied():
    x = {"a": 1, "b": "c", "d": None}
    assert plain(x) is x


class Colour(IntEnum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"a": np.float64(1.5), "b": np.int32(3)}, {"a": 1.5, "b": 3}),
        ({np.int64(1): np.True_}, {1: True}),
        ([np.float32("nan")], [math.nan]),
        (np.str_("x"), "x"),
        (Colour.RED, 1),
        (Point(1, 2), (1, 2)),
    ],
)
def test_scalars_of_numpy_and_subclasses_become_plain(given_, expected):
    assert same(plain(given_), expected)


@pytest.mark.parametrize(
    "bad",
    [
        {1, 2},
        object(),
        datetime(2024, 1, 1, tzinfo=UTC),
        Decimal("1.5"),
        1j,
        np.zeros(3),
        np.timedelta64(1),
        {None: 1},
        {math.nan: 1},
        bytearray(b"x"),
    ],
)
def test_what_no_snapshot_can_hold_is_refused_wherever_it_is(bad):
    for payload in (bad, {"x": bad}, [bad], (1, {"y": [bad]})):
        with pytest.raises(BadValue):
            plain(payload)


def nested(depth: int, wrap: Any) -> Any:
    payload: Any = 1
    for _ in range(depth):
        payload = wrap(payload)
    return payload


@pytest.mark.parametrize(
    "wrap",
    [lambda p: [p], lambda p: (p,), lambda p: {"a": p}, lambda p: {1: p}],
    ids=["[]", "()", "{}", "{1}"],
)
def test_what_is_accepted_can_be_read_again_and_what_is_deeper_is_refused(wrap):
    deepest = plain(nested(MAX_DEPTH, wrap))
    assert same(through_json(deepest), deepest)
    with pytest.raises(BadValue):
        plain(nested(MAX_DEPTH + 1, wrap))
    with pytest.raises(BadState):
        untagged_payload(tagged_payload(nested(MAX_DEPTH + 1, wrap)))


@pytest.mark.parametrize(
    "bad",
    [
        math.nan,
        math.inf,
        2**53 + 1,
        {},
        {"a": 1, "b": 2},
        {"set": [1]},
        {"int": "5"},
        {"int": "000000009007199254740993"},
        {"float": "1.5"},
        {"float": "NaN"},
        {"bytes": "A"},
        {"tuple": {"a": 1}},
        {"dict": ["a", 1]},
        {"dict": {"a": {"x": 1}}},
        {"dict": {1: "a"}},
        {"items": ["a", 1]},
        {"items": []},
        {"items": [{"int": "1"}]},
        {"items": [{"int": "1"}, 1, {"bool": True}, 2]},
        {"items": {"a": 1}},
        {"bool": True},
        ("a",),
        object(),
    ],
)
def test_json_that_was_not_written_here_is_refused(bad):
    for state in (bad, [bad], {"tuple": [bad]}, {"dict": {"a": bad}}):
        with pytest.raises(BadState):
            untagged_payload(state)
