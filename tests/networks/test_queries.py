"""Further questions: intervals of posteriors, MAP of some variables, interventions, the probability of evidence."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from stream_bayes import BayesNet, BayesNetClassifier, Schema
from stream_bayes.errors import BadValue, UnknownFeature
from stream_bayes.networks import Inference, Posterior
from tests.concepts import drawn_network

NETWORK = drawn_network(6, 4)
NAMES = NETWORK.structure.variables


def brute(evidence):
    """P(row, evidence) of each row."""
    found = {}
    for row in itertools.product(*[NETWORK.states[v] for v in NAMES]):
        x = dict(zip(NAMES, row, strict=True))
        if all(x[v] == value for v, value in evidence.items()):
            found[row] = math.prod(NETWORK.probability(v, x[v], x) for v in NAMES)
    return found


def intervals(answer):
    assert answer.intervals is not None
    return answer.intervals


EVIDENCE = {NAMES[0]: NETWORK.states[NAMES[0]][0], NAMES[3]: NETWORK.states[NAMES[3]][1]}


def test_map_of_some_variables_sums_the_others_out():
    model = BayesNet.from_network(NETWORK)
    wanted = [NAMES[4], NAMES[1]]
    sums: dict = {}
    for row, p in brute(EVIDENCE).items():
        key = tuple(row[NAMES.index(v)] for v in wanted)
        sums[key] = sums.get(key, 0.0) + p
    assert model.map_query(wanted, EVIDENCE) == dict(
        zip(wanted, max(sums, key=sums.__getitem__), strict=True)
    )
    whole = brute(EVIDENCE)
    best = dict(zip(NAMES, max(whole, key=whole.__getitem__), strict=True))
    assert dict(model.mpe(EVIDENCE)) == best
    assert model.map_query(evidence=EVIDENCE) == {v: value for v, value in best.items() if v not in EVIDENCE}
    assert Posterior({"a": 0.2, "b": 0.4, "c": 0.4}, "exact", "").argmax() == "b"


def test_the_probability_of_evidence_hard_soft_and_new():
    model = BayesNet.from_network(NETWORK)
    assert model.probability_of_evidence(EVIDENCE) == pytest.approx(math.fsum(brute(EVIDENCE).values()))
    soft = {NAMES[2]: dict(zip(NETWORK.states[NAMES[2]], (0.5, 0.25, 0.125), strict=False))}
    expected = math.fsum(p * soft[NAMES[2]][row[2]] for row, p in brute({}).items())
    assert model.probability_of_evidence(soft) == pytest.approx(expected)
    assert model.probability_of_evidence({}) == pytest.approx(1.0)
    with pytest.raises(BadValue, match="never seen"):
        model.probability_of_evidence({NAMES[0]: "never seen"})


def test_an_intervention_cuts_the_edges_into_a_variable_and_says_nothing_of_its_causes():
    model = BayesNet.from_network(NETWORK)
    child = next(v for v in NAMES if NETWORK.structure.parents(v))
    value = NETWORK.states[child][0]
    done = model.do({child: value})
    assert done.structure.parents(child) == () and done == NETWORK.do({child: value})
    engine = Inference(done)
    for parent in NETWORK.structure.parents(child):
        assert dict(engine.query(parent)) == pytest.approx(dict(model.query(parent)))
    for v in NETWORK.structure.children(child):
        sums = dict.fromkeys(NETWORK.states[v], 0.0)
        for row, p in brute({}).items():  # truncated factorisation
            x = dict(zip(NAMES, row, strict=True))
            if x[child] == value:
                sums[x[v]] += p / NETWORK.probability(child, value, x)
        assert dict(engine.query(v)) == pytest.approx(sums)
    with pytest.raises(UnknownFeature):
        model.do({"none": 1})
    with pytest.raises(BadValue):
        model.do({child: "no such value"})


def test_intervals_of_posteriors_cover_what_they_promise():
    """Networks drawn from the prior of the tables, 300 events of each."""
    rng, names = np.random.default_rng(11), ["a", "b", "c"]
    structure, values = {"a": [], "b": ["a"], "c": ["a", "b"]}, ["x", "y"]
    schema = Schema(dict.fromkeys(names, values))
    covered = total = 0
    for _ in range(150):
        true = {v: rng.beta(2.0, 2.0, (2,) * len(structure[v])) for v in names}  # P(y | parents)
        codes = {v: np.zeros(300, int) for v in names}
        for v in names:
            codes[v][:] = rng.random(300) < true[v][tuple(codes[u] for u in structure[v])]
        model = BayesNet(structure, prior="laplace", strength=2.0, schema=schema)
        model.learn_many({v: [values[code] for code in column] for v, column in codes.items()})
        joint = np.array(
            [
                [
                    [
                        np.abs(1 - a - true["a"])
                        * np.abs(1 - b - true["b"][a])
                        * np.abs(1 - c - true["c"][a, b])
                        for c in (0, 1)
                    ]
                    for b in (0, 1)
                ]
                for a in (0, 1)
            ]
        )
        for evidence, rates in [({}, joint.sum((1, 2))), ({"c": "y"}, joint.sum(1)[:, 1])]:
            answer = model.query("a", evidence, level=0.95)
            low, high = intervals(answer)["y"]
            rate = rates[1] / rates.sum()
            assert low < answer["y"] < high
            assert intervals(answer)["x"] == pytest.approx((1 - high, 1 - low))
            covered, total = covered + (low <= rate <= high), total + 1
    assert 0.92 <= covered / total <= 0.98, covered / total


def test_intervals_shrink_with_evidence_and_are_points_where_nothing_is_uncertain():
    model = BayesNet({"a": [], "b": ["a"]})
    widths = []
    for _ in range(3):
        model.learn_many([{"a": "x", "b": "p"}, {"a": "x", "b": "q"}, {"a": "y", "b": "q"}] * 50)
        low, high = intervals(model.query("a", {"b": "q"}, level=0.9))["x"]
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert model.query("a", {"a": "x"}, level=0.9).intervals == {"x": (1.0, 1.0), "y": (0.0, 0.0)}
    assert set(intervals(model.query(["a", "b"], level=0.9))) == {(a, b) for a in "xy" for b in "pq"}
    assert model.query("a").intervals is None
    with pytest.raises(BadValue, match="level lies between 0 and 1"):
        model.query("a", level=95)


def test_fit_learns_a_table_and_returns_the_learner():
    columns = {"a": ["x", "y", "x"], "b": ["p", "q", "q"]}
    model = BayesNet({"a": [], "b": ["a"]}).fit(columns)
    assert model.clock == 3
    classifier = BayesNetClassifier({"a": ["class"], "class": []}).fit({"a": columns["a"]}, columns["b"])
    assert classifier.predict_proba([{"a": "x"}]) == classifier.predict_proba_many([{"a": "x"}])
