"""Moving what is counted into tables with more room.

Names, tables and window of a store, which grow with what is learned: within a budget, or not at all.

A new name first looks for room in the tables as they are. Where there is none they move into larger ones, with half as
much again to spare where the budget allows it, and none where it does not. What would pass the budget even so is taken
back before anything has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._families import FamilyTables
from stream_bayes.core.counts._gaussians import Gaussians
from stream_bayes.core.counts._layout import Layout
from stream_bayes.core.counts._pairs import PairCounts, TripleCounts
from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts._values import ValueCounts
from stream_bayes.core.counts.discretizer import Discretizer
from stream_bayes.core.counts.families import Family, chosen
from stream_bayes.core.counts.state import MOMENTS, grid, sizes
from stream_bayes.core.counts.window import Window
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.errors import BudgetExceeded

__all__ = ["Coming", "GrowingTables", "move"]


def move(tables: Tables, layout: Layout, numeric: int, order: int, word_histogram: bool) -> None:
    """Let tables take a layout with more room, and room for so many numeric features; what they hold goes along."""
    old = tables.values
    classes = layout.classes
    values = ValueCounts(layout, tables.exact)
    pairs = PairCounts(layout) if order >= 2 else None
    triples = TripleCounts(layout) if order >= 3 else None
    gaussians = Gaussians(numeric, classes, tables.exact)
    class_weight = np.zeros(classes)
    class_samples = class_weight if tables.exact else np.zeros(classes)
    class_peak = np.zeros(classes)
    kept = old.layout.classes
    held = np.asarray(old.layout.used)[: layout.features]
    here, there = layout.positions_of(held), old.layout.positions_of(held)
    runs = min(layout.features, old.layout.features)
    numbers = min(numeric, tables.gaussians.features)
    for new, now, rows, old_rows in (
        (values.weight, old.weight, here, there),
        (values.samples, old.samples, here, there),
        (values.present, old.present, slice(runs), slice(runs)),
        (values.present_samples, old.present_samples, slice(runs), slice(runs)),
        *(
            (
                getattr(gaussians, name),
                getattr(tables.gaussians, name),
                slice(numbers),
                slice(numbers),
            )
            for name in MOMENTS
        ),
    ):
        grid(new, classes)[rows, :kept] = grid(now, kept)[old_rows]
    class_weight[:kept] = tables.class_weight
    class_samples[:kept] = tables.class_samples
    class_peak[:kept] = tables.class_peak
    values.recount()
    if tables.pairs is not None and pairs is not None:
        grid(pairs.weight, classes)[layout.pairs_of(held), :kept] = grid(tables.pairs.weight, kept)[
            old.layout.pairs_of(held)
        ]
        if tables.pairs.beside is not None:
            pairs.beside = np.zeros(layout.positions * layout.features * classes)
            beside = np.asarray(pairs.beside).reshape(-1, layout.features, classes)
            before = np.asarray(tables.pairs.beside).reshape(-1, old.layout.features, kept)
            beside[here, :runs, :kept] = before[there, :runs]
    if tables.triples is not None and triples is not None:
        grid(triples.weight, classes)[layout.triples_of(held), :kept] = grid(tables.triples.weight, kept)[
            old.layout.triples_of(held)
        ]
    if word_histogram and tables.exact:
        values.rebuild_histogram()
    tables.values, tables.pairs, tables.triples, tables.gaussians = values, pairs, triples, gaussians
    tables.class_weight, tables.class_samples, tables.class_peak = class_weight, class_samples, class_peak


Array = NDArray[Any]
Coming: TypeAlias = Callable[
    [FamilyTables], Sequence[int]
]  # how many configurations each family is to get more

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
            self.tables.observer = self.discretizer
        self.window = None if window is None else Window(encoder, window)
        self.tables.window = None if self.window is None else self.window.ring
        self.slides = False  # whether an event that leaves the window is taken back
        self._coming: Coming | None = None  # of configurations, with rows about to be learned
        self._lay_out_tightly(self._columns())
        if self.window is not None:
            self.window.make_room()
        if self.discretizer is not None:
            self.discretizer.begin()

    # -- growing ------------------------------------------------------------------------------------------------------

    def make_room_for(self, rows: int, whole: bool) -> None:
        """Make room for all that so many rows, just encoded, may need."""
        self.make_room(whole, lambda families: families.most_brought(sizes(self.encoder)[0], rows))

    def make_room(self, whole: bool = True, coming: Coming | None = None) -> None:
        """Let the tables follow what the encoder has just created, or, for lack of budget, take that back. Weights that
        are not whole need a table of samples beside them; configurations of families may be `coming`, too.
        """
        encoder, tables = self.encoder, self.tables
        self._coming = coming
        try:
            # The tables themselves follow when the sample is added: until then predictions are as before it.
            columns = 1 if tables.exact and whole else 2
            spare = self._fits(columns) or self._grow(columns)
        except BudgetExceeded:
            encoder.rollback()
            raise
        finally:
            self._coming = None
        encoder.created.clear()
        if self.discretizer is not None:
            self.discretizer.meet()
        tables.labels = len(encoder.labels)
        self._follow(spare)

    def _follow(self, spare: bool) -> None:
        """Let window and families have room for the same names, with some to spare or none."""
        if self.window is not None:
            self.window.make_room(spare)
        if self.tables.families is not None:
            self.tables.families.grow(self._codes_of_families(), self.tables.labels, spare)

    def _fits(self, columns: int) -> bool:
        """Whether new codes have room where they are, within the budget; looks only at what is new."""
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
        if self.memory_budget is not None:
            used = np.array(layout.used)
            used[list(grown)] = list(grown.values())
            numeric = int(self.tables.gaussians.features)
            if self._need(layout, used[: len(encoder.nominal)], columns, numeric, True) > self.memory_budget:
                return False
        for slot, size in grown.items():
            layout.used[slot] = size
        return True

    def _grow(self, columns: int) -> bool:
        """Move to a layout with room for everything and, where the budget allows it, for half as much again; whether it
        does.
        """
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
        wide = self._layout(used, declared, room, spare)
        if self._need(wide, used, columns, numeric + spare_numeric, True) <= (self.memory_budget or np.inf):
            self._move(wide, numeric + spare_numeric)
            return True
        self._lay_out_tightly(columns)
        return False

    def _lay_out_tightly(self, columns: int) -> None:
        """Move to a layout without any spare room, which must be within the budget."""
        used, declared = sizes(self.encoder)
        layout, numeric = self._layout(used, declared), len(self.encoder.numeric)
        if self.memory_budget is not None:
            need = self._need(layout, used, columns, numeric, False)
            if need > self.memory_budget:
                raise BudgetExceeded(
                    f"the tables would need {need:,} bytes, the budget is {self.memory_budget:,}; raise "
                    "memory_budget, bound the values with max_values, or learn fewer features"
                )
        self._move(layout, numeric)

    def give_up_spare_room(self) -> None:
        """Give spare room up where what was just chosen leaves none in the budget."""
        used, declared = sizes(self.encoder)
        layout, numeric = self.tables.values.layout, int(self.tables.gaussians.features)
        if self._need(layout, used, self._columns(), numeric, True) > (self.memory_budget or np.inf):
            self._move(self._layout(used, declared), len(self.encoder.numeric))
            self._follow(spare=False)

    def _layout(self, used: Array, declared: Array, room: Array | None = None, spare: int = 0) -> Layout:
        """Where so many codes of each feature stand, with so much room, or none to spare, and so many features more."""
        classes = 2
        while classes < len(self.encoder.labels):
            classes += 2 if classes < 16 else classes // 8 * 2  # kernels take classes by twos
        room = np.maximum(used if room is None else room, self._reserved())
        wide = np.concatenate([room, np.full(spare, SMALLEST_ROOM)]).astype(np.longlong)
        padding = np.zeros(spare, np.longlong)
        return Layout(np.concatenate([used, padding]), wide, np.concatenate([declared, padding]), classes)

    def _move(self, layout: Layout, numeric: int) -> None:
        """Move everything into new tables."""
        move(self.tables, layout, numeric, self.order, self._histogram)
        self.tables.labels = len(self.encoder.labels)

    def _reserved(self) -> Array:
        """The room that each feature needs whatever it uses: for all bins that it may get."""
        if self.encoder.bins is None:
            return np.zeros(len(self.encoder.nominal), np.longlong)
        most = self.encoder.bins.most
        kept = [most if feature.measured else 0 for feature in self.encoder.nominal]
        return np.array(kept, np.longlong)

    def _codes_of_families(self) -> Array:
        """How many codes families must have room for: where new cuts fill them anew, those of all bins there may be."""
        used, _ = sizes(self.encoder)
        return np.maximum(used, self._reserved()) if self.window is None or self.slides else used

    def choose(self, families: Iterable[Family]) -> FamilyTables:
        """Tables of these families: of those counted already as they are, of the others from the window, if any."""
        return chosen(self.tables, self.encoder, families, self.window, self._codes_of_families())

    # -- bytes --------------------------------------------------------------------------------------------------------

    def _columns(self) -> int:
        """How many tables stand for a table of weights: 2 with samples beside it."""
        return 1 if self.tables.exact else 2

    def _bytes(self, layout: Layout, codes: int, columns: int, numeric: int) -> int:
        """What values, pairs, triples, numbers and names take in this layout."""
        cells = layout.classes * (columns * (layout.positions + layout.features + 1) + 1)
        cells += layout.classes * (3 + columns) * numeric
        if self.order >= 2:
            cells += layout.classes * layout.pairs
        if self.order >= 3:
            cells += layout.classes * layout.triples
        small = layout.positions * (1 + (4 * layout.classes if self._histogram else 0))
        return 8 * int(cells) + int(small) + NAME_BYTES * codes + FEATURE_BYTES * len(self.encoder.features)

    def _need(self, layout: Layout, used: Array, columns: int, numeric: int, spare: bool) -> int:
        """The most that everything takes in a layout, windows and families included, with room for these to spare or
        none. A budget is passed where a layout without spare room needs more: that depends on what is held alone, and
        so does what is refused, whether a model was loaded or ran on.
        """
        need = self._most_bytes(layout, used, columns, numeric, spare)
        families = self.tables.families
        if families is None:
            return need
        coming = None if self._coming is None else self._coming(families)
        codes, labels = self._codes_of_families(), len(self.encoder.labels)
        return need + int(sum(families.bytes_each(codes, labels, columns, spare, coming)))

    def _most_bytes(self, layout: Layout, used: Array, columns: int, numeric: int, spare: bool) -> int:
        """The same apart from families. The table beside the pairs, made when the first event lacks a feature, must fit
        then, and so must the names of all bins that there may be.
        """
        need = self._bytes(layout, self._most_names(used), columns, numeric)
        need += _beside_bytes(layout) if self.order >= 2 else 0
        return need + (0 if self.window is None else self.window.bytes_needed(spare))

    def _most_names(self, used: Array) -> int:
        """How many names there may be once all cuts are set for good."""
        if self.discretizer is None:
            return int(used.sum())
        settled = self.discretizer.settled()
        kept = [0 if slot in settled else most for slot, most in enumerate(self._reserved().tolist())]
        return int(np.maximum(used, kept).sum())

    def bytes_left(self) -> int | None:
        """What the budget leaves for families; None without a budget."""
        if self.memory_budget is None:
            return None
        used, declared = sizes(self.encoder)
        layout, numeric = self._layout(used, declared), len(self.encoder.numeric)
        return self.memory_budget - self._most_bytes(layout, used, self._columns(), numeric, False)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables and of the codes of names; the names themselves are not counted."""
        layout, pairs = self.tables.values.layout, self.tables.pairs
        codes, numeric = int(np.asarray(layout.used).sum()), int(self.tables.gaussians.features)
        taken = self._bytes(layout, codes, self._columns(), numeric)
        if pairs is not None and pairs.beside is not None:
            taken += _beside_bytes(layout)
        for part in (self.window, self.tables.families):
            taken += 0 if part is None else int(part.memory_bytes)
        return taken


def _beside_bytes(layout: Layout) -> int:
    """What the table of values beside features takes."""
    return 8 * int(layout.positions) * int(layout.features) * int(layout.classes)
