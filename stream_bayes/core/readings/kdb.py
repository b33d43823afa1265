"""KDB with two or more parents: which they are, derived from the counts of pairs, and when that is looked at again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from stream_bayes.core.counts._families import FamilyTables
from stream_bayes.core.counts.families import Family
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.readings._kdb import DependenceReading
from stream_bayes.core.readings.schedule import Named, checked_slot, checked_time, next_check
from stream_bayes.core.readings.trees import dependence_parents
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import Value, name_order

__all__ = ["FamilyDependences"]


class FamilyDependences(DependenceReading):
    """Each feature's `most` parents are those that tell most of it, of the features that tell more of the class.

    Without `every`, they are derived again when the order in which they were chosen, looked at whenever there are a
    tenth more events, no longer holds, and when the events have doubled. Families that stay keep their counts; new ones
    are counted from the store's window. With a memory budget the features that tell least of the class get fewer
    parents where there is no room for their families.
    """

    def __init__(self, store: CountStore, every: int | None, most: int, **settings: Any) -> None:
        super().__init__(store.tables, store.encoder.labels, **settings)
        self.store = store
        self.encoder = store.encoder
        self.every = every
        self.most = most
        self.due = next_check(self.tables, every)
        self.derived_at = 0
        self.order: list[int] = []  # the slots, what tells most of the class first
        self.parents: dict[int, list[int]] = {}  # of each of them, what tells most of it first

    # -- deriving -----------------------------------------------------------------------------------------------------

    def derive(self) -> None:
        """Look whether the parents are still the ones to have, and derive them anew if they may not be."""
        dropped = self.has_families and self.tables.families is None
        doubled = self.tables.clock >= 2 * self.derived_at
        if self.every is not None or dropped or doubled or not self.order or not self.is_in_order():
            self.rederive()
        self.due = next_check(self.tables, self.every)

    def rederive(self) -> None:
        """Derive the parents from the counts as they are now."""
        named = Named(self.tables, self.encoder)
        of_class = named.with_class()
        found = dependence_parents(of_class, named.information.between_all(), self.most)
        self.derived_at = int(self.tables.clock)
        self.order = [named.slots[place] for place in np.argsort(-of_class, kind="stable")]
        self.parents = {
            named.slots[child]: [named.slots[place] for place in places] for child, places in enumerate(found)
        }
        self.tables.families = self._affordable()
        self.store.give_up_spare_room()
        self._lay_out()

    def is_in_order(self) -> bool:
        """Whether each feature still tells at least as much of the class as the next, and each parent of its child, and
        no feature has been met since.
        """
        named = Named(self.tables, self.encoder)
        place = {slot: number for number, slot in enumerate(named.slots)}
        if set(place) != set(self.order):
            return False
        of_class = [named.information.with_class(place[slot]) for slot in self.order]
        if any(first < second for first, second in pairwise(of_class)):
            return False
        for child, parents in self.parents.items():
            told = [named.information.between(*sorted((place[child], place[slot]))) for slot in parents]
            if any(first < second for first, second in pairwise(told)):
                return False
        return True

    def _affordable(self) -> FamilyTables:
        """The families of the parents; those for which there is no room are left out, and the parents that need them
        with them. They take at most half of what the budget leaves, so that names can still be met.
        """
        made, spare = self.store.choose(self._families()), self.store.bytes_left()
        if spare is None or made.memory_bytes <= spare // 2:
            return made
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
        """Of each feature, from the second parent on, the family of so many parents."""
        return [
            family_of(child, parents[:size])
            for child, parents in sorted(self.parents.items())
            for size in range(2, len(parents) + 1)
        ]

    def _lay_out(self) -> None:
        """Write the parents and families as the kernel reads them."""
        families = self.tables.families.families
        place = {family: f for f, family in enumerate(families)}
        flat, beside, ends = [], [], []
        for slot in range(len(self.encoder.nominal)):
            parents = self.parents.get(slot, [])
            flat += parents
            beside += [
                place[family_of(slot, parents[:size])] if size > 1 else -1
                for size in range(1, len(parents) + 1)
            ]
            ends.append(len(flat))
        self.parent = np.array(flat, np.longlong)
        self.family = np.array(beside, np.longlong)
        self.parent_end = np.array(ends, np.longlong)
        self.has_families = True

    def parents_by_name(self) -> dict[Value, tuple[Value, ...]]:
        """Each feature's parents, what tells most of it first; in the order of names."""
        features = self.encoder.nominal
        return {
            feature.name: tuple(features[slot].name for slot in self.parents.get(feature.slot, []))
            for feature in sorted(features, key=lambda feature: name_order(feature.name))
        }

    # -- keeping ------------------------------------------------------------------------------------------------------

    def derived(self) -> dict[str, Any]:
        """What a state must hold besides the counts: the order of the features, and the parents of each, by slots."""
        return {
            "due": self.due,
            "derived_at": self.derived_at,
            "order": list(self.order),
            "parents": [list(self.parents[slot]) for slot in self.order],
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.due, self.derived_at = checked_time(saved["due"]), checked_time(saved["derived_at"])
        features = len(self.encoder.nominal)
        order = [checked_slot(slot, features) for slot in saved["order"]]
        expect(len(set(order)) == len(order) == len(saved["parents"]), "a feature has parents twice, or none")
        self.order = order
        self.parents = {
            child: self._checked(child, above, order[:place])
            for place, (child, above) in enumerate(zip(order, saved["parents"], strict=True))
        }
        wanted, families = self._families(), self.tables.families
        if families is None:
            expect(not order, "it lacks the families of its parents")
            return
        expect(families.families == wanted, "its families are not those of its parents")
        self._lay_out()

    def _checked(self, child: int, above: Sequence[Any], earlier: list[int]) -> list[int]:
        """The parents of a feature out of a state: distinct, and features that tell more of the class."""
        fits = isinstance(above, list) and len(above) <= self.most and len(set(above)) == len(above)
        expect(fits and set(above) <= set(earlier), f"{above!r} are no parents of feature {child}")
        return list(above)


def family_of(child: int, parents: Sequence[int]) -> Family:
    """The family of a feature and some parents, in whatever order these come."""
    return child, tuple(sorted(parents))
