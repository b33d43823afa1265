"""The one-dependence family answers as sums over the events that are kept, written out in dictionaries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stream_bayes import AODE, KDB, ODE, SPODE, TAN, NaiveBayes, Nominal, Schema
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.testing.assertions import same_bytes
from tests.builds import examples
from tests.oracles.aode import (
    AodeOracle,
    Member,
    OdeOracle,
    OneDependenceOracle,
    SpodeOracle,
    Values,
)
from tests.oracles.naive_bayes import NEVER, is_missing

# A value's weight may fade below `min_count` for good; what answers then is tested here too.
pytestmark = pytest.mark.filterwarnings("ignore::stream_bayes.errors.NeverEligible")

EXAMPLES = examples(25)
COUNTS = 1e-12
FLOATS = 1e-9

NAMES = ["a", "b", "größe", "d"]
VALUES = ["red", "green", True]
LABELS = ["yes", "no", 2.5, ("a", 1)]
GIVEN = {"yes": 0.5, "no": 0.25, 2.5: 0.25}
NAN = float("nan")

values = st.sampled_from(VALUES)
gaps = st.sampled_from([*VALUES, *VALUES, None, NAN])
whole_rows = st.fixed_dictionaries(dict.fromkeys(NAMES, values))
gappy_rows = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, gaps))
late_rows = st.fixed_dictionaries(dict.fromkeys(NAMES[:2], values))  # the others are met later, or never
unseen = st.fixed_dictionaries({"a": st.just("never seen"), "unheard of": st.just("x")})
whole_weights = st.sampled_from([1.0, 1.0, 1.0, 2.0, 5.0])
fractions = st.sampled_from([1.0, 0.5, 0.25, 1.75, 3.0, 0.125])

smoothing = {
    "prior": st.sampled_from(["laplace", "m-estimate"]),
    "strength": st.sampled_from([1.0, 1.0, 0.5, 2.0, 0.0]),
}
arguments = st.fixed_dictionaries(
    {
        **smoothing,
        "class_prior": st.sampled_from(["counted", "counted", "uniform", GIVEN]),
        "half_life": st.sampled_from([None, None, 2.0, 10.0]),
    }
)


class OtherPrior(OneDependenceOracle):
    """Under another prior than the counted one, each joint probability is divided by the one and times the other."""

    def scores(self, x: Values) -> dict[Any, float]:
        prior, kept = self.class_prior, self.declared_classes
        if not self.events:
            return {}
        if prior == "counted":
            return super().scores(x)
        if not isinstance(prior, str):
            self.declared_classes = tuple(prior)
        wanted = self.log_prior()
        self.class_prior = "counted"
        known = {n: v for n, v in x.items() if not is_missing(v) and v in self.values(n)}
        joints, counted = self.log_joints(known), self.log_prior()
        self.class_prior, self.declared_classes = prior, kept
        scores = {y: NEVER if joints[y] == NEVER else joints[y] - counted[y] + wanted[y] for y in wanted}
        return scores if any(score > NEVER for score in scores.values()) else wanted


@dataclass(kw_only=True)
class Averaged(OtherPrior, AodeOracle):
    def members(self, x: Values) -> list[Member]:
        """Without those that weigh exactly nothing: where all others are impossible, so is the mean."""
        members = super().members(x)
        return [member for member in members if member.weight > 0.0] or members


@dataclass(kw_only=True)
class Parents(OtherPrior, OdeOracle):
    pass


@dataclass(kw_only=True)
class OneSuperParent(OtherPrior, SpodeOracle):
    pass


def is_defined(settings: Mapping[str, Any]) -> bool:
    """Unsmoothed, rounding leaves something of what fades, and a class that never came has no P(x | y)."""
    bare = settings["strength"] == 0.0
    return not (bare and (settings["half_life"] is not None or not isinstance(settings["class_prior"], str)))


def nothing(model: Any, oracle: Any) -> None:
    """Most learners derive nothing."""


def learn_the_same(data: st.DataObject, model: BayesClassifier, oracle: Any) -> None:
    """Learn the same events with both, and take some back at random."""
    ys = st.sampled_from(LABELS if isinstance(model.class_prior, str) else list(model.class_prior))
    kinds = data.draw(st.lists(st.sampled_from([whole_rows, gappy_rows, late_rows]), min_size=1, max_size=3))
    weights = data.draw(st.sampled_from([whole_weights, fractions]))
    events = []
    for kind in kinds:
        events += data.draw(st.lists(st.tuples(kind, ys, weights), min_size=1, max_size=10))
    held = []
    for x, y, w in events:
        model.learn_one(x, y, w)
        oracle.learn(x, y, w)
        held.append((x, y, w, model.clock))
    if data.draw(st.booleans()):
        for x, y, w, clock in held:
            if data.draw(st.integers(0, 3)) == 0:
                model.unlearn_one(x, y, w, at=clock)
                oracle.unlearn(clock)


def compare(data: st.DataObject, model: BayesClassifier, oracle: Any) -> None:
    """Ask both the same."""
    probes = st.lists(st.one_of(whole_rows, gappy_rows, unseen), min_size=1, max_size=4)
    for x in [{}, *data.draw(probes)]:
        answer, expected, scores = model.predict_proba_one(x), oracle.probabilities(x), oracle.scores(x)
        assert set(answer) == set(expected)
        # An error of a score is relative to its size, and moves a probability by as much.
        size = max([1.0, *(abs(score) for score in scores.values() if math.isfinite(score))])
        for label, p in expected.items():
            assert answer[label] == pytest.approx(p, abs=COUNTS * size, rel=0), (x, answer, expected)
        joint = model.joint_log_likelihood(x)
        for label, score in scores.items():
            assert joint[label] == pytest.approx(score, abs=COUNTS * size, rel=0), (x, joint, scores)


def check(
    data: st.DataObject,
    model: BayesClassifier,
    oracle: Any,
    settle: Callable[[Any, Any], None] = nothing,
) -> None:
    learn_the_same(data, model, oracle)
    settle(model, oracle)
    compare(data, model, oracle)


def take_over_parents(model: Any, oracle: Any) -> None:
    """Let the oracle answer with the structure that the learner derived; that it is right is tested elsewhere."""
    model.rederive()
    oracle.parents = model.parents_


PARENTS: dict[str, str | None] = {"b": "a", "größe": "b", "d": "b"}
min_counts = st.sampled_from([1.0, 1.0, 2.0, 3.5, 30.0, 0.0])


@settings(max_examples=EXAMPLES)
@given(st.data(), arguments, min_counts)
def test_aode_is_the_mean_over_super_parents(
    data: st.DataObject, arguments: dict[str, Any], least: float
) -> None:
    assume(is_defined(arguments))
    check(data, AODE(min_count=least, **arguments), Averaged(min_count=max(least, 1e-9), **arguments))


@settings(max_examples=EXAMPLES)
@given(st.data(), arguments, st.sampled_from(NAMES), st.sampled_from([1.0, 3.0]))
def test_spode_is_the_model_of_its_super_parent(
    data: st.DataObject, arguments: dict[str, Any], parent: Any, least: float
) -> None:
    assume(is_defined(arguments))
    check(
        data,
        SPODE(parent=parent, min_count=least, **arguments),
        OneSuperParent(parent=parent, min_count=least, **arguments),
    )


@settings(max_examples=EXAMPLES)
@given(st.data(), arguments)
def test_ode_is_the_product_of_its_families(data: st.DataObject, arguments: dict[str, Any]) -> None:
    assume(is_defined(arguments))
    check(data, ODE(parents=PARENTS, **arguments), Parents(parents=PARENTS, **arguments))


@settings(max_examples=EXAMPLES)
@given(st.data(), arguments, st.sampled_from([None, "b"]))
def test_tan_is_the_product_over_the_tree_it_derived(
    data: st.DataObject, arguments: dict[str, Any], root: Any
) -> None:
    assume(is_defined(arguments))
    check(data, TAN(root=root, **arguments), Parents(**arguments), take_over_parents)


@settings(max_examples=EXAMPLES)
@given(st.data(), arguments)
def test_kdb_1_is_the_product_over_the_structure_it_derived(
    data: st.DataObject, arguments: dict[str, Any]
) -> None:
    assume(is_defined(arguments))
    check(data, KDB(k=1, **arguments), Parents(**arguments), take_over_parents)


@settings(max_examples=EXAMPLES)
@given(st.data(), arguments)
def test_kdb_0_is_naive_bayes(data: st.DataObject, arguments: dict[str, Any]) -> None:
    assume(is_defined(arguments))
    check(data, KDB(k=0, **arguments), Parents(**arguments), take_over_parents)


# -- declared ---------------------------------------------------------------------------------------------------------

DECLARED = {
    "a": ("red", "never met", True),
    "b": (),
    "größe": ("red", "green"),
    "d": ("x", "y", "z"),
}
CLASSES: list[Any] = [*LABELS, "none"]
SCHEMA = Schema({name: Nominal(known or None) for name, known in DECLARED.items()}, classes=CLASSES)
declared_probes = st.fixed_dictionaries(
    {}, optional={"a": st.sampled_from(DECLARED["a"]), "b": values, "d": st.sampled_from("xyz")}
)


@settings(max_examples=EXAMPLES)
@given(
    st.data(),
    st.fixed_dictionaries({**smoothing, "strength": st.sampled_from([1.0, 0.5])}),
    st.sampled_from(["AODE", "SPODE", "ODE", "TAN", "KDB"]),
)
def test_declared_values_and_classes_count_without_a_sample(
    data: st.DataObject, arguments: dict[str, Any], kind: str
) -> None:
    known: dict[str, Any] = {"declared": DECLARED, "declared_classes": SCHEMA.classes}
    model, oracle = {
        "AODE": lambda: (
            AODE(min_count=1, schema=SCHEMA, **arguments),
            Averaged(min_count=1, **known, **arguments),
        ),
        "SPODE": lambda: (
            SPODE(parent="a", schema=SCHEMA, **arguments),
            OneSuperParent(parent="a", min_count=1, **known, **arguments),
        ),
        "ODE": lambda: (
            ODE(parents=PARENTS, schema=SCHEMA, **arguments),
            Parents(parents=PARENTS, **known, **arguments),
        ),
        "TAN": lambda: (TAN(schema=SCHEMA, **arguments), Parents(**known, **arguments)),
        "KDB": lambda: (KDB(schema=SCHEMA, **arguments), Parents(**known, **arguments)),
    }[kind]()
    # The last feature is declared and never met; what is asked of it must not depend on the class.
    rows = data.draw(
        st.sampled_from([late_rows, st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES[:3], gaps))])
    )
    for x, y in data.draw(st.lists(st.tuples(rows, st.sampled_from(LABELS)), min_size=1, max_size=20)):
        model.learn_one(x, y)
        oracle.learn(x, y)
    if kind in ("TAN", "KDB"):
        take_over_parents(model, oracle)
    for x in data.draw(st.lists(declared_probes, min_size=1, max_size=4)):
        answer, expected = model.predict_proba_one(x), oracle.probabilities(x)
        assert answer == pytest.approx(expected, abs=COUNTS, rel=0), x


# -- what only AODE has ---------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(st.data(), st.fixed_dictionaries(smoothing))
def test_super_parents_weigh_what_they_tell_of_the_class(
    data: st.DataObject, arguments: dict[str, Any]
) -> None:
    model = AODE(min_count=1, weights="mutual-information", **arguments)
    oracle = Averaged(min_count=1, weights="mutual-information", **arguments)
    learn_the_same(data, model, oracle)
    model.rederive()
    information = {name: oracle.mutual_information(name) for name in NAMES if oracle.values(name)}
    for name, weight in model.weights_.items():
        if max(information.values(), default=0.0) > 1e-6:
            assert weight == pytest.approx(information.get(name, 0.0), abs=COUNTS)
    for x in data.draw(st.lists(st.one_of(whole_rows, gappy_rows), min_size=1, max_size=4)):
        eligible = [information[name] for name, value in x.items() if oracle.frequency({name: value}) >= 1.0]
        if eligible and max(eligible) < 1e-6:
            continue  # of weights that are all rounding the ratio is anything
        answer, expected = model.predict_proba_one(x), oracle.probabilities(x)
        assert answer == pytest.approx(expected, abs=FLOATS, rel=0), x


implied = st.sampled_from(
    [
        {"city": "Bern", "country": "CH", "continent": "EU"},
        {"city": "Bern", "country": "CH", "continent": "EU"},
        {"city": "Basel", "country": "CH", "continent": "EU"},
        {"city": "Rom", "country": "IT", "continent": "EU"},
        {"city": "Rom", "country": "IT"},
        {"city": "Tokio", "country": "JP", "continent": "AS", "twin": "Tokio"},
        {"country": "JP", "continent": "AS"},
    ]
)


@settings(max_examples=EXAMPLES)
@given(
    st.data(),
    st.fixed_dictionaries(smoothing),
    st.sampled_from([0.0, 1.0, 2.0, 3.0]),
    st.sampled_from([1.0, 3.0]),
    st.permutations(["twin", "continent", "country", "city"]),
)
def test_a_value_that_another_implies_is_left_out(
    data: st.DataObject, arguments: dict[str, Any], critical: float, least: float, order: list[str]
) -> None:
    model = AODE(min_count=least, subsumption=critical, **arguments)
    oracle = Averaged(min_count=least, critical=critical, **arguments)
    weights = data.draw(st.sampled_from([whole_weights, fractions]))
    rows = st.tuples(implied, st.sampled_from(LABELS), weights)
    for x, y, w in data.draw(st.lists(rows, min_size=1, max_size=20)):
        arranged = {name: x[name] for name in order if name in x}
        model.learn_one(arranged, y, w)
        oracle.learn(x, y, w)
    for x in data.draw(st.lists(implied, min_size=1, max_size=4)):
        # Features come in any order: of two values that imply each other the one first by name stays.
        assert model.predict_proba_one(x) == pytest.approx(oracle.probabilities(x), abs=COUNTS, rel=0), x


# -- the same in one pass ---------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(
    st.data(),
    st.sampled_from([whole_rows, whole_rows, gappy_rows, late_rows]),
    st.integers(1, 7),
    st.fixed_dictionaries(
        {
            **smoothing,
            "min_count": st.sampled_from([1.0, 3.0]),
            "half_life": st.sampled_from([None, None, None, 5.0]),
            "weights": st.sampled_from([None, None, "mutual-information"]),
            "subsumption": st.sampled_from([None, None, 1.0]),
        }
    ),
)
def test_predicting_and_learning_in_one_pass_is_the_same_to_the_bit(
    data: st.DataObject, rows: Any, classes: int, arguments: dict[str, Any]
) -> None:
    weights = data.draw(st.sampled_from([st.just(1.0), whole_weights, fractions]))
    events = []
    for kind in (rows, whole_rows):  # complete events after a gap take another way than those before it
        pairs = st.tuples(kind, st.integers(0, classes - 1), weights)
        events += data.draw(st.lists(pairs, min_size=1, max_size=15))
    apart, together, batch = AODE(**arguments), AODE(**arguments), AODE(**arguments)
    expected = []
    for x, y, w in events:
        expected.append(apart.predict_proba_one(x))
        apart.learn_one(x, y, w)
        assert together.predict_learn_one(x, y, w) == expected[-1]
    same_bytes(apart, together, "predicted and learned apart and together")
    half = len(events) // 2
    answers = []
    for part in (events[:half], events[half:]):
        xs, ys, ws = (list(column) for column in zip(*part, strict=True)) if part else ([], [], [])
        answers += batch.predict_learn_many(xs, ys, ws)
    for answer, one in zip(answers, expected, strict=True):
        assert {y: p for y, p in answer.items() if p > 0.0} == {y: p for y, p in one.items() if p > 0.0}
    # A batch knows its classes and values before its first row, so only what is counted is compared.
    assert batch.store.by_name() == apart.store.by_name()
    xs = [x for x, _, _ in events]
    assert batch.predict_proba_many(xs) == [apart.predict_proba_one(x) for x in xs]


@settings(max_examples=EXAMPLES)
@given(st.data(), arguments)
def test_without_a_super_parent_naive_bayes_answers_to_the_bit(
    data: st.DataObject, arguments: dict[str, Any]
) -> None:
    model, plain = AODE(min_count=1e6, **arguments), NaiveBayes(**arguments)
    labels = st.sampled_from(["yes", "no", 2.5])
    for x, y, w in data.draw(st.lists(st.tuples(gappy_rows, labels, fractions), min_size=1, max_size=20)):
        assert model.predict_learn_one(x, y, w) == plain.predict_learn_one(x, y, w)
    for x in data.draw(st.lists(gappy_rows, min_size=1, max_size=4)):
        assert model.joint_log_likelihood(x) == plain.joint_log_likelihood(x)
