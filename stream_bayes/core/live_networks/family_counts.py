"""What is counted of one family of a network, as arrays to read.

The counts of a Bayesian network: each variable beside its parents, in whatever structure it has now.

A `FamilyCounts` is a store like any other, of events that have no class: it learns, takes back, fades, merges and is
saved as they are. Beside the families it counts the values of each variable alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.families import Family
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import Encoder, RowEncoder
from stream_bayes.core.encoding._rows import Batch
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.live_networks.batches import learn_columns, learn_rows
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadState, BadStructure, CannotMerge, NotSupported, UnknownFeature

__all__ = ["FamilyCounts", "FamilyTable", "network_encoder"]

Table = NDArray[np.float64]


class FamilyStore(Protocol):
    """Where families are counted."""

    tables: Tables

    def slot_of(self, variable: Value) -> int: ...
    def values_of(self, variable: Value) -> tuple[Value, ...]: ...


class FamilyTable:
    """What is counted of one family: a variable and its parents.

    Parameters
    ----------
    store, variable, parents
        Whose table it is; the parents in the order of the axes.
    place
        The number of the family in the store's tables.

    Notes
    -----
    Weights are in fresh samples. Codes are those of the store's vocabularies; an axis is as long as its variable has
    codes now. Arrays must not be written to, and are only good until the store learns again.
    """

    def __init__(
        self,
        store: FamilyStore,
        variable: Value,
        parents: tuple[Value, ...],
        place: int,
    ) -> None:
        self.store = store
        self.variable = variable
        self.parents = parents
        self.place = place

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes each parent and the variable have."""
        return tuple(len(self.store.values_of(name)) for name in (*self.parents, self.variable))

    @property
    def is_whole(self) -> bool:
        """Whether there is a table of all cells; otherwise only configurations that were met are held."""
        return self._tables.hashed[self.place] is None

    @property
    def table(self) -> Table:
        """The weights as [parents' values..., value]: a view while nothing fades, a copy otherwise."""
        if not self.is_whole:
            raise NotSupported(
                f"the family of {shown(self.variable)} has {'x'.join(map(str, self.shape))} cells, too many for a "
                "table of all of them; go through `configurations` or ask for a `row`"
            )
        tables, family = self._tables, (*self._slots, self._child)
        rooms = tuple(int(tables.room[slot]) for slot in family)
        start = int(tables.base[self.place])
        cells = np.asarray(tables.weight)[start : start + int(np.prod(rooms)) * tables.classes]
        full = cells.reshape(*rooms, tables.classes)[..., 0]
        order = [self._slots.index(self.store.slot_of(parent)) for parent in self.parents]
        view = full.transpose(*order, len(order))[tuple(slice(size) for size in self.shape)]
        return self._fresh(view)

    @property
    def configurations(self) -> tuple[NDArray[np.int32], Table]:
        """Those that hold samples: the parents' codes, a row a configuration, and the weights of the values in each."""
        codes, weight, _ = self._tables.rows_of(self.place)
        order = [self._slots.index(self.store.slot_of(parent)) for parent in self.parents]
        return codes[:, order], self._fresh(weight[:, : self.shape[-1], 0])

    def row(self, codes: Sequence[int]) -> Table:
        """The weights of the values under one configuration of the parents, by their codes; zeros if never met."""
        given = dict(zip((self.store.slot_of(parent) for parent in self.parents), codes, strict=True))
        wanted = np.array([given[slot] for slot in self._slots], np.int32)
        weight = self._tables.weights_under(self.place, wanted)
        return self._fresh(np.asarray(weight)[: self.shape[-1]])

    @property
    def _tables(self) -> Any:
        return self.store.tables.families

    @property
    def _child(self) -> int:
        return int(self._tables.families[self.place][0])

    @property
    def _slots(self) -> tuple[int, ...]:
        slots: tuple[int, ...] = self._tables.families[self.place][1]
        return slots

    def _fresh(self, weight: Table) -> Table:
        unit = self.store.tables.unit
        answer = weight if unit == 1.0 else weight / unit
        answer.flags.writeable = False
        return answer


EVENT = "event"  # the one class that every event is of


def network_encoder(
    variables: Mapping[Any, Iterable[Value]] | None = None, max_values: int | None = None
) -> RowEncoder:
    """An encoder of events without a class, all of whose features are nominal.

    Parameters
    ----------
    variables
        The variables there are, each with the values declared; further values are met as they come, other features
        ignored. None: features are met as they come, too.
    max_values
        How many values a variable may have; further ones share a code.
    """
    declared = None
    if variables is not None:
        declared = {name: Vocabulary(tuple(values), max_values) for name, values in variables.items()}
    return RowEncoder(Vocabulary((EVENT,), None, True), declared, False, "nominal", max_values)


class FamilyCounts(CountStore):
    """Weighted counts of the families of a network's structure.

    Parameters
    ----------
    encoder
        One from `network_encoder`, fresh. The store owns it from now on.
    structure
        The parents of each variable.
    half_life
        The number of learned events after which a sample weighs half; None keeps everything.
    memory_budget
        The most bytes that tables, names and the window may take.
    window
        Keep so many of the newest events, so that the families of another structure can be counted from them.
    binning
        Where the encoder has bins, with declared cuts for all of them: as `Discretizer` takes it.

    Notes
    -----
    An event that lacks a member of a family is not counted there. Memory: 8 bytes a cell of each family (16 with
    fractional weights or fading); a family of more than 65,536 cells holds the configurations of parents that were met.

    Examples
    --------
    >>> counts = FamilyCounts(network_encoder(), Structure({"rain": [], "lawn": ["rain"]}))
    >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
    ...     counts.learn({"rain": rain, "lawn": lawn})
    >>> counts.family("lawn").table.tolist(), counts.values_of("rain"), counts.values_of("lawn")
    ([[1.0, 0.0], [1.0, 2.0]], ('yes', 'no'), ('wet', 'dry'))
    """

    def __init__(
        self,
        encoder: Encoder,
        structure: Structure,
        *,
        half_life: float | None = None,
        memory_budget: int | None = None,
        window: int | None = None,
        binning: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            encoder, half_life=half_life, memory_budget=memory_budget, window=window, binning=binning
        )
        self.structure = structure
        self.change_structure(structure)

    # -- structure ----------------------------------------------------------------------------------------------------

    def change_structure(self, structure: Structure) -> None:
        """Count the families of another structure. Those of both keep their counts; the others are counted from the
        window, or, where there is none, begin now.

        Raises `BudgetExceeded` with nothing changed.
        """
        for name in structure.variables:
            if self.encoder.declared and name not in self.encoder.features:
                raise UnknownFeature(f"the structure has the variable {shown(name)}, which is not declared")
        for name in structure.variables:
            self.encoder.name_feature(name, False)
        self.make_room()
        families = [self._family_of(structure, name) for name in structure.variables]
        before, self.tables.families = self.tables.families, self.choose(families)
        try:
            self.make_room()
        except BaseException:
            self.tables.families = before
            raise
        self.structure = structure

    def _family_of(self, structure: Structure, name: Value) -> Family:
        return self.slot_of(name), tuple(sorted(map(self.slot_of, structure.parents(name))))

    # -- reading ----------------------------------------------------------------------------------------------------

    def family(self, variable: Value) -> FamilyTable:
        """What is counted of a variable and its parents."""
        parents = self.structure.parents(variable)
        place = self.structure.variables.index(variable)
        return FamilyTable(self, variable, parents, place)

    def families(self) -> Iterator[FamilyTable]:
        """The family of each variable, in the order of names."""
        for variable in self.structure.variables:
            yield self.family(variable)

    def slot_of(self, variable: Value) -> int:
        """The slot of a variable: its place in rows and windows."""
        return int(self.encoder.features[variable].slot)

    def values_of(self, variable: Value) -> tuple[Value, ...]:
        """The values of a variable in the order of their codes, those that hold no sample any more included."""
        return tuple(self.encoder.features[variable].vocabulary.values)

    def held_values(self, variable: Value) -> NDArray[np.bool_]:
        """Which values hold samples, or were declared, by their codes."""
        layout, slot = self.tables.values.layout, self.slot_of(variable)
        held = np.asarray(self.tables.values.held)[layout.start[slot] :]
        return held[: len(self.values_of(variable))].astype(bool)

    def held_states(self, variable: Value) -> tuple[Value, ...]:
        """The values that hold samples or were declared, in the order of their codes."""
        held = self.held_values(variable).tolist()
        return tuple(value for value, is_held in zip(self.values_of(variable), held, strict=True) if is_held)

    def laid_out(self) -> tuple[Any, ...]:
        """What says where the weights of families stand, and which values are held; equal while that stays."""
        tables = self.tables
        families = tables.families
        places = bytes(families.room), bytes(families.base)
        return families, *places, tables.values.layout, bytes(tables.values.held)

    @property
    def cells(self) -> Table:
        """The weights of all families that are held as a whole, in the tables' own units."""
        return np.asarray(self.tables.families.weight)

    def is_whole(self, variable: Value) -> bool:
        """Whether all cells of a variable's family are held, and not only the configurations met."""
        return self.tables.families.hashed[self.structure.variables.index(variable)] is None

    def places_of(self, variable: Value) -> list[NDArray[np.longlong]]:
        """How far from the beginning of `cells` each code of each parent, and of the variable, stands; the first of
        them tells where the family begins, too.
        """
        families = self.tables.families
        place = self.structure.variables.index(variable)
        child, parents = families.families[place]
        steps = dict(
            zip((*parents, child), np.asarray(families.stride)[families.end[place] :].tolist(), strict=False)
        )
        places = [
            steps[self.slot_of(name)] * np.arange(len(self.values_of(name)), dtype=np.longlong)
            for name in (*self.structure.parents(variable), variable)
        ]
        places[0] += families.base[place]
        return places

    @property
    def weight(self) -> float:
        """How many events are held, in fresh samples."""
        return float(self.tables.class_weight[0] / self.tables.unit)

    # -- learning ---------------------------------------------------------------------------------------------------

    def learn(self, x: Mapping[Any, Any], weight: float = 1.0) -> None:  # type: ignore[override]  # there is no class
        """Encode an event and count it: all of it, or, where anything is refused, nothing."""
        super().learn(x, EVENT, weight)

    def unlearn(  # type: ignore[override]  # there is no class
        self, x: Mapping[Any, Any], weight: float = 1.0, at: int | None = None
    ) -> None:
        """Take back exactly what learning the same event added when the clock stood `at`."""
        super().unlearn(x, EVENT, weight, at)

    def learn_many(self, xs: Sequence[Mapping[Any, Any]], weights: Sequence[float] | None = None) -> None:
        """Count many events as `learn` would one after the other: all of them, or none."""
        batch = Batch(len(xs), len(xs) * len(self.structure))
        ws = [1.0] * len(xs) if weights is None else weights
        self.encoder.encode_all(xs, [EVENT] * len(xs), ws, batch)
        learn_rows(self, batch)

    def learn_columns(
        self,
        names: Sequence[Any],
        codes: NDArray[np.int32],
        vocabularies: Sequence[Sequence[Value]],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Count many events that are columns of codes: all of them, or none.

        Parameters
        ----------
        names
            The variable of each column. Without declared variables, other features are counted alone.
        codes
            int32, events by columns, C-contiguous; -1 is missing. Every code is within its vocabulary.
        vocabularies
            Per column, the value of each code.
        weights
            Of each event; None: 1.

        Notes
        -----
        While weights are whole and nothing fades this costs a few nanoseconds an event and family.
        """
        learn_columns(self, names, codes, vocabularies, weights)

    # -- merging and keeping ------------------------------------------------------------------------------------------

    def merge(self, other: CountStore) -> None:
        """Add everything that another store of the same structure holds, by name.

        Raises `CannotMerge` or `BudgetExceeded` with nothing changed.
        """
        if not isinstance(other, FamilyCounts) or other.structure != self.structure:
            raise CannotMerge("only counts of the same structure can be merged")
        super().merge(other)

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty store from a state; whatever is wrong with it raises `BadState`."""
        with refusing_bad_state():
            super().load(state)
            self.structure = self._structure_of(self.tables.families.families)

    def _structure_of(self, families: Sequence[Family]) -> Structure:
        names = [feature.name for feature in self.encoder.nominal]
        parents = {names[child]: [names[slot] for slot in above] for child, above in families}
        expect(len(parents) == len(families), "a variable has two families")
        try:
            structure = Structure(parents)
        except BadStructure as error:
            raise BadState(f"the state does not fit: {error}") from None
        expected = [self._family_of(structure, name) for name in structure.variables]
        expect(families == expected, "its families are out of order")
        return structure

    @classmethod
    def from_state(cls, state: Mapping[str, Any], encoder: Encoder, **settings: Any) -> Self:
        """A store over a fresh encoder, with the settings that the saved one had, filled from its state, which tells
        the structure, too.
        """
        store = cls(encoder, Structure({}), **settings)
        store.load(state)
        return store

    def copy(self, encoder: Encoder) -> FamilyCounts:
        """The same counts in a store of its own, over a fresh encoder made as this one's was."""
        return FamilyCounts.from_state(
            self.state(),
            encoder,
            half_life=self.tables.half_life or None,
            memory_budget=self.memory_budget,
            window=None if self.window is None else self.window.size,
        )
