"""Events kept until the cut points of their numbers are final, to be counted again; the newest where cuts move.

    batch    rows without the entries that numbers became in bins      [ event | event | ... ]
    clock    the clock at which each was learned                       [ event | event | ... ]

Events stay in the order in which they were learned.
"""

from __future__ import annotations

import cython
import numpy as np

from stream_bayes.core.counts._tables import NumberObserver
from stream_bayes.errors import NotLearned

if not cython.compiled:
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._bins import Bins
    from stream_bayes.core.encoding._rows import Batch, Row


@cython.cclass
class KeptEvents:
    """Events as rows of a batch, with the clock of each. There is room for as many as `like` has."""

    def __init__(self, like=None):
        if like is None:
            self.batch = Batch()
            self.clock = np.zeros(8, np.longlong)
        else:
            self.batch = Batch(like.batch.rows, like.batch.entries, like.batch.numbers)
            self.clock = np.zeros(like.batch.rows + 8, np.longlong)

    def __len__(self):
        return self.batch.rows

    @cython.ccall
    def append(self, row: Row, clock: cython.longlong):
        """Keep a copy of a row."""
        at: cython.Py_ssize_t = self.batch.rows
        self.batch.append(row)
        if at >= self.clock.shape[0]:
            self.clock = np.resize(self.clock, 2 * at)
        self.clock[at] = clock

    def add(self, label, weight, clock, features, codes, slots, numbers):
        """Keep an event given by its parts, as `event` returns them."""
        row: Row = Row()
        row.reserve(len(features), len(slots))
        row.label, row.weight = label, weight
        row.entries, row.numbers = len(features), len(slots)
        for k in range(row.entries):
            row.feature[k], row.code[k] = features[k], codes[k]
        for k in range(row.numbers):
            row.numeric_feature[k], row.number[k] = slots[k], numbers[k]
        self.append(row, clock)

    def event(self, index: cython.Py_ssize_t) -> tuple:
        """Return the label, weight and clock of an event, its features and codes, and the slots of its numbers and
        these, a list each.
        """
        row: Row = Row()
        self.batch.load(index, row)
        return (
            int(row.label),
            float(row.weight),
            int(self.clock[index]),
            np.asarray(row.feature)[: row.entries].tolist(),
            np.asarray(row.code)[: row.entries].tolist(),
            np.asarray(row.numeric_feature)[: row.numbers].tolist(),
            np.asarray(row.number)[: row.numbers].tolist(),
        )

    def with_numbers(self, chosen: cython.uchar[::1], newest: cython.Py_ssize_t = 0) -> KeptEvents:
        """Return the events that have a number of a feature chosen, a mask over slots, and so many of the newest."""
        made: KeptEvents = KeptEvents(self)
        row: Row = Row()
        for index in range(self.batch.rows):
            self.batch.load(index, row)
            if index >= self.batch.rows - newest:
                made.append(row, self.clock[index])
                continue
            for k in range(row.numbers):
                if row.numeric_feature[k] < chosen.shape[0] and chosen[row.numeric_feature[k]]:
                    made.append(row, self.clock[index])
                    break
        return made

    def numbers_of(self, slots):
        """Return the numbers of each of some features, in the order of events, and the index of the event of each."""
        batch: Batch = self.batch
        slot_of = np.asarray(batch.numeric_feature)[: batch.numbers]
        counts = np.bincount(slot_of, minlength=max(slots) + 1)
        ends = np.cumsum(counts)
        numbers, events = np.empty(batch.numbers), np.empty(batch.numbers, np.longlong)
        number: cython.double[::1] = numbers
        event: cython.longlong[::1] = events
        at: cython.longlong[::1] = ends - counts
        k: cython.Py_ssize_t = 0
        for r in range(batch.rows):
            while k < batch.number_end[r]:
                slot = batch.numeric_feature[k]
                number[at[slot]] = batch.number[k]
                event[at[slot]] = r
                at[slot] += 1
                k += 1
        parts = []
        for slot in slots:
            run = slice(ends[slot] - counts[slot], ends[slot])
            parts.append((numbers[run], events[run]))
        return parts

    def with_newest_of(self, slot: cython.Py_ssize_t, most: cython.Py_ssize_t) -> tuple:
        """Return the events with so many of the newest numbers of a feature, and without its older ones, and how many
        numbers these are.
        """
        remaining: KeptEvents = KeptEvents(self)
        row: Row = Row()
        numbers: cython.Py_ssize_t = 0
        for index in range(self.batch.rows):
            self.batch.load(index, row)
            for k in range(row.numbers):
                numbers += row.numeric_feature[k] == slot
        left: cython.Py_ssize_t = max(numbers - most, 0)  # numbers to leave out
        for index in range(self.batch.rows):
            self.batch.load(index, row)
            if left:
                at: cython.Py_ssize_t = 0
                for k in range(row.numbers):
                    if row.numeric_feature[k] == slot:
                        left -= 1
                    else:
                        row.numeric_feature[at], row.number[at] = row.numeric_feature[k], row.number[k]
                        at += 1
                row.numbers = at
            remaining.append(row, self.clock[index])
        return remaining, min(numbers, most)

    def without(self, dropped: cython.Py_ssize_t) -> KeptEvents:
        """Return all events but one."""
        made: KeptEvents = KeptEvents(self)
        row: Row = Row()
        for index in range(self.batch.rows):
            if index != dropped:
                self.batch.load(index, row)
                made.append(row, self.clock[index])
        return made

    @cython.ccall
    def find(self, sought: Row) -> cython.Py_ssize_t:
        """Return the place of the newest event equal to a row, -1 for none."""
        row: Row = Row()
        for index in range(self.batch.rows - 1, -1, -1):
            if self.equals(index, sought, row):
                return index
        return -1

    @cython.ccall
    def find_at(self, sought: Row, clock: cython.longlong) -> cython.Py_ssize_t:
        """Return the place of the event equal to a row that was learned at a clock, -1 for none."""
        row: Row = Row()
        for index in range(self.batch.rows):
            if self.clock[index] == clock and self.equals(index, sought, row):
                return index
        return -1

    @cython.cfunc
    def equals(self, index: cython.Py_ssize_t, sought: Row, row: Row) -> cython.bint:
        """Return True if an event equals a row; `row` is room for the event."""
        if self.batch.label[index] != sought.label or self.batch.weight[index] != sought.weight:
            return False
        self.batch.load(index, row)
        if row.entries != sought.entries or row.numbers != sought.numbers:
            return False
        for k in range(row.entries):
            if row.feature[k] != sought.feature[k] or row.code[k] != sought.code[k]:
                return False
        for k in range(row.numbers):
            if row.numeric_feature[k] != sought.numeric_feature[k] or row.number[k] != sought.number[k]:
                return False
        return True


@cython.cclass
class OpenCuts(NumberObserver):
    """The features whose cut points are open, and the events that hold numbers of them.

    `learned` counts the numbers of each slot that came while its cuts were open. `due` has the count at which the cuts
    of a slot are set next; a slot whose cuts are final is not there. Where cuts move, the newest events are kept
    whether their cuts are open or not.
    """

    def __init__(self, tables, bins):
        self.tables = tables
        self.bins = bins
        self.kept_events = KeptEvents()
        self.learned = {}
        self.due = {}
        self.keeps_newest = False
        self.full = 0  # events, from so many on needless ones are dropped
        self.bare = Row()

    @cython.ccall
    def observe(self, row: Row):
        """Keep an event that was just learned, and set the cuts that are due after it."""
        tables: Tables = self.tables
        bins: Bins = self.bins
        is_open: cython.bint = False
        ready: list = []
        for k in range(row.numbers):
            slot: object = row.numeric_feature[k] if cython.compiled else int(row.numeric_feature[k])
            due: object = self.due.get(slot)
            if due is None:
                continue
            is_open = True
            learned: cython.longlong = self.learned[slot] + 1
            self.learned[slot] = learned
            if learned >= due:
                ready.append(slot)
        if not is_open and not self.keeps_newest:
            return
        bins.strip(row, self.bare)
        self.kept_events.append(self.bare, tables.learned_at if tables.timed else tables.clock)
        if ready:
            self.cut(ready)
        elif self.keeps_newest and self.kept_events.batch.rows >= self.full:
            self.drop_needless()

    def cut(self, slots):
        """Set the cuts of some features, and count their numbers in the kept events again."""
        raise NotImplementedError

    def drop_needless(self):
        """Drop the events that will not be counted again."""
        raise NotImplementedError

    @cython.ccall
    def find(self, row: Row, at: object) -> cython.Py_ssize_t:
        """Return the index of an event to be unlearned among those kept, the newest equal one or the one learned at a
        clock; -1 if the cuts of all its numbers are final.
        """
        bins: Bins = self.bins
        for k in range(row.numbers):
            if int(row.numeric_feature[k]) in self.due:
                break
        else:
            return -1
        bins.strip(row, self.bare)
        index = self.kept_events.find(self.bare) if at is None else self.kept_events.find_at(self.bare, at)
        if index < 0:
            raise NotLearned("cannot unlearn a sample with these numbers: no such sample is held")
        return index

    @cython.ccall
    def drop(self, index: cython.Py_ssize_t):
        """Stop keeping an event, which was unlearned."""
        self.kept_events = self.kept_events.without(index)
