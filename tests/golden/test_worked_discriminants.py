"""Worked example 15: multivariate Gaussians by maximum likelihood, with equal priors, and where LDA is naive Bayes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_bayes import LDA, QDA, GaussianNB

CLASSES = {
    "no": [(1.0, 4.0), (3.0, 8.0), (5.0, 6.0), (3.0, 2.0)],
    "yes": [(6.0, 5.0), (8.0, 9.0), (10.0, 13.0), (8.0, 5.0), (8.0, 8.0)],
}


def estimates(rows):
    """Return the mean and (1/N) sum (x - mean)(x - mean)^T."""
    mean = np.mean(rows, axis=0)
    return mean, sum(np.outer(x - mean, x - mean) for x in np.array(rows)) / len(rows)


def log_density(x, mean, covariance):
    away = np.array(x) - mean
    square = away @ np.linalg.inv(covariance) @ away
    return -0.5 * (square + math.log(np.linalg.det(covariance)) + 2 * math.log(2 * math.pi))


def learned(model):
    for y, rows in CLASSES.items():
        for a, b in rows:
            model.learn_one({"a": a, "b": b}, y)
    model.rederive()
    return model


@pytest.mark.parametrize("x", [(4.0, 5.0), (6.5, 7.0), (20.0, -3.0)])
def test_the_densities_are_those_of_the_maximum_likelihood_estimates(x):
    each = {y: estimates(rows) for y, rows in CLASSES.items()}
    shared = sum(len(CLASSES[y]) * covariance for y, (_, covariance) in each.items()) / 9
    event = {"a": x[0], "b": x[1]}
    for kind in (LDA, QDA):
        model = learned(kind(predictive="plug-in", shrinkage=0.0, class_prior="uniform"))
        expected = {
            y: math.log(1 / 2) + log_density(x, mean, shared if kind is LDA else covariance)
            for y, (mean, covariance) in each.items()
        }
        assert model.joint_log_likelihood(event) == pytest.approx(expected, abs=1e-10)


def test_with_a_diagonal_covariance_that_classes_share_lda_is_naive_bayes_with_pooled_variances():
    linear = learned(LDA(predictive="plug-in", shrinkage=1.0, class_prior="uniform"))
    naive = learned(GaussianNB(predictive="plug-in", ddof=0.0, variance="classes", class_prior="uniform"))
    for event in ({"a": 4.0, "b": 5.0}, {"a": 7.0}, {"b": 6.0}):
        assert linear.joint_log_likelihood(event) == pytest.approx(
            naive.joint_log_likelihood(event), abs=1e-10
        )
