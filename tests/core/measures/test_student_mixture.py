"""The density of a mixture of Student's t distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.measures.student_t import StudentT


@pytest.mark.parametrize("y", [-1e9, -3.0, 0.0, 2.5, 1e9])
def test_the_density_is_the_weighted_sum_of_those_of_its_components(y: float) -> None:
    parts = [StudentT(0.0, 1.0, math.inf), StudentT(2.0, 0.5, 3.0), StudentT(-4.0, 2.0, 9.0)]
    weights = [0.2, 0.5, 0.3]
    logs = [each.log_density(y) for each in parts]
    expected = scipy.special.logsumexp(logs, b=np.array(weights))
    assert StudentMixture(weights, parts).log_density(y) == pytest.approx(float(expected), rel=1e-13)
    assert StudentMixture([0.0, 1.0, 0.0], parts).log_density(y) == logs[1]
