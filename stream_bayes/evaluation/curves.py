"""Curves of a learner's probabilities: precision and recall, and the cost of a decision, at each threshold."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Decisions", "Scores"]

BINS = 200  # of probabilities


class Decisions(NamedTuple):
    """The errors of deciding for a label from a threshold on."""

    threshold: float
    misses: float  # samples with the label below it
    false_alarms: float  # samples with another label from it on

    def cost(self, missed: float, false_alarm: float) -> float:
        """Return the total cost of the errors."""
        return missed * self.misses + false_alarm * self.false_alarms


class Scores:
    """The probabilities that a learner gave to one label, counted in bins, with that label and with others."""

    def __init__(self) -> None:
        self.positive = [0.0] * BINS
        self.negative = [0.0] * BINS

    def add(self, probability: float, weight: float, *, is_label: bool) -> None:
        """Count a probability of the label, for a sample with it or with another one."""
        bin_ = min(int(probability * BINS), BINS - 1)
        if bin_ < BINS - 1 and probability >= (bin_ + 1) / BINS:  # 0.29 * 200 is less than 58
            bin_ += 1
        (self.positive if is_label else self.negative)[bin_] += weight

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
        return [
            (each.threshold, each.cost(missed, false_alarm) / total if total else 0.0)
            for each in self.decisions()
        ]

    def decisions(self) -> list[Decisions]:
        """Return the errors at each threshold, the lowest first; at 1 the label is decided for no sample."""
        misses, alarms, points = 0.0, sum(self.negative), []
        for edge in range(BINS + 1):
            points.append(Decisions(edge / BINS, misses, alarms))
            if edge < BINS:
                misses, alarms = misses + self.positive[edge], alarms - self.negative[edge]
        return points

    def cheapest(self, missed: float = 1.0, false_alarm: float = 1.0) -> Decisions:
        """Return the threshold of the least cost; of equals the nearest to the one that is best for true probabilities.

        Examples
        --------
        >>> scores = Scores()
        >>> scores.positive[190], scores.negative[10] = 1.0, 3.0
        >>> scores.cheapest(missed=3.0)
        Decisions(threshold=0.25, misses=0.0, false_alarms=0.0)
        """
        nominal = false_alarm / (missed + false_alarm)
        return min(
            self.decisions(), key=lambda each: (each.cost(missed, false_alarm), abs(each.threshold - nominal))
        )
