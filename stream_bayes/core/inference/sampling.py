"""Probabilities from samples, and how far they can be trusted.

Likelihood weighting draws rows with parents before children, sets what is known, and weighs each row by the probability
of that. Gibbs sampling draws one variable after another given all the others, in several chains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.inference._findings import Findings
from stream_bayes.core.inference._sampling import Sampler
from stream_bayes.core.inference.coded_network import CodedNetwork
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, ImpossibleEvidence, NotSupported

__all__ = [
    "Estimate",
    "SamplingSettings",
    "chain_estimate",
    "drawn_rows",
    "estimates",
    "weighted_estimate",
]

Codes: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.float64]

AT_ONCE = 2**18  # numbers of chance: two megabytes


@dataclass(frozen=True, slots=True)
class Estimate:
    """Probabilities of the cells of a table, from samples.

    Parameters
    ----------
    shares
        The probability of each cell.
    errors
        Its standard error.
    effective
        How many independent samples would say as much, of the cell about which they say least.
    r_hat
        The largest ratio of any cell; None without chains.
    """

    shares: Numbers
    errors: Numbers
    effective: float
    r_hat: float | None = None


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How many samples are counted; of Gibbs sampling also how many chains they come from, and how many sweeps of each
    come before and are not counted.
    """

    samples: int
    chains: int
    burn_in: int

    def __post_init__(self) -> None:
        for name, least in (("samples", 1), ("chains", 2), ("burn_in", 0)):
            number = getattr(self, name)
            if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or number < least:
                raise BadValue(f"{name}: expected a whole number of at least {least}, got {shown(number)}")


def estimates(
    method: str,
    network: CodedNetwork,
    findings: Findings,
    groups: Sequence[Sequence[int]],
    settings: SamplingSettings,
    rng: np.random.Generator,
) -> Iterator[Estimate]:
    """For each group of variables the probabilities of their combinations, the last one's code fastest, from the same
    samples.

    Raises
    ------
    ImpossibleEvidence
        If no sample agrees with what is known.
    NotSupported
        If Gibbs sampling is asked for where a table holds a zero.
    """
    asked = sorted({v for group in groups for v in group})
    findings.need_for(np.array([v for v in asked if findings.observed[v] < 0], np.longlong))
    sampler = Sampler(findings, network.order)
    log_weights = np.zeros(0)
    if method == "gibbs":
        check_positive(network, findings)
        codes = _chains(sampler, network, asked, settings, rng)
    else:
        codes, log_weights = drawn_rows(sampler, network, asked, settings.samples, rng)
        if log_weights.max() == -np.inf:
            raise ImpossibleEvidence(
                f"none of {settings.samples:,} samples agrees with the evidence: it is impossible or very improbable; "
                "take more samples or an exact answer"
            )
    column = {v: i for i, v in enumerate(asked)}
    for group in groups:
        cells = np.zeros(codes.shape[:-1], np.int64)
        size = 1
        for v in reversed(group):
            cells += codes[..., column[v]].astype(np.int64) * size
            size *= network.sizes[v]
        yield (
            chain_estimate(cells, size) if method == "gibbs" else weighted_estimate(cells, log_weights, size)
        )


def check_positive(network: CodedNetwork, findings: Findings) -> None:
    """Refuse Gibbs sampling where something that matters has probability zero: what is drawn one variable at a time may
    then never get from some rows to others.
    """
    conditionals = network.conditionals
    cells = np.asarray(conditionals.cells)
    for v, variable in enumerate(network.variables):
        if not findings.needed[v]:
            continue
        family = [*network.parents[v], v]
        shape = [network.sizes[u] for u in family]
        at = tuple([code if code >= 0 else slice(None) for code in (findings.observed[u] for u in family)])
        table = cells[conditionals.start[v] : conditionals.start[v + 1]].reshape(shape)
        if not table[at].all():
            what = f"the table of {shown(variable)} holds a probability of 0"
        elif findings.has_likelihood[v] and findings.zeros[v]:
            what = f"a likelihood of {shown(variable)} is 0"
        else:
            continue
        raise NotSupported(
            f"Gibbs sampling draws one variable at a time and may be caught where something is impossible, and {what}; "
            "take method='likelihood-weighting' or 'exact'"
        )


def drawn_rows(
    sampler: Sampler, network: CodedNetwork, asked: Sequence[int], samples: int, rng: np.random.Generator
) -> tuple[Codes, Numbers]:
    """Draw rows: their codes of the variables asked for, and the logarithms of their weights."""
    variables = len(network.sizes)
    kept = np.empty((samples, len(asked)), np.int32)
    log_weights = np.empty(samples)
    step = max(1, AT_ONCE // max(1, variables))
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        codes = np.empty((rows, variables), np.int32)
        sampler.draw(rng.random((rows, variables)), codes, log_weights[start : start + rows])
        kept[start : start + rows] = codes[:, asked]
    return kept, log_weights


def _chains(
    sampler: Sampler,
    network: CodedNetwork,
    asked: Sequence[int],
    settings: SamplingSettings,
    rng: np.random.Generator,
) -> Codes:
    """Run chains, each from a row drawn with parents before children: codes by chain, sweep and variable asked for."""
    variables = len(network.sizes)
    # With fewer, nothing is known of the spread in half chains.
    sweeps = max(4, -(-settings.samples // settings.chains))
    kept = np.empty((settings.chains, sweeps, len(asked)), np.int32)
    step = max(1, AT_ONCE // max(1, variables))
    for chain in range(settings.chains):
        first = np.empty((1, variables), np.int32)
        sampler.draw(rng.random((1, variables)), first, np.empty(1))
        state = first[0].copy()
        for start in range(-settings.burn_in, sweeps, step):
            rows = min(step, sweeps - start)
            codes = np.empty((rows, variables), np.int32)
            sampler.sweep(rng.random((rows, variables)), state, codes)
            if start + rows > 0:
                kept[chain, max(start, 0) : start + rows] = codes[max(-start, 0) :, asked]
    return kept


def weighted_estimate(cells: NDArray[np.int64], log_weights: Numbers, size: int) -> Estimate:
    """What rows say that lie in these cells and have these weights, at least one of them positive.

    Examples
    --------
    >>> found = weighted_estimate(np.array([0, 0, 1, 1]), np.log([1, 1, 1, 1.0]), size=2)
    >>> found.shares, found.effective
    (array([0.5, 0.5]), 4.0)
    """
    weights = np.exp(log_weights - log_weights.max())
    squares = weights**2
    own, own_square = np.bincount(cells, weights, size), np.bincount(cells, squares, size)
    total, total_square = own.sum(), own_square.sum()
    shares = own / total
    # The variance of a ratio of means: the sum of w^2 (1[row in cell] - share)^2, over the square of the weight.
    variance = (own_square * (1.0 - 2.0 * shares) + total_square * shares**2) / total**2
    effective = float(total**2 / total_square)
    return Estimate(shares, _at_least(np.sqrt(np.maximum(variance, 0.0)), effective), effective)


def chain_estimate(cells: NDArray[np.int64], size: int) -> Estimate:
    """What chains say that are in these cells, by chain and sweep. A cell's share is the mean of an indicator, judged
    by itself: R-hat between half chains, and the effective number from its autocorrelations (Geyer, 1992).
    """
    # Of an odd number both hold the one in the middle, so that none is left out.
    half = -(-cells.shape[1] // 2)
    halves = np.concatenate([cells[:, :half], cells[:, -half:]])
    shares = np.bincount(cells.ravel(), minlength=size) / cells.size
    judged = {
        cell: _judged((halves == cell).astype(float)) for cell in range(size) if 0.0 < shares[cell] < 1.0
    }
    least = min((effective for effective, _, _ in judged.values()), default=float(cells.size))
    errors = np.zeros(size)
    for cell, (effective, spread, _) in judged.items():
        errors[cell] = np.sqrt(spread / effective)
    r_hat = max((ratio for _, _, ratio in judged.values()), default=1.0)
    return Estimate(shares, _at_least(errors, least), least, r_hat)


def _at_least(errors: Numbers, effective: float) -> Numbers:
    return np.maximum(errors, min(1.0, 1.0 / effective))


def _judged(chains: Numbers) -> tuple[float, float, float]:
    """The effective number, the variance and R-hat of numbers by chain and sweep."""
    count, sweeps = chains.shape
    within = float(chains.var(axis=1, ddof=1).mean())
    between = float(chains.mean(axis=1).var(ddof=1))
    variance = within * (sweeps - 1) / sweeps + between
    r_hat = float(np.sqrt(variance / within)) if within > 0.0 else float("inf")
    correlation = 1.0 - (within - _autocovariance(chains).mean(axis=0)) / variance
    pairs = correlation[: sweeps // 2 * 2].reshape(-1, 2).sum(axis=1)
    pairs[0] += 1.0 - correlation[0]  # a number is wholly correlated with itself
    ends = np.flatnonzero(pairs < 0.0)
    pairs = np.minimum.accumulate(pairs[: ends[0] if len(ends) else len(pairs)])
    time = max(2.0 * pairs.sum() - 1.0, 1.0 / np.log10(max(count * sweeps, 10)))
    return float(count * sweeps / time), variance, r_hat


def _autocovariance(chains: Numbers) -> Numbers:
    sweeps = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * sweeps)) ** 2
    lags: Numbers = np.fft.irfft(power, 2 * sweeps)[:, :sweeps] / (sweeps - 1)
    return lags
