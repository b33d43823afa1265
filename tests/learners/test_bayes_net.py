"""A Bayesian network learns what a dictionary would, answers what all its rows add up to, and is kept without loss."""

from __future__ import annotations

import copy
import math
import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_bayes
from stream_bayes import BayesNet, DiscreteNetwork, Nominal, Numeric, Schema, Structure, read_bif, write_bif
from stream_bayes.core.hill_climbing import HillClimbing
from stream_bayes.errors import (
    BadState,
    BadStructure,
    BadValue,
    BadWeight,
    BudgetExceeded,
    CannotMerge,
    ImpossibleEvidence,
    KindChanged,
    NotLearned,
    NotSupported,
    SchemaError,
    UnknownFeature,
)
from tests.core.random_networks import evidence_on, networks
from tests.oracles import bayes_net as oracle
from tests.oracles.enumeration import log_of

EXAMPLES = 40 if stream_bayes.compiled else 8
NAN = float("nan")

PARENTS: dict[Any, list[Any]] = {"a": [], "ü": ["a"], "c": ["a", "ü"], "d": ["c"]}
VALUES: dict[str, list[Any]] = {
    "a": ["x", "y"],
    "ü": [True, False],
    "c": ["p", ("q", 1), b"r"],
    "d": ["u", "v"],
}

rows = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from([*values, *values, None, NAN]) for name, values in VALUES.items()}
)
whole = st.sampled_from([1.0, 1.0, 2.0, 3.0])
fractions = st.sampled_from([1.0, 0.5, 0.3, 2.75])
events_of = lambda weights, least=0: st.lists(st.tuples(rows, weights), min_size=least, max_size=20)  # noqa: E731
COMPLETE = {name: values[0] for name, values in VALUES.items()}


def fresh(**arguments: Any) -> BayesNet:
    return BayesNet(Structure(PARENTS), **arguments)


def learned(events: Any, **arguments: Any) -> BayesNet:
    model = fresh(**arguments)
    for x, w in events:
        model.learn_one(x, w)
    return model


def unsmoothed(events: Any) -> BayesNet:
    """One whose shares are quotients of whole numbers, and so exact in any order."""
    return learned(events, strength=0.0)


def tables(model: BayesNet) -> dict[Any, Any]:
    """{variable: {((parent, value), ...): {value: probability}}}, whatever the order of codes."""
    found = {}
    for variable in model.structure.variables:
        table = model.cpt(variable)
        found[variable] = {
            frozenset(zip(table.parents, row, strict=True)): shares for row, shares in table.items()
        }
    return found


def close(one: Any, other: Any, tolerance: float = 1e-12) -> None:
    assert one.keys() == other.keys()
    for key, held in one.items():
        if isinstance(held, dict):
            close(held, other[key], tolerance)
        else:
            assert held == pytest.approx(other[key], abs=tolerance), key


def expected(events: Any, **settings: Any) -> dict[Any, Any]:
    made = oracle.network(PARENTS, events, **settings)
    found = {}
    for variable, above in PARENTS.items():
        labels = made.labels[variable]
        found[variable] = {
            frozenset(zip(above, row, strict=True)): {
                label: float(weight / sum(weights)) for label, weight in zip(labels, weights, strict=True)
            }
            for row, weights in made.tables[variable].items()
        }
    return found


def same_bytes(one: BayesNet, other: BayesNet) -> None:
    mine, theirs = one.state(), other.state()
    assert {k: v for k, v in mine.items() if k != "arrays"} == {
        k: v for k, v in theirs.items() if k != "arrays"
    }
    for name, array in mine["arrays"].items():
        assert array.tobytes() == theirs["arrays"][name].tobytes(), name


# -- learning ---------------------------------------------------------------------------------------------------------

START = [({name: values[k % len(values)] for name, values in VALUES.items()}, 1.0) for k in range(3)]


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
        assert model.marginals() == anew.marginals()
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
    numbers = Schema({"rain": Nominal()}).encode([{"rain": 3}])
    with pytest.raises(KindChanged):
        BayesNet(structure).learn_many(numbers)


# -- what events may hold ---------------------------------------------------------------------------------------------


def test_what_the_structure_does_not_know_is_not_learned():
    model = BayesNet({"rain": []})
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
    with pytest.raises(KindChanged, match="declare it in a schema"):
        model.learn_one({"size": 3.5})
    with pytest.raises(SchemaError, match="cuts"):
        BayesNet({"size": []}, schema=Schema({"size": Numeric()}))
    assert model.clock == 0


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
    with pytest.raises(BadValue):
        model.query("rain", {"lawn": "wet"})
    assert dict(model.query("rain")) == {None: 1.0}  # missing so far, and surely
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
    for bad in ({"a": "new", "d": [1]}, {"a": "new", "d": 4}, ["a"]):
        with pytest.raises((BadValue, KindChanged)):
            model.learn_one(bad)  # type: ignore[arg-type]
    with pytest.raises(BadWeight):
        model.learn_one({"a": "new"}, -1.0)
    with pytest.raises(NotLearned):
        model.unlearn_one({"a": "new"})
    assert model.state()["checksum"] == before


# -- asking -----------------------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES, deadline=None)
@given(events_of(whole), st.data())
def test_answers_are_sums_over_all_rows(events, data):
    events = START + events
    model, made = learned(events), oracle.network(PARENTS, events)
    for _ in range(2):  # the second time after learning more, with the plans kept
        evidence = data.draw(evidence_on(model.to_network()))
        target = data.draw(st.sampled_from(sorted(PARENTS)))
        if made.probability(evidence):
            answer, wanted = model.query(target, evidence), made.posterior([target], evidence)
            assert {(label,): p for label, p in answer.items()} == pytest.approx(wanted, abs=1e-12)
            assert model.most_probable(evidence).log_probability == pytest.approx(log_of(made.best(evidence)))
        else:
            with pytest.raises(ImpossibleEvidence):
                model.query(target, evidence)
        x = data.draw(rows)
        known = {v: value for v, value in x.items() if oracle.is_there(value) and value in made.labels[v]}
        assert model.log_likelihood_one(x) == pytest.approx(log_of(made.probability(known)), abs=1e-9)
        events = [*events, (COMPLETE, 2.0)]
        model.learn_one(COMPLETE, 2.0)
        made = oracle.network(PARENTS, events)


def test_what_the_network_does_not_know_is_no_evidence():
    model = learned(START)
    with pytest.raises(UnknownFeature, match="'id'"):
        model.query("a", {"id": "4711"})
    with pytest.raises(UnknownFeature, match="'id'"):
        model.query("id")
    with pytest.raises(BadValue, match="'z'"):
        model.query("a", {"d": "z"})
    with pytest.raises(BadValue):
        model.query("a", [("d", "u")])  # type: ignore[arg-type]
    with pytest.raises(UnknownFeature):
        model.cpt("id")


def test_impossible_evidence_is_an_error():
    model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
    model.learn_one({"rain": "yes", "lawn": "wet"})
    model.learn_one({"rain": "no", "lawn": "dry"})
    with pytest.raises(ImpossibleEvidence):
        model.query("rain", {"rain": "yes", "lawn": "dry"})
    assert model.log_likelihood_one({"rain": "yes", "lawn": "dry"}) == -math.inf


def test_plans_are_kept_while_only_tables_change():
    model = learned(START)
    model.query("a")
    engine = model._engine
    assert engine is not None
    network = engine._network
    model.learn_one(COMPLETE)
    model.query("a")
    assert engine._network is network
    model.learn_one({"a": "new"})
    model.query("a")
    assert engine._network is not network


def test_samples_are_like_the_network_and_can_be_learned():
    model = learned(START * 20)
    drawn = model.sample(4000, np.random.default_rng(1))
    other = fresh()
    other.learn_many(drawn)
    close(tables(other)["a"], tables(model)["a"], 0.05)
    assert drawn == model.sample(4000, np.random.default_rng(1))


def test_intervals_hold_what_they_promise():
    """Of rates drawn from the prior and ten samples each, so many lie within."""
    chance, within, trials = random.Random(3), 0, 300
    for _ in range(trials):
        rate = chance.random()  # uniform: a Dirichlet prior of 1 a value
        model = BayesNet({"rain": []}, prior="laplace", schema=Schema({"rain": ["yes", "no"]}))
        for _ in range(10):
            model.learn_one({"rain": "yes" if chance.random() < rate else "no"})
        low, high = model.cpt("rain").interval(level=0.8)["yes"]
        within += low <= rate <= high
    assert abs(within / trials - 0.8) < 4 * math.sqrt(0.16 / trials)


# -- structures -------------------------------------------------------------------------------------------------------


def test_cycles_are_refused():
    with pytest.raises(BadStructure, match="cycle"):
        BayesNet({"chicken": ["egg"], "egg": ["chicken"]})
    with pytest.raises(BadValue, match="structure"):
        BayesNet()
    with pytest.raises(UnknownFeature, match="'b'"):
        BayesNet({"a": ["b"], "b": []}, schema=Schema({"a": Nominal()}))


def test_another_structure_keeps_the_families_they_share():
    model = learned(START)
    model.structure = Structure({**PARENTS, "d": ["a"]})
    assert tables(model)["c"] == tables(learned(START))["c"]
    model.learn_one(COMPLETE)
    only = BayesNet({"a": [], "d": ["a"]})
    only.learn_one({"a": "x", "d": "u"})
    assert model.cpt("d")["x",]["u"] == pytest.approx((1 + 0.5) / (1 + 1))
    assert BayesNet.from_state(model.state()).structure == model.structure


def test_what_a_search_over_the_recent_events_found_is_counted_from_them():
    rng = np.random.default_rng(3)
    model = BayesNet({"rain": [], "lawn": [], "coin": []}, window=200)
    events = []
    for rain, flip, coin in rng.random((300, 3)).tolist():
        wet = (rain < 0.3) == (flip < 0.9)
        events.append(
            {"rain": rain < 0.3, "lawn": "wet" if wet else "dry", "coin": None if coin < 0.1 else coin < 0.5}
        )
        model.learn_one(events[-1])
    sample = model.recent()
    assert (len(sample), sample.variables) == (200, ("coin", "lawn", "rain"))
    found = HillClimbing().search(sample)
    assert set(map(frozenset, found.structure.edges)) == {frozenset({"rain", "lawn"})}
    model.structure = found.structure
    below = found.structure.edges[0][1]
    last = BayesNet(found.structure)
    for x in events[-200:]:
        last.learn_one(x)
    assert dict(model.cpt(below)) == dict(last.cpt(below))
    with pytest.raises(NotSupported, match="window"):
        last.recent()
    with pytest.raises(CannotMerge):
        model.merge(BayesNet(found.structure, window=200))
    assert BayesNet.from_state(model.state()).cpt(below).intervals() == model.cpt(below).intervals()


def test_other_learners_are_not_merged():
    for other in (fresh(strength=2.0), BayesNet({"a": []}), fresh(half_life=3.0)):
        with pytest.raises(CannotMerge):
            fresh().merge(other)


# -- networks from outside --------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES, deadline=None)
@given(networks(), st.sampled_from([0.3, 1.0, 7.0]))
def test_given_tables_are_reproduced_to_the_last_bit(drawn, weight):
    model = BayesNet.from_network(drawn.ours, weight=weight, strength=0)
    assert model.to_network() == drawn.ours
    assert BayesNet.from_state(model.state()).to_network() == drawn.ours
    assert pickle.loads(pickle.dumps(model)).to_network() == drawn.ours
    assert model.clone().to_network() == drawn.ours


LAWN = DiscreteNetwork(
    Structure({"rain": [], "lawn": ["rain"]}),
    states={"rain": ["yes", "no"], "lawn": ["wet", "dry"]},
    tables={"rain": [0.2, 0.8], "lawn": [[0.9, 0.1], [0.05, 0.95]]},
    name="lawn",
)


def test_a_given_network_is_worth_so_many_samples():
    model = BayesNet.from_network(LAWN, weight=10, strength=0)
    for _ in range(5):
        model.learn_one({"rain": "yes", "lawn": "dry"})
    assert model.cpt("lawn")["yes",] == pytest.approx({"wet": 9 / 15, "dry": 6 / 15})
    assert model.cpt("lawn")["no",] == pytest.approx({"wet": 0.05, "dry": 0.95})
    model.learn_one({"rain": "drizzle", "lawn": "damp"})
    assert model.cpt("lawn")["drizzle",] == {"wet": 0.0, "dry": 0.0, "damp": 1.0}
    assert model.cpt("rain")[()] == pytest.approx({"yes": 7 / 16, "no": 8 / 16, "drizzle": 1 / 16})
    smoothed = BayesNet.from_network(LAWN, weight=10, strength=1)
    assert smoothed.cpt("rain")[()] == pytest.approx({"yes": 2.5 / 11, "no": 8.5 / 11})
    with pytest.raises(BadStructure):
        BayesNet({"rain": []}, network=LAWN)
    with pytest.raises(BadStructure):
        model.structure = Structure({"rain": [], "lawn": []})


def test_a_learned_network_goes_through_a_file(tmp_path):
    model = BayesNet.from_network(LAWN, strength=0)
    write_bif(model.to_network(), tmp_path / "lawn.bif")
    again = BayesNet.from_network(read_bif(tmp_path / "lawn.bif"), strength=0)
    assert again.to_network() == LAWN
    model.learn_one({"rain": "yes", "lawn": "wet"})
    write_bif(model.to_network(), tmp_path / "lawn.bif")
    assert read_bif(tmp_path / "lawn.bif") == model.to_network()


def test_a_network_of_unknown_values_cannot_be_handed_over():
    with pytest.raises(BadStructure, match="no value of"):
        BayesNet({"rain": []}).to_network()


# -- keeping ----------------------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(events_of(fractions), st.sampled_from([None, 3.0]))
def test_saving_loses_nothing(events, half_life):
    model = learned(events, half_life=half_life)
    for other in (
        BayesNet.from_state(model.state()),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        same_bytes(other, model)
        other.learn_one(COMPLETE)
        more = learned([*events, (COMPLETE, 1.0)], half_life=half_life)
        close(tables(other), tables(more), 0.0)


def altered(state: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    """A state with something else in one place, and a checksum that fits."""
    from stream_bayes.learners.saving import checksum, text_of

    made = copy.deepcopy(state)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    made["checksum"] = checksum(text_of(made), made["arrays"])
    return made


def test_hostile_states_are_refused():
    state = BayesNet.from_network(LAWN).state()
    saved = state["parameters"]["network"]["network"]
    for path, value in [
        (["parameters", "structure"], {"structure": Structure({"rain": [], "lawn": []}).to_json()}),
        (["parameters", "structure"], {"structure": {"variables": [], "parents": [[7]]}}),
        (["parameters", "structure"], 5),
        (["parameters", "network", "network"], {**saved, "tables": [[[0.5, 0.5], [2.0, -1.0]], [0.2, 0.8]]}),
        (["parameters", "network", "network"], {**saved, "states": [["wet"], ["yes", "no"]]}),
        (["parameters", "network", "network"], {"tables": []}),
        (["parameters", "network"], "lawn"),
        (["parameters", "strength"], -1.0),
        (["store", "families"], []),
        (["store", "priors"], [[0, [2]]]),
        (["reading"], {"due": 5}),
        (["arrays", "family_weight"], np.zeros(3)),
        (["arrays", "prior"], np.array([-1.0])),
    ]:
        with pytest.raises(BadState):
            BayesNet.from_state(altered(state, path, value))
    with pytest.raises(BadState):
        BayesNet.from_state({**state, "clock": 3})


def test_a_budget_holds():
    model = fresh(memory_budget=20_000)

    def learn(k: int, more: int = 1) -> None:
        for number in range(k, k + more):
            model.learn_one({"a": str(number), "ü": True, "c": str(number), "d": "u"})

    with pytest.raises(BudgetExceeded):
        learn(0, 10_000)
    before = model.state()["checksum"]
    with pytest.raises(BudgetExceeded):
        learn(10_000)
    assert model.state()["checksum"] == before
    assert model.memory_bytes <= 20_000
    learn(0)


# -- a worked example -------------------------------------------------------------------------------------------------


def test_the_independences_of_a_worked_network_show_in_its_answers():
    """P(x1) P(x2) P(x3 | x1) P(x4 | x1, x2) P(x5 | x2), learned from what it would draw itself."""
    structure = Structure({"x1": [], "x2": [], "x3": ["x1"], "x4": ["x1", "x2"], "x5": ["x2"]})
    rng = np.random.default_rng(6)
    model = BayesNet(structure)
    for _ in range(300):
        x1, x2 = rng.random(2) < (0.3, 0.6)
        noise = rng.random(3) < 0.2
        x = {"x1": x1, "x2": x2, "x3": x1 ^ noise[0], "x4": (x1 & x2) ^ noise[1], "x5": x2 ^ noise[2]}
        model.learn_one(x)

    def moves(asked: str, by: str, given: dict[str, bool]) -> bool:
        one, other = (model.query(asked, {**given, by: value})[True] for value in (True, False))
        return abs(one - other) > 1e-9

    for asked, by, known in [("x3", "x4", "x1"), ("x4", "x5", "x2"), ("x3", "x2", "x1"), ("x3", "x5", "x1"),
                             ("x3", "x5", "x2")]:  # fmt: skip
        assert not moves(asked, by, {known: True})
        assert not moves(asked, by, {known: False})
    assert not moves("x1", "x2", {})
    assert moves("x1", "x2", {"x4": True})
