"""Costs of mistakes on the command line: `--cost LABEL:DECISION=COST`, and decisions by the least expected cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from stream_bayes.errors import BadValue
from stream_bayes.learners.decision_rules import Costs

__all__ = ["Cost", "MistakeCosts", "Unsure", "mistake_costs"]

UNSURE = "unsure"

Cost = Annotated[
    list[str],
    typer.Option(
        "--cost",
        help="Cost of a mistake, as LABEL:DECISION=COST, such as ham:spam=30. Others cost 1. Repeatable.",
    ),
]
Unsure = Annotated[
    float | None,
    typer.Option(help="Cost of not deciding; the decision is then 'unsure' where that is least.", min=0),
]


class MistakeCosts:
    """The cost of each mistake; 1 if it is not given, 0 for the right decision.

    Parameters
    ----------
    given
        `{(label, decision): cost}`.
    unsure
        Cost of not deciding; None if a decision is always made.

    Examples
    --------
    >>> costs = MistakeCosts({("ham", "spam"): 30.0})
    >>> costs.decide({"ham": 0.1, "spam": 0.9}), costs.of("ham", "spam"), costs.of("spam", "ham")
    ('ham', 30.0, 1.0)
    """

    def __init__(self, given: Mapping[tuple[str, str], float], unsure: float | None = None) -> None:
        self.given = dict(given)
        self.unsure = unsure
        self._rule = cache(self._make_rule)

    def of(self, label: Any, decision: Any) -> float:
        """Return the cost of a decision under a label."""
        if self.unsure is not None and decision == UNSURE:
            return self.unsure
        return 0.0 if label == decision else self.given.get((str(label), str(decision)), 1.0)

    def decide(self, probabilities: Mapping[Any, float]) -> Any:
        """Return the decision with the least expected cost; None without probabilities."""
        if not probabilities:
            return None
        return self._rule(tuple(probabilities)).decide(probabilities)

    def check(self, labels: Iterable[Any]) -> None:
        """Raise `BadValue` for a cost of an unknown label."""
        known = list(map(str, labels))
        for pair in self.given:
            for label in pair:
                if label not in known:
                    raise BadValue(
                        f"--cost {pair[0]}:{pair[1]}: there is no label {label!r}; the labels are {', '.join(known)}"
                    )

    def _make_rule(self, labels: tuple[Any, ...]) -> Costs:
        decisions = [*labels, UNSURE] if self.unsure is not None else labels
        return Costs(
            {decision: {label: self.of(label, decision) for label in labels} for decision in decisions}
        )


def mistake_costs(given: Sequence[str], unsure: float | None) -> MistakeCosts | None:
    """Return the costs given on the command line; None if there are none.

    Raises
    ------
    BadValue
        If one is not LABEL:DECISION=COST.
    """
    costs: dict[tuple[str, str], float] = {}
    for text in given:
        mistake, equals, cost = text.rpartition("=")
        label, colon, decision = mistake.partition(":")
        try:
            value = float(cost)
        except ValueError:
            value = math.nan
        if (
            not equals
            or not colon
            or not label
            or not decision
            or not 0 <= value < math.inf
            or label == decision
        ):
            raise BadValue(f"--cost {text}: expected LABEL:DECISION=COST, such as ham:spam=30")
        costs[label, decision] = value
    return MistakeCosts(costs, unsure) if costs or unsure is not None else None
