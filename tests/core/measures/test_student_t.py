"""Student's t against SciPy's, and its score against its definition."""

from __future__ import annotations

import math

import pytest
from scipy.integrate import quad
from scipy.stats import t

from stream_bayes.core.measures.student_t import StudentT


@pytest.mark.parametrize("degrees", [1.5, 4.0, 60.0])
def test_everything_is_that_of_scipy(degrees: float) -> None:
    mine, theirs = StudentT(-3.0, 2.5, degrees), t(degrees, -3.0, 2.5)
    for y in (-80.0, -3.0, 1.25):
        assert mine.density(y) == pytest.approx(theirs.pdf(y), rel=1e-12)
        assert mine.below(y) == pytest.approx(theirs.cdf(y), rel=1e-12)
    assert mine.interval(0.9) == pytest.approx(theirs.interval(0.9), rel=1e-12)
    assert mine.quantile(0.2) == pytest.approx(theirs.ppf(0.2), rel=1e-12)
    assert mine.standard_deviation == pytest.approx(theirs.std(), rel=1e-12)
    for y in (-9.0, 0.5):
        left = quad(lambda z: theirs.cdf(z) ** 2, -math.inf, y)[0]
        right = quad(lambda z: theirs.sf(z) ** 2, y, math.inf)[0]
        assert mine.crps(y) == pytest.approx(left + right, rel=1e-6)


def test_without_a_scale_nothing_is_known_but_the_location() -> None:
    unknown = StudentT(4.0, 0.0, 0.0)
    assert unknown.interval(0.5) == (-math.inf, math.inf) and unknown.quantile(0.1) == -math.inf
    assert unknown.density(4.0) == 0.0 and unknown.median == 4.0
