"""Curves of a learner's probabilities: precision and recall, and the cost of a decision, at each threshold."""

from __future__ import annotations

__all__ = ["Scores"]

BINS = 200  # of probabilities


class Scores:
    """The probabilities that a learner gave to one label, counted in bins, with that label and with others."""

    def __init__(self) -> None:
        self.positive = [0.0] * BINS
        self.negative = [0.0] * BINS

    def add(self, probability: float, weight: float, *, is_label: bool) -> None:
        """Count a probability of the label, for a sample with it or with another one."""
        place = min(int(probability * BINS), BINS - 1)
        (self.positive if is_label else self.negative)[place] += weight

    def precision_recall(self) -> list[tuple[float, float]]:
        """Return (recall, precision) at each threshold, from the highest threshold to the lowest.

        Examples
        --------
        >>> scores = Scores()
        >>> scores.positive[190], scores.negative[100], scores.positive[10] = 3.0, 1.0, 1.0
        >>> scores.precision_recall()
        [(0.75, 1.0), (0.75, 0.75), (1.0, 0.8)]
        """
        total, hits, alarms, points = sum(self.positive), 0.0, 0.0, []
        for positive, negative in zip(reversed(self.positive), reversed(self.negative), strict=True):
            hits, alarms = hits + positive, alarms + negative
            if positive or negative:
                points.append((hits / total if total else 0.0, hits / (hits + alarms)))
        return points

    def costs(self, missed: float = 1.0, false_alarm: float = 1.0) -> list[tuple[float, float]]:
        """Return (threshold, mean cost) where the label is decided from each threshold on.

        Examples
        --------
        >>> scores = Scores()
        >>> scores.positive[190], scores.negative[10] = 1.0, 3.0
        >>> curve = dict(scores.costs(missed=2.0))
        >>> curve[0.0], curve[0.5], curve[1.0]
        (0.75, 0.0, 0.5)
        """
        total = sum(self.positive) + sum(self.negative)
        lost, alarms, points = 0.0, sum(self.negative), []
        for place in range(BINS + 1):
            points.append((place / BINS, (missed * lost + false_alarm * alarms) / total if total else 0.0))
            if place < BINS:
                lost, alarms = lost + self.positive[place], alarms - self.negative[place]
        return points
