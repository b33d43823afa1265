"""Decision rules on the command line.

`--cost LABEL:DECISION=COST` decides by the least expected cost, `--threshold LABEL=P` by least probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

import typer

from stream_bayes.errors import BadValue
from stream_bayes.learners.wrappers.decision_rules import Costs, Thresholds

__all__ = ["UNSURE", "DecisionOptions", "MistakeCosts"]

UNSURE = "unsure"


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """The options that turn probabilities into decisions."""

    cost: Annotated[
        list[str],
        typer.Option(
            "--cost",
            help="Cost of a mistake, as LABEL:DECISION=COST, such as ham:spam=30. Others cost 1. Repeatable.",
        ),
    ] = field(default_factory=list)
    unsure: Annotated[
        float | None,
        typer.Option(help="Cost of not deciding. The decision is 'unsure' if that costs least.", min=0),
    ] = None
    threshold: Annotated[
        list[str],
        typer.Option(
            "--threshold",
            help="Least probability of a decision, as P for all labels or LABEL=P. Below it the decision is 'unsure'. "
            "Repeatable.",
        ),
    ] = field(default_factory=list)

    def costs(self) -> MistakeCosts | None:
        """Return the costs and thresholds; None if none are given.

        Raises
        ------
        BadValue
            If one is not LABEL:DECISION=COST, or no threshold.
        """
        thresholds = _thresholds(self.threshold)
        costs = dict(map(_mistake_cost, self.cost))
        if not costs and self.unsure is None and thresholds is None:
            return None
        return MistakeCosts(costs, self.unsure, thresholds)


class MistakeCosts:
    """The cost of each mistake; 1 if it is not given, 0 for the right decision. `given` is `{(label, decision): cost}`;
    `unsure` the cost of not deciding, None if a decision is always made. `thresholds` decide in place of the least
    expected cost; leaving a decision open then costs 1, if `unsure` is None.

    Examples
    --------
    >>> costs = MistakeCosts({("ham", "spam"): 30.0})
    >>> costs.decide({"ham": 0.1, "spam": 0.9}), costs.of("ham", "spam"), costs.of("spam", "ham")
    ('ham', 30.0, 1.0)
    """

    def __init__(
        self,
        given: Mapping[tuple[str, str], float],
        unsure: float | None = None,
        thresholds: Thresholds | None = None,
    ) -> None:
        self.given = dict(given)
        self.unsure = unsure
        self.thresholds = thresholds
        self._rule = cache(self._make_rule)

    def of(self, label: Any, decision: Any) -> float:
        """Return the cost of a decision under a label."""
        if self.unsure is not None and decision == UNSURE:
            return self.unsure
        return 0.0 if label == decision else self.given.get((str(label), str(decision)), 1.0)

    def decide(self, probabilities: Mapping[Any, float]) -> Any:
        """Return the decision of the thresholds, or that with the least expected cost; None without probabilities."""
        if not probabilities:
            return None
        if self.thresholds is not None:
            return self.thresholds.decide(probabilities)
        return self._rule(tuple(probabilities)).decide(probabilities)

    def check(self, labels: Iterable[Any]) -> None:
        """Raise `BadValue` for a cost or a threshold of an unknown label."""
        names = list(map(str, labels))
        for label, _ in self.thresholds.listed if self.thresholds is not None else ():
            if label not in names:
                raise BadValue(
                    f"--threshold {label}: there is no label {label!r}; the labels are {', '.join(names)}"
                )
        for pair in self.given:
            for label in pair:
                if label not in names:
                    raise BadValue(
                        f"--cost {pair[0]}:{pair[1]}: there is no label {label!r}; the labels are {', '.join(names)}"
                    )

    def _make_rule(self, labels: tuple[Any, ...]) -> Costs:
        decisions = [*labels, UNSURE] if self.unsure is not None else labels
        return Costs(
            {decision: {label: self.of(label, decision) for label in labels} for decision in decisions}
        )


def _mistake_cost(text: str) -> tuple[tuple[str, str], float]:
    """Return a mistake, (label, decision), and its cost."""
    mistake, equals, cost = text.rpartition("=")
    label, colon, decision = mistake.partition(":")
    try:
        value = float(cost)
    except ValueError:
        value = math.nan
    is_written_so = equals and colon and label and decision and label != decision
    if not is_written_so or not 0 <= value < math.inf:
        raise BadValue(f"--cost {text}: expected LABEL:DECISION=COST, such as ham:spam=30")
    return (label, decision), value


def _thresholds(given: Sequence[str]) -> Thresholds | None:
    """Return the rule of the thresholds given on the command line; None if there are none."""
    least: dict[str, float] = {}
    for text in given:
        label, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1 or (not label and len(given) > 1):
            raise BadValue(
                f"--threshold {text}: expected one probability from 0 to 1 for all labels, such as 0.9, or LABEL=P for "
                "each label, such as spam=0.99"
            )
        least[label] = value
    if not least:
        return None
    return Thresholds(least.get("", least))
