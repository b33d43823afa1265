"""The explanation of a score, as a table of tokens."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["SpamExplanation", "TokenContribution"]

_LINES = 20
_WIDTH = 44


class TokenContribution(NamedTuple):
    """The contribution of one token to a score."""

    token: str  # with a key, its hash
    adds: float  # its part of the score; above 0 for spam
    # The messages of each label that hold it, long ones in part; NaN with a learner, which has no such counts.
    wanted: float
    unwanted: float


@dataclass(frozen=True)
class SpamExplanation:
    """A score, and the contribution of each token.

    Parameters
    ----------
    labels
        The wanted and the unwanted label.
    score
        The sum of the contributions.
    probability
        The probability of the unwanted label.
    verdict
        The decision by the costs.
    tokens
        The tokens that were learned, by falling size of contribution.

    Examples
    --------
    >>> print(SpamExplanation(("ham", "spam"), 1.5, 0.8, "unsure", (TokenContribution("free", 1.5, 0.0, 12.0),)))
    unsure: score 1.500, P(spam) = 0.8000
                                                     adds        ham       spam
    free                                           +1.500        0.0       12.0
    """

    labels: tuple[Hashable, Hashable]
    score: float
    probability: float
    verdict: Any
    tokens: tuple[TokenContribution, ...]

    def __str__(self) -> str:
        wanted, unwanted = (str(label) for label in self.labels)
        lines = [f"{self.verdict}: score {self.score:.3f}, P({unwanted}) = {self.probability:.4f}"]
        lines.append(f"{'':{_WIDTH}} {'adds':>8} {wanted:>10} {unwanted:>10}")
        for token, adds, one, other in self.tokens[:_LINES]:
            shown = token if len(token) <= _WIDTH else token[: _WIDTH - 1] + "…"
            lines.append(f"{shown:{_WIDTH}} {adds:>+8.3f} {_count(one):>10} {_count(other):>10}")
        left = len(self.tokens) - _LINES
        if left > 0:
            lines.append(f"... and {left} more")
        return "\n".join(lines)


def _count(messages: float) -> str:
    return "" if math.isnan(messages) else f"{messages:.1f}"
