"""KDB with two or more parents, which are derived from the counts of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._families import FamilyTables
from stream_bayes.core.counts.families import Family
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.readings._kdb import DependenceReading
from stream_bayes.core.readings.state import load_clock, load_slot
from stream_bayes.core.structures._tan_and_kdb import dependence_parents
from stream_bayes.core.structures.deriving_schedule import next_check
from stream_bayes.core.structures.named_features import NamedFeatures
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import Value, name_order

__all__ = ["FamilyDependences"]


class FamilyDependences(DependenceReading):
    """Each feature's parents: the `most` that share most information with it, among those with more about the class.

    Without `every`, the parents are checked after a tenth more events. They are derived again if the order in which
    they were chosen no longer holds, or if the events have doubled. Families that stay keep their counts; new ones are
    counted from the store's window. Where a memory budget has no room for a family, the features with least information
    about the class get fewer parents. The store counts the families of the parents. `every` is the number of events
    between two derivations of the parents; None: derive when they may have changed. `settings` are as
    `DependenceReading` takes them.
    """

    def __init__(self, store: CountStore, every: int | None, most: int, **settings: Any) -> None:
        super().__init__(store.tables, store.encoder.labels, **settings)
        self.store = store
        self.encoder = store.encoder
        self.every = every
        self.most = most
        self.due = next_check(self.tables, every)
        self.derived_at = 0
        self.order: list[int] = []  # slots, by falling information about the class
        self.parents: dict[int, list[int]] = {}  # of each slot, by falling information about it

    # -- deriving -----------------------------------------------------------------------------------------------------

    def derive(self) -> None:
        """Check the parents, and derive them again if they may have changed."""
        has_lost_families = self.has_families and self.tables.families is None
        has_doubled = self.tables.clock >= 2 * self.derived_at
        if (
            self.every is not None
            or has_lost_families
            or has_doubled
            or not self.order
            or not self.is_in_order()
        ):
            self.rederive()
        self.due = next_check(self.tables, self.every)

    def rederive(self) -> None:
        """Derive the parents from the counts as they are now."""
        named = NamedFeatures(self.tables, self.encoder)
        of_class = named.with_class()
        parents = dependence_parents(of_class, named.information.between_all(), self.most)
        self.derived_at = int(self.tables.clock)
        self.order = [named.slots[number] for number in np.argsort(-of_class, kind="stable")]
        self.parents = {
            named.slots[child]: [named.slots[number] for number in numbers]
            for child, numbers in enumerate(parents)
        }
        self.tables.families = self._affordable()
        self.store.give_up_spare_room()
        self._write_structure()

    def is_in_order(self) -> bool:
        """Return True if features still come in the order of their information about the class, each one's parents in
        that of theirs about it, and no feature is new.
        """
        named = NamedFeatures(self.tables, self.encoder)
        number_of = {slot: number for number, slot in enumerate(named.slots)}
        if set(number_of) != set(self.order):
            return False
        of_class = [named.information.with_class(number_of[slot]) for slot in self.order]
        if any(first < second for first, second in pairwise(of_class)):
            return False
        for child, parents in self.parents.items():
            shared = [
                named.information.between(*sorted((number_of[child], number_of[slot]))) for slot in parents
            ]
            if any(first < second for first, second in pairwise(shared)):
                return False
        return True

    def _affordable(self) -> FamilyTables:
        """Return the families of the parents; leave out those that have no room, and the parents that need them.

        Families take at most half of what the budget leaves: the rest is for new names.
        """
        made, spare = self.store.lay_out(self._families()), self.store.bytes_left()
        is_filled = any(hashed is not None for hashed in made.hashed)
        if is_filled:  # what configurations take depends on their number
            self.store.fill(made)
        if spare is None or made.memory_bytes <= spare // 2:
            return made if is_filled else self.store.fill(made)
        spare //= 2
        columns = 1 if self.tables.exact else 2
        needed = dict(zip(made.families, made.bytes_each(made.room, made.classes, columns), strict=True))
        for child in self.order:
            for size in range(2, len(self.parents[child]) + 1):
                spare -= needed[family_of(child, self.parents[child][:size])]
                if spare < 0:
                    del self.parents[child][size - 1 :]
                    break
        return self.store.choose(self._families())

    def _families(self) -> list[Family]:
        """Return for each feature the families of its first two parents, of its first three, and so on."""
        return [
            family_of(child, parents[:size])
            for child, parents in sorted(self.parents.items())
            for size in range(2, len(parents) + 1)
        ]

    def _write_structure(self) -> None:
        """Write the parents and families into the kernel's arrays; -1 for families that new cuts have dropped."""
        tables = self.tables.families
        family_number = {} if tables is None else {family: f for f, family in enumerate(tables.families)}
        flat, beside, ends = [], [], []
        for slot in range(len(self.encoder.nominal)):
            parents = self.parents.get(slot, [])
            flat += parents
            beside += [
                family_number.get(family_of(slot, parents[:size]), -1) if size > 1 else -1
                for size in range(1, len(parents) + 1)
            ]
            ends.append(len(flat))
        self.parent = np.array(flat, np.longlong)
        self.family = np.array(beside, np.longlong)
        self.parent_end = np.array(ends, np.longlong)
        self.has_families = True

    def parents_by_name(self) -> dict[Value, tuple[Value, ...]]:
        """Return each feature's parents by falling information about it; features in the order of names."""
        features = self.encoder.nominal
        return {
            feature.name: tuple(features[slot].name for slot in self.parents.get(feature.slot, []))
            for feature in sorted(features, key=lambda feature: name_order(feature.name))
        }

    def parent_slots(self, features: int) -> NDArray[np.int64]:
        parents = np.full(features, -1)
        for child, above in self.parents.items():
            if above:
                parents[child] = above[0]
        return parents

    # -- state --------------------------------------------------------------------------------------------------------

    def derived_state(self) -> dict[str, Any]:
        """Return the order of the features, and the parents of each, by slots."""
        return {
            "due": self.due,
            "derived_at": self.derived_at,
            "order": list(self.order),
            "parents": [list(self.parents[slot]) for slot in self.order],
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.due, self.derived_at = load_clock(saved["due"]), load_clock(saved["derived_at"])
        features = len(self.encoder.nominal)
        order = [load_slot(slot, features) for slot in saved["order"]]
        expect(len(set(order)) == len(order) == len(saved["parents"]), "a feature has parents twice, or none")
        self.order = order
        self.parents = {
            child: self._load_parents(child, above, order[:rank])
            for rank, (child, above) in enumerate(zip(order, saved["parents"], strict=True))
        }
        wanted, families = self._families(), self.tables.families
        if families is not None:
            expect(families.families == wanted, "its families are not those of its parents")
        else:
            may_lack = self.store.discretizer is not None and not self.store.slides
            expect(may_lack or not order, "it lacks the families of its parents")
        if families is not None or self.derived_at:  # without families: new cuts have dropped them
            self._write_structure()

    def _load_parents(self, child: int, above: Sequence[Any], earlier: list[int]) -> list[int]:
        """Return the parents of a feature out of a state: distinct, and among those before it in the order."""
        fits = isinstance(above, list) and len(above) <= self.most and len(set(above)) == len(above)
        expect(fits and set(above) <= set(earlier), f"{above!r} are no parents of feature {child}")
        return list(above)


def family_of(child: int, parents: Sequence[int]) -> Family:
    """Return the family of a feature and some parents, which may come in any order."""
    return child, tuple(sorted(parents))
