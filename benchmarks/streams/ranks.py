"""Mean ranks of models over streams, and the difference of ranks that chance seldom makes (Demsar, 2006)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from scipy import stats

__all__ = ["critical_difference", "mean_ranks", "picture"]


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
