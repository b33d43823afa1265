"""The online discretizer: cut points for numeric features, set from the events seen so far.

Until a feature has its cut points its numbers wait: the class and the other features of their events are counted at
once. When the cuts are set, the waiting events are counted anew, with the bins their numbers fall into. That is done
again at twice, four times, ... as many events, for as long as all of them are still kept; so the counts are always
those of every event, as if the present cuts had been known from the beginning, and whatever was learned can be
unlearned. Afterwards the cuts stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._encoding import Encoder
from stream_bayes.core._rows import Row
from stream_bayes.core._tables import Tables
from stream_bayes.core.cutting import METHODS, bin_names, outer_edges
from stream_bayes.errors import BadState, CannotMerge, NotLearned

__all__ = ["MOST_BINS", "Discretizer"]

Numbers = NDArray[np.float64]

MOST_BINS = 20


class Kept(NamedTuple):
    """An event that is kept to be counted again: its entries without those of binned features, and its numbers."""

    label: int
    weight: float
    clock: int
    features: tuple[int, ...]
    codes: tuple[int, ...]
    slots: tuple[int, ...]
    numbers: tuple[float, ...]


class Discretizer:
    """Sets the cut points of a store's numeric features.

    Parameters
    ----------
    tables, encoder
        The store's; the encoder's `bins` hold the cuts.
    method
        `"quantile"`, `"equal-width"` or `"mdl"`.
    bins
        The number of bins; None: 1.5 times the cube root of the events, at least 5 and at most 20.
    after
        After so many events with numbers the cuts are set first.
    window
        Cuts are set again at twice as many events, and so on, up to so many; events are kept until then.
    declared
        The cuts of features whose cuts are given, by name.
    """

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        method: str,
        bins: int | None,
        after: int,
        window: int,
        declared: Mapping[Any, Sequence[float]],
    ) -> None:
        self.tables = tables
        self.encoder = encoder
        self.bins: Any = tables.bins  # a store that makes a discretizer has Bins
        self.method = method
        self.wanted = bins
        self.after = after
        self.window = window
        self.kept: list[Kept] = []
        self.declared = declared
        self.fixed = {encoder.features[name].slot for name in declared}
        self.learned = 0
        self.next = after
        self._row = Row()

    def begin(self) -> None:
        """Set the cuts that were declared; where no other feature can have numbers, that is all."""
        for name, cuts in self.declared.items():
            self.set_cuts(self.encoder.features[name].slot, cuts, None)
        self.tables.values.recount()
        open_to = [
            feature for feature in self.encoder.nominal if feature.measured and feature.slot not in self.fixed
        ]
        if self.encoder.declared and not open_to:
            self.close()

    @property
    def is_open(self) -> bool:
        """Whether cuts may still be set."""
        return self.tables.discretizer is self

    def keep(self, row: Any) -> None:
        """Take note of an event that was just learned; it may be the one after which cuts are set."""
        self.kept.append(self._kept(row, int(self.tables.clock)))
        self.learned += 1
        if self.learned >= self.next:
            self.cut()

    def _kept(self, row: Any, clock: int) -> Kept:
        bare = self._row
        self.bins.strip(row, bare)
        n, m = bare.entries, bare.numbers
        return Kept(
            int(bare.label),
            float(bare.weight),
            clock,
            tuple(np.asarray(bare.feature)[:n].tolist()),
            tuple(np.asarray(bare.code)[:n].tolist()),
            tuple(np.asarray(bare.numeric_feature)[:m].tolist()),
            tuple(np.asarray(bare.number)[:m].tolist()),
        )

    def find(self, row: Any, at: int | None) -> int:
        """The place of an event to be unlearned among those kept: the newest of equal ones, or the one of a time."""
        sought = self._kept(row, -1)
        for place in range(len(self.kept) - 1, -1, -1):
            kept = self.kept[place]
            if kept[:2] == sought[:2] and kept[3:] == sought[3:] and at in (None, kept.clock):
                return place
        raise NotLearned("cannot unlearn a sample with these numbers: no such sample is held")

    def cut(self) -> None:
        """Set the cuts of every feature that has numbers, and count all events kept anew."""
        rows = [self._numbers_of(kept) for kept in self.kept]
        labels = np.array([kept.label for kept in self.kept], np.int32)
        weights = np.array([kept.weight for kept in self.kept])
        tables = self.tables
        slots = sorted({slot for row in rows for slot in row} - self.fixed)
        chosen = np.zeros(tables.values.layout.features, np.uint8)
        chosen[slots] = True
        tables.clear(chosen.astype(bool))
        for slot in slots:
            having = np.array([slot in row for row in rows])
            values = np.array([row[slot] for row in rows if slot in row])
            self.set_cuts(slot, *self._cuts(values, weights[having], labels[having]))
        for kept in self.kept:
            tables.put_chosen(self._resolved(kept), tables.unit_at(kept.clock), chosen)
        tables.mend()
        self.next *= 2
        if self.next > self.window:
            self.close()

    @staticmethod
    def _numbers_of(kept: Kept) -> dict[int, float]:
        return dict(zip(kept.slots, kept.numbers, strict=True))

    def _cuts(
        self, values: Numbers, weights: Numbers, labels: NDArray[np.int32]
    ) -> tuple[list[float], tuple[float, float] | None]:
        """A feature's cuts, and where its end bins end."""
        wanted = self.wanted
        if wanted is None:
            wanted = min(max(round(1.5 * self.learned ** (1.0 / 3.0)), 5), MOST_BINS)
        cuts = METHODS[self.method](values, weights, labels, wanted)
        if len(cuts) + 1 >= len(np.unique(values)):
            return cuts, None  # a bin for each value: there is nothing between them
        return cuts, outer_edges(values, cuts)

    def set_cuts(self, slot: int, cuts: Sequence[float], edges: tuple[float, float] | None) -> None:
        """Give a feature its cuts. Nothing may be counted of it at that time."""
        vocabulary = self.encoder.nominal[slot].vocabulary
        vocabulary.restore(bin_names(cuts))
        vocabulary.declared = len(cuts) + 1
        self.bins.set(slot, cuts, edges)
        layout = self.tables.values.layout
        layout.used[slot] = layout.declared[slot] = len(cuts) + 1

    def close(self) -> None:
        """Keep the cuts as they are from now on."""
        self.kept.clear()
        self.tables.discretizer = None

    def _resolved(self, kept: Kept) -> Row:
        """An event kept as a row, its numbers in the bins as these are now."""
        row = self._row
        n, m = len(kept.features), len(kept.slots)
        row.reserve(n + m, m)
        row.feature[:n], row.code[:n] = np.array(kept.features, np.int32), np.array(kept.codes, np.int32)
        row.numeric_feature[:m] = np.array(kept.slots, np.int32)
        row.number[:m] = np.array(kept.numbers)
        row.entries, row.numbers = n, m
        row.label, row.weight = kept.label, kept.weight
        row.whole = kept.weight == math.floor(kept.weight)
        self.bins.resolve(row)
        return row

    def check_merge(self, other: Discretizer) -> None:
        """Refuse to merge with other cuts."""
        for feature in self.encoder.nominal:
            theirs = other.encoder.features.get(feature.name)
            if not feature.measured or theirs is None or not theirs.measured:
                continue
            cuts = self.bins.cuts.get(feature.slot), other.bins.cuts.get(theirs.slot)
            if cuts[0] != cuts[1] and self.learned and other.learned:
                shown = ["none yet" if known is None else list(known) for known in cuts]
                raise CannotMerge(
                    f"feature {feature.name!r} has the cut points {shown[0]} in one learner and {shown[1]} in the "
                    "other; declare them in a schema, Numeric(cuts=[...]), so that learners can be merged"
                )

    def adopt(self, other: Discretizer) -> None:
        """Take over the other's cuts for features that have none here."""
        for slot, cuts in other.bins.cuts.items():
            own = self.encoder.features[other.encoder.nominal[slot].name].slot
            if own not in self.bins.cuts:
                self.set_cuts(own, cuts, other.bins.edges[slot])
        self.tables.values.recount()

    def join(self, other: Discretizer, still_open: bool) -> None:
        """Keep what the other keeps, too, under the codes here; cuts may be due now."""
        self.kept += [self._translated(kept, other.encoder) for kept in other.kept]
        self.learned += other.learned
        self.next = max(self.next, other.next)
        if not still_open:
            self.close()
        while self.is_open and self.learned >= self.next:
            self.cut()

    def _translated(self, kept: Kept, theirs: Encoder) -> Kept:
        features = [theirs.nominal[slot] for slot in kept.features]
        own = [self.encoder.features[feature.name] for feature in features]
        codes = [
            mine.vocabulary.find(feature.vocabulary.values[code])
            for mine, feature, code in zip(own, features, kept.codes, strict=True)
        ]
        entries = sorted((mine.slot, code) for mine, code in zip(own, codes, strict=True))
        numbers = sorted(
            (self.encoder.features[theirs.nominal[slot].name].slot, number)
            for slot, number in zip(kept.slots, kept.numbers, strict=True)
        )
        return Kept(
            self.encoder.labels.find(theirs.labels.values[kept.label]),
            kept.weight,
            kept.clock,
            tuple(slot for slot, _ in entries),
            tuple(code for _, code in entries),
            tuple(slot for slot, _ in numbers),
            tuple(number for _, number in numbers),
        )

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The cuts, and the events kept, as JSON values."""
        cuts = [[slot, list(self.bins.cuts[slot]), self.bins.edges[slot]] for slot in sorted(self.bins.cuts)]
        return {
            "learned": self.learned,
            "next": self.next,
            "open": self.is_open,
            "cuts": [[slot, known, None if edges is None else list(edges)] for slot, known, edges in cuts],
            "kept": [
                [kept.label, kept.weight, kept.clock, list(kept.features), list(kept.codes), list(kept.slots),
                 list(kept.numbers)]
                for kept in self.kept
            ],
        }  # fmt: skip

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over a state, once the names are known and before the tables are made; what does not fit is refused."""
        measured = {feature.slot for feature in self.encoder.nominal if feature.measured}
        for slot, cuts, edges in saved["cuts"]:
            _expect(slot in measured and _ascend(cuts) and len(cuts) < self.bins.most, "its cuts are none")
            _expect(edges is None or (_finite(edges) and len(edges) == 2), "the edges of its bins are none")
            vocabulary = self.encoder.nominal[slot].vocabulary
            _expect(vocabulary.values == bin_names(cuts), "its bins are not those of its cuts")
            _expect(
                slot not in self.fixed or self.bins.cuts[slot] == tuple(cuts), "its cuts are not the declared"
            )
            vocabulary.declared = len(cuts) + 1
            self.bins.set(slot, [float(cut) for cut in cuts], None if edges is None else tuple(edges))
        for slot in measured - set(self.bins.cuts):
            _expect(not self.encoder.nominal[slot].vocabulary.values, "a feature without cuts has bins")
        for name in ("learned", "next"):
            _expect(type(saved[name]) is int and 0 <= saved[name] < 2**62, f"{name} is no count")
        self.learned, self.next = saved["learned"], saved["next"]
        self.kept = [self._checked(*record) for record in saved["kept"]]
        _expect(
            saved["open"] is True or (saved["open"] is False and not self.kept),
            "it keeps what it does not need",
        )
        if not saved["open"]:
            self.close()

    def _checked(
        self, label: Any, weight: Any, clock: Any, features: Any, codes: Any, slots: Any, numbers: Any
    ) -> Kept:
        nominal = self.encoder.nominal
        _expect(type(label) is int and 0 <= label < len(self.encoder.labels), "an event kept has no label")
        _expect(type(weight) in (int, float) and 0 < weight <= 2.0**53, "an event kept has no weight")
        _expect(type(clock) is int and 0 <= clock <= 2**62, "an event kept has no time")
        _expect(len(features) == len(codes) and len(slots) == len(numbers), "an event kept is cut short")
        for slot, code in zip(features, codes, strict=True):
            _expect(type(slot) is int and 0 <= slot < len(nominal), "an event kept has an unknown feature")
            _expect(not nominal[slot].measured, "an event kept has a bin in place of a number")
            _expect(
                type(code) is int and 0 <= code < len(nominal[slot].vocabulary), "an event kept has no value"
            )
        for slot in slots:
            _expect(type(slot) is int and 0 <= slot < len(nominal), "an event kept has an unknown feature")
            _expect(nominal[slot].measured, "an event kept has a number for a nominal feature")
        _expect(_rise(features) and _rise(slots) and _finite(numbers), "an event kept is out of order")
        numbers = tuple(float(number) for number in numbers)
        return Kept(label, float(weight), clock, tuple(features), tuple(codes), tuple(slots), numbers)


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise BadState(f"the state does not fit: {message}")


def _finite(numbers: Any) -> bool:
    return all(type(number) in (int, float) and math.isfinite(number) for number in numbers)


def _rise(numbers: Any) -> bool:
    return all(low < high for low, high in pairwise(numbers))


def _ascend(cuts: Any) -> bool:
    return _finite(cuts) and _rise(cuts)
