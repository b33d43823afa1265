"""The recent events as columns of codes, for searches, refilled tables, exact unlearning and drift checks.

A window keeps the newest events that were learned, encoded, with the clock at which each was. Pushing one writes a
code a feature; reading them out gives contiguous columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._window import Ring, width_of
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.values.checks import expect
from stream_bayes.errors import NotLearned

__all__ = ["Window", "WindowEvents"]

# One more for each of these, so that features added one by one do not move the columns each time.
SPARE_COLUMNS = 4
ROW_BYTES = 4 + 8 + 8  # a label, a weight and a clock
CODE_BYTES, NUMBER_BYTES = 4, 8


@dataclass(frozen=True)
class WindowEvents:
    """Events from the oldest to the newest, copied out of a window; nothing that is learned later changes them."""

    # a row a slot and a column an event, so that a feature's codes are contiguous; -1 is missing
    codes: NDArray[np.int32]
    labels: NDArray[np.int32]  # the code of each event's label
    weights: NDArray[np.float64]  # as they were learned
    clocks: NDArray[np.int64]  # right after each event

    def __len__(self) -> int:
        return len(self.labels)


class Window:
    """The newest `size` events of a learner as columns of codes. Where the encoder has bins, numbers are kept as
    numbers, and read in the bins as these are then.

    Notes
    -----
    Memory: 4 bytes an event and nominal feature, 8 an event and numeric feature, 20 an event besides; room for `size`
    events is taken from the beginning. Pushing costs a store a feature.

    Examples
    --------
    >>> from stream_bayes.core.encoding._features import RowEncoder
    >>> from stream_bayes.core.encoding._vocabulary import Vocabulary
    >>> from stream_bayes.core.counts.store import CountStore
    >>> store = CountStore(RowEncoder(Vocabulary()), window=2)
    >>> for sky in ["grey", "blue", "grey"]:
    ...     store.learn({"sky": sky}, "dry")
    >>> recent = store.window.freeze()
    >>> recent.codes.tolist(), recent.clocks.tolist()
    ([[1, 0]], [2, 3])
    """

    def __init__(self, encoder: Encoder, size: int) -> None:
        self.encoder = encoder
        self.ring = Ring(size)

    @property
    def size(self) -> int:
        """The largest number of events kept."""
        return int(self.ring.size)

    def __len__(self) -> int:
        return int(self.ring.length)

    # -- room -------------------------------------------------------------------------------------------------------

    def make_room(self, spare: bool = True) -> None:
        """Make a column for every feature of the encoder, with some columns to spare or none."""
        codes, numbers = self._slots()
        ring = self.ring
        met = len(codes) == len(ring.code_column) and len(numbers) == len(ring.number_column)
        if met and (spare or (len(ring.codes) == sum(codes) and len(ring.numbers) == sum(numbers))):
            return
        code_column, number_column = (_extended(columns, slots) for columns, slots in
                                      ((ring.code_column, codes), (ring.number_column, numbers)))  # fmt: skip
        wide = [_room(len(have), int(column.max(initial=-1)) + 1, spare)
                for have, column in ((ring.codes, code_column), (ring.numbers, number_column))]  # fmt: skip
        ring.set_columns(code_column, number_column, *wide)

    def _slots(self) -> tuple[list[bool], list[bool]]:
        """Return for each slot of either kind whether it has codes, or numbers."""
        encoder = self.encoder
        codes = [not feature.measured for feature in encoder.nominal]
        if encoder.bins is not None:
            return codes, [bool(feature.measured) for feature in encoder.nominal]
        return codes, [True] * len(encoder.numeric)

    def bytes_needed(self, spare: bool) -> int:
        """Return the bytes of a window with a column for every feature of the encoder, with some to spare or none."""
        codes, numbers = self._slots()
        ring = self.ring
        wide = _room(len(ring.codes), sum(codes), spare), _room(len(ring.numbers), sum(numbers), spare)
        return _bytes(self.size, *wide)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the columns."""
        return _bytes(self.size, len(self.ring.codes), len(self.ring.numbers))

    # -- events -----------------------------------------------------------------------------------------------------

    def push(self, row: Row, clock: int) -> None:
        """Keep an event just learned; once the window is full, the oldest goes."""
        self.ring.push(row, clock)

    def row(self, index: int, into: Row) -> Row:
        """Return an event as a row; the oldest is number 0. Its numbers are in the bins as these are now."""
        if not 0 <= index < len(self):
            raise IndexError(f"the window holds {len(self)} events, not one with the number {index}")
        self.ring.load(index, into)
        if into.numbers and self.encoder.bins is not None:
            self.encoder.bins.resolve(into)
        return into

    def rows(self) -> Iterator[tuple[Row, int]]:
        """Yield each event that was not unlearned, oldest first, with its clock; the row is used again for the next."""
        row = Row()
        for index in range(len(self)):
            if self.row(index, row).weight > 0.0:
                yield row, self.clock_of(index)

    def find(self, row: Row, at: int | None) -> int:
        """Return the number of an event to be unlearned, the newest equal one or the one at a clock; -1 if it is older.

        Raises `NotLearned` if another event was learned at that clock.
        """
        if at is None:
            return int(self.ring.find(row))
        index = int(self.ring.find_at(at))
        inside = len(self) > 0 and at >= self.clock_of(0)
        if inside and (index < 0 or not self.ring.equals(index, row)):
            raise NotLearned(f"cannot unlearn a sample at {at}: no such sample was learned then")
        return index

    def clock_of(self, index: int) -> int:
        """Return the clock right after an event was learned."""
        return int(self.ring.clock_of(index))

    def mark_unlearned(self, index: int) -> None:
        """Set the weight of an unlearned event to 0."""
        self.ring.mark_unlearned(index)

    def drop_oldest(self) -> None:
        """Drop the oldest event."""
        if not len(self):
            raise IndexError("the window is empty")
        self.ring.drop_oldest()

    @property
    def oldest_clock(self) -> int | None:
        """The clock at which the oldest event was learned; None in an empty window."""
        return self.clock_of(0) if len(self) else None

    # -- columns ------------------------------------------------------------------------------------------------------

    def freeze(self) -> WindowEvents:
        """Return the events that were not unlearned as contiguous columns, numbers in the bins as these are now."""
        ring, bins = self.ring, self.encoder.bins
        weights = ring.in_order(ring.weight)
        live = np.flatnonzero(weights > 0.0)
        whole = len(live) == len(weights)
        codes = np.full((len(ring.code_column), len(live)), -1, np.int32)
        for slot, column in enumerate(np.asarray(ring.code_column).tolist()):
            if column >= 0:
                column_codes = ring.in_order(np.asarray(ring.codes)[column])
                codes[slot] = column_codes if whole else column_codes[live]
        if bins is not None:
            for slot, column in enumerate(np.asarray(ring.number_column).tolist()):
                if column >= 0 and slot in bins.cuts:
                    numbers = ring.in_order(np.asarray(ring.numbers)[column])[live]
                    binned = np.searchsorted(np.array(bins.cuts[slot]), numbers, side="right")
                    codes[slot] = np.where(np.isnan(numbers), -1, binned)
        return WindowEvents(
            codes, ring.in_order(ring.label)[live], weights[live], ring.in_order(ring.clock)[live]
        )

    # -- state --------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything kept, oldest event first, a row for each feature that has codes or numbers."""
        ring = self.ring
        codes, numbers = (
            int(np.max(column, initial=-1)) + 1 for column in (ring.code_column, ring.number_column)
        )
        return {
            "window_codes": ring.in_order(np.asarray(ring.codes)[:codes]),
            "window_numbers": ring.in_order(np.asarray(ring.numbers)[:numbers]),
            "window_labels": ring.in_order(ring.label),
            "window_weights": ring.in_order(ring.weight),
            "window_clocks": ring.in_order(ring.clock),
        }

    def load(self, arrays: Mapping[str, Any], clock: int) -> None:
        """Fill an empty window from a state, after its encoder has all names. Raise `BadState` if it does not fit."""
        self.make_room()
        ring, encoder = self.ring, self.encoder
        labels, weights, clocks = (arrays[f"window_{name}"] for name in ("labels", "weights", "clocks"))
        codes, numbers = arrays["window_codes"], arrays["window_numbers"]
        rows = len(labels)
        expect(rows <= self.size, f"its window holds {rows} events, more than {self.size}")
        slots = self._slots()
        _check("labels", labels, np.int32, (rows,))
        _check("weights", weights, np.float64, (rows,))
        _check("clocks", clocks, np.int64, (rows,))
        _check("codes", codes, np.int32, (sum(slots[0]), rows))
        _check("numbers", numbers, np.float64, (sum(slots[1]), rows))
        expect(bool(((labels >= 0) & (labels < len(encoder.labels))).all()), "an event kept has no label")
        # NaN is not between these either.
        expect(bool(((weights >= 0.0) & (weights <= 2.0**53)).all()), "an event kept has no weight")
        expect(bool((clocks[1:] > clocks[:-1]).all()), "the events kept are out of order")
        expect(rows == 0 or bool(clocks[0] > 0 and clocks[-1] <= clock), "an event kept has no time")
        kinds = (feature for feature in encoder.nominal if not feature.measured)
        for column, feature in zip(codes, kinds, strict=True):
            values = len(feature.vocabulary)
            expect(bool(((column >= -1) & (column < values)).all()), "an event kept has an unknown value")
        expect(not bool((np.abs(numbers) > 1e100).any()), "an event kept has a number that is too large")
        filled = slice(rows)
        np.asarray(ring.label)[filled], np.asarray(ring.weight)[filled] = labels, weights
        np.asarray(ring.clock)[filled] = clocks
        np.asarray(ring.codes)[: len(codes), filled] = codes
        np.asarray(ring.numbers)[: len(numbers), filled] = numbers
        ring.length, ring.next = rows, rows % self.size


def _extended(old_columns: Any, has_column: list[bool]) -> NDArray[np.int64]:
    """Return the column of each slot; slots that have one keep it."""
    columns = np.full(len(has_column), -1, np.int64)
    columns[: len(old_columns)] = np.asarray(old_columns)
    following = int(columns.max(initial=-1)) + 1
    for slot in range(len(old_columns), len(has_column)):
        if has_column[slot]:
            columns[slot] = following
            following += 1
    return columns


def _room(have: int, needed: int, spare: bool) -> int:
    """Return the number of columns to have."""
    if not spare:
        return needed
    if needed <= have:
        return have
    return needed if have == 0 else needed + needed // SPARE_COLUMNS


def _bytes(size: int, codes: int, numbers: int) -> int:
    columns = CODE_BYTES * codes * width_of(size, CODE_BYTES) + NUMBER_BYTES * numbers * width_of(
        size, NUMBER_BYTES
    )
    return int(columns) + ROW_BYTES * size


def _check(name: str, array: Any, dtype: type, shape: tuple[int, ...]) -> None:
    """Raise `BadState` for an array of another type or shape."""
    fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape
    expect(fits, f"window_{name}: expected an array of {np.dtype(dtype)} of shape {shape}")
    expect(
        dtype is not np.float64 or not bool(np.isinf(array).any()), f"window_{name} holds infinite numbers"
    )
