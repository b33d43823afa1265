"""Losses as JSON values and arrays, and back, with all checks.

{"window": 1000, "half_life": 1000.0, "least_probability": 1e-15, "max_labels": 1000,      must be the same
"labels": ["rain", "sun"], "other": false,      in the order of their codes; true if further labels share a code
"last": ["sun"], "place": 12,                   the previous label, if any; the position in the fading cycle
"invalid_probabilities": 0, "unanswered": 1,
"arrays": {"cumulative_sums": (8,), "cumulative_by_label": (3, K), "cumulative_bins": (3, 10),
"cumulative_scores": (K, 2, 1185), "fading_...": the same,
"label_weight": (K,),
"recent_label", "recent_predicted", "recent_weight", "recent_right", "recent_majority", "recent_no_change": (N,),
"recent_chance", "recent_confidence", "recent_brier": (N,),
"recent_scores": (K, N)}}            oldest first
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.calibration import BINS as CONFIDENCES
from stream_bayes.core.measures.label_codes import MOST_PROBABLE, NO_LABEL, UNDECIDED, LabelCodes
from stream_bayes.core.measures.ranking import BINS
from stream_bayes.core.measures.scored_window import ScoredWindow
from stream_bayes.core.measures.tally import SUMS, Tally
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import OTHER, JSONValue, tagged_many, untagged_many

__all__ = [
    "label_weights",
    "labels_state",
    "load_labels",
    "load_recent",
    "load_tally",
    "recent_arrays",
    "tally_arrays",
    "whole",
]

Array = NDArray[Any]

TABLES = ("sums", "by_label", "bins", "scores")


def labels_state(codes: LabelCodes) -> dict[str, JSONValue]:
    """Return the labels in the order of their codes."""
    names = [name for name in codes.names if name is not OTHER]
    return {"labels": tagged_many(names), "other": codes.rest != NO_LABEL}


def load_labels(codes: LabelCodes, state: Mapping[str, Any]) -> None:
    """Load saved labels into fresh label codes."""
    labels, other = untagged_many(state["labels"]), state["other"]
    expect(type(other) is bool, "the mark of labels that share a code is neither true nor false")
    expect(len(labels) <= codes.most, "it has more labels than max_labels")
    expect(not other or len(labels) == codes.most, "labels share a code before max_labels was reached")
    codes.code_of = {label: code for code, label in enumerate(labels)}
    expect(len(codes.code_of) == len(labels), "a label is named twice")
    codes.names = [*labels, OTHER] if other else labels
    codes.rest = len(labels) if other else NO_LABEL


def tally_arrays(name: str, tally: Tally) -> dict[str, Array]:
    """Return the sums of a tally as named arrays."""
    arrays = (tally.sums, tally.by_label, tally.calibration.bins, tally.ranking.weight)
    return {f"{name}_{table}": array.copy() for table, array in zip(TABLES, arrays, strict=True)}


def load_tally(name: str, tally: Tally, labels: int, arrays: Mapping[str, Any]) -> None:
    """Load saved sums into a tally."""
    shapes = ((len(SUMS),), (3, labels), (3, CONFIDENCES), (labels, 2, BINS))
    tally.sums, tally.by_label, tally.calibration.bins, tally.ranking.weight = (
        _weights(f"{name}_{table}", arrays, shape) for table, shape in zip(TABLES, shapes, strict=True)
    )


def recent_arrays(recent: ScoredWindow) -> dict[str, Array]:
    """Return the newest events as named arrays, the oldest first."""
    return {f"recent_{name}": column for name, column in recent.in_order().items()}


def load_recent(recent: ScoredWindow, labels: int, arrays: Mapping[str, Any]) -> None:
    """Load saved events into an empty window."""
    events = len(arrays["recent_label"])
    expect(events <= recent.size, "it has more recent events than its window")
    scores = _weights("recent_scores", arrays, (labels, events))
    expect(bool((scores <= 1.0).all()), "a probability is above 1")
    columns = {
        "label": _codes("recent_label", arrays, events, 0, labels),
        "predicted": _codes("recent_predicted", arrays, events, UNDECIDED, labels),
        "weight": _weights("recent_weight", arrays, (events,)),
        **{
            name: _array(f"recent_{name}", arrays, (events,), np.bool_)
            for name in ("right", "majority", "no_change")
        },
        **{name: _weights(f"recent_{name}", arrays, (events,)) for name in ("chance", "confidence", "brier")},
    }
    expect(
        bool((columns["predicted"] != MOST_PROBABLE).all()), "recent_predicted has values that are not codes"
    )
    for name in ("chance", "confidence"):
        expect(bool((columns[name] <= 1.0).all()), f"recent_{name} has a probability above 1")
    recent.grow(labels)
    recent.append(columns, scores)


def label_weights(arrays: Mapping[str, Any], labels: int) -> Array:
    """Return the weight of each label's events of a state."""
    return _weights("label_weight", arrays, (labels,))


def whole(state: Mapping[str, Any], name: str, least: int, below: int) -> int:
    """Return a whole number of a state, checked to be in a range."""
    number = state[name]
    expect(type(number) is int and least <= number < below, f"{name} is {number!r}")
    return int(number)


def _weights(name: str, arrays: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
    array = _array(name, arrays, shape, np.float64)
    expect(bool((array >= 0.0).all() and np.isfinite(array).all()), f"{name} has values that are not weights")
    return array


def _codes(name: str, arrays: Mapping[str, Any], events: int, least: int, labels: int) -> Array:
    array = _array(name, arrays, (events,), np.int64)
    expect(
        bool(((array >= least) & (array < labels)).all()), f"{name} has values that are not codes of labels"
    )
    return array


def _array(name: str, arrays: Mapping[str, Any], shape: tuple[int, ...], kind: type) -> Array:
    """Return a checked copy of a saved array."""
    array = arrays[name]
    expect(isinstance(array, np.ndarray), f"{name} is not an array")
    expect(array.dtype == kind, f"{name} has dtype {array.dtype}, expected {np.dtype(kind)}")
    expect(array.shape == shape, f"{name} has shape {array.shape}, expected {shape}")
    return np.array(array, order="C")
