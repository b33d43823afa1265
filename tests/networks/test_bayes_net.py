"""A Bayesian network learns what a dictionary would, in any order and form, and takes it back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import BayesNet, DiscreteNetwork, Nominal, Numeric, Schema, Structure
from stream_bayes.errors import (
    BadValue,
    BadWeight,
    FeaturesIgnored,
    KindChanged,
    NotLearned,
    NoValueKnown,
    SchemaError,
    UnknownFeature,
)
from tests.networks.network_events import (
    COMPLETE,
    EXAMPLES,
    PARENTS,
    START,
    close,
    events_of,
    expected,
    fractions,
    fresh,
    learned,
    same_bytes,
    tables,
    unsmoothed,
    whole,
)


@settings(max_examples=EXAMPLES)
@given(events_of(whole), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from(["m-estimate", "laplace"]))
def test_tables_are_those_of_dictionaries(events, strength, prior):
    events = START + events
    model = learned(events, strength=strength, prior=prior)
    close(tables(model), expected(events, strength=strength, spread=prior == "m-estimate"))


@settings(max_examples=EXAMPLES)
@given(events_of(fractions), st.sampled_from([2.0, 30.0]))
def test_fading_has_its_closed_form(events, half_life):
    events = START + events
    close(tables(learned(events, half_life=half_life)), expected(events, half_life=half_life), 1e-9)


@settings(max_examples=EXAMPLES)
@given(events_of(whole), st.randoms(use_true_random=False), st.integers(0, 20))
def test_any_order_any_split_and_merge_and_any_batch_are_one(events, chance, cut):
    model = unsmoothed(events)
    shuffled = chance.sample(events, len(events))
    close(tables(unsmoothed(shuffled)), tables(model), 0.0)
    close(tables(unsmoothed(shuffled[:cut]).merge(unsmoothed(shuffled[cut:]))), tables(model), 0.0)
    summed: Any = sum([unsmoothed(events[:cut]), unsmoothed(events[cut:])])
    close(tables(summed), tables(model), 0.0)
    batch = fresh(strength=0.0)
    batch.learn_many([x for x, _ in events], [w for _, w in events])
    same_bytes(batch, model)


@settings(max_examples=EXAMPLES)
@given(events_of(whole), events_of(whole))
def test_what_is_unlearned_was_never_there(kept, more):
    model = unsmoothed(kept + more)
    for x, w in reversed(more):
        model.unlearn_one(x, w)
    close(tables(model), tables(unsmoothed(kept)), 0.0)
    assert model.states == {
        v: tuple(s for s in model.states[v] if s in unsmoothed(kept).states[v]) for v in PARENTS
    }


@settings(max_examples=EXAMPLES // 2)
@given(events_of(fractions, 1), st.sampled_from([None, 3.0]), st.sampled_from([0.0, 1.0]))
def test_answers_between_events_are_those_of_a_network_asked_for_the_first_time(events, half_life, strength):
    model = fresh(half_life=half_life, strength=strength)
    seen: list[Any] = []
    for x, w in events:
        if len(seen) > 4 and half_life is None:
            model.unlearn_one(*seen.pop())
        model.learn_one(x, w)
        seen.append((x, w))
        anew = BayesNet.from_state(model.state())
        for v, values in model.states.items():
            if values:
                assert model.query(v) == anew.query(v)
        assert model.log_likelihood_one(x) == anew.log_likelihood_one(x)


def test_unlearning_after_fading_says_when():
    model = learned(START, half_life=3.0)
    before = tables(model)
    model.learn_one(COMPLETE)
    at = model.clock
    model.advance(5)
    model.unlearn_one(COMPLETE, at=at)
    other = learned(START, half_life=3.0)
    other.advance(6)
    close(tables(model), tables(other), 1e-9)
    assert tables(model) != before


@pytest.mark.parametrize("form", ["frame", "coded", "dicts", "columns"])
def test_events_in_every_form_are_learned_alike(form):
    schema = Schema({"rain": ["yes", "no"], "lawn": Nominal()})
    structure = Structure({"rain": [], "lawn": ["rain"]})
    events: list[Any] = [
        {"rain": "no", "lawn": "dry"},
        {"rain": "yes", "lawn": "wet"},
        {"rain": None, "lawn": "wet"},
    ] * 3
    one, many = BayesNet(structure, schema=schema), BayesNet(structure, schema=schema)
    for x in events:
        one.learn_one(x, 2)
    columns: Any = {name: [x[name] for x in events] for name in ("rain", "lawn")}
    given = {
        "frame": pd.DataFrame(columns),
        "coded": schema.encode(events),
        "dicts": events,
        "columns": columns,
    }
    many.learn_many(given[form], 2 if form == "frame" else [2] * 9)
    close(tables(one), tables(many), 0.0)


def test_coded_columns_are_refused_as_events_are():
    structure = Structure({"rain": []})
    closed = BayesNet(structure, schema=Schema({"rain": Nominal(["yes", "no"], closed=True)}))
    foreign = Schema({"rain": Nominal()}).encode([{"rain": "yes"}, {"rain": "perhaps"}])
    before = closed.state()["checksum"]
    with pytest.raises(BadValue, match="'perhaps'"):
        closed.learn_many(foreign)
    with pytest.raises(BadWeight):
        closed.learn_many(Schema({"rain": Nominal()}).encode([{"rain": "yes"}]), [1.0, 2.0])
    assert closed.state()["checksum"] == before
    numbers = Schema({"rain": Nominal()}).encode([{"rain": 3.5}])
    with pytest.raises(KindChanged):
        BayesNet(structure).learn_many(numbers)


# -- what events may hold ---------------------------------------------------------------------------------------------


def test_what_the_structure_does_not_know_is_not_learned():
    model = BayesNet({"rain": []})
    with pytest.warns(FeaturesIgnored, match="'id', 'price'"):
        model.learn_one({"rain": "yes", "id": "4711", "price": 3.5})
    other = BayesNet({"rain": []})
    other.learn_one({"rain": "yes"})
    same_bytes(model, other)
    assert model.log_likelihood_one({"rain": "yes", "id": "4711"}) == 0.0


def test_a_schema_may_refuse_what_it_does_not_declare():
    model = BayesNet({"rain": []}, schema=Schema({"rain": Nominal(), "day": Nominal()}, unknown="refuse"))
    model.learn_one({"rain": "yes", "day": "monday"})
    with pytest.raises(UnknownFeature, match="'id'"):
        model.learn_one({"rain": "yes", "id": "4711"})
    assert model.clock == 1


def test_a_number_without_cuts_is_refused():
    model = BayesNet({"size": []})
    with pytest.raises(KindChanged, match="declare it Nominal in a schema"):
        model.learn_one({"size": 3.5})
    with pytest.raises(SchemaError, match="cuts"):
        BayesNet({"size": []}, schema=Schema({"size": Numeric()}))
    assert model.clock == 0


def test_whole_numbers_are_names():
    events: list[dict[str, Any]] = [
        {"door": 2, "host": 0},
        {"door": 1, "host": 1.0},
        {"door": np.int64(2), "host": None},
        {"door": 1},
    ]
    structure = {"door": [], "host": ["door"]}
    single, columns, coded = BayesNet(structure), BayesNet(structure), BayesNet(structure)
    for event in events:
        single.learn_one(event)
    columns.learn_many(pd.DataFrame({"door": [2, 1, 2, 1], "host": [0, 1, None, None]}))
    coded.learn_many(Schema({"door": Nominal(), "host": Nominal()}).encode(events))
    for model in (single, columns, coded):
        assert model.states == {"door": (2, 1), "host": (0, 1)}
        assert dict(model.query("host", {"door": 2})) == dict(single.query("host", {"door": np.int64(2)}))
        assert model.log_likelihood_one({"door": 1, "host": 1}) == single.log_likelihood_one(
            {"door": 1, "host": 1}
        )
    loaded = BayesNet.from_state(single.state())
    loaded.unlearn_one(events[0])
    assert loaded.states == {"door": (2, 1), "host": (1,)}
    assert (
        loaded.state()["checksum"]
        == (BayesNet.from_state(loaded.state()) + BayesNet(structure)).state()["checksum"]
    )
    with pytest.raises(KindChanged, match=r"the number 1\.5;"):
        single.learn_many(pd.DataFrame({"door": [2.0, 1.5]}))


def test_beside_labels_given_beforehand_that_are_no_numbers_a_number_is_a_mistake():
    known = DiscreteNetwork(Structure({"coin": []}), {"coin": ["0", "1"]}, {"coin": [0.5, 0.5]})
    model = BayesNet.from_network(known)
    with pytest.raises(KindChanged, match="'coin'"):
        model.learn_one({"coin": 1})
    with pytest.raises(KindChanged, match="'coin'"):
        model.learn_many(pd.DataFrame({"coin": [1]}))


@pytest.mark.parametrize(
    ("labels", "value"),
    [
        (["True", "False"], True),
        (["yes", "no"], False),
        ([True, False], "True"),
        ([1, 2], "1"),
        (["a"], True),
    ],
)
def test_a_declared_value_under_another_type_is_a_mistake(labels, value):
    shares = [1 / len(labels)] * len(labels)
    model = BayesNet.from_network(
        DiscreteNetwork(Structure({"coin": []}), {"coin": labels}, {"coin": shares})
    )
    before = model.state()["checksum"]
    learned = [
        lambda: model.learn_one({"coin": value}),
        lambda: model.learn_many([{"coin": labels[0]}, {"coin": value}]),
        lambda: model.learn_many({"coin": [labels[0], value]}),
        lambda: model.learn_many(Schema({"coin": Nominal()}).encode([{"coin": value}])),
    ]
    for learn in learned:
        with pytest.raises(BadValue, match=r"'coin'.* another type; convert"):
            learn()
    assert model.state()["checksum"] == before
    model.learn_one({"coin": "edge"} if isinstance(labels[0], str) else {"coin": labels[0]})


def test_features_outside_the_structure_are_named_once():
    rain = {"rain": "yes", "lawn": "wet"}
    ways = [
        lambda model: model.learn_one({**rain, "rian": "yes"}),
        lambda model: model.learn_many([rain, {**rain, "rian": "yes"}]),
        lambda model: model.learn_many({name: [value] for name, value in {**rain, "rian": "yes"}.items()}),
        lambda model: model.learn_many(pd.DataFrame([{**rain, "rian": "yes"}])),
    ]
    for learn in ways:
        model = BayesNet({"rain": [], "lawn": ["rain"]})
        model.learn_one(rain)
        with pytest.warns(FeaturesIgnored, match=r"\['rian'\]; did you mean 'rain'\?"):
            learn(model)
        learn(model)  # warned once: a second warning would be an error
    declared = Schema({"rain": Nominal(), "lawn": Nominal(), "rian": Nominal()})
    BayesNet({"rain": [], "lawn": ["rain"]}, schema=declared).learn_one({**rain, "rian": "yes"})


def test_an_event_that_was_never_learned_is_refused_without_speaking_of_a_class():
    model = BayesNet({"rain": []})
    model.learn_one({"rain": "yes"})
    for x, w in [({"rain": "yes"}, 5.0), ({"rain": "no"}, 1.0)]:
        with pytest.raises(NotLearned) as refused:
            model.unlearn_one(x, w)
        assert "class" not in str(refused.value)


def test_numbers_fall_into_declared_bins():
    schema = Schema({"size": Numeric(cuts=[1.0, 2.0]), "kind": Nominal()})
    model = BayesNet({"kind": ["size"], "size": []}, schema=schema, strength=0)
    for size, kind in [(0.5, "s"), (1.0, "m"), (1.5, "l"), (7, "l"), (None, "s")]:
        model.learn_one({"size": size, "kind": kind})
    assert model.states["size"] == ("(-inf, 1.0)", "[1.0, 2.0)", "[2.0, inf)")
    assert dict(model.cpt("size")[()]) == {"(-inf, 1.0)": 0.25, "[1.0, 2.0)": 0.5, "[2.0, inf)": 0.25}
    assert dict(model.query("kind", {"size": 1.2})) == {"s": 0.0, "m": 0.5, "l": 0.5}
    model.unlearn_one({"size": 1.5, "kind": "l"})
    assert model.cpt("kind")["[1.0, 2.0)",]["m"] == 1.0
    assert BayesNet.from_state(model.state()).state()["checksum"] == model.state()["checksum"]


def test_new_values_come_at_any_time():
    model = BayesNet({"rain": [], "lawn": ["rain"]})
    with pytest.raises(NoValueKnown, match="no value of 'rain' is known yet; learn"):
        model.query("rain")
    model.learn_one({"rain": "yes", "lawn": "wet"})
    assert dict(model.query("rain")) == {"yes": 1.0}
    model.learn_one({"rain": "drizzle", "lawn": "damp"})
    assert set(model.query("rain", {"lawn": "damp"})) == {"yes", "drizzle"}
    model.unlearn_one({"rain": "drizzle", "lawn": "damp"})
    assert dict(model.query("rain")) == {"yes": 1.0}


def test_values_past_a_limit_share_one():
    model = BayesNet({"rain": []}, max_values=1, strength=0)
    for value in ("yes", "no", "perhaps", "yes"):
        model.learn_one({"rain": value})
    assert list(model.query("rain").values()) == [0.5, 0.5]
    assert model.most_probable({"rain": "never met"}).log_probability == pytest.approx(math.log(0.5))
    assert model.to_network().states["rain"] == ("yes", "<other>")


def test_nothing_of_a_refused_event_is_kept():
    model = learned(START)
    before = model.state()["checksum"]
    for bad in ({"a": "new", "d": [1]}, {"a": "new", "d": 4.5}, ["a"]):
        with pytest.raises((BadValue, KindChanged)):
            model.learn_one(bad)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(BadWeight):
        model.learn_one({"a": "new"}, -1.0)
    with pytest.raises(NotLearned):
        model.unlearn_one({"a": "new"})
    assert model.state()["checksum"] == before


def test_each_new_value_has_room_in_the_families_of_its_variable() -> None:
    model = BayesNet({"a": [], "b": ["a"], "c": ["a", "b"]}, strength=0)
    for number in range(60):
        x = {name: f"{name}{number}" for name in "abc"}
        model.learn_one(x)
        assert model.log_likelihood_one(x) == pytest.approx(-np.log(number + 1))
