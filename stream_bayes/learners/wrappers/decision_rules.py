"""Decision rules: from probabilities to a decision, which is a label or "unsure".

With costs lambda[d, j] of deciding d when the truth is j, the risk of d is R(d | x) = sum_j lambda[d, j] P(j | x). The
decision with the least risk is the best that these probabilities allow. A decision need not be a label: "unsure",
cheaper than a mistake and dearer than a right answer, leaves the case to a person.

A rule is any object with `decide(probabilities)`. `Costs` is the Bayes rule of a cost matrix; `Thresholds` are least
probabilities. `DecidingClassifier` puts a rule behind any classifier.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any, Protocol

from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadLabel, BadValue, NeverMet, NotSupported

__all__ = ["Costs", "Rule", "Thresholds"]

# Risks that agree to nine digits are a tie. Probabilities arrive rounded (1 - 0.9 is not quite 0.1),
# and rounding must not choose between decisions that are equally good.
TIE = 1e-9

CLOSE = 0.8  # the likeness, by difflib, of names of which one is probably a slip
DIGITS = re.compile(r"\d+")

SLACK = 1e-9  # rounding by which normalised probabilities may exceed 1


class Rule(Protocol):
    """A rule that turns the probabilities of the labels into a decision."""

    def decide(self, probabilities: Mapping[Any, float]) -> Hashable | None:
        """Return the decision; None if no label has any probability: nothing is learned yet."""
        ...


@dataclass(frozen=True, init=False, repr=False)
class Costs:
    """The cost of each decision under each label; the decision is the one with the least risk.

    Immutable, and equal to any other `Costs` with the same cells in the same order. Deciding takes time in proportion
    to the cells of the matrix.

    Of decisions with equal risks (to nine digits) the first of the matrix is taken. Multiplying all costs by one
    positive factor changes no decision.

    Parameters
    ----------
    matrix
        `{decision: {label: cost}}`: the cost of each decision when the truth is that label, a finite
        number of at least 0. Each decision states a cost for each label. A decision may be a label or
        not; one that is not, such as "unsure", is a way not to choose.

    Examples
    --------
    Sending a healthy patient to another test is a nuisance; sending an ill one home is worse.

    >>> from stream_bayes import Costs
    >>> costs = Costs({
    ...     "treat": {"ill": 0, "well": 20},
    ...     "send home": {"ill": 100, "well": 0},
    ...     "test again": {"ill": 5, "well": 5},
    ... })
    >>> costs.risk({"ill": 0.25, "well": 0.75})
    {'treat': 15.0, 'send home': 25.0, 'test again': 5.0}
    >>> costs.decide({"ill": 0.25, "well": 0.75})
    'test again'
    >>> costs.band("test again", "ill")
    (0.05, 0.75)
    """

    decisions: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    rows: tuple[tuple[float, ...], ...]  # lambda: a row for each decision, a column for each label

    def __init__(self, matrix: Mapping[Any, Mapping[Any, float]]) -> None:
        if not isinstance(matrix, Mapping):
            raise BadValue(
                f"costs are {{decision: {{label: cost}}}}, as in Costs({{'spam': {{'spam': 0, 'ham': 9}}, "
                f"'ham': {{'spam': 1, 'ham': 0}}}}); got {type(matrix).__name__}: {shown(matrix)}"
            )
        for decision, row in matrix.items():
            if not isinstance(row, Mapping):
                raise BadValue(f"the costs of deciding {decision!r} must be {{label: cost}}; got {row!r}")
        labels = tuple(dict.fromkeys(label for row in matrix.values() for label in row))
        if not labels:
            raise BadValue(f"a cost matrix needs the cost of at least one decision and label; got {matrix!r}")
        rows = tuple(
            tuple(_cost(decision, row, label) for label in labels) for decision, row in matrix.items()
        )
        object.__setattr__(self, "decisions", tuple(matrix))
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "rows", rows)

    @classmethod
    def zero_one(
        cls,
        labels: Iterable[Hashable],
        unsure: float | Mapping[Any, float] | None = None,
        *,
        unsure_as: Hashable = "unsure",
    ) -> Costs:
        """Return costs of 1 for every mistake: the decision is the most probable label.

        Parameters
        ----------
        labels
            The labels; of equally probable ones the first here is decided.
        unsure
            The cost of not choosing: one for all labels or `{label: cost}`. With one cost u, the answer is
            unsure where no label has a probability of 1 - u or more (Chow's rule). None: always choose.
        unsure_as
            The decision that stands for not choosing.

        Examples
        --------
        >>> Costs.zero_one(["cat", "dog", "owl"]).decide({"cat": 0.25, "dog": 0.4, "owl": 0.35})
        'dog'
        >>> Costs.zero_one(["cat", "dog", "owl"], unsure=0.5).decide({"cat": 0.25, "dog": 0.4, "owl": 0.35})
        'unsure'
        """
        labels = tuple(labels)
        matrix = {decision: {label: float(decision != label) for label in labels} for decision in labels}
        return cls(_with_unsure(matrix, labels, unsure, unsure_as))

    @classmethod
    def false_positive(
        cls,
        times: float,
        positive: Hashable = "spam",
        negative: Hashable = "ham",
        unsure: float | Mapping[Any, float] | None = None,
        *,
        unsure_as: Hashable = "unsure",
    ) -> Costs:
        """Return costs under which a false positive costs `times` as much as a false negative, which costs 1.

        The decision is `positive` when its probability is times / (1 + times) or more.

        Parameters
        ----------
        times
            The cost of taking a negative for a positive; the other mistake costs 1.
        positive, negative
            The two labels.
        unsure
            The cost of not choosing, for both labels or `{label: cost}`. One cost u gives the band of
            probabilities of `positive` from u to 1 - u / times, where u is small enough. None: always choose.
        unsure_as
            The decision that stands for not choosing.

        Examples
        --------
        A lost letter is nine times as bad as a spam in the inbox.

        >>> costs = Costs.false_positive(9)
        >>> costs.decide({"spam": 0.9, "ham": 0.1}), costs.decide({"spam": 0.89, "ham": 0.11})
        ('spam', 'ham')
        >>> Costs.false_positive(10, unsure=0.25).band("unsure", "spam")
        (0.25, 0.975)
        """
        if positive == negative:
            raise BadLabel(f"the positive and the negative label must differ; both are {positive!r}")
        # The positive stands first: on the threshold itself the decision is positive.
        matrix = {positive: {positive: 0.0, negative: times}, negative: {positive: 1.0, negative: 0.0}}
        return cls(_with_unsure(matrix, (positive, negative), unsure, unsure_as))

    def cost(self, decision: Hashable, label: Hashable) -> float:
        """Return the cost of a decision when the truth is `label`."""
        return self.rows[_index(decision, self.decisions, "decision")][_index(label, self.labels, "label")]

    def risk(self, probabilities: Mapping[Any, float]) -> dict[Any, float]:
        """Return the expected cost of each decision, R(d | x); an absent label has probability 0.

        Parameters
        ----------
        probabilities
            The probability of each label.

        Raises
        ------
        BadLabel
            The matrix has no costs for a label.
        BadValue
            A probability is not a number from 0 to 1.
        """
        checked = _checked(probabilities)
        for label in checked:
            _index(label, self.labels, "label")
        column = [checked.get(label, 0.0) for label in self.labels]
        return {
            decision: sum(cost * probability for cost, probability in zip(row, column, strict=True))
            for decision, row in zip(self.decisions, self.rows, strict=True)
        }

    def decide(self, probabilities: Mapping[Any, float]) -> Any:  # a decision is what the matrix holds
        """Return the decision with the least risk; None if no label has any probability: nothing is learned yet."""
        risks = self.risk(probabilities)
        if not any(probabilities.values()):
            return None
        least = min(risks.values())
        return next(decision for decision, risk in risks.items() if math.isclose(risk, least, rel_tol=TIE))

    def band(self, decision: Hashable, label: Hashable) -> tuple[float, float] | None:
        """Return the probabilities of `label` between which the decision is this one, for two labels.

        With two labels every risk is a straight line over the probability of one of them, so a decision has the least
        risk on one interval. At its ends two decisions tie, and the first of them is taken.

        Parameters
        ----------
        decision
            Any decision of the matrix.
        label
            The label of that probability.

        Returns
        -------
        The lowest and the highest probability, or None if this is never the decision.

        Raises
        ------
        NotSupported
            The matrix has not exactly two labels.

        Examples
        --------
        >>> costs = Costs.zero_one(["spam", "ham"], unsure=0.25)
        >>> {decision: costs.band(decision, "spam") for decision in costs.decisions}
        {'spam': (0.75, 1.0), 'ham': (0.0, 0.25), 'unsure': (0.25, 0.75)}
        >>> print(Costs.zero_one(["spam", "ham"], unsure=0.75).band("unsure", "spam"))
        None
        """
        if len(self.labels) != 2:
            raise NotSupported(f"a band needs two labels; these costs have {list(self.labels)}: use risk")
        one = _index(label, self.labels, "label")
        costs = self.rows[_index(decision, self.decisions, "decision")]
        low, high = 0.0, 1.0
        for row in self.rows:
            # The cost of this decision less that of the other, if the label is impossible and if it is certain.
            at_zero, at_one = costs[1 - one] - row[1 - one], costs[one] - row[one]
            if at_zero > 0 and at_one > 0:
                return None
            if at_zero > 0:
                low = max(low, at_zero / (at_zero - at_one))
            elif at_one > 0:
                high = min(high, at_zero / (at_zero - at_one))
        if low > high:
            return None
        # Of decisions with equal costs everywhere, or in one point, only the first is ever taken.
        middle = low + (high - low) / 2
        taken = self.decide({self.labels[one]: middle, self.labels[1 - one]: 1.0 - middle})
        return (low, high) if taken == decision else None

    def __repr__(self) -> str:
        matrix = {
            decision: dict(zip(self.labels, row, strict=True))
            for decision, row in zip(self.decisions, self.rows, strict=True)
        }
        return f"{type(self).__name__}({matrix})"


@dataclass(frozen=True, init=False, repr=False)
class Thresholds:
    """The most probable label if it is probable enough, and otherwise a fixed answer.

    Immutable, and equal to any other `Thresholds` with the same numbers. A label that is not the most probable is never
    the answer, however low its threshold; use `Costs` for that. Of equally probable labels the first is taken, as in
    River. At the threshold exactly, the label is answered. A threshold for a label that no probability is given for is
    ignored; the warning `NeverMet` names it if its name is close to a label's.

    Parameters
    ----------
    least
        The least probability at which a label is answered: one for all labels, or `{label: least}`, where a
        label that is not listed needs none.
    otherwise
        The answer where the most probable label is not probable enough. It may be a label.

    Examples
    --------
    >>> from stream_bayes import Thresholds
    >>> rule = Thresholds({"spam": 0.9})
    >>> rule.decide({"spam": 0.95, "ham": 0.05}), rule.decide({"spam": 0.8, "ham": 0.2})
    ('spam', 'unsure')
    >>> rule.decide({"spam": 0.4, "ham": 0.6})
    'ham'
    >>> Thresholds(0.5, otherwise="ask").decide({"cat": 0.4, "dog": 0.3, "owl": 0.3})
    'ask'
    """

    listed: tuple[tuple[Hashable, float], ...]
    unlisted: float
    otherwise: Hashable

    def __init__(self, least: float | Mapping[Any, float], otherwise: Hashable = "unsure") -> None:
        if isinstance(least, Mapping):
            listed = {
                label: _threshold(value, f"the threshold of {label!r}") for label, value in least.items()
            }
            unlisted = 0.0
        else:
            listed, unlisted = {}, _threshold(least, "the threshold of all labels")
        # Sorted, so that equal thresholds in another order are equal.
        object.__setattr__(self, "listed", tuple(sorted(listed.items(), key=lambda pair: repr(pair[0]))))
        object.__setattr__(self, "unlisted", unlisted)
        object.__setattr__(self, "otherwise", otherwise)

    def decide(self, probabilities: Mapping[Any, float]) -> Any:  # a label, or whatever `otherwise` is
        """Return the label or `otherwise`; None if no label has any probability: nothing is learned yet.

        Raises
        ------
        BadValue
            A probability is not a number from 0 to 1.
        """
        checked = _checked(probabilities)
        if not any(checked.values()):
            return None
        if any(listed not in checked for listed, _ in self.listed):
            self._warn_of_unknown(checked)
        label = max(checked, key=checked.__getitem__)
        least = next((value for listed, value in self.listed if listed == label), self.unlisted)
        return label if checked[label] >= least else self.otherwise

    def _warn_of_unknown(self, checked: Mapping[Any, float]) -> None:
        """Warn of a threshold for a label whose name is close to that of a label without one: probably a slip."""
        names = {listed for listed, _ in self.listed}
        free = {str(label).casefold(): label for label in checked if label not in names}
        for listed in names - checked.keys():
            text = str(listed).casefold()
            for close in get_close_matches(text, free, 1, CLOSE):
                if (
                    DIGITS.sub("", text) != DIGITS.sub("", close) or text == close
                ):  # class 1 is no slip for class 2
                    warnings.warn(
                        f"the threshold of {listed!r} applies to none of the labels {shown(list(checked))}; did you "
                        f"mean {free[close]!r}?",
                        NeverMet,
                        stacklevel=3,
                    )

    def __repr__(self) -> str:
        least = dict(self.listed) if self.listed else self.unlisted
        return f"{type(self).__name__}({least}, otherwise={self.otherwise!r})"


def _with_unsure(
    matrix: dict[Any, dict[Any, float]],
    labels: tuple[Hashable, ...],
    unsure: float | Mapping[Any, float] | None,
    unsure_as: Hashable,
) -> dict[Any, dict[Any, float]]:
    """Return the matrix with a last decision, not to choose, if that has a cost."""
    if unsure is None:
        return matrix
    if unsure_as in labels:
        raise BadLabel(f"not choosing must differ from every label; {unsure_as!r} is one: set unsure_as")
    row = dict(unsure) if isinstance(unsure, Mapping) else dict.fromkeys(labels, unsure)
    return {**matrix, unsure_as: row}


def _cost(decision: Hashable, row: Mapping[Any, float], label: Hashable) -> float:
    if label not in row:
        raise BadLabel(f"deciding {decision!r} has no cost for the label {label!r}, others do: state one")
    cost = _number(row[label])
    if not 0 <= cost < math.inf:
        raise BadValue(
            f"the cost of deciding {decision!r} when the truth is {label!r} must be a finite number"
            f" of at least 0; got {row[label]!r}"
        )
    return cost


def _threshold(value: object, of: str) -> float:
    least = _number(value)
    if not 0 <= least <= 1:
        raise BadValue(f"{of} must be a probability, from 0 to 1; got {value!r}")
    return least


def _checked(probabilities: Mapping[Any, float]) -> dict[Any, float]:
    """Return the probabilities as floats; raise if one is not a probability."""
    checked = {label: _number(value) for label, value in probabilities.items()}
    for label, probability in checked.items():
        if not 0 <= probability <= 1 + SLACK:
            raise BadValue(f"the probability of {label!r} must be from 0 to 1; got {probabilities[label]!r}")
    return checked


def _index(name: Hashable, names: tuple[Hashable, ...], kind: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise BadLabel(f"these costs have no {kind} {name!r}; there are {list(names)}") from None


def _number(value: object) -> float:
    """Return the value as a float; NaN, which every range refuses, if it is not a number."""
    if not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
