"""The bytes that a store takes, counted before it grows, and its budget.

A budget is exceeded if a layout without spare room needs more. That depends on what is held alone, and so does what is
refused, whether a model was loaded or ran on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._families import FamilyTables
from stream_bayes.core.counts._layout import Layout
from stream_bayes.core.counts._moments import ROWS_BESIDE
from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.discretizer import Discretizer
from stream_bayes.core.counts.state import sizes
from stream_bayes.core.counts.window import Window
from stream_bayes.core.encoding._features import Encoder

__all__ = ["Coming", "MemoryUse", "ReadingBytes"]

Array = NDArray[Any]
Coming: TypeAlias = Callable[
    [FamilyTables], Sequence[int]
]  # the configurations that rows will add to each family

ReadingBytes: TypeAlias = Callable[[int, int, int], int]

NAME_BYTES = 40  # a value's place in its vocabulary's table and list, at most; the name itself is not counted
FEATURE_BYTES = 600  # a feature, its vocabulary and their empty tables


class MemoryUse:
    """The bytes of a store's tables, names, window and families. `budget` is the most bytes; None: no limit.

    `reading_bytes` returns the bytes that a reading keeps beside the tables, by the numbers of features, of values and
    numeric features, and of labels.
    """

    def __init__(
        self,
        encoder: Encoder,
        tables: Tables,
        order: int,
        word_histogram: bool,
        discretizer: Discretizer | None,
        budget: int | None,
        reading_bytes: ReadingBytes | None = None,
    ) -> None:
        self.encoder = encoder
        self.tables = tables
        self.order = order
        self.word_histogram = word_histogram
        self.discretizer = discretizer
        self.budget = budget
        self.reading_bytes = reading_bytes
        self.window: Window | None = None
        self.slides = False  # events that leave the window are subtracted

    @property
    def columns(self) -> int:
        """The number of tables that stand for a table of weights: 2 with samples beside it."""
        return 1 if self.tables.exact else 2

    def fits(
        self, layout: Layout, used: Array, columns: int, numeric: int, *, spare: bool, coming: Coming | None
    ) -> bool:
        """Return True if a layout is within the budget."""
        if self.budget is None:
            return True
        return self.need(layout, used, columns, numeric, spare=spare, coming=coming) <= self.budget

    def need(
        self,
        layout: Layout,
        used: Array,
        columns: int,
        numeric: int,
        *,
        spare: bool,
        coming: Coming | None = None,
    ) -> int:
        """Return the most bytes that everything takes in a layout. `used` has the codes of each feature, `columns` is
        the number of columns of a table of weights, `numeric` that of numeric features. `spare` says whether window and
        families have room to spare. `coming` are the configurations that rows about to be learned add to families.
        """
        need = self._need_without_families(layout, used, columns, numeric, spare=spare)
        families = self.tables.families
        if families is None:
            return need
        added = None if coming is None else coming(families)
        codes, labels = self.codes_of_families(), len(self.encoder.labels)
        return need + int(sum(families.bytes_each(codes, labels, columns, spare, added)))

    def _need_without_families(
        self, layout: Layout, used: Array, columns: int, numeric: int, *, spare: bool
    ) -> int:
        """Return the bytes apart from families, with those of the tables beside pairs, which are made when the first
        event lacks a feature, and of the names of all bins that there may be.
        """
        need = self._bytes(layout, self._most_names(used), columns, numeric)
        need += _beside_bytes(layout) if self.order >= 2 else 0
        need += 0 if self.tables.co_moments is None else _beside_products_bytes(layout, numeric)
        return need + (0 if self.window is None else self.window.bytes_needed(spare))

    def _bytes(self, layout: Layout, codes: int, columns: int, numeric: int) -> int:
        """Return the bytes of values, pairs, triples, numbers, names, and what a reading keeps."""
        cells = layout.classes * (columns * (layout.positions + layout.features + 1) + 1)
        cells += layout.classes * (14 + columns) * numeric
        if self.tables.co_moments is not None:
            cells += 3 * layout.classes * (numeric * (numeric - 1) // 2)
        if self.order >= 2:
            cells += layout.classes * layout.pairs
        if self.order >= 3:
            cells += layout.classes * layout.triples
        features = len(self.encoder.features)
        kept = 0
        if self.reading_bytes is not None:
            kept = self.reading_bytes(features, codes + numeric, len(self.encoder.labels))
        small = layout.positions * (1 + (4 * layout.classes if self.word_histogram else 0))
        return 8 * int(cells) + int(small) + kept + NAME_BYTES * codes + FEATURE_BYTES * features

    def _most_names(self, used: Array) -> int:
        """Return the number of names once all cuts are final."""
        if self.discretizer is None:
            return int(used.sum())
        final = self.discretizer.final_slots()
        bins = [0 if slot in final else most for slot, most in enumerate(self.reserved_room().tolist())]
        return int(np.maximum(used, bins).sum())

    def reserved_room(self) -> Array:
        """Return the room that each feature needs at least: that of all bins it may get."""
        if self.encoder.bins is None:
            return np.zeros(len(self.encoder.nominal), np.longlong)
        most = self.encoder.bins.most
        return np.array([most if feature.measured else 0 for feature in self.encoder.nominal], np.longlong)

    def codes_of_families(self) -> Array:
        """Return the codes of each slot that families need room for: all bins, if new cuts count them again."""
        used, _ = sizes(self.encoder)
        return np.maximum(used, self.reserved_room()) if self.window is None or self.slides else used

    def bytes_left(self, tight: Layout) -> int | None:
        """Return the bytes that the budget leaves for families in the tightest layout; None without a budget."""
        if self.budget is None:
            return None
        used, _ = sizes(self.encoder)
        numeric = len(self.encoder.numeric)
        return self.budget - self._need_without_families(tight, used, self.columns, numeric, spare=False)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables and of the codes of names; the names themselves are not counted."""
        layout, pairs = self.tables.values.layout, self.tables.pairs
        codes, numeric = int(np.asarray(layout.used).sum()), int(self.tables.gaussians.features)
        total = self._bytes(layout, codes, self.columns, numeric)
        if pairs is not None and pairs.beside is not None:
            total += _beside_bytes(layout)
        if self.tables.co_moments is not None and self.tables.co_moments.beside is not None:
            total += _beside_products_bytes(layout, numeric)
        for extra in (self.window, self.tables.families):
            total += 0 if extra is None else int(extra.memory_bytes)
        return total


def _beside_bytes(layout: Layout) -> int:
    """Return the bytes of the table of values beside features."""
    return 8 * int(layout.positions) * int(layout.features) * int(layout.classes)


def _beside_products_bytes(layout: Layout, numeric: int) -> int:
    """Return the bytes of the sums beside the products of numbers."""
    return 8 * ROWS_BESIDE * int(layout.classes) * (numeric * (numeric - 1) // 2)
