"""One event as rows of all stores: stores that are shown the same share one reading of it.

The first store of a group reads an event's names and values. The rows of the others have the same codes, each number
in the bins of its own store, as long as all of them have the same names: a store that had no room for a name, or was
loaded without it, reads for itself from then on.
"""

from __future__ import annotations

import cython

from stream_bayes.core.readings._members import Members
from stream_bayes.errors import BudgetExceeded
from stream_bayes.learners.adaptive.admission import Admission
from stream_bayes.learners.adaptive.experts import FEATURE_BYTES, FEATURES, LABELS, PAIRED, TRENDS

if not cython.compiled:
    from stream_bayes.core.counts._families import FamilyTables
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._bins import Bins
    from stream_bayes.core.encoding._features import Encoder
    from stream_bayes.core.encoding._rows import Row


@cython.cclass
class SharedEncoding:
    """The encoders of all stores, by what they are shown, and their readings.

    Parameters
    ----------
    stores
        What each store is shown.
    members
        The learners of the stores.
    label_names
        The names of the last labels as features.
    """

    def __init__(self, stores, members, label_names):
        self.stores = stores
        self.members = members
        self.label_names = label_names
        self.readings = Members([one._reading for one in members], [len(store.experts) for store in stores])
        self.inputs = [store.inputs for store in stores]
        self.counts = [member._store for member in members]
        self.encoders = [store.encoder for store in self.counts]
        self.labels = self.encoders[0].labels  # with the same codes in all stores
        self.tables = [store.tables for store in self.counts]
        # The first store over the first features that come; it has no budget, so it has all of these.
        self.paired = self.counts[self.inputs.index(PAIRED)]
        for store in self.counts:
            if store.memory_budget is not None:
                store.memory_budget = min(store.memory_budget, FEATURE_BYTES)
        self.admissions: list = [None] * len(self.counts)  # of the stores that had no room for all
        self.leader_of = []  # the store that reads for each, or itself
        for place in range(len(self.counts)):
            leader = next((first for first in range(place) if self.may_lead(first, place)), place)
            has_same_names = _has_same_names(self.encoders[leader], self.encoders[place])
            self.leader_of.append(leader if has_same_names else place)

    def __reduce__(self):
        return SharedEncoding, (self.stores, self.members, self.label_names)

    def may_lead(self, first, other):
        """Return True if the first store may read for another: both have bins or both have not, and see the same."""
        mine, theirs = self.encoders[first], self.encoders[other]
        inputs = self.inputs[first], self.inputs[other]
        # Naive Bayes uses all features. While these are few, the other stores use the same ones.
        alike = inputs[0] == inputs[1] or (mine.bins is None and inputs == (FEATURES, PAIRED))
        return alike and (mine.bins is None) == (theirs.bins is None)

    @property
    def shared(self):
        """The number of stores whose rows another store reads."""
        return sum(leader != place for place, leader in enumerate(self.leader_of))

    @cython.ccall
    def encode(self, views: dict, y, w) -> list:
        """Return the rows of a sample to be learned, with room for all that they name."""
        rows: list = []
        created: list = []  # True for a store that reads, and had new names
        place: cython.Py_ssize_t
        leader: cython.Py_ssize_t
        encoder: Encoder
        row: Row
        for place in range(len(self.counts)):
            leader = self.leader_of[place]
            encoder = self.encoders[place]
            x = views[self.inputs[place]]
            if self.admissions[place] is not None:
                rows.append(self.admissions[place].encode(x, y, w))
                created.append(True)
                continue
            if leader != place and x is views[self.inputs[leader]]:
                row = None if created[leader] else self.copied(rows[leader], leader, encoder)
                rows.append(self.admitted(place, x, y, w, row))
                created.append(False)
                continue
            try:
                row = encoder.encode(x, y, w)
                created.append(len(encoder.created) > 0)
                rows.append(self.admit(place, x, row))
            except BudgetExceeded:
                del created[place:]
                created.append(True)
                for follower, other in enumerate(self.leader_of):
                    if other == place:
                        self.leader_of[follower] = follower
                rows.append(self.without_room(place, x, y, w))
        return rows

    @cython.cfunc
    def admit(self, place: cython.Py_ssize_t, x, row: Row) -> Row:
        """Return the row to learn, with room for everything it names."""
        encoder: Encoder = self.encoders[place]
        tables: Tables = self.tables[place]
        families: FamilyTables = tables.families
        if len(encoder.created) == 0 and (row.whole or not tables.exact):
            if families is None or not families.brings(row):
                return row  # as the store would find
        return self.counts[place].admit(x, row)

    @cython.cfunc
    def admitted(self, place: cython.Py_ssize_t, x, y, w, row: Row) -> Row:
        """Return the row of a store that another reads for; it reads itself if there are new names."""
        try:
            if row is None:
                return self.counts[place].encode(x, y, w)
            return self.admit(place, x, row)
        except BudgetExceeded:
            self.leader_of[place] = place
            return self.without_room(place, x, y, w)

    @cython.cfunc
    def without_room(self, place: cython.Py_ssize_t, x, y, w) -> Row:
        """Return the row of a store that has no room for all of a sample; it reads for itself from now on."""
        always = self.label_names if self.inputs[place] in (LABELS, TRENDS) else ()
        self.admissions[place] = Admission(self.counts[place], always)
        return self.admissions[place].encode(x, y, w)

    @cython.ccall
    def lookup(self, views: dict) -> list:
        """Return the rows of an event to be predicted."""
        rows: list = []
        place: cython.Py_ssize_t
        leader: cython.Py_ssize_t
        encoder: Encoder
        for place in range(len(self.counts)):
            leader = self.leader_of[place]
            encoder = self.encoders[place]
            x = views[self.inputs[place]]
            if leader != place and x is views[self.inputs[leader]]:
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
        own: Row = encoder.row
        reader: Encoder = self.encoders[leader]
        present: Bins = reader.bins
        present.strip(row, own)
        if own.numbers:
            bins.resolve(own)
        else:
            own.soft = False
        return own


def _has_same_names(one, other):
    """Return True if both give the same codes to all names but those of bins."""
    return one.labels.values == other.labels.values and _names(one) == _names(other)


def _names(encoder):
    return [
        (name, feature.slot, feature.numeric, feature.measured)
        + (() if feature.measured else (feature.vocabulary.values, feature.vocabulary.closed))
        for name, feature in encoder.features.items()
    ]
