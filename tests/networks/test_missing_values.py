"""Events that lack variables: expectation maximisation takes what a sum over all rows expects, and pays off."""

from __future__ import annotations

import math
import pickle
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_bayes
from stream_bayes import BayesNet, DiscreteNetwork, Nominal, Numeric, Schema, Structure
from stream_bayes.core.live_networks.em import StepwiseCounts, WindowCounts
from stream_bayes.errors import BadState, BadValue, BudgetExceeded, CannotMerge, NotSupported

EXAMPLES = 20 if stream_bayes.compiled else 4
METHODS = ["stepwise-em", "window-em"]

PARENTS: dict[Any, list[str]] = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["c"], "e": ["b"]}
VALUES: dict[Any, list[str]] = {
    "a": ["x", "y"],
    "b": ["x", "y", "z"],
    "c": ["x", "y"],
    "d": ["x", "y", "z"],
    "e": ["x", "y"],
}
DECLARED = Schema({name: Nominal(values) for name, values in VALUES.items()})

seeds = st.integers(0, 10_000)


def a_network(
    seed: int,
    sharpness: float = 0.5,
    parents: dict[Any, list[str]] = PARENTS,
    values: dict[Any, list[str]] = VALUES,
) -> DiscreteNetwork:
    """Tables drawn by chance: the smaller the sharpness, the more is known of one variable from the others."""
    rng = np.random.default_rng(seed)
    structure = Structure(parents)
    tables = {}
    for name in structure.variables:
        shape = [len(values[parent]) for parent in structure.parents(name)]
        tables[name] = rng.dirichlet(np.full(len(values[name]), sharpness), shape) + 1e-3
        tables[name] /= tables[name].sum(axis=-1, keepdims=True)
    return DiscreteNetwork(structure, values, tables)


def drawn(network: DiscreteNetwork, rows: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    columns = BayesNet.from_network(network, strength=0).sample(rows, rng)
    return [{name: columns[name][row] for name in columns} for row in range(rows)]


def with_gaps(events: list[dict[str, Any]], share: float, rng: np.random.Generator) -> list[dict[str, Any]]:
    return [{name: value for name, value in x.items() if rng.random() >= share} for x in events]


def learned(events: Any, **arguments: Any) -> BayesNet:
    model = BayesNet(Structure(PARENTS), **{"schema": DECLARED, **arguments})
    for x in events:
        model.learn_one(x)
    return model


def tables(model: BayesNet) -> dict[Any, Any]:
    return {
        (name, row, value): p
        for name in model.structure.variables
        for row, shares in model.cpt(name).items()
        for value, p in shares.items()
    }


def state_bytes(model: BayesNet) -> Any:
    state = model.state()
    arrays = {name: array.tobytes() for name, array in state["arrays"].items()}
    return {**state, "arrays": arrays}


# -- what is expected -------------------------------------------------------------------------------------------------


def by_enumeration(model: BayesNet, x: dict[str, Any]) -> dict[Any, float]:
    """P(row | x) of all rows, from the model's tables alone."""
    shares = {name: model.cpt(name) for name in PARENTS}
    rows: list[dict[Any, Any]] = [{}]
    for name, values in VALUES.items():
        rows = [{**row, name: value} for row in rows for value in values if x.get(name, value) == value]
    found = {}
    for row in rows:
        above = {name: tuple(row[parent] for parent in shares[name].parents) for name in PARENTS}
        found[tuple(row.items())] = math.prod(shares[name][above[name]][row[name]] for name in PARENTS)
    total = math.fsum(found.values())
    return {row: p / total for row, p in found.items()}


@settings(max_examples=EXAMPLES)
@given(seeds, st.sampled_from([None, 0.7]))
def test_a_step_takes_what_a_sum_over_all_rows_expects(seed, step):
    rng = np.random.default_rng(seed)
    events = with_gaps(drawn(a_network(seed), 12, rng), 0.4, rng)
    model = learned(events[:-1], missing="stepwise-em", step=step, strength=0.5)
    last = dict(list(events[-1].items())[:3])
    counts = {name: model.store.family(name).table.copy() for name in PARENTS}
    expected = by_enumeration(model, last)
    model.learn_one(last)
    t, total = len(events) - 1, float(len(events))
    moved = 1 / total if step is None else (t + 2) ** -step
    for name in PARENTS:
        family = model.store.family(name)
        wanted = counts[name] * (1 - moved) * total / (total - 1)
        for row, p in expected.items():
            at = dict(row)
            cell = tuple(VALUES[member].index(at[member]) for member in (*family.parents, name))
            wanted[cell] += moved * total * p
        np.testing.assert_allclose(family.table, wanted, rtol=1e-9, atol=1e-12)


@settings(max_examples=EXAMPLES)
@given(seeds, st.sampled_from([0.0, 1.0]))
def test_with_a_step_of_1_over_t_complete_events_are_counted(seed, strength):
    rng = np.random.default_rng(seed)
    events = drawn(a_network(seed), 30, rng)
    counted = learned(events, strength=strength)
    expected = learned(events, strength=strength, missing="stepwise-em", step=None)
    assert tables(expected) == pytest.approx(tables(counted), abs=1e-12)


@settings(max_examples=EXAMPLES)
@given(seeds)
def test_over_a_window_complete_events_are_counted(seed):
    rng = np.random.default_rng(seed)
    events = drawn(a_network(seed), 30, rng)
    model = learned(events, missing="window-em", window=20, every=1)
    assert tables(model) == pytest.approx(tables(learned(events[-20:])), abs=1e-12)


@settings(max_examples=EXAMPLES)
@given(seeds, st.sampled_from([0.0, 1.0]), st.booleans())
def test_over_a_window_the_likelihood_never_falls(seed, strength, hidden):
    """With smoothing it is the posterior's density, whose mode the tables seek."""
    rng = np.random.default_rng(seed)
    events = with_gaps(drawn(a_network(seed), 40, rng), 0.4, rng)
    if hidden:
        events = [{name: value for name, value in x.items() if name != "b"} for x in events]
    model = learned(events, missing="window-em", every=10**6, strength=strength, seed=seed)
    store = model.store
    assert isinstance(store, WindowCounts)
    codes, weights = store.recent()
    network, engine = store.network(), store.engine()
    tables_now = engine.conditionals
    store.initialise(network, tables_now, codes, weights)
    reached = []
    for _ in range(15):
        density = 0.0
        if strength:
            # Of the tables of inference: the network does not show the random ones of a hidden variable.
            for v, name in enumerate(store.structure.variables):
                cells = np.asarray(tables_now.cells)[tables_now.start[v] : tables_now.start[v + 1]]
                density += strength / len(VALUES[name]) * float(np.log(cells).sum())
        reached.append(density + float(engine.log_likelihoods(codes) @ weights))
        store.iterate(network, engine, codes, weights)
    assert math.isfinite(reached[-1])
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(reached))


# -- what it is good for ----------------------------------------------------------------------------------------------


def held_out(model: BayesNet, events: list[dict[str, Any]]) -> float:
    return -math.fsum(map(model.log_likelihood_one, events)) / len(events)


DENSE = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["a", "b", "c"], "e": ["b", "c", "d"], "f": ["c", "e"]}


def losses_with_gaps(sharpness: float, count: int, **arguments: Any) -> Any:
    """Log-loss per value on held-out events for 5 seeds: with EM, and with counting complete families."""
    rows = 500 if stream_bayes.compiled else 100
    values = {name: ["x", "y", "z"] for name in DENSE}
    schema = Schema({name: Nominal(known) for name, known in values.items()})
    losses = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        network = a_network(seed, sharpness, DENSE, values)
        events, test = with_gaps(drawn(network, count, rng), 0.3, rng), drawn(network, rows, rng)
        models = [BayesNet(DENSE, schema=schema, **arguments), BayesNet(DENSE, schema=schema)]
        for model in models:
            model.learn_many(events)
        losses.append([held_out(model, test) for model in models])
    return np.array(losses)


@pytest.mark.parametrize(
    "arguments",
    [{"missing": "stepwise-em", "step": 0.9}, {"missing": "window-em", "window": 500, "every": 500}],
)
def test_with_3_values_in_10_missing_it_beats_counting_what_is_there_each_time(arguments):
    losses = losses_with_gaps(0.5, 500, **arguments)
    assert (losses[:, 0] < losses[:, 1]).all(), losses


@pytest.mark.parametrize(("step", "sharpness", "count"), [(0.7, 0.2, 300), (None, 0.5, 250)])
def test_with_3_values_in_10_missing_the_other_steps_beat_it_on_average(step, sharpness, count):
    """While events are few, or highly correlated: 0.7 forgets quickly, and 1/t keeps its first estimates for long."""
    losses = losses_with_gaps(sharpness, count, missing="stepwise-em", step=step)
    assert losses[:, 0].mean() < losses[:, 1].mean() - 0.02, losses


def test_until_it_is_run_again_over_the_window_the_tables_stay():
    model = BayesNet({"a": []}, schema=Schema({"a": ["x", "y"]}), missing="window-em", window=40, every=10)
    for number in range(1, 31):
        before = model.cpt("a")[()]
        model.learn_one({"a": "x"})
        assert (model.cpt("a")[()] != before) == (number % 10 == 0)
    model.learn_one({"a": "y"})
    before = model.cpt("a")[()]
    model.run_em()
    assert model.cpt("a")[()] != before
    with pytest.raises(NotSupported, match="missing='window-em'"):
        BayesNet({"a": []}).run_em()


@pytest.mark.parametrize(
    "arguments", [{"missing": "stepwise-em"}, {"missing": "window-em", "window": 4, "every": 2}]
)
def test_events_of_weight_0_change_nothing(arguments):
    events = [
        {"rain": "y", "lawn": "w"},
        {"rain": "n"},
        {"lawn": "d"},
        {"rain": "n", "lawn": "d"},
        {"rain": "y"},
    ]
    one_by_one, together, without = (BayesNet({"rain": [], "lawn": ["rain"]}, **arguments) for _ in range(3))
    for x in events:
        without.learn_one(x)
        one_by_one.learn_one(x)
        one_by_one.learn_one({"rain": "y", "lawn": "d"}, 0.0)
    together.learn_many(
        [y for x in events for y in (x, {"lawn": "d", "rain": "y"})], [1.0, 0.0] * len(events)
    )
    for model in (one_by_one, together):
        assert dict(model.cpt("lawn")) == dict(without.cpt("lawn")) and model.clock == without.clock


def divergence_of_moods(step, seed, follows, events, shown=0):
    """The Kullback-Leibler divergence of deeds that follow a hidden mood, learned with a step; one event in `shown`
    shows the mood.
    """
    deeds = ("sings", "dances", "whistles")
    schema = Schema({"mood": ["one", "other"], **{deed: [True, False] for deed in deeds}})
    structure = {"mood": [], **{deed: ["mood"] for deed in deeds}}
    model = BayesNet(structure, schema=schema, missing="stepwise-em", seed=seed, step=step)
    rng = np.random.default_rng(seed)
    glad = rng.random(events) < 0.5
    done = rng.random((events, 3)) < np.where(glad, follows, 1.0 - follows)[:, None]
    model.learn_many(
        [
            dict(zip(deeds, row, strict=True))
            | ({"mood": "one" if glad[place] else "other"} if shown and place % shown == 0 else {})
            for place, row in enumerate(done.tolist())
        ]
    )
    moods, tables = model.cpt("mood")[()], [model.cpt(deed) for deed in deeds]
    total = 0.0
    for row in product([True, False], repeat=3):
        true = sum(
            0.5 * math.prod(share if each else 1.0 - share for each in row)
            for share in (follows, 1.0 - follows)
        )
        learned = sum(
            chance * math.prod(table[(mood,)][each] for table, each in zip(tables, row, strict=True))
            for mood, chance in moods.items()
        )
        total += true * math.log(true / learned)
    return total


@pytest.mark.parametrize("seed", range(2))
def test_a_late_step_is_small_and_comes_nearer_to_a_hidden_variable_that_the_others_tell(seed):
    near, far = (divergence_of_moods(step, seed, 0.9, 2000) for step in (0.9, 0.7))
    assert near < 0.5 * far and near < 0.005


def test_a_larger_step_gets_away_from_the_first_beliefs():
    found = {step: divergence_of_moods(step, 2, 0.7, 4000, shown=20) for step in (0.7, 0.9)}
    assert found[0.7] < 0.002 < 0.01 < found[0.9]


def moods(seed, **arguments):
    """A model that has learned 4,000 events of three deeds with a hidden cause."""
    schema = Schema(
        {"mood": ["one", "other"], **{deed: [True, False] for deed in ("sings", "dances", "whistles")}}
    )
    structure = {"mood": [], "sings": ["mood"], "dances": ["mood"], "whistles": ["mood"]}
    model = BayesNet(structure, schema=schema, missing="stepwise-em", seed=seed, **arguments)
    rng = np.random.default_rng(8)
    for _ in range(4000):
        chance = 0.9 if rng.random() < 0.5 else 0.1
        model.learn_one({deed: bool(rng.random() < chance) for deed in ("sings", "dances", "whistles")})
    return model


def test_stepwise_em_learns_a_hidden_variable_from_a_start_that_the_seed_draws():
    models = [moods(seed, step=0.8) for seed in range(3)]
    for model in models:
        low, high = sorted(shares[True] for shares in model.cpt("sings").values())
        assert low < 0.25 and high > 0.75, (low, high)
    assert models[0].cpt("sings")["one",] != models[1].cpt("sings")["one",]
    assert moods(1, step=0.8).state()["checksum"] == models[1].state()["checksum"]


@pytest.mark.parametrize(
    "arguments", [{"missing": "window-em", "window": 300}, {"missing": "stepwise-em"}], ids=["window", "step"]
)
def test_tables_below_a_hidden_variable_follow_a_change(arguments):
    """No event has the mood; half of the deeds turn to the other one, and the loss comes back to that of the truth."""
    deeds, turned = ("sings", "dances", "hums", "whistles"), ("dances", "whistles")
    schema = Schema({"mood": ["one", "other"], **{deed: [True, False] for deed in deeds}})
    model = BayesNet({"mood": [], **{deed: ["mood"] for deed in deeds}}, schema=schema, **arguments)
    rng, shares = np.random.default_rng(1), {deed: np.array([0.9, 0.1]) for deed in deeds}
    gaps = []
    for number in range(1200 if stream_bayes.compiled else 900):
        if number == 600:
            shares |= {deed: shares[deed][::-1] for deed in turned}
        mood = int(rng.integers(2))
        x = {deed: bool(rng.random() < shares[deed][mood]) for deed in deeds}
        given_mood = np.prod([shares[deed] if x[deed] else 1.0 - shares[deed] for deed in deeds], axis=0)
        gaps.append(model.score_one(x) + math.log(0.5 * float(given_mood.sum())))
        model.learn_one(x)
    assert np.mean(gaps[600:650]) > 1.0  # the change matters
    if stream_bayes.compiled:
        assert abs(np.mean(gaps[900:])) < 0.08 and abs(np.mean(gaps[400:600])) < 0.08


def test_a_step_of_an_event_of_more_weight_is_as_long_as_so_many():
    model = BayesNet({"a": []}, strength=0, missing="stepwise-em")
    model.learn_one({"a": "x"}, 5.0)
    model.learn_one({"a": "y"}, 2.0)
    assert model.cpt("a")[()]["x"] == pytest.approx((1.0 - 3.0**-0.7) ** 2)


def test_a_variable_never_seen_is_found_over_a_window():
    """Two kinds of days, of which only what they bring is seen."""
    rng = np.random.default_rng(4)
    kinds = rng.integers(2, size=300)
    names = ["sky", "wind", "rain", "mood"]
    events = [{name: bool(rng.random() < (0.9 if kind else 0.15)) for name in names} for kind in kinds]
    schema = Schema({"kind": Nominal(["one", "other"]), **{name: Nominal([True, False]) for name in names}})
    structure = {"kind": [], **{name: ["kind"] for name in names}}
    model = BayesNet(structure, schema=schema, missing="window-em", window=300, every=300)
    even = BayesNet(structure, schema=schema)
    for x in events:
        model.learn_one(x)
        even.learn_one(x)
    predicted = [model.query("kind", x)["one"] > 0.5 for x in events]
    agreed = float(np.mean(np.array(predicted) == kinds.astype(bool)))
    assert max(agreed, 1 - agreed) > 0.9
    assert held_out(model, events) < held_out(even, events) - 0.2
    before = model.cpt("sky")["one",][True]
    for x in events:
        model.learn_one(x)
    assert model.cpt("sky")["one",][True] == pytest.approx(before, abs=0.05)  # its values keep their meaning


# -- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", METHODS)
def test_new_values_come_at_any_time(missing):
    model = BayesNet({"rain": [], "lawn": ["rain"]}, missing=missing, every=1)
    for x in [
        {"rain": "no", "lawn": "dry"},
        {"rain": "yes", "lawn": "wet"},
        {"lawn": "wet"},
        {"rain": "hail"},
        {},
    ]:
        model.learn_one(x)
    assert set(model.query("lawn")) == {"dry", "wet"}
    assert set(model.cpt("lawn")) == {("no",), ("yes",), ("hail",)}
    assert math.fsum(model.query("rain").values()) == pytest.approx(1.0)


@pytest.mark.parametrize("missing", METHODS)
def test_what_the_tables_exclude_is_counted_where_it_is_there(missing):
    model = BayesNet({"rain": [], "lawn": ["rain"]}, missing=missing, every=1, strength=0)
    model.learn_one({"rain": "no", "lawn": "dry"})
    model.learn_one({"rain": "yes"})  # so far of probability 0
    assert model.query("rain")["yes"] > 0.0


@pytest.mark.parametrize("missing", METHODS)
@pytest.mark.parametrize("form", ["dicts", "coded", "columns"])
def test_many_are_one_by_one(missing, form):
    rng = np.random.default_rng(1)
    events = with_gaps(drawn(a_network(1), 30, rng), 0.3, rng)
    one = learned(events, missing=missing, every=7, window=20)
    many = learned([], missing=missing, every=7, window=20)
    columns = {name: [x.get(name) for x in events] for name in VALUES}
    many.learn_many({"dicts": events, "coded": DECLARED.encode(columns), "columns": columns}[form])
    assert state_bytes(many) == state_bytes(one)


@pytest.mark.parametrize("missing", METHODS)
@pytest.mark.parametrize("cut", [1, 17])
def test_a_saved_network_goes_on_as_if_it_had_never_been_saved(missing, cut):
    rng = np.random.default_rng(2)
    events = with_gaps(drawn(a_network(2), 40, rng), 0.3, rng)
    whole = learned(events, missing=missing, every=5, window=15)
    part = learned(events[:cut], missing=missing, every=5, window=15)
    for model in (BayesNet.from_state(part.state()), pickle.loads(pickle.dumps(part))):
        for x in events[cut:]:
            model.query("a")  # asking changes nothing
            model.learn_one(x)
        assert state_bytes(model) == state_bytes(whole)


def test_numbers_fall_into_declared_bins():
    schema = Schema({"heat": Numeric(cuts=[20.0]), "ice": ["yes", "no"]})
    model = BayesNet(
        {"heat": [], "ice": ["heat"]}, schema=schema, missing="stepwise-em", step=None, strength=0
    )
    for heat, ice in [(30, "yes"), (10, "no"), (25, None), (5, "no")]:
        model.learn_one({"heat": heat, "ice": ice})
    assert model.query("ice", {"heat": 28})["yes"] == 1.0
    many = BayesNet(
        {"heat": [], "ice": ["heat"]}, schema=schema, missing="stepwise-em", step=None, strength=0
    )
    many.learn_many(
        [{"heat": 30, "ice": "yes"}, {"heat": 10, "ice": "no"}, {"heat": 25}, {"heat": 5, "ice": "no"}]
    )
    assert state_bytes(many) == state_bytes(model)


def test_a_given_network_is_what_is_expected_by_first():
    given = a_network(3)
    model = BayesNet.from_network(given, 50.0, strength=0, missing="stepwise-em", step=None)
    expected = by_enumeration(model, {"a": "x"})
    model.learn_one({"a": "x"})
    zs = math.fsum(p for row, p in expected.items() if dict(row)["b"] == "z")
    row = 50.0 * given.tables["b"][0, 2] + zs
    assert model.cpt("b")["x",]["z"] == pytest.approx(row / 51.0, abs=1e-12)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", METHODS)
def test_nothing_is_taken_back_or_merged(missing):
    events = drawn(a_network(1), 5, np.random.default_rng(1))
    model, other = learned(events, missing=missing), learned(events, missing=missing)
    before = state_bytes(model)
    with pytest.raises(NotSupported, match="cannot unlearn an event; use missing='skip'"):
        model.unlearn_one(events[-1])
    with pytest.raises(CannotMerge, match="expected counts cannot be merged"):
        model.merge(other)
    assert state_bytes(model) == before


@pytest.mark.parametrize("missing", METHODS)
def test_tables_too_large_to_expect_in_are_refused_before_anything_changes(missing):
    names = [f"v{k}" for k in range(10)]
    model = BayesNet({"all": names, **{name: [] for name in names}}, missing=missing)
    model.learn_one(dict.fromkeys([*names, "all"], 0 > 1))
    model.learn_one(dict.fromkeys([*names, "all"], 1 > 0))
    before = state_bytes(model)
    with pytest.raises(BudgetExceeded, match=r"the table of 'all' would have 118,098 cells"):
        model.learn_one(dict.fromkeys(names, "new") | {"all": True})
    assert state_bytes(model) == before


def test_a_tree_of_cliques_too_large_is_refused_before_anything_changes():
    side = range(30)
    grid = {f"{i},{j}": [f"{i - 1},{j}"] * (i > 0) + [f"{i},{j - 1}"] * (j > 0) for i in side for j in side}
    with pytest.raises(BudgetExceeded, match="bytes at a time"):
        BayesNet(grid, schema=Schema({name: ["a", "b"] for name in grid}), missing="stepwise-em")


def test_the_budget_of_the_model_says_what_expectations_may_take():
    causes = [f"cause {k}" for k in range(9)]  # each two have an effect: one clique of 8**9 cells, a gibibyte
    effects = {f"{a} and {b}": [a, b] for a, b in combinations(causes, 2)}
    graph = {**effects, **dict.fromkeys(causes, ())}
    schema = Schema({name: list(range(8)) if name in causes else ["yes", "no"] for name in graph})
    for budget, said in ((None, "268,435,456"), (2**29, "536,870,912")):
        with pytest.raises(BudgetExceeded, match=f"the budget is {said}; raise memory_budget"):
            BayesNet(graph, schema=schema, missing="stepwise-em", memory_budget=budget)
    model = BayesNet(graph, schema=schema, missing="stepwise-em", memory_budget=2**40)
    assert isinstance(model.store, StepwiseCounts) and model.store.engine().memory_budget == 2**40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"missing": "guess"}, "missing"),
        ({"missing": "window-em", "half_life": 5.0}, "leave half_life out"),
        ({"step": 0.0}, "step"),
        ({"step": 1.5}, "at most 1"),
        ({"window": 0}, "window"),
        ({"every": 0}, "every"),
        ({"seed": -1}, "seed"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(BadValue, match=message):
        learned([], **arguments)


def test_a_state_of_another_kind_is_refused():
    state = learned([], missing="window-em").state()
    state["parameters"]["missing"] = "skip"
    with pytest.raises(BadState):
        BayesNet.from_state(state)
