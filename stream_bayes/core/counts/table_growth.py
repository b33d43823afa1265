"""Growth of a store's tables, names and window: within the budget, or not at all.

New codes first use the spare room of the tables as they are. If there is none, the tables move into larger ones, with
half as much again to spare, or as much as the budget allows. If not even tables without spare room fit, the new codes
are taken back before anything has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._layout import Layout
from stream_bayes.core.counts._moments import ROWS_BESIDE, CoMoments, Gaussians
from stream_bayes.core.counts._pairs import PairCounts, TripleCounts
from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts._values import ValueCounts
from stream_bayes.core.counts.memory_use import Coming, MemoryUse
from stream_bayes.core.counts.state import CO_MOMENTS, MOMENTS, grid, sizes
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BudgetExceeded

__all__ = ["OnManyValues", "TableGrowth"]

OnManyValues: TypeAlias = Callable[[Value, int, int], None]  # a feature, its values, its events

Array = NDArray[Any]

SMALLEST_ROOM = 4
MANY_EVENTS = 500
MANY_VALUES = 3  # events a value, at most, of a feature like an id
FEATURES_PER_SPARE = 4  # so that features that come one by one seldom move the tables


class TableGrowth:
    """The room of a store's tables. `memory` has the store's parts, their bytes and the budget. `on_many_values` is
    called once with the name of a feature like an id, its values and its events: after `MANY_EVENTS` events, when its
    values are a third of them.
    """

    def __init__(self, memory: MemoryUse, on_many_values: OnManyValues | None = None) -> None:
        self.memory = memory
        self.on_many_values = on_many_values
        self._noticed: set[int] = set()  # the slots of features that it was called with
        self.encoder = memory.encoder
        self.tables = memory.tables
        self._counts_values_alone = (
            memory.order == 1 and memory.discretizer is None and on_many_values is None
        )

    def make_room(self, whole: bool, coming: Coming | None) -> None:
        """Make room for the codes that the encoder has just created, or, raising `BudgetExceeded`, take them back.

        Weights that are not `whole` need a table of samples beside them; families may get `coming` configurations.
        """
        encoder, tables, discretizer = self.encoder, self.tables, self.memory.discretizer
        try:
            # The tables become inexact only when the sample is added: until then predictions are as before it.
            columns = 1 if tables.exact and whole else 2
            spare = self._uses_present_room(columns, coming) or self._grow(columns, coming)
        except BudgetExceeded:
            encoder.rollback()
            raise
        grown = self._features_that_grew() if self.on_many_values is not None else ()
        encoder.created.clear()
        if discretizer is not None:
            discretizer.open_new_features()
        tables.labels = len(encoder.labels)
        self._grow_parts(spare)
        for slot in grown:
            self._notice_many_values(slot)

    def makes_room_for_words(self) -> bool:
        """Use the spare room of a feature for its new values, and return True; False if more than that is to be done.

        This is the short way for mails, most of which bring a word, in a store of values without a budget.
        """
        memory, tables = self.memory, self.tables
        if not self._counts_values_alone or memory.budget is not None or memory.window is not None:
            return False
        return tables.families is None and bool(tables.values.layout.use_for_words(self.encoder.created))

    def _features_that_grew(self) -> set[int]:
        """Return the slots of the features with new values, besides those that were noticed."""
        created = self.encoder.created
        return {
            made.slot for made in created if isinstance(made, Vocabulary) and made.slot >= 0
        } - self._noticed

    def _notice_many_values(self, slot: int) -> None:
        """Report a feature whose values are a third of its events."""
        feature, tables = self.encoder.nominal[slot], self.tables
        values, events = len(feature.vocabulary), int(tables.clock)
        if MANY_VALUES * values < MANY_EVENTS:
            return
        if tables.exact:  # nothing fades: events of the feature itself
            layout = tables.values.layout
            events = int(np.asarray(tables.values.present)[slot * layout.classes :][: layout.classes].sum())
        if events >= MANY_EVENTS and MANY_VALUES * values >= events and self.on_many_values is not None:
            self._noticed.add(slot)
            self.on_many_values(feature.name, values, events)

    def _grow_parts(self, spare: bool) -> None:
        """Make room for the same names in window and families, with some to spare or none."""
        if self.memory.window is not None:
            self.memory.window.make_room(spare)
        if self.tables.families is not None:
            self.tables.families.grow(self.memory.codes_of_families(), self.tables.labels, spare)

    def _uses_present_room(self, columns: int, coming: Coming | None) -> bool:
        """Use the room of the tables as they are for the new codes; return False if there is not enough."""
        encoder, layout, discretizer = self.encoder, self.tables.values.layout, self.memory.discretizer
        if len(encoder.labels) > layout.classes or len(encoder.nominal) > layout.features:
            return False
        if len(encoder.numeric) > self.tables.gaussians.features:
            return False
        grown = {
            made.slot: len(made)
            for made in encoder.created
            if isinstance(made, Vocabulary) and made.slot >= 0
        }
        if any(size > layout.room[slot] for slot, size in grown.items()):
            return False
        if discretizer is not None and any(
            layout.room[feature.slot] < discretizer.bins.most for feature in discretizer.new_features()
        ):
            return False
        if self.memory.budget is not None:
            used = np.array(layout.used)
            used[list(grown)] = list(grown.values())
            used = used[: len(encoder.nominal)]
            numeric = int(self.tables.gaussians.features)
            if not self.memory.fits(layout, used, columns, numeric, spare=True, coming=coming):
                return False
        for slot, size in grown.items():
            layout.used[slot] = size
        return True

    def _grow(self, columns: int, coming: Coming | None) -> bool:
        """Move into larger tables; return True if the budget allows spare room: the usual, half of it, a quarter ..."""
        used, declared = sizes(self.encoder)
        numeric = len(self.encoder.numeric)
        tight: Layout | None = None
        extra, spare, spare_numeric = self._usual_spare_room(used, numeric)
        while extra.any() or spare or spare_numeric or tight is None:
            wide = self._layout(used, declared, used + extra, spare)
            if self.memory.fits(wide, used, columns, numeric + spare_numeric, spare=True, coming=coming):
                self._move(wide, numeric + spare_numeric)
                return True
            if tight is None:
                tight = self._tight_layout_in_budget(columns, coming)
            extra, spare, spare_numeric = extra // 2, spare // 2, spare_numeric // 2
        self._move(tight, numeric)
        return False

    def _usual_spare_room(self, used: Array, numeric: int) -> tuple[Array, int, int]:
        """Return the spare room of each feature, and for how many new features and new numeric ones there is room."""
        layout = self.tables.values.layout
        old_room = np.asarray(layout.room)[: len(used)]
        old_features = len(old_room)
        room = np.maximum(used, SMALLEST_ROOM)
        overflow = used[:old_features] > old_room
        room[:old_features] = np.where(overflow, 2 * room[:old_features], old_room)
        if overflow.any() and room.sum() < 1.5 * old_room.sum():
            room = np.where(2 * used > room, np.maximum(2 * used, room), room)  # the next to overflow
        spare = max(layout.features - len(used), 0)
        if 0 < layout.features < len(used):
            spare = len(used) // FEATURES_PER_SPARE + 1
        spare_numeric = max(self.tables.gaussians.features - numeric, 0)
        if 0 < self.tables.gaussians.features < numeric:
            spare_numeric = numeric // FEATURES_PER_SPARE + 1
        return room - used, spare, spare_numeric

    def shrink(self, columns: int, coming: Coming | None = None) -> None:
        """Move into tables without spare room, or raise `BudgetExceeded`."""
        self._move(self._tight_layout_in_budget(columns, coming), len(self.encoder.numeric))

    def take_room_for_names(self) -> None:
        """Move into tables with just the room for the names of a state: what was held once may be held again, whatever
        the budget.
        """
        self._move(self.tight_layout(), len(self.encoder.numeric))

    def _tight_layout_in_budget(self, columns: int, coming: Coming | None) -> Layout:
        """Return the layout without spare room, or raise `BudgetExceeded`."""
        tight, budget = self.tight_layout(), self.memory.budget
        if budget is None:
            return tight
        used, _ = sizes(self.encoder)
        need = self.memory.need(tight, used, columns, len(self.encoder.numeric), spare=False, coming=coming)
        if need > budget:
            keep = "" if self.memory.window is None else "keep fewer events with window, "
            raise BudgetExceeded(
                f"the tables would need {need:,} bytes, the budget is {budget:,}; raise memory_budget, {keep}"
                f"bound the values with max_values, or learn fewer features{self._widest(used)}"
            )
        return tight

    def _widest(self, used: Any) -> str:
        """Return what needs the most room, features or classes, as the end of an error."""
        if self.memory.order == 1:
            return ""
        features = self.encoder.nominal
        widest = sorted(range(len(features)), key=lambda slot: -used[slot])[:3]
        widest = [slot for slot in widest if used[slot] > 1]
        classes = len(self.encoder.labels)
        if classes > max((int(used[slot]) for slot in widest), default=1):
            return f"; there are {classes:,} classes: are the labels numbers, or identifiers?"
        if not widest:
            return ""
        named = ", ".join(f"{shown(features[slot].name)} ({int(used[slot]):,} values)" for slot in widest)
        first = shown(features[widest[0]].name)
        return f": the widest are {named}. Leave one out with Discard({first}) | ..., or declare the others in a schema"

    def give_up_spare_room(self) -> None:
        """Shrink if families just chosen leave no room to spare in the budget."""
        used, _ = sizes(self.encoder)
        layout, numeric = self.tables.values.layout, int(self.tables.gaussians.features)
        if not self.memory.fits(layout, used, self.memory.columns, numeric, spare=True, coming=None):
            self._move(self.tight_layout(), len(self.encoder.numeric))
            self._grow_parts(spare=False)

    def tight_layout(self) -> Layout:
        """Return the layout of everything named now, without spare room."""
        return self._layout(*sizes(self.encoder))

    def _layout(self, used: Array, declared: Array, room: Array | None = None, spare: int = 0) -> Layout:
        """Return the layout of these numbers of codes, with this room or none to spare, and `spare` features."""
        classes = 2
        while classes < len(self.encoder.labels):
            classes += 2 if classes < 16 else classes // 8 * 2  # kernels process classes by twos
        room = np.maximum(used if room is None else room, self.memory.reserved_room())
        wide = np.concatenate([room, np.full(spare, SMALLEST_ROOM)]).astype(np.longlong)
        padding = np.zeros(spare, np.longlong)
        return Layout(np.concatenate([used, padding]), wide, np.concatenate([declared, padding]), classes)

    def _move(self, layout: Layout, numeric: int) -> None:
        _move(self.tables, layout, numeric, self.memory.order, self.memory.word_histogram)
        self.tables.labels = len(self.encoder.labels)


def _move(tables: Tables, layout: Layout, numeric: int, order: int, word_histogram: bool) -> None:
    """Replace tables by larger or smaller ones, with this layout and this room for numeric features."""
    old = tables.values
    classes = layout.classes
    values = ValueCounts(layout, tables.exact)
    pairs = PairCounts(layout) if order >= 2 else None
    triples = TripleCounts(layout) if order >= 3 else None
    gaussians = Gaussians(numeric, classes, tables.exact)
    class_weight = np.zeros(classes)
    class_samples = class_weight if tables.exact else np.zeros(classes)
    class_peak = np.zeros(classes)
    old_classes = old.layout.classes
    class_weight[:old_classes] = tables.class_weight
    class_samples[:old_classes] = tables.class_samples
    class_peak[:old_classes] = tables.class_peak
    runs = min(layout.features, old.layout.features)
    if runs:
        used = np.asarray(old.layout.used)[:runs]
        here, there = layout.positions_of(used), old.layout.positions_of(used)
        for new, now, rows, old_rows in (
            (values.weight, old.weight, here, there),
            (values.samples, old.samples, here, there),
            (values.present, old.present, slice(runs), slice(runs)),
            (values.present_samples, old.present_samples, slice(runs), slice(runs)),
        ):
            grid(new, classes)[rows, :old_classes] = grid(now, old_classes)[old_rows]
    values.recount()
    if runs and tables.pairs is not None and pairs is not None:
        pairs.copy(tables.pairs, used)
    if tables.pairs is not None and tables.pairs.beside is not None and pairs is not None:
        pairs.beside = np.zeros(layout.positions * layout.features * classes)
        if runs:
            beside = np.asarray(pairs.beside).reshape(-1, layout.features, classes)
            before = np.asarray(tables.pairs.beside).reshape(-1, old.layout.features, old_classes)
            beside[here, :runs, :old_classes] = before[there, :runs]
    if runs and tables.triples is not None and triples is not None:
        grid(triples.weight, classes)[layout.triples_of(used), :old_classes] = grid(
            tables.triples.weight, old_classes
        )[old.layout.triples_of(used)]
    numbers = min(numeric, tables.gaussians.features)
    for name, rows in MOMENTS.items() if numbers else ():
        moments = grid(getattr(gaussians, name), classes)[: numbers * rows]
        moments[:, :old_classes] = grid(getattr(tables.gaussians, name), old_classes)[: numbers * rows]
    if tables.co_moments is not None:
        co_moments = CoMoments(numeric, classes)
        if tables.co_moments.beside is not None:
            co_moments.beside = np.zeros(classes * ROWS_BESIDE * co_moments.pairs)
        for name, rows in CO_MOMENTS.items():
            if getattr(tables.co_moments, name) is not None:
                now = np.asarray(getattr(tables.co_moments, name)).reshape(
                    old_classes, rows, tables.co_moments.pairs
                )
                wide = np.asarray(getattr(co_moments, name)).reshape(classes, rows, co_moments.pairs)
                shared = min(wide.shape[2], now.shape[2])
                wide[:old_classes, :, :shared] = now[:, :, :shared]
        tables.co_moments = co_moments
    if word_histogram and tables.exact:
        values.rebuild_histogram()
    tables.values, tables.pairs, tables.triples, tables.gaussians = values, pairs, triples, gaussians
    tables.class_weight, tables.class_samples, tables.class_peak = class_weight, class_samples, class_peak
