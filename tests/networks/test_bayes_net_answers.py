"""Answers of a learned network equal sums over all its rows, and its tables have credible intervals."""

from __future__ import annotations

import math
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from stream_bayes import BayesNet, BayesNetClassifier, DiscreteNetwork, Schema, Structure
from stream_bayes.errors import (
    BadValue,
    BudgetExceeded,
    ImpossibleEvidence,
    NoValueKnown,
    UnknownFeature,
    UnknownRow,
)
from tests.core.inference.random_networks import evidence_on
from tests.networks.network_events import (
    COMPLETE,
    EXAMPLES,
    PARENTS,
    START,
    close,
    events_of,
    fresh,
    learned,
    rows,
    tables,
    whole,
)
from tests.oracles import bayes_net as oracle
from tests.oracles.enumeration import log_of

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


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.FeaturesIgnored")
def test_what_the_network_does_not_know_is_no_evidence():
    model = learned(START)
    with pytest.raises(UnknownFeature, match="'id'"):
        model.query("a", {"id": "4711"})
    with pytest.raises(UnknownFeature, match="'id'"):
        model.query("id")
    for strange in ([0.5, 0.5], np.array([0.5, 0.5]), 1j):
        with pytest.raises(
            BadValue, match=r"evidence on 'd': expected one of .* or a dict with a likelihood"
        ):
            model.query("a", {"d": strange})
    with pytest.raises(BadValue):
        model.query("a", [("d", "u")])  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(UnknownFeature):
        model.cpt("id")
    with pytest.raises(UnknownFeature, match="none of the network's variables"):
        model.log_likelihood_one({"id": "4711"})
    assert model.log_likelihood_one({"id": "4711", "d": "u"}) == model.log_likelihood_one({"d": "u"}) < 0.0
    assert model.log_likelihood_one({}) == 0.0


def test_nothing_is_told_of_what_was_never_met():
    model = BayesNet({"rain": [], "lawn": ["rain"]})
    model.learn_one({"lawn": "wet"})
    for ask in (
        lambda: model.query("rain"),
        lambda: model.query(["lawn", "rain"]),
        lambda: model.query("lawn", {"rain": "yes"}),
        lambda: model.query("lawn", {"rain": {"yes": 1.0}}),
        lambda: model.cpt("rain"),
        model.to_network,
        model.most_probable,
        model.marginals,
    ):
        with pytest.raises(NoValueKnown, match="no value of 'rain' is known yet"):
            ask()
    assert dict(model.query("lawn", {"rain": None})) == {"wet": 1.0}


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
    engine = model.live.engine()
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


def test_without_smoothing_a_few_equal_samples_do_not_make_certain():
    """Half a sample of each value is taken for known: at two of two that is Beta(2.5, 0.5)."""
    model = BayesNet({"rain": []}, strength=0, schema=Schema({"rain": ["yes", "no"]}))
    for _ in range(2):
        model.learn_one({"rain": "yes"})
    table = model.cpt("rain")
    assert table[()] == {"yes": 1.0, "no": 0.0}
    assert table.interval()["yes"] == pytest.approx(beta(2.5, 0.5).interval(0.95))
    assert table.interval()["no"] == pytest.approx(beta(0.5, 2.5).interval(0.95))
    given = DiscreteNetwork(Structure({"rain": []}), {"rain": ["yes", "no"]}, {"rain": [1.0, 0.0]})
    assert BayesNet.from_network(given, 2, strength=0).cpt("rain").interval()["no"] == (0.0, 0.0)


@pytest.mark.parametrize("row", ["yes", ("hail",), ("yes", "wet"), {"rain": "yes"}, ["yes"]])
def test_a_row_that_a_table_does_not_have_is_explained(row):
    model = BayesNet({"rain": [], "lawn": ["rain"]})
    model.learn_one({"rain": "yes", "lawn": "wet"})
    table = model.cpt("lawn")
    with pytest.raises(UnknownRow, match=r"a tuple of values of \('rain',\), as \('yes',\)"):
        table[row]
    assert row not in table
    assert table.get(row) is None


def test_a_table_of_very_many_rows_takes_a_few_bytes_a_cell():
    names = [f"v{k}" for k in range(6)]
    model = BayesNet({"all": names, **{name: [] for name in names}}, strength=0)
    for value in range(8):
        model.learn_one(dict.fromkeys(names, value) | {"all": "odd" if value % 2 else "even"})
    model.cpt("v0")  # the network is read
    tracemalloc.start()
    try:
        table = model.cpt("all")
        results = table[3, 3, 3, 3, 3, 3], table[3, 3, 3, 3, 3, 4], table.interval(dict.fromkeys(names, 3))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(table) == 8**6 and most < 5 * 8 * 2 * 8**6
    assert results[0] == {"even": 0.0, "odd": 1.0} and results[1] == {"even": 0.5, "odd": 0.5}
    assert results[2]["odd"] == pytest.approx(beta(1.5, 0.5).interval(0.95))
    assert repr(table).endswith(f"}}, {8**6 - 100:,} more rows)")
    assert next(iter(table)) in table and (8,) * 6 not in table


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


def test_exact_answers_keep_to_the_budget_of_the_model_and_another_way_is_taken_where_one_is_given():
    size = 10
    grid = {
        (i, j): [(a, b) for a, b in ((i - 1, j), (i, j - 1)) if a >= 0 and b >= 0]
        for i in range(size)
        for j in range(size)
    }
    first, last = (0, 0), (size - 1, size - 1)
    for budget, fits in ((125_000, False), (10_000_000, True)):
        model = BayesNet(grid, memory_budget=budget)
        for side in (True, False):
            model.learn_one(dict.fromkeys(grid, side))
        if fits:
            assert model.query(first, {last: True}).method == "exact"
            continue
        with pytest.raises(BudgetExceeded, match="the budget is 125,000; raise memory_budget"):
            model.query(first, {last: True})
        answer = model.query(first, {last: True}, rng=np.random.default_rng(1))
        assert answer.method == "likelihood-weighting" and "125,000" in answer.reason


def test_a_table_that_does_not_fit_is_refused_before_there_is_room_for_it():
    """With 40 parents it would have 2**41 cells, 16 tebibytes."""
    names = [f"v{k}" for k in range(40)]
    parents = dict.fromkeys(names, ())
    row = dict.fromkeys(names, "low"), dict.fromkeys(names, "high")
    model = BayesNet({**parents, "effect": names})
    classifier = BayesNetClassifier({**parents, "class": [], "effect": ["class", *names]})
    for x in row:
        model.learn_one({**x, "effect": x["v0"]})
        classifier.learn_one({**x, "effect": x["v0"]}, x["v0"])
    for ask in (
        lambda: model.query("effect", {"v0": "low"}),
        lambda: model.query("effect", {"v0": "low"}, rng=np.random.default_rng(1)),
        lambda: model.cpt("effect"),
        lambda: model.sample(1, np.random.default_rng(1)),
        lambda: model.log_likelihood_one({"effect": "low"}),
        lambda: classifier.predict_proba_one({"v0": "low", "effect": "high"}),
        lambda: classifier.conditional("effect"),
    ):
        with pytest.raises(BudgetExceeded, match=r"the table of 'effect' given .* would need [\d,]+ bytes"):
            ask()
    whole = classifier.predict_proba_one({**row[0], "effect": "low"})  # its own row is all that is needed
    assert whole["low"] > whole["high"] > 0.0
