"""What exact inference does at its limits: little memory, tiny probabilities, other tables, bad questions."""

from __future__ import annotations

import math
import re
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core._conditionals import Findings
from stream_bayes.core.coded_network import CodedNetwork
from stream_bayes.core.exact import Exact
from stream_bayes.core.inference import Inference
from stream_bayes.core.network import DiscreteNetwork
from stream_bayes.core.structure import Structure
from stream_bayes.errors import (
    BadStructure,
    BadValue,
    BudgetExceeded,
    ImpossibleEvidence,
    InUse,
    NotSupported,
    UnknownFeature,
)
from tests.core.random_networks import evidence_on, networks

ALARM = DiscreteNetwork(
    Structure({"burglary": [], "quake": [], "alarm": ["burglary", "quake"], "call": ["alarm"]}),
    states={v: ["yes", "no"] for v in ("burglary", "quake", "alarm", "call")},
    tables={
        "burglary": [0.01, 0.99],
        "quake": [0.02, 0.98],
        "alarm": [[[0.95, 0.05], [0.94, 0.06]], [[0.29, 0.71], [0.001, 0.999]]],
        "call": [[0.9, 0.1], [0.05, 0.95]],
    },
)


def grid(side: int, labels: int = 2, seed: int = 1) -> DiscreteNetwork:
    """Each variable depends on the one above and the one to the left: no order makes its tables small."""
    rng = np.random.default_rng(seed)
    parents = {
        (i, j): [at for at in ((i - 1, j), (i, j - 1)) if min(at) >= 0]
        for i in range(side)
        for j in range(side)
    }
    structure = Structure(parents)
    states = {v: range(labels) for v in parents}
    tables = {v: rng.dirichlet(np.ones(labels), [labels] * len(structure.parents(v))) for v in parents}
    return DiscreteNetwork(structure, states, tables)


def fan(leaves: int, likely: float) -> DiscreteNetwork:
    """A cause with many effects. The first half speaks for its first label, the second half for the other one."""
    names = [f"e{i:04}" for i in range(leaves)]
    tables: dict[str, list] = {"cause": [0.5, 0.5]}
    for i, name in enumerate(names):
        rows = [[likely, 1 - likely], [1e-3 * likely, 1 - 1e-3 * likely]]
        tables[name] = rows if i < leaves // 2 else rows[::-1]
    structure = Structure({"cause": [], **{name: ["cause"] for name in names}})
    return DiscreteNetwork(structure, {v: ["yes", "no"] for v in structure}, tables)


# -- memory ----------------------------------------------------------------------------------------------------------


@given(networks(), st.data())
def test_with_less_memory_the_answers_are_the_same_or_refused(drawn, data):
    evidence = data.draw(evidence_on(drawn.ours))
    targets = data.draw(st.lists(st.sampled_from(drawn.ours.structure.variables), unique=True, min_size=1))
    ample = Inference(drawn.ours)
    scant = Inference(drawn.ours, memory_budget=ample.bytes_for_everything - 1)
    for ask in (
        lambda engine: dict(engine.query(targets, evidence)),
        lambda engine: {v: dict(answer) for v, answer in engine.marginals(evidence).items()},
        lambda engine: engine.log_probability(evidence),
        lambda engine: engine.most_probable(evidence).log_probability,
    ):
        try:
            answer = ask(scant)
        except BudgetExceeded:
            continue
        except ImpossibleEvidence:
            with pytest.raises(ImpossibleEvidence):
                ask(ample)
            continue
        expected = ask(ample)
        if isinstance(answer, dict) and answer and isinstance(next(iter(answer.values())), dict):
            for v in answer:
                assert answer[v] == pytest.approx(expected[v], abs=1e-12)
        else:
            assert answer == pytest.approx(expected, abs=1e-12)


def test_where_everything_does_not_fit_a_question_about_little_is_answered():
    network = grid(4)
    engine = Inference(network, memory_budget=Inference(network).bytes_for_everything - 1)
    row = {(1, j): 0 for j in range(4)}  # cuts the grid in two
    answer = engine.query((0, 0), row)
    assert dict(answer) == pytest.approx(dict(Inference(network).query((0, 0), row)), abs=1e-12)
    assert "for this question" in answer.reason
    with pytest.raises(
        BudgetExceeded, match=r"would need [\d,]+ bytes, the budget is [\d,]+; raise memory_budget"
    ):
        engine.marginals(method="exact")


def test_what_does_not_fit_is_refused_before_anything_is_allocated():
    engine = Inference(grid(14), memory_budget=10**6)
    assert engine.bytes_for_everything > 10**7
    tracemalloc.start()
    try:
        with pytest.raises(BudgetExceeded):
            engine.query((13, 13), {(0, 0): 1}, method="exact")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * 10**6


def test_a_joint_that_does_not_fit_by_itself_is_refused():
    structure = Structure({i: [] for i in range(60)})
    network = DiscreteNetwork(structure, {i: [0, 1] for i in range(60)}, {i: [0.5, 0.5] for i in range(60)})
    with pytest.raises(BudgetExceeded):
        Inference(network).query(list(range(60)))


def test_auto_samples_where_the_exact_answer_does_not_fit_and_says_why():
    network = grid(6)
    engine = Inference(network, memory_budget=400)
    with pytest.raises(BudgetExceeded, match="which needs rng="):
        engine.query((5, 5))
    answer = engine.query((5, 5), rng=np.random.default_rng(1), samples=3_000)
    assert answer.method == "likelihood-weighting"
    assert "would need" in answer.reason
    exact = Inference(network).query((5, 5))
    assert exact.method == "exact"
    assert exact.sampled is None
    assert answer.sampled is not None
    for label, share in answer.items():
        assert abs(share - exact[label]) < 4 * answer.sampled.errors[label]


# -- tiny probabilities ------------------------------------------------------------------------------------------------


def test_many_effects_of_one_cause_neither_underflow_nor_lose_the_weaker_half():
    """What the first half of 700 effects says, 1e-1050, no float holds; the second half takes it back."""
    network = fan(700, likely=0.9)
    engine = Inference(network)
    seen = {v: "yes" for v in network.structure if v != "cause"}
    assert dict(engine.query("cause", seen)) == pytest.approx({"yes": 0.5, "no": 0.5}, abs=1e-9)
    one = 350 * (math.log(0.9) + math.log(0.9e-3))
    assert engine.log_probability(seen) == pytest.approx(one, rel=1e-12)
    assert engine.log_probability({**seen, "cause": "yes"}) == pytest.approx(one - math.log(2), rel=1e-12)
    more = {**seen, "e0699": "no"}
    expected = {"yes": 1 - 0.9e-3, "no": 1 - 0.9}
    total = sum(p / (0.9e-3 if label == "yes" else 0.9) for label, p in expected.items())
    for label, p in expected.items():
        share = p / (0.9e-3 if label == "yes" else 0.9) / total
        assert engine.query("cause", more)[label] == pytest.approx(share, rel=1e-9)
        assert engine.marginals(more)["cause"][label] == pytest.approx(share, rel=1e-9)
        assert engine.families(more)["cause"].tolist()[["yes", "no"].index(label)] == pytest.approx(
            share, rel=1e-9
        )
    assert engine.most_probable(more)["cause"] == "yes"


def test_tables_of_tiny_numbers_are_multiplied_without_loss():
    tiny = 1e-200
    network = DiscreteNetwork(
        Structure({"a": [], "b": ["a"], "c": ["a"]}),
        {v: [0, 1] for v in "abc"},
        {"a": [tiny, 1.0], "b": [[tiny, 1.0], [tiny, 1.0]], "c": [[1.0, tiny], [tiny, 1.0]]},
    )
    engine = Inference(network)
    assert engine.log_probability({"a": 0, "b": 0, "c": 1}) == pytest.approx(600 * -math.log(10), rel=1e-12)
    assert engine.log_probability({"b": 0, "c": 0}) == pytest.approx(
        math.log(2) - 400 * math.log(10), rel=1e-12
    )
    assert dict(engine.query("a", {"b": 0, "c": 0})) == pytest.approx({0: 0.5, 1: 0.5})


def test_next_to_nothing_is_no_zero():
    network = DiscreteNetwork(Structure({"a": []}), {"a": [0, 1]}, {"a": [1e-300, 1.0]})
    assert Inference(network).query("a")[0] == pytest.approx(1e-300, rel=1e-12)
    assert Inference(network).query("a", {"a": {0: 1.0, 1: 0.0}})[0] == 1.0
    assert Inference(network).log_probability({"a": {0: 1e300, 1: 0.0}}) == pytest.approx(0.0, abs=1e-12)


# -- kept plans --------------------------------------------------------------------------------------------------------


def test_the_plan_is_worked_out_once_and_depends_on_structure_and_sizes_alone(monkeypatch):
    made: list[int] = []
    honest = Exact._tree

    def counting(self, question):
        made.append(question not in self._kept)
        return honest(self, question)

    monkeypatch.setattr(Exact, "_tree", counting)
    engine = Inference(ALARM)
    engine.query("burglary", {"call": "yes"})
    assert sum(made) == 1
    engine.query("quake", {"alarm": "no", "call": {"yes": 0.5, "no": 0.2}})
    engine.marginals({"call": "no"})
    engine.most_probable({"call": "no"})
    engine.update({"quake": [0.5, 0.5]})
    engine.load(ALARM)
    engine.query("quake", {"call": "no"})
    assert sum(made) == 1
    engine.query(["burglary", "call"], {"quake": "yes"})  # no clique holds both
    engine.query(["burglary", "call"], {"quake": "no"})
    assert sum(made) == 2


def test_tables_are_asked_for_once_when_they_are_loaded():
    """A learner makes them all each time."""
    asked: list[int] = []

    class Learner:
        structure, states = ALARM.structure, ALARM.states

        @property
        def tables(self):
            asked.append(1)
            return ALARM.tables

    engine = Inference(Learner())
    engine.load(Learner())
    assert len(asked) == 2


def test_a_label_more_is_a_new_plan():
    engine = Inference(ALARM)
    engine.query("quake")
    grown = DiscreteNetwork(
        ALARM.structure,
        {**ALARM.states, "quake": ["yes", "no", "unsure"]},
        {**ALARM.tables, "quake": [0.25, 0.25, 0.5], "alarm": np.full((2, 3, 2), 0.5)},
    )
    engine.load(grown)
    assert dict(engine.query("quake", {"alarm": "yes"})) == pytest.approx(
        {"yes": 0.25, "no": 0.25, "unsure": 0.5}
    )
    engine.load(ALARM)
    assert engine.query("quake")["yes"] == pytest.approx(0.02)


def test_other_labels_of_the_same_number_are_those_reported():
    engine = Inference(ALARM)
    renamed = DiscreteNetwork(ALARM.structure, {**ALARM.states, "quake": ["ja", "nein"]}, ALARM.tables)
    engine.load(renamed)
    assert list(engine.query("quake")) == ["ja", "nein"]
    with pytest.raises(BadValue):
        engine.query("burglary", {"quake": "yes"})


def test_what_a_refused_network_brought_is_not_taken_over():
    engine = Inference(ALARM)
    before = dict(engine.query("burglary", {"call": "yes"}))
    with pytest.raises(
        BadStructure, match=re.escape("the table of 'quake': expected finite numbers of at least 0")
    ):
        engine.update({"burglary": [0.5, 0.5], "quake": [0.5, -0.5]})
    with pytest.raises(BadStructure, match=re.escape("row {'alarm': 'no'}: expected finite numbers")):
        engine.update({"burglary": [0.5, 0.5], "call": [[0.5, 0.5], [0.0, 0.0]]})
    with pytest.raises(
        BadStructure, match=re.escape("expected the shape (2,), an axis for each of ['quake']; got (3,)")
    ):
        engine.update({"burglary": [0.5, 0.5], "quake": [1, 1, 1]})
    with pytest.raises(UnknownFeature, match="no variable 'quack'"):
        engine.update({"burglary": [0.5, 0.5], "quack": [1, 1]})
    for states, tables, message in (
        (
            {**ALARM.states, "quake": ["so", "so"]},
            {v: table * 2 for v, table in ALARM.tables.items()},
            "not all different",
        ),
        ({**ALARM.states, "quake": ["so", "not"]}, {"quake": [0.5, 0.5]}, "variable 'alarm' needs a table"),
        ({**ALARM.states, "quake": []}, ALARM.tables, "variable 'quake' needs at least one label"),
    ):
        with pytest.raises(BadStructure, match=message):
            engine.load(SimpleNamespace(structure=ALARM.structure, states=states, tables=tables))
    assert dict(engine.query("burglary", {"call": "yes"})) == before


def test_answers_do_not_depend_on_what_was_asked_before():
    engine, fresh = Inference(ALARM), Inference(ALARM)
    engine.marginals({"call": "yes", "quake": {"yes": 0.1, "no": 0.7}})
    engine.query(["burglary", "call"], {"quake": "yes"})
    with pytest.raises(BadValue):
        engine.query("burglary", {"call": "perhaps"})
    assert dict(engine.query("burglary", {"alarm": "no"})) == dict(fresh.query("burglary", {"alarm": "no"}))


# -- bad questions -----------------------------------------------------------------------------------------------------


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
    with pytest.raises(
        NotSupported, match="may be caught where something is impossible, and the table of 'b' holds"
    ):
        engine.query("a", {"b": {0: 0.5, 1: 0.25}}, method="gibbs", rng=rng)
    with pytest.raises(NotSupported, match="a likelihood of 'c' is 0"):
        engine.query("c", {"c": {0: 1.0, 1: 0.0}}, method="gibbs", rng=rng)
    assert engine.query("a", {"b": 0}, method="gibbs", rng=rng)[0] == pytest.approx(2 / 3, abs=0.05)
    assert engine.query("c", method="gibbs", rng=rng)[0] == pytest.approx(0.5, abs=0.05)


def test_an_engine_in_use_refuses_a_second_question():
    engine = Inference(ALARM)
    with engine._asking({}), pytest.raises(InUse, match="one of its own"):
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
