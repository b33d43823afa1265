"""Counts of a Bayesian network's families: each variable together with its parents.

`FamilyCounts` is a count store of events without a class: it learns, unlearns, fades, merges and is saved like any
other. It also counts the values of each variable alone. `FamilyTable` reads the counts of one family as arrays.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.families import Family
from stream_bayes.core.counts.memory_use import Coming
from stream_bayes.core.counts.store import CountStore, StoreContent
from stream_bayes.core.encoding._features import Encoder, RowEncoder
from stream_bayes.core.encoding._rows import Batch
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.live_networks.batches import learn_columns, learn_rows
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.unknown_names import did_you_mean
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import (
    BadValue,
    CannotMerge,
    NotLearned,
    NotSupported,
    UnknownFeature,
)

__all__ = ["CountedCells", "FamilyCounts", "FamilyTable", "network_encoder"]

Floats = NDArray[np.float64]


class FamilyStore(Protocol):
    """A store that counts families."""

    tables: Tables

    def slot_of(self, variable: Value) -> int: ...
    def values_of(self, variable: Value) -> tuple[Value, ...]: ...


class FamilyTable:
    """The counts of one family, a variable and its parents, as arrays to read. The parents are in the order of the
    axes. `number` is that of the family in the store's tables.

    Notes
    -----
    Weights are in fresh samples. Codes are those of the store's vocabularies, and an axis is as long as its variable
    has codes now. Arrays are read-only and valid until the store learns again.
    """

    def __init__(
        self,
        store: FamilyStore,
        variable: Value,
        parents: tuple[Value, ...],
        number: int,
    ) -> None:
        self.store = store
        self.variable = variable
        self.parents = parents
        self.number = number

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of codes of each parent, then of the variable."""
        return tuple(len(self.store.values_of(name)) for name in (*self.parents, self.variable))

    @property
    def is_whole(self) -> bool:
        """True if the store has all cells of the family; False if it has only the configurations that were seen."""
        return self._tables.hashed[self.number] is None

    @property
    def table(self) -> Floats:
        """The weights as [parents' values..., value]: a view while nothing fades, otherwise a copy."""
        if not self.is_whole:
            raise NotSupported(
                f"the family of {shown(self.variable)} has {'x'.join(map(str, self.shape))} cells, too many for a "
                "table of all of them; read `configurations` or a single `row`"
            )
        tables, family = self._tables, (*self._slots, self._child)
        rooms = tuple(int(tables.room[slot]) for slot in family)
        start = int(tables.base[self.number])
        cells = np.asarray(tables.weight)[start : start + int(np.prod(rooms)) * tables.classes]
        full = cells.reshape(*rooms, tables.classes)[..., 0]
        order = [self._slots.index(self.store.slot_of(parent)) for parent in self.parents]
        view = full.transpose(*order, len(order))[tuple(slice(size) for size in self.shape)]
        return self._fresh(view)

    @property
    def configurations(self) -> tuple[NDArray[np.int32], Floats]:
        """The parents' codes of each configuration with samples, one a row, and the weights of the values in each."""
        codes, weight, _ = self._tables.rows_of(self.number)
        order = [self._slots.index(self.store.slot_of(parent)) for parent in self.parents]
        return codes[:, order], self._fresh(weight[:, : self.shape[-1], 0])

    def row(self, codes: Sequence[int]) -> Floats:
        """Return the weights of the values under one configuration of the parents' codes; zeros if it
        was never seen.
        """
        code_by_slot = dict(zip((self.store.slot_of(parent) for parent in self.parents), codes, strict=True))
        wanted = np.array([code_by_slot[slot] for slot in self._slots], np.int32)
        weight = self._tables.weights_under(self.number, wanted)
        return self._fresh(np.asarray(weight)[: self.shape[-1]])

    @property
    def _tables(self) -> Any:
        return self.store.tables.families

    @property
    def _child(self) -> int:
        return int(self._tables.families[self.number][0])

    @property
    def _slots(self) -> tuple[int, ...]:
        return self._tables.families[self.number][1]

    def _fresh(self, weight: Floats) -> Floats:
        unit = self.store.tables.unit
        answer = weight if unit == 1.0 else weight / unit
        answer.flags.writeable = False
        return answer


class CountedCells(NamedTuple):
    """The cells of a family that hold samples, a copy: a row of codes each, of the parents and of the variable."""

    members: tuple[Value, ...]  # the parents in the order of their slots, and the variable
    codes: NDArray[np.int32]
    weights: Floats  # in fresh samples
    samples: Floats

    def without(self, codes: NDArray[np.integer], weights: Floats) -> CountedCells:
        """Return the cells without some events, whose codes are the rows."""
        position = {row: k for k, row in enumerate(map(tuple, self.codes.tolist()))}
        left, samples = self.weights.copy(), self.samples.copy()
        for row, weight in zip(map(tuple, codes.tolist()), weights.tolist(), strict=True):
            if row in position:
                left[position[row]] -= weight
                samples[position[row]] -= weight if weight.is_integer() else 1.0
        counted = (left > ROUNDED) & (samples > 0.0)
        return CountedCells(self.members, self.codes[counted], left[counted], samples[counted])


def _is_bool(value: Value) -> bool:
    return isinstance(value, bool)


EVENT = "event"  # the single class of all events
ROUNDED = 1e-9  # a weight that rounding left of none


def network_encoder(
    variables: Mapping[Any, Iterable[Value]] | None = None, max_values: int | None = None
) -> RowEncoder:
    """Make an encoder of events without a class, with nominal features only. `variables` has each with its declared
    values. Further values are added as they come; other features are ignored. None adds features as they come, too.
    Past `max_values` values of a variable, further ones share a code.
    """
    declared = None
    if variables is not None:
        declared = {name: Vocabulary(tuple(values), max_values) for name, values in variables.items()}
    return RowEncoder(Vocabulary((EVENT,), None, True), declared, False, "nominal", max_values)


class FamilyCounts(CountStore):
    """Weighted counts of the families of a network's structure.

    The encoder, a fresh one from `network_encoder`, belongs to the store. `half_life` is the number of learned events
    after which a sample weighs half; None keeps everything. `memory_budget` is the most bytes that tables, names and
    the window may take. `window` is the number of newest events to keep, so that the families of another structure can
    be counted from them. `binning` is the bins of numeric variables, as `Discretizer` takes them, if the encoder has
    bins; all cuts are declared.

    Notes
    -----
    A family does not count events in which one of its members is missing. Memory: 8 bytes a cell of each family (16
    with fractional weights or fading). A family of more than 65,536 cells holds only the parents' configurations seen.

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
            encoder,
            half_life=half_life,
            memory_budget=memory_budget,
            window=window,
            binning=binning,
            moments=binning is not None,  # `tails` tells from them how far out a number is
        )
        self.structure = structure
        self.tried: Structure | None = None  # counted besides, to be compared with the present structure
        # The clock of the first event after the newest change: families counted later begin there.
        self.since = 0
        self._family_numbers: dict[Value, int] = {}  # the number of each variable's family in the tables
        self.change_structure(structure)

    # -- structure ----------------------------------------------------------------------------------------------------

    def change_structure(self, structure: Structure) -> None:
        """Count the families of another structure. Families of both structures keep their counts; new families are
        counted from the window, or begin now if there is none.

        A structure that is tried besides is dropped. Raises `BudgetExceeded` with nothing changed.
        """
        self._count_families_of(structure, None)

    def try_structure(self, structure: Structure | None) -> None:
        """Count the families of another structure besides; None: of no other. `of_tried` reads them.

        Raises `BudgetExceeded` with nothing changed.
        """
        self._count_families_of(self.structure, structure)

    def of_tried(self) -> FamilyCounts:
        """Return these counts as those of the structure that is tried, to be read only."""
        assert self.tried is not None
        view: FamilyCounts = copy.copy(self)
        view.structure, view.tried = self.tried, None
        view._family_numbers = self._family_numbers_in(self.tables.families.families, self.tried)
        return view

    def _count_families_of(self, structure: Structure, tried: Structure | None) -> None:
        for name in structure.variables:
            if self.encoder.declared and name not in self.encoder.features:
                rest = did_you_mean(
                    name, self.encoder.features, "declare it in the schema, or leave the schema out"
                )
                raise UnknownFeature(
                    f"the structure has the variable {shown(name)}, which is not declared{rest}"
                )
        for name in structure.variables:
            self.encoder.name_feature(name, False)
        self.make_room()
        before, self.tables.families = (
            self.tables.families,
            self.choose(self._wanted_families(structure, tried)),
        )
        try:
            self.make_room()
        except BaseException:
            self.tables.families = before
            raise
        self.structure, self.tried = structure, tried
        self._family_numbers = self._family_numbers_in(self.tables.families.families, structure)
        self._leave_out_before_change(() if before is None else before.families)

    def _leave_out_before_change(self, counted: Sequence[Family]) -> None:
        """Count new families again without the events before the newest change."""
        if self.window is None or not self.since:
            return
        events = None
        for f, family in enumerate(self.tables.families.families):
            if family not in counted:
                events = events or self.window.freeze()
                self._count_since(f, self.since, events.codes, events.weights, events.clocks)

    def recount(
        self,
        starts: Mapping[Value, int],
        codes: NDArray[np.integer],
        weights: NDArray[np.float64],
        clocks: NDArray[np.int64],
    ) -> None:
        """Count the families of some variables again, from the events after they changed; the others stay.

        Families of another structure that are counted later begin with the newest change. `starts` has, for each
        variable, the clock of the first event after its change. The others are the newest events: a row of codes for
        each slot, -1 if missing.

        Examples
        --------
        >>> counts = FamilyCounts(network_encoder(), Structure({"rain": [], "lawn": ["rain"]}))
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("yes", "dry")]:
        ...     counts.learn({"rain": rain, "lawn": lawn})
        >>> codes = np.array([[0, 1, 1], [0, 1, 0]])  # of lawn and rain, whose slots are 0 and 1
        >>> counts.recount({"lawn": 3}, codes, np.ones(3), np.array([1, 2, 3]))
        >>> counts.family("lawn").table.tolist(), counts.family("rain").table.tolist()
        ([[0.0, 1.0], [0.0, 0.0]], [2.0, 1.0])
        """
        for name, clock in starts.items():
            self.since = max(self.since, clock)
            self._count_since(self.family_number(name), clock, codes, weights, clocks)

    def _count_since(
        self,
        f: int,
        clock: int,
        codes: NDArray[np.integer],
        weights: NDArray[np.float64],
        clocks: NDArray[np.int64],
    ) -> None:
        """Count a family anew, from the events since a clock."""
        tables, families = self.tables, self.tables.families
        child, parents = families.families[f]
        members = codes[[*parents, child]]
        chosen = np.flatnonzero((members >= 0).all(axis=0) & (clocks >= clock) & (weights > 0.0))
        configurations, row = np.unique(members[:-1, chosen], axis=1, return_inverse=True)
        number, width = (
            configurations.shape[1] if parents else int(len(chosen) > 0),
            int(families.room[child]),
        )
        cell = (row.reshape(-1) if parents else 0) * width + members[-1, chosen]
        fresh = weights[chosen]
        samples = np.where(fresh == np.floor(fresh), fresh, 1.0)
        if tables.half_life:
            fresh = fresh * 0.5 ** ((int(tables.clock) - clocks[chosen]) / tables.half_life)
        families.empty(f)
        shape = (number, width, 1)
        families.put_rows(
            f,
            np.ascontiguousarray(configurations.T, np.int32).reshape(number, len(parents)),
            np.bincount(cell, fresh * tables.unit, number * width).reshape(shape),
            np.bincount(cell, samples, number * width).reshape(shape),
        )
        families.since[f] = max(clock, int(families.since[f]))

    def _wanted_families(self, structure: Structure, tried: Structure | None) -> list[Family]:
        """Return the families of a structure, then those that only another one has."""
        families = [
            self._family_of(each, name)
            for each in (structure, tried)
            if each is not None
            for name in each.variables
        ]
        return list(dict.fromkeys(families))

    def _family_numbers_in(self, families: Sequence[Family], structure: Structure) -> dict[Value, int]:
        numbers = {family: number for number, family in enumerate(families)}
        return {name: numbers[self._family_of(structure, name)] for name in structure.variables}

    def family_number(self, variable: Value) -> int:
        """Return the number of a variable's family in the tables."""
        return self._family_numbers[variable]

    def members_of(self, variable: Value) -> tuple[Value, ...]:
        """Return a variable's parents in the order of their slots, and the variable."""
        return (*sorted(self.structure.parents(variable), key=self.slot_of), variable)

    def weights_under(self, variable: Value, codes: Sequence[int]) -> Floats:
        """Return the weights of a variable's values, in fresh samples, under codes of its parents by slot."""
        weights = self.tables.families.weights_under(self.family_number(variable), np.array(codes, np.int32))
        return np.asarray(weights) / self.tables.unit

    def cells_of(self, variable: Value) -> CountedCells:
        """Return the cells of a variable's family that hold samples.

        Examples
        --------
        >>> counts = FamilyCounts(network_encoder(), Structure({"rain": [], "lawn": ["rain"]}))
        >>> counts.learn_many([{"rain": "yes", "lawn": "wet"}, {"rain": "no", "lawn": "dry"}] * 3)
        >>> cells = counts.cells_of("lawn")
        >>> cells.members, cells.codes.tolist(), cells.weights.tolist()
        (('rain', 'lawn'), [[0, 0], [1, 1]], [3.0, 3.0])
        >>> counts.add_cells(cells.without(np.array([[0, 0]]), np.ones(1)))
        >>> counts.family("lawn").table.tolist()
        [[5.0, 0.0], [0.0, 6.0]]
        """
        codes, weights, samples = self.tables.families.rows_of(self.family_number(variable))
        row, code, _ = np.nonzero(samples)
        return CountedCells(
            self.members_of(variable),
            np.column_stack([codes[row], code.astype(np.int32)]),
            weights[row, code, 0] / self.tables.unit,
            samples[row, code, 0].astype(np.float64),
        )

    def add_cells(self, cells: CountedCells) -> None:
        """Add cells to the family of their variable, which has the same parents and all their codes.

        Raises `BudgetExceeded`, with nothing changed, if they need more memory.
        """
        number, child = self.family_number(cells.members[-1]), self.slot_of(cells.members[-1])
        whole = bool((cells.weights == np.floor(cells.weights)).all())
        self.make_room_for(len(cells.weights), whole)
        above = cells.codes[:, :-1]
        configurations, row = (
            np.unique(above, axis=0, return_inverse=True)
            if above.size
            else (above[:1], above[:, :0].sum(axis=1))
        )
        shape = (len(configurations), int(self.tables.families.room[child]), 1)
        weights, samples = np.zeros(shape), np.zeros(shape)
        at = (row.reshape(-1), cells.codes[:, -1], 0)
        weights[at], samples[at] = cells.weights * self.tables.unit, cells.samples
        self.tables.families.put_rows(number, np.ascontiguousarray(configurations), weights, samples)

    def _family_of(self, structure: Structure, name: Value) -> Family:
        return self.slot_of(name), tuple(sorted(map(self.slot_of, structure.parents(name))))

    # -- reading ----------------------------------------------------------------------------------------------------

    def family(self, variable: Value) -> FamilyTable:
        """Return the counts of a variable with its parents."""
        parents = self.structure.parents(variable)
        return FamilyTable(self, variable, parents, self.family_number(variable))

    def families(self) -> Iterator[FamilyTable]:
        """Yield the family of each variable, in the order of names."""
        for variable in self.structure.variables:
            yield self.family(variable)

    def slot_of(self, variable: Value) -> int:
        """Return the slot of a variable: its position in rows and windows."""
        return int(self.encoder.features[variable].slot)

    def values_of(self, variable: Value) -> tuple[Value, ...]:
        """Return the values of a variable in the order of their codes, including values without samples."""
        return tuple(self.encoder.features[variable].vocabulary.values)

    def held_values(self, variable: Value) -> NDArray[np.bool_]:
        """Return, for each code, True if the value holds samples or was declared."""
        layout, slot = self.tables.values.layout, self.slot_of(variable)
        occupied = np.asarray(self.tables.values.occupied)[layout.start[slot] :]
        return occupied[: len(self.values_of(variable))].astype(bool)

    def weights_of_values(self, variable: Value) -> Floats:
        """Return the weight of each value in the order of codes, in fresh samples, also of incomplete families."""
        values, slot = self.tables.values, self.slot_of(variable)
        layout = values.layout
        weights = np.asarray(values.weight).reshape(-1, layout.classes)[layout.start[slot] :, 0]
        return weights[: len(self.values_of(variable))] / self.tables.unit

    def held_states(self, variable: Value) -> tuple[Value, ...]:
        """Return the values that hold samples or were declared, in the order of their codes."""
        are_held = self.held_values(variable).tolist()
        return tuple(
            value for value, is_held in zip(self.values_of(variable), are_held, strict=True) if is_held
        )

    def arrangement(self) -> tuple[Any, ...]:
        """Return a key for the positions of weights and the values held; equal while these stay the same."""
        tables = self.tables
        families = tables.families
        positions = bytes(families.room), bytes(families.base)
        return families, *positions, tables.values.layout, bytes(tables.values.occupied)

    @property
    def cells(self) -> Floats:
        """The weights of all families with a full table, in the tables' own units."""
        return np.asarray(self.tables.families.weight)

    def is_whole(self, variable: Value) -> bool:
        """Return True if all cells of a variable's family are held; False if only the configurations seen are."""
        return self.tables.families.hashed[self.family_number(variable)] is None

    def offsets_of(self, variable: Value) -> list[NDArray[np.longlong]]:
        """Return the offsets in `cells` of the codes of each parent and of the variable.

        Those of the first member include the position where the family begins.
        """
        families = self.tables.families
        number = self.family_number(variable)
        child, parents = families.families[number]
        steps = dict(
            zip((*parents, child), np.asarray(families.stride)[families.end[number] :].tolist(), strict=False)
        )
        offsets = [
            steps[self.slot_of(name)] * np.arange(len(self.values_of(name)), dtype=np.longlong)
            for name in (*self.structure.parents(variable), variable)
        ]
        offsets[0] += families.base[number]
        return offsets

    @property
    def weight(self) -> float:
        """The weight of all events, in fresh samples."""
        return float(self.tables.class_weight[0] / self.tables.unit)

    # -- learning ---------------------------------------------------------------------------------------------------

    def make_room(self, whole: bool = True, coming: Coming | None = None) -> None:
        try:
            self._check_types()
        except BadValue:
            self.encoder.rollback()
            raise
        super().make_room(whole, coming)

    def _check_types(self) -> None:
        """Raise `BadValue` for a new value that is a declared one under another type, as True is the text `"True"`.

        The two would be counted apart, and each would be improbable.
        """
        created = [one for one in self.encoder.created if isinstance(one, Vocabulary) and one.declared]
        for vocabulary in {id(one): one for one in created}.values():
            declared = vocabulary.values[: vocabulary.declared]
            texts = {str(value): value for value in declared}
            for value in vocabulary.values[vocabulary.declared :]:
                same = texts.get(str(value), value)
                if type(same) is not type(value) or isinstance(value, bool) not in map(_is_bool, declared):
                    name = self.encoder.nominal[vocabulary.slot].name
                    raise BadValue(
                        f"variable {shown(name)}: got {shown(value)} of type {type(value).__name__}, but the declared "
                        f"values, {shown(tuple(declared))}, are of another type; convert the event's value, or declare "
                        "values of its type"
                    )

    def learn(self, x: Mapping[Any, Any], weight: float = 1.0) -> None:  # type: ignore[override]  # there is no class
        """Encode and count an event: all of it, or nothing if anything is refused."""
        super().learn(x, EVENT, weight)

    def add(self, row: Any) -> None:
        super().add(row)
        ring = self.tables.window
        if self.slides and ring.length == ring.size:
            self.tables.forget_oldest()

    def forget(self, row: Any, at: int | None = None) -> None:
        try:
            super().forget(row, at)
        except NotLearned as error:  # the one class of all events is none of the user's
            raise NotLearned(
                str(error)
                .replace(f"a sample of class {EVENT!r}", "an event")
                .replace(f" in class {EVENT!r}", "")
            ) from None

    def unlearn(  # type: ignore[override]  # there is no class
        self, x: Mapping[Any, Any], weight: float = 1.0, at: int | None = None
    ) -> None:
        """Subtract exactly what learning the same event added when the clock was `at`."""
        super().unlearn(x, EVENT, weight, at)

    def learn_many(self, xs: Sequence[Mapping[Any, Any]], weights: Sequence[float] | None = None) -> None:
        """Count many events in their order: all of them, or none."""
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
        """Count many events that are columns of codes: all of them, or none. Without declared variables, features that
        are none are counted on their own. `codes` are events by columns, int32 and C-contiguous; -1 is missing. Every
        code is within its vocabulary, which has the value of each code. Without weights each event counts 1.

        Notes
        -----
        With whole weights and without fading this costs a few nanoseconds for each event and family.
        """
        learn_columns(self, names, codes, vocabularies, weights)

    # -- merging and state --------------------------------------------------------------------------------------------

    def content(self) -> StoreContent:
        content = super().content()
        structures = {
            name: None if structure is None else structure.to_json()
            for name, structure in (("structure", self.structure), ("tried", self.tried))
        }
        return content._replace(parts=content.parts | structures | {"since": self.since})

    def merge(self, other: CountStore) -> None:
        """Add the counts of another store of the same structure, by name.

        Raises `CannotMerge` or `BudgetExceeded` with nothing changed.
        """
        if not isinstance(other, FamilyCounts) or other.structure != self.structure:
            raise CannotMerge("only counts of the same structure can be merged")
        super().merge(other)
        self.since = max(self.since, other.since)

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty store from a state; raise `BadState` if it is not valid."""
        with refusing_bad_state():
            super().load(state)
            structure, tried = (
                None if saved is None else Structure.from_json(saved)
                for saved in (state["meta"]["structure"], state["meta"]["tried"])
            )
            expect(structure is not None, "it has no structure")
            assert structure is not None
            named = {*structure, *(() if tried is None else tried)}
            expect(named <= self.encoder.features.keys(), "its structure has other variables than its values")
            families = self.tables.families.families
            expect(
                families == self._wanted_families(structure, tried),
                "its families are not those of its structure",
            )
            self.structure, self.tried = structure, tried
            self.since = state["meta"]["since"]
            expect(
                type(self.since) is int and 0 <= self.since <= self.tables.clock + 1,
                f"{self.since!r} is not the time of a change",
            )
            self._family_numbers = self._family_numbers_in(families, structure)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], encoder: Encoder, **settings: Any) -> Self:
        """Make a store over a fresh encoder from a state, which includes the structure, and the saved
        store's settings.
        """
        store = cls(encoder, Structure({}), **settings)
        store.load(state)
        return store

    def copy(self, encoder: Encoder) -> FamilyCounts:
        """Return a copy over a fresh encoder made as this store's was."""
        return FamilyCounts.from_state(
            self.state(),
            encoder,
            half_life=self.tables.half_life or None,
            memory_budget=self.memory_budget,
            window=None if self.window is None else self.window.size,
        )
