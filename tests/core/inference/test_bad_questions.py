"""Invalid queries are refused with the name of the variable; missing evidence changes nothing."""

from __future__ import annotations

import math
import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.inference._findings import Findings
from stream_bayes.core.inference.coded_network import CodedNetwork
from stream_bayes.core.inference.exact import Exact
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import (
    BadStructure,
    BadValue,
    BudgetExceeded,
    ImpossibleEvidence,
    InUse,
    NotSupported,
    UnknownFeature,
)
from tests.core.networks.burglary_network import ALARM


@pytest.mark.parametrize(
    ("evidence", "error", "message"),
    [
        ({"smoke": "yes"}, UnknownFeature, "the network has no variable 'smoke'; its variables: ['alarm',"),
        ({"call": "perhaps"}, BadValue, "evidence on 'call': expected one of ('yes', 'no'), or a dict"),
        ({"call": ["yes"]}, BadValue, "got ['yes']"),
        ({"call": {"yes": 1.0}}, BadValue, "for nothing else; 'no' is missing"),
        ({"call": {"yes": 1.0, "no": 1.0, "so": 1.0}}, BadValue, "'so' is none of them"),
        ({"call": {"yes": -1.0, "no": 1.0}}, BadValue, "expected finite numbers of at least 0, got -1.0"),
        ({"call": {"yes": float("nan"), "no": 1.0}}, BadValue, "got nan"),
        ({"call": {"yes": 0.0, "no": 0.0}}, BadValue, "expected at least one above 0"),
    ],
)
def test_evidence_that_says_nothing_is_refused_by_name(evidence, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Inference(ALARM).query("burglary", evidence)


def test_targets_and_methods_are_checked():
    engine = Inference(ALARM)
    with pytest.raises(UnknownFeature, match="no variable 'smoke'"):
        engine.query("smoke")
    with pytest.raises(UnknownFeature, match="several variables go in a list, a tuple is one name"):
        engine.query(("call", "alarm"))
    with pytest.raises(BadValue, match="a list of different ones"):
        engine.query(["call", "call"])
    with pytest.raises(BadValue, match=re.escape("expected a variable or a list of different ones, got []")):
        engine.query([])
    with pytest.raises(
        BadValue, match="expected one of auto, exact, likelihood-weighting, gibbs, got 'magic'"
    ):
        engine.query("call", method="magic")
    with pytest.raises(BadValue, match=re.escape("a numpy.random.Generator, got None")):
        engine.query("call", method="gibbs")
    with pytest.raises(BadValue, match="samples: expected a whole number of at least 1, got 0"):
        engine.query("call", samples=0)
    with pytest.raises(BadValue, match="memory_budget"):
        Inference(ALARM, memory_budget=0)


def test_a_row_of_nothing_is_named_by_its_parents_labels():
    lawn = Structure({"rain": [], "lawn": ["rain"]})
    states = {"rain": ["yes", "no"], "lawn": ["wet", "dry"]}
    tables: dict[str, Any] = {"rain": [0.5, 0.5], "lawn": [[1.0, 0.0], [0.0, 0.0]]}
    careless = DiscreteNetwork(lawn, states, tables, tolerance=1.0)
    with pytest.raises(
        BadStructure, match=r"the table of 'lawn', row {'rain': 'no'}: expected .* not all of them 0"
    ):
        Inference(careless)


def test_codes_are_checked():
    engine = Inference(ALARM)
    with pytest.raises(
        BadValue,
        match="row 1, variable 'burglary': expected a code below 2, or -1 where it is missing; got 2",
    ):
        engine.log_likelihoods([[0, 0, 0, 0], [0, 2, 0, 0]])
    with pytest.raises(BadValue, match="row 1, variable 'alarm'"):
        engine.blanket_scores("burglary", [[0, 0, 0, 0], [-2, 0, 0, 0]])
    with pytest.raises(BadValue, match="a column for each of the 4 variables"):
        engine.log_likelihoods([[0, 0, 0]])
    assert np.isnan(engine.blanket_scores("burglary", [[0, -1, -1, -1]])).all()


def test_impossible_evidence_is_an_error_even_where_the_target_does_not_depend_on_it():
    network = DiscreteNetwork(
        Structure({"a": [], "b": [], "c": ["b"]}),
        {v: [0, 1] for v in "abc"},
        {"a": [0.5, 0.5], "b": [1.0, 0.0], "c": [[1.0, 0.0], [0.0, 1.0]]},
    )
    engine = Inference(network)
    for evidence in ({"c": 1}, {"b": 1}, {"b": {0: 0.0, 1: 1.0}}):
        assert engine.log_probability(evidence) == -math.inf
        for target in "abc":
            with pytest.raises(ImpossibleEvidence, match="probability 0, so nothing follows"):
                engine.query(target, evidence)
        with pytest.raises(ImpossibleEvidence, match=re.escape("none of 100 samples agrees")):
            engine.query(
                "a", evidence, method="likelihood-weighting", rng=np.random.default_rng(1), samples=100
            )


def test_gibbs_sampling_is_refused_where_a_table_that_matters_holds_a_zero():
    network = DiscreteNetwork(
        Structure({"a": [], "b": ["a"], "c": []}),
        {v: [0, 1] for v in "abc"},
        {"a": [0.5, 0.5], "b": [[1.0, 0.0], [0.5, 0.5]], "c": [0.5, 0.5]},
    )
    engine = Inference(network)
    rng = np.random.default_rng(1)
    with pytest.raises(NotSupported, match="a probability of 0 can trap it, and the table of 'b' holds"):
        engine.query("a", {"b": {0: 0.5, 1: 0.25}}, method="gibbs", rng=rng)
    with pytest.raises(NotSupported, match="a likelihood of 'c' is 0"):
        engine.query("c", {"c": {0: 1.0, 1: 0.0}}, method="gibbs", rng=rng)
    assert engine.query("a", {"b": 0}, method="gibbs", rng=rng)[0] == pytest.approx(2 / 3, abs=0.05)
    assert engine.query("c", method="gibbs", rng=rng)[0] == pytest.approx(0.5, abs=0.05)


def test_an_engine_in_use_refuses_a_second_question():
    engine = Inference(ALARM)
    with engine._entered({}), pytest.raises(InUse, match="an engine of its own"):
        engine.query("call")
    assert engine.query("call")


def test_evidence_that_is_missing_says_nothing():
    engine = Inference(ALARM)
    plain = dict(engine.query("burglary", {"call": "yes"}))
    assert dict(engine.query("burglary", {"call": "yes", "quake": None, "alarm": float("nan")})) == plain


def test_a_network_without_variables_can_be_asked():
    engine = Inference(DiscreteNetwork(Structure({}), {}, {}))
    assert engine.marginals() == {}
    assert engine.log_probability({}) == 0.0
    assert dict(engine.most_probable()) == {}


def test_exact_answers_say_what_they_were_made_with():
    network = CodedNetwork(ALARM)
    exact = Exact(network, Findings(network.conditionals), memory_budget=10**6)
    exact.joint((0,))
    assert exact.reason == "the tables of the tree over all variables take 152 bytes"


def test_marginals_that_do_not_fit_together_are_answered_one_by_one():
    rng = np.random.default_rng(1)
    roots = [f"r{k}" for k in range(16)]
    parents: dict[str, list[str]] = {v: [] for v in roots} | {
        f"{a}{b}": [a, b] for a, b in combinations(roots, 2)
    }  # joins all roots
    structure = Structure(parents)
    tables = {v: rng.dirichlet([1, 1], [2] * len(structure.parents(v))) for v in structure}
    wide = Inference(
        DiscreteNetwork(structure, {v: ["y", "n"] for v in structure}, tables), memory_budget=10_000
    )
    assert wide.bytes_for_everything > 8 * 2**16
    found = wide.marginals({"r3": "y"})
    assert len(found) == len(structure) and found["r3"]["y"] == 1.0
    assert dict(found["r0r3"]) == dict(wide.query("r0r3", {"r3": "y"}))
    with pytest.raises(BudgetExceeded, match="rng"):
        wide.marginals({f"{a}{b}": "y" for a, b in combinations(roots, 2)})
