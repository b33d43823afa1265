"""LDA and QDA: scikit-learn's probabilities, missing numbers, axes, and data on which covariances degenerate."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from river import datasets
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from stream_bayes import LDA, QDA, GaussianNB

LEARNERS = pytest.mark.parametrize("kind", [LDA, QDA])


def taught(model: Any, rows: Any, labels: Any) -> Any:
    for row, label in zip(rows, labels, strict=True):
        model.learn_one({f"x{k}": float(value) for k, value in enumerate(row)}, str(label))
    model.rederive()
    return model


def probabilities(model: Any, row: Any) -> list[float]:
    p = model.predict_proba_one({f"x{k}": float(value) for k, value in enumerate(row)})
    return [p[label] for label in sorted(p)]


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize(
    ("kind", "oracle"), [(LDA, LinearDiscriminantAnalysis), (QDA, QuadraticDiscriminantAnalysis)]
)
def test_without_shrinkage_probabilities_are_scikit_learns(kind, oracle, load):
    data = load()
    rows, labels = data.data[::3], data.target[::3]
    model = taught(kind(predictive="plug-in", shrinkage=0.0, strength=0.0), rows, labels)
    expected = oracle().fit(rows, labels).predict_proba(data.data)
    answers = [probabilities(model, row) for row in data.data]
    np.testing.assert_allclose(answers, expected, rtol=0.0, atol=1e-8)


def log_normal(x: Any, mean: Any, covariance: Any) -> float:
    away = np.asarray(x) - mean
    square = float(away @ np.linalg.solve(covariance, away))
    return -0.5 * (square + np.linalg.slogdet(covariance)[1] + len(away) * math.log(2 * math.pi))


@LEARNERS
def test_missing_numbers_are_integrated_out_and_covariances_taken_pair_by_pair(kind):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3))
    labels = np.array([k % 2 for k in range(120)])
    rows[labels == 1] += 1.0
    present = rng.random(rows.shape) > 0.15
    model = kind(predictive="plug-in", shrinkage=0.0, ddof=1.0, strength=0.0)
    for row, has, label in zip(rows, present, labels, strict=True):
        model.learn_one({f"x{k}": float(row[k]) for k in range(3) if has[k]}, str(label))
    model.rederive()
    products, degrees = np.zeros((2, 3, 3)), np.zeros((2, 3, 3))
    for y, i, j in itertools.product(range(2), range(3), range(3)):
        both = present[:, i] & present[:, j] & (labels == y)
        a, b = rows[both, i], rows[both, j]
        products[y, i, j] = ((a - a.mean()) * (b - b.mean())).sum()
        degrees[y, i, j] = both.sum() - 1
    for asked in ([0, 1, 2], [0, 2], [1]):
        probe = {f"x{k}": 0.3 * k for k in asked}
        expected = {}
        for y in range(2):
            pooled = products.sum(axis=0) / degrees.sum(axis=0)
            covariance = pooled if kind is LDA else products[y] / degrees[y]
            mean = [rows[present[:, k] & (labels == y), k].mean() for k in asked]
            expected[str(y)] = math.log(0.5) + log_normal(
                [probe[f"x{k}"] for k in asked], mean, covariance[np.ix_(asked, asked)]
            )
        assert model.joint_log_likelihood(probe) == pytest.approx(expected, abs=1e-8)


def log_student(x: Any, mean: Any, squares: Any, freedom: float, weight: float) -> float:
    """Return the log-density of a multivariate t, by the formula of textbooks."""
    size, away = len(x), np.asarray(x) - mean
    scale = squares / freedom * (1 + 1 / weight)
    square = float(away @ np.linalg.solve(scale, away)) / freedom
    return (
        math.lgamma((freedom + size) / 2)
        - math.lgamma(freedom / 2)
        - 0.5 * (size * math.log(freedom * math.pi) + np.linalg.slogdet(scale)[1])
        - 0.5 * (freedom + size) * math.log1p(square)
    )


@LEARNERS
def test_numbers_are_judged_by_the_student_t_of_a_normal_inverse_wishart_posterior(kind):
    rng = np.random.default_rng(5)
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 2, 0, 1, 2, 0])
    rows = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 3)) + labels[:, None] + 100.0
    model = taught(kind(shrinkage=0.0, strength=0.0), rows, labels)
    prior_mean = rows.mean(axis=0)
    squares, means, weights = {}, {}, {}
    for y in range(3):
        own = rows[labels == y]
        count, away = len(own), own - own.mean(axis=0)
        off = own.mean(axis=0) - prior_mean
        squares[y] = away.T @ away + 0.1 * count / (count + 0.1) * np.outer(off, off)
        means[y] = (own.sum(axis=0) + 0.1 * prior_mean) / (count + 0.1)
        weights[y] = count + 0.1
    pooled = (np.diag(rows.var(axis=0, ddof=1)) + sum(squares.values())) / 13
    for asked in ([0, 1, 2], [0, 2], [1]):
        probe = {f"x{k}": 100.0 + 0.5 * k for k in asked}
        expected = {}
        for y in range(3):
            count = int((labels == y).sum())
            freedom = 13 if kind is LDA else 3 + count
            deviations = 13 * pooled if kind is LDA else 3 * pooled + squares[y]
            expected[str(y)] = math.log(count / 12) + log_student(
                [probe[f"x{k}"] for k in asked],
                means[y][asked],
                deviations[np.ix_(asked, asked)],
                freedom,
                weights[y],
            )
        assert model.joint_log_likelihood(probe) == pytest.approx(expected, abs=1e-9)


@LEARNERS
def test_two_events_make_no_certainty_and_few_of_many_numbers_cost_little(kind):
    model = kind()
    for number, label in enumerate(["a", "b"]):
        model.learn_one({"x": float(number), "y": 1.0 - number}, label)
    answer = model.predict_proba_one({"x": 0.9, "y": 0.2})
    assert 0.5 < answer["b"] < 0.95  # plug-in: 1
    segments, model, loss = datasets.ImageSegments(), kind(), 0.0
    for number, (x, y) in enumerate(itertools.islice(segments, 100)):
        share = model.predict_learn_one(x, y).get(y, 0.0)
        loss += -math.log(max(share, 1e-15)) / 90 if number >= 10 else 0.0
    assert loss < 1.6  # as plug-in 2.4 (LDA) and 4.2 (QDA)


def test_with_a_diagonal_covariance_lda_is_naive_bayes_with_pooled_variances():
    data = load_iris()
    linear = taught(LDA(predictive="plug-in", shrinkage=1.0, ddof=1.0, strength=0.0), data.data, data.target)
    naive = taught(GaussianNB(predictive="plug-in", variance="classes"), data.data, data.target)
    for row in data.data[::7]:
        assert probabilities(linear, row) == pytest.approx(probabilities(naive, row), abs=1e-9)


def test_the_shrinkage_is_that_of_scikit_learns_oas_over_standardised_numbers():
    from sklearn.covariance import oas

    data = load_wine()
    rows = data.data[data.target == 0][:20]
    model = taught(QDA(predictive="plug-in", strength=0.0), rows, np.zeros(len(rows), int))
    standardised = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    expected, _ = oas(standardised)
    correlation = np.asarray(model.reading.correlation).reshape(13, 13)
    np.testing.assert_allclose(correlation, expected, atol=1e-9)


def test_axes_are_scikit_learns_up_to_their_direction():
    data = load_wine()
    model = taught(LDA(predictive="plug-in", shrinkage=0.0), data.data, data.target)
    expected = LinearDiscriminantAnalysis().fit(data.data, data.target).transform(data.data)
    found = np.array(
        [
            list(model.transform_one({f"x{k}": float(v) for k, v in enumerate(row)}).values())
            for row in data.data
        ]
    )
    assert found.shape == (178, 2)
    for axis in range(2):
        direction = np.sign(found[:, axis] @ expected[:, axis])
        np.testing.assert_allclose(found[:, axis] * direction, expected[:, axis], atol=1e-8)


HARD = {
    "one sample a class": [([1.0, 2.0], "a"), ([2.0, 1.0], "b")],
    "one class": [([1.0, 2.0], "a"), ([2.0, 3.0], "a")],
    "constant": [([5.0, float(k % 3)], "ab"[k % 2]) for k in range(12)],
    "collinear": [([float(k), 2.0 * k + 1.0], "ab"[k % 2]) for k in range(12)],
    "huge": [([(-1.0) ** k * 1e100, 1e99 * k], "ab"[k % 3 == 0]) for k in range(10)],
    "tiny": [([1e-200 * k, -1e-250 * k], "ab"[k % 3 == 0]) for k in range(10)],
    "far from zero": [([1e12 + k % 3, 1e12 + k % 5], "ab"[k % 2]) for k in range(15)],
}


@pytest.mark.parametrize(
    "settings",
    [{"predictive": "plug-in", "shrinkage": 0.1}, {"predictive": "plug-in"}, {"shrinkage": 0.0}, {}],
)
@pytest.mark.parametrize("name", HARD)
@LEARNERS
def test_answers_are_probabilities_on_data_that_break_covariances(kind, name, settings):
    model = kind(**settings)
    probes = [{}, {"x0": 1e100}, {"x0": -1e-300, "x1": 0.0}, {"x0": 1e12, "x1": -1e100}, {"new": 1.0}]
    samples = [({f"x{k}": value for k, value in enumerate(row)}, label) for row, label in HARD[name]]
    for step, (x, y) in enumerate([*samples, *samples]):
        (model.learn_one if step < len(samples) else model.unlearn_one)(x, y)
        for probe in [*probes, x]:
            p = model.predict_proba_one(probe)
            if not any(model.store.tables.class_samples):
                assert p == {}
                continue
            assert math.fsum(p.values()) == pytest.approx(1.0)
            assert all(0.0 <= share <= 1.0 for share in p.values())


@LEARNERS
def test_a_nominal_feature_decides_beside_numbers(kind):
    model = kind()
    for k in range(40):
        model.learn_one({"x0": float(k % 5), "colour": "red" if k % 2 else "blue"}, k % 2)
    p = model.predict_proba_one({"x0": 2.0, "colour": "red"})
    assert p[1] > 0.9


@LEARNERS
def test_a_state_continues_with_the_covariance_it_had(kind):
    data = load_iris()
    model = kind()
    for row, label in zip(data.data[::2], data.target[::2], strict=True):
        model.learn_one({f"x{k}": float(v) for k, v in enumerate(row)}, str(label))
    again = kind.from_state(model.state())
    for row in data.data[1::10]:
        assert probabilities(again, row) == probabilities(model, row)


@pytest.mark.parametrize("shrinkage", ["auto", -0.1, 1.5, True, None])
def test_a_shrinkage_that_is_none_is_refused(shrinkage):
    from stream_bayes.errors import BadValue

    with pytest.raises(BadValue, match="shrinkage must be 'oas' or a number from 0 to 1"):
        LDA(shrinkage=shrinkage)


def test_classes_of_different_spread_are_told_apart_where_numbers_have_no_correlation():
    model = QDA()
    for k in range(60):
        model.learn_one({"x0": k % 5 - 2.0}, "near")
        model.learn_one({"x0": 4.0 * (k % 5 - 2.0) + 0.5}, "far")
    assert model.predict_proba_one({"x0": -8.0})["far"] > 0.99
