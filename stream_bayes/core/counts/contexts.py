"""Counts of values by their context: the values that came before them in a sequence, up to a number of them.

    tables    {context: {value: count}}    contexts of every length from 0 to `order`, oldest value first

A context that reaches back to the start of its sequence begins with START. Each event is counted in every suffix of its
context, so the table of a shorter context holds all events of the longer ones, and those that came after a gap. Counts
are whole numbers: adding, subtracting and merging are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import OTHER, name_order, shown, tagged_many, untagged_many
from stream_bayes.errors import BadValue, BadWeight, CannotMerge

__all__ = ["START", "Context", "ContextContent", "ContextCounts", "suffixes", "value_order"]

START = None  # in the place of a value: the sequence begins here
Context: TypeAlias = tuple[Any, ...]

MOST = 2**53  # events: up to it doubles, and arrays of whole numbers, are exact
NO_VALUE, AT_START, AT_OTHER = -3, -2, -1  # codes of saved contexts: shorter than `order`, START, OTHER


def suffixes(context: Context) -> Iterator[Context]:
    """Yield the suffixes of a context, the empty one first.

    Examples
    --------
    >>> [*suffixes(("a", "b"))]
    [(), ('b',), ('a', 'b')]
    """
    return (context[len(context) - length :] for length in range(len(context) + 1))


def value_order(value: Any) -> tuple[int, Any]:
    """Return a key that sorts the values of contexts: START, then names, then `OTHER`."""
    return (0, ()) if value is START else (2, ()) if value is OTHER else (1, name_order(value))


class ContextContent(NamedTuple):
    """Everything that a `ContextCounts` held at one moment."""

    meta: dict[str, Any]
    arrays: dict[str, Any]

    def state(self) -> dict[str, Any]:
        """Return it as JSON values under "meta" and arrays under "arrays"."""
        return {"meta": self.meta, "arrays": self.arrays}


class ContextCounts:
    """Whole counts of values by context: a commutative group under merge. `order` is the length of the longest
    contexts. Values that are `declared` count as known before any event has them. After `max_values` new ones are
    counted as `OTHER`. Default: no limit.

    Examples
    --------
    >>> counts = ContextCounts(order=1)
    >>> counts.add(("a",), "b", 1)
    >>> counts.tables
    {(): {'b': 1}, ('a',): {'b': 1}}
    """

    def __init__(self, order: int, declared: Sequence[Any] = (), max_values: int | None = None) -> None:
        self.order = order
        self.declared = tuple(declared)
        self.max_values = max_values
        self.tables: dict[Context, dict[Any, int]] = {}
        self.named: dict[Any, None] = dict.fromkeys(
            self.declared
        )  # with `max_values`: the values that count alone
        self.totals: dict[Context, int] = {}  # of each table
        self.changes = 0  # what is derived from the counts is derived again when it differs
        self._values: list[Any] | None = None

    @property
    def values(self) -> list[Any]:
        """The values that were declared or are held, in an order that depends on them alone."""
        if self._values is None:
            values = {*self.declared, *self.tables.get((), ())}
            self._values = sorted(values, key=value_order)
        return self._values

    @property
    def events(self) -> int:
        """The number of events held."""
        return self.totals.get((), 0)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables, by the size of their cells; the values themselves are not counted."""
        return 8 * sum(len(context) + 2 * len(table) for context, table in self.tables.items())

    def read(self, value: Any) -> Any:
        """Return a value as it is counted: itself, or `OTHER` for a new one beyond `max_values`."""
        if self.max_values is None or value in self.named or len(self.named) < self.max_values:
            return value
        return OTHER

    def add(self, context: Context, value: Any, weight: int) -> None:
        """Count an event as `weight` events. Raise `BadWeight` before there are more than 2**53."""
        if self.events + weight > MOST:
            raise BadWeight(f"a chain counts at most 2**53 events; it holds {self.events:,}")
        if self.max_values is not None and value is not OTHER:
            self.named[value] = None
        for suffix in suffixes(context) if weight else ():
            self._put(suffix, value, weight)
        self.changes += 1

    def _put(self, context: Context, value: Any, weight: int) -> None:
        table = self.tables.setdefault(context, {})
        if not context and value not in table:
            self._values = None
        table[value] = table.get(value, 0) + weight
        self.totals[context] = self.totals.get(context, 0) + weight

    def subtract(self, context: Context, value: Any, weight: int) -> None:
        """Uncount an event. Raise `BadValue`, with nothing changed, if it was not counted in this context."""
        counted = self.tables.get(context, {}).get(value, 0)
        if counted < weight:
            after = [*map(shown, context[1:])] if context[:1] == (START,) else [*map(shown, context)]
            where = (
                "at the start of a sequence"
                if context == (START,)
                else f"after {', '.join(after) or 'a gap'}"
            )
            raise BadValue(f"{shown(value)} {where} was learned {counted:,} times, so not {weight:,} times")
        for suffix in suffixes(context) if weight else ():
            table = self.tables[suffix]
            table[value] -= weight
            self.totals[suffix] -= weight
            if not table[value]:
                del table[value]
                self._values = None
            if not table:
                del self.tables[suffix], self.totals[suffix]
        self.changes += 1

    def merge(self, other: ContextCounts) -> None:
        """Add the counts of another one. Raise `CannotMerge`, with nothing changed, if they have limits of values."""
        if self.max_values is not None:
            raise CannotMerge(
                "with max_values the values that share <other> depend on the order of events; leave it out to merge"
            )
        if self.events + other.events > MOST:
            raise CannotMerge("a chain counts at most 2**53 events, and the two hold more together")
        for context, counted in other.tables.items():
            for value, count in counted.items():
                self._put(context, value, count)
        self.changes += 1

    # -- states -------------------------------------------------------------------------------------------------------

    def content(self) -> ContextContent:
        """Return everything held now; equal counts give equal bytes."""
        contexts = (
            self.tables
        )  # an event of weight 0, or one that was unlearned alone, may be in contexts only
        values = {*self.values, *(value for context in contexts for value in context)} - {START, OTHER}
        names = list(self.named) if self.max_values is not None else sorted(values, key=value_order)
        code: dict[Any, int] = {
            START: AT_START,
            OTHER: AT_OTHER,
            **{value: k for k, value in enumerate(names)},
        }
        rows = sorted(
            [*[NO_VALUE] * (self.order - len(context)), *(code[each] for each in context), code[value], count]
            for context, table in self.tables.items()
            for value, count in table.items()
        )
        cells = np.array(rows, np.int64).reshape(len(rows), self.order + 2)
        meta = {"order": self.order, "values": tagged_many(names)}
        return ContextContent(meta, {"cells": cells})

    def state(self) -> dict[str, Any]:
        """Return everything held as JSON values under "meta" and arrays under "arrays"; `load` is the inverse."""
        return self.content().state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill empty counts of the same arguments from a state. Raise `BadState` for an invalid one."""
        with refusing_bad_state():
            meta, arrays = state["meta"], state["arrays"]
            expect(set(meta) == {"order", "values"} and set(arrays) == {"cells"}, "it is not of a chain")
            expect(meta["order"] == self.order, f"it holds counts of order {meta['order']}, not {self.order}")
            names, cells = untagged_many(meta["values"]), arrays["cells"]
            expect(len(set(names)) == len(names), "it names a value twice")
            expect(
                cells.dtype == np.int64 and cells.shape[1:] == (self.order + 2,),
                "its cells have another shape",
            )
            codes, counts = cells[:, :-1], cells[:, -1]
            expect(bool((codes < len(names)).all() and (codes >= NO_VALUE).all()), "it has codes of no value")
            expect(bool((codes[:, -1] >= AT_OTHER).all() and (counts > 0).all()), "it counts no values")
            self._fill(names, cells)
            self._check_suffixes()

    def _fill(self, names: list[Any], cells: Any) -> None:
        if self.max_values is not None:
            expect(
                len(names) <= max(self.max_values, len(self.declared)), "it holds more values than max_values"
            )
            expect(
                names[: len(self.declared)] == [*self.declared], "it does not begin with the declared values"
            )
            self.named = dict.fromkeys(names)
        for *codes, value, count in cells.tolist():
            decoded = [
                START if k == AT_START else OTHER if k == AT_OTHER else names[k]
                for k in codes
                if k != NO_VALUE
            ]
            expect(START not in decoded[1:], "a sequence starts within a context")
            context, counted = tuple(decoded), OTHER if value == AT_OTHER else names[value]
            expect(counted not in self.tables.get(context, {}), "it counts a value of a context twice")
            self._put(context, counted, count)
        expect(self.events <= MOST, "it holds more than 2**53 events")

    def _check_suffixes(self) -> None:
        """Raise `BadState` unless every event is counted in the shorter contexts, too."""
        least: dict[tuple[Context, Any], int] = {}
        for context, table in self.tables.items():
            for value, count in table.items() if context else ():
                cell = context[1:], value
                least[cell] = least.get(cell, 0) + count
        for (context, value), count in least.items():
            expect(
                self.tables.get(context, {}).get(value, 0) >= count,
                "a shorter context lacks events of longer ones",
            )
