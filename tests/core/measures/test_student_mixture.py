"""The density of a mixture of Student's t distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.measures.truncated_student import TruncatedStudent


@pytest.mark.parametrize("y", [-1e9, -3.0, 0.0, 2.5, 1e9])
def test_the_density_is_the_weighted_sum_of_those_of_its_components(y: float) -> None:
    parts = [StudentT(0.0, 1.0, math.inf), StudentT(2.0, 0.5, 3.0), StudentT(-4.0, 2.0, 9.0)]
    weights = [0.2, 0.5, 0.3]
    logs = [each.log_density(y) for each in parts]
    expected = scipy.special.logsumexp(logs, b=np.array(weights))
    assert StudentMixture(weights, parts).log_density(y) == pytest.approx(float(expected), rel=1e-13)
    assert StudentMixture([0.0, 1.0, 0.0], parts).log_density(y) == logs[1]


@pytest.mark.parametrize(
    "component",
    [
        StudentT(1.0, 2.0, 5.0),
        StudentT(-1.0, 0.5, math.inf),
        StudentT(3.0, 0.0, 4.0),
        TruncatedStudent(StudentT(0.0, 1.0, 6.0), -0.5, 1.5),
        TruncatedStudent(StudentT(0.0, 1.0, math.inf), 40.0, math.inf),
    ],
    ids=["student", "gaussian", "no spread", "between bounds", "beyond all probability"],
)
def test_densities_at_many_numbers_are_those_at_each(component: StudentT | TruncatedStudent) -> None:
    ys = np.array([-30.0, -0.5, 0.0, 1.0, 1.5, 3.0, 50.0])
    assert component.log_densities(ys).tolist() == pytest.approx(
        [component.log_density(y) for y in ys.tolist()]
    )


def test_the_entropy_is_the_mean_over_quantiles_of_the_components() -> None:
    mixture = StudentMixture(
        [0.5, 0.3, 0.0, 0.2],
        [
            StudentT(1.0, 2.0, 5.0),
            StudentT(-1.0, 0.5, math.inf),
            StudentT(9.0, 0.0, 4.0),
            TruncatedStudent(StudentT(0.0, 1.0, 6.0), -0.5, 1.5),
        ],
    )
    expected = -sum(
        weight * mixture.log_density(each.quantile((k + 0.5) / 16)) / 16
        for weight, each in zip(mixture.weights, mixture.components, strict=True)
        if weight
        for k in range(16)
    )
    assert mixture.entropy == pytest.approx(expected, rel=1e-12)
