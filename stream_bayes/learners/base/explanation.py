"""Explanations, feature by feature: the evidence for each class, and the contributions to a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stream_bayes.core.pictures.html import bars_table, block, evidence_table, plain_table
from stream_bayes.core.pictures.text import text_of
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadLabel

__all__ = ["Contributions", "Explanation", "explained_by_addition", "explained_by_steps"]


@dataclass(frozen=True)
class Explanation:
    """The evidence behind one prediction.

    Examples
    --------
    >>> why = Explanation("log-evidence", {"ham": -0.7, "spam": -0.7}, {"viagra": {"ham": -9.0, "spam": -2.0}})
    >>> round(why.log_odds("spam"), 9)
    7.0
    >>> print(why)
    log-evidence      ham     spam
    (baseline)     -0.700   -0.700
    viagra         -9.000   -2.000
    """

    # "log-evidence": `evidence[feature][label]` is log P(value | label). "step-by-step": of a model that is no sum over
    # features, it is what adding the feature changes in log P(y, x), or in log P(y | x), averaged over the order of the
    # names and its reverse. Evidence and baseline add up to the score either way.
    kind: str
    baseline: dict[Value, float]  # the log prior of each class (for Bernoulli models, with the absent words)
    # By feature and class. Without smoothing it is infinite if a feature decides alone.
    evidence: dict[Any, dict[Value, float]]
    # Log P(y, x) of each class, as the learner predicts with it. None: the sum of baseline and evidence.
    joint: dict[Value, float] | None = None

    @property
    def total(self) -> dict[Value, float]:
        """Log P(y, x) of each class: `joint`, or the sum of baseline and evidence."""
        if self.joint is not None:
            return dict(self.joint)
        return {
            label: math.fsum([start, *(per_class[label] for per_class in self.evidence.values())])
            if all(per_class[label] > -math.inf for per_class in self.evidence.values()) and start > -math.inf
            else -math.inf
            for label, start in self.baseline.items()
        }

    def log_odds(self, label: Value, against: Value | None = None) -> float:
        """Return the log-odds of a class against another; without one, against all others together."""
        total = self.total
        for wanted in (label, *(() if against is None else (against,))):
            if wanted not in total:
                expected = (
                    f"the {len(total)} classes are {shown(list(total))}"
                    if total
                    else "nothing has been learned"
                )
                raise BadLabel(f"no class {shown(wanted)} is known: {expected}")
        others = [
            score
            for other, score in total.items()
            if (other != label if against is None else other == against)
        ]
        best = max(others, default=-math.inf)
        if best == -math.inf:
            return math.inf
        return total[label] - best - math.log(math.fsum(math.exp(score - best) for score in others))

    def ranked(self) -> list[tuple[Any, Mapping[Value, float]]]:
        """Return the features and their evidence; those that separate the classes most come first."""
        return sorted(self.evidence.items(), key=lambda entry: (-_gap(entry[1]), repr(entry[0])))

    def contrast(self) -> tuple[Value, Value | None, list[tuple[Any, float]]]:
        """Return the most probable class, the next one, and each feature's evidence for the first of them.

        The features are in the order of `ranked` for these two classes. With a single class, the second is None.

        Raises
        ------
        BadLabel
            If nothing has been learned.

        Examples
        --------
        >>> Explanation("log-evidence", {"ham": -0.7, "spam": -0.7}, {"offer": {"ham": -9.0, "spam": -2.0}}).contrast()
        ('spam', 'ham', [('offer', 7.0)])
        """
        total = self.total
        if not total:
            raise BadLabel("nothing has been learned: there is no class to explain")
        first, *others = sorted(total, key=lambda label: -total[label])
        second = others[0] if others else None
        gaps = [
            (name, _minus(row[first], row[first] if second is None else row[second]))
            for name, row in self.evidence.items()
        ]
        return first, second, sorted(gaps, key=lambda gap: (-abs(gap[1]), repr(gap[0])))

    def _repr_html_(self) -> str:
        if not self.baseline:
            return evidence_table("nothing has been learned: there is no class to explain", ())
        first, second, gaps = self.contrast()
        total = self.total
        best = max(total.values())
        weights = {y: math.exp(score - best) if best > -math.inf else 1.0 for y, score in total.items()}
        whole = math.fsum(weights.values())
        shares = {label: weight / whole for label, weight in weights.items()}
        against = "" if second is None else f" against {text_of(second)}"
        return block(
            bars_table("probabilities", shares),
            evidence_table(f"evidence for {text_of(first)}{against}, in nats ({self.kind})", gaps),
        )

    def __str__(self) -> str:
        if not self.baseline:
            return "nothing has been learned: there is no class to explain"
        names = ["(baseline)", *(_text(feature) for feature, _ in self.ranked())]
        rows = [self.baseline, *(per_class for _, per_class in self.ranked())]
        first = max(len(self.kind), *map(len, names))
        widths = [max(8, len(_text(label))) for label in self.baseline]
        heading = zip(self.baseline, widths, strict=True)
        lines = [self.kind.ljust(first) + "".join(f" {_text(label):>{width}}" for label, width in heading)]
        for name, row in zip(names, rows, strict=True):
            cells = zip(self.baseline, widths, strict=True)
            lines.append(name.ljust(first) + "".join(f" {row[label]:>{width}.3f}" for label, width in cells))
        return "\n".join(lines)


@dataclass(frozen=True)
class Contributions:
    """Contributions of the features to a prediction.

    Examples
    --------
    >>> print(Contributions(20.0, {"wind": (-3.5, 0.25)}))
    (mean)       20.000
    wind         -3.500 ± 0.250
    (prediction) 16.500
    """

    mean: float  # of all targets
    # By feature: coefficient times value less the value's mean, and the posterior standard deviation of that.
    features: dict[Any, tuple[float, float]]

    @property
    def prediction(self) -> float:
        """The mean of all targets and the contributions, added up."""
        return math.fsum([self.mean, *(value for value, _ in self.features.values())])

    def ranked(self) -> list[tuple[Any, tuple[float, float]]]:
        """Return the features and their contributions, the largest first."""
        return sorted(self.features.items(), key=lambda entry: (-abs(entry[1][0]), repr(entry[0])))

    def __str__(self) -> str:
        rows = [("(mean)", f"{self.mean:.3f}")]
        rows += [(text_of(name), f"{value:.3f} ± {sd:.3f}") for name, (value, sd) in self.ranked()]
        rows.append(("(prediction)", f"{self.prediction:.3f}"))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}} {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        rows = [(text_of(name), value, sd) for name, (value, sd) in self.ranked()]
        return plain_table(
            "contributions", ("feature", "contribution", "sd"), [("(mean)", self.mean, None), *rows]
        )


LogJoint = Callable[[dict[Any, Any]], dict[Value, float]]


def explained_by_addition(
    evidence_of: LogJoint, x: Mapping[Any, Any], joint: dict[Value, float]
) -> Explanation:
    """Return the evidence of each feature of a model whose log P(y, x) is a sum over features.

    The features are added one at a time, so the evidence adds up even where two of them share a table. `evidence_of`
    returns log P(y, x) of each class, impossible classes included. `joint` has those that the learner predicts with.
    """
    evidence: dict[Any, dict[Value, float]] = {}
    added: dict[Any, Any] = {}
    last = baseline = evidence_of(added)
    for name, value in x.items():
        added[name] = value
        scores = evidence_of(added)
        evidence[name] = _difference(scores, last)
        last = scores
    return Explanation("log-evidence", baseline, evidence, joint)


def explained_by_steps(log_joint: LogJoint, x: Mapping[Any, Any], joint: dict[Value, float]) -> Explanation:
    """Return the evidence of each feature of a model that is no sum over features.

    The features are added one at a time, in the order of their names and in the reverse, and the two changes are
    averaged. So two features that only tell something together, or that tell the same, have equal parts of it.
    """
    baseline = log_joint({})
    features = sorted(x.items(), key=lambda item: repr(item[0]))
    there = _steps(log_joint, features, baseline, joint)
    back = _steps(log_joint, features[::-1], baseline, joint)
    evidence = {
        name: {label: _mean(change, back[name][label]) for label, change in there[name].items()} for name in x
    }
    return Explanation("step-by-step", baseline, evidence, joint)


def _steps(
    log_joint: LogJoint,
    features: list[tuple[Any, Any]],
    baseline: dict[Value, float],
    joint: dict[Value, float],
) -> dict[Any, dict[Value, float]]:
    """Return what each feature changes, added in this order; the scores of none and of all are there already."""
    changes, last = {}, baseline
    for count, (name, _) in enumerate(features, start=1):
        scores = joint if count == len(features) else log_joint(dict(features[:count]))
        changes[name] = _difference(scores, last)
        last = scores
    return changes


def _difference(scores: Mapping[Value, float], others: Mapping[Value, float]) -> dict[Value, float]:
    """Return the difference per class; 0 for a class that is impossible both times."""
    return {
        label: 0.0 if score == others[label] else score - others[label] for label, score in scores.items()
    }


def _mean(one: float, other: float) -> float:
    """Return the mean of two changes; 0 of one that rules a class out and one that lets it in again."""
    return one if one == other else 0.0 if one == -other else (one + other) / 2


def _gap(per_class: Mapping[Value, float]) -> float:
    values = per_class.values()
    if not values:
        return 0.0
    low, high = min(values), max(values)
    return 0.0 if low == high else high - low


def _minus(one: float, other: float) -> float:
    return 0.0 if one == other else one - other


def _text(value: object) -> str:
    return value if isinstance(value, str) else shown(value)
