"""Credible intervals: they hold their answers, come from the posterior, and cover what they promise."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import datasets
from scipy import optimize, stats

from stream_bayes import (
    A2DE,
    AODE,
    KDB,
    LDA,
    ODE,
    QDA,
    TAN,
    AdaptiveBayes,
    BayesianLogistic,
    BayesNetClassifier,
    BernoulliNB,
    Costs,
    DecidingClassifier,
    DriftAdaptive,
    GaussianNB,
    HalfLifeChoice,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    NearestNeighbours,
    Nominal,
    Schema,
    SlidingWindow,
)
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.credible_intervals import beta_interval, odds_interval

EACH: dict[str, Any] = {
    "naive Bayes": NaiveBayes,
    "plug-in": lambda: GaussianNB(predictive="plug-in"),
    "AODE": lambda: AODE(min_count=1),
    "A2DE": lambda: A2DE(min_count=1),
    "TAN": TAN,
    "KDB": lambda: KDB(k=3),
    "LDA": LDA,
    "QDA": QDA,
    "logistic": BayesianLogistic,
    "waves": lambda: BayesianLogistic(features="fourier"),
    "neighbours": NearestNeighbours,
    "network": lambda: BayesNetClassifier(None),
    "window": lambda: SlidingWindow(NaiveBayes(), 30),
    "choice": LiveChoice,
    "half-lives": lambda: HalfLifeChoice(NaiveBayes(), [None, 10.0], combine="mixture"),
    "drift": lambda: DriftAdaptive(NaiveBayes()),
    "decisions": lambda: DecidingClassifier(TAN(), Costs.zero_one(["path", "sky"])),
    "adaptive": AdaptiveBayes,
}


@pytest.mark.parametrize("name", EACH)
def test_an_answer_among_many_classes_lies_in_its_interval(name: str) -> None:
    model: Any = EACH[name]()
    events = list(itertools.islice(datasets.ImageSegments(), 100))
    for x, y in events[:60]:
        model.learn_one(x, y)
    for x, _ in events[60:]:
        answer, intervals = model.predict_proba_one(x), model.predict_interval_one(x)
        assert intervals.keys() == answer.keys()
        for label, (low, high) in intervals.items():
            assert 0.0 <= low <= answer[label] <= high <= 1.0
            inner = model.predict_interval_one(x, 0.5)[label]
            assert low <= inner[0] <= inner[1] <= high
        assert intervals == model.predict_interval_one(x)
    low, high = model.predict_interval_many(pd.DataFrame([x for x, _ in events[60:70]]))
    assert (low["path"].iloc[3], high["path"].iloc[3]) == pytest.approx(
        model.predict_interval_one(events[63][0])["path"]
    )


def words(source: random.Random, y: int) -> dict[str, int]:
    return {
        w: source.randint(1, 3) for k, w in enumerate("abcdef") if source.random() < (0.3, 0.6)[k % 2 == y]
    }


@pytest.mark.parametrize(
    "make",
    [
        NaiveBayes,
        lambda **prior: ODE(parents={"b": "a"}, **prior),
        lambda **prior: KDB(k=2, **prior),
        lambda **prior: BayesNetClassifier({"class": [], "a": ["class"], "b": ["class", "a"]}, **prior),
        MultinomialNB,
        BernoulliNB,
    ],
)
def test_the_second_look_is_the_score_after_learning_the_event_once_more(make: Any) -> None:
    source, model = random.Random(7), make(class_prior="uniform")
    is_bag = "bag" in model.inputs
    for _ in range(12):
        y = source.randrange(2)
        x: Any = words(source, y) if is_bag else {n: source.choice("xyz"[y:]) for n in "ab"}
        model.learn_one(x, y)
    x = {"a": 2, "b": 1} if is_bag else {"a": "y", "b": "z"}
    rises = []
    for y in range(2):
        before = model.joint_log_likelihood(x)[y]
        model.learn_one(x, y)
        rises.append(model.joint_log_likelihood(x)[y] - before)
        model.unlearn_one(x, y)
    # Of two classes, the variance of the log-odds is the sum of those of both scores.
    for _, variance in model.answer_with_spread(x).values():
        assert variance == pytest.approx(sum(rises), rel=1e-9)


def test_the_variance_is_that_of_draws_from_the_posterior_of_tables() -> None:
    rng, model = np.random.default_rng(3), NaiveBayes(class_prior="uniform")
    counts = {0: ([3, 1, 0], [1, 3]), 1: ([1, 2, 4], [5, 2])}
    for y, (a, b) in counts.items():
        for name, column in (("a", a), ("b", b)):
            for value, count in enumerate(column):
                for _ in range(count):
                    model.learn_one({name: "uvw"[value]}, y)
    expected = 0.0
    for a, b in counts.values():
        drawn = rng.dirichlet(np.add(a, 1.0), 400_000)[:, 0] * rng.dirichlet(np.add(b, 1.0), 400_000)[:, 1]
        expected += math.log((drawn**2).mean() / drawn.mean() ** 2)
    (_, variance), _ = model.answer_with_spread({"a": "u", "b": "v"}).values()
    assert variance == pytest.approx(expected, rel=0.02)


def test_the_variance_of_numbers_is_that_of_draws_of_mean_and_covariance() -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], 15)
    rows = rng.normal(size=(30, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]]) + labels[:, None]
    model = QDA(shrinkage=0.0, class_prior="uniform")
    for row, label in zip(rows, labels, strict=True):
        model.learn_one({"a": float(row[0]), "b": float(row[1])}, int(label))
    model.rederive()
    x, center, expected = np.array([0.4, 0.3]), rows.mean(axis=0), 0.0
    squares = {}
    for y in range(2):
        own = rows[labels == y]
        off = own.mean(axis=0) - center
        away = own - own.mean(axis=0)
        squares[y] = away.T @ away + 1.5 / 15.1 * np.outer(off, off)
    pooled = (np.diag(rows.var(axis=0, ddof=1)) + squares[0] + squares[1]) / 31
    for y in range(2):
        mean = (rows[labels == y].sum(axis=0) + 0.1 * center) / 15.1
        # 17 degrees of freedom of the t, of two numbers
        covariances = stats.invwishart(18, 2 * pooled + squares[y]).rvs(60_000, random_state=rng)
        roots = np.linalg.cholesky(covariances)
        means = mean + (roots @ rng.normal(size=(60_000, 2, 1)))[:, :, 0] / math.sqrt(15.1)
        away = np.linalg.solve(roots, (x - means)[:, :, None])[:, :, 0]
        density = np.exp(-0.5 * (away**2).sum(axis=1)) / np.linalg.det(roots)
        expected += math.log((density**2).mean() / density.mean() ** 2)
    (_, variance), _ = model.answer_with_spread({"a": 0.4, "b": 0.3}).values()
    assert variance == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("kind", "make", "least"),
    [
        ("names", NaiveBayes, 0.93),
        ("names", lambda: AODE(min_count=1), 0.93),
        ("names", lambda: KDB(k=1), 0.93),
        ("chain", lambda: ODE(parents={f"f{f}": f"f{f - 1}" for f in range(1, 6)}), 0.93),
        ("chain", TAN, 0.93),
        ("chain", lambda: KDB(k=1), 0.9),  # its parents are chosen in another order than the chain's
        ("numbers", NaiveBayes, 0.9),
        ("together", QDA, 0.9),
        ("alike", LDA, 0.9),
    ],
)
def test_intervals_cover_in_worlds_that_match_the_model(kind: str, make: Any, least: float) -> None:
    rng, inside, worlds = np.random.default_rng(5), 0, 150
    for _ in range(worlds):
        model: Any = make()
        prior = rng.dirichlet(np.ones(3))
        labels = np.append([0, 1, 2], rng.choice(3, size=98, p=prior))
        if kind == "chain":  # each name by the class and the name before
            tables = rng.dirichlet(np.ones(3), (3, 6, 3))
            codes, chances = np.zeros((101, 7), int), np.ones((101, 3))
            for f in range(6):
                drawn = tables[labels, f, codes[:, f]].cumsum(axis=1)
                codes[:, f + 1] = (rng.random((101, 1)) > drawn).sum(axis=1).clip(0, 2)
                chances *= tables[:, f, codes[:, f], codes[:, f + 1]].T
            rows = [["uvw"[code] for code in row[1:]] for row in codes.tolist()]
            joint = prior * chances[-1]
        elif kind == "names":
            tables = rng.dirichlet(np.ones(3), (3, 6))
            codes = (rng.random((101, 6, 1)) > tables.cumsum(axis=2)[labels]).sum(axis=2).clip(0, 2)
            rows = [["uvw"[code] for code in row] for row in codes.tolist()]
            joint = prior * np.prod(tables[:, range(6), codes[-1]], axis=1)
        else:
            means, roots = (
                rng.normal(size=(3, 4)),
                np.broadcast_to(np.eye(4), (3, 4, 4)),
            )  # of the covariances
            if kind != "numbers":
                shape = (3, 4, 4) if kind == "together" else (4, 4)
                roots = roots + np.tril(rng.normal(0.0, 0.4, shape), -1)
            numbers = means[labels] + (roots[labels] @ rng.normal(size=(101, 4, 1)))[:, :, 0]
            rows = numbers.tolist()
            away = np.linalg.solve(roots, (numbers[-1] - means)[:, :, None])[:, :, 0]
            joint = prior * np.exp(-0.5 * (away**2).sum(axis=1)) / np.linalg.det(roots)
        *learned, x = [{f"f{f}": value for f, value in enumerate(row)} for row in rows]
        model.learn_many(learned, labels[:-1].tolist())
        best = model.predict_one(x)
        low, high = model.predict_interval_one(x)[best]
        inside += low <= joint[best] / joint.sum() <= high
    assert inside / worlds >= least


@pytest.mark.parametrize(
    ("make", "strength", "values"),
    [
        (NaiveBayes, 1.0, 3),
        (NaiveBayes, 0.5, 6),
        (lambda **prior: AODE(min_count=1, **prior), 1.0, 3),
        (lambda **prior: ODE(parents={f"f{f}": f"f{f - 1}" for f in range(1, 5)}, **prior), 1.0, 3),
        (lambda **prior: BayesNetClassifier(None, **prior), 1.0, 3),
        (LiveChoice, 1.0, 3),
        (lambda **prior: LiveChoice(combine="best", **prior), 1.0, 3),
        (lambda **prior: HalfLifeChoice(NaiveBayes(**prior), [None, 500.0], combine="mixture"), 1.0, 3),
    ],
)
def test_intervals_cover_where_tables_are_as_sparse_as_the_prior_says(
    make: Any, strength: float, values: int
) -> None:
    rng, inside, together, worlds = np.random.default_rng(9), 0, 0, 200
    schema = Schema({f"f{f}": Nominal(list("uvwxyz"[:values])) for f in range(5)}, classes=[0, 1, 2])
    for _ in range(worlds):
        prior = rng.dirichlet(np.full(3, strength / 3))
        tables = rng.dirichlet(np.full(values, strength / values), (3, 5))
        labels = rng.choice(3, size=61, p=prior)
        codes = (rng.random((61, 5, 1)) > tables.cumsum(axis=2)[labels]).sum(axis=2).clip(0, values - 1)
        *learned, x = [{f"f{f}": "uvwxyz"[code] for f, code in enumerate(row)} for row in codes.tolist()]
        joint = prior * np.prod(tables[:, range(5), codes[-1]], axis=1)
        model = make(schema=schema, prior="m-estimate", strength=strength)
        model.learn_many(learned, labels[:-1].tolist())
        best, intervals = model.predict_one(x), model.predict_interval_one(x)
        held = {y: low <= joint[y] / joint.sum() <= high for y, (low, high) in intervals.items()}
        inside += held[best]
        together += sum(held.values())
    assert inside / worlds >= 0.9
    assert together / worlds / 3 >= 0.93


def rises(model: Any, x: dict[str, Any], labels: Iterable[Any]) -> list[float]:
    """Return by how much the score of each class rises when the event is learned once more."""
    made = []
    for y in labels:
        before = model.joint_log_likelihood(x)[y]
        model.learn_one(x, y)
        made.append(model.joint_log_likelihood(x)[y] - before)
        model.unlearn_one(x, y)
    return made


@pytest.mark.parametrize("prior", ["laplace", "m-estimate"])
def test_twice_the_weight_is_no_more_doubt_of_names_as_frequent_as_the_prior_says(prior: str) -> None:
    rng, judged, grew = np.random.default_rng(8), 0, 0
    for _ in range(150):
        model = NaiveBayes(strength=float(rng.choice([0.1, 1.0, 5.0])), prior=prior, class_prior="uniform")
        counts = rng.integers(0, 8, (2, 2, 3))  # of class, feature and value
        counts[:, :, 2] += 1  # no feature without events
        weights = [(c, f, v, float(n)) for (c, f, v), n in np.ndenumerate(counts) if n]
        seen = (counts.sum(axis=0) > 0).sum(axis=1)  # a value without events is none
        values = [int(rng.choice(np.flatnonzero(counts[:, f].sum(axis=0)))) for f in range(2)]
        x = {"ab"[f]: "uvw"[value] for f, value in enumerate(values)}
        found = []
        for _ in range(2):
            for c, f, v, weight in weights:
                model.learn_one({"ab"[f]: "uvw"[v]}, c, weight)
            found.append(rises(model, x, range(2)))
        for c, (once, twice) in enumerate(zip(*found, strict=True)):
            shares = [counts[c, f, values[f]] / counts[c, f].sum() for f in range(2)]
            if all(share >= 1.0 / many for share, many in zip(shares, seen, strict=True)):
                assert twice <= once + 1e-12
                judged += 1
            grew += twice > once + 1e-12
    assert judged > 50
    assert grew > 5  # rarer names: the prior alone made them look more certain than the events do


def test_twice_the_weight_is_no_more_doubt_of_numbers_within_two_deviations_of_each_class() -> None:
    rng, judged = np.random.default_rng(8), 0
    for _ in range(150):
        model = NaiveBayes(class_prior="uniform")
        rows = [rng.normal(0.5 * y, 1.0, int(rng.integers(4, 30))) for y in range(2)]
        number = float(rng.normal(0.25, 1.5))
        variances = []
        for _ in range(2):
            for y, row in enumerate(rows):
                for value in row.tolist():
                    model.learn_one({"a": value}, y)
            (_, variance), _ = model.answer_with_spread({"a": number}).values()
            variances.append(variance)
        if all(abs(number - row.mean()) <= 2.0 * row.std(ddof=1) for row in rows):
            assert variances[1] <= variances[0]
            judged += 1
    assert judged > 80


@pytest.mark.parametrize("share", [1e-9, 0.3, 0.5, 0.999, 1.0 - 1e-12])
@pytest.mark.parametrize("variance", [1e-6, 0.5, 9.0, 400.0])
def test_an_interval_is_the_hull_of_the_mixture_and_of_the_centred_normal(
    share: float, variance: float
) -> None:
    deviation, odds = math.sqrt(variance), math.log(share) - math.log1p(-share)

    def below(at: float) -> float:
        parts = [stats.norm.cdf((at + side * variance / 2) / deviation) for side in (-1, 1)]
        return float(share * parts[0] + (1 - share) * parts[1])

    bounds = (-variance / 2 - 9 * deviation, variance / 2 + 9 * deviation)
    ends = [optimize.brentq(lambda at, tail=tail: below(at) - tail, *bounds) for tail in (0.025, 0.975)]
    low = odds + min(ends[0], -1.959963984540054 * deviation)
    high = odds + max(ends[1], 1.959963984540054 * deviation)
    found = odds_interval(share, variance, 0.95)
    assert found[0] <= share <= found[1]
    assert found[0] == pytest.approx(1 / (1 + math.exp(-low)), rel=1e-6)
    assert 1 - found[1] == pytest.approx(1 / (1 + math.exp(high)), rel=1e-3, abs=1e-15)


def test_a_skewed_beta_distribution_has_the_nearest_interval_that_holds_its_mean() -> None:
    for own, other, level in ((5e-3, 10.0, 0.9), (10.0, 5e-3, 0.9), (75.0, 25.0, 0.01)):
        low, high = beta_interval(own, other, level)
        assert low <= own / (own + other) <= high
        covered = stats.beta.cdf(high, own, other) - stats.beta.cdf(low, own, other)
        assert covered == pytest.approx(level) or high == 1.0


def test_nothing_learned_one_class_and_levels_that_are_none() -> None:
    model: Any
    for model in (AdaptiveBayes(), HalfLifeChoice(NaiveBayes(), [9.0]), DriftAdaptive(NaiveBayes())):
        assert model.predict_interval_one({"a": 1.0}) == {}
        assert model.predict_interval_many([{"a": 1.0}]) == ([{}], [{}])
        model.learn_one({"a": 1.0}, "only")
        assert model.predict_interval_one({"a": 2.0})["only"] == (1.0, 1.0)
        levels: list[Any] = [0.0, 1.0, -0.5, True, float("nan"), "wide"]
        for level in levels:
            with pytest.raises(BadValue, match="level lies between 0 and 1"):
                model.predict_interval_one({}, level)
