from __future__ import annotations

import enum
import random
from collections import ChainMap
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import GaussianNB, MultinomialNB, NaiveBayes, Nominal, Numeric, Schema
from stream_bayes.core.values.inputs import NONE, WHOLE
from stream_bayes.core.values.values import OTHER, canonical
from stream_bayes.errors import BadLabel, BadValue, BadWeight, KindChanged, UnknownFeature
from tests.builds import examples


def vocabulary(max_values: int | None = None) -> Any:
    """An empty vocabulary, as a text learner has one for its tokens."""
    encoder: Any = MultinomialNB(max_values=max_values).store.encoder
    return encoder.tokens


def rows(**arguments: Any) -> Any:
    return NaiveBayes(**arguments).store.encoder


class Rank(enum.IntEnum):
    FIRST = 1


def entries(encoder: Any, row: Any) -> dict[Any, Any]:
    """What a row of codes says, by name."""
    nominal = {
        encoder.nominal[row.feature[k]].name: encoder.nominal[row.feature[k]].vocabulary.values[row.code[k]]
        for k in range(row.entries)
    }
    numeric = {encoder.numeric[row.numeric_feature[k]].name: row.number[k] for k in range(row.numbers)}
    return {**nominal, **numeric}


# --- vocabularies ---

names = st.one_of(
    st.integers(0, 300), st.sampled_from("abcdefgh"), st.booleans(), st.tuples(st.integers(0, 3))
)


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(st.lists(names, max_size=8), st.booleans()), max_size=25))
def test_codes_are_those_of_a_dict_also_after_names_are_taken_back(events):
    known, model = vocabulary(), dict[Any, int]()
    for values, keep in events:
        before = dict(model)
        for value in values:
            assert known.name(value) == model.setdefault(value, len(model))
        if not keep:
            for _ in range(len(model) - len(before)):
                known.remove_newest()
            model = before
        assert list(known.values) == list(model)
        assert [known.lookup(value) for value in model] == list(model.values())
        assert len(known) == len(model)


def test_taking_names_back_after_growth_loses_no_other_name():
    # Runs of new names of many lengths, so that every size grows in the middle of one that is then taken back.
    source = random.Random(5)
    for _ in range(3000):
        known, kept = vocabulary(), []
        for _ in range(source.randrange(1, 12)):
            kept.append(source.randrange(10**9))
            known.name(kept[-1])
        fresh = source.randrange(1, 8)
        for _ in range(fresh):
            known.name(source.randrange(10**9, 2 * 10**9))
        while len(known) > len(set(kept)):
            known.remove_newest()
        assert [known.lookup(value) for value in dict.fromkeys(kept)] == list(range(len(set(kept))))


def test_a_code_never_changes_its_meaning():
    known, source = vocabulary(), random.Random(2)
    codes: dict[str, int] = {}
    for _ in range(5000):
        word = f"w{int(source.paretovariate(0.6)) % 4000}"
        codes.setdefault(word, known.name(word))
    assert {word: known.lookup(word) for word in codes} == codes
    assert [known.values[code] for code in codes.values()] == list(codes)


def test_equal_is_what_python_says_and_the_first_is_reported():
    known = vocabulary()
    assert [known.name(value) for value in (True, 1, 1.0, "1", b"1", (1,), (True,))] == [0, 0, 0, 1, 2, 3, 3]
    assert list(map(repr, known.values)) == ["True", "'1'", "b'1'", "(1,)"]


def test_past_the_limit_names_share_the_last_code():
    known = vocabulary(max_values=2)
    assert [known.name(value) for value in "abcdab"] == [0, 1, 2, 2, 0, 1]
    assert list(known.values) == ["a", "b", OTHER]
    assert known.lookup("never") == 2
    assert len(known) == 3


def test_looking_up_creates_nothing():
    known = vocabulary()
    known.name("a")
    assert known.lookup("b") < 0
    assert list(known.values) == ["a"]


# --- rows ---

kinds = st.dictionaries(
    st.sampled_from("abcdefghij"),
    st.one_of(st.sampled_from(["u", "v"]), st.none(), st.just(float("nan"))),
    max_size=10,
)
numbers = st.dictionaries(
    st.sampled_from("klmnop"), st.one_of(st.floats(-9, 9), st.integers(-9, 9), st.none()), max_size=6
)
events = st.tuples(kinds, numbers, st.randoms()).map(
    lambda t: dict(sorted({**t[0], **t[1]}.items(), key=lambda _: t[2].random()))
)


@given(st.lists(events, max_size=12))
def test_a_row_holds_what_the_event_holds_in_the_order_of_the_slots(many):
    encoder = rows()
    for x in many:
        row = encoder.encode(x, "y", 1.0)
        encoder.created.clear()
        expected = {name: value for name, value in x.items() if value is not None and value == value}
        assert entries(encoder, row) == expected
        assert list(row.feature[: row.entries]) == sorted(row.feature[: row.entries])
        assert list(row.numeric_feature[: row.numbers]) == sorted(row.numeric_feature[: row.numbers])


@pytest.mark.parametrize("features", [3, 63, 64, 65, 500])
def test_a_long_row_in_any_order_is_put_in_order(features):
    encoder, source = rows(), random.Random(features)
    x: dict[str, Any] = {f"s{i}": f"v{i % 5}" for i in range(features)} | {
        f"n{i}": float(i) for i in range(features)
    }
    encoder.encode(x, "y", 1.0)
    encoder.created.clear()
    for _ in range(5):
        shuffled = list(x.items())
        source.shuffle(shuffled)
        row = encoder.lookup(dict(shuffled))
        assert entries(encoder, row) == x
        assert list(row.feature[: row.entries]) == list(range(features))
        assert list(row.number[: row.numbers]) == [float(i) for i in range(features)]


def test_looking_up_leaves_out_what_is_unknown_and_keeps_nothing():
    encoder = rows()
    encoder.encode({"sky": "grey", "heat": 20.5}, "rain", 1.0)
    encoder.created.clear()
    row = encoder.lookup({"sky": "blue", "heat": 21, "wind": "west", "cold": 3})
    assert entries(encoder, row) == {"heat": 21.0}
    assert list(encoder.features) == ["sky", "heat"]
    assert encoder.created == []
    assert row.label < 0


@pytest.mark.parametrize(
    ("x", "y", "w", "error"),
    [
        ({"new": "v", "sky": 3}, "snow", 1, KindChanged),
        ({"new": 3.5, "heat": "warm"}, "snow", 1, KindChanged),
        ({"new": "v", "other": [1]}, "snow", 1, BadValue),
        ({"sky": "new", "heat": float("inf")}, "snow", 1, BadValue),
        ({"sky": "new", "huge": 10**400}, "snow", 1, BadValue),
        ({"new": "v"}, None, 1, BadLabel),
        ({"new": "v"}, ["snow"], 1, BadLabel),
        ({"new": "v"}, "snow", -1, BadWeight),
        ({"new": "v"}, "snow", 10**400, BadWeight),
        (["sky"], "snow", 1, BadValue),
    ],
)
def test_a_refused_sample_leaves_no_name_behind(x, y, w, error):
    encoder = rows()
    encoder.encode({"sky": "grey", "heat": 20.5}, "rain", 1.0)
    encoder.created.clear()
    with pytest.raises(error):
        encoder.encode(x, y, w)
    assert encoder.created == []
    assert list(encoder.labels.values) == ["rain"]
    assert list(encoder.features) == ["sky", "heat"]
    assert list(encoder.features["sky"].vocabulary.values) == ["grey"]
    assert (len(encoder.nominal), len(encoder.numeric)) == (1, 1)


def test_unfinished_business_is_taken_back_by_the_next_sample():
    encoder = rows()
    encoder.encode({"sky": "grey", "heat": 20.5}, "rain", 1.0)
    encoder.encode({"wind": "west"}, "sun", 1.0)
    assert list(encoder.features) == ["wind"]
    assert list(encoder.labels.values) == ["sun"]


@pytest.mark.parametrize(
    ("x", "w", "whole"),
    [
        ({"a": 1, "b": 2}, 1, True),
        ({"a": 1, "b": 2}, 0.5, False),
        ({"a": 0.5}, 1, False),
        ({"a": 0.5, "b": 1.5}, 2, True),
        ({"a": 0.5, "b": 0.25}, 2, False),
        ({"a": 2}, 0.5, False),
        ({}, 3, True),
        ({}, 0.3, False),
        ({"a": 2.0**40}, 1, True),
    ],
)
def test_a_row_knows_whether_all_it_adds_is_whole(x, w, whole):
    row = MultinomialNB().store.encoder.encode(x, "y", w)
    assert bool(row.whole) is whole


@pytest.mark.parametrize(
    "value",
    [
        "a",
        True,
        3,
        0.5,
        b"a",
        (),
        (1,),
        ("a", True),
        (np.int64(1), 0.5),
        ((1,), "a"),
        Rank.FIRST,
        (Rank.FIRST,),
    ],
    ids=repr,
)
def test_a_nominal_value_is_kept_in_its_plain_form(value: Any) -> None:
    encoder = rows(schema=Schema({"f": Nominal()}))
    encoder.encode({"f": value}, "y", 1.0)
    encoder.created.clear()
    (kept,) = encoder.features["f"].vocabulary.values
    assert repr(kept) == repr(canonical(value))
    assert encoder.lookup({"f": value}).entries == 1


@pytest.mark.parametrize("value", [(1, None), ([],), (float("nan"),), [1], float("inf")], ids=repr)
def test_a_nominal_value_of_another_type_is_refused(value: Any) -> None:
    encoder = rows(schema=Schema({"f": Nominal()}))
    with pytest.raises(BadValue, match="'f'"):
        encoder.encode({"f": value}, "y", 1.0)


@pytest.mark.parametrize(
    ("numbers", "value", "is_taken"), [(NONE, 1, False), (WHOLE, 1, True), (WHOLE, 0.5, False)]
)
def test_an_encoder_says_which_numbers_may_be_names(numbers: str, value: float, is_taken: bool) -> None:
    encoder = rows()
    encoder.numbers_named = numbers
    encoder.encode({"f": "a"}, "y", 1.0)
    encoder.created.clear()  # there is room for them
    with nullcontext() if is_taken else pytest.raises(KindChanged):
        encoder.encode({"f": value}, "y", 1.0)


def test_a_subclass_of_dict_and_any_mapping_are_events():
    class Event(dict[str, Any]):
        pass

    encoder = rows()
    for x in (
        Event(sky="grey"),
        MappingProxyType({"sky": "grey"}),
        ChainMap({"sky": "grey"}, {"sky": "blue"}),
    ):
        assert entries(encoder, encoder.encode(x, "y", 1)) == {"sky": "grey"}


@pytest.mark.parametrize("order", [["a", "n"], ["n", "a"]])
def test_declared_features_keep_their_slots_whatever_comes_first(order):
    schema = Schema({"z": Nominal(), "a": ["u"], "m": Numeric(), "n": Numeric()})
    encoder = rows(schema=schema)
    x = {"a": "u", "n": 3.5}
    row = encoder.encode({name: x[name] for name in order}, "y", 1.0)
    assert list(row.feature[: row.entries]) == [1]
    assert list(row.numeric_feature[: row.numbers]) == [1]


def test_names_of_features_are_str_where_a_schema_is_declared():
    encoder = rows(schema=Schema({"a": ["u"]}))
    for act in (lambda: encoder.encode({7: "u"}, "y", 1.0), lambda: encoder.lookup({7: "u"})):
        with pytest.raises(BadValue, match="feature names are str"):
            act()
    refusing = rows(schema=Schema({"a": ["u"]}, unknown="refuse"))
    with pytest.raises(UnknownFeature, match="'b'"):
        refusing.lookup({"b": "u"})


def test_a_gaussian_learner_takes_every_new_feature_for_a_number():
    encoder = GaussianNB().store.encoder
    with pytest.raises(BadValue, match="'x' is numeric"):
        encoder.encode({"x": "1"}, "y", 1.0)
    with pytest.raises(BadValue, match="finite"):
        encoder.encode({"x": float("inf")}, "y", 1.0)
    assert not encoder.features


def test_the_order_of_names_follows_features_that_come_and_are_taken_back() -> None:
    encoder = rows()
    encoder.encode({"b": "x", "n": 1.0}, "u", 1.0)
    assert [feature.name for feature in encoder.nominal_by_name()] == ["b"]
    encoder.created.clear()
    encoder.encode({"c": "x"}, "u", 1.0)
    assert [feature.name for feature in encoder.nominal_by_name()] == ["b", "c"]
    encoder.rollback()
    encoder.encode({"a": "x"}, "u", 1.0)
    assert [feature.name for feature in encoder.nominal_by_name()] == ["a", "b"]
