"""The probability that an event as usual scores at least as high as one that came: a p-value of its surprise.

Of n scores of usual events, k are at least s. Within them the p-value of s is (k + 1) / (n + 1): if events are
exchangeable, it is at most p with a probability of at most p. Beyond, scores have an exponential tail, where densities
fall like those of Gaussians, Student's t or lists of names. Let u be below the highest m scores, a tenth of them, and E
the sum of what these exceed u by. The highest quarter of them counts with the excess of the first of it alone, so that
odd events among the usual ones hide no others; r are below it. The posterior of the tail's rate gives

    p(s) = max((m + 1) / (n + 1) (1 + (s - u) / E)^-r, k / (n + 1))         s > u

The first is the mean over the rates that the scores allow, so it is above that of the best rate, the more so the fewer
there are; it is exact for an exponential tail, of which the highest scores are known to be high, and no more.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable

__all__ = ["ScoreTail"]

TAIL = 0.1  # of the scores
CENSORED = 0.25  # of the tail
LEAST_TAIL = 10  # scores, for the tail to go on beyond them


class ScoreTail:
    """The distribution of the scores of usual events, with its tail.

    Examples
    --------
    >>> tail = ScoreTail([k / 100 for k in range(200)])
    >>> tail.p_value(1.0), round(tail.p_value(2.5), 3), 0.0 < tail.p_value(1e9) < 1e-90
    (0.5024875621890548, 0.001, True)
    """

    def __init__(self, scores: Iterable[float]) -> None:
        self._scores = sorted(scores)
        number = len(self._scores)
        size = int(TAIL * number)
        self._size = size if size >= LEAST_TAIL else 0
        self._counted = self._size - int(CENSORED * self._size)  # "r"
        self._begin, self._excess = math.inf, 0.0
        if self._size:
            begin, *tail = self._scores[number - size - 1 :]
            self._begin = begin
            self._excess = math.fsum(min(score, tail[self._counted - 1]) - begin for score in tail)

    def __len__(self) -> int:
        return len(self._scores)

    def p_value(self, score: float, *, is_one: bool = False) -> float:
        """Return the probability of a score at least as high; 1 without any scores. `is_one` says that the score is one
        of the scores itself.
        """
        number = len(self._scores) - is_one
        higher = len(self._scores) - bisect_left(self._scores, score) - is_one
        if score <= self._begin or not 0.0 < self._excess < math.inf:
            return (higher + 1) / (number + 1)
        beyond = math.log1p((score - self._begin) / self._excess)
        share = (self._size + 1) / (number + 1) * math.exp(-self._counted * beyond)
        return max(share, higher / (number + 1))
