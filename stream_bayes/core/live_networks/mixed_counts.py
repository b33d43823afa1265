"""Counts and sums of a network over names and numbers: a store for each family, and one of each variable alone.

A family's store has a class for each configuration of its nominal parents. A nominal variable is counted there by
value; a numeric one is summed with its numeric parents, squares and products in three doubles each. So everything adds,
subtracts, merges and is saved as in any other learner. An event without some variable of a family is not counted there.

A number above a name is cut: the number of its bin is part of the name's configuration. Cuts that are not declared are
those that tell most of the name among the first events; they are found after 50 of them, after twice as many each time,
and for good after `cut_over`. Until then the events are kept, to be counted again.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.core.counts._moments import CoMoments
from stream_bayes.core.counts.contexts import ContextContent
from stream_bayes.core.counts.edge_cuts import edge_cuts
from stream_bayes.core.counts.joined_content import JoinedContent, parts_of
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import Encoder, RowEncoder
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.live_networks._numeric_family import NumericFamily, marginal_of
from stream_bayes.core.live_networks.family_sums import (
    Cuts,
    FamilyShape,
    FamilySums,
    cell_in,
    name_in_stores,
)
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.inputs import is_number, no_features, read_number
from stream_bayes.core.values.values import Value, canonical, is_missing, name_order, shown, tagged, untagged
from stream_bayes.errors import BadValue, CannotMerge, KindChanged, StreamBayesError, UnknownFeature

__all__ = ["LARGEST_NUMBER", "Declared", "Marginal", "MixedCounts"]

LARGEST_NUMBER = 1e100  # its square, times any weight, is still finite
REST = "<other>"  # the value of those beyond `max_values`

FIRST_CUT = 50  # events of a name
NO_PAIRS = CoMoments(0, 2)  # the products of a family without events

Values = Mapping[Value, Any]


class Declared(NamedTuple):
    """Declarations by variable: of `kinds` (True if numeric), states, limits, closed variables, and cuts."""

    kinds: Mapping[Value, bool] = {}
    states: Mapping[Value, tuple[Value, ...]] = {}
    max_values: Mapping[Value, int] = {}
    closed: frozenset[Value] = frozenset()
    cuts: Mapping[Value, Cuts] = {}
    refuses: bool = False  # features that are not declared


NOTHING_DECLARED = Declared()


class Marginal(NamedTuple):
    """A numeric variable by itself: the weight of its numbers, their mean, and a deviation that is above 0."""

    weight: float
    mean: float
    spread: float


class MixedCounts:
    """The counts and sums of a network over names and numbers.

    `declared` is what is declared of its variables. Of others the first value decides the kind. After `max_values`
    values of a nominal variable new ones share one. Default: no limit. `strength` is the weight of the prior, in
    events, by which cuts are judged. `cut_over` is the number of a name's events over which the numbers above it are
    cut; 0 if `reshape` brings all cuts.
    """

    def __init__(
        self,
        structure: Structure,
        declared: Declared = NOTHING_DECLARED,
        max_values: int | None = None,
        strength: float = 1.0,
        cut_over: int = 0,
    ) -> None:
        self.structure = structure
        self.max_values = max_values
        self.declared = declared
        self.strength = strength
        self.cut_over = cut_over
        self.kinds: dict[Value, bool] = {}
        self.families: dict[Value, CountStore] = {}
        self.cuts: dict[tuple[Value, Value], Cuts] = {}
        self._to_cut: dict[Value, list[tuple[Values, float]]] = {}  # by name, the events and weights kept
        self._numeric_parents: dict[Value, tuple[Value, ...]] = {}
        self._nominal_parents: dict[Value, tuple[Value, ...]] = {}
        self._cut_parents: dict[Value, tuple[Value, ...]] = {}
        self._name = {v: name_in_stores(v) for v in structure.variables}
        self.alone = CountStore(RowEncoder(Vocabulary(((),), None, True), None, False))
        self._slots: dict[Value, tuple[int, ...]] = {}  # of a family's numbers, in `alone`
        self.changes = 0
        self._losses = 0  # changes that may have taken values away
        self._set_kinds({v: declared.kinds[v] for v in structure.variables if v in declared.kinds})

    # -- kinds --------------------------------------------------------------------------------------------------------

    def _set_kinds(self, kinds: Mapping[Value, bool]) -> None:
        self.kinds |= kinds
        for v in self.structure.variables:
            parents = self.structure.parents(v)
            if v not in self.families and all(each in self.kinds for each in (v, *parents)):
                numbers = tuple(p for p in parents if self.kinds[p])
                self._nominal_parents[v] = tuple(p for p in parents if not self.kinds[p])
                self._numeric_parents[v] = numbers if self.kinds[v] else ()
                self._cut_parents[v] = () if self.kinds[v] else numbers
                for p in self._cut_parents[v]:
                    self.cuts.setdefault((p, v), self.declared.cuts.get(p, ()))
                if self.cut_over and any(p not in self.declared.cuts for p in self._cut_parents[v]):
                    self._to_cut[v] = []
                self.families[v] = self.shape_of(v).new_store()
                self._slots.pop(v, None)

    def shape_of(self, v: Value) -> FamilyShape:
        """Return a variable's family, whose kinds are known, with its cuts as they are now."""
        cuts = tuple((p, self.cuts[p, v]) for p in self.cut_parents(v))
        return FamilyShape(v, self.kinds[v], self.nominal_parents(v), self.numeric_parents(v), cuts)

    def nominal_parents(self, v: Value) -> tuple[Value, ...]:
        """Return the parents of a variable that have names; none before the kinds of its family are known."""
        return self._nominal_parents.get(v, ())

    def numeric_parents(self, v: Value) -> tuple[Value, ...]:
        """Return the parents that a number is linear in; none before the kinds of its family are known."""
        return self._numeric_parents.get(v, ())

    def cut_parents(self, v: Value) -> tuple[Value, ...]:
        """Return the parents of a name that have numbers; none before the kinds of its family are known."""
        return self._cut_parents.get(v, ())

    @property
    def cut_in_stream(self) -> list[tuple[Value, Value]]:
        """The edges from a number to a name of which no cuts are declared: they are found among the events."""
        return [edge for edge in self.cuts if edge[0] not in self.declared.cuts]

    def configuration(self, v: Value, values: Mapping[Value, Any]) -> tuple[Value, ...]:
        """Return the values of a variable's nominal parents, then the bins of the numbers above a name."""
        configuration = [values[p] for p in self._nominal_parents.get(v, ())]
        configuration += [bisect_right(self.cuts[p, v], values[p]) for p in self._cut_parents.get(v, ())]
        return tuple(configuration)

    def reshape(
        self,
        structure: Structure,
        rows: Iterable[tuple[Mapping[Value, Any], float]] = (),
        cuts: Mapping[tuple[Value, Value], Cuts] | None = None,
    ) -> None:
        """Change to another structure of at least these variables, with other cuts.

        Families that stay, with their cuts, keep all that they hold; the others are counted over events and weights.
        """
        before, self.structure = self.structure, structure
        for v in structure.variables:
            if v not in before:
                self._name[v] = name_in_stores(v)
            elif before.parents(v) != structure.parents(v):
                self.families.pop(v, None)
                self.cuts = {edge: each for edge, each in self.cuts.items() if edge[1] != v}
        for (parent, v), new in (cuts or {}).items():
            if parent not in self.declared.cuts and self.cuts.get((parent, v)) != new:
                self.families.pop(v, None)
                self.cuts[parent, v] = new
        lost = [v for v in structure.variables if v not in self.families]
        self._set_kinds({})
        for values, weight in rows:
            for v, x, configuration in self._rows(values, lost):
                self.families[v].learn(x, configuration, weight)
        self.changes += 1

    def recount(self, rows: Iterable[tuple[Values, float]], moved: Callable[[Value, float], float]) -> None:
        """Count all families again, over events and weights in other units: `moved` returns a cut in these.

        Cuts that are found among a name's events are found again. The clock stays.
        """
        clock = self.clock
        self.cuts = {edge: tuple(moved(edge[0], cut) for cut in each) for edge, each in self.cuts.items()}
        self.alone = CountStore(RowEncoder(Vocabulary(((),), None, True), None, False))
        self.families, self._to_cut, self._slots = {}, {}, {}
        self._losses += 1
        self._set_kinds({})
        for values, weight in rows:
            self.add(values, weight)
        self.alone.advance(clock - self.clock)

    def count_expected(self, rows: Iterable[tuple[Values, float]]) -> None:
        """Count all families again, over completed events with their shares; what each variable is alone stays, and so
        do cuts.
        """
        to_cut = self._to_cut
        self.families, self._to_cut = {}, {}
        self._set_kinds({})
        self._to_cut = to_cut
        for values, weight in rows:
            for v, x, configuration in self._rows(values):
                self.families[v].learn(x, configuration, weight)
        self.changes += 1

    def recount_families(
        self, starts: Mapping[Value, int], events: Sequence[tuple[int, Values, float]]
    ) -> None:
        """Count the families of some variables again, each over the events from a clock on, and what its numbers are by
        themselves. Cuts that are found in the stream are found again. `events` are clocks, values and weights.
        """
        for v, start in starts.items():
            self.families.pop(v, None)
            feature = self.alone.encoder.features.get(self._name[v])
            if feature is not None and feature.numeric:
                units = CountStore(RowEncoder(Vocabulary(((),), None, True), {self._name[v]: None}, False))
                for clock, values, weight in events:
                    if clock >= start and v in values:
                        units.learn({self._name[v]: values[v]}, (), weight)
                numbers = self.alone.tables.gaussians
                numbers.clear(feature.slot)
                numbers.pour(
                    units.tables.gaussians,
                    np.array([feature.slot], np.longlong),
                    np.zeros(1, np.longlong),
                    1.0,
                )
        self._set_kinds({})
        for clock, values, weight in events:
            self._count_in_families(values, weight, [v for v, start in starts.items() if clock >= start])
        self.changes += 1

    # -- events -------------------------------------------------------------------------------------------------------

    @property
    def encoder(self) -> Encoder:
        """The encoder of whole events, as they are kept by those who follow drift; see `row_of`."""
        return self.alone.encoder

    def make_room(self) -> None:
        """Make room for names that were brought from another encoder."""
        self.alone.make_room()

    def text_of(self, v: Value) -> str:
        """Return the name of a variable in the encoder."""
        return self._name[v]

    def vocabulary(self, v: Value) -> list[Value]:
        """Return the names of a nominal variable in the order of their codes."""
        feature = self.alone.encoder.features.get(self._name[v])
        return [] if feature is None or feature.numeric else [value[0] for value in feature.vocabulary.values]

    def row_of(self, values: Mapping[Value, Any], weight: float) -> Row:
        """Return an event that was counted in the codes of the encoder."""
        row: Row = self.alone.encoder.lookup(self._row_alone(values)[0])
        row.label, row.weight, row.whole = 0, weight, weight.is_integer()
        return row

    def values_in(self, row: Row) -> dict[Value, Any]:
        """Return the values of an event in the codes of the encoder; the inverse of `row_of`."""
        encoder = self.alone.encoder
        values: dict[Value, Any] = {}
        for k in range(row.entries):
            feature = encoder.nominal[row.feature[k]]
            values[untagged(json.loads(feature.name))] = feature.vocabulary.values[row.code[k]][0]
        for k in range(row.numbers):
            name = encoder.numeric[row.numeric_feature[k]].name
            values[untagged(json.loads(name))] = float(row.number[k])
        return values

    def read(self, x: Mapping[Any, Any]) -> dict[Value, Any]:
        """Return the values of an event that are not missing: floats, and names as they are counted.

        Raises
        ------
        BadValue
            If a number is infinite or beyond 1e100, or a value is of no kind that is counted.
        UnknownFeature
            If a feature is not declared, and others than the declared ones are refused.
        KindChanged
            If a variable with names gets a number, or one with numbers a name.
        """
        if not isinstance(x, Mapping):
            raise no_features(x)
        if self.declared.refuses and (undeclared := [name for name in x if name not in self.declared.kinds]):
            raise UnknownFeature(f"feature {shown(undeclared[0])} is not declared in the schema")
        values: dict[Value, Any] = {}
        for v in self.structure.variables:
            value, kind = x.get(v), self.kinds.get(v)
            if kind and type(value) is float and -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
                values[v] = value
                continue
            if kind is False and type(value) is str:
                values[v] = self._kept(v, value)
                continue
            if is_missing(value):
                continue
            if kind or (kind is None and _is_measured(value)):
                number = read_number(v, value, declared=False)
                if not -LARGEST_NUMBER <= number <= LARGEST_NUMBER:
                    raise BadValue(f"feature {shown(v)}: expected a number of at most 1e100, got {number!r}")
                values[v] = number
                continue
            name = canonical(value, feature=v)
            if kind is False and isinstance(name, float):
                raise KindChanged(
                    f"feature {shown(v)} has names, but got the number {name!r}; declare it Numeric in a schema if all "
                    "of its values are numbers"
                )
            values[v] = self._kept(v, name)
        return values

    def _kept(self, v: Value, name: Value) -> Value:
        """Return a name as it is counted. Raise `BadValue` if a closed variable has no such value."""
        limit = self.declared.max_values.get(v, self.max_values)
        if limit is None and v not in self.declared.closed:
            return name
        names = self.values_of(v, only_held=False)
        if name in names:
            return name
        if v in self.declared.closed:
            raise BadValue(
                f"feature {shown(v)}: {shown(name)} is not among the declared values {shown(names)}"
            )
        return name if limit is None or len(names) < limit else REST

    def note_kinds(self, values: Mapping[Value, Any]) -> None:
        """Take the kinds of new variables from an event."""
        new = {v: isinstance(value, float) for v, value in values.items() if v not in self.kinds}
        if new:
            self._set_kinds(new)

    def add(self, values: Mapping[Value, Any], weight: float) -> None:
        """Count an event that `read` returned."""
        self.note_kinds(values)
        self.alone.learn(*self._row_alone(values), weight)
        self._count_in_families(values, weight)
        self.changes += 1

    def add_to_families(self, values: Mapping[Value, Any], weight: float) -> None:
        """Count an event in the families alone: cuts and the prior, which is that of each variable alone, stay."""
        for v, x, configuration in self._rows(values):
            self.families[v].learn(x, configuration, weight)
        self.changes += 1

    def _count_in_families(
        self, values: Mapping[Value, Any], weight: float, variables: Sequence[Value] | None = None
    ) -> None:
        """Count an event in families, all or some; keep it for those that are to be cut."""
        kept = []
        for v, x, configuration in self._rows(values, variables):
            self.families[v].learn(x, configuration, weight)
            if v in self._to_cut:
                kept.append(v)
        for v in kept:
            self._keep_to_cut(v, values, weight)

    def _keep_to_cut(self, v: Value, values: Values, weight: float) -> None:
        """Keep an event of a name; cut the numbers above it if it has enough events, and count them again."""
        rows = self._to_cut[v]
        rows.append(({each: values[each] for each in (*self.structure.parents(v), v)}, weight))
        doubled, left = divmod(len(rows), FIRST_CUT)
        if len(rows) < self.cut_over and (left or doubled & (doubled - 1)):
            return
        names = [row[v] for row, _ in rows]
        code = {name: number for number, name in enumerate(dict.fromkeys(names))}
        codes, weights = np.array([code[name] for name in names], np.int64), np.array([w for _, w in rows])
        for p in self.cut_parents(v):
            if p not in self.declared.cuts:
                numbers = np.array([row[p] for row, _ in rows], np.float64)
                self.cuts[p, v] = edge_cuts(numbers, codes, weights, len(code), self.strength).cuts
        self.families[v] = self.shape_of(v).new_store()
        for row, weight_of_row in rows:
            for _, x, configuration in self._rows(row, [v]):
                self.families[v].learn(x, configuration, weight_of_row)
        if len(rows) >= self.cut_over:
            del self._to_cut[v]

    def subtract(self, values: Mapping[Value, Any], weight: float) -> None:
        """Uncount an event. Raise, with nothing changed, if it was not counted."""
        done: list[tuple[CountStore, Any, Any]] = []
        try:
            self.alone.unlearn(*self._row_alone(values), weight)
            done.append((self.alone, *self._row_alone(values)))
            for v, x, configuration in self._rows(values):
                self.families[v].unlearn(x, configuration, weight)
                done.append((self.families[v], x, configuration))
        except StreamBayesError:
            for store, x, configuration in done:
                store.learn(x, configuration, weight)
            raise
        self.changes += 1
        self._losses += 1

    def _row_alone(self, values: Mapping[Value, Any]) -> tuple[dict[str, Any], tuple[()]]:
        # A tuple is a name whatever it holds, so whole numbers that are names are counted as such.
        return {self._name[v]: value if self.kinds[v] else (value,) for v, value in values.items()}, ()

    def _rows(
        self, values: Mapping[Value, Any], variables: Sequence[Value] | None = None
    ) -> Iterator[tuple[Value, dict[str, Any], tuple[Value, ...]]]:
        """Yield the families that an event is complete for, each with its row and its configuration."""
        names = self._name
        for v in self.families if variables is None else variables:
            if v not in values or v not in self.families:
                continue
            for p in self.structure.parents(v):
                if p not in values:
                    break
            else:
                x = {names[p]: values[p] for p in self._numeric_parents[v]}
                x[names[v]] = values[v]
                yield v, x, self.configuration(v, values)

    # -- what is held -------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> int:
        """The number of events counted."""
        return int(self.alone.tables.clock)

    @property
    def memory_bytes(self) -> int:
        """The bytes of all stores."""
        return self.alone.memory_bytes + sum(store.memory_bytes for store in self.families.values())

    def counts(self, v: Value, configuration: tuple[Value, ...] | None = None) -> dict[Value, float]:
        """Return the weight of each value of a nominal variable in a configuration; None: in all events."""
        store = self.alone if configuration is None else self.families.get(v)
        label = -1 if store is None else store.encoder.labels.find(configuration or ())
        if store is None or label < 0 or self._name[v] not in store.encoder.features:
            return {}
        feature, layout = store.encoder.features[self._name[v]], store.tables.values.layout
        weight, start = store.tables.values.weight, layout.start[feature.slot]
        values = feature.vocabulary.values
        cells = [float(weight[(start + k) * layout.classes + label]) for k in range(len(values))]
        names = values if configuration is not None else [value[0] for value in values]
        return {value: cell for value, cell in zip(names, cells, strict=True) if cell > 0.0}

    def values_of(self, v: Value, *, only_held: bool = True) -> list[Value]:
        """Return the values of a nominal variable that are declared or held; without `only_held`, that ever were."""
        values = {*self.declared.states.get(v, ()), *self.counts(v)}
        if not only_held and self._name[v] in self.alone.encoder.features:
            values |= {value[0] for value in self.alone.encoder.features[self._name[v]].vocabulary.values}
        return sorted(values - ({REST} if not only_held else set()), key=name_order)

    def marginal(self, v: Value) -> Marginal:
        """Return what is known of a numeric variable by itself."""
        encoder, numbers = self.alone.encoder, self.alone.tables.gaussians
        if self._name[v] not in encoder.features:
            return Marginal(0.0, 0.0, 1.0)
        return Marginal(*marginal_of(numbers, encoder.features[self._name[v]].slot))

    def read_family(
        self,
        family: NumericFamily,
        v: Value,
        configuration: tuple[Value, ...],
        further: CountStore | None = None,
    ) -> None:
        """Fill the family of a numeric variable with its sums in a configuration, and those of a further store."""
        slots = self._slots.get(v)
        if slots is None:
            features = [
                self.alone.encoder.features.get(self._name[each]) for each in (*self.numeric_parents(v), v)
            ]
            slots = tuple(-1 if feature is None else feature.slot for feature in features)
            if -1 not in slots:
                self._slots[v] = slots
        alone, store = self.alone.tables.gaussians, self.families.get(v)
        if store is None:
            family.read(alone, slots, alone, NO_PAIRS, -1)
            return
        label, tables = store.encoder.labels.find(configuration), store.tables
        if further is None:
            family.read(alone, slots, tables.gaussians, tables.co_moments, label)
            return
        more, other = further.encoder.labels.find(configuration), further.tables
        family.read_both(
            alone,
            slots,
            tables.gaussians,
            tables.co_moments,
            label,
            other.gaussians,
            other.co_moments,
            more,
        )

    def cell(self, v: Value, configuration: tuple[Value, ...], value: Value) -> tuple[float, float]:
        """Return the weight of a value of a nominal variable in a configuration, and that of all its values there."""
        store = self.families.get(v)
        return (0.0, 0.0) if store is None else cell_in(store, v, configuration, value)

    def changes_of_names(self, v: Value) -> tuple[int, int]:
        """Return what differs whenever a nominal variable holds other values than before."""
        feature = self.alone.encoder.features.get(self._name[v])
        distinct = 0 if feature is None else int(self.alone.tables.values.distinct[feature.slot])
        return self._losses, distinct

    # -- one family ---------------------------------------------------------------------------------------------------

    def sums_of(self, v: Value) -> FamilySums | None:
        """Return a copy of what a family has counted; None before its kinds are known, and until it is cut for good."""
        if v not in self.families or v in self._to_cut:
            return None
        sums = FamilySums(self.shape_of(v))
        sums.store.merge(self.families[v])
        return sums

    def has_shape(self, shape: FamilyShape) -> bool:
        """Return True if a family has these parents, with the same cuts, for good."""
        v = shape.variable
        return v in self.families and v not in self._to_cut and self.shape_of(v) == shape

    def add_sums(self, sums: FamilySums) -> None:
        """Add what a family of the same shape has counted."""
        self.families[sums.shape.variable].merge(sums.store)
        self.changes += 1

    # -- keeping ------------------------------------------------------------------------------------------------------

    def merge(self, other: MixedCounts) -> None:
        """Add the counts of another one. Raise `CannotMerge`, with nothing changed, if their kinds differ."""
        if self.max_values is not None or self.declared.max_values:
            raise CannotMerge(
                "with max_values the values that share <other> depend on the order of events; leave it out to merge"
            )
        for parent, child in (*self.cut_in_stream, *other.cut_in_stream):
            raise CannotMerge(
                f"{shown(parent)} above {shown(child)} is cut where the stream suggests it, which differs between "
                f"streams; declare the cuts: Schema({{{shown(parent)}: Numeric(cuts=[...]), ...}})"
            )
        for v, kind in other.kinds.items():
            if self.kinds.get(v, kind) is not kind:
                raise CannotMerge(f"{shown(v)} has numbers in one of the learners, and names in the other")
        self._set_kinds(other.kinds)
        self.alone.merge(other.alone)
        for v, store in other.families.items():
            self.families[v].merge(store)
        self.changes += 1

    def _stores(self) -> dict[str, CountStore]:
        numbers = {v: k for k, v in enumerate(self.structure.variables) if v in self.families}
        return {"alone": self.alone, **{f"v{k}": self.families[v] for v, k in numbers.items()}}

    def content(self) -> ContextContent:
        """Return a copy of everything held."""
        stores = self._stores()
        joined = JoinedContent({name: store.content() for name, store in stores.items()}).state()
        kinds = [[tagged(v), kind] for v, kind in self.kinds.items()]
        cuts = [[tagged(parent), tagged(v), list(each)] for (parent, v), each in self.cuts.items()]
        meta = {
            "kinds": kinds,
            "cuts": cuts,
            "to_cut": [
                [tagged(v), [self._saved_row(v, *row) for row in rows]] for v, rows in self._to_cut.items()
            ],
            "stores": joined["meta"],
        }
        return ContextContent(meta, joined["arrays"])

    def state(self) -> dict[str, Any]:
        """Return everything held as JSON values under "meta" and arrays under "arrays"; `load` is the inverse."""
        return self.content().state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill empty counts of the same arguments from a state. Raise `BadState` for an invalid one."""
        with refusing_bad_state():
            meta, arrays = state["meta"], state["arrays"]
            kinds = {untagged(v): kind for v, kind in meta["kinds"]}
            expect(
                all(type(kind) is bool for kind in kinds.values()), "a variable has neither names nor numbers"
            )
            expect(all(v in self.structure for v in kinds), "it has variables outside the structure")
            fits = all(kinds.get(v) is kind for v, kind in self.kinds.items())
            expect(fits, "its kinds of variables are not the declared ones")
            self._set_kinds({v: kind for v, kind in kinds.items() if v not in self.kinds})
            cuts = {(untagged(parent), untagged(v)): _loaded_cuts(each) for parent, v, each in meta["cuts"]}
            expect(set(cuts) == set(self.cuts), "its cuts are those of other edges")
            for (parent, _), each in cuts.items():
                expect(self.declared.cuts.get(parent, each) == each, "its cuts are not the declared ones")
            self.cuts = cuts
            kept = {untagged(v): rows for v, rows in meta["to_cut"]}
            expect(set(kept) <= set(self._to_cut), "it keeps events of names that are not to be cut")
            self._to_cut = {v: [self._loaded_row(v, *row) for row in rows] for v, rows in kept.items()}
            expect(
                all(len(rows) < self.cut_over for rows in self._to_cut.values()), "it keeps too many events"
            )
            stores = self._stores()
            for name, part in parts_of({"meta": meta["stores"], "arrays": arrays}, stores).items():
                stores[name].load(part)

    def _saved_row(self, v: Value, values: Values, weight: float) -> list[Any]:
        return [[tagged(values[each]) for each in (*self.structure.parents(v), v)], weight]

    def _loaded_row(self, v: Value, saved: Sequence[Any], weight: float) -> tuple[Values, float]:
        family = (*self.structure.parents(v), v)
        values = dict(zip(family, map(untagged, saved), strict=True))
        expect(self.read(values) == values, "it keeps other values than were learned")
        expect(
            all(isinstance(x, float) == self.kinds[each] for each, x in values.items()), "a value has no kind"
        )
        expect(type(weight) is float and 0.0 < weight < math.inf, "an event has no weight")
        return values, weight


def _loaded_cuts(saved: Sequence[float]) -> Cuts:
    cuts = tuple(saved)
    expect(all(type(cut) is float and math.isfinite(cut) for cut in cuts), "a cut is no number")
    expect(all(low < high for low, high in pairwise(cuts)), "its cuts do not ascend")
    return cuts


def _is_measured(value: Any) -> bool:
    """Return True for a number: the first value of a variable that is not declared decides its kind."""
    try:
        return is_number(canonical(value))
    except BadValue:
        return isinstance(value, float)  # infinite: refused as a number
