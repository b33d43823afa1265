"""One event as rows of all stores: stores that are shown the same share one reading of it.

The first store of a group reads an event's names and values. The rows of the others have the same codes, each number
in the bins of its own store, as long as all of them have the same names.
"""

from __future__ import annotations

import cython

from stream_bayes.core.readings._members import Members
from stream_bayes.errors import BudgetExceeded

if not cython.compiled:
    from stream_bayes.core.counts._families import FamilyTables
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._bins import Bins
    from stream_bayes.core.encoding._features import Encoder
    from stream_bayes.core.encoding._rows import Row


@cython.cclass
class SharedEncoding:
    """The encoders of all stores, by what they are shown, and their readings. `stores` says what each store is shown;
    `members` are the learners of the stores.

    Attributes
    ----------
    full
        The store that had no room for the newest event, after `BudgetExceeded`.
    """

    def __init__(self, stores, members):
        self.stores = stores
        self.members = members
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

    def __reduce__(self):
        return SharedEncoding, (self.stores, self.members)

    def may_lead(self, first, other):
        """Return True if the first store may read for another: both see the same, and both have bins or have not."""
        mine, theirs = self.encoders[first], self.encoders[other]
        alike = self.inputs[first] == self.inputs[other] and (mine.bins is None) == (theirs.bins is None)
        return alike and mine.wanted == theirs.wanted and _has_same_names(mine, theirs)

    @property
    def shared(self):
        """The number of stores whose rows another store reads."""
        return sum(leader != number for number, leader in enumerate(self.leader_of))

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
        row: Row
        try:
            for number in range(len(self.counts)):
                leader = self.leader_of[number]
                encoder = self.encoders[number]
                x = views[self.inputs[number]]
                if leader == number:
                    row = encoder.encode(x, y, w)
                    created.append(len(encoder.created) > 0)
                    rows.append(self.admit(number, x, row))
                elif created[leader]:
                    created.append(False)
                    rows.append(self.counts[number].encode(x, y, w))
                else:
                    created.append(False)
                    rows.append(self.admit(number, x, self.copied(rows[leader], leader, encoder)))
        except BudgetExceeded:
            self.full = len(rows)
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


@cython.ccall
def parts_of(row: Row) -> tuple:
    """Return an event's label, weight, slots and codes of names, and slots and numbers, as plain values."""
    k: cython.Py_ssize_t
    features: list = []
    codes: list = []
    slots: list = []
    numbers: list = []
    for k in range(row.entries):
        features.append(int(row.feature[k]))
        codes.append(int(row.code[k]))
    for k in range(row.numbers):
        slots.append(int(row.numeric_feature[k]))
        numbers.append(float(row.number[k]))
    return int(row.label), float(row.weight), features, codes, slots, numbers
