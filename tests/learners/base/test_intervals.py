from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from stream_bayes import BernoulliNB, GaussianNB, MultinomialNB, NaiveBayes

DRAWS = 20_000
LEVELS = (0.5, 0.8, 0.95, 0.99)


# --- no evidence: the exact Beta posterior ---


@pytest.mark.parametrize("counts", [(75, 25), (1, 1), (3, 0.5), (2, 7, 4), (1000, 1), (5,)])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("make", "added"),
    [
        (lambda: NaiveBayes(), lambda classes: 1.0),
        (lambda: NaiveBayes(strength=0), lambda classes: 0.0),
        (lambda: NaiveBayes(prior="m-estimate", strength=2.0), lambda classes: 2.0 / classes),
        (lambda: GaussianNB(), lambda classes: 0.0),
        (lambda: MultinomialNB(), lambda classes: 0.0),
    ],
    ids=["Laplace", "none", "m-estimate", "Gaussian", "Multinomial"],
)
def test_without_features_the_interval_is_the_beta_posterior(make, added, counts, level):
    model = make()
    for y, weight in enumerate(counts):
        model.learn_one({}, y, w=weight)
    own = [weight + added(len(counts)) for weight in counts]
    for y, interval in model.predict_interval_one({}, level=level).items():
        if len(counts) == 1:
            assert interval == (1.0, 1.0)
            continue
        posterior = beta(own[y], sum(own) - own[y])
        assert interval == pytest.approx(
            (posterior.ppf((1 - level) / 2), posterior.ppf((1 + level) / 2)), abs=1e-12
        )


# --- with evidence: against draws from the posterior ---


def drawn_prior(model: Any, counts: np.ndarray, added: float, generator: np.random.Generator) -> np.ndarray:
    if model.class_prior == "counted":
        return np.log(generator.dirichlet(counts + added, DRAWS))
    given = [model.class_prior_[y] for y in range(len(counts))]
    return np.tile(np.log(given), (DRAWS, 1))


def drawn_gaussian(values: np.ndarray, at: float, generator: np.random.Generator) -> np.ndarray:
    """Log-densities at a place under draws of mean and variance from the reference posterior."""
    freedom = len(values) - 1
    variance = freedom * values.var(ddof=1) / generator.chisquare(freedom, DRAWS)
    mean = generator.normal(values.mean(), np.sqrt(variance / len(values)))
    return -0.5 * (np.log(2 * math.pi * variance) + (at - mean) ** 2 / variance)


def quantiles(joint: np.ndarray, level: float) -> list[tuple[float, float]]:
    """Quantiles of the probabilities, each draw weighing as much as it makes the event likely."""
    p = np.exp(joint - joint.max())
    weight = p.sum(axis=1)
    p /= weight[:, None]
    found = []
    for column in p.T:
        order = np.argsort(column)
        below = np.cumsum(weight[order]) / weight.sum()
        low, high = (column[order[np.searchsorted(below, q)]] for q in ((1 - level) / 2, (1 + level) / 2))
        found.append((float(low), float(high)))
    return found


Case = tuple[Any, list[tuple[dict[str, Any], int]], dict[str, Any], np.ndarray]


def nominal_and_numeric(
    *, classes: int, each: int, nominal: int, numeric: int, seed: int, **settings: Any
) -> Case:
    generator, source = np.random.default_rng(seed), random.Random(seed)
    model = NaiveBayes(**settings)
    rows: list[tuple[dict[str, Any], int]] = []
    for y in range(classes):
        for _ in range(each + 5 * y):
            x: dict[str, Any] = {
                f"f{k}": "abc"[(y + k) % 3] if source.random() < 0.5 else source.choice("abc")
                for k in range(nominal)
            }
            x.update({f"n{k}": source.gauss(0.8 * y, 1.0 + 0.3 * k) for k in range(numeric)})
            rows.append((x, y))
    for x, y in rows:
        model.learn_one(x, y)
    query = {**{f"f{k}": "a" for k in range(nominal)}, **{f"n{k}": 0.5 for k in range(numeric)}}
    counts = np.array([sum(y == c for _, y in rows) for c in range(classes)], float)
    joint = drawn_prior(model, counts, 1.0, generator)
    for y in range(classes):
        own = [x for x, label in rows if label == y]
        for k in range(nominal):
            table = np.array([sum(x[f"f{k}"] == value for x in own) for value in "abc"]) + 1.0
            joint[:, y] += np.log(generator.dirichlet(table, DRAWS)[:, 0])
        for k in range(numeric):
            joint[:, y] += drawn_gaussian(np.array([x[f"n{k}"] for x in own]), 0.5, generator)
    return model, rows, query, joint


def words(kind: Any, *, classes: int, each: int, vocabulary: int, seed: int, **settings: Any) -> Case:
    generator, source = np.random.default_rng(seed), random.Random(seed)
    model = kind(**settings)
    tokens = [f"t{k}" for k in range(vocabulary)]
    rows: list[tuple[dict[str, Any], int]] = [(dict.fromkeys(tokens, 1), 0)]
    for y in range(classes):
        for _ in range(each + 5 * y):
            held = [k for k in range(vocabulary) if source.random() < (0.7 if k % classes == y else 0.4)]
            rows.append(({tokens[k]: source.choice([1, 1, 2]) for k in held}, y))
    for x, y in rows:
        model.learn_one(x, y)
    query = {"t0": 2, "t1": 1, "t3": 1}
    counts = np.array([sum(y == c for _, y in rows) for c in range(classes)], float)
    joint = drawn_prior(model, counts, 0.0, generator)
    for y in range(classes):
        own = [x for x, label in rows if label == y]
        if kind is MultinomialNB:
            table = np.array([sum(x.get(token, 0) for x in own) for token in tokens]) + 1.0
            shares = np.log(generator.dirichlet(table, DRAWS))
            joint[:, y] += sum(count * shares[:, tokens.index(token)] for token, count in query.items())
        else:
            for token in tokens:
                held_by = sum(token in x for x in own)
                share = generator.beta(held_by + 1.0, len(own) - held_by + 1.0, DRAWS)
                joint[:, y] += np.log(share if token in query else 1 - share)
    return model, rows, query, joint


SITUATIONS: dict[str, Callable[[], Case]] = {}
for classes_ in (2, 3):
    for each_ in (10, 30, 200):
        for prior_ in ("counted", "uniform"):
            common: dict[str, Any] = {
                "classes": classes_,
                "each": each_,
                "seed": each_ + classes_,
                "class_prior": prior_,
            }
            where = f"{classes_} classes of {each_}, {prior_}"
            SITUATIONS[f"nominal, {where}"] = partial(nominal_and_numeric, nominal=3, numeric=0, **common)
            SITUATIONS[f"numeric, {where}"] = partial(nominal_and_numeric, nominal=0, numeric=2, **common)
            SITUATIONS[f"mixed, {where}"] = partial(nominal_and_numeric, nominal=2, numeric=2, **common)
            SITUATIONS[f"Multinomial, {where}"] = partial(words, MultinomialNB, vocabulary=8, **common)
            SITUATIONS[f"Bernoulli, {where}"] = partial(words, BernoulliNB, vocabulary=6, **common)
SITUATIONS["nominal, given prior"] = lambda: nominal_and_numeric(
    classes=2, each=25, nominal=3, numeric=0, seed=3, class_prior={0: 0.9, 1: 0.1}
)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_with_features_the_interval_is_that_of_draws_from_the_posterior(situation):
    model, _, query, joint = SITUATIONS[situation]()
    apart = 0.12 if "of 10," in situation else 0.04  # tables of few samples are not log-normal
    for level in (0.8, 0.95):
        drawn = quantiles(joint, level)
        for y, interval in model.predict_interval_one(query, level=level).items():
            assert interval == pytest.approx(drawn[y], abs=apart), (level, y)


# --- what every interval obeys ---


def models() -> list[tuple[str, Any, dict[str, Any]]]:
    found = []
    for classes in (2, 3):
        arguments: dict[str, Any] = {"classes": classes, "each": 12, "seed": 5}
        for what, case in (
            ("nominal", nominal_and_numeric(nominal=2, numeric=0, **arguments)),
            ("numeric", nominal_and_numeric(nominal=0, numeric=2, **arguments)),
            ("mixed", nominal_and_numeric(nominal=2, numeric=1, **arguments)),
            ("Multinomial", words(MultinomialNB, vocabulary=8, **arguments)),
            ("Bernoulli", words(BernoulliNB, vocabulary=6, **arguments)),
            ("uniform", nominal_and_numeric(nominal=2, numeric=0, class_prior="uniform", **arguments)),
        ):
            found.append((f"{what} {classes}", case[0], case[2]))
    return found


MODELS = models()


@pytest.mark.parametrize(("model", "query"), [m[1:] for m in MODELS], ids=[m[0] for m in MODELS])
def test_an_interval_holds_the_prediction_lies_in_0_to_1_and_grows_with_the_level(model, query):
    empty: dict[str, Any] = {}
    for x in (empty, query):
        before = model.state()["checksum"]
        p, last = model.predict_proba_one(x), dict.fromkeys(model.classes_, (0.0, 0.0))
        for level in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
            intervals = model.predict_interval_one(x, level=level)
            assert intervals.keys() == p.keys()
            for y, (low, high) in intervals.items():
                assert 0.0 <= low <= p[y] <= high <= 1.0
                if level > 0.5:
                    assert low <= last[y][0]
                    assert high >= last[y][1]
            last = intervals
        assert model.state()["checksum"] == before


@pytest.mark.parametrize(("model", "query"), [m[1:] for m in MODELS if m[0].endswith("2")])
def test_of_two_classes_one_interval_mirrors_the_other(model, query):
    first, second = model.predict_interval_one(query).values()
    assert first == pytest.approx((1 - second[1], 1 - second[0]), abs=1e-9)


def test_an_interval_narrows_with_the_samples():
    widths = []
    for times in (1, 4, 16, 64):
        model = NaiveBayes()
        for sky, y, n in [("grey", "rain", 6), ("blue", "rain", 3), ("grey", "sun", 2), ("blue", "sun", 7)]:
            model.learn_one({"sky": sky}, y, w=n * times)
        low, high = model.predict_interval_one({"sky": "grey"})["rain"]
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[0] / widths[3] == pytest.approx(8.0, rel=0.35)


def test_a_given_prior_is_known_without_doubt():
    model = NaiveBayes(class_prior={"rain": 0.25, "sun": 0.75})
    model.learn_one({"sky": "grey"}, "rain")
    assert model.predict_interval_one({})["rain"] == pytest.approx((0.25, 0.25), abs=1e-12)


def test_features_that_say_nothing_leave_the_exact_interval():
    model = NaiveBayes()
    model.learn_one({"sky": "grey"}, "rain", w=3)
    model.learn_one({"sky": "blue"}, "sun", w=2)
    assert model.predict_interval_one({"sky": "never seen", "wind": 3.5}) == model.predict_interval_one({})


def test_a_word_that_is_not_there_leaves_the_interval_as_it_is():
    model = MODELS[3][1]
    assert model.predict_interval_one({"t0": 1, "t1": 0}) == model.predict_interval_one({"t0": 1})


def test_faded_samples_count_for_what_they_weigh_now():
    faded, fresh = NaiveBayes(half_life=1.0), NaiveBayes()
    faded.learn_one({"sky": "grey"}, "rain", w=16)
    faded.learn_one({"sky": "blue"}, "sun", w=32)
    faded.advance(2)
    fresh.learn_one({"sky": "grey"}, "rain", w=2)
    fresh.learn_one({"sky": "blue"}, "sun", w=8)
    for x in ({}, {"sky": "grey"}):
        for y, interval in fresh.predict_interval_one(x).items():
            assert faded.predict_interval_one(x)[y] == pytest.approx(interval, abs=1e-9)


def test_a_class_that_is_impossible_has_no_width():
    model = NaiveBayes(strength=0)
    for sky, y in [("grey", "rain"), ("blue", "sun"), ("blue", "rain")]:
        model.learn_one({"sky": sky}, y)
    assert model.predict_interval_one({"sky": "grey"}) == {"rain": (1.0, 1.0), "sun": (0.0, 0.0)}
