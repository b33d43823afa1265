"""The learners answer as naive Bayes written out in dictionaries does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stream_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes, Nominal, Schema
from stream_bayes.learners.base.base import BayesClassifier
from tests.builds import examples
from tests.oracles.naive_bayes import (
    BernoulliOracle,
    ComplementOracle,
    MultinomialOracle,
    NaiveBayesOracle,
    Oracle,
)

EXAMPLES = examples(25)
COUNTS = 1e-12
FLOATS = 1e-9

VALUES = ["red", "green", "1", "", "größe", True, False, b"red", ("red", 1)]
LABELS = ["yes", "no", True, 0, 2.5, ("a", 1)]
NAN = float("nan")

whole = st.sampled_from([1.0, 1.0, 1.0, 2.0, 5.0])
fractional = st.sampled_from([1.0, 0.5, 0.25, 1.75, 3.0, 0.125])
labels = st.sampled_from(LABELS)
nominal = st.one_of(st.sampled_from(VALUES), st.sampled_from([None, NAN]))
numbers = st.one_of(
    st.integers(-8, 8), st.integers(-64, 64).map(lambda n: n / 8), st.sampled_from([None, NAN])
)
counts = st.sampled_from([0, 1, 1, 2, 3.0, None, NAN])
class_priors = st.sampled_from(["counted", "uniform", {"yes": 0.5, "no": 0.25, True: 0.25}])
half_lives = st.sampled_from([None, None, 2.0, 10.0])

mixed = st.fixed_dictionaries(
    {}, optional={"a": nominal, "b": nominal, "größe": nominal, "x": numbers, "y": numbers}
)
names_only = st.fixed_dictionaries({}, optional={"a": nominal, "b": nominal, "c": nominal})
numbers_only = st.fixed_dictionaries({}, optional={"x": numbers, "y": numbers, "z": numbers})
bags = st.dictionaries(st.sampled_from(["free", "pills", "lunch", "straße", ("a", 1), 7]), counts, max_size=6)


def run(data: st.DataObject, model: BayesClassifier, oracle: Oracle, events: Any, tolerance: float) -> None:
    """Learn the same events with both, take some back at random, and compare every answer on the way's end."""
    prior = model.class_prior
    ys = labels if isinstance(prior, str) else st.sampled_from(list(prior))
    held: list[tuple[dict[Any, Any], Any, float, int]] = []
    choice = data.draw(st.sampled_from([whole, fractional]))
    for x, y, w in data.draw(st.lists(st.tuples(events, ys, choice), max_size=25)):
        model.learn_one(x, y, w)
        oracle.learn(x, y, w)
        held.append((x, y, w, model.clock))
    for x, y, w, clock in held:
        if data.draw(st.integers(0, 4)) == 0:
            model.unlearn_one(x, y, w, at=clock)
            oracle.unlearn(clock)
    for x in [{}, *data.draw(st.lists(events, min_size=1, max_size=5))]:
        assert_same(model, oracle, with_a_scale(x, oracle), tolerance)


def with_a_scale(x: Mapping[Any, Any], oracle: Oracle) -> Mapping[Any, Any]:
    """Without numeric features of no known variance: what is taken in its place is not promised."""
    if not isinstance(oracle, NaiveBayesOracle):
        return x
    unknown = [name for name in oracle.numeric_names() if oracle.overall_variance(name) < 1e-3]
    return {name: value for name, value in x.items() if name not in unknown}


def assert_same(model: BayesClassifier, oracle: Oracle, x: Mapping[Any, Any], tolerance: float) -> None:
    answer, expected, scores = model.predict_proba_one(x), oracle.probabilities(x), oracle.scores(x)
    assert set(answer) == set(expected)
    # An error of a score is relative to its size, and moves a probability by as much.
    size = max([1.0, *(abs(score) for score in scores.values() if math.isfinite(score))])
    for label, p in expected.items():
        assert answer[label] == pytest.approx(p, abs=tolerance * size, rel=0), (x, answer, expected)
    joint = model.joint_log_likelihood(x)
    for label, score in scores.items():
        assert joint[label] == pytest.approx(score, abs=tolerance * size, rel=0), (x, joint, scores)


priors = {
    "prior": st.sampled_from(["laplace", "m-estimate"]),
    "class_prior": class_priors,
    "half_life": half_lives,
}
smoothing = st.fixed_dictionaries({**priors, "strength": st.sampled_from([1.0, 0.5, 2.0, 0.0])})


@settings(max_examples=EXAMPLES)
@given(st.data(), smoothing)
def test_naive_bayes_over_names_counts_as_its_oracle(data: st.DataObject, arguments: dict[str, Any]) -> None:
    assume(arguments["strength"] > 0 or arguments["half_life"] is None)  # else log of what rounding left
    run(data, NaiveBayes(**arguments), NaiveBayesOracle(**arguments), names_only, COUNTS)


@settings(max_examples=EXAMPLES)
@given(st.data(), smoothing)
def test_declared_values_count_without_a_sample(data: st.DataObject, arguments: dict[str, Any]) -> None:
    assume(arguments["strength"] > 0 or arguments["half_life"] is None)
    declared = {"a": ("red", "never met", True), "b": (), "c": ("1", "green")}
    schema = Schema({name: Nominal(values or None) for name, values in declared.items()})
    model = NaiveBayes(predictive="plug-in", **arguments, schema=schema)
    run(data, model, NaiveBayesOracle(**arguments, declared=declared), names_only, COUNTS)


measured = st.fixed_dictionaries(
    {
        **priors,
        "strength": st.sampled_from([1.0, 0.5]),
        "variance": st.sampled_from([None, "classes", "features", "both"]),
        "variance_floor": st.sampled_from([1e-3, 0.1]),
    }
)


SPREAD = [({"x": 8.0 * n, "y": 3.0 - n, "z": n * n / 2}, y) for n, y in enumerate(["yes", "no", "yes", True])]


@settings(max_examples=EXAMPLES)
@given(st.data(), measured)
def test_naive_bayes_over_names_and_numbers_is_its_oracle(
    data: st.DataObject, arguments: dict[str, Any]
) -> None:
    model, oracle = NaiveBayes(predictive="plug-in", **arguments), NaiveBayesOracle(**arguments)
    for x, y in SPREAD:
        model.learn_one(x, y)
        oracle.learn(x, y)
    run(data, model, oracle, mixed, FLOATS)


@settings(max_examples=EXAMPLES)
@given(st.data(), measured)
def test_gaussian_naive_bayes_is_its_oracle(data: st.DataObject, arguments: dict[str, Any]) -> None:
    model, oracle = GaussianNB(predictive="plug-in", **arguments), NaiveBayesOracle(**arguments)
    for x, y in SPREAD:
        model.learn_one(x, y)
        oracle.learn(x, y)
    run(data, model, oracle, numbers_only, FLOATS)


bag_settings = st.fixed_dictionaries(
    {"alpha": st.sampled_from([1.0, 0.1, 2.0]), "class_prior": class_priors, "half_life": half_lives}
)


@settings(max_examples=EXAMPLES)
@given(st.data(), bag_settings)
def test_multinomial_naive_bayes_counts_as_its_oracle(data: st.DataObject, arguments: dict[str, Any]) -> None:
    run(data, MultinomialNB(**arguments), MultinomialOracle(**arguments), bags, COUNTS)


@settings(max_examples=EXAMPLES)
@given(st.data(), bag_settings)
def test_complement_naive_bayes_counts_as_its_oracle(data: st.DataObject, arguments: dict[str, Any]) -> None:
    run(data, ComplementNB(**arguments), ComplementOracle(**arguments), bags, COUNTS)


@settings(max_examples=EXAMPLES)
@given(st.data(), bag_settings, st.sampled_from([0.0, 1.0, -1.0]))
def test_bernoulli_naive_bayes_counts_as_its_oracle(
    data: st.DataObject, arguments: dict[str, Any], threshold: float
) -> None:
    arguments = {**arguments, "true_threshold": threshold}
    run(data, BernoulliNB(**arguments), BernoulliOracle(**arguments), bags, COUNTS)


@settings(max_examples=EXAMPLES)
@given(
    st.data(),
    class_priors,
    st.sampled_from([(MultinomialNB, MultinomialOracle), (BernoulliNB, BernoulliOracle)]),
)
def test_unsmoothed_bags_count_as_their_oracle(data: st.DataObject, class_prior: Any, pair: Any) -> None:
    model, oracle = (kind(alpha=0.0, class_prior=class_prior) for kind in pair)
    run(data, model, oracle, bags, COUNTS)
