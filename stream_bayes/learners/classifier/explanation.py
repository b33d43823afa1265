"""What spoke for each class, feature by feature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadLabel

__all__ = ["Explanation"]


@dataclass(frozen=True)
class Explanation:
    """Why a learner answered as it did.

    Parameters
    ----------
    kind
        `"log-evidence"`: `evidence[feature][label]` is log P(value | label) and adds up, with the baseline, to
        log P(y, x). `"leave-one-out"`: it is by how much log P(y, x) would differ without the feature, and need not
        add up.
    baseline
        Per class what is there before any feature: the log prior (and, for Bernoulli models, the absent words).
    evidence
        Per feature and class. Unsmoothed, it may be infinite, where a feature decides alone.
    joint
        Log P(y, x) of each class, as the learner answers with; the sum of the above, if not given.

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

    kind: str
    baseline: dict[Value, float]
    evidence: dict[Any, dict[Value, float]]
    joint: dict[Value, float] | None = None

    @property
    def total(self) -> dict[Value, float]:
        """Log P(y, x): baseline and evidence together, where evidence adds up."""
        if self.joint is not None:
            return dict(self.joint)
        return {
            label: math.fsum([start, *(per_class[label] for per_class in self.evidence.values())])
            if all(per_class[label] > -math.inf for per_class in self.evidence.values()) and start > -math.inf
            else -math.inf
            for label, start in self.baseline.items()
        }

    def log_odds(self, label: Value, against: Value | None = None) -> float:
        """The log-odds of a class against another, or, if none is given, against all others together."""
        total = self.total
        for asked in (label, *(() if against is None else (against,))):
            if asked not in total:
                known = (
                    f"the {len(total)} classes are {shown(list(total))}"
                    if total
                    else "nothing has been learned"
                )
                raise BadLabel(f"no class {shown(asked)} is known: {known}")
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
        """The features, those that tell the classes furthest apart first."""
        return sorted(self.evidence.items(), key=lambda item: (-_gap(item[1]), repr(item[0])))

    def __str__(self) -> str:
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


def _gap(per_class: Mapping[Value, float]) -> float:
    values = per_class.values()
    low, high = min(values), max(values)
    return 0.0 if low == high else high - low


def _text(value: object) -> str:
    return value if isinstance(value, str) else shown(value)
