"""The costs of deciding between two labels at each threshold, of the events that the service keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.checked_names import closest
from stream_bayes.core.values.values import shown
from stream_bayes.door.problems import Refused
from stream_bayes.evaluation.curves import Decisions, Scores
from stream_bayes.serve.plain_values import label_name

__all__ = ["threshold_costs"]


def threshold_costs(
    entries: Iterable[Mapping[str, Any]], label: str | None, missed: float, false_alarm: float
) -> dict[str, Any]:
    """Return the errors and the cost at each threshold of the probability of a label, by default the rarer one; the
    cheapest threshold; and `nominal`, the one that is best if probabilities are true. `reason` is why there are none,
    as of events with other than two labels.

    Raises
    ------
    Refused
        If there is no label of this name.
    """
    scored = [
        (label_name(entry["label"]), entry["probabilities"])
        for entry in entries
        if entry.get("label") is not None and entry.get("probabilities")
    ]
    counts = Counter(name for name, _ in scored)
    labels = sorted(set(counts).union(*(shares for _, shares in scored)))
    if len(labels) != 2:
        reason = (
            f"costs of a threshold need two labels; the {len(scored):,} kept events with a label and probabilities "
            f"have {len(labels)}"
        )
        return {"labels": labels, "events": len(scored), "steps": [], "reason": reason}
    chosen = min(labels, key=lambda name: counts[name]) if label is None else label
    if chosen not in labels:
        raise Refused(422, "no-such-label", f"there is no label {shown(chosen)}{closest(chosen, labels)}")
    scores = Scores()
    for name, shares in scored:
        scores.add(shares.get(chosen, 0.0), 1.0, is_label=name == chosen)

    def described(each: Decisions) -> dict[str, float]:
        return {**each._asdict(), "cost": each.cost(missed, false_alarm)}

    return {
        "label": chosen,
        "labels": labels,
        "events": len(scored),
        "with_label": counts[chosen],
        "steps": [described(each) for each in scores.decisions()],
        "cheapest": described(scores.cheapest(missed, false_alarm)),
        "nominal": false_alarm / (missed + false_alarm),
        "reason": None,
    }
