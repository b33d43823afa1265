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
from bisect import bisect_left, insort
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

    def add(self, score: float) -> None:
        """Add the score of a usual event."""
        insort(self._scores, score)

    def discard(self, score: float) -> None:
        """Remove a score that was added."""
        del self._scores[bisect_left(self._scores, score)]

    def __len__(self) -> int:
        return len(self._scores)

    def p_value(self, score: float, *, is_one: bool = False) -> float:
        """Return the probability of a score at least as high; 1 without any scores. `is_one` says that the score is one
        of the scores itself.
        """
        scores, number = self._scores, len(self._scores)
        higher, others = number - bisect_left(scores, score) - is_one, number - is_one
        size = int(TAIL * number)
        if size >= LEAST_TAIL and score > (begin := scores[number - size - 1]):
            counted = size - int(CENSORED * size)  # "r"
            last = scores[number - size + counted - 1]
            excess = math.fsum(each - begin for each in scores[number - size : number - size + counted])
            excess += (size - counted) * (last - begin)
            if 0.0 < excess < math.inf:
                share = (size + 1) / (others + 1) * math.exp(-counted * math.log1p((score - begin) / excess))
                return max(share, higher / (others + 1))
        return (higher + 1) / (others + 1)
