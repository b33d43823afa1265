"""The count store: names, tables and clock of a learner, as one thing that adds, takes back, merges and fades.

A store of order 1 counts (class, value); order 2 counts (class, value, value) too. Whatever is learned is learned
here; what is predicted from it is a reading's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._encoding import Encoder
from stream_bayes.core._gaussians import Gaussians
from stream_bayes.core._tables import Layout, PairCounts, Tables, ValueCounts
from stream_bayes.core._vocabulary import Vocabulary
from stream_bayes.core.counts_state import (
    MOMENTS,
    check_shapes,
    clock_state,
    expect,
    grid,
    load_arrays,
    load_clock,
    load_names,
    names_state,
    refusing_bad_state,
    sizes,
    table_arrays,
    vocabularies,
)
from stream_bayes.core.values import Value, shown
from stream_bayes.errors import BadWeight, BudgetExceeded, CannotMerge, NotLearned

__all__ = ["CountStore"]

Array = NDArray[Any]

NAME_BYTES = (
    40  # a value's place in the table of its vocabulary and in the list, at most; the name itself is not
)
FEATURE_BYTES = 600  # a feature, its vocabulary and their empty tables
SMALLEST_ROOM = 4
SPARE_FEATURES = (
    4  # one more for each so many, so that features met one by one do not move the tables each time
)


class CountStore:
    """Weighted counts of classes, values and pairs of values: a commutative group under merge.

    Parameters
    ----------
    encoder
        Names to codes: a `RowEncoder` or a `BagEncoder`. The store owns it from now on.
    order
        1 counts values by class, 2 pairs of values too.
    half_life
        The number of learned events after which a sample weighs half; None keeps everything.
    memory_budget
        The most bytes that tables and names may take; growth past it raises `BudgetExceeded` and changes nothing.
    word_histogram
        Keep how many words were seen in how many messages, for models that also judge the absent words.

    Notes
    -----
    Memory: 8 bytes for each class and value (16 with fractional weights or fading), 32 for each class and numeric
    feature, in order 2 also 8 for each class and pair of values, with up to as much again as room to grow; and about
    40 bytes a value for its name's code.

    Examples
    --------
    >>> from stream_bayes.core._encoding import RowEncoder
    >>> from stream_bayes.core._vocabulary import Vocabulary
    >>> store = CountStore(RowEncoder(Vocabulary()))
    >>> store.learn({"sky": "grey"}, "rain")
    >>> store.learn({"sky": "blue"}, "sun", 2.0)
    >>> store.by_name()["sky", "blue", "sun"]
    2.0
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        order: int = 1,
        half_life: float | None = None,
        memory_budget: int | None = None,
        word_histogram: bool = False,
    ) -> None:
        self.encoder = encoder
        self.order = order
        self.memory_budget = memory_budget
        self.tables = Tables(half_life)
        self._histogram = word_histogram
        self._rebuild(*sizes(self.encoder), self._columns())

    # -- one event at a time ------------------------------------------------------------------------------------------

    def learn(self, x: Mapping[Any, Any], y: object, weight: float = 1.0) -> None:
        """Encode a sample and add it: all of it, or, where anything is refused, nothing."""
        self.tables.add(self.encode(x, y, weight))

    def encode(self, x: Mapping[Any, Any], y: object, weight: float = 1.0) -> Any:
        """The row of a sample that is about to be learned, with room for everything it names."""
        row = self.encoder.encode(x, y, weight)
        if self.encoder.created or (self.tables.exact and not row.whole):
            if row.weight == 0.0:
                return self._without_weight(x, row.label)
            self.make_room(row.whole)
        return row

    def _without_weight(self, x: Mapping[Any, Any], label: int) -> Any:
        """The row of a sample of weight 0, which names nothing: what is new in it is left out."""
        self.encoder.rollback()
        row = self.encoder.lookup(x)
        row.label = label if label < len(self.encoder.labels) else -1
        row.weight = 0.0
        return row

    def add(self, row: Any) -> None:
        """Add an encoded sample, whose codes have room."""
        self.tables.add(row)

    def unlearn(self, x: Mapping[Any, Any], y: object, weight: float = 1.0, at: int | None = None) -> None:
        """Take back exactly what learning the same sample added when the clock stood `at`."""
        row = self.encoder.unlearned(x, y, weight)
        self.forget(row, at)

    def forget(self, row: Any, at: int | None = None) -> None:
        """Take an encoded row back."""
        tables = self.tables
        if at is not None and (
            isinstance(at, bool) or not isinstance(at, int) or not 0 <= at <= tables.clock
        ):
            raise NotLearned(f"nothing was learned at {at!r}: the clock stands at {tables.clock}")
        failed = tables.forget(row, tables.unit if at is None else tables.unit_at(at))
        if failed != -1:
            raise NotLearned(f"cannot unlearn {self._name_of(row, failed)}: no such sample is held")

    def advance(self, events: int) -> None:
        """Let time pass: so many events happened that were not learned here."""
        if isinstance(events, bool) or not isinstance(events, int) or not 0 <= events < 2**61:
            raise BadWeight(f"advance takes a whole number of events of at least 0, not {shown(events)}")
        if self.tables.clock + events >= 2**62:
            raise BadWeight(f"the clock stands at {self.tables.clock} and ends at 2**62")
        self.tables.tick(events)

    def fade(self, factor: float) -> None:
        """Multiply every weight by a factor between 0 and 1."""
        if not 0.0 <= factor <= 1.0:
            raise BadWeight(f"a fading factor lies between 0 and 1, not {factor!r}")
        self.tables.leave_exact()
        self.tables.scale(factor)

    def _name_of(self, row: Any, failed: int) -> str:
        label = self.encoder.labels.values[row.label]
        if failed == -2:
            return f"a sample of class {label!r} with weight {row.weight}"
        if failed >= row.entries:
            feature = self.encoder.numeric[row.numeric_feature[failed - row.entries]]
            return f"{feature.name!r} = {row.number[failed - row.entries]} in class {label!r}"
        feature = self.encoder.nominal[row.feature[failed]]
        value = feature.vocabulary.values[row.code[failed]]
        return (
            f"{feature.name!r} = {value!r} with weight {row.amount[failed] * row.weight} in class {label!r}"
        )

    # -- room -------------------------------------------------------------------------------------------------------

    def make_room(self, whole: bool = True) -> None:
        """Let the tables follow what the encoder has just created, or, for lack of budget, take that back. Weights that
        are not whole need a table of samples beside them.
        """
        encoder, tables = self.encoder, self.tables
        try:
            # The tables themselves follow when the sample is added: until then predictions are as before it.
            columns = 1 if tables.exact and whole else 2
            if not self._fits(columns):
                self._grow(columns)
        except BudgetExceeded:
            encoder.rollback()
            raise
        encoder.created.clear()
        tables.labels = len(encoder.labels)

    def _fits(self, columns: int) -> bool:
        """Whether new codes have room where they are; looks only at what is new."""
        encoder, layout = self.encoder, self.tables.values.layout
        if len(encoder.labels) > layout.classes or len(encoder.nominal) > layout.features:
            return False
        if len(encoder.numeric) > self.tables.gaussians.features:
            return False
        grown = {
            made.slot: len(made)
            for made in encoder.created
            if isinstance(made, Vocabulary) and made.slot >= 0
        }
        if any(size > layout.room[slot] for slot, size in grown.items()):
            return False
        self._check_budget(layout, sum(size - layout.used[slot] for slot, size in grown.items()), columns)
        for slot, size in grown.items():
            layout.used[slot] = size
        return True

    def _grow(self, columns: int) -> None:
        """Move to a layout with room for everything and, where the budget allows it, for half as much again."""
        used, declared = sizes(self.encoder)
        layout, numeric = self.tables.values.layout, len(self.encoder.numeric)
        old_room = np.asarray(layout.room)[: len(used)]
        known = len(old_room)
        room = np.maximum(used, SMALLEST_ROOM)
        overflow = used[:known] > old_room
        room[:known] = np.where(overflow, 2 * room[:known], old_room)
        if overflow.any() and room.sum() < 1.5 * old_room.sum():
            room = np.where(2 * used > room, np.maximum(2 * used, room), room)  # the next to overflow
        spare = max(layout.features - len(used), 0)
        if 0 < layout.features < len(used):
            spare = len(used) // SPARE_FEATURES + 1
        spare_numeric = max(self.tables.gaussians.features - numeric, 0)
        if 0 < self.tables.gaussians.features < numeric:
            spare_numeric = numeric // SPARE_FEATURES + 1
        try:
            self._rebuild(used, declared, columns, room, spare, numeric + spare_numeric)
        except BudgetExceeded:
            self._rebuild(used, declared, columns)

    def _rebuild(
        self,
        used: Array,
        declared: Array,
        columns: int,
        room: Array | None = None,
        spare: int = 0,
        numeric: int = 0,
    ) -> None:
        """Move everything into new tables."""
        classes = 2
        while classes < len(self.encoder.labels):
            classes *= 2
        room = used if room is None else room
        wide = np.concatenate([room, np.full(spare, SMALLEST_ROOM)]).astype(np.longlong)
        padding = np.zeros(spare, np.longlong)
        layout = Layout(np.concatenate([used, padding]), wide, np.concatenate([declared, padding]), classes)
        numeric = max(numeric, len(self.encoder.numeric))
        self._check_budget(layout, 0, columns, numeric)
        self._move(layout, numeric)

    def _move(self, layout: Layout, numeric: int) -> None:
        tables = self.tables
        old = tables.values
        classes = layout.classes
        values = ValueCounts(layout, tables.exact)
        pairs = PairCounts(layout) if self.order >= 2 else None
        gaussians = Gaussians(numeric, classes, tables.exact)
        class_weight = np.zeros(classes)
        class_samples = class_weight if tables.exact else np.zeros(classes)
        kept = old.layout.classes
        held = np.asarray(old.layout.used)[: layout.features]
        here, there = layout.positions_of(held), old.layout.positions_of(held)
        runs = min(layout.features, old.layout.features)
        numbers = min(numeric, tables.gaussians.features)
        for new, now, rows, old_rows in (
            (values.weight, old.weight, here, there),
            (values.samples, old.samples, here, there),
            (values.present, old.present, slice(runs), slice(runs)),
            (values.present_samples, old.present_samples, slice(runs), slice(runs)),
            *(
                (
                    getattr(gaussians, name),
                    getattr(tables.gaussians, name),
                    slice(numbers),
                    slice(numbers),
                )
                for name in MOMENTS
            ),
        ):
            grid(new, classes)[rows, :kept] = grid(now, kept)[old_rows]
        class_weight[:kept] = tables.class_weight
        class_samples[:kept] = tables.class_samples
        values.recount()
        if pairs is not None and tables.pairs is not None:
            targets = np.zeros(old.layout.positions, np.longlong)
            targets[there] = here
            pairs.pour(tables.pairs, targets, np.arange(kept, dtype=np.longlong), 1.0)
        if self._histogram and tables.exact:
            values.rebuild_histogram()
        tables.values, tables.pairs, tables.gaussians = values, pairs, gaussians
        tables.class_weight, tables.class_samples = class_weight, class_samples
        tables.labels = len(self.encoder.labels)

    def _columns(self) -> int:
        """How many tables stand for a table of weights: 2 with samples beside it."""
        return 1 if self.tables.exact else 2

    def _bytes(self, layout: Layout, codes: int, columns: int, numeric: int | None = None) -> int:
        """What a store of this layout takes, names included."""
        cells = layout.classes * (columns * (layout.positions + layout.features + 1))
        cells += (
            layout.classes * (3 + columns) * (self.tables.gaussians.features if numeric is None else numeric)
        )
        if self.order >= 2:
            cells += layout.classes * layout.pairs
        small = layout.positions * (1 + (4 * layout.classes if self._histogram else 0))
        return 8 * int(cells) + int(small) + NAME_BYTES * codes + FEATURE_BYTES * len(self.encoder.features)

    def _check_budget(self, layout: Layout, more: int, columns: int, numeric: int | None = None) -> None:
        if self.memory_budget is None:
            return
        need = self._bytes(layout, int(np.asarray(layout.used).sum()) + more, columns, numeric)
        if need > self.memory_budget:
            raise BudgetExceeded(
                f"the tables would need {need:,} bytes, the budget is {self.memory_budget:,}; raise memory_budget, "
                "bound the values with max_values, or learn fewer features"
            )

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables and of the codes of names; the names themselves are not counted."""
        layout = self.tables.values.layout
        return self._bytes(layout, int(np.asarray(layout.used).sum()), self._columns())

    # -- merging ----------------------------------------------------------------------------------------------------

    def merge(self, other: CountStore) -> None:
        """Add everything another store holds, by name. The older of two fading stores is aged first.

        Raises `CannotMerge` or `BudgetExceeded` with nothing changed.
        """
        mine, theirs = self.tables, other.tables
        if mine.half_life != theirs.half_life or self.order != other.order:
            raise CannotMerge("only stores of the same order and half_life can be merged")
        runs = self._merge_names(other)
        self.make_room()
        if not theirs.exact:
            mine.leave_exact()
        mine.tick(max(0, theirs.clock - mine.clock))
        factor = 1.0
        if mine.half_life:
            mine.rescale()
            factor = (
                1.0 / theirs.unit_at(mine.clock)
                if mine.clock - theirs.origin < 1000 * mine.half_life
                else 0.0
            )
        labels = np.array([self.encoder.labels.lookup(y) for y in other.encoder.labels.values], np.longlong)
        _add(mine.class_weight, theirs.class_weight, 1, labels, factor=factor)
        self._merge_values(other, runs, labels, factor)
        self._merge_numbers(other, labels, factor)

    def _merge_names(self, other: CountStore) -> list[int]:
        """Give everything the other store names a code here; where its runs are here."""
        encoder = self.encoder
        runs = []
        encoder.rollback()
        try:
            for y in other.encoder.labels.values:
                encoder.name_label(y)
            for feature in other.encoder.features.values():
                own = encoder.name_feature(feature.name, feature.numeric)
                if own.numeric != feature.numeric:
                    raise CannotMerge(
                        f"feature {feature.name!r} is nominal in one learner and numeric in the other"
                    )
            for feature in other.encoder.nominal:
                own = encoder.features[feature.name]
                runs.append(own.slot)
                _merge_vocabulary(
                    f"feature {feature.name!r}", own.vocabulary, feature.vocabulary, encoder.created
                )
        except BaseException:
            encoder.rollback()
            raise
        return runs

    def _merge_values(self, other: CountStore, runs: list[int], labels: Array, factor: float) -> None:
        mine, theirs = self.tables.values, other.tables.values
        targets = np.zeros(theirs.layout.positions, np.longlong)
        positions = theirs.layout.positions_of(np.asarray(theirs.layout.used)[: len(runs)])
        own = vocabularies(self.encoder)
        targets[positions] = np.fromiter(
            (
                mine.layout.start[run] + own[run].find(value)
                for run, vocabulary in zip(runs, vocabularies(other.encoder), strict=True)
                for value in vocabulary.values
            ),
            np.longlong,
            len(positions),
        )
        here, there = mine.layout.classes, theirs.layout.classes
        rows = np.array(runs, np.longlong)
        _add(mine.weight, theirs.weight, here, labels, there, targets[positions], positions, factor)
        _add(mine.present, theirs.present, here, labels, there, rows, slice(len(rows)), factor)
        if not mine.exact:
            _add(mine.samples, theirs.samples, here, labels, there, targets[positions], positions)
            _add(mine.present_samples, theirs.present_samples, here, labels, there, rows, slice(len(rows)))
            _add(self.tables.class_samples, other.tables.class_samples, 1, labels)
        mine.recount()
        if mine.histogram is not None:
            mine.rebuild_histogram()
        if self.tables.pairs is not None:
            self.tables.pairs.pour(other.tables.pairs, targets, labels, factor)

    def _merge_numbers(self, other: CountStore, labels: Array, factor: float) -> None:
        mine, theirs = self.tables.gaussians, other.tables.gaussians
        if not other.encoder.numeric:
            return
        rows = np.array([self.encoder.features[feature.name].slot for feature in other.encoder.numeric])
        cells = np.ix_(rows, labels)
        known = len(other.encoder.numeric)
        there = {name: grid(getattr(theirs, name), theirs.classes)[:known, : len(labels)] for name in MOMENTS}
        here = {name: grid(getattr(mine, name), mine.classes) for name in MOMENTS}
        weight = here["weight"][cells] + factor * there["weight"]
        share = np.divide(factor * there["weight"], weight, out=np.zeros_like(weight), where=weight > 0)
        away = there["mean"] - here["mean"][cells]
        # Chan, Golub and LeVeque: the means part by `away`, which adds to the squared deviations.
        here["peak"][cells] = np.maximum(here["peak"][cells], there["peak"])
        here["m2"][cells] += factor * there["m2"] + here["weight"][cells] * share * away * away
        here["mean"][cells] += away * share
        if mine.exact:
            here["weight"][cells] = weight
        else:
            here["samples"][cells] += there["samples"]
            here["weight"][cells] = weight

    # -- reading and keeping ------------------------------------------------------------------------------------------

    def by_name(self) -> dict[tuple[Any, ...], float]:
        """Every weight above 0 under its names, in fresh samples: `{(label,): n, (feature, value, label): n, ...}`.

        Pairs are under `(feature, value, feature, value, label)`, in the order of names; numeric features under
        `(feature, label)` as (weight, mean, sum of squared deviations). Two stores that hold the same are equal here.
        """
        tables, labels = self.tables, self.encoder.labels.values
        unit = tables.unit
        named: dict[tuple[Any, ...], Any] = {}
        for code, label in enumerate(labels):
            if tables.class_samples[code] > 0:
                named[(label,)] = tables.class_weight[code] / unit
        layout = tables.values.layout
        weight = grid(tables.values.weight, layout.classes)
        places = []
        for run, feature in enumerate(self.encoder.nominal):
            for code, value in enumerate(feature.vocabulary.values):
                position = layout.start[run] + code
                places.append((run, position, (feature.name, value)))
                for y in np.flatnonzero(weight[position]):
                    named[(*places[-1][2], labels[y])] = float(weight[position, y]) / unit
        if tables.pairs is not None:
            self._pairs_by_name(tables.pairs, named, places, labels)
        numbers = tables.gaussians
        for feature in self.encoder.numeric:
            for code, label in enumerate(labels):
                cell = feature.slot * layout.classes + code
                if numbers.weight[cell] > 0:
                    moments = (numbers.weight[cell] / unit, numbers.mean[cell], numbers.m2[cell] / unit)
                    named[feature.name, label] = moments
        return named

    def _pairs_by_name(
        self, pairs: PairCounts, named: dict[tuple[Any, ...], Any], places: list[Any], labels: list[Value]
    ) -> None:
        layout = pairs.layout
        weight = grid(pairs.weight, layout.classes)
        for run, position, name in places:
            line = layout.pair_start[run] + (position - layout.start[run]) * layout.start[run]
            for earlier_run, earlier, earlier_name in places:
                if earlier_run >= run:
                    break
                for y in np.flatnonzero(weight[line + earlier]):
                    first, second = sorted((earlier_name, name), key=repr)
                    named[(*first, *second, labels[y])] = float(weight[line + earlier, y]) / self.tables.unit

    def state(self) -> dict[str, Any]:
        """Everything held, as JSON values under "meta" and arrays under "arrays". `load` is its inverse."""
        return {
            "meta": {"order": self.order} | clock_state(self.tables) | names_state(self.encoder),
            "arrays": table_arrays(self.encoder, self.tables),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty store of the same configuration from a state; whatever is wrong with it raises `BadState`."""
        with refusing_bad_state():
            meta, arrays = state["meta"], state["arrays"]
            expect(meta["order"] == self.order, f"it holds counts of order {meta['order']}, not {self.order}")
            load_names(self.encoder, meta)
            load_clock(self.tables, meta)
            check_shapes(self.encoder, self.order, arrays)
            self._rebuild(*sizes(self.encoder), self._columns())
            load_arrays(self.encoder, self.tables, arrays)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], encoder: Encoder, **settings: Any) -> CountStore:
        """A store over a fresh encoder, with the settings that the saved one had, filled from its state."""
        store = cls(encoder, **settings)
        store.load(state)
        return store


def _add(
    mine: Any,
    theirs: Any,
    here: int,
    labels: Array,
    there: int = 1,
    rows: Any = slice(None),
    their_rows: Any = slice(None),
    factor: float = 1.0,
) -> None:
    """Add one table to another, rows and classes translated. With a stride of 1 the table is one row of classes."""
    own = np.asarray(mine)
    if here == 1:
        own[labels] += factor * np.asarray(theirs)[: len(labels)]
        return
    source = grid(theirs, there)[their_rows][:, : len(labels)]
    grid(own, here)[np.ix_(rows, labels)] += factor * source


def _merge_vocabulary(what: str, mine: Vocabulary, theirs: Vocabulary, created: list[Any]) -> None:
    """Give each value of another vocabulary a code here. Where values would share one, the order of events decided
    which, so there is no merging.
    """
    if mine.limit is not None:
        union = len({*mine.values, *theirs.values})
        if mine.other >= 0 or theirs.other >= 0 or union > mine.limit:
            raise CannotMerge(
                f"{what} has passed max_values={mine.limit}, or would by merging: which values share <other> depends "
                "on the order of events, so these learners cannot be merged"
            )
    for value in theirs.values:
        if value not in mine:
            mine.add(value)
            created.append(mine)
