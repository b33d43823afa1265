"""Student's t: the density of numbers whose mean and covariance are integrated over their posterior.

    t(x) = G / sqrt(det(S) (1 + 1/k)^m pi^m) * (1 + q k / (k + 1))^-((v + m) / 2)      q = a' S^-1 a     a = x - mean
    G = gamma((v + m) / 2) / gamma(v / 2)

with v degrees of freedom, a mean of the weight k, and S the squared deviations of v samples about it, of m numbers
(normal-inverse-Wishart; with one number normal-inverse-gamma). To learn x adds 1 to k and to v, moves the mean by
a / (k + 1), and adds a a' k / (k + 1) to S. So the density of x after x was learned has a closed form in q.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import lgamma, log, log1p

LARGE = cython.declare(cython.double, 1e150)
LARGEST = cython.declare(cython.double, 1.7976931348623157e308)


@cython.cfunc
@cython.exceptval(check=False)
def log_gammas(half: cython.double) -> cython.double:
    """Return log(gamma(half + 1/2) / gamma(half)), above 10 by its series."""
    if half < 10.0:
        return lgamma(half + 0.5) - lgamma(half)
    return 0.5 * log(half) - 0.125 / half + 1.0 / (192.0 * half**3) - 1.0 / (640.0 * half**5)


@cython.cfunc
@cython.exceptval(check=False)
def log_gammas_of(freedom: cython.double, numbers: cython.Py_ssize_t) -> cython.double:
    """Return log(gamma((v + m) / 2) / gamma(v / 2)) - m log(v / 2) / 2, which goes to 0 as v grows."""
    half: cython.double = 0.5 * freedom
    from_half: cython.double = half
    product: cython.double = 1.0
    total: cython.double = 0.0
    if numbers % 2 == 1:
        total = log_gammas(half) - 0.5 * log(half)
        from_half += 0.5
    for i in range(numbers // 2):
        product *= (from_half + i) / half
        if product > LARGE:
            total += log(product)
            product = 1.0
    return total + log(product)


@cython.cfunc
@cython.exceptval(check=False)
def student_rise(
    freedom: cython.double, weight: cython.double, distance: cython.double, numbers: cython.Py_ssize_t
) -> cython.double:
    """Return by how much the log-density of numbers rises when they are learned once more.

    It is the logarithm of E[f^2] / E[f]^2, with f the Gaussian density of the numbers under the posterior. The
    arguments are v, k, q k / (k + 1) and m, as above.
    """
    return rise_at_mean(freedom, weight, numbers) + rise_away(freedom, weight, distance, numbers)


@cython.cfunc
@cython.exceptval(check=False)
def rise_at_mean(freedom: cython.double, weight: cython.double, numbers: cython.Py_ssize_t) -> cython.double:
    """Return the rise of numbers at their mean, as `student_rise` takes its arguments."""
    return (
        log_gammas_of(freedom + 1.0, numbers)
        - log_gammas_of(freedom, numbers)
        + 0.5 * numbers * log1p(1.0 / freedom)
        + 0.5 * numbers * log1p(1.0 / (weight * (weight + 2.0)))
    )


@cython.cfunc
@cython.exceptval(check=False)
def rise_away(
    freedom: cython.double, weight: cython.double, distance: cython.double, numbers: cython.Py_ssize_t
) -> cython.double:
    """Return by how much more the log-density of numbers rises that are away from their mean."""
    if not distance < LARGEST:
        distance = LARGEST
    after = distance / (1.0 + distance) * (weight / (weight + 2.0))
    return 0.5 * (freedom + numbers - 1.0) * log1p(distance) - 0.5 * (freedom + numbers + 1.0) * log1p(after)
