"""What classifiers over pairs share: many rows at once, tables by name, and what is refused."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

from stream_bayes import AODE, KDB, ODE, SPODE, TAN, Binning, LiveChoice, Nominal, Schema
from stream_bayes.errors import (
    BadLabel,
    BadState,
    BadValue,
    BudgetExceeded,
    NotSupported,
    UnknownFeature,
)
from stream_bayes.testing.assertions import changes_nothing, same_bytes
from tests.learners.biased_events import biased_events
from tests.learners.training import trained
from tests.resealing import resealed

FAMILY = pytest.mark.parametrize(
    "kind", [AODE, SPODE, ODE, TAN, KDB, LiveChoice], ids=lambda kind: kind.__name__
)


# -- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", ["uv", "uvw", "uvwxy"])
@pytest.mark.parametrize("whole", [True, False], ids=["every feature", "some missing"])
def test_many_rows_in_any_form_are_answered_and_learned_as_one_by_one(classes, whole):
    stream = biased_events(20, 90, classes=classes)
    if not whole:
        stream = [
            ({n: v for k, (n, v) in enumerate(x.items()) if (i + k) % 5}, y)
            for i, (x, y) in enumerate(stream)
        ]
    xs, ys = [x for x, _ in stream], [y for _, y in stream]
    columns = {name: [x.get(name) for x in xs] for name in "abc"}
    schema = Schema(dict.fromkeys("abc", Nominal()), target="class")
    forms: dict[str, Callable[[slice], tuple[Any, Any]]] = {
        "dicts": lambda part: (xs[part], ys[part]),
        "pandas": lambda part: (pd.DataFrame(columns).iloc[part], pd.Series(ys[part])),
        "polars": lambda part: (pl.DataFrame(columns)[part], pl.Series(ys[part])),
        "coded": lambda part: (
            schema.encode({n: c[part] for n, c in columns.items()} | {"class": ys[part]}),
            None,
        ),
    }
    one = AODE(min_count=3)
    expected = [one.predict_learn_one(x, y) for x, y in stream]
    for form, part in forms.items():
        model = AODE(min_count=3)
        answers: list[dict[Any, float]] = []
        for piece in (slice(0, 40), slice(40, 90)):
            given = part(piece)
            answer = model.predict_learn_many(*given)
            if form == "coded":
                answers += [dict(zip(answer.labels, row, strict=True)) for row in answer.values.tolist()]
            elif form == "dicts":
                answers += answer
            else:
                answers += answer.to_dict("records") if form == "pandas" else answer.to_dicts()
        for got, wanted in zip(answers, expected, strict=True):
            # A frame's columns may come in another order than the features of the first events, and so may factors.
            assert {y: p for y, p in got.items() if p} == pytest.approx(wanted, rel=1e-12, abs=0.0), form
        assert model.store.by_name() == one.store.by_name(), form
        assert model.predict_proba_one(xs[0]) == pytest.approx(one.predict_proba_one(xs[0]), rel=1e-12), form


def test_learning_many_and_then_asking_is_as_learning_each():
    stream = biased_events(21, 60)
    one, many = trained(AODE(min_count=1), stream), AODE(min_count=1)
    many.learn_many([x for x, _ in stream], [y for _, y in stream])
    same_bytes(one, many, "learned as a batch")
    assert many.predict_many([x for x, _ in stream]) == [one.predict_one(x) for x, _ in stream]


# -- tables by name ---------------------------------------------------------------------------------------------------


@FAMILY
def test_tables_given_another_features_value_are_the_shares_of_a_dict(kind):
    stream = biased_events(40, 50)
    stream += [({"a": "x"}, "u"), ({"b": "y", "c": "z"}, "v")]
    model = trained(kind(prior="laplace", strength=0.5), stream)
    for child, other in itertools.permutations("abc", 2):
        for y in "uv":
            for value in "xyz":
                table = model.conditional(child, {"class": y, other: value})
                held = [x for x, label in stream if label == y and x.get(other) == value and child in x]
                expected = {v: (sum(x[child] == v for x in held) + 0.5) / (len(held) + 1.5) for v in "xyz"}
                assert table == pytest.approx(expected, abs=1e-15)
        assert model.conditional(child, {other: "x"}) == {
            y: model.conditional(child, {"class": y, other: "x"}) for y in model.classes_
        }


def test_tables_refuse_what_they_do_not_hold():
    model = trained(AODE(), biased_events(41, 20))
    with pytest.raises(NotSupported, match="pairs"):
        model.conditional("a", {"class": "u", "b": "x", "c": "y"})
    with pytest.raises(NotSupported, match="itself"):
        model.conditional("a", {"class": "u", "a": "x"})
    with pytest.raises(BadLabel, match="never met"):
        model.conditional("a", {"class": "u", "b": "never met"})
    with pytest.raises(BadLabel, match="the classes are"):
        model.conditional("a", {"class": "w", "b": "x"})
    with pytest.raises(UnknownFeature, match="'never'"):
        model.conditional("a", {"class": "u", "never": "x"})
    with pytest.raises(UnknownFeature, match="'never'"):
        model.conditional("never", {"class": "u", "a": "x"})


@pytest.mark.parametrize(
    "make",
    [
        AODE,
        lambda: AODE(min_count=1, weights="mutual-information", class_prior="uniform"),
        lambda: AODE(min_count=1, subsumption=10),
        SPODE,
        lambda: SPODE(parent="c"),
        lambda: ODE(parents={"b": "a"}),
        lambda: TAN(prior="laplace"),
        KDB,
    ],
)
def test_an_interval_holds_the_probability_that_is_answered(make):
    source, model = random.Random(42), make()
    for _ in range(400):
        y, a, c = (source.random() < 0.5 for _ in range(3))
        model.learn_one({"a": str(a), "b": str(a != y), "c": str(c)}, y)
    for values in itertools.product(("True", "False", None), repeat=3):
        x = dict(zip("abc", values, strict=True))
        answer = model.predict_proba_one(x)
        for label, (low, high) in model.predict_interval_one(x).items():
            assert 0.0 <= low <= answer[label] <= high <= 1.0
            assert low < high or not any(values)  # a given prior is beyond doubt


# -- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        (AODE, {"min_count": -1}, "min_count must be a finite number of at least 0"),
        (AODE, {"min_count": math.nan}, "min_count"),
        (AODE, {"min_count": True}, "min_count"),
        (AODE, {"subsumption": -0.5}, "subsumption"),
        (AODE, {"subsumption": "100"}, "subsumption"),
        (AODE, {"weights": "information"}, "weights must be one of None, 'mutual-information'"),
        (AODE, {"prior": "jeffreys"}, "prior must be one of 'laplace', 'm-estimate'"),
        (AODE, {"strength": -1}, "strength"),
        (SPODE, {"loss_half_life": 0}, "loss_half_life must be a finite number above 0"),
        (SPODE, {"loss_half_life": -3}, "loss_half_life"),
        (SPODE, {"min_count": math.inf}, "min_count"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name(kind, arguments, words):
    with pytest.raises(BadValue, match=words):
        kind(**arguments)


def test_a_super_parent_that_the_schema_does_not_declare_is_refused():
    with pytest.raises(UnknownFeature, match=r"super-parent 'wind'.*'sky'"):
        SPODE(parent="wind", schema=Schema({"sky": Nominal()}))
    SPODE(parent="sky", schema=Schema({"sky": Nominal()}))


@pytest.mark.parametrize("parent", [["a"], {"a": 1}, 3.5j])
def test_a_super_parent_that_can_be_no_name_is_refused(parent):
    with pytest.raises(BadValue):
        SPODE(parent=parent)


@FAMILY
def test_a_number_without_bins_is_refused_and_nothing_changes(kind):
    model = trained(kind(binning=None), biased_events(50, 20))
    with changes_nothing(model, "a number"), pytest.raises(BadValue, match=r"'heat'.*bins"):
        model.learn_one({"a": "x", "new": "y", "heat": 20.5}, "new class")
    with changes_nothing(model, "a number in a batch"), pytest.raises(BadValue, match=r"'heat'.*bins"):
        model.learn_many([{"a": "x"}, {"heat": 20.5}], ["u", "v"])


@FAMILY
def test_a_budget_too_small_for_the_pairs_is_refused_and_nothing_changes(kind):
    model = trained(kind(memory_budget=6000), biased_events(51, 20, names="ab"))
    wide_event = {f"f{i}": "x" for i in range(30)}
    with changes_nothing(model, "too wide an event"):
        with pytest.raises(BudgetExceeded, match="6,000"):
            model.learn_one(wide_event, "u")
        with pytest.raises(BudgetExceeded):
            model.predict_learn_one(wide_event, "u")
        with pytest.raises(BudgetExceeded):
            model.learn_many([{"a": "x"}, wide_event], ["u", "v"])
    trained(model, biased_events(52, 5, names="ab"))
    assert model.memory_bytes <= 6000


@FAMILY
def test_a_budget_too_small_for_the_declared_pairs_is_refused_at_once(kind):
    schema = Schema({f"f{i}": Nominal(range(8)) for i in range(20)}, classes=["u", "v"])
    pairs = 8 * 2 * 64 * 190
    with pytest.raises(BudgetExceeded, match="memory_budget"):
        kind(schema=schema, memory_budget=pairs)
    assert kind(schema=schema, memory_budget=3 * pairs).memory_bytes >= pairs


@FAMILY
def test_values_past_max_values_share_a_code_and_its_pairs(kind):
    model = kind(max_values=2, strength=0.0)
    for value in "xyzw":
        model.learn_one({"a": value, "b": "o"}, "u")
    shares = model.conditional("a", {"class": "u", "b": "o"})
    assert sorted(shares.values()) == [0.25, 0.25, 0.5]
    assert model.predict_proba_one({"a": "z", "b": "o"}) == model.predict_proba_one({"a": "new", "b": "o"})


@pytest.mark.parametrize("bins", [1001, 2**31, 2**63, 10**30])
def test_more_bins_than_any_memory_holds_are_refused_and_so_is_a_state_that_asks_for_them(bins):
    with pytest.raises(BadValue, match="at most 1000"):
        AODE(binning=Binning(bins=bins))
    state = AODE(binning=Binning(bins=1000)).state()
    state["parameters"]["binning"]["binning"]["bins"] = bins
    with pytest.raises(BadState, match="at most 1000"):
        AODE.from_state(resealed(state))
