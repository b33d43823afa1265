"""The class of a network equals the sum over all its rows, with missing values, late features and bins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import (
    BayesNet,
    BayesNetClassifier,
    Binning,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
    Structure,
)
from stream_bayes.core.counts import _families as _family_counts
from stream_bayes.core.live_networks.class_reading import ClassReading
from stream_bayes.core.networks.graph_algorithms import needed_families
from stream_bayes.errors import (
    BudgetExceeded,
    StreamBayesError,
    UnknownFeature,
)
from tests.networks.labelled_events import (
    EXAMPLES,
    NAMES,
    STRUCTURES,
    learned,
    rows,
    samples,
    whole_rows,
)
from tests.oracles import bayes_net as oracle
from tests.oracles.enumeration import log_of


def together(events: Any) -> list[Any]:
    """Labelled events as events of the whole network."""
    return [({**x, "class": y}, w) for x, y, w in events]


def what_bears_on_the_class(parents: Any, known: set[str]) -> dict[str, list[str]]:
    """The families that P(class | known) depends on; their other parents become roots."""
    names = sorted(parents)
    above = [[names.index(parent) for parent in parents[name]] for name in names]
    needed = needed_families(above, names.index("class"), {names.index(name) for name in known})
    near = {names[v]: parents[names[v]] for v in needed}
    return {**{parent: [] for several in near.values() for parent in several}, **near}


@pytest.mark.parametrize("most", [65536, 3], ids=["whole tables", "configurations"])
@pytest.mark.parametrize("named", STRUCTURES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(samples, st.lists(st.one_of(rows, whole_rows), max_size=2, min_size=1), st.sampled_from([0.0, 0.5, 1.0]),
       st.sampled_from(["m-estimate", "laplace"]))  # fmt: skip
def test_the_class_is_what_all_rows_add_up_to(named, most, events, probes, strength, prior):
    parents = STRUCTURES[named]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_family_counts, "MOST_CELLS", most)
        model = learned(events, parents, strength=strength, prior=prior)
    made = oracle.network(parents, together(events), strength, prior == "m-estimate")
    for x in probes:
        known = {v: value for v, value in x.items() if value is not None and value in made.labels[v]}
        answer = model.predict_proba_one(x)
        if not made.probability(known):
            # What is impossible may lie elsewhere: then what bears on the class still tells. Else the prior answers.
            near = what_bears_on_the_class(parents, set(known))
            part = oracle.network(near, together(events), strength, prior == "m-estimate")
            near_values = {v: value for v, value in known.items() if v in near}
            if part.probability(near_values):
                wanted = {label: p for (label,), p in part.posterior(["class"], near_values).items()}
                assert answer == pytest.approx(wanted, abs=1e-9)
            else:
                assert answer == pytest.approx(model.class_prior_)
            continue
        wanted = {label: p for (label,), p in made.posterior(["class"], known).items()}
        assert answer == pytest.approx(wanted, abs=1e-9)
        whole = log_of(made.probability(known))
        joint = {y: whole + math.log(p) if p else -math.inf for y, p in wanted.items()}
        assert model.joint_log_likelihood(x) == pytest.approx(joint, abs=1e-9)


@settings(max_examples=EXAMPLES, deadline=None)
@given(samples, rows)
def test_a_network_that_knows_the_class_too_answers_alike(events, x):
    model = learned(events, STRUCTURES["around"])
    net = BayesNet(STRUCTURES["around"])
    for event, w in together(events):
        net.learn_one(event, w)
    known = {v: value for v, value in x.items() if value in net.states[v]}
    assert model.predict_proba_one(x) == pytest.approx(dict(net.query("class", known)), abs=1e-12)


@settings(max_examples=EXAMPLES, deadline=None)
@given(samples, rows)
def test_without_a_structure_it_is_naive_bayes(events, x):
    model, naive = learned(events, None), NaiveBayes(prior="m-estimate")
    for event, y, w in events:
        naive.learn_one(event, y, w)
    wanted = naive.predict_proba_one(x)
    if abs(naive.class_prior_["yes"] - model.class_prior_["yes"]) < 1e-12 if len(wanted) > 1 else True:
        assert model.predict_proba_one(x) == pytest.approx(wanted, abs=1e-12)


def test_numbers_are_counted_as_if_the_cuts_had_been_known():
    """Families with numbers among them are filled again each time cuts are set."""
    rng = np.random.default_rng(4)
    structure = {"class": [], "a": ["class"], "size": ["a", "class"], "heat": ["size", "class"], "b": ["a"]}
    found = BayesNetClassifier(structure, binning=Binning(after=5, window=100))
    events = []
    for k in range(150):
        y = "yes" if rng.random() < 0.4 else "no"
        x = {
            "a": "p" if rng.random() < 0.5 else "q",
            "size": rng.normal(y == "yes"),
            "heat": float(rng.integers(9)),
        }
        x |= {"b": "u" if rng.random() < 0.3 else "v"}
        for name in [name for name in x if rng.random() < 0.1]:
            del x[name]
        events.append((x, y))
        found.learn_one(x, y)
        if k == 60:
            found = BayesNetClassifier.from_state(found.state())
    store: Any = found.store
    assert not store.discretizer.due
    bins = store.encoder.bins
    cuts = {name: list(bins.cuts[store.encoder.features[name].slot]) for name in ("size", "heat")}
    declared = Schema(
        {"a": Nominal(), "b": Nominal(), **{name: Numeric(cuts=known) for name, known in cuts.items()}}
    )
    known = BayesNetClassifier(structure, schema=declared)
    for x, y in events:
        known.learn_one(x, y)
    for x, _ in events[:40]:
        assert found.predict_proba_one(x) == pytest.approx(known.predict_proba_one(x), abs=1e-12)


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(
    st.sampled_from(sorted(STRUCTURES)),
    samples,
    st.lists(rows, min_size=1, max_size=2),
    st.sampled_from([0.0, 1.0]),
)
def test_answers_between_events_are_those_of_a_model_asked_for_the_first_time(
    named, events, probes, strength
):
    """With missing values, tables and plans are cached between predictions."""
    model = BayesNetClassifier(STRUCTURES[named], strength=strength)
    for x, y, w in events[:6]:
        model.learn_one(x, y, w)
        fresh = BayesNetClassifier.from_state(model.state())
        answers = [model.predict_proba_one(probe) for probe in probes]
        assert answers == [fresh.predict_proba_one(probe) for probe in probes]
        assert model.predict_proba_many(probes) == answers


def posterior_draws(model: BayesNetClassifier, x: dict[str, str], rng: np.random.Generator) -> Any:
    """P(yes | x) under tables drawn from their posterior, by summing all rows."""
    reading = model.reading
    reading.engine()
    network: Any = reading._network
    names = network.structure.variables
    found = []
    for _ in range(1000):
        tables = {}
        for name in names:
            weights = np.asarray(network.weights(name))
            gammas = rng.gamma(weights)
            tables[name] = gammas / gammas.sum(axis=-1, keepdims=True)
        totals = {}
        for y in ("yes", "no"):
            known = {**x, "class": y}
            operands: list[Any] = []
            for name in names:
                family = (*network.structure.parents(name), name)
                picked = tuple(
                    network.states[member].index(known[member]) if member in known else slice(None)
                    for member in family
                )
                operands += [
                    tables[name][picked],
                    [names.index(member) for member in family if member not in known],
                ]
            totals[y] = float(np.einsum(*operands, []))
        found.append(totals["yes"] / (totals["yes"] + totals["no"]))
    return np.array(found)


@pytest.mark.parametrize("named", ["around", "chain", "root", "alone"])
@pytest.mark.parametrize("missing", [(), ("c",), ("a", "e"), ("b", "c", "d")])
def test_intervals_hold_what_they_promise(named, missing):
    """95 % of the posterior, whatever is missing."""
    rng = np.random.default_rng(7)
    true = rng.uniform(0.25, 0.75, (6, 2))
    model = BayesNetClassifier(STRUCTURES[named])
    for _ in range(600):
        y = int(rng.random() < 0.4)
        x = {name: "xy"[int(rng.random() < true[k][y])] for k, name in enumerate(NAMES)}
        model.learn_one(x, ("no", "yes")[y])
    x = {name: "xyxyxy"[k] for k, name in enumerate(NAMES) if name not in missing}
    low, high = model.predict_interval_one(x)["yes"]
    drawn = posterior_draws(model, x, rng)
    assert float(((drawn > low) & (drawn < high)).mean()) > 0.92
    assert high - low < 1.25 * float(np.quantile(drawn, 0.975) - np.quantile(drawn, 0.025))


def test_only_where_something_of_the_blanket_is_missing_is_anything_summed(monkeypatch):
    summed: list[object] = []
    infer = ClassReading.infer

    def record(reading: ClassReading, row: Any) -> None:
        summed.append(row)
        infer(reading, row)

    monkeypatch.setattr(ClassReading, "infer", record)
    structure = STRUCTURES["around"]
    events = [(dict.fromkeys(NAMES, value), label, 1.0) for value, label in (("x", "yes"), ("y", "no"))]
    model = learned(events, structure)
    blanket = dict.fromkeys(("a", "b", "c", "d"), "x")
    assert set(blanket) == {*Structure(structure).markov_blanket("class")}
    for x in (blanket, dict.fromkeys(NAMES, "x"), blanket | {"f": "y"}):
        model.predict_proba_one(x)
        model.predict_proba_many([x, x])
    assert not summed
    for name in blanket:
        x = {other: "x" for other in NAMES if other != name}
        model.predict_proba_one(x)
        model.predict_proba_many([x, x])
    assert len(summed) == 4 * 3


def test_before_any_learning_nothing_is_told():
    model = BayesNetClassifier(STRUCTURES["chain"])
    assert model.predict_proba_one({"a": "x"}) == {}
    assert model.predict_interval_one({"a": "x"}) == {}
    with pytest.raises(StreamBayesError):
        model.conditional("a")


def test_where_values_are_missing_the_budget_of_the_model_says_what_an_answer_may_take():
    side = range(10)
    grid = {f"{i},{j}": [f"{i - 1},{j}"] * (i > 0) + [f"{i},{j - 1}"] * (j > 0) for i in side for j in side}
    shares = {}
    for budget in (None, 10_000_000, 125_000):
        model = BayesNetClassifier(grid, target="0,0", memory_budget=budget)
        for value in (True, False):
            model.learn_one(dict.fromkeys(grid, value), value)
        if budget != 125_000:
            shares[budget] = model.predict_proba_one({"9,9": True}), model.conditional("9,9", {"0,0": True})
            continue
        assert model.predict_one(dict.fromkeys(grid, True)) is True  # which needs no such answer
        refused = pytest.raises(BudgetExceeded, match="the budget is 125,000; raise memory_budget")
        with refused:
            model.predict_proba_one({"9,9": True})
        with refused:
            model.joint_log_likelihood({"9,9": True})
        with refused:
            model.conditional("9,9")
    assert shares[None] == shares[10_000_000]


def test_a_given_prior_counts_as_given():
    model = BayesNetClassifier(
        {"class": [], "a": ["class"], "b": ["a"]}, class_prior={"yes": 0.25, "no": 0.75}
    )
    for a, y in [("x", "yes"), ("y", "no"), ("x", "yes")]:
        model.learn_one({"a": a, "b": a}, y)
    assert model.predict_proba_one({}) == pytest.approx({"yes": 0.25, "no": 0.75})
    odds = 0.25 * (2.5 / 3) / (0.75 * 0.5 / 2)
    assert model.predict_proba_one({"a": "x"})["yes"] == pytest.approx(odds / (1 + odds))
    assert math.fsum(math.exp(p) for p in model.joint_log_likelihood({"a": "x"}).values()) == pytest.approx(
        0.25 * 2.5 / 3 + 0.75 * 0.5 / 2
    )


def test_tables_are_those_of_the_network():
    events = [
        ({"a": "x", "b": "x"}, "yes", 1.0),
        ({"a": "y", "b": "x"}, "no", 1.0),
        ({"a": "x", "b": "y"}, "no", 1.0),
    ]
    model = learned(events, {"a": [], "class": ["a"], "b": ["class"]}, strength=0.0)
    assert model.conditional("b", {"class": "no"}) == pytest.approx({"x": 0.5, "y": 0.5})
    assert model.conditional("a", {"class": "no", "b": "x"}) == pytest.approx({"x": 0.5, "y": 0.5})
    assert model.joint() == pytest.approx({"yes": 1 / 3, "no": 2 / 3})
    assert model.joint("b")["no"] == pytest.approx({"x": 1 / 3, "y": 1 / 3})
    with pytest.raises(UnknownFeature):
        model.conditional("class")
