"""Drift of each feature's distribution: events of a reference against those of now.

Each feature is tested twice: its values, by Kolmogorov and Smirnov's test of two samples if they are numbers and by the
chi-square test if they are names; and, if any is missing, the shares of missing values, by Fisher's exact test. The
p-values of all tests together are adjusted after Benjamini and Hochberg (1995): of the features that are said to have
drifted at level 0.05, at most 5 % are expected not to have. The tests take events for independent; events that
resemble their neighbours make p-values too small.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stream_bayes.core.values.values import is_missing

__all__ = ["LEVEL", "FeatureDrift", "ShareOfValue", "drift_of_features"]

LEVEL = 0.05  # of the false discovery rate
LEAST_VALUES = 30  # in each sample, for a test
LEAST_EXPECTED = 5.0  # events of a cell of the chi-square test; rarer values share one
MOST_NAMED = 10  # distinct numbers are compared as names
MOST_SHOWN = 8  # values or bins of a distribution
EventValues = Mapping[Any, Any]


@dataclass(frozen=True)
class ShareOfValue:
    """The share of a value, or of a bin of numbers, in both samples."""

    value: Any  # a name; of numbers the bounds of a bin, low and high; None for all further values
    before: float
    now: float


@dataclass(frozen=True)
class FeatureDrift:
    """The change of the distribution of a feature. Adjusted p-values are None where nothing was tested."""

    name: Any
    kind: str  # "numeric" or "nominal"
    distance: float | None  # the largest distance of distribution functions; of names the total variation
    p: float | None
    adjusted: float | None
    missing_before: float
    missing_now: float
    missing_p: float | None
    missing_adjusted: float | None
    unseen: float  # the share of values of now that the reference has not: other names, or numbers out of its range
    shares: list[ShareOfValue]

    @property
    def has_drifted(self) -> bool:
        """True if either test says so."""
        return any(q is not None and q <= LEVEL for q in (self.adjusted, self.missing_adjusted))


def drift_of_features(
    reference: Sequence[EventValues], now: Sequence[EventValues], names: Sequence[Any]
) -> list[FeatureDrift]:
    """Return the drift of these features between two samples of events, those of the smallest p-values first.

    Examples
    --------
    >>> reference = [{"sky": "grey", "wind": k % 20} for k in range(200)]
    >>> now = [{"sky": "blue", "wind": k % 20} for k in range(200)]
    >>> [(each.name, each.kind, each.has_drifted) for each in drift_of_features(reference, now, ["wind", "sky"])]
    [('sky', 'nominal', True), ('wind', 'numeric', False)]
    """
    compared = [_compared(name, reference, now) for name in names]
    return sorted(_adjusted(compared), key=lambda each: min(_ps(each), default=2.0))


def _ps(drift: FeatureDrift) -> list[float]:
    return [p for p in (drift.p, drift.missing_p) if p is not None]


def _adjusted(compared: Sequence[FeatureDrift]) -> list[FeatureDrift]:
    """Return the same with the p-values of all tests adjusted together."""
    from scipy.stats import false_discovery_control  # imported on use: it takes most of a second

    ps = [p for each in compared for p in _ps(each)]
    adjusted = iter(false_discovery_control(ps).tolist() if ps else [])
    return [
        replace(
            each,
            adjusted=None if each.p is None else next(adjusted),
            missing_adjusted=None if each.missing_p is None else next(adjusted),
        )
        for each in compared
    ]


def _compared(name: Any, reference: Sequence[EventValues], now: Sequence[EventValues]) -> FeatureDrift:
    before: list[Any] = [x.get(name) for x in reference]
    after: list[Any] = [x.get(name) for x in now]
    olds, news = ([value for value in column if not is_missing(value)] for column in (before, after))
    is_numeric = (
        all(map(_is_number, olds)) and all(map(_is_number, news)) and len({*olds, *news}) > MOST_NAMED
    )
    distance, p, unseen, shares = (_numbers if is_numeric else _names)(olds, news)
    missing = len(before) - len(olds), len(after) - len(news)
    return FeatureDrift(
        name=name,
        kind="numeric" if is_numeric else "nominal",
        distance=distance,
        p=p,
        adjusted=None,
        missing_before=missing[0] / len(before) if before else 0.0,
        missing_now=missing[1] / len(after) if after else 0.0,
        missing_p=_missing_p(missing, (len(olds), len(news))),
        missing_adjusted=None,
        unseen=unseen,
        shares=shares,
    )


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def _missing_p(missing: tuple[int, int], present: tuple[int, int]) -> float | None:
    if not any(missing) or min(missing[0] + present[0], missing[1] + present[1]) < LEAST_VALUES:
        return None
    from scipy.stats import fisher_exact

    return float(fisher_exact([missing, present])[1])


Compared = tuple[float | None, float | None, float, list[ShareOfValue]]  # distance, p, unseen, shares


def _numbers(olds: Sequence[float], news: Sequence[float]) -> Compared:
    if not olds or not news:
        return None, None, 0.0, []
    one, other = np.asarray(olds, np.float64), np.asarray(news, np.float64)
    unseen = float(np.mean((other < one.min()) | (other > one.max())))
    inner = np.unique(np.quantile(one, np.arange(1, MOST_SHOWN) / MOST_SHOWN))
    bins = [
        np.bincount(np.searchsorted(inner, each, "right"), minlength=len(inner) + 1) for each in (one, other)
    ]
    low, high = min(one.min(), other.min()), max(one.max(), other.max())
    bounds = [float(low), *inner.tolist(), float(high)]
    shares = [
        ShareOfValue([start, end], old / len(one), new / len(other))
        for start, end, old, new in zip(bounds, bounds[1:], *(each.tolist() for each in bins), strict=False)
    ]
    from scipy.stats import ks_2samp

    test = ks_2samp(one, other, method="asymp")
    p = float(test.pvalue) if min(len(one), len(other)) >= LEAST_VALUES else None
    return float(test.statistic), p, unseen, shares


def _names(olds: Sequence[Any], news: Sequence[Any]) -> Compared:
    if not olds or not news:
        return None, None, 0.0, []
    one, other = Counter(map(_name, olds)), Counter(map(_name, news))
    values = sorted({*one, *other}, key=lambda value: -(one[value] + other[value]))
    table = np.array([[one[value], other[value]] for value in values], np.float64)
    shares = table / table.sum(axis=0)
    distance = float(np.abs(shares[:, 0] - shares[:, 1]).sum() / 2)
    unseen = sum(count for value, count in other.items() if value not in one) / len(news)
    shown = [
        ShareOfValue(value, *each) for value, each in zip(values, shares[:MOST_SHOWN].tolist(), strict=False)
    ]
    if len(values) > MOST_SHOWN:
        shown.append(ShareOfValue(None, *shares[MOST_SHOWN:].sum(axis=0).tolist()))
    p = _chi_square_p(table) if min(len(olds), len(news)) >= LEAST_VALUES else None
    return distance, p, unseen, shown


def _chi_square_p(table: np.ndarray[Any, Any]) -> float | None:
    """Return the p-value of a table with a row for each value; None if only one row is frequent enough."""
    from scipy.stats import chi2_contingency

    expected = table.sum(axis=1) * table.sum(axis=0).min() / table.sum()
    is_frequent = expected >= LEAST_EXPECTED
    rest = table[~is_frequent].sum(axis=0)
    rows = table[is_frequent]
    if rest.sum() * table.sum(axis=0).min() / table.sum() >= LEAST_EXPECTED:
        rows = np.vstack([rows, rest])
    elif len(rows) and rest.any():
        rows[-1] += rest  # too few for a row of their own: with the rarest of the others
    return float(chi2_contingency(rows, correction=False)[1]) if len(rows) > 1 else None


def _name(value: Any) -> Any:
    """Return a value that can be counted, which lists and objects of JSON cannot."""
    return repr(value) if isinstance(value, (list, dict, set)) else value
