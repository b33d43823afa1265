"""Rows of one encoder as rows of another: an event's names are read once, for the first store, and written in the codes
of the others.

    slot, number_slot    [slot of the source]    slot of the target, or one of the marks below
    code                 [first[slot] + code]    code of the target, or one of the marks

The marks say why there is no code. A mark that may change is not kept, but asked for at each event.
"""

from __future__ import annotations

from itertools import islice

import cython
import numpy as np

from stream_bayes.core.values.values import OTHER
from stream_bayes.learners.adaptive._trends import trend_name

if not cython.compiled:
    from stream_bayes.core.encoding._features import Feature
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.learners.adaptive._trends import RecentMoments

ABSENT = cython.declare(cython.int, -5)  # the store is not shown it, or ignores it
UNASKED = cython.declare(cython.int, -2)
BY_NAME = cython.declare(cython.int, -3)  # an event with it is to be read by its names
NEW = cython.declare(cython.int, -4)  # the store does not know it, and would name it


@cython.cclass
class ShownPairs:
    """The features that are counted in pairs: these names, and up to `most` that come, unless they are declared."""

    def __init__(self, names: dict, is_declared: cython.bint, most: cython.Py_ssize_t):
        self.names = names
        self.is_declared = is_declared
        self.most = most

    @cython.cfunc
    def mark_of(self, name) -> cython.int:
        """Return why a feature is not shown; UNASKED if it is."""
        if name in self.names:
            return UNASKED
        return ABSENT if self.is_declared or len(self.names) >= self.most else NEW


@cython.cclass
class Translation:
    """The codes of a source as those of a target. `pairs` are the features that the target is shown, None: all; with
    `departs` their numbers as departures. `label_names` are its features that hold the last labels, and `values_of`
    returns a label as their value.
    """

    def __init__(self, source, target, pairs, departs: cython.bint, label_names, value_of):
        self.source = source
        self.target = target
        self.pairs = pairs
        self.departs = departs
        self.label_names = list(label_names)
        self.value_of = value_of
        self.checked = 0  # features of the target that the source is known to have
        self.lacks = False  # True if the source has not all of them
        self.slot = np.full(8, UNASKED, np.int32)
        self.number_slot = np.full(8, UNASKED, np.int32)
        self.moment = np.zeros(8, np.longlong)  # the index of a number's moments, by its slot
        self.first, self.room = np.zeros(8, np.longlong), np.zeros(8, np.longlong)
        self.code = np.zeros(0, np.int32)
        self.label_code = np.full((len(self.label_names), 2), UNASKED, np.int32)

    @cython.cfunc
    def write(
        self,
        row: Row,
        into: Row,
        is_learned: cython.bint,
        moments: RecentMoments,
        last_labels: cython.int[::1],
    ) -> cython.bint:
        """Write a row of the source as one of the target; return False if the event is to be read by its names, as it
        is where learning it gives the target a new one. `last_labels` are codes, the newest first.
        """
        slot: cython.int
        code: cython.int
        last: cython.int = -1
        last_number: cython.int = -1
        is_sorted: cython.bint = True
        if (self.lacks or len(self.target.features) != self.checked) and not self.has_all():
            return False
        into.entries = 0
        into.numbers = 0
        into.soft = False
        into.label, into.weight, into.whole = row.label, row.weight, row.whole
        into.reserve(row.entries + last_labels.shape[0], row.numbers)
        for k in range(row.entries + len(self.label_names)):
            ago = k - row.entries  # of a last label; those come after the entries
            slot = self.slot_of(row.feature[k]) if ago < 0 else self.slot_of_label(ago)
            if slot == ABSENT or (slot == NEW and not is_learned):
                continue
            if slot < 0:
                return False
            if ago < 0:
                code = self.code_of(row.feature[k], slot, row.code[k])
            else:
                code = self.code_of_label(ago, slot, last_labels[ago])
            if code == NEW and not is_learned:
                continue
            if code < 0:
                return False
            is_sorted = is_sorted and slot >= last
            last = slot
            into.feature[into.entries], into.code[into.entries] = slot, code
            into.entries += 1
        for k in range(row.numbers):
            slot = self.slot_of_number(row.numeric_feature[k], moments)
            if slot == ABSENT or (slot == NEW and not is_learned):
                continue
            if slot < 0:
                return False
            is_sorted = is_sorted and slot >= last_number
            last_number = slot
            into.numeric_feature[into.numbers] = slot
            if self.departs:
                into.number[into.numbers] = moments.departure_at(
                    self.moment[row.numeric_feature[k]], row.number[k]
                )
            else:
                into.number[into.numbers] = row.number[k]
            into.numbers += 1
        if not is_sorted:
            into.sort()
        if into.numbers and self.target.bins is not None:
            self.target.bins.resolve(into)
        return True

    @cython.cfunc
    def has_all(self) -> cython.bint:
        """Return True if the source has all features of the target but the last labels."""
        count: cython.Py_ssize_t = len(self.target.features)
        if count < self.checked:
            self.checked, self.lacks = 0, False
        if self.pairs is None and self.target.wanted is None:
            self.checked, self.lacks = (
                count,
                self.source.wanted is not None,
            )  # the target uses all that it is shown
        elif self.checked < count:
            names: set = set(self.label_names)
            for name, feature in self.source.features.items():
                names.add(trend_name(name) if self.departs and feature.measured else name)
            self.lacks = self.lacks or any(
                name not in names for name in islice(self.target.features, self.checked, None)
            )
            self.checked = count
        return not self.lacks

    # -- slots --------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def slot_of(self, slot: cython.int) -> cython.int:
        """Return the target's slot of a nominal feature."""
        if slot >= self.slot.shape[0]:
            more = max(slot + 1, 2 * self.slot.shape[0]) - self.slot.shape[0]
            self.slot = np.concatenate([self.slot, np.full(more, UNASKED, np.int32)])
            self.first = np.concatenate([self.first, np.zeros(more, np.longlong)])
            self.room = np.concatenate([self.room, np.zeros(more, np.longlong)])
        mark: cython.int = self.slot[slot]
        if mark == UNASKED:
            feature: Feature = self.source.nominal[slot]
            mark = self.ask(feature.name, feature.name, False)
            if mark != NEW:
                self.slot[slot] = mark
        return mark

    @cython.cfunc
    def slot_of_number(self, slot: cython.int, moments: RecentMoments) -> cython.int:
        """Return the target's slot of a numeric feature."""
        if slot >= self.number_slot.shape[0]:
            more = max(slot + 1, 2 * self.number_slot.shape[0]) - self.number_slot.shape[0]
            self.number_slot = np.concatenate([self.number_slot, np.full(more, UNASKED, np.int32)])
            self.moment = np.concatenate([self.moment, np.zeros(more, np.longlong)])
        mark: cython.int = self.number_slot[slot]
        if mark == UNASKED:
            feature: Feature = self.source.numeric[slot]
            mark = self.ask(feature.name, trend_name(feature.name) if self.departs else feature.name, True)
            if mark != NEW:
                self.number_slot[slot] = mark
                if self.departs:
                    self.moment[slot] = moments.index_of(feature.name)
        return mark

    @cython.cfunc
    def ask(self, name, shown_name, is_measured: cython.bint) -> cython.int:
        """Return the target's slot of a feature, shown under a name of its own, or why it has none."""
        mark: cython.int = (
            UNASKED if self.pairs is None else cython.cast(ShownPairs, self.pairs).mark_of(name)
        )
        if mark != UNASKED:
            return mark
        if shown_name in self.label_names:
            return BY_NAME  # the last label stands in its place
        feature: Feature = self.target.features.get(shown_name)
        if feature is None:
            return NEW if self.target.is_accepted(shown_name) else ABSENT
        return feature.slot if feature.measured == is_measured else BY_NAME

    @cython.cfunc
    def slot_of_label(self, ago: cython.Py_ssize_t) -> cython.int:
        """Return the target's slot of a last label."""
        name = self.label_names[ago]
        feature: Feature = self.target.features.get(name)
        if feature is None:
            return NEW if self.target.is_accepted(name) else ABSENT
        return feature.slot

    # -- codes --------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def code_of(self, slot: cython.int, target_slot: cython.int, code: cython.int) -> cython.int:
        """Return the target's code of a value."""
        if code >= self.room[slot]:
            room: cython.Py_ssize_t = max(4, 2 * (code + 1))
            end: cython.Py_ssize_t = self.code.shape[0]
            moved = np.full(room, UNASKED, np.int32)
            before = np.asarray(self.code)[self.first[slot] : self.first[slot] + self.room[slot]]
            moved[: len(before)] = before
            self.code = np.concatenate([self.code, moved])
            self.first[slot], self.room[slot] = end, room
        mark: cython.int = self.code[self.first[slot] + code]
        if mark == UNASKED:
            feature: Feature = self.source.nominal[slot]
            value = feature.vocabulary.values[code]
            if value is OTHER:  # which one is not known
                mark = BY_NAME
            else:
                mark = cython.cast(Feature, self.target.nominal[target_slot]).vocabulary.lookup(value)
            if mark < 0 and mark != BY_NAME:
                return NEW
            self.code[self.first[slot] + code] = mark
        return mark

    @cython.cfunc
    def code_of_label(self, ago: cython.Py_ssize_t, target_slot: cython.int, label: cython.int) -> cython.int:
        """Return the target's code of a last label."""
        if label < 0:
            return BY_NAME
        if label >= self.label_code.shape[1]:
            more = np.full((len(self.label_names), label + 1), UNASKED, np.int32)
            self.label_code = np.concatenate([self.label_code, more], axis=1)
        mark: cython.int = self.label_code[ago, label]
        if mark == UNASKED:
            value = self.value_of(self.source.labels.values[label])
            mark = cython.cast(Feature, self.target.nominal[target_slot]).vocabulary.lookup(value)
            if mark < 0:
                return NEW
            self.label_code[ago, label] = mark
        return mark
