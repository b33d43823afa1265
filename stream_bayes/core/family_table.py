"""What is counted of one family of a network, as arrays to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._tables import Tables
from stream_bayes.core.values import Value, shown
from stream_bayes.errors import NotSupported

__all__ = ["FamilyTable"]

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
