"""Counts and sums of a network over names and numbers: a store for each family, and one of each variable alone.

A family's store has a class for each configuration of its nominal parents. A nominal variable is counted there by
value; a numeric one is summed with its numeric parents, squares and products in three doubles each. So everything adds,
subtracts, merges and is saved as in any other learner. An event without some variable of a family is not counted there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stream_bayes.core.counts.contexts import ContextContent
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.inputs import is_number, no_features, read_number
from stream_bayes.core.values.values import Value, canonical, is_missing, name_order, shown, tagged, untagged
from stream_bayes.errors import BadStructure, BadValue, CannotMerge, KindChanged, StreamBayesError

__all__ = ["LARGEST_NUMBER", "Marginal", "MixedCounts", "Sums"]

LARGEST_NUMBER = 1e100  # its square, times any weight, is still finite
REST = "<other>"  # the value of those beyond `max_values`


class Marginal(NamedTuple):
    """A numeric variable by itself: the weight of its numbers, their mean, and a deviation that is above 0."""

    weight: float
    mean: float
    spread: float


class Sums(NamedTuple):
    """The sums of a family's numbers in one configuration: the weight, the means, and the products about them."""

    weight: float
    means: list[float]
    products: list[list[float]]


class MixedCounts:
    """The counts and sums of a network over names and numbers.

    Parameters
    ----------
    structure
        The graph.
    kinds
        `{variable: True if numeric}` of the declared variables. Of others the first value decides.
    states
        The declared values of nominal variables.
    max_values
        The number of values of a nominal variable after which new ones share one. Default: no limit.
    """

    def __init__(
        self,
        structure: Structure,
        kinds: Mapping[Value, bool],
        states: Mapping[Value, tuple[Value, ...]],
        max_values: int | None,
    ) -> None:
        self.structure = structure
        self.max_values = max_values
        self.states = states
        self.declared = {v: tuple(states.get(v, ())) for v in structure.variables}
        self.kinds: dict[Value, bool] = {}
        self.families: dict[Value, CountStore] = {}
        self._numeric_parents: dict[Value, tuple[Value, ...]] = {}
        self._nominal_parents: dict[Value, tuple[Value, ...]] = {}
        self._name = {v: _text(v) for v in structure.variables}
        self.alone = CountStore(RowEncoder(Vocabulary(((),), None, True), None, False))
        self.changes = 0
        self._set_kinds({v: kinds[v] for v in structure.variables if v in kinds})

    # -- kinds --------------------------------------------------------------------------------------------------------

    def _set_kinds(self, kinds: Mapping[Value, bool]) -> None:
        self._check_kinds(kinds)
        self.kinds |= kinds
        for v in self.structure.variables:
            family = (v, *self.structure.parents(v))
            if v not in self.families and all(each in self.kinds for each in family):
                parents = self.structure.parents(v)
                self._numeric_parents[v] = tuple(p for p in parents if self.kinds[p])
                self._nominal_parents[v] = tuple(p for p in parents if not self.kinds[p])
                self.families[v] = self._new_store(v)

    def _check_kinds(self, new: Mapping[Value, bool]) -> None:
        """Raise `BadStructure` if a nominal variable has a numeric parent."""
        kinds = {**self.kinds, **new}
        for parent, child in self.structure.edges:
            if kinds.get(parent) and kinds.get(child) is False:
                raise BadStructure(
                    f"{shown(child)} has names and its parent {shown(parent)} numbers: a name may be the parent of a "
                    f"number, and not the other way round. Turn the edge, or give {shown(parent)} as bins, which are "
                    "names"
                )

    def _new_store(self, v: Value) -> CountStore:
        labels = Vocabulary(((),), None, not self.nominal_parents(v))
        if not self.kinds[v]:
            return CountStore(RowEncoder(labels, {self._name[v]: Vocabulary()}, False))
        declared = {self._name[each]: None for each in (*self.numeric_parents(v), v)}
        return CountStore(RowEncoder(labels, declared, False), co_moments=True)

    def nominal_parents(self, v: Value) -> tuple[Value, ...]:
        """Return the parents of a variable that have names, once the kinds of its family are known."""
        return self._nominal_parents[v]

    def numeric_parents(self, v: Value) -> tuple[Value, ...]:
        """Return the parents of a variable that have numbers, once the kinds of its family are known."""
        return self._numeric_parents[v]

    def reshape(self, structure: Structure, rows: Sequence[Mapping[Value, Any]]) -> None:
        """Change to another structure of at least these variables; count its new families over some events.

        Families that stay keep all that they hold. Raise `BadStructure`, with nothing changed, if kinds do not fit.
        """
        before, self.structure = self.structure, structure
        try:
            self._check_kinds({})
        except BadStructure:
            self.structure = before
            raise
        for v in structure.variables:
            if v not in before:
                self._name[v], self.declared[v] = _text(v), tuple(self.states.get(v, ()))
            elif before.parents(v) != structure.parents(v):
                self.families.pop(v, None)
        lost = [v for v in structure.variables if v not in self.families]
        self._set_kinds({})
        for values in rows:
            for v, x, configuration in self._rows(values, lost):
                self.families[v].learn(x, configuration)
        self.changes += 1

    # -- events -------------------------------------------------------------------------------------------------------

    def read(self, x: Mapping[Any, Any]) -> dict[Value, Any]:
        """Return the values of an event that are not missing: floats, and names as they are counted.

        Raises
        ------
        BadValue
            If a number is infinite or beyond 1e100, or a value is of no kind that is counted.
        KindChanged
            If a variable with names gets a number, or one with numbers a name.
        """
        if not isinstance(x, Mapping):
            raise no_features(x)
        values: dict[Value, Any] = {}
        for v in self.structure.variables:
            value = x.get(v)
            if is_missing(value):
                continue
            kind = self.kinds.get(v)
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
        if self.max_values is None:
            return name
        known = self.values_of(v, held=False)
        return name if name in known or len(known) < self.max_values else REST

    def note_kinds(self, values: Mapping[Value, Any]) -> None:
        """Take the kinds of new variables from an event, or raise `BadStructure` with nothing changed."""
        new = {v: isinstance(value, float) for v, value in values.items() if v not in self.kinds}
        if new:
            self._set_kinds(new)

    def add(self, values: Mapping[Value, Any], weight: float) -> None:
        """Count an event that `read` returned. Raise `BadStructure`, with nothing changed, if kinds do not fit."""
        self.note_kinds(values)
        self.alone.learn(*self._row_alone(values), weight)
        for v, x, configuration in self._rows(values):
            self.families[v].learn(x, configuration, weight)
        self.changes += 1

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

    def _row_alone(self, values: Mapping[Value, Any]) -> tuple[dict[str, Any], tuple[()]]:
        # A tuple is a name whatever it holds, so whole numbers that are names are counted as such.
        return {self._name[v]: value if self.kinds[v] else (value,) for v, value in values.items()}, ()

    def _rows(
        self, values: Mapping[Value, Any], variables: Sequence[Value] | None = None
    ) -> Iterator[tuple[Value, dict[str, Any], tuple[Value, ...]]]:
        """Yield the families that an event is complete for, each with its row and its configuration."""
        for v in self.families if variables is None else variables:
            family = (*self.structure.parents(v), v)
            if v in self.families and all(each in values for each in family):
                configuration = tuple(values[p] for p in self.nominal_parents(v))
                counted = (*self.numeric_parents(v), v)
                yield v, {self._name[each]: values[each] for each in counted}, configuration

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

    def values_of(self, v: Value, *, held: bool = True) -> list[Value]:
        """Return the values of a nominal variable that were declared or are held, or with `held=False` ever were."""
        values = {*self.declared[v], *self.counts(v)}
        if not held and self._name[v] in self.alone.encoder.features:
            values |= {value[0] for value in self.alone.encoder.features[self._name[v]].vocabulary.values}
        return sorted(values - ({REST} if not held else set()), key=name_order)

    def marginal(self, v: Value) -> Marginal:
        """Return what is known of a numeric variable by itself."""
        encoder, numbers = self.alone.encoder, self.alone.tables.gaussians
        if self._name[v] not in encoder.features:
            return Marginal(0.0, 0.0, 1.0)
        numbers.settle_all()
        cell = encoder.features[self._name[v]].slot * numbers.classes
        weight, mean = float(numbers.weight[cell]), float(numbers.mean[cell])
        if weight <= 0.0:
            return Marginal(0.0, 0.0, 1.0)
        # Numbers that do not differ tell nothing of their spread: a thousandth of their size keeps densities finite.
        spread = math.sqrt(max(float(numbers.m2[cell]), 0.0) / weight)
        size = abs(mean)
        return Marginal(weight, mean, spread if spread > 1e-9 * size and spread > 0.0 else 1e-3 * size or 1.0)

    def sums(self, v: Value, configuration: tuple[Value, ...]) -> Sums:
        """Return the sums of a numeric variable's family in a configuration; its own come last."""
        size = len(self.numeric_parents(v)) + 1
        store = self.families.get(v)
        label = -1 if store is None else store.encoder.labels.find(configuration)
        if store is None or label < 0:
            return Sums(0.0, [0.0] * size, [[0.0] * size for _ in range(size)])
        numbers, pairs = store.tables.gaussians, store.tables.co_moments
        numbers.settle_all()
        cells = [k * numbers.classes + label for k in range(size)]
        weight = float(numbers.weight[cells[-1]])
        products = [[0.0] * size for _ in range(size)]
        for i in range(size):
            products[i][i] = max(float(numbers.m2[cells[i]]), 0.0)
            for j in range(i if weight > 0.0 else 0):
                products[i][j] = products[j][i] = pairs.moments(i, j, label, numbers)[3]
        return Sums(weight, [float(numbers.mean[cell]) for cell in cells], products)

    # -- keeping ------------------------------------------------------------------------------------------------------

    def merge(self, other: MixedCounts) -> None:
        """Add the counts of another one. Raise `CannotMerge`, with nothing changed, if their kinds differ."""
        if self.max_values is not None:
            raise CannotMerge(
                "with max_values the values that share <other> depend on the order of events; leave it out to merge"
            )
        for v, kind in other.kinds.items():
            if self.kinds.get(v, kind) is not kind:
                raise CannotMerge(f"{shown(v)} has numbers in one of the learners, and names in the other")
        try:
            self._set_kinds(other.kinds)
        except BadStructure as error:
            raise CannotMerge(str(error)) from error
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
        contents = {name: store.content().state() for name, store in stores.items()}
        kinds = [[tagged(v), kind] for v, kind in self.kinds.items()]
        meta = {"kinds": kinds, "stores": {name: each["meta"] for name, each in contents.items()}}
        arrays = {
            f"{name}-{key}": array for name, each in contents.items() for key, array in each["arrays"].items()
        }
        return ContextContent(meta, arrays)

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
            stores = self._stores()
            expect(set(meta["stores"]) == set(stores), "it has the families of another structure")
            for name, store in stores.items():
                own = {
                    key.removeprefix(f"{name}-"): array
                    for key, array in arrays.items()
                    if key.startswith(f"{name}-")
                }
                store.load({"meta": meta["stores"][name], "arrays": own})


def _text(v: Value) -> str:
    return json.dumps(tagged(v))


def _is_measured(value: Any) -> bool:
    """Return True for a number: the first value of a variable that is not declared decides its kind."""
    try:
        return is_number(canonical(value))
    except BadValue:
        return isinstance(value, float)  # infinite: refused as a number
