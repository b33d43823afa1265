"""One event as rows of all stores: stores that are shown the same share one reading of it.

The first store of a group reads an event's names and values. The rows of the others have the same codes, each number
in the bins of its own store, as long as all of them have the same names: a store that had no room for a name, or was
loaded without it, reads for itself from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.errors import BudgetExceeded
from stream_bayes.learners.adaptive.experts import FEATURES, PAIRED, Store, encode_within_budget
from stream_bayes.learners.classifier.base import BayesClassifier

__all__ = ["SharedEncoding"]

Views = Mapping[str, Mapping[Any, Any]]


class SharedEncoding:
    """The encoders of all stores, by what they are shown.

    Parameters
    ----------
    stores
        What each store is shown.
    members
        The learners of the stores.
    """

    def __init__(self, stores: Sequence[Store], members: Sequence[BayesClassifier]) -> None:
        self.stores = stores
        self.members = members
        self._inputs = [store.inputs for store in stores]
        self._counts: list[CountStore] = [member._store for member in members]
        self._leader_of: list[int] = []  # the store that reads for each, or itself
        for place, store in enumerate(self._counts):
            leader = next((first for first in range(place) if self._may_lead(first, place)), place)
            has_same_names = _has_same_names(self._counts[leader].encoder, store.encoder)
            self._leader_of.append(leader if has_same_names else place)

    def __reduce__(self) -> Any:
        return SharedEncoding, (self.stores, self.members)

    def _may_lead(self, first: int, other: int) -> bool:
        """Return True if the first store may read for another: both have bins or both have not, and see the same."""
        mine, theirs = self._counts[first].encoder, self._counts[other].encoder
        inputs = self._inputs[first], self._inputs[other]
        # Naive Bayes uses all features. While these are few, the other stores use the same ones.
        alike = inputs[0] == inputs[1] or (mine.bins is None and inputs == (FEATURES, PAIRED))
        return alike and (mine.bins is None) == (theirs.bins is None)

    @property
    def shared(self) -> int:
        """The number of stores whose rows another store reads."""
        return sum(leader != place for place, leader in enumerate(self._leader_of))

    def encode(self, views: Views, y: object, w: float) -> list[Any]:
        """Return the rows of a sample to be learned, with room for all that they name."""
        rows: list[Any] = []
        created: list[bool] = []  # the names that a store had not had, if it reads
        for place, store in enumerate(self._counts):
            leader, x = self._leader_of[place], views[self._inputs[place]]
            if leader != place and x is views[self._inputs[leader]]:
                row = None if created[leader] else self._copied(rows[leader], leader, store)
                rows.append(self._admitted(place, store, x, y, w, row))
                created.append(False)
                continue
            try:
                row = store.encoder.encode(x, y, w)
                created.append(bool(store.encoder.created))
                rows.append(store.admit(x, row))
            except BudgetExceeded:
                del created[place:]
                created.append(True)
                for follower, other in enumerate(self._leader_of):
                    if other == place:
                        self._leader_of[follower] = follower
                rows.append(encode_within_budget(store, x, y, w))
        return rows

    def _admitted(
        self, place: int, store: CountStore, x: Mapping[Any, Any], y: object, w: float, row: Any
    ) -> Any:
        """Return the row of a store that another reads for; it reads itself if there are new names."""
        try:
            return store.encode(x, y, w) if row is None else store.admit(x, row)
        except BudgetExceeded:
            self._leader_of[place] = place
            return encode_within_budget(store, x, y, w)

    def lookup(self, views: Views) -> list[Any]:
        """Return the rows of an event to be predicted."""
        rows: list[Any] = []
        for place, store in enumerate(self._counts):
            leader, x = self._leader_of[place], views[self._inputs[place]]
            if leader != place and x is views[self._inputs[leader]]:
                rows.append(self._copied(rows[leader], leader, store))
            else:
                rows.append(store.encoder.lookup(x))
        return rows

    def _copied(self, row: Any, leader: int, store: CountStore) -> Any:
        """Return a row with the bins of another store; without bins, the row itself."""
        bins = store.encoder.bins
        if bins is None:
            return row
        own = store.encoder.row
        self._counts[leader].encoder.bins.strip(row, own)
        if own.numbers:
            bins.resolve(own)
        else:
            own.soft = False
        return own


def _has_same_names(one: Encoder, other: Encoder) -> bool:
    """Return True if both give the same codes to all names but those of bins."""
    return one.labels.values == other.labels.values and _names(one) == _names(other)


def _names(encoder: Encoder) -> list[Any]:
    return [
        (name, feature.slot, feature.numeric, feature.measured)
        + (() if feature.measured else (feature.vocabulary.values, feature.vocabulary.closed))
        for name, feature in encoder.features.items()
    ]
