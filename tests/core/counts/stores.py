"""Stores made from samples, the samples, and what a store holds, to be compared."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import strategies as st

from stream_bayes import BernoulliNB, MultinomialNB, NaiveBayes
from stream_bayes.core.counts.store import CountStore

Sample = tuple[dict[str, Any], Any, float]

ORDERS = pytest.mark.parametrize("order", [1, 2, 3])


def rows_store(order: int = 1, max_values: int | None = None, **settings: Any) -> CountStore:
    return CountStore(NaiveBayes(max_values=max_values).store.encoder, order=order, **settings)


def bag_store(max_values: int | None = None, **settings: Any) -> CountStore:
    kind = BernoulliNB if settings.get("word_histogram") else MultinomialNB
    return CountStore(kind(max_values=max_values).store.encoder, **settings)


def learned(samples: list[Sample], order: int = 1, **settings: Any) -> CountStore:
    store = rows_store(order, **settings)
    for x, y, w in samples:
        store.learn(x, y, w)
    return store


def frozen(store: CountStore) -> tuple[Any, ...]:
    """Everything a store would save, and what it says it takes."""
    state = store.state()
    arrays = {name: (array.shape, array.tobytes()) for name, array in state["arrays"].items()}
    return repr(state["meta"]), arrays, store.memory_bytes


def named(store: CountStore) -> dict[Any, Any]:
    """`by_name` with the values of a pair or triple as a set, so that their order says nothing."""
    return {
        (frozenset(zip(key[:-1:2], key[1::2], strict=True)), key[-1]) if len(key) >= 5 else key: value
        for key, value in store.by_name().items()
    }


def counted(samples: list[Sample], order: int = 1) -> dict[Any, float]:
    """The same, of nominal samples, by counting in a dict."""
    counts: Any = Counter()
    for x, y, w in samples:
        held = [(name, value) for name, value in x.items() if value is not None]
        counts[(y,)] += w
        for name, value in held:
            counts[name, value, y] += w
        for size in range(2, order + 1):
            for together in itertools.combinations(held, size):
                counts[frozenset(together), y] += w
    return {key: count for key, count in counts.items() if count}


# Twelve features that come late or never, values that outgrow the first room of 4, and up to nine classes.
rows = st.dictionaries(
    st.sampled_from([f"f{i}" for i in range(12)]),
    st.one_of(st.none(), st.sampled_from([f"v{i}" for i in range(11)])),
    max_size=8,
)
whole = st.integers(1, 3)
samples = st.lists(st.tuples(rows, st.sampled_from("abcdefghi"), whole), max_size=40)
fractions = st.sampled_from([0.1, 0.25, 1 / 3, 0.7, 1.0, 2.5])

MANY = [
    ({f"f{i % 7}": f"v{i % 11}", f"f{(i * 5) % 12}": f"v{(i * 3) % 10}", "late": "x"}, f"c{i % 9}", 1.0)
    for i in range(120)
]
