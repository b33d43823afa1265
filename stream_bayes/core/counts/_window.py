"""The ring behind a window: the newest encoded events, one column per feature, and the loops that fill and read it.

    codes    column of feature 0: [ event | event | ... ] | column of feature 1 ... | room for more     -1: missing
    numbers  column of feature 3: [ event | event | ... ] | ...                                        NaN: missing
    label, weight, clock          [ event | event | ... ]

Once every position is taken, the next event takes the oldest one's. Numbers are stored
as numbers and not as bins, so that events that are read back use the present cuts. An unlearned event stays in its
place with weight 0.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.encoding._bins import Bins
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.values._cells import is_whole

MISSING = cython.declare(cython.int, -1)
CACHE_LINE = 64  # bytes


def width_of(size, item_bytes):
    """Return the length of a column for a number of items: an odd number of cache lines.

    The next places of all columns then map to different sets of the cache.
    """
    items = CACHE_LINE // item_bytes
    return (-(-size // items) | 1) * items


@cython.cclass
class Ring:
    """The newest `size` events as columns of codes and numbers.

    `code_column` and `number_column` hold the column of each slot's codes or numbers, -1 for none.
    """

    def __init__(self, size: cython.Py_ssize_t):
        self.size = size
        self.length = 0  # events that it holds
        self.next = 0  # position of the next event
        self.code_column = np.zeros(0, np.longlong)
        self.number_column = np.zeros(0, np.longlong)
        self.codes = np.zeros((0, width_of(size, 4)), np.int32)
        self.numbers = np.zeros((0, width_of(size, 8)))
        self.label = np.zeros(size, np.int32)
        self.weight = np.zeros(size)
        self.clock = np.zeros(size, np.longlong)

    def set_columns(self, code_column, number_column, codes: cython.Py_ssize_t, numbers: cython.Py_ssize_t):
        """Set the number of columns, and the column of each slot; columns with contents keep their place.

        A new column is missing in all events before.
        """
        self.code_column = np.asarray(code_column, np.longlong)
        self.number_column = np.asarray(number_column, np.longlong)
        columns: cython.Py_ssize_t = self.codes.shape[0]
        if codes > columns:
            grown = np.zeros((codes, self.codes.shape[1]), np.int32)
            grown[:columns] = self.codes
            grown[columns:] = MISSING
            self.codes = grown
        elif codes < columns:
            self.codes = np.array(self.codes[:codes])
        columns = self.numbers.shape[0]
        if numbers > columns:
            grown = np.zeros((numbers, self.numbers.shape[1]))
            grown[:columns] = self.numbers
            grown[columns:] = np.nan
            self.numbers = grown
        elif numbers < columns:
            self.numbers = np.array(self.numbers[:numbers])

    @cython.ccall
    def push(self, row: Row, clock: cython.longlong):
        """Keep an event; all its slots have columns. A full ring drops its oldest event."""
        at: cython.Py_ssize_t = self.next
        for k in range(self.codes.shape[0]):
            self.codes[k, at] = MISSING
        for k in range(self.numbers.shape[0]):
            self.numbers[k, at] = float("nan")
        for k in range(row.entries):
            column = self.code_column[row.feature[k]]
            if column >= 0:
                self.codes[column, at] = row.code[k]
        for k in range(row.numbers):
            self.numbers[self.number_column[row.numeric_feature[k]], at] = row.number[k]
        self.label[at] = row.label
        self.weight[at] = row.weight
        self.clock[at] = clock
        self.next = at + 1 if at + 1 < self.size else 0
        if self.length < self.size:
            self.length += 1

    @cython.cfunc
    def position_of(self, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the position of an event, given the number of older ones."""
        at: cython.Py_ssize_t = self.next - self.length + index
        return at + self.size if at < 0 else at

    @cython.ccall
    def load(self, index: cython.Py_ssize_t, row: Row):
        """Copy an event into a row, numbers as such; the oldest is number 0."""
        n: cython.Py_ssize_t = 0
        at: cython.Py_ssize_t = self.position_of(index)
        row.reserve(self.code_column.shape[0] + self.number_column.shape[0], self.number_column.shape[0])
        for f in range(self.code_column.shape[0]):
            if self.code_column[f] >= 0:
                code = self.codes[self.code_column[f], at]
                if code >= 0:
                    row.feature[n] = f
                    row.code[n] = code
                    n += 1
        row.entries = n
        n = 0
        for f in range(self.number_column.shape[0]):
            if self.number_column[f] >= 0:
                number = self.numbers[self.number_column[f], at]
                if number == number:
                    row.numeric_feature[n] = f
                    row.number[n] = number
                    n += 1
        row.numbers = n
        row.label = self.label[at]
        row.weight = self.weight[at]
        row.whole = is_whole(row.weight)
        row.soft = False

    def codes_of(self, slots, bins: object):
        """Return the codes of some slots, a row each and a column an event from the oldest on, -1 where missing. With
        `bins`, numbers are in the bins as these are now.
        """
        present: Bins = bins
        made = np.full((len(slots), self.length), MISSING, np.int32)
        codes: cython.int[:, ::1] = made
        row: cython.Py_ssize_t = -1
        for slot in slots:
            row += 1
            column: cython.Py_ssize_t = self.column_of(self.code_column, slot)
            if column >= 0:
                made[row] = self.in_order(np.asarray(self.codes)[column])
            elif present is not None and present.has_cuts(slot):
                column = self.column_of(self.number_column, slot)
                if column < 0:
                    continue
                numbers: cython.double[::1] = self.in_order(np.asarray(self.numbers)[column])
                for k in range(self.length):
                    if numbers[k] == numbers[k]:
                        codes[row, k] = cython.cast(cython.int, present.code_of(slot, numbers[k]))
        return made

    @cython.ccall
    def clock_of(self, index: cython.Py_ssize_t) -> cython.longlong:
        """Return the clock at which an event was learned; the oldest is number 0."""
        return self.clock[self.position_of(index)]

    @cython.ccall
    def find(self, row: Row) -> cython.Py_ssize_t:
        """Return the index of the newest event equal to a row, -1 for none. Numbers count, bins do not."""
        for index in range(self.length - 1, -1, -1):
            if self.equals(index, row):
                return index
        return -1

    @cython.ccall
    def find_at(self, clock: cython.longlong) -> cython.Py_ssize_t:
        """Return the number of the event learned at that time, or -1. Clocks ascend."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.length
        while low < high:
            middle = (low + high) // 2
            if self.clock[self.position_of(middle)] < clock:
                low = middle + 1
            else:
                high = middle
        return low if low < self.length and self.clock[self.position_of(low)] == clock else -1

    @cython.ccall
    def equals(self, index: cython.Py_ssize_t, row: Row) -> cython.bint:
        """Return True if an event equals a row, and was not unlearned."""
        at: cython.Py_ssize_t = self.position_of(index)
        present: cython.Py_ssize_t = 0
        if self.label[at] != row.label or self.weight[at] != row.weight or row.weight == 0.0:
            return False
        for k in range(row.entries):
            column = self.column_of(self.code_column, row.feature[k])
            if column >= 0:
                if self.codes[column, at] != row.code[k]:
                    return False
                present += 1
        for k in range(row.numbers):
            column = self.column_of(self.number_column, row.numeric_feature[k])
            if column < 0 or self.numbers[column, at] != row.number[k]:
                return False
            present += 1
        for k in range(self.codes.shape[0]):
            present -= self.codes[k, at] >= 0
        for k in range(self.numbers.shape[0]):
            present -= self.numbers[k, at] == self.numbers[k, at]
        return present == 0

    @cython.cfunc
    def column_of(self, columns: cython.longlong[::1], slot: cython.Py_ssize_t) -> cython.longlong:
        return columns[slot] if slot < columns.shape[0] else -1

    @cython.ccall
    def mark_unlearned(self, index: cython.Py_ssize_t):
        """Set the weight of an unlearned event to 0."""
        self.weight[self.position_of(index)] = 0.0

    @cython.ccall
    def drop_oldest(self):
        """Drop the oldest event."""
        self.length -= 1

    def in_order(self, columns):
        """Return a copy of columns, events from the oldest to the newest."""
        columns = np.asarray(columns)
        start: cython.Py_ssize_t = self.position_of(0)
        stop: cython.Py_ssize_t = start + self.length
        if stop <= self.size:
            return np.array(columns[..., start:stop], order="C")
        return np.concatenate([columns[..., start : self.size], columns[..., : stop - self.size]], axis=-1)
