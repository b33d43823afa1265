"""Names, tables and window of a store, which grow with what is learned: within a budget, or not at all.

A new name first looks for room in the tables as they are. Where there is none they move into larger ones, with half as
much again to spare where the budget allows it; what would pass the budget is taken back before anything has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._encoding import Encoder
from stream_bayes.core._layout import Layout
from stream_bayes.core._rows import Row
from stream_bayes.core._tables import Tables
from stream_bayes.core._vocabulary import Vocabulary
from stream_bayes.core.counts_state import sizes
from stream_bayes.core.moving import move
from stream_bayes.core.numeric import Discretizer
from stream_bayes.core.window import Window
from stream_bayes.errors import BudgetExceeded

__all__ = ["GrowingTables"]

Array = NDArray[Any]

NAME_BYTES = 40  # a value's place in its vocabulary's table and list, at most; the name itself is not counted
FEATURE_BYTES = 600  # a feature, its vocabulary and their empty tables
SMALLEST_ROOM = 4
SPARE_FEATURES = (
    4  # room for one more to each so many, so that features met one by one seldom move the tables
)


class GrowingTables:
    """The parts of a `CountStore`, and the room they have.

    Parameters
    ----------
    encoder, order, half_life, memory_budget, word_histogram, binning, window
        As of a `CountStore`.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        order: int = 1,
        half_life: float | None = None,
        memory_budget: int | None = None,
        word_histogram: bool = False,
        binning: Mapping[str, Any] | None = None,
        window: int | None = None,
    ) -> None:
        self.encoder = encoder
        self.order = order
        self.memory_budget = memory_budget
        self.tables = Tables(half_life)
        self._histogram = word_histogram
        self.discretizer: Discretizer | None = None
        if encoder.bins is not None:
            self.tables.bins = encoder.bins
            self.discretizer = Discretizer(self.tables, encoder, **(binning or {}))
            self.tables.discretizer = self.discretizer
        self.window = None if window is None else Window(encoder, window)
        self.tables.window = None if self.window is None else self.window.ring
        self.slides = False  # whether an event that leaves the window is taken back
        self._oldest = Row()  # the one that is to go, written over each time
        self._more = 0  # bytes that rows about to be learned need besides those that names need
        self._rebuild(*sizes(self.encoder), self._columns())
        if self.window is not None:
            self.window.make_room()
        if self.discretizer is not None:
            self.discretizer.begin()

    # -- growing ------------------------------------------------------------------------------------------------------

    def make_room_for(self, rows: int, whole: bool) -> None:
        """Make room for all that so many rows, just encoded, may need."""
        more, families = 0, self.tables.families
        if self.memory_budget is not None and families is not None:
            more = families.most_more_bytes(sizes(self.encoder)[0], rows)
        self.make_room(whole, more)

    def make_room(self, whole: bool = True, more: int = 0) -> None:
        """Let the tables follow what the encoder has just created, or, for lack of budget, take that back. Weights that
        are not whole need a table of samples beside them; rows may need so many bytes more.
        """
        encoder, tables = self.encoder, self.tables
        self._more = more
        try:
            # The tables themselves follow when the sample is added: until then predictions are as before it.
            columns = 1 if tables.exact and whole else 2
            if not self._fits(columns):
                self._grow(columns)
        except BudgetExceeded:
            encoder.rollback()
            raise
        finally:
            self._more = 0
        encoder.created.clear()
        if self.discretizer is not None:
            self.discretizer.meet()
        tables.labels = len(encoder.labels)
        if self.window is not None:
            self.window.make_room()
        if tables.families is not None:
            tables.families.grow(self._codes_of_families(), tables.labels)

    def _fits(self, columns: int) -> bool:
        """Whether new codes have room where they are; looks only at what is new."""
        encoder, layout = self.encoder, self.tables.values.layout
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
        if self.discretizer is not None and any(
            layout.room[feature.slot] < self.discretizer.bins.most for feature in self.discretizer.unmet()
        ):
            return False
        self._check_budget(layout, sum(size - layout.used[slot] for slot, size in grown.items()), columns)
        for slot, size in grown.items():
            layout.used[slot] = size
        return True

    def _grow(self, columns: int) -> None:
        """Move to a layout with room for everything and, where the budget allows it, for half as much again."""
        used, declared = sizes(self.encoder)
        layout, numeric = self.tables.values.layout, len(self.encoder.numeric)
        old_room = np.asarray(layout.room)[: len(used)]
        known = len(old_room)
        room = np.maximum(used, SMALLEST_ROOM)
        overflow = used[:known] > old_room
        room[:known] = np.where(overflow, 2 * room[:known], old_room)
        if overflow.any() and room.sum() < 1.5 * old_room.sum():
            room = np.where(2 * used > room, np.maximum(2 * used, room), room)  # the next to overflow
        spare = max(layout.features - len(used), 0)
        if 0 < layout.features < len(used):
            spare = len(used) // SPARE_FEATURES + 1
        spare_numeric = max(self.tables.gaussians.features - numeric, 0)
        if 0 < self.tables.gaussians.features < numeric:
            spare_numeric = numeric // SPARE_FEATURES + 1
        try:
            self._rebuild(used, declared, columns, room, spare, numeric + spare_numeric)
        except BudgetExceeded:
            self._rebuild(used, declared, columns)

    def _rebuild(
        self,
        used: Array,
        declared: Array,
        columns: int,
        room: Array | None = None,
        spare: int = 0,
        numeric: int = 0,
    ) -> None:
        """Move everything into new tables."""
        classes = 2
        while classes < len(self.encoder.labels):
            classes += 2 if classes < 16 else classes // 8 * 2  # kernels take classes by twos
        room = np.maximum(used if room is None else room, self._reserved())
        wide = np.concatenate([room, np.full(spare, SMALLEST_ROOM)]).astype(np.longlong)
        padding = np.zeros(spare, np.longlong)
        layout = Layout(np.concatenate([used, padding]), wide, np.concatenate([declared, padding]), classes)
        numeric = max(numeric, len(self.encoder.numeric))
        self._check_budget(layout, 0, columns, numeric)
        move(self.tables, layout, numeric, self.order, self._histogram)
        self.tables.labels = len(self.encoder.labels)

    def _reserved(self) -> Array:
        """The room that each feature needs whatever it uses: for all bins that it may get."""
        most = 0 if self.encoder.bins is None else self.encoder.bins.most
        kept = [most if feature.measured else 0 for feature in self.encoder.nominal]
        return np.array(kept, np.longlong)

    def _codes_of_families(self) -> Array:
        """How many codes families must have room for: where new cuts fill them anew, those of all bins there may be."""
        used, _ = sizes(self.encoder)
        return np.maximum(used, self._reserved()) if self.window is None or self.slides else used

    # -- bytes --------------------------------------------------------------------------------------------------------

    def _columns(self) -> int:
        """How many tables stand for a table of weights: 2 with samples beside it."""
        return 1 if self.tables.exact else 2

    def _bytes(self, layout: Layout, codes: int, columns: int, numeric: int | None = None) -> int:
        """What a store of this layout takes, names included."""
        cells = layout.classes * (columns * (layout.positions + layout.features + 1) + 1)
        cells += (
            layout.classes * (3 + columns) * (self.tables.gaussians.features if numeric is None else numeric)
        )
        if self.order >= 2:
            cells += layout.classes * layout.pairs
        if self.order >= 3:
            cells += layout.classes * layout.triples
        small = layout.positions * (1 + (4 * layout.classes if self._histogram else 0))
        return 8 * int(cells) + int(small) + NAME_BYTES * codes + FEATURE_BYTES * len(self.encoder.features)

    def _check_budget(self, layout: Layout, more: int, columns: int, numeric: int | None = None) -> None:
        if self.memory_budget is None:
            return
        need = self._most_bytes(layout, more, columns, numeric) + self._more
        if self.tables.families is not None:
            codes = self._codes_of_families()
            need += self.tables.families.bytes_for(codes, len(self.encoder.labels), columns)
        if need > self.memory_budget:
            raise BudgetExceeded(
                f"the tables would need {need:,} bytes, the budget is {self.memory_budget:,}; raise memory_budget, "
                "bound the values with max_values, or learn fewer features"
            )

    def _most_bytes(self, layout: Layout, more: int, columns: int, numeric: int | None = None) -> int:
        """What is taken apart from families, with the table beside the pairs: it is made when the first event lacks a
        feature, and then must fit.
        """
        need = self._bytes(layout, int(np.asarray(layout.used).sum()) + more, columns, numeric)
        need += _beside_bytes(layout) if self.order >= 2 else 0
        return need + (0 if self.window is None else self.window.bytes_needed())

    def bytes_left(self) -> int | None:
        """What the budget leaves for families; None without a budget."""
        if self.memory_budget is None:
            return None
        return self.memory_budget - self._most_bytes(self.tables.values.layout, 0, self._columns())

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables and of the codes of names; the names themselves are not counted."""
        layout, pairs = self.tables.values.layout, self.tables.pairs
        taken = self._bytes(layout, int(np.asarray(layout.used).sum()), self._columns())
        if pairs is not None and pairs.beside is not None:
            taken += _beside_bytes(layout)
        for part in (self.window, self.tables.families):
            taken += 0 if part is None else int(part.memory_bytes)
        return taken


def _beside_bytes(layout: Layout) -> int:
    """What the table of values beside features takes."""
    return 8 * int(layout.positions) * int(layout.features) * int(layout.classes)
