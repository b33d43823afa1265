"""The families that a store counts: choosing, merging, saving, and loading with checks.

meta    "families": [[slot of the child, [slots of its parents], configurations, clock counted since], ...]
arrays  "family_codes"     the parents' codes of each configuration that holds samples, family by family
"family_weight"    its weights, values by classes
"family_samples"   the same, unless all weights were whole
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._families import FamilyTables
from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.state import sizes
from stream_bayes.core.counts.window import Window
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.values.checks import expect

__all__ = [
    "Family",
    "configurations_met",
    "families_arrays",
    "families_state",
    "fill",
    "load_families",
    "pour",
]

Family: TypeAlias = tuple[int, tuple[int, ...]]  # the child's slot, its parents' slots ascending


def fill(made: FamilyTables, tables: Tables, old: FamilyTables | None, window: Window | None) -> FamilyTables:
    """Return empty tables of families, filled: one of the `old` families keeps its counts; the others are counted from
    the window's events, or begin now if there is no window.
    """
    old_index = {} if old is None else {family: f for f, family in enumerate(old.families)}
    new = np.ones(len(made.families), np.uint8)
    begun = None if window is None else window.oldest_clock
    for f, family in enumerate(made.families):
        made.since[f] = int(tables.clock) + 1 if begun is None else begun
        if old is not None and family in old_index:
            new[f] = 0
            made.since[f] = old.since[old_index[family]]
            made.copy(f, old, old_index[family])
    if window is not None and new.any():
        tables.count_newest(made, new)
    return made


def pour(encoder: Encoder, mine: FamilyTables, other: Encoder, theirs: FamilyTables, factor: float) -> None:
    """Add the same families of another store by name, their weights times `factor`. The caller has made room."""
    codes = _codes_of_values(encoder, other)
    labels = np.array([encoder.labels.find(label) for label in other.labels.values], np.int64)
    for here, f, slot, rows in _translated(encoder, mine, other, theirs):
        child = mine.families[here][0]
        _, weight, samples = theirs.rows_of(f)
        values = np.zeros((2, len(rows), int(mine.room[child]), mine.classes))
        places_of = np.ix_(np.arange(len(rows)), codes[slot], labels)
        for moved, source in zip(values, (weight, samples), strict=True):
            moved[places_of] = source[:, : len(codes[slot]), : len(labels)]
        mine.put_rows(here, rows, factor * values[0], values[1])
        mine.since[here] = min(mine.since[here], theirs.since[f])


def configurations_met(
    encoder: Encoder, mine: FamilyTables, other: Encoder, theirs: FamilyTables | None
) -> list[int]:
    """Return the configurations that another store of the same families would add to each; its names are known."""
    coming = [0] * len(mine.families)
    if theirs is not None:
        for here, _, _, rows in _translated(encoder, mine, other, theirs):
            present = {tuple(row) for row in mine.rows_of(here)[0].tolist()}
            coming[here] = sum(tuple(row) not in present for row in rows.tolist())
    return coming


def _translated(
    encoder: Encoder, mine: FamilyTables, other: Encoder, theirs: FamilyTables
) -> Iterator[tuple[int, int, int, NDArray[Any]]]:
    """Yield each family's number here and there, the child's slot there, and its configurations in the codes here."""
    slot = {feature.slot: encoder.features[feature.name].slot for feature in other.nominal}
    codes = _codes_of_values(encoder, other)
    index_here = {family: f for f, family in enumerate(mine.families)}
    for f, (child, parents) in enumerate(theirs.families):
        family = slot[child], tuple(sorted(slot[parent] for parent in parents))
        their_rows = theirs.rows_of(f)[0]
        columns = {slot[parent]: codes[parent][their_rows[:, k]] for k, parent in enumerate(parents)}
        rows = np.array([columns[parent] for parent in family[1]], np.int32).reshape(
            len(parents), len(their_rows)
        )
        yield index_here[family], f, child, np.ascontiguousarray(rows.T)


def _codes_of_values(encoder: Encoder, other: Encoder) -> list[NDArray[np.int64]]:
    """Return the code here of each value of each feature there."""
    return [
        np.array(
            [encoder.features[feature.name].vocabulary.find(value) for value in feature.vocabulary.values],
            np.int64,
        )
        for feature in other.nominal
    ]


# -- state ----------------------------------------------------------------------------------------------------------


def families_state(families: FamilyTables) -> list[Any]:
    """Return the families as JSON values."""
    return [
        [child, list(parents), len(families.rows_of(f)[0]), int(families.since[f])]
        for f, (child, parents) in enumerate(families.families)
    ]


def families_arrays(families: FamilyTables, encoder: Encoder) -> dict[str, NDArray[Any]]:
    """Return the counts of families without spare room."""
    used, _ = sizes(encoder)
    labels = len(encoder.labels)
    parts: dict[str, list[NDArray[Any]]] = {
        "family_codes": [np.zeros(0, np.int32)],
        "family_weight": [np.zeros(0)],
    }
    if not families.exact:
        parts["family_samples"] = [np.zeros(0)]
    for f, (child, _) in enumerate(families.families):
        contents = dict(
            zip(("family_codes", "family_weight", "family_samples"), families.rows_of(f), strict=True)
        )
        for name, pieces in parts.items():
            rows = contents[name] if name == "family_codes" else contents[name][:, : used[child], :labels]
            pieces.append(rows.reshape(-1))
    return {name: np.concatenate(pieces) for name, pieces in parts.items()}


def load_families(
    tables: Tables, encoder: Encoder, saved: Sequence[Any], arrays: Mapping[str, Any], room: NDArray[Any]
) -> FamilyTables:
    """Return the family tables of a state, with room for these numbers of codes, or raise `BadState`.

    Clock and names are loaded already.
    """
    used, _ = sizes(encoder)
    labels = len(encoder.labels)
    checked = [_checked_family(*each, used=used, clock=int(tables.clock)) for each in saved]
    expect(len({family for family, _, _ in checked}) == len(checked), "a family is there twice")
    made = FamilyTables([family for family, _, _ in checked], room, labels, bool(tables.exact))
    names = ["family_codes", "family_weight", *([] if tables.exact else ["family_samples"])]
    flat = {name: _checked_array(name, arrays[name]) for name in names}
    lengths = [
        (rows * len(parents), rows * int(used[child]) * labels) for (child, parents), rows, _ in checked
    ]
    for name, array in flat.items():
        expected = sum(length[name != "family_codes"] for length in lengths)
        expect(len(array) == expected, f"{name} has {len(array)} items, expected {expected}")
    at_code = at_cell = 0
    for f, (((child, parents), rows, since), (codes, cells)) in enumerate(zip(checked, lengths, strict=True)):
        family_codes = flat["family_codes"][at_code : at_code + codes].reshape(rows, len(parents))
        _check_codes(family_codes, [int(used[slot]) for slot in parents])
        shape = (rows, int(used[child]), labels)
        weight, samples = (
            flat[name][at_cell : at_cell + cells].reshape(shape) for name in (names[1], names[-1])
        )
        expect(bool((samples.any(axis=(1, 2))).all()), "a configuration of a family holds no sample")
        expect(not bool(((samples == 0) & (weight > 0)).any()), "a family holds weight that no sample has")
        made.put_rows(f, family_codes, weight, samples)
        made.since[f] = since
        at_code, at_cell = at_code + codes, at_cell + cells
    return made


def _checked_family(
    child: object, parents: object, rows: object, since: object, *, used: NDArray[Any], clock: int
) -> tuple[Family, int, int]:
    slots = range(len(used))
    expect(type(child) is int and child in slots, f"{child!r} is not a variable of a family")
    if not isinstance(parents, list) or not all(type(slot) is int and slot in slots for slot in parents):
        expect(False, f"{parents!r} are no parents of a family")
        raise AssertionError
    expect(
        all(a < b for a, b in pairwise(parents)) and child not in parents,
        f"{parents!r} are no parents of {child}",
    )
    expect(type(rows) is int and 0 <= rows < 2**40, f"{rows!r} is not a number of configurations")
    expect(
        type(since) is int and 0 <= since <= clock + 1,
        f"{since!r} is not a time since which a family is counted",
    )
    return (child, tuple(parents)), rows, since  # type: ignore[return-value]  # expected above


def _checked_array(name: str, array: object) -> NDArray[Any]:
    dtype = np.int32 if name == "family_codes" else np.float64
    fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == 1
    expect(fits, f"{name} is no flat array of {np.dtype(dtype)}")
    checked: NDArray[Any] = np.asarray(array)
    expect(
        bool((checked >= 0).all() and np.isfinite(checked).all()), f"{name} holds what is not a count or code"
    )
    if name == "family_samples":
        expect(bool((checked == np.floor(checked)).all()), "family_samples holds fractions of samples")
    return checked


def _check_codes(codes: NDArray[Any], used: list[int]) -> None:
    """Raise `BadState` for codes beyond their vocabularies, and configurations out of order or there twice."""
    for column, size in zip(codes.T, used, strict=True):
        expect(bool((column < size).all()), "a configuration of a family has an unknown value")
    ascending = [tuple(row) for row in codes.tolist()]
    expect(all(a < b for a, b in pairwise(ascending)), "the configurations of a family are out of order")
