"""The online discretizer: cut points for numeric features, set from the events seen so far.

Until a feature has its cut points its numbers wait: the class and the other features of their events are counted at
once. When the cuts are set, the waiting numbers are counted, each in the bin it falls into. That is done again at
twice, four times, ... as many numbers, for as long as the events that hold them are still kept; so the counts are
always those of every event, as if the present cuts had been known from the beginning, and whatever was learned can be
unlearned. Afterwards the cuts stay. Each feature has a schedule of its own, from its first number on, whenever in the
stream that comes.

Where cuts move, a feature whose numbers have left them (`_bins`) is begun anew: what was counted of it is forgotten,
and its cuts are set from the numbers since, on the same schedule. So neither unlearning nor merging is exact there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._kept_events import KeptEvents, OpenCuts
from stream_bayes.core.counts._quantiles import distinct_values
from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.cut_points import METHODS, bin_names, outer_edges
from stream_bayes.core.encoding._features import Encoder, Feature
from stream_bayes.core.values.checks import expect
from stream_bayes.errors import CannotMerge

__all__ = ["MOST_BINS", "Discretizer"]

Floats = NDArray[np.float64]
CutsAndRange: TypeAlias = tuple[
    Sequence[float], tuple[float, float] | None
]  # cut points, outer edges of the end bins

MOST_BINS = 20
MOST_BEFORE = 0.7  # of a feature's numbers in two bins: where more are, that is how they come
NEWEST = 500  # events kept where cuts move: more than it takes to see that numbers have left them


class Discretizer(OpenCuts):
    """Sets the cut points of a store's numeric features.

    The encoder's `bins` hold the cuts. `method` is `"quantile"`, `"equal-width"` or `"mdl"`. `bins` is their number;
    None: 1.5 times the cube root of the numbers, at least 5 and at most 20. Cuts are first set after `after` numbers of
    a feature, then again at twice as many, and so on, up to `window`; events are kept until then. `declared` are cuts
    that are given, by name of the feature. `moving` is True if the cuts of a feature whose numbers leave them are set
    anew.
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
        moving: bool = False,
    ) -> None:
        super().__init__(tables, tables.bins)  # a store that makes a discretizer has Bins
        self.encoder = encoder
        self.method = method
        self.wanted = bins
        self.after = after
        self.window = window
        self.declared = declared
        self.fixed = {encoder.features[name].slot for name in declared}
        self.keeps_newest = moving
        self.is_held = False  # no more cuts are set
        self.slides = False  # exactly the events of a window are held
        self._opened = 0  # features of the encoder whose cuts were opened

    def begin(self) -> None:
        """Set the cuts that were declared, and open those of the other features."""
        self.set_cuts(
            {self.encoder.features[name].slot: (cuts, None) for name, cuts in self.declared.items()}
        )
        self.tables.values.recount()
        self.open_new_features()

    def open_new_features(self) -> None:
        """Open the cuts of features that are new to the encoder."""
        for feature in self.new_features():
            if feature.slot not in self.bins.cuts:
                self.learned[feature.slot], self.due[feature.slot] = 0, self.after
        self._opened = len(self.encoder.nominal)
        self._observe_while_open()

    def new_features(self) -> list[Feature]:
        """Return the features with numbers that are new to the encoder."""
        return [feature for feature in self.encoder.nominal[self._opened :] if feature.measured]

    def _observe_while_open(self) -> None:
        """Observe the tables as long as there are cuts to be set."""
        self.tables.observer = self if (self.due or self.keeps_newest) and not self.is_held else None

    def hold(self) -> None:
        """Set no more cuts."""
        self.is_held = True
        self._observe_while_open()

    def has_left(self, slot: int) -> bool:
        """Return True if a feature whose newest numbers are nearly all in two bins had more in others before.

        Not if its cuts were declared. Cuts that will be set again may be left, too: thousands of events later.
        """
        if slot in self.fixed:
            return False
        values, layout = self.tables.values, self.tables.values.layout
        last, weight = len(self.bins.cuts[slot]), np.asarray(values.weight)
        first = [(layout.start[slot] + code) * layout.classes for code in range(last + 1)]
        bins = [float(weight[start : start + layout.classes].sum()) for start in first]
        crowd = {self.bins.crowded[slot], self.bins.beside[slot]} - {-1}
        return bool(sum(bins[code] for code in crowd) <= MOST_BEFORE * sum(bins))

    def begin_anew(self, slot: int) -> None:
        """Forget what was counted of a feature before its numbers left their cuts, and set new ones."""
        newest, numbers = self.kept_events.with_newest_of(slot, self.bins.crowd[slot])
        if numbers < self.after:
            self.bins.crowd[slot] = 0
            return
        self.kept_events = newest
        self.learned[slot] = self.due[slot] = numbers
        self.cut([slot])

    def cut(self, slots: Sequence[int]) -> None:
        """Set the cuts of some features, and count their numbers in the kept events again."""
        tables = self.tables
        chosen = self._mask(slots)
        kept_events = self.kept_events.with_numbers(chosen)
        weights, labels = np.asarray(kept_events.batch.weight), np.asarray(kept_events.batch.label)
        tables.clear(chosen.astype(bool), tables.window is not None and not self.slides)
        cuts = {}
        for slot, (numbers, events) in zip(slots, kept_events.numbers_of(slots), strict=True):
            cuts[slot] = self._cuts(self.learned[slot], numbers, weights[events], labels[events])
        self.set_cuts(cuts)
        tables.recount(kept_events.batch, kept_events.clock, chosen)
        for slot in slots:
            self.due[slot] *= 2
            if self.due[slot] > self.window:
                del self.due[slot]
        self.drop_needless()

    def fix(self, slot: int, values: Floats, weights: Floats, labels: NDArray[np.int32]) -> None:
        """Set the final cuts of a feature from a whole column, before anything is counted."""
        self.set_cuts({slot: self._cuts(int(weights.sum()), values, weights, labels)})
        self.tables.values.recount()
        self.due.pop(slot, None)
        self._observe_while_open()

    def finish(self) -> None:
        """Make the cuts that are set final; those of features that have none yet stay open."""
        for slot in self.bins.cuts:
            self.due.pop(slot, None)
        self.drop_needless()

    def final_slots(self) -> set[int]:
        """Return the slots of the features whose cuts are final."""
        if self.keeps_newest:
            return set(self.fixed)
        return self.fixed | {slot for slot in self.bins.cuts if slot not in self.due}

    def drop_needless(self) -> None:
        """Drop the events in which no number's cuts are open any more; where cuts move, all but the newest of them."""
        if self.due or self.keeps_newest:
            newest = NEWEST if self.keeps_newest else 0
            self.kept_events = self.kept_events.with_numbers(self._mask(self.due), newest)
            self.full = len(self.kept_events) + newest
        else:
            self.kept_events = KeptEvents()
        self._observe_while_open()

    def _mask(self, slots: Iterable[int]) -> NDArray[np.uint8]:
        """Return a mask over all slots that is 1 for some."""
        mask = np.zeros(self.tables.values.layout.features, np.uint8)
        mask[list(slots)] = 1
        return mask

    def _cuts(self, learned: int, values: Floats, weights: Floats, labels: NDArray[np.int32]) -> CutsAndRange:
        """Return a feature's cuts, and the outer edges of its end bins."""
        wanted = self.wanted
        if wanted is None:
            wanted = min(max(round(1.5 * learned ** (1.0 / 3.0)), 5), MOST_BINS)
        if self.method == "quantile" and bool((weights == weights[:1]).all()):
            values = np.sort(values + 0.0)  # without -0.0, equal numbers are the same in any order
        else:
            order = np.argsort(values, kind="stable")
            values, weights, labels = values[order], weights[order], labels[order]
        cuts = METHODS[self.method](values, weights, labels, wanted)
        if len(cuts) + 1 >= distinct_values(values):
            return cuts, None  # a bin for each value: there is nothing between them
        return cuts, outer_edges(values, weights, cuts)

    def set_cuts(self, cuts: Mapping[int, CutsAndRange]) -> None:
        """Set the cuts and outer edges of features, by slot; nothing is counted of them at that time."""
        layout = self.tables.values.layout
        for slot, (points, _) in cuts.items():
            vocabulary = self.encoder.nominal[slot].vocabulary
            vocabulary.restore(bin_names(points))
            vocabulary.declared = len(points) + 1
            layout.used[slot] = layout.declared[slot] = len(points) + 1
        self.bins.set(cuts)

    def check_merge(self, other: Discretizer) -> None:
        """Raise `CannotMerge` if both sides have counted a feature with different cuts."""
        for feature in self.encoder.nominal:
            theirs = other.encoder.features.get(feature.name)
            if not feature.measured or theirs is None or not theirs.measured:
                continue
            cuts = self.bins.cuts.get(feature.slot), other.bins.cuts.get(theirs.slot)
            if cuts[0] != cuts[1] and self._has_learned(feature.slot) and other._has_learned(theirs.slot):
                shown = ["none yet" if points is None else list(points) for points in cuts]
                raise CannotMerge(
                    f"feature {feature.name!r} has the cut points {shown[0]} in one learner and {shown[1]} in the "
                    "other; declare them in a schema, Numeric(cuts=[...]), so that learners can be merged"
                )

    def _has_learned(self, slot: int) -> bool:
        return slot in self.bins.cuts or self.learned[slot] > 0

    def adopt(self, other: Discretizer) -> None:
        """Copy the other's cuts of features that have none here."""
        adopted: dict[int, CutsAndRange] = {}
        for slot, cuts in other.bins.cuts.items():
            slot_here = self.encoder.features[other.encoder.nominal[slot].name].slot
            if slot_here not in self.bins.cuts:
                adopted[slot_here] = (cuts, other.bins.edges[slot])
                self.learned[slot_here], self.due[slot_here] = 0, 0
                if slot not in other.due:  # final there, such as declared cuts
                    del self.due[slot_here]
        self.set_cuts(adopted)
        self.tables.values.recount()

    def join(self, other: Discretizer) -> None:
        """Keep the events that the other keeps, too, under the codes here; set the cuts that are due then.

        Cuts that are final there are final here.
        """
        for index in range(len(other.kept_events)):
            self.kept_events.add(*self._translated(other.encoder, *other.kept_events.event(index)))
        for slot, learned in other.learned.items():
            slot_here = self.encoder.features[other.encoder.nominal[slot].name].slot
            if slot_here not in self.due:
                continue
            self.learned[slot_here] += learned
            if slot in other.due:
                self.due[slot_here] = max(self.due[slot_here], other.due[slot])
            else:
                del self.due[slot_here]
        self.drop_needless()
        while late := [slot for slot, due in self.due.items() if self.learned[slot] >= due]:
            self.cut(sorted(late))

    def _translated(
        self,
        theirs: Encoder,
        label: int,
        weight: float,
        clock: int,
        features: Sequence[int],
        codes: Sequence[int],
        slots: Sequence[int],
        numbers: Sequence[float],
    ) -> tuple[Any, ...]:
        """Return the parts of another's event under the codes here."""
        their_features = [theirs.nominal[slot] for slot in features]
        our_features = [self.encoder.features[feature.name] for feature in their_features]
        values = [
            mine.vocabulary.find(feature.vocabulary.values[code])
            for mine, feature, code in zip(our_features, their_features, codes, strict=True)
        ]
        entries = sorted((mine.slot, value) for mine, value in zip(our_features, values, strict=True))
        moved = sorted(
            (self.encoder.features[theirs.nominal[slot].name].slot, number)
            for slot, number in zip(slots, numbers, strict=True)
        )
        return (
            self.encoder.labels.find(theirs.labels.values[label]),
            weight,
            clock,
            [slot for slot, _ in entries],
            [code for _, code in entries],
            [slot for slot, _ in moved],
            [number for _, number in moved],
        )

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the cuts and the events kept as JSON values."""
        cuts = [[slot, list(self.bins.cuts[slot]), self.bins.edges[slot]] for slot in sorted(self.bins.cuts)]
        crowds = zip(*(np.asarray(column).tolist() for column in self._crowds()), strict=True)
        moving = {"crowds": [[slot, *crowd] for slot, crowd in enumerate(crowds)], "full": self.full}
        return {
            "open": [[slot, self.learned[slot], self.due[slot]] for slot in sorted(self.due)],
            "cuts": [[slot, points, None if edges is None else list(edges)] for slot, points, edges in cuts],
            "kept": [list(self.kept_events.event(index)) for index in range(len(self.kept_events))],
        } | (moving if self.keeps_newest else {})

    def load(self, saved: Mapping[str, Any]) -> None:
        """Load a state, once the names are known and before the tables are made, or raise `BadState`."""
        measured = {feature.slot for feature in self.encoder.nominal if feature.measured}
        loaded: dict[int, CutsAndRange] = {}
        for slot, cuts, edges in saved["cuts"]:
            ascend = _finite(cuts) and _rise(cuts)
            expect(slot in measured and ascend and len(cuts) < self.bins.most, "its cuts are none")
            expect(edges is None or (_finite(edges) and len(edges) == 2), "the edges of its bins are none")
            vocabulary = self.encoder.nominal[slot].vocabulary
            expect(vocabulary.values == bin_names(cuts), "its bins are not those of its cuts")
            expect(
                slot not in self.fixed or self.bins.cuts[slot] == tuple(cuts), "its cuts are not the declared"
            )
            vocabulary.declared = len(cuts) + 1
            loaded[slot] = [float(cut) for cut in cuts], None if edges is None else tuple(edges)
        self.bins.set(loaded)
        for slot in measured - set(self.bins.cuts):
            expect(not self.encoder.nominal[slot].vocabulary.values, "a feature without cuts has bins")
        self._load_open(saved["open"], measured - self.fixed)
        self.kept_events = KeptEvents()
        for record in saved["kept"]:
            self.kept_events.add(*self._checked(*record))
        if self.keeps_newest:
            self._load_moving(saved["crowds"], saved["full"])
        self._observe_while_open()

    def _crowds(self) -> tuple[Any, Any, Any]:
        """Return, by slot, how many numbers of late are in two bins, and these bins."""
        return self.bins.crowd, self.bins.crowded, self.bins.beside

    def _load_moving(self, crowds: Sequence[Sequence[Any]], full: Any) -> None:
        """Load the crowds, and at how many events kept needless ones are dropped next."""
        expect([slot for slot, *_ in crowds] == list(range(len(self.bins.crowd))), "crowds are not by slot")
        for slot, *crowd in crowds:
            last = len(self.bins.cuts.get(slot, ()))
            for column, number, least, most in zip(
                self._crowds(), crowd, (0, -1, -1), (2**31, last, last), strict=True
            ):
                expect(type(number) is int and least <= number <= most, "a crowd is in no bin")
                column[slot] = number
        expect(type(full) is int and 0 <= full < 2**62, "a count of events is invalid")
        self.full = full

    def _load_open(self, saved: Sequence[Sequence[Any]], may_be: set[int]) -> None:
        """Load the open cuts, the number of their numbers so far, and the number at which they are set next."""
        self.learned, self.due = dict.fromkeys(may_be, 0), {}
        for slot, learned, due in saved:
            expect(slot in may_be and slot not in self.due, "cuts are open that are not to be set")
            for count in (learned, due):
                expect(type(count) is int and 0 <= count < 2**62, "a count of numbers is invalid")
            expect(learned < due, "cuts are open that are due")
            self.learned[slot], self.due[slot] = learned, due
        expect(may_be - set(self.due) <= set(self.bins.cuts), "a feature has no cuts, and never gets any")
        self._opened = len(self.encoder.nominal)

    def _checked(
        self, label: Any, weight: Any, clock: Any, features: Any, codes: Any, slots: Any, numbers: Any
    ) -> tuple[Any, ...]:
        """Return the parts of an event kept, or raise `BadState`."""
        nominal = self.encoder.nominal
        expect(type(label) is int and 0 <= label < len(self.encoder.labels), "an event kept has no label")
        expect(type(weight) in (int, float) and 0 < weight <= 2.0**53, "an event kept has no weight")
        expect(type(clock) is int and 0 <= clock <= 2**62, "an event kept has no time")
        expect(len(features) == len(codes) and len(slots) == len(numbers), "an event kept is cut short")
        for slot, code in zip(features, codes, strict=True):
            expect(type(slot) is int and 0 <= slot < len(nominal), "an event kept has an unknown feature")
            expect(not nominal[slot].measured, "an event kept has a bin in place of a number")
            expect(
                type(code) is int and 0 <= code < len(nominal[slot].vocabulary), "an event kept has no value"
            )
        for slot in slots:
            expect(type(slot) is int and 0 <= slot < len(nominal), "an event kept has an unknown feature")
            expect(nominal[slot].measured, "an event kept has a number for a nominal feature")
        expect(_rise(features) and _rise(slots) and _finite(numbers), "an event kept is out of order")
        needed = self.keeps_newest or any(slot in self.due for slot in slots)
        expect(needed, "it keeps what it does not need")
        return label, float(weight), clock, features, codes, slots, [float(number) for number in numbers]


def _finite(numbers: Any) -> bool:
    return all(type(number) in (int, float) and math.isfinite(number) for number in numbers)


def _rise(numbers: Any) -> bool:
    return all(low < high for low, high in pairwise(numbers))
