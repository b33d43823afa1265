"""How far the numbers of an average reach: hundreds of features, many classes, any weight, and endless time."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes import AODE
from stream_bayes.testing.assertions import same_bytes
from tests.learners.biased_events import biased_events
from tests.learners.training import trained
from tests.oracles.aode import AodeOracle

Sample = tuple[dict[str, Any], Any, float]

MANY = 800 if stream_bayes.compiled else 300  # features


def log_joints(
    x: dict[str, Any], held: list[Sample], laplace: bool, strength: float = 1.0
) -> dict[Any, float]:
    """AODE of whole events in logarithms: nothing can underflow. Every value of `x` must have been met."""
    names = list(x)
    columns = np.array([[sample[name] == x[name] for name in names] for sample, _, _ in held], float)
    weights = np.array([w for _, _, w in held])
    labels = [y for _, y, _ in held]
    different = np.array([len({sample[name] for sample, _, _ in held}) for name in names])
    classes = list(dict.fromkeys(labels))
    child = np.full(len(names), strength) if laplace else strength / different
    joint = strength if laplace else strength / (len(classes) * different)
    scores = {}
    for y in classes:
        own = weights * np.array([label == y for label in labels])
        single = own @ columns
        both = columns.T @ (own[:, None] * columns)
        with np.errstate(divide="ignore"):
            ratios = np.log((both + child) / (single[:, None] + child * different))
            terms = np.log((single + joint) / (weights.sum() + joint * len(classes) * different))
        np.fill_diagonal(ratios, 0.0)
        terms = terms + ratios.sum(axis=1)
        scores[y] = float(np.logaddexp.reduce(terms)) - math.log(len(names))
    return scores


def wide(number: int, features: int) -> dict[str, str]:
    """One of some events of which hardly two share a value."""
    return {f"f{i:03}": f"v{number % 2 if i % 9 == 0 else number}" for i in range(features)}


def each_class(classes: str, features: int, weights: list[float]) -> list[Sample]:
    """An event for each weight, learned in each class: so every super-parent has weight in every class."""
    return [(wide(number, features), y, w) for number, w in enumerate(weights) for y in classes]


def patchwork(held: list[Sample]) -> dict[str, Any]:
    """An event put together of the values of all: most of its pairs never came."""
    return {name: held[7 * place % len(held)][0][name] for place, name in enumerate(held[0][0])}


def assert_reaches(held: list[Sample], *, laplace: bool = False, strength: float = 1.0) -> dict[Any, float]:
    """Compare AODE's answers with the formula in logarithms; its scores of a patchwork are returned."""
    model = AODE(min_count=0, prior="laplace" if laplace else "m-estimate", strength=strength)
    for sample in held:
        model.learn_one(*sample)
    x = patchwork(held)
    expected, got = log_joints(x, held, laplace, strength), model.joint_log_likelihood(x)
    assert got == pytest.approx(expected, rel=1e-12)
    best = max(expected.values())
    total = math.fsum(math.exp(score - best) for score in expected.values())
    shares = {y: math.exp(score - best) / total for y, score in expected.items()}
    # A score is exact to 1e-12 of itself, and so is a probability to that many times as much.
    close = 1e-12 * max(1.0, *(-score for score in expected.values()))
    assert model.predict_proba_one(x) == pytest.approx(shares, rel=close, abs=1e-300)
    fused = pickle.loads(pickle.dumps(model))
    assert fused.predict_learn_one(x, held[0][1]) == model.predict_proba_one(x)
    model.learn_one(x, held[0][1])
    same_bytes(model, fused, "learned, and learned while it was predicted")
    return got


@pytest.mark.parametrize("laplace", [False, True])
def test_hundreds_of_features_do_not_underflow(laplace):
    held = each_class("uv", MANY, [1.0, 2.0, 1.0])
    joint = assert_reaches(held, laplace=laplace)
    assert max(joint.values()) < -MANY  # with 800 features the exponential of all is 0


@pytest.mark.parametrize("classes", [10, 40])
def test_many_classes_do_not_underflow_either(classes):
    features = 120 if stream_bayes.compiled else 30
    held = [(wide(number % 3, features), f"y{number % classes}", 1.0) for number in range(classes + 5)]
    assert len(assert_reaches(held)) == classes


@pytest.mark.parametrize("laplace", [False, True])
def test_heavy_and_light_weights_do_not_underflow(laplace):
    features = 200 if stream_bayes.compiled else 80
    held = each_class("uvw", features, [1e9, 1e-9, 1.0, 3e-5, 1e9])
    # A fourth class has weight nowhere to speak of.
    held.append((wide(0, features), "light", 1e-9))
    joint = assert_reaches(held, laplace=laplace)
    assert max(joint.values()) < -1.5 * features


@pytest.mark.parametrize("laplace", [False, True])
def test_heavy_whole_weights_do_not_underflow_on_the_way(laplace):
    features = 300 if stream_bayes.compiled else 80
    held = each_class("uv", features, [2.0**39, 2.0**41, 2.0**40])
    assert max(assert_reaches(held, laplace=laplace).values()) < -5 * features


@pytest.mark.parametrize("features", [*range(246, 254)] if stream_bayes.compiled else [250])
def test_super_parents_of_any_size_are_averaged_by_their_size(features):
    # One super-parent's joint probability halves with each feature, the other's shrinks five times as fast. Here the
    # one is near the end of the range in which products are kept, the other has just been brought back to its top.
    model = AODE(min_count=2)
    children = [f"f{i:03}" for i in range(features)]
    rare, usual = dict.fromkeys(children, "rare"), dict.fromkeys(children, "usual")
    held = [
        ({"one": "x", "two": "o", **rare}, "u", 1.0),
        ({"one": "x", "two": "o", **usual}, "u", 1.0),
        ({"one": "o", "two": "x", **usual}, "u", 16.1875),
    ]
    for sample in held:
        model.learn_one(*sample)
    x = {"one": "x", "two": "x", **rare}
    # By hand: the value of each of the others weighs 1, so it is not a super-parent.
    one = math.log((2 + 1 / 2) / 19.1875) + math.log((0 + 1 / 2) / 3) + features * math.log((1 + 1 / 2) / 3)
    two = math.log(16.6875 / 19.1875) + (features + 1) * math.log((0 + 1 / 2) / 17.1875)
    expected = float(np.logaddexp(one, two)) - math.log(2)
    assert model.joint_log_likelihood(x)["u"] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("strength", [1e-9, 1e-3, 1e6])
def test_little_and_much_smoothing_does_not_underflow(strength):
    features = 150 if stream_bayes.compiled else 40
    assert_reaches(each_class("uv", features, [1.0, 1.0, 2.0]), strength=strength)


def test_events_that_lack_features_do_not_underflow():
    features = 200 if stream_bayes.compiled else 80
    held = each_class("uv", features, [2.0**40, 2.0**41, 2.0**42])
    model = AODE(min_count=0)
    for number, (x, y, w) in enumerate(held):
        model.learn_one(x | {"late": "x"} if number else x, y, w)
    # Where the feature that was lacking is not asked about, it changes nothing but the way of computing.
    joint = model.joint_log_likelihood(patchwork(held))
    assert joint == pytest.approx(log_joints(patchwork(held), held, False), rel=1e-12)
    assert max(joint.values()) < -5 * features


@pytest.mark.parametrize("prior", ["laplace", "m-estimate"])
def test_hundreds_of_half_lives_are_as_if_the_old_had_never_been(prior):
    stream = biased_events(5, 260)
    model = trained(AODE(min_count=0.5, half_life=0.7, prior=prior), stream)
    oracle = AodeOracle(min_count=0.5, half_life=0.7, prior=prior)
    oracle.clock = len(stream) - 40
    for x, y in stream[-40:]:
        oracle.learn(x, y)
    for x, _ in stream[:10]:
        assert model.predict_proba_one(x) == pytest.approx(oracle.probabilities(x), abs=1e-9)


def test_a_class_that_nobody_holds_any_more_after_endless_time_still_gets_an_answer():
    model = trained(AODE(min_count=0, half_life=1.0), biased_events(6, 20))
    model.advance(10**7)
    answer = model.predict_proba_one({"a": "x", "b": "y"})
    assert math.fsum(answer.values()) == pytest.approx(1.0)
