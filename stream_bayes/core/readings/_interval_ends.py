"""Credible intervals of probabilities, from the variance of their log-odds.

An answer p is a mean: the tables are random variables, and those that make the event likely weigh more. Let f be
P(x, y) and g the sum of P(x, z) over all other classes, each log-normal. Given x, with V the sum of the variances of
log f and log g, the log-odds of y are

    N(logit p + V/2, V)  with probability p        N(logit p - V/2, V)  with 1 - p

whose mean probability is p. The interval is the hull of this mixture's central interval and of that of N(logit p, V),
so it holds the answer.

log f has the variance log E[f^2] / E[f]^2, where E[f^2] / E[f] is P(x, y) once (x, y) was learned again: two looks.

A probability by few events may be next to nothing: its logarithm falls much farther below its mean than it rises above.
So the ends towards certainty come from a third look, with a part of an event. A cell with the parameter a adds
log(1 + 1/a) to the rise of the score by an event, and 1/a to its slope; `rise` and `slope` together give the k equal
cells that would have both. Under another label log f is the sum of k logarithms of gamma variables of shape a: it has
the mean log E[f] - k (1/a - log(1 + 1/2a)), the variance k (1/a^2 + 1/(a + 1/2)), and a long lower tail.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import erfc, exp, fabs, log, log1p, sqrt

ROOT_HALF = cython.declare(cython.double, 0.7071067811865476)
DENSITY = cython.declare(cython.double, 0.3989422804014327)  # 1 / sqrt(2 pi)
MOST_STEPS = cython.declare(cython.int, 60)
NEAR = cython.declare(cython.double, 1e-13)
# Error of the tail: a step from so near ends within 1e-13, as errors are cubed.
LAST = cython.declare(cython.double, 1e-5)
EVEN = cython.declare(cython.double, 1.001)  # slope by rise, up to which log f is log-normal
MOST_AWAY = cython.declare(cython.double, 700.0)  # its exponential is a double
MOST_VARIANCE = cython.declare(cython.double, 1200.0)  # beyond it every interval is all of (0, 1)


@cython.cfunc
@cython.exceptval(check=False)
def below(deviations: cython.double) -> cython.double:
    """Return the share of a normal distribution below a number of deviations."""
    return 0.5 * erfc(-deviations * ROOT_HALF)


@cython.cfunc
@cython.exceptval(check=False)
def reach(
    share: cython.double,
    rest: cython.double,
    variance: cython.double,
    tail: cython.double,
    deviations: cython.double,
) -> cython.double:
    """Return how far the lower end lies below the answer, in log-odds; the upper end, with share and rest exchanged.
    `share` is the probability, `rest` that of all other classes, `variance` that of the log-odds. `tail` is the share
    beyond an end, `deviations` those of a normal distribution with this share beyond them.
    """
    deviation: cython.double = sqrt(variance)
    half: cython.double = 0.5 * deviation
    near: cython.double = deviations
    far: cython.double = deviations + half
    if share * below(-near - half) + rest * below(half - near) <= tail:
        return deviations * deviation
    at = far
    for _ in range(MOST_STEPS):  # Halley's steps, by halves where they would leave the bounds
        excess = share * below(-at - half) + rest * below(half - at) - tail
        if far - near < NEAR:
            break
        if excess > 0.0:
            near = at
        else:
            far = at
        high = DENSITY * share * exp(-0.5 * (at + half) * (at + half))
        low = DENSITY * rest * exp(-0.5 * (at - half) * (at - half))
        slope = high + low
        bend = high * (at + half) + low * (at - half)
        bend = 2.0 * slope * slope - excess * bend
        at = at + 2.0 * excess * slope / bend if bend > 0.0 else 0.5 * (near + far)
        if not near <= at <= far:
            at = 0.5 * (near + far)
        elif abs(excess) <= LAST * tail:
            break
    return at * deviation


@cython.cfunc
@cython.exceptval(check=False)
def lower_end(
    share: cython.double,
    rest: cython.double,
    variance: cython.double,
    tail: cython.double,
    deviations: cython.double,
) -> cython.double:
    """Return the lower end of the interval of a probability; arguments as `reach` takes them."""
    if variance <= 0.0 or rest <= 0.0 or share <= 0.0:
        return share
    away = reach(share, rest, min(variance, MOST_VARIANCE), tail, deviations)
    # Each operation rounds monotonically, so that levels nest; the last digit of the answer may be rounded otherwise.
    return min(share, share / (share + rest * exp(away)))


@cython.cfunc
@cython.exceptval(check=False)
def upper_end(
    share: cython.double,
    rest: cython.double,
    variance: cython.double,
    tail: cython.double,
    deviations: cython.double,
) -> cython.double:
    """Return the upper end of the interval of a probability; arguments as `reach` takes them."""
    if variance <= 0.0 or rest <= 0.0 or share <= 0.0:
        return share
    away = reach(rest, share, min(variance, MOST_VARIANCE), tail, deviations)
    return max(share, share / (share + rest * exp(-away)))


@cython.cfunc
@cython.exceptval(check=False)
def hull_end(
    share: cython.double, rest: cython.double, variance: cython.double, deviations: cython.double
) -> cython.double:
    """Return a bound of the lower end of a probability's interval that takes no search: the end is not below it."""
    if variance <= 0.0 or rest <= 0.0 or share <= 0.0:
        return share
    deviation: cython.double = sqrt(min(variance, MOST_VARIANCE))
    return share / (share + rest * exp(min((deviations + 0.5 * deviation) * deviation, MOST_AWAY)))


@cython.cfunc
@cython.exceptval(check=False)
def deviations_beyond(tail: cython.double) -> cython.double:
    """Return the deviations of a normal distribution with a share of less than a half beyond them, to 5e-4."""
    t: cython.double = sqrt(-2.0 * log(tail))
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (
        1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))
    )


@cython.cfunc
@cython.exceptval(check=False)
def parameter_of(ratio: cython.double) -> cython.double:
    """Return u = 1/a of the cells whose slope is so many times their rise: u / log(1 + u) = ratio."""
    above: cython.double = ratio - 1.0
    u: cython.double = above * (2.0 + above / 1.5) if ratio < 2.0 else 1.3 * ratio * log(ratio)
    for _ in range(MOST_STEPS):  # Newton's steps, whose errors are squared
        rise = log1p(u)
        step = (u - ratio * rise) * rise / (rise - u / (1.0 + u))
        u -= step
        if fabs(step) < 1e-3 * u:
            break
    return u


@cython.cfunc
@cython.exceptval(check=False)
def certain_end(
    share: cython.double,
    rest: cython.double,
    rise: cython.double,
    slope: cython.double,
    rise_of_rest: cython.double,
    tail: cython.double,
) -> cython.double:
    """Return the share that a probability falls to where another label is true, with the probability `tail` of falling
    farther; the share itself if another label is too improbable. `rise` and `slope` are those of its score.
    """
    mean: cython.double = 0.5 * rise
    variance: cython.double = rise
    skew: cython.double = 0.0
    if rest <= 2.0 * tail or share <= 0.0 or rise <= 0.0:
        return share
    if slope > EVEN * rise:
        u: cython.double = parameter_of(slope / rise)
        cells: cython.double = rise / log1p(u)
        rounded: cython.double = u / (1.0 + 0.5 * u)
        mean = cells * (u - log1p(0.5 * u))
        variance = cells * (u * u + rounded)
        skew = cells * (2.0 * u * u * u + rounded * rounded)  # minus the third moment about the mean
    mean += 0.5 * rise_of_rest
    variance += rise_of_rest
    skew /= variance * sqrt(variance)
    deviations: cython.double = deviations_beyond(tail / rest)
    deviations += (deviations * deviations - 1.0) * skew / 6.0  # Cornish and Fisher's
    return share / (share + rest * exp(min(mean + deviations * sqrt(variance), MOST_AWAY)))


@cython.cfunc
@cython.exceptval(check=False)
def mixed_variance(share: cython.double, parts: cython.double) -> cython.double:
    """Return the variance of the log-odds of a mixture, its weights held. `share` is the probability that the mixture
    gives. `parts` is the sum of w p (1 - p) V over its parts, with the weight, probability and variance of each.
    """
    spread: cython.double = share * (1.0 - share)
    return parts / spread if spread > 0.0 else 0.0


def interval(
    share: cython.double,
    rest: cython.double,
    variance: cython.double,
    tail: cython.double,
    deviations: cython.double,
) -> tuple:
    """Return the interval of a probability; arguments as `reach` takes them."""
    return (
        float(lower_end(share, rest, variance, tail, deviations)),
        float(upper_end(share, rest, variance, tail, deviations)),
    )
