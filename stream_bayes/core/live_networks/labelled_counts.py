"""Counts of a network with a class variable: each feature with its parents, by class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stream_bayes.core.counts._families import FamilyTables
from stream_bayes.core.counts.families import Family
from stream_bayes.core.counts.memory import Coming
from stream_bayes.core.counts.store import CountStore
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
    """Weighted counts of labelled events: classes, values by class, and families of features by class.

    Parameters
    ----------
    encoder
        A `RowEncoder`. The store owns it.
    structure
        The parents of each variable, class included; None for no families.
    target
        The class's name in the structure.
    settings
        As `CountStore` takes them.

    Notes
    -----
    A family is counted from the first event that has all its features. `followers` are called when a feature is added
    or the families change.
    """

    def __init__(self, encoder: Encoder, structure: Structure | None, target: Value, **settings: Any) -> None:
        self.structure = structure
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
        held = set() if before is None else set(before.families)
        for f, family in enumerate(wanted):
            if family not in held:
                made.since[f] = 0  # no event before had all its features
        return made

    def _notify(self) -> None:
        self._features = len(self.encoder.features)
        for follow in self.followers:
            follow()

    def change_structure(self, structure: Structure | None) -> None:
        """Count the families of another structure. Families of both structures keep their counts; new families begin
        now. Cut points that are set stay.

        Raises `BudgetExceeded` with nothing changed.
        """
        before, families = self.structure, self.tables.families
        self.structure = structure
        wanted = self.wanted_families()
        self.tables.families = self.choose(wanted) if wanted else None
        try:
            super().make_room()
        except BaseException:
            self.structure, self.tables.families = before, families
            raise
        if self.discretizer is not None:
            # A family that begins now could not be counted again with other cuts. If there are no cuts yet, the first
            # ones will count every event, including those before this one.
            self.discretizer.finish()
            made = self.tables.families
            for f, (child, above) in enumerate(made.families if made is not None else ()):
                if any(slot in self.discretizer.due for slot in (child, *above)):
                    made.since[f] = 0
        self._notify()

    def learn_shares(self, x: Mapping[Any, Any], weights: Mapping[Any, float]) -> None:
        """Count one event in several known classes with a weight in each: all of it, or nothing."""
        label, weight = next(
            (one for one in weights.items() if one[1] != int(one[1])), next(iter(weights.items()))
        )
        row = self.encode(x, label, weight)  # makes room for fractions, if a weight has one
        tables, labels = self.tables, self.encoder.labels
        bins: Any = tables.bins
        tables.tick(1)
        for label, weight in weights.items():
            if weight == 0.0:
                continue
            row.label, row.weight, row.whole = labels.find(label), weight, weight == int(weight)
            tables.put(row, tables.unit)
            if row.numbers and tables.observer is not None:
                tables.observer.observe(row)
                bins.resolve(row)  # the cuts may be others now

    def wanted_families(self) -> list[Family]:
        """Return the families of two features or more of which all have been seen."""
        if self.structure is None:
            return []
        features = self.encoder.features
        found: list[Family] = []
        for variable in self.structure.variables:
            members = members_of(self.structure, variable, self.target)
            if len(members) > 1 and all(name in features for name in members):
                found.append(self.family_of(members, variable))
        return list(dict.fromkeys(found))

    def family_of(self, members: tuple[Value, ...], variable: Value) -> Family:
        """Return the family of some features by slots. The family of the class's parents has the last one as child."""
        child = variable if variable != self.target else members[-1]
        features = self.encoder.features
        slots = [int(features[name].slot) for name in members if name != child]
        return int(features[child].slot), tuple(sorted(slots))

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty store of the same configuration from a state; raise `BadState` if it is not valid."""
        with refusing_bad_state():
            super().load(state)
            families = self.tables.families
            saved = [] if families is None else families.families
            expect(saved == self.wanted_families(), "its families are not those of its structure")
        self._notify()
