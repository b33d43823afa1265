"""The newest events of the default learner, from which a store that begins anew is filled.

names      feature, code    [names]      a ring: those of the oldest event begin at `first_name`
numbers    slot, number     [numbers]    another, from `first_number` on
events     label, weight, names_of, numbers_of    [events]    a third, from `first` on
"""

from __future__ import annotations

import cython
import numpy as np

from stream_bayes.core.values.values import OTHER

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row

MOST_EVENTS = 1_000
MOST_ENTRIES = 50_000  # names and numbers of all events: some 600 KB


@cython.cclass
class NewestEvents:
    """The newest samples, as codes of an encoder: label, weight, and the slots and codes of names and numbers."""

    def __init__(self):
        self.clear()

    def __len__(self):
        return self.count

    def __reduce__(self):
        return _loaded, (self.events,)

    def clear(self):
        """Drop all events."""
        self.first = self.count = 0
        self.first_name = self.names = 0
        self.first_number = self.numbers = 0
        self.label, self.weight = np.zeros(MOST_EVENTS, np.int32), np.zeros(MOST_EVENTS)
        self.names_of, self.numbers_of = np.zeros(MOST_EVENTS, np.int32), np.zeros(MOST_EVENTS, np.int32)
        self.feature, self.code = np.zeros(64, np.int32), np.zeros(64, np.int32)
        self.slot, self.number = np.zeros(64, np.int32), np.zeros(64)

    def load(self, events):
        """Replace all by what `events` returned."""
        row = Row()
        self.clear()
        for label, weight, features, codes, slots, numbers in events:
            row.reserve(len(features), len(slots))
            row.label, row.weight, row.entries, row.numbers = label, weight, len(features), len(slots)
            for k in range(row.entries):
                row.feature[k], row.code[k] = features[k], codes[k]
            for k in range(row.numbers):
                row.numeric_feature[k], row.number[k] = slots[k], numbers[k]
            self.add(row)

    @property
    def events(self):
        """A tuple for each event, the oldest first: label, weight, slots and codes of names, slots and numbers."""
        names = np.arange(self.first_name, self.first_name + self.names) % len(self.feature)
        numbers = np.arange(self.first_number, self.first_number + self.numbers) % len(self.slot)
        rings = [(self.feature, names), (self.code, names), (self.slot, numbers), (self.number, numbers)]
        features, codes, slots, values = (np.asarray(ring)[order].tolist() for ring, order in rings)
        events: list = []
        n: cython.Py_ssize_t = 0
        m: cython.Py_ssize_t = 0
        for k in range(self.count):
            at = (self.first + k) % MOST_EVENTS
            n_end, m_end = n + self.names_of[at], m + self.numbers_of[at]
            parts = (features[n:n_end], codes[n:n_end], slots[m:m_end], values[m:m_end])
            events.append((int(self.label[at]), float(self.weight[at]), *parts))
            n, m = n_end, m_end
        return events

    @cython.ccall
    def add(self, row: Row):
        """Keep a sample that was just learned, and drop the oldest that have no room."""
        entries: cython.Py_ssize_t = row.entries + row.numbers
        while self.count == MOST_EVENTS or (
            self.count and self.names + self.numbers + entries > MOST_ENTRIES
        ):
            self.drop_oldest()
        self.reserve(row.entries, row.numbers)
        last: cython.Py_ssize_t = self.feature.shape[0] - 1
        for k in range(row.entries):
            at = (self.first_name + self.names + k) & last
            self.feature[at], self.code[at] = row.feature[k], row.code[k]
        last = self.slot.shape[0] - 1
        for k in range(row.numbers):
            at = (self.first_number + self.numbers + k) & last
            self.slot[at], self.number[at] = row.numeric_feature[k], row.number[k]
        at = (self.first + self.count) % MOST_EVENTS
        self.label[at], self.weight[at] = row.label, row.weight
        self.names_of[at], self.numbers_of[at] = row.entries, row.numbers
        self.names += row.entries
        self.numbers += row.numbers
        self.count += 1

    @cython.cfunc
    def drop_oldest(self):
        names: cython.Py_ssize_t = self.names_of[self.first]
        numbers: cython.Py_ssize_t = self.numbers_of[self.first]
        self.first_name = (self.first_name + names) % self.feature.shape[0]
        self.first_number = (self.first_number + numbers) % self.slot.shape[0]
        self.names -= names
        self.numbers -= numbers
        self.first = (self.first + 1) % MOST_EVENTS
        self.count -= 1

    @cython.cfunc
    def reserve(self, names: cython.Py_ssize_t, numbers: cython.Py_ssize_t):
        """Make room for more names and numbers; the size of a ring is a power of 2."""
        if self.names + names > self.feature.shape[0]:
            order = (self.first_name + np.arange(self.names)) % self.feature.shape[0]
            room = _power(self.names + names)
            self.feature = np.concatenate(
                [np.asarray(self.feature)[order], np.zeros(room - self.names, np.int32)]
            )
            self.code = np.concatenate([np.asarray(self.code)[order], np.zeros(room - self.names, np.int32)])
            self.first_name = 0
        if self.numbers + numbers > self.slot.shape[0]:
            order = (self.first_number + np.arange(self.numbers)) % self.slot.shape[0]
            room = _power(self.numbers + numbers)
            self.slot = np.concatenate(
                [np.asarray(self.slot)[order], np.zeros(room - self.numbers, np.int32)]
            )
            self.number = np.concatenate([np.asarray(self.number)[order], np.zeros(room - self.numbers)])
            self.first_number = 0

    def samples(self, encoder, most=MOST_EVENTS, names=None):
        """Yield the newest events by name, with label and weight, the oldest first; values that share a code are
        missing, and so are features that are not among these names.
        """
        nominal = {
            slot: feature
            for slot, feature in enumerate(encoder.nominal)
            if names is None or feature.name in names
        }
        numeric = {
            slot: feature.name
            for slot, feature in enumerate(encoder.numeric)
            if names is None or feature.name in names
        }
        events = self.events
        for label, weight, features, codes, slots, numbers in events[max(len(events) - most, 0) :]:
            x: dict = {}
            for slot, code in zip(features, codes, strict=True):
                if slot in nominal:
                    value = nominal[slot].vocabulary.values[code]
                    if value is not OTHER:
                        x[nominal[slot].name] = value
            for slot, number in zip(slots, numbers, strict=True):
                if slot in numeric:
                    x[numeric[slot]] = number
            yield x, encoder.labels.values[label], weight


def _power(least):
    """Return the least power of 2 that is not below a number."""
    return 1 << (int(least) - 1).bit_length()


def _loaded(events):
    made = NewestEvents()
    made.load(events)
    return made
