"""Exact inference is the sum over all rows: small networks of every shape, against an oracle that lists the rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import ImpossibleEvidence
from tests.core.inference.random_networks import evidence_on, networks
from tests.oracles.enumeration import log_of

CLOSE = 1e-12
BOTH = st.booleans()


@st.composite
def questions(draw, zeros=BOTH):
    """A network, and evidence on it. Where nothing is zero, more is left out of what is computed."""
    some = draw(zeros)
    drawn = draw(networks(some))
    return drawn, draw(evidence_on(drawn.ours, some))


@given(questions(), st.data())
def test_a_posterior_is_the_share_of_the_rows_that_agree(question, data):
    drawn, evidence = question
    variables = drawn.ours.structure.variables
    targets = data.draw(st.lists(st.sampled_from(variables), unique=True, min_size=1))
    engine = Inference(drawn.ours)
    if drawn.oracle.probability(evidence) == 0:
        with pytest.raises(ImpossibleEvidence, match="probability 0"):
            engine.query(targets, evidence)
        with pytest.raises(ImpossibleEvidence):
            engine.query(targets[0], evidence)
        return
    expected = drawn.oracle.posterior(targets, evidence)
    answer = engine.query(targets, evidence)
    assert list(answer) == list(expected)
    assert dict(answer) == pytest.approx(expected, abs=CLOSE)
    alone = engine.query(targets[0], evidence)
    assert dict(alone) == pytest.approx(
        {labels[0]: p for labels, p in drawn.oracle.posterior(targets[:1], evidence).items()}, abs=CLOSE
    )


@given(questions())
def test_all_marginals_at_once_are_those_asked_for_one_by_one(question):
    drawn, evidence = question
    engine = Inference(drawn.ours)
    if drawn.oracle.probability(evidence) == 0:
        with pytest.raises(ImpossibleEvidence):
            engine.marginals(evidence)
        return
    answers = engine.marginals(evidence)
    assert list(answers) == list(drawn.ours.structure.variables)
    for v, answer in answers.items():
        expected = {labels[0]: p for labels, p in drawn.oracle.posterior([v], evidence).items()}
        assert dict(answer) == pytest.approx(expected, abs=CLOSE)


@given(questions())
def test_the_probability_of_evidence_is_the_sum_of_the_rows(question):
    drawn, evidence = question
    expected = log_of(drawn.oracle.probability(evidence))
    assert Inference(drawn.ours).log_probability(evidence) == pytest.approx(expected, abs=1e-11)


@given(questions())
def test_a_most_probable_row_is_as_probable_as_any(question):
    drawn, evidence = question
    engine = Inference(drawn.ours)
    best = drawn.oracle.best(evidence)
    if best == 0:
        with pytest.raises(ImpossibleEvidence):
            engine.most_probable(evidence)
        return
    found = engine.most_probable(evidence)
    assert found.log_probability == pytest.approx(log_of(best), abs=1e-11)
    weight = next(weight for row, weight in drawn.oracle.rows(evidence) if row == dict(found))
    assert log_of(weight) == pytest.approx(log_of(best), abs=1e-11)
    assert dict(Inference(drawn.ours).most_probable(evidence)) == dict(found)


@given(questions())
def test_families_are_the_joint_posteriors_of_a_variable_and_its_parents(question):
    drawn, evidence = question
    engine = Inference(drawn.ours)
    if drawn.oracle.probability(evidence) == 0:
        with pytest.raises(ImpossibleEvidence):
            engine.families(evidence)
        return
    for v, table in engine.families(evidence).items():
        family = [*drawn.ours.structure.parents(v), v]
        expected = drawn.oracle.posterior(family, evidence)
        assert table.ravel().tolist() == pytest.approx(list(expected.values()), abs=CLOSE)
        assert table.shape == drawn.ours.tables[v].shape


@given(questions(), st.data())
def test_likelihoods_are_an_observed_child_of_their_own(question, data):
    """Pearl's virtual evidence: a new child, seen at one label, whose table holds the likelihoods."""
    drawn, evidence = question
    ours = drawn.ours
    v = data.draw(st.sampled_from(ours.structure.variables))
    likelihoods = data.draw(
        st.lists(st.integers(0, 8), min_size=len(ours.states[v]), max_size=len(ours.states[v])).filter(any)
    )
    weights = [number / 8 for number in likelihoods]
    evidence = {u: known for u, known in evidence.items() if u != v}
    soft = {**evidence, v: dict(zip(ours.states[v], weights, strict=True))}
    structure = Structure({**{u: ours.structure.parents(u) for u in ours.structure}, "seen": [v]})
    tables = {**ours.tables, "seen": [[weight, 1 - weight] for weight in weights]}
    virtual = Inference(DiscreteNetwork(structure, {**ours.states, "seen": ["so", "not"]}, tables))
    engine = Inference(ours)
    assert engine.log_probability(soft) == pytest.approx(
        virtual.log_probability({**evidence, "seen": "so"}), abs=1e-11
    )
    if engine.log_probability(soft) > -math.inf:
        for u, answer in engine.marginals(soft).items():
            assert dict(answer) == pytest.approx(
                dict(virtual.query(u, {**evidence, "seen": "so"})), abs=CLOSE
            )


@given(st.data())
def test_new_tables_on_kept_plans_answer_as_a_new_engine(data):
    drawn, evidence = data.draw(questions(zeros=st.just(False)))
    engine = Inference(drawn.ours)
    target = data.draw(st.sampled_from(drawn.ours.structure.variables))
    engine.query(target)
    seed = data.draw(st.integers(0, 9))
    rng = np.random.default_rng(seed)
    tables = {
        v: rng.dirichlet(np.ones(table.shape[-1]), table.shape[:-1]) for v, table in drawn.ours.tables.items()
    }
    other = DiscreteNetwork(drawn.ours.structure, drawn.ours.states, tables)
    engine.load(other)
    assert dict(engine.query(target, evidence)) == dict(Inference(other).query(target, evidence))
    engine.update(drawn.ours.tables)
    assert dict(engine.query(target, evidence)) == dict(Inference(drawn.ours).query(target, evidence))


@given(networks(zeros=False), st.integers(0, 5))
def test_the_log_likelihood_of_rows_is_that_of_their_labels(drawn, seed):
    ours = drawn.ours
    rng = np.random.default_rng(seed)
    engine = Inference(ours)
    codes = engine.sample_codes(4, rng)
    codes[rng.random(codes.shape) < 0.3] = -1
    variables = ours.structure.variables
    for row, log in zip(codes.tolist(), engine.log_likelihoods(codes).tolist(), strict=True):
        known = {v: ours.states[v][code] for v, code in zip(variables, row, strict=True) if code >= 0}
        assert log == pytest.approx(log_of(drawn.oracle.probability(known)), abs=1e-11)


@given(networks(), st.data())
def test_scores_of_a_blanket_are_the_posterior_given_all_others(drawn, data):
    ours = drawn.ours
    variables = ours.structure.variables
    target = data.draw(st.sampled_from(variables))
    row = [data.draw(st.integers(0, len(ours.states[v]) - 1)) for v in variables]
    row[variables.index(target)] = -1
    known = {v: ours.states[v][code] for v, code in zip(variables, row, strict=True) if code >= 0}
    with np.errstate(invalid="ignore"):  # where no label is possible
        scores = np.exp(Inference(ours).blanket_scores(target, np.array([row], np.int32))[0])
    if drawn.oracle.probability(known) > 0:
        expected = drawn.oracle.posterior([target], known)
        assert (scores / scores.sum()).tolist() == pytest.approx(list(expected.values()), abs=CLOSE)
