"""Counts of a network with a class variable: each feature with its parents, by class."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from stream_bayes.core.counts._families import FamilyTables
from stream_bayes.core.counts.families import Family
from stream_bayes.core.counts.memory_use import Coming
from stream_bayes.core.counts.store import CountStore, StoreContent
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import Value

__all__ = ["LabelledCounts", "members_of"]


def members_of(structure: Structure, variable: Value, target: Value) -> tuple[Value, ...]:
    """Return the features of a variable's family, by name: its parents and itself, without the class."""
    family = (*structure.parents(variable), variable)
    return tuple(name for name in structure.variables if name in family and name != target)


class LabelledCounts(CountStore):
    """Weighted counts of labelled events: classes, values by class, and families of features by class. The encoder, a
    `RowEncoder`, belongs to the store. `structure` has the parents of each variable, class included; None for no
    families. `target` is the class's name in it. `settings` are as `CountStore` takes them.

    Notes
    -----
    A family is counted from the first event that has all its features. With a window, families of a new structure are
    counted from it, and the structure is part of the state, as it may change. `followers` are called when a feature is
    added or the families change.
    """

    def __init__(self, encoder: Encoder, structure: Structure | None, target: Value, **settings: Any) -> None:
        self.structure = structure
        self.tried: Structure | None = None  # counted besides, to be compared with the present structure
        self.target = target
        self.followers: list[Callable[[], None]] = []
        self._features = 0
        super().__init__(encoder, **settings)
        self.make_room()

    def make_room(self, whole: bool = True, coming: Coming | None = None) -> None:
        features = len(self.encoder.features)
        if features == self._features:
            super().make_room(whole, coming)
            return
        before = self.tables.families
        self.tables.families = self._with_new(before)
        try:
            super().make_room(whole, coming)
        except BaseException:
            self.tables.families = before
            raise
        self._notify()

    def _with_new(self, before: FamilyTables | None) -> FamilyTables | None:
        """Return the families counted so far, and those whose last feature was just added."""
        wanted = self.wanted_families()
        if not wanted or (before is not None and before.families == wanted):
            return before
        made = self.choose(wanted)
        counted = set() if before is None else set(before.families)
        for f, family in enumerate(wanted):
            if family not in counted:
                made.since[f] = 0  # no event before had all its features
        return made

    def _notify(self) -> None:
        self._features = len(self.encoder.features)
        for follow in self.followers:
            follow()

    def change_structure(self, structure: Structure | None) -> None:
        """Count the families of another structure. Families of both structures keep their counts; new families are
        counted from the window, or begin now if there is none. Then cut points that are set stay.

        A structure that is tried besides is dropped. Raises `BudgetExceeded` with nothing changed.
        """
        self._count_families_of(structure, None)

    def try_structure(self, structure: Structure | None) -> None:
        """Count the families of another structure besides; None: of no other. `of_tried` reads them.

        Raises `BudgetExceeded` with nothing changed.
        """
        self._count_families_of(self.structure, structure)

    def of_tried(self) -> LabelledCounts:
        """Return these counts as those of the structure that is tried, to be read only."""
        view = copy.copy(self)
        view.structure, view.tried, view.followers = self.tried, None, []
        return view

    def count_again(self) -> None:
        """Count the families from the window after new cut points have dropped their counts.

        Raises `BudgetExceeded` with nothing changed.
        """
        if self.tables.families is None and self.wanted_families():
            self._count_families_of(self.structure, self.tried)

    def _count_families_of(self, structure: Structure | None, tried: Structure | None) -> None:
        before = self.structure, self.tried, self.tables.families
        self.structure, self.tried = structure, tried
        wanted = self.wanted_families()
        self.tables.families = self.choose(wanted) if wanted else None
        try:
            super().make_room()
        except BaseException:
            self.structure, self.tried, self.tables.families = before
            raise
        if self.discretizer is not None and self.window is None:
            # A family that begins now could not be counted again with other cuts. If there are no cuts yet, the first
            # ones will count every event, including those before this one.
            self.discretizer.finish()
            made = self.tables.families
            for f, (child, above) in enumerate(made.families if made is not None else ()):
                if any(slot in self.discretizer.due for slot in (child, *above)):
                    made.since[f] = 0
        self._notify()

    def wanted_families(self) -> list[Family]:
        """Return the families of two features or more of which all have been seen."""
        features = self.encoder.features
        families: list[Family] = []
        for structure in (self.structure, self.tried):
            if structure is None:
                continue
            for variable in structure.variables:
                members = members_of(structure, variable, self.target)
                if len(members) > 1 and all(name in features for name in members):
                    families.append(self.family_of(members, variable))
        return list(dict.fromkeys(families))

    def family_of(self, members: tuple[Value, ...], variable: Value) -> Family:
        """Return the family of some features by slots. The family of the class's parents has the last one as child."""
        child = variable if variable != self.target else members[-1]
        features = self.encoder.features
        slots = [int(features[name].slot) for name in members if name != child]
        return int(features[child].slot), tuple(sorted(slots))

    def content(self) -> StoreContent:
        content = super().content()
        if self.window is None:
            return content
        structures = {
            name: None if structure is None else structure.to_json()
            for name, structure in (("structure", self.structure), ("tried", self.tried))
        }
        return content._replace(parts=content.parts | structures)

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty store of the same configuration from a state; raise `BadState` if it is not valid."""
        with refusing_bad_state():
            if self.window is not None:
                self.structure, self.tried = (
                    None if saved is None else Structure.from_json(saved)
                    for saved in (state["meta"]["structure"], state["meta"]["tried"])
                )
            super().load(state)
            families = self.tables.families
            saved = [] if families is None else families.families
            expect(saved == self.wanted_families(), "its families are not those of its structure")
        self._notify()
