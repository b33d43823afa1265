"""Admission of features and values to a store whose memory budget has no room for all: the first that fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.values.values import is_missing
from stream_bayes.errors import BudgetExceeded

__all__ = ["Admission"]


class Admission:
    """The part that a store takes of an event: the features and values that it knows, and new ones if they fit.

    A feature that has been refused, or a new value of a known one, is not tried again until there may be more room:
    what a store needs only grows with what it knows, unless families are chosen anew or cut points become final.

    Parameters
    ----------
    store
        The store.
    always
        The features that the store takes in any case, as it takes each label.
    """

    def __init__(self, store: CountStore, always: Collection[Any]) -> None:
        self.store = store
        self.always = always
        self.refused: set[Any] = set()  # names
        self._room: tuple[Any, ...] = ()  # what they were refused for

    def encode(self, x: Mapping[Any, Any], y: object, w: float) -> Any:
        """Return the row of a sample to learn, with the features and values that fit."""
        known = self._known(x)
        if w > 0.0 and len(known) < len(x):
            self._forget_refusals()
            known |= {name: x[name] for name in self.always}
            missing = [name for name in x if name not in known and name not in self.refused]
            new = [name for name in missing if not is_missing(x[name])]
            if new:
                self._encode_whatever_the_budget(known, y, w)  # so that a new label is not what lacks room
                self._admit(x, y, w, known, new)
                known = self._known(x)
        return self._encode_whatever_the_budget(known, y, w)

    def _known(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the part of an event that needs no new names."""
        encoder = self.store.encoder
        row = encoder.lookup(x)
        slots = [*row.feature[: row.entries], *row.numeric_feature[: row.numbers]]
        names = {encoder.nominal[slot].name for slot in slots}
        return {name: value for name, value in x.items() if name in names}

    def _forget_refusals(self) -> None:
        """Forget what was refused if there may be room for it now."""
        store = self.store
        cuts = () if store.discretizer is None else store.discretizer.due
        room = store.tables.families, len(cuts), len(store.encoder.features)
        if not self._room or room[0] is not self._room[0] or room[1:] != self._room[1:]:
            self.refused.clear()
            self._room = room

    def _admit(
        self, x: Mapping[Any, Any], y: object, w: float, known: dict[Any, Any], new: list[Any]
    ) -> None:
        """Give names and room to new parts of an event, from the first on; record those that do not fit."""

        def fits(names: Iterable[Any]) -> bool:
            try:
                self.store.encode(known | {name: x[name] for name in names}, y, w)
            except BudgetExceeded:
                return False
            return True

        while new and not fits(new):
            low, high = 0, len(new)  # so many fit, and so many do not
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if fits(new[:middle]) else (low, middle)
            self.refused.add(new[low])
            known = known | {name: x[name] for name in new[:low]}
            new = new[low + 1 :]
        self._room = (*self._room[:2], len(self.store.encoder.features))

    def _encode_whatever_the_budget(self, x: Mapping[Any, Any], y: object, w: float) -> Any:
        store, own = self.store, self.store.memory_budget
        store.memory_budget = None
        try:
            return store.encode(x, y, w)
        finally:
            store.memory_budget = own
