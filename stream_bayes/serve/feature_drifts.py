"""Drift of features between a reference and now, of the events that the service keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.evaluation.feature_drift import LEVEL, drift_of_features
from stream_bayes.serve.plain_values import as_json, label_name

__all__ = ["described_drifts"]

MOST_FEATURES = 200  # those that most events have
MOST_EVENTS = 2000  # of each sample


def described_drifts(
    reference: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the drift of each feature between events of the history, as JSON values. Without features in the events
    of both samples, `reason` is why there is none.
    """
    samples = [
        [entry for entry in entries if isinstance(entry.get("x"), Mapping)] for entries in (reference, now)
    ]
    before, after = (entries[-MOST_EVENTS:] for entries in samples)
    ends = {"reference": _ends(before), "now": _ends(after), "level": LEVEL}
    if not before or not after:
        reason = f"only {len(before):,} and {len(after):,} events with features are kept of the two samples"
        if (reference or now) and not any(samples):
            reason = 'the history keeps no features; add "features" to serve.history.keep'
        return {**ends, "features": [], "features_left_out": 0, "reason": reason}
    xs, others = ([entry["x"] for entry in entries] for entries in (before, after))
    counts = Counter(name for x in [*xs, *others] for name in x)
    names = [name for name, _ in counts.most_common(MOST_FEATURES)]
    features = [
        {
            "name": label_name(each.name),
            "kind": each.kind,
            "has_drifted": each.has_drifted,
            "distance": each.distance,
            "p": each.adjusted,
            "missing": {"before": each.missing_before, "now": each.missing_now, "p": each.missing_adjusted},
            "unseen": each.unseen,
            "shares": [
                {"value": as_json(share.value), "before": share.before, "now": share.now}
                for share in each.shares
            ],
        }
        for each in drift_of_features(xs, others, names)
    ]
    return {**ends, "features": features, "features_left_out": len(counts) - len(names), "reason": None}


def _ends(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the number of events of a sample, and its first and last position."""
    ends = (entries[0], entries[-1]) if entries else ()
    return {
        "events": len(entries),
        "ids": [entry["id"] for entry in ends],
        "keys": [entry["key"] for entry in ends],
    }
