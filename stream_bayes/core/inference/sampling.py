"""Probabilities from samples, with their reliability.

Likelihood weighting draws rows with parents before children, sets observed variables to their codes, and weights each
row by the probability of these. Gibbs sampling draws one variable after another given all others, in several chains.
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
    "SampledTable",
    "SamplingSettings",
    "chain_estimate",
    "drawn_rows",
    "estimates",
    "weighted_estimate",
]

Codes: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]

RANDOM_NUMBERS = 2**18  # drawn at once: two megabytes


@dataclass(frozen=True, slots=True)
class SampledTable:
    """Probabilities of the cells of a table, from samples."""

    shares: Floats  # the probability of each cell
    errors: Floats  # the standard error of each
    effective: float  # the effective number of samples of the least certain cell
    r_hat: float | None = None  # the largest R-hat of any cell; None without chains


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """Numbers of samples, and for Gibbs sampling of chains and of uncounted sweeps at the start of each chain."""

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
) -> Iterator[SampledTable]:
    """Yield, for each group of variables, their joint probabilities, all estimated from the same samples.

    In the arrays the code of a group's last variable varies fastest.

    Raises
    ------
    ImpossibleEvidence
        If no sample agrees with the evidence.
    NotSupported
        If the method is Gibbs sampling and a needed table has a zero.
    """
    wanted = sorted({v for group in groups for v in group})
    findings.need_for(np.array([v for v in wanted if findings.observed[v] < 0], np.longlong))
    sampler = Sampler(findings, network.order)
    log_weights = np.zeros(0)
    if method == "gibbs":
        check_positive(network, findings)
        codes = _chains(sampler, network, wanted, settings, rng)
    else:
        codes, log_weights = drawn_rows(sampler, network, wanted, settings.samples, rng)
        if log_weights.max() == -np.inf:
            raise ImpossibleEvidence(
                f"none of {settings.samples:,} samples agrees with the evidence: it is impossible or very improbable; "
                "take more samples or an exact answer"
            )
    column = {v: i for i, v in enumerate(wanted)}
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
    """Raise `NotSupported` if a needed table has a zero: a Gibbs chain might never get from some rows to others."""
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
            reason = f"the table of {shown(variable)} holds a probability of 0"
        elif findings.has_likelihood[v] and findings.zeros[v]:
            reason = f"a likelihood of {shown(variable)} is 0"
        else:
            continue
        raise NotSupported(
            f"Gibbs sampling changes one variable at a time, so a probability of 0 can trap it, and {reason}; use "
            "method='likelihood-weighting' or 'exact'"
        )


def drawn_rows(
    sampler: Sampler, network: CodedNetwork, wanted: Sequence[int], samples: int, rng: np.random.Generator
) -> tuple[Codes, Floats]:
    """Draw rows; return the codes of some variables, and the logarithms of the rows' weights."""
    variables = len(network.sizes)
    drawn = np.empty((samples, len(wanted)), np.int32)
    log_weights = np.empty(samples)
    step = max(1, RANDOM_NUMBERS // max(1, variables))
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        codes = np.empty((rows, variables), np.int32)
        sampler.draw(rng.random((rows, variables)), codes, log_weights[start : start + rows])
        drawn[start : start + rows] = codes[:, wanted]
    return drawn, log_weights


def _chains(
    sampler: Sampler,
    network: CodedNetwork,
    wanted: Sequence[int],
    settings: SamplingSettings,
    rng: np.random.Generator,
) -> Codes:
    """Run Gibbs chains, each from a forward sample; return codes by chain, sweep and variable."""
    variables = len(network.sizes)
    # Fewer sweeps do not show the spread within half chains.
    sweeps = max(4, -(-settings.samples // settings.chains))
    drawn = np.empty((settings.chains, sweeps, len(wanted)), np.int32)
    step = max(1, RANDOM_NUMBERS // max(1, variables))
    for chain in range(settings.chains):
        first = np.empty((1, variables), np.int32)
        sampler.draw(rng.random((1, variables)), first, np.empty(1))
        state = first[0].copy()
        for start in range(-settings.burn_in, sweeps, step):
            rows = min(step, sweeps - start)
            codes = np.empty((rows, variables), np.int32)
            sampler.sweep(rng.random((rows, variables)), state, codes)
            if start + rows > 0:
                drawn[chain, max(start, 0) : start + rows] = codes[max(-start, 0) :, wanted]
    return drawn


def weighted_estimate(cells: NDArray[np.int64], log_weights: Floats, size: int) -> SampledTable:
    """Estimate probabilities from the cells and log-weights of rows, at least one of positive weight.

    Examples
    --------
    >>> found = weighted_estimate(np.array([0, 0, 1, 1]), np.log([1, 1, 1, 1.0]), size=2)
    >>> found.shares, found.effective
    (array([0.5, 0.5]), 4.0)
    """
    weights = np.exp(log_weights - log_weights.max())
    squares = weights**2
    cell_weight, cell_square = np.bincount(cells, weights, size), np.bincount(cells, squares, size)
    total, total_square = cell_weight.sum(), cell_square.sum()
    shares = cell_weight / total
    # The variance of a ratio of means: the sum of w^2 (1[row in cell] - share)^2, over the square of the weight.
    variance = (cell_square * (1.0 - 2.0 * shares) + total_square * shares**2) / total**2
    effective = float(total**2 / total_square)
    return SampledTable(shares, _at_least(np.sqrt(np.maximum(variance, 0.0)), effective), effective)


def chain_estimate(cells: NDArray[np.int64], size: int) -> SampledTable:
    """Estimate probabilities from cells by chain and sweep.

    Each cell's share is the mean of an indicator, with its own R-hat between half chains and its own effective number
    from autocorrelations (Geyer, 1992).
    """
    # With an odd number of sweeps both halves contain the middle one, so that none is left out.
    half = -(-cells.shape[1] // 2)
    halves = np.concatenate([cells[:, :half], cells[:, -half:]])
    shares = np.bincount(cells.ravel(), minlength=size) / cells.size
    diagnosed = {
        cell: _diagnose((halves == cell).astype(float)) for cell in range(size) if 0.0 < shares[cell] < 1.0
    }
    least = min((effective for effective, _, _ in diagnosed.values()), default=float(cells.size))
    errors = np.zeros(size)
    for cell, (effective, spread, _) in diagnosed.items():
        errors[cell] = np.sqrt(spread / effective)
    r_hat = max((ratio for _, _, ratio in diagnosed.values()), default=1.0)
    return SampledTable(shares, _at_least(errors, least), least, r_hat)


def _at_least(errors: Floats, effective: float) -> Floats:
    return np.maximum(errors, min(1.0, 1.0 / effective))


def _diagnose(chains: Floats) -> tuple[float, float, float]:
    """Return the effective number, the variance and R-hat of numbers by chain and sweep."""
    count, sweeps = chains.shape
    within = float(chains.var(axis=1, ddof=1).mean())
    between = float(chains.mean(axis=1).var(ddof=1))
    variance = within * (sweeps - 1) / sweeps + between
    r_hat = float(np.sqrt(variance / within)) if within > 0.0 else float("inf")
    correlation = 1.0 - (within - _autocovariance(chains).mean(axis=0)) / variance
    pairs = correlation[: sweeps // 2 * 2].reshape(-1, 2).sum(axis=1)
    pairs[0] += 1.0 - correlation[0]  # the correlation at lag 0 is 1
    ends = np.flatnonzero(pairs < 0.0)
    pairs = np.minimum.accumulate(pairs[: ends[0] if len(ends) else len(pairs)])
    time = max(2.0 * pairs.sum() - 1.0, 1.0 / np.log10(max(count * sweeps, 10)))
    return float(count * sweeps / time), variance, r_hat


def _autocovariance(chains: Floats) -> Floats:
    sweeps = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * sweeps)) ** 2
    return np.fft.irfft(power, 2 * sweeps)[:, :sweeps] / (sweeps - 1)
