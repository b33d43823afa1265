"""The counts and sums of one family over names and numbers, by configuration of its names: kept, and added elsewhere.

A family's store has a class for each configuration of its nominal parents and of the bins of numbers above a name. A
name is counted there by value; a number is summed with its numeric parents, squares and products.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.live_networks._numeric_family import cell_of
from stream_bayes.core.values.values import Value, tagged

__all__ = ["Cuts", "FamilyShape", "FamilySums", "cell_in", "name_in_stores"]

Cuts = tuple[float, ...]  # the lower bounds of all bins but the first


class FamilyShape(NamedTuple):
    """A variable and its parents: names, numbers that a number is linear in, and numbers that are cut above a name."""

    variable: Value
    is_number: bool
    nominal: tuple[Value, ...]
    numeric: tuple[Value, ...]
    cuts: tuple[tuple[Value, Cuts], ...]

    @property
    def members(self) -> tuple[Value, ...]:
        """All variables of the family."""
        return (*self.nominal, *self.numeric, *(parent for parent, _ in self.cuts), self.variable)

    def new_store(self) -> CountStore:
        """Return a store of the family without events."""
        labels = Vocabulary(((),), None, not (self.nominal or self.cuts))
        if not self.is_number:
            return CountStore(RowEncoder(labels, {name_in_stores(self.variable): Vocabulary()}, False))
        declared = {name_in_stores(each): None for each in (*self.numeric, self.variable)}
        return CountStore(RowEncoder(labels, declared, False), co_moments=True)


class FamilySums:
    """Counts and sums of a family, a copy that others may change.

    Examples
    --------
    >>> from stream_bayes import MixedNetwork
    >>> model = MixedNetwork({"kind": [], "size": ["kind"]})
    >>> for k in range(6):
    ...     model.learn_one({"kind": "ab"[k % 2], "size": 2.0 * k})
    >>> sums = model.store.sums_of("size")
    >>> sums.subtract({"kind": "a", "size": 0.0}, 1.0)
    >>> sums.shape.members, sums.weight
    (('kind', 'size'), 5.0)
    """

    def __init__(self, shape: FamilyShape) -> None:
        self.shape = shape
        self.store = shape.new_store()

    @property
    def weight(self) -> float:
        """The weight of all events counted."""
        return math.fsum(self.store.tables.class_weight)

    def holds_all_of(self, values: Mapping[Value, Any]) -> bool:
        """Return True if an event has a value of each member, so that it is counted."""
        return all(each in values for each in self.shape.members)

    def subtract(self, values: Mapping[Value, Any], weight: float) -> None:
        """Subtract an event that has all members. Raise `NotLearned`, with nothing changed, if it was not counted."""
        shape = self.shape
        x = {name_in_stores(each): values[each] for each in (*shape.numeric, shape.variable)}
        bins = (bisect_right(cuts, values[parent]) for parent, cuts in shape.cuts)
        self.store.unlearn(x, (*(values[parent] for parent in shape.nominal), *bins), weight)


def cell_in(
    store: CountStore, v: Value, configuration: tuple[Value, ...], value: Value
) -> tuple[float, float]:
    """Return the weight of a name in a configuration of its family's store, and that of all names there."""
    label = store.encoder.labels.find(configuration)
    if label < 0:
        return 0.0, 0.0
    feature = store.encoder.features[name_in_stores(v)]
    weight, total = cell_of(store.tables.values, feature.slot, feature.vocabulary.find(value), label)
    return weight, total


def name_in_stores(v: Value) -> str:
    """Return the name of a variable in the encoders of stores."""
    return json.dumps(tagged(v))
