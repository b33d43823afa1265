"""Values: what is accepted, how it is kept, how it is ordered."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import itertools
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.values import values as module
from stream_bayes.core.values.values import (
    canonical,
    canonical_label,
    is_missing,
    name_order,
    shown,
    tagged,
    tagged_many,
    untagged,
    untagged_many,
)
from stream_bayes.errors import BadLabel, BadState, BadValue
from tests.hash_seeds import printed_with

any_text = st.text(st.characters(codec=None, exclude_categories=()))  # lone surrogates too
scalars = st.one_of(
    any_text,
    st.binary(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["int", "float", "bool", "bytes", "tuple", "str"]), inner, min_size=1, max_size=2
        ),
    ),
)


def same(a: object, b: object) -> bool:
    """Equal in type and in every bit, recursively."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a.hex() == b.hex() if isinstance(a, float) and isinstance(b, float) else a == b  # 0.0 is not -0.0


class Colour(str, enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Loud(str):
    def __str__(self) -> str:
        return "LOUD"


class Padded(bytes):
    def __bytes__(self) -> bytes:
        return b"padded"


Point = collections.namedtuple("Point", "x y")


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for _ in range(depth):
        value = (value,)
    return value


# --- canonical ---


@given(values)
def test_a_supported_value_is_its_own_canonical_form(value):
    assert same(canonical(value), value)
    assert same(canonical_label(value), value)


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float16(0.5), 0.5),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.float64(0.1), 0.1),
        (np.longdouble(0.5), 0.5),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Loud("quiet"), "quiet"),
        (Padded(b"x"), b"x"),
        (Point(np.int64(1), "b"), (1, "b")),
        ((Colour.RED, (np.bool_(False),)), ("red", (False,))),
        (-0.0, -0.0),
        ((), ()),
        (10**5000, 10**5000),
    ],
    ids=shown,
)
def test_numpy_scalars_and_subclasses_become_the_plain_type(given_value, expected):
    assert same(canonical(given_value), expected)
    assert same(canonical_label(given_value), expected)


UNSUPPORTED = [
    None,
    float("nan"),
    float("inf"),
    -float("inf"),
    np.float32("inf"),
    np.float64("nan"),
    [1],
    {"a": 1},
    {1},
    object(),
    1j,
    np.complex64(1),
    decimal.Decimal(1),
    dt.date(2020, 1, 1),
    np.datetime64("2020-01-01"),
    np.timedelta64(3, "D"),
    np.array(1),
    (1, None),
    (1, ("a", float("nan"))),
    ([],),
]


@pytest.mark.parametrize("value", UNSUPPORTED, ids=lambda value: type(value).__name__)
def test_anything_else_is_refused_with_the_feature_the_type_and_the_value(value):
    with pytest.raises(BadValue) as caught:
        canonical(value, feature="size")
    message = str(caught.value)
    assert "'size'" in message
    assert type(value).__name__ in message
    assert shown(value) in message
    assert "finite float" in message
    with pytest.raises(BadLabel):
        canonical_label(value)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan")])
def test_a_missing_label_is_told_apart_from_a_bad_one(missing):
    with pytest.raises(BadLabel, match="a label is needed"):
        canonical_label(missing)


def test_tuples_nest_to_the_limit_and_no_further():
    assert canonical(nested(32)) == nested(32)
    assert untagged(tagged(nested(32))) == nested(32)
    with pytest.raises(BadValue, match="32 deep"):
        canonical(nested(33))
    with pytest.raises(BadValue):
        tagged(nested(33))
    with pytest.raises(BadValue):
        canonical(nested(100_000))


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_a_value_without_a_repr_is_still_refused_politely():
    with pytest.raises(BadValue, match="Unprintable"):
        canonical(Unprintable())


def test_a_shown_value_is_short():
    assert len(shown(list(range(1000)))) == 80
    assert shown(10**5000)  # its repr raises


# --- is_missing ---


def test_missing_is_none_nan_and_what_pandas_calls_so():
    pandas = pytest.importorskip("pandas")
    nans = [float("nan"), np.float16("nan"), np.float64("nan"), np.longdouble("nan")]
    assert all(is_missing(value) for value in [None, *nans, pandas.NA, pandas.NaT])
    present = ["", "nan", 0, 0.0, False, b"", (), [], float("inf"), np.float32(0), decimal.Decimal("nan")]
    assert not any(is_missing(value) for value in [*present, object(), np.array([1.0, 2.0])])


def test_values_import_without_pandas():
    code = "import sys, stream_bayes.core.values.values; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- tagged ---


@given(values)
def test_a_tagged_value_comes_back_as_it_was_after_json(value):
    for ascii_only in (True, False):
        assert same(untagged(json.loads(json.dumps(tagged(value), ensure_ascii=ascii_only))), value)


@given(st.lists(values))
def test_many_values_are_tagged_as_one_by_one(many):
    assert tagged_many(many) == [tagged(value) for value in many]
    back = untagged_many(json.loads(json.dumps(tagged_many(many))))
    assert same(tuple(back), tuple(many))


@given(values, values)
def test_two_values_share_a_form_only_if_they_are_the_same_in_every_bit(a, b):
    assert (json.dumps(tagged(a)) == json.dumps(tagged(b))) == same(a, b)


@pytest.mark.parametrize(
    "number", [2**2048 - 1, 2**2048, -(2**2048), 10**5000, -(10**5000)], ids=int.bit_length
)
def test_integers_of_any_size_survive_the_lowest_limit_on_digits(number):
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert untagged(json.loads(json.dumps(tagged(number)))) == number
    finally:
        sys.set_int_max_str_digits(limit)


def test_lone_surrogates_and_non_ascii_survive_an_ascii_file():
    for text in ("\ud800", "a\udfff", "\udfff\ud800", "naïve", "日本", "\x00"):
        written = json.dumps(tagged(text)).encode("ascii")
        assert untagged(json.loads(written)) == text


@given(json_values)
def test_reading_any_json_gives_a_value_or_bad_state(data):
    try:
        value = untagged(data)
    except BadState:
        return
    assert tagged(value) == data


@pytest.mark.parametrize(
    "bad",
    [
        None,
        5,
        1.5,
        True,
        [],
        {},
        {"int": 5},
        {"int": "05"},
        {"int": "+5"},
        {"int": " 5"},
        {"int": "5_0"},
        {"int": "-0"},
        {"int": "٣"},
        {"int": "0x5"},
        {"int": ""},
        {"int": "9" * 5000},
        {"float": "nan"},
        {"float": "inf"},
        {"float": "1.5"},
        {"float": "0x1p5000"},
        {"float": 1.5},
        {"bool": 1},
        {"bool": "true"},
        {"bytes": "AP8"},
        {"bytes": "AP9="},
        {"bytes": "é"},
        {"bytes": b"AP8="},
        {"tuple": ["a", None]},
        {"tuple": "ab"},
        {"tuple": ("a",)},
        {"str": "a"},
        {"int": "5", "float": "0x1p0"},
        {5: "int"},
        {None: None},
    ],
    ids=repr,
)
def test_malformed_json_is_bad_state(bad):
    with pytest.raises(BadState):
        untagged(bad)
    with pytest.raises(BadState):
        untagged_many([bad])


def test_json_nested_too_deep_is_bad_state():
    data: object = "leaf"
    for _ in range(5000):
        data = {"tuple": [data]}
    with pytest.raises(BadState):
        untagged(data)


@pytest.mark.parametrize("bad", [None, "abc", {"tuple": []}, ("a",)])
def test_many_values_must_be_a_json_array(bad):
    with pytest.raises(BadState, match="array"):
        untagged_many(bad)


def test_a_hundred_thousand_strings_are_tagged_in_milliseconds():
    names = [f"value {i}" for i in range(100_000)]

    def best(step):
        took = []
        for _ in range(5):
            start = time.process_time()
            step()
            took.append(time.process_time() - start)
        return min(took)

    # Measured at 2-3 ms each; the margin is for slow machines.
    assert best(lambda: tagged_many(names)) < 0.05
    assert best(lambda: untagged_many(names)) < 0.05


# --- name_order ---


@given(st.lists(values, max_size=12), st.randoms())
def test_name_order_sorts_any_mix_the_same_from_any_order(many, random):
    many = list(dict.fromkeys(many))  # of equal values a dict would hold one
    shuffled = many[:]
    random.shuffle(shuffled)
    assert all(map(same, sorted(many, key=name_order), sorted(shuffled, key=name_order)))


@given(values, values)
def test_name_order_is_equal_exactly_where_a_dict_says_equal(a, b):
    assert (name_order(a) == name_order(b)) == (a == b)
    assert (name_order(a) < name_order(b)) + (name_order(b) < name_order(a)) == (a != b)


def test_name_order_puts_numbers_of_all_types_in_one_line():
    assert name_order(1) == name_order(True) == name_order(1.0)
    assert name_order((1, "a")) == name_order((True, "a"))
    assert sorted([10, 2.5, False, 2**60, -1.5], key=name_order) == [-1.5, False, 2.5, 10, 2**60]


@given(values, values, values)
def test_name_order_is_transitive(a, b, c):
    for x, y, z in itertools.permutations([name_order(a), name_order(b), name_order(c)]):
        if x <= y and y <= z:
            assert x <= z


def test_name_order_does_not_depend_on_the_hash_seed():
    code = (
        "from stream_bayes.core.values.values import name_order\n"
        "print(sorted({'b', 'a', 1, 2.5, b'z', ('a', 1), ('a', 'b')}, key=name_order))"
    )
    assert len({printed_with(seed, code) for seed in (0, 1, 2)}) == 1


def test_everything_public_is_listed():
    assert set(module.__all__) <= set(vars(module))
