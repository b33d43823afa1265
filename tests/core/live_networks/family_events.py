"""Events of families, what is counted of them by name, and how two stores of counts compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from stream_bayes.core.counts import _families as _family_counts
from stream_bayes.core.live_networks.family_counts import FamilyCounts, network_encoder
from stream_bayes.core.networks.structure import Structure
from tests.builds import examples

EXAMPLES = examples(25)
NAN = float("nan")

STRUCTURE = Structure({"größe": [], "b": ["größe"], "c": ["b", "größe"], "d": ["c", "b", "a"], "a": []})
OTHER = Structure({"größe": ["a"], "b": ["größe"], "c": ["größe", "b"], "d": ["c", "a"], "a": []})
VALUES: list[Any] = ["x", "y", True, ("z", 1), b"w"]
NAMES: Any = STRUCTURE.variables

rows = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(NAMES, st.sampled_from([*VALUES, *VALUES, None, NAN]))
)
whole = st.sampled_from([1.0, 1.0, 2.0, 3.0])
fractions = st.sampled_from([1.0, 0.5, 0.3, 2.75])
samples = st.lists(st.tuples(rows, whole), max_size=25)
HALVES = st.sampled_from([None, None, 2.0, 30.0])


SIZES = pytest.mark.parametrize("most", [65536, 5], ids=["whole tables", "configurations"])


@contextmanager
def cells(most: int) -> Iterator[None]:
    """With 5 every family of a variable with parents is too large for a table of all its cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_family_counts, "MOST_CELLS", most)
        yield


def fresh(structure: Structure = STRUCTURE, **options: Any) -> FamilyCounts:
    return FamilyCounts(network_encoder(), structure, **options)


def learned(events: list[tuple[dict[str, Any], float]], **options: Any) -> FamilyCounts:
    counts = fresh(**options)
    for x, w in events:
        counts.learn(x, w)
    return counts


def counted(events: Any, structure: Structure = STRUCTURE) -> dict[Any, float]:
    """{(variable, parents' values, value): weight} of events that have the whole family."""
    found: Any = Counter()
    for x, w in events:
        for name in structure.variables:
            family = [x.get(member) for member in (*structure.parents(name), name)]
            if all(value is not None and value == value for value in family):
                found[name, tuple(family[:-1]), family[-1]] += w
    return {key: weight for key, weight in found.items() if weight}


def stored_weights(counts: FamilyCounts) -> dict[Any, float]:
    """The same out of the store, in each of the ways there are to read it."""
    found = {}
    for family in counts.families():
        codes, weights = family.configurations
        values = counts.values_of(family.variable)
        for above, row in zip(codes.tolist(), weights, strict=True):
            assert np.array_equal(family.row(above), row)
            if family.is_whole:
                assert np.array_equal(family.table[tuple(above)], row)
            named = tuple(
                counts.values_of(parent)[code] for parent, code in zip(family.parents, above, strict=True)
            )
            for value, weight in zip(values, row.tolist(), strict=True):
                if weight:
                    found[family.variable, named, value] = weight
        if family.is_whole:
            assert family.table.shape == family.shape
            assert family.table.sum() == pytest.approx(weights.sum())
    return found


def close(one: dict[Any, float], other: dict[Any, float]) -> None:
    largest = max([1.0, *one.values(), *other.values()])
    for key in {*one, *other}:
        assert one.get(key, 0.0) == pytest.approx(other.get(key, 0.0), abs=1e-9 * largest), key


def same(one: FamilyCounts, other: FamilyCounts) -> None:
    mine, theirs = one.state(), other.state()
    assert mine["meta"] == theirs["meta"]
    assert set(mine["arrays"]) == set(theirs["arrays"])
    for name, array in mine["arrays"].items():
        assert array.tobytes() == theirs["arrays"][name].tobytes(), name
