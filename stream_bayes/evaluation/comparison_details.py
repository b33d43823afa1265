"""Details of a comparison for its report: confusions, scores by label (`curves`), costs of decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Protocol

from stream_bayes.core.events.event import Event
from stream_bayes.evaluation.curves import Scores
from stream_bayes.evaluation.steps import EvaluationStep
from stream_bayes.learners.base.class_probabilities import most_probable

__all__ = ["CostRule", "Details"]

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


class Details:
    """Details of a comparison, gathered from its answers. `rule` has the costs of mistakes; None if there are none.

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
        self._expected: dict[str, float] = defaultdict(float)  # the sum of the expected costs

    def add(
        self, name: str, step: EvaluationStep, probabilities: Mapping[Any, float], predicted: Any
    ) -> None:
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
            risk = sum(p * self.rule.of(label, decision) for label, p in probabilities.items())
            self._expected[name] += step.weight * risk
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
            scores.add(probability, step.weight, is_label=label == step.y)

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

    def mean_expected_costs(self) -> dict[str, float]:
        """Return the mean cost that each learner expected of its decisions; empty without costs.

        It is the mean cost where probabilities are right; a lower one shows that the learner is too sure.
        """
        return {
            name: expected / sum(self.confusions[name].values()) for name, expected in self._expected.items()
        }
