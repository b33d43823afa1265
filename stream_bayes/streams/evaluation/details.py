"""Details of a comparison for its report: confusions, scores by label, costs of decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Protocol

from stream_bayes.core.events.event import Event
from stream_bayes.learners.classifier.predictions import most_probable
from stream_bayes.streams.evaluation.steps import Step

__all__ = ["BINS", "CostRule", "Details", "Scores"]

BINS = 200  # of probabilities, for curves
MAX_LABELS = 50  # with scores; the labels that came first
RECENT = 200  # samples kept to explain


class CostRule(Protocol):
    """Costs of mistakes, and the decision with the least expected cost."""

    def of(self, label: Any, decision: Any) -> float:
        """Return the cost of a decision under a label."""
        ...

    def decide(self, probabilities: Mapping[Any, float]) -> Any:
        """Return the decision."""
        ...


class Scores:
    """The probabilities that a learner gave to one label, counted in bins, with that label and with others."""

    def __init__(self) -> None:
        self.positive = [0.0] * BINS
        self.negative = [0.0] * BINS

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


class Details:
    """Details of a comparison, gathered from its answers.

    Parameters
    ----------
    rule
        Costs of mistakes; None if there are none.

    Attributes
    ----------
    confusions
        By learner: the weight of each pair (label, decision).
    scores
        By learner and label: `Scores`; empty for a learner without probabilities.
    recent
        The last samples.
    """

    def __init__(self, rule: CostRule | None = None) -> None:
        self.rule = rule
        self.confusions: dict[str, dict[tuple[Any, Any], float]] = {}
        self.scores: dict[str, dict[Any, Scores]] = {}
        self.recent: list[Mapping[Any, Any]] = []
        self._first: str | None = None

    def add(self, name: str, step: Step, probabilities: Mapping[Any, float], predicted: Any) -> None:
        """Add a learner's answer to a sample whose label is known."""
        if self._first is None:
            self._first = name
        if name == self._first:
            self.recent.append(step.event.x if isinstance(step.event, Event) else step.x)
            del self.recent[:-RECENT]
        if not probabilities:
            return
        if self.rule is not None:
            decision = self.rule.decide(probabilities)
        else:
            decision = most_probable(probabilities) if predicted is ... else predicted
        counts = self.confusions.setdefault(name, defaultdict(float))
        counts[step.y, decision] += step.weight
        own = self.scores.setdefault(name, {})
        for label, probability in probabilities.items():
            scores = own.get(label)
            if scores is None:
                if len(own) >= MAX_LABELS:
                    continue
                scores = own[label] = Scores()
            place = min(int(probability * BINS), BINS - 1)
            if label == step.y:
                scores.positive[place] += step.weight
            else:
                scores.negative[place] += step.weight

    def labels(self) -> list[Any]:
        """Return the labels that came."""
        return list(dict.fromkeys(label for counts in self.confusions.values() for label, _ in counts))

    def mean_costs(self) -> dict[str, float]:
        """Return the mean cost of each learner's decisions; empty without costs."""
        if self.rule is None:
            return {}
        means = {}
        for name, counts in self.confusions.items():
            total = sum(weight * self.rule.of(*pair) for pair, weight in counts.items())
            means[name] = total / sum(counts.values())
        return means
