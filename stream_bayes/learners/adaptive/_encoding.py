"""One event as rows of all stores: its names and values are read once, by the first store.

Of stores that are shown the same under the same codes the first leads: its row is made from that of the first store
(`_translation`), and the others copy it, each number in the bins of its own. An event that is new to a store, or holds
its last labels itself, is read by names, by the leader of each group.
"""

from __future__ import annotations

import cython
import numpy as np

from stream_bayes.core.readings._members import Members
from stream_bayes.learners.adaptive._translation import Translation
from stream_bayes.learners.adaptive.expert_inputs import value_of
from stream_bayes.learners.adaptive.experts import DEPARTURES, FEATURES, LABELS, TRENDS

if not cython.compiled:
    from stream_bayes.core.counts._families import FamilyTables
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._bins import Bins
    from stream_bayes.core.encoding._features import Encoder, Feature, RowEncoder
    from stream_bayes.core.encoding._rows import Row

UNASKED = cython.declare(cython.int, -2)  # of `_translation`


@cython.cclass
class SharedEncoding:
    """The encoders of all stores, by what they are shown, and their readings. `stores` says what each store is shown;
    `members` are the learners of the stores. `memory` has the last labels, `moments` those of the numbers, and `pairs`
    are the features counted in pairs. Events are read by names alone if `by_name` is True.

    Attributes
    ----------
    full
        The store that had no room for the newest event, after `BudgetExceeded`.
    """

    def __init__(self, stores, members, memory, moments, pairs, by_name: cython.bint):
        self.stores = stores
        self.members = members
        self.memory = memory
        self.moments = moments
        self.pairs = pairs
        self.by_name = by_name
        self.full = -1
        self.readings = Members([one.reading for one in members], [len(store.experts) for store in stores])
        self.inputs = [store.inputs for store in stores]
        self.counts = [member.store for member in members]
        self.encoders = [store.encoder for store in self.counts]
        self.labels = self.encoders[0].labels  # with the same codes in all stores
        self.tables = [store.tables for store in self.counts]
        self.leader_of = []  # the store that reads for each, or itself
        for number in range(len(self.counts)):
            leader = next((first for first in range(number) if self.may_lead(first, number)), number)
            self.leader_of.append(leader)
        self.translations = [
            self.translation(number) if number and number == leader else None
            for number, leader in enumerate(self.leader_of)
        ]
        self.last_labels = np.full(memory.size, -1, np.int32)
        self.checked_pairs = -1
        self.lacks_pairs = False  # True if the first store does not use all features of pairs
        self.moment_of = np.full(8, UNASKED, np.int32)

    def __reduce__(self):
        return SharedEncoding, (
            self.stores,
            self.members,
            self.memory,
            self.moments,
            self.pairs,
            self.by_name,
        )

    def translation(self, number):
        """Return the translation from the first store to another."""
        inputs = self.inputs[number]
        return Translation(
            self.encoders[0],
            self.encoders[number],
            None if inputs == FEATURES else self.pairs,
            inputs in (TRENDS, DEPARTURES),
            self.memory.names if inputs in (LABELS, TRENDS) else (),
            value_of,
        )

    def may_lead(self, first, other):
        """Return True if the first store may read for another: both see the same, and both have bins or have not."""
        mine, theirs = self.encoders[first], self.encoders[other]
        alike = self.inputs[first] == self.inputs[other] and (mine.bins is None) == (theirs.bins is None)
        return alike and mine.wanted == theirs.wanted and _has_same_names(mine, theirs)

    @property
    def shared(self):
        """The number of stores whose rows another store reads."""
        return sum(leader != number for number, leader in enumerate(self.leader_of))

    @cython.cfunc
    def read_once(self, row: Row, is_learned: cython.bint) -> list:
        """Return the rows of an event that the first store has read; None if it is to be read by names."""
        number: cython.Py_ssize_t
        leader: cython.Py_ssize_t
        encoder: Encoder
        rows: list = [row]
        ago: cython.Py_ssize_t = 0
        for label in self.memory.labels:
            self.last_labels[ago] = self.labels.find(label)
            ago += 1
        for number in range(1, len(self.counts)):
            leader = self.leader_of[number]
            encoder = self.encoders[number]
            if row.label >= len(encoder.labels.values):
                return None  # of an event that another store refused
            if leader != number:
                rows.append(self.copied(rows[leader], leader, encoder))
                continue
            translation: Translation = self.translations[number]
            if not translation.write(row, encoder.row, is_learned, self.moments, self.last_labels):
                return None
            rows.append(encoder.row)
        return rows

    @cython.cfunc
    def is_named(self, x) -> cython.bint:
        """Return True for an event that is to be read by names whatever is known: it holds last labels, or may have
        features of pairs that the first store does not use.
        """
        if self.by_name or type(x) is not dict or self.memory.mark in x:
            return True
        if len(self.pairs.names) != self.checked_pairs:
            lead: RowEncoder = self.encoders[0]
            self.checked_pairs = len(self.pairs.names)
            self.lacks_pairs = lead.wanted is not None and any(
                name not in lead.wanted for name in self.pairs.names
            )
        return self.lacks_pairs

    @cython.ccall
    def encode_once(self, x, y, w) -> list:
        """Return the rows of a sample to be learned, as `encode` does; None if it is to be read by names."""
        number: cython.Py_ssize_t
        if self.is_named(x):
            return None
        lead: Encoder = self.encoders[0]
        row: Row = lead.encode(x, y, w)
        if len(lead.created) or row.weight == 0.0:
            lead.rollback()  # until all stores have read it
            return None
        rows: list = self.read_once(row, True)
        if rows is not None:
            for number in range(len(self.counts)):
                self.full = number  # if it has no room
                rows[number] = self.admit(number, x, rows[number])
        return rows

    @cython.ccall
    def lookup_once(self, x) -> list:
        """Return the rows of an event to be predicted, as `lookup` does; None if it is to be read by names."""
        if self.is_named(x):
            return None
        lead: Encoder = self.encoders[0]
        row: Row = lead.lookup(x)
        if row.unseen:  # values that are new to the first store may share a code in another
            return None
        return self.read_once(row, False)

    @cython.ccall
    def add_numbers(self):
        """Add the numbers of an event that was read once to the moments, if their features are counted in pairs."""
        lead: Encoder = self.encoders[0]
        row: Row = lead.row
        for k in range(row.numbers):
            slot = row.numeric_feature[k]
            if slot >= self.moment_of.shape[0]:
                more = max(slot + 1, 2 * self.moment_of.shape[0]) - self.moment_of.shape[0]
                self.moment_of = np.concatenate([self.moment_of, np.full(more, UNASKED, np.int32)])
            if self.moment_of[slot] == UNASKED:
                name = cython.cast(Feature, lead.numeric[slot]).name
                mark = self.pairs.mark_of(name)
                self.moment_of[slot] = self.moments.index_of(name) if mark == UNASKED else mark
            if self.moment_of[slot] >= 0:
                self.moments.add_at(self.moment_of[slot], row.number[k])

    @cython.ccall
    def encode(self, views: dict, y, w) -> list:
        """Return the rows of a sample to be learned, with room for all that they name.

        Raises
        ------
        BudgetExceeded
            If a store has no room for it, `full`; nothing is learned.
        """
        rows: list = []
        created: list = []  # True for a store that reads, and had new names
        number: cython.Py_ssize_t
        leader: cython.Py_ssize_t
        encoder: Encoder
        try:
            for number in range(len(self.counts)):  # all read it first, as one may refuse it
                encoder = self.encoders[number]
                if self.leader_of[number] == number:
                    encoder.encode(views[self.inputs[number]], y, w)
                created.append(len(encoder.created) > 0)
            for number in range(len(self.counts)):
                leader = self.leader_of[number]
                encoder = self.encoders[number]
                x = views[self.inputs[number]]
                self.full = number  # if it has no room
                if leader == number:
                    rows.append(self.admit(number, x, encoder.row))
                elif created[leader]:
                    rows.append(self.counts[number].encode(x, y, w))
                else:
                    rows.append(self.admit(number, x, self.copied(rows[leader], leader, encoder)))
        except BaseException:
            for encoder in self.encoders:
                encoder.rollback()
            raise
        return rows

    @cython.cfunc
    def admit(self, number: cython.Py_ssize_t, x, row: Row) -> Row:
        """Return the row to learn, with room for everything it names."""
        encoder: Encoder = self.encoders[number]
        tables: Tables = self.tables[number]
        families: FamilyTables = tables.families
        if len(encoder.created) == 0 and (row.whole or not tables.exact):
            if families is None or not families.brings(row):
                return row  # as the store would find
        return self.counts[number].admit(x, row)

    @cython.ccall
    def lookup(self, views: dict) -> list:
        """Return the rows of an event to be predicted."""
        rows: list = []
        number: cython.Py_ssize_t
        leader: cython.Py_ssize_t
        encoder: Encoder
        for number in range(len(self.counts)):
            leader = self.leader_of[number]
            encoder = self.encoders[number]
            x = views[self.inputs[number]]
            if leader != number:
                rows.append(self.copied(rows[leader], leader, encoder))
            else:
                rows.append(encoder.lookup(x))
        return rows

    @cython.cfunc
    def copied(self, row: Row, leader: cython.Py_ssize_t, encoder: Encoder) -> Row:
        """Return a row with the bins of another store; without bins, the row itself."""
        bins: Bins = encoder.bins
        if bins is None:
            return row
        copy: Row = encoder.row
        reader: Encoder = self.encoders[leader]
        present: Bins = reader.bins
        present.strip(row, copy)
        if copy.numbers:
            bins.resolve(copy)
        else:
            copy.soft = False
        return copy


def _has_same_names(one, other):
    """Return True if both give the same codes to all names but those of bins, and will to new ones."""
    return (
        one.labels.values == other.labels.values
        and one.max_values == other.max_values
        and _names(one) == _names(other)
    )


def _names(encoder):
    return [
        (name, feature.slot, feature.numeric, feature.measured)
        + (
            ()
            if feature.measured
            else (feature.vocabulary.values, feature.vocabulary.closed, feature.vocabulary.limit)
        )
        for name, feature in encoder.features.items()
    ]
