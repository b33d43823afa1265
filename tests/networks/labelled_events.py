"""Labelled events of a few structures around a class, and classifiers that learned them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import stream_bayes
from stream_bayes import (
    BayesNetClassifier,
)

EXAMPLES = 12 if stream_bayes.compiled else 4

STRUCTURES: dict[str, dict[Any, list[Any]]] = {
    "around": {
        "a": [],
        "b": ["a"],
        "class": ["a", "b"],
        "c": ["class", "d"],
        "d": [],
        "e": ["c"],
        "f": ["e"],
    },
    "chain": {"a": [], "class": ["a"], "b": ["class"], "c": ["b"], "d": ["c"], "e": [], "f": ["class"]},
    "root": {
        "class": [],
        "a": ["class"],
        "b": ["class", "a"],
        "c": ["a", "b", "class"],
        "d": ["c"],
        "e": [],
        "f": [],
    },
    "alone": {"class": [], "a": [], "b": ["a"], "c": [], "d": [], "e": [], "f": []},
}
NAMES = ("a", "b", "c", "d", "e", "f")
rows = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, st.sampled_from(["x", "y", "x", "y", None])))
whole_rows = st.fixed_dictionaries(dict.fromkeys(NAMES, st.sampled_from(["x", "y"])))
samples = st.lists(
    st.tuples(st.one_of(rows, whole_rows), st.sampled_from(["yes", "no"]), st.sampled_from([1.0, 1.0, 2.0])),
    min_size=1,
    max_size=15,
)


def learned(events: Any, structure: Any, **arguments: Any) -> BayesNetClassifier:
    model = BayesNetClassifier(structure, **arguments)
    for x, y, w in events:
        model.learn_one(x, y, w)
    return model
