"""Events as codes, written by encoders and read by tables and kernels.

    x = {"sky": "grey", "wind": 3.5, "day": None}, y = "rain"
    Row: feature [0]  code [4]  amount [1.0]  |  numeric_feature [0]  number [3.5]  |  label 1, weight 1.0
          "sky"       "grey"                      "wind"                  ("day" is missing: no entry)

Entries are kept in the order of the features' slots, so the sums made from a row do not depend on the
order of the dict's keys.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.values._cells import is_whole

UNSEEN = cython.declare(cython.int, -2)


@cython.cclass
class Row:
    """One event as codes. It is reused for the next event; `Batch` keeps copies."""

    def __init__(self):
        self.entries = 0
        self.numbers = 0
        self.label = UNSEEN
        self.weight = 1.0
        self.whole = True
        self.unseen = 0  # values left out, as no event that was learned had them
        self.at = 0  # its time in microseconds, where samples fade by their time
        self.feature = np.zeros(8, np.int32)
        self.code = np.zeros(8, np.int32)
        self.amount = np.ones(8)
        self.numeric_feature = np.zeros(8, np.int32)
        self.number = np.zeros(8)
        self.soft = False  # True if `inside` is set
        self.inside = np.zeros(8)  # position of an entry's number in its bin, from 0 to 1, or -1 (_bins)

    @cython.ccall
    def reserve(self, entries: cython.Py_ssize_t, numbers: cython.Py_ssize_t):
        """Make room, keeping the contents; `amount` stays 1 unless written."""
        if entries > self.feature.shape[0]:
            extra = 2 * entries - self.feature.shape[0]
            self.feature = np.concatenate([self.feature, np.zeros(extra, np.int32)])
            self.code = np.concatenate([self.code, np.zeros(extra, np.int32)])
            self.amount = np.concatenate([self.amount, np.ones(extra)])
            self.inside = np.concatenate([self.inside, np.zeros(extra)])
        if numbers > self.numeric_feature.shape[0]:
            extra = 2 * numbers - self.numeric_feature.shape[0]
            self.numeric_feature = np.concatenate([self.numeric_feature, np.zeros(extra, np.int32)])
            self.number = np.concatenate([self.number, np.zeros(extra)])

    def content(self) -> tuple:
        """Return the entries' features and codes, the numbers' features, and the numbers, a tuple each."""
        features: list = []
        codes: list = []
        slots: list = []
        numbers: list = []
        for k in range(self.entries):
            features.append(int(self.feature[k]))
            codes.append(int(self.code[k]))
        for k in range(self.numbers):
            slots.append(int(self.numeric_feature[k]))
            numbers.append(float(self.number[k]))
        return tuple(features), tuple(codes), tuple(slots), tuple(numbers)

    @cython.ccall
    def sort(self):
        """Sort nominal entries and numbers by slot."""
        if self.entries + self.numbers > 64:
            arrange(self.entries, [np.asarray(self.feature), np.asarray(self.code)])
            arrange(self.numbers, [np.asarray(self.numeric_feature), np.asarray(self.number)])
            return
        # Short or nearly sorted: insertion sort is fastest.
        for k in range(1, self.entries):
            slot, code = self.feature[k], self.code[k]
            at = k
            while at > 0 and self.feature[at - 1] > slot:
                self.feature[at], self.code[at] = self.feature[at - 1], self.code[at - 1]
                at -= 1
            self.feature[at], self.code[at] = slot, code
        for k in range(1, self.numbers):
            slot, number = self.numeric_feature[k], self.number[k]
            at = k
            while at > 0 and self.numeric_feature[at - 1] > slot:
                self.numeric_feature[at], self.number[at] = self.numeric_feature[at - 1], self.number[at - 1]
                at -= 1
            self.numeric_feature[at], self.number[at] = slot, number


@cython.cclass
class RowSource:
    """Rows to process, one at a time. `is_labelled` is True if the row just returned is to be learned."""

    def __init__(self):
        self.is_labelled = True

    @cython.cfunc
    def next_row(self) -> Row:
        """Return the next row, valid until the next call; None after the last."""
        raise NotImplementedError


def arrange(length, columns):
    """Sort the first `length` items of parallel arrays by the first of them."""
    order = np.argsort(columns[0][:length], kind="stable")
    for column in columns:
        column[:length] = column[:length][order]


@cython.cclass
class Batch:
    """Encoded rows laid end to end: row r owns the entries from entry_end[r-1] up to entry_end[r]."""

    def __init__(
        self, rows: cython.Py_ssize_t = 0, entries: cython.Py_ssize_t = 0, numbers: cython.Py_ssize_t = 0
    ):
        self.rows = 0
        self.entries = 0
        self.numbers = 0
        self.entry_end = np.zeros(rows + 8, np.longlong)
        self.number_end = np.zeros(rows + 8, np.longlong)
        self.label = np.zeros(rows + 8, np.int32)
        self.weight = np.ones(rows + 8)
        self.at = np.zeros(0, np.longlong)  # the time of each row; none where samples do not fade by time
        self.feature = np.zeros(entries + 8, np.int32)
        self.code = np.zeros(entries + 8, np.int32)
        self.amount = np.ones(entries + 8)
        self.numeric_feature = np.zeros(numbers + 8, np.int32)
        self.number = np.zeros(numbers + 8)

    @cython.ccall
    def append(self, row: Row):
        """Keep a copy of a row."""
        at: cython.Py_ssize_t = self.rows
        if at == self.label.shape[0]:
            self.entry_end = np.resize(self.entry_end, 2 * at)
            self.number_end = np.resize(self.number_end, 2 * at)
            self.label = np.resize(self.label, 2 * at)
            self.weight = np.resize(self.weight, 2 * at)
        need: cython.Py_ssize_t = self.entries + row.entries
        if need > self.feature.shape[0]:
            self.feature = np.resize(self.feature, 2 * need)
            self.code = np.resize(self.code, 2 * need)
            self.amount = np.resize(self.amount, 2 * need)
        for k in range(row.entries):
            self.feature[self.entries + k] = row.feature[k]
            self.code[self.entries + k] = row.code[k]
            self.amount[self.entries + k] = row.amount[k]
        self.entries = need
        need = self.numbers + row.numbers
        if need > self.numeric_feature.shape[0]:
            self.numeric_feature = np.resize(self.numeric_feature, 2 * need)
            self.number = np.resize(self.number, 2 * need)
        for k in range(row.numbers):
            self.numeric_feature[self.numbers + k] = row.numeric_feature[k]
            self.number[self.numbers + k] = row.number[k]
        self.numbers = need
        self.entry_end[at] = self.entries
        self.number_end[at] = self.numbers
        self.label[at] = row.label
        self.weight[at] = row.weight
        self.rows = at + 1

    @cython.cfunc
    def load(self, index: cython.Py_ssize_t, row: Row):
        """Copy row number `index` into `row`."""
        first: cython.Py_ssize_t = 0
        first_number: cython.Py_ssize_t = 0
        if index > 0:
            first = self.entry_end[index - 1]
            first_number = self.number_end[index - 1]
        n: cython.Py_ssize_t = self.entry_end[index] - first
        m: cython.Py_ssize_t = self.number_end[index] - first_number
        row.reserve(n, m)
        row.entries = n
        row.numbers = m
        row.soft = False
        row.label = self.label[index]
        row.weight = self.weight[index]
        row.at = self.at[index] if index < self.at.shape[0] else 0
        row.whole = is_whole(row.weight)
        for k in range(n):
            row.feature[k] = self.feature[first + k]
            row.code[k] = self.code[first + k]
            row.amount[k] = self.amount[first + k]
            if row.amount[k] != 1.0 and not is_whole(row.amount[k] * row.weight):
                row.whole = False
        for k in range(m):
            row.numeric_feature[k] = self.numeric_feature[first_number + k]
            row.number[k] = self.number[first_number + k]
