"""Which differences between models over streams are more than chance: mean ranks, and signed ranks of pairs.

Mean ranks with the critical differences of Nemenyi (all against all) and of Bonferroni and Dunn (one against all) are
from Demsar, Statistical Comparisons of Classifiers over Multiple Data Sets (2006). A difference of mean ranks depends
on the other models in the table; Wilcoxon's test of two models does not, and is therefore preferred by Benavoli,
Corani and Mangili, Should We Really Use Post-Hoc Tests Based on Mean-Ranks? (2016). Holm's correction keeps the chance
of any false finding among several tests below the level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from scipy import stats

__all__ = [
    "control_difference",
    "critical_difference",
    "holm",
    "mean_ranks",
    "picture",
    "signed_rank_probability",
]


def mean_ranks(table: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return each model's mean rank, the best first; 1 is the best, and equal figures share their ranks.

    Parameters
    ----------
    table
        The figure of each model on each stream; more is better.

    Examples
    --------
    >>> mean_ranks({"a": [0.9, 0.8], "b": [0.7, 0.8], "c": [0.6, 0.9]})
    {'a': 1.75, 'c': 2.0, 'b': 2.25}
    """
    columns = list(zip(*table.values(), strict=True))
    ranked = [stats.rankdata([-figure for figure in column]) for column in columns]
    means = {name: float(sum(ranks[k] for ranks in ranked) / len(ranked)) for k, name in enumerate(table)}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def critical_difference(models: int, streams: int, level: float = 0.05) -> float:
    """Return the least difference of mean ranks that is significant by Nemenyi's test.

    Examples
    --------
    >>> round(critical_difference(models=5, streams=30), 3)
    1.114
    """
    quantile = float(stats.studentized_range.ppf(1 - level, models, math.inf)) / math.sqrt(2)
    return quantile * math.sqrt(models * (models + 1) / (6 * streams))


def control_difference(models: int, streams: int, level: float = 0.05) -> float:
    """Return the least difference of mean ranks from one model that is significant by Bonferroni's and Dunn's test.

    Examples
    --------
    >>> round(control_difference(models=4, streams=14), 3)
    1.168
    """
    quantile = float(stats.norm.ppf(1 - level / (2 * (models - 1))))
    return quantile * math.sqrt(models * (models + 1) / (6 * streams))


def signed_rank_probability(differences: Sequence[float]) -> float:
    """Return the two-sided probability of differences at least as far from 0, by Wilcoxon's signed-rank test.

    Exact where differences are few, distinct and not 0; otherwise by the normal approximation, with the ranks of
    differences of 0 counted half to each side, as Demsar has them. 1 if all are 0.

    Examples
    --------
    >>> round(signed_rank_probability([0.5, 1.0, 2.5, 3.0, -0.25, 4.0, 0.75, 1.5]), 3)
    0.016
    """
    if not any(differences):
        return 1.0
    found = stats.wilcoxon(differences, zero_method="zsplit")
    return float(found.pvalue)


def holm(probabilities: Mapping[str, float]) -> dict[str, float]:
    """Return the probabilities of several tests, corrected by Holm's step-down procedure.

    Examples
    --------
    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.9})
    {'a': 0.04, 'b': 0.09, 'c': 0.09, 'd': 0.9}
    """
    corrected: dict[str, float] = {}
    least = 0.0
    for done, name in enumerate(sorted(probabilities, key=lambda name: probabilities[name])):
        least = max(least, min(1.0, (len(probabilities) - done) * probabilities[name]))
        corrected[name] = least
    return {name: corrected[name] for name in probabilities}


def picture(ranks: Mapping[str, float], difference: float, streams: int) -> str:
    """Return the ranks as SVG: a dot a model, and a bar as long as the critical difference."""
    left, step, line = 60, 60, 18
    width = left * 2 + step * (len(ranks) - 1) + 220
    height = 80 + line * len(ranks)

    def at(rank: float) -> float:
        return left + step * (rank - 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        f'<text x="{left}" y="16">mean rank over {streams} streams; '
        "shorter differences than the bar are not significant</text>",
        f'<path d="M{at(1)} 30h{step * difference:.1f}" stroke="black" stroke-width="4"/>',
        f'<path d="M{at(1)} 50H{at(len(ranks))}" stroke="grey"/>',
    ]
    parts += [
        f'<text x="{at(rank)}" y="46" text-anchor="middle" fill="grey">{rank}</text>'
        for rank in range(1, len(ranks) + 1)
    ]
    for row, (name, rank) in enumerate(ranks.items()):
        y = 68 + line * row
        parts.append(f'<path d="M{at(rank):.1f} 50V{y - 4}" stroke="lightgrey"/>')
        parts.append(f'<circle cx="{at(rank):.1f}" cy="{y - 4}" r="4"/>')
        parts.append(f'<text x="{at(rank) + 8:.1f}" y="{y}">{escape(name)} {rank:.2f}</text>')
    return "\n".join([*parts, "</svg>", ""])
