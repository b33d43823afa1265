"""The count store: names, tables and clock of a learner, as one object that adds, subtracts, merges and fades.

A store of order 1 counts (class, value); order 2 counts (class, value, value) too, order 3 also triples. Whatever is
learned is learned here, and the tables grow by `TableGrowth`; predictions are made by readings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from stream_bayes.core.counts._families import FamilyTables
from stream_bayes.core.counts._moments import CoMoments
from stream_bayes.core.counts._sample_rows import SampleRows
from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.discretizer import Discretizer
from stream_bayes.core.counts.families import (
    Family,
    configurations_met,
    families_arrays,
    families_state,
    fill,
    load_families,
)
from stream_bayes.core.counts.memory_use import Coming, MemoryUse, ReadingBytes
from stream_bayes.core.counts.merging import add_tables, check_names_fit, merge_names, merge_tables
from stream_bayes.core.counts.names import weights_by_name
from stream_bayes.core.counts.state import (
    Names,
    check_shapes,
    clock_state,
    load_arrays,
    load_clock,
    load_names,
    sizes,
    table_arrays,
)
from stream_bayes.core.counts.table_growth import OnManyValues, TableGrowth
from stream_bayes.core.counts.unlearning import forget_row
from stream_bayes.core.counts.window import Window
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.durations import MICROSECOND, microseconds_of, seconds_of
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, BadWeight, CannotMerge, NotSupported

__all__ = ["CountStore", "StoreContent"]

Array = NDArray[Any]
OnMoved: TypeAlias = Callable[[Any, float, float], None]


class StoreContent(NamedTuple):
    """Everything a store held at one moment: copies of its tables, and names that never change."""

    clock: dict[str, Any]
    names: Names
    parts: dict[str, Any]
    arrays: dict[str, Array]

    def state(self) -> dict[str, Any]:
        """Return it as JSON values under "meta" and arrays under "arrays"."""
        return {"meta": self.clock | self.names.state() | self.parts, "arrays": self.arrays}


class CountStore:
    """Weighted counts of classes, values and pairs of values: a commutative group under merge.

    The encoder, a `RowEncoder` or a `BagEncoder`, belongs to the store from then on. An `order` of 1 counts values by
    class, 2 pairs of values too, 3 also triples. `half_life` is the number of learned events after which a sample
    weighs half, or a duration in stream time such as "7d"; None keeps everything. Growth past `memory_budget`, the most
    bytes that tables and names may take, raises `BudgetExceeded` and changes nothing. `window` is the number of newest
    events to keep, encoded; None keeps none.

    `word_histogram` keeps a histogram of the words by their number of messages, for models that use absent words, too.
    Where the encoder has bins, `binning` is how their cuts are set, as `Discretizer` takes it, and `moments` counts
    mean and variance of each number, too. `co_moments` counts how each pair of numeric features varies together, by
    class.

    `on_many_values` is called with a feature like an id, as in `TableGrowth`; `on_moved` once with a feature whose
    numbers have left their cuts, and the first and last of these; not where cuts move. `reading_bytes` says what a
    reading keeps beside the tables, as `MemoryUse` takes it.

    Notes
    -----
    Memory: 8 bytes for each class and value (16 with fractional weights or fading), 120 for each class and numeric
    feature, with `co_moments` 24 for each class and pair of them (96 where numbers are missing), from order 2 on also 8
    for each class and pair of values, and for each class, value and other feature, in order 3 also 8 for each class and
    triple of values, with up to as much again in each direction as room to grow; and about 40 bytes a value for its
    name's code.

    Examples
    --------
    >>> from stream_bayes.core.encoding._features import RowEncoder
    >>> from stream_bayes.core.encoding._vocabulary import Vocabulary
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
        half_life: float | str | None = None,
        memory_budget: int | None = None,
        word_histogram: bool = False,
        binning: Mapping[str, Any] | None = None,
        window: int | None = None,
        on_many_values: OnManyValues | None = None,
        on_moved: OnMoved | None = None,
        moments: bool = False,
        co_moments: bool = False,
        reading_bytes: ReadingBytes | None = None,
    ) -> None:
        self.encoder = encoder
        self.order = order
        self.half_life = half_life
        if isinstance(half_life, str):
            self.tables = Tables(round(seconds_of("half_life", half_life) / MICROSECOND), True)
        else:
            self.tables = Tables(half_life)
        if co_moments:
            self.tables.co_moments = CoMoments(0, 2)
        self.discretizer: Discretizer | None = None
        self.on_moved = on_moved
        self._announced: set[int] = set()  # slots of the features that it was called with
        if encoder.bins is not None:
            self.tables.bins = encoder.bins
            self.tables.counts_moments = moments
            if moments:
                encoder.numeric = encoder.nominal  # a number's moments have the slot of its bins
            self.discretizer = Discretizer(self.tables, encoder, **(binning or {}))
            self.tables.observer = self.discretizer
            if on_moved is not None or self.discretizer.keeps_newest:
                self.tables.on_moved = self._follow
        self._memory = MemoryUse(
            encoder, self.tables, order, word_histogram, self.discretizer, memory_budget, reading_bytes
        )
        self._growth = TableGrowth(self._memory, on_many_values)
        if window is None:
            self._growth.shrink(self._memory.columns)
        else:
            self.keep_newest(window)
        if self.discretizer is not None:
            self.discretizer.begin()

    # -- room ---------------------------------------------------------------------------------------------------------

    def make_room_for(self, rows: int, whole: bool) -> None:
        """Make room for all that a number of rows, just encoded, may need."""
        self.make_room(whole, lambda families: families.most_brought(sizes(self.encoder)[0], rows))

    def make_room(self, whole: bool = True, coming: Coming | None = None) -> None:
        """Make room for the codes that the encoder has just created, or, raising `BudgetExceeded`, take them back.

        Weights that are not `whole` need a table of samples beside them; families may get `coming` configurations.
        """
        self._growth.make_room(whole, coming)

    def give_up_spare_room(self) -> None:
        """Shrink the tables if families just chosen leave no room to spare in the budget."""
        self._growth.give_up_spare_room()

    def choose(self, families: Iterable[Family]) -> FamilyTables:
        """Return tables of these families: counted ones as they are, the others from the window, if there is one."""
        return self.fill(self.lay_out(families))

    def lay_out(self, families: Iterable[Family]) -> FamilyTables:
        """Return empty tables of these families, each once."""
        codes = self._memory.codes_of_families()
        return FamilyTables(
            [*dict.fromkeys(families)], codes, len(self.encoder.labels), bool(self.tables.exact)
        )

    def fill(self, made: FamilyTables) -> FamilyTables:
        """Count families in the empty tables that `lay_out` returned, as `choose` does, and return them."""
        return fill(made, self.tables, self.tables.families, self.window)

    @property
    def memory_budget(self) -> int | None:
        """The most bytes that tables and names may take; None: no limit."""
        return self._memory.budget

    @memory_budget.setter
    def memory_budget(self, budget: int | None) -> None:
        self._memory.budget = budget

    def bytes_left(self) -> int | None:
        """Return the bytes that the budget leaves for families; None without a budget."""
        return self._memory.bytes_left(self._growth.tight_layout())

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables and of the codes of names; the names themselves are not counted."""
        return self._memory.memory_bytes

    @property
    def window(self) -> Window | None:
        """The newest events, encoded; None if they are not kept."""
        return self._memory.window

    @property
    def slides(self) -> bool:
        """True if exactly the newest events are held: those that leave the window are subtracted."""
        return self._memory.slides

    # -- one event at a time ------------------------------------------------------------------------------------------

    def learn(self, x: Mapping[Any, Any], y: object, weight: float = 1.0) -> None:
        """Encode a sample and add it: all of it, or, where anything is refused, nothing."""
        self.tables.add(self.encode(x, y, weight))

    def encode(self, x: Mapping[Any, Any], y: object, weight: float = 1.0, at: float | None = None) -> Any:
        """Return the row of a sample that is about to be learned, with room for everything it names."""
        if at is None and not self.tables.timed:
            return self.admit(x, self.encoder.encode(x, y, weight))
        moment = self.moment(at)
        row = self.admit(x, self.encoder.encode(x, y, weight))
        row.at = moment
        return row

    def moment(self, at: float | None) -> int:
        """Return the time of a sample in microseconds; 0 where samples do not fade by their time.

        Raises
        ------
        BadValue
            If a time is required and missing, or given and not allowed.
        """
        if not self.tables.timed:
            if at is not None:
                raise BadValue(
                    f"at={at!r}: only samples of a half_life in stream time, such as '7d', have a time"
                )
            return 0
        if at is None:
            raise BadValue(
                f"half_life={self.half_life!r} is in stream time: a sample needs its time, at=SECONDS since 1970"
            )
        return microseconds_of("at", at)

    def sample_rows(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], ats: Sequence[int] | None = None
    ) -> SampleRows:
        """Return samples as rows, each encoded in its turn. Samples whose label is None must not be learned."""
        return SampleRows(self.encoder, self.tables, self.admit, self._bounds_families, xs, ys, ws, ats)

    @property
    def _bounds_families(self) -> bool:
        """True if any row may need room in families, which the budget limits."""
        return self.memory_budget is not None and (
            self.window is not None or self.tables.families is not None
        )

    def admit(self, x: Mapping[Any, Any], row: Any) -> Any:
        """Return the row to learn of a sample just encoded, with room for everything it names."""
        if self.encoder.created and row.weight > 0.0 and self._growth.makes_room_for_words():
            return row
        families = self.tables.families
        brings = families is not None and self._memory.budget is not None and families.brings(row)
        if self.encoder.created or brings or (self.tables.exact and not row.whole):
            if row.weight == 0.0:
                return self._without_weight(x, row.label)
            self.make_room(row.whole, lambda families: families.brought(row))
        return row

    def _without_weight(self, x: Mapping[Any, Any], label: int) -> Any:
        """Return the row of a sample of weight 0 without what is new in it: such a sample creates no names."""
        self.encoder.rollback()
        row = self.encoder.lookup(x)
        row.label = label if label < len(self.encoder.labels) else -1
        row.weight = 0.0
        return row

    def add(self, row: Any) -> None:
        """Add an encoded sample, whose codes have room."""
        self.tables.add(row)

    def _follow(self, slot: int) -> None:
        """Begin a feature anew whose numbers have left their cuts; or tell of it, once, if cuts stay."""
        discretizer = self.discretizer
        if discretizer is None or not discretizer.has_left(slot):
            return
        if discretizer.keeps_newest:
            discretizer.begin_anew(slot)
        elif self.on_moved is not None and slot not in self._announced:
            self._announced.add(slot)
            cuts = discretizer.bins.cuts[slot]
            self.on_moved(self.encoder.nominal[slot].name, cuts[0], cuts[-1])

    @property
    def cuts_move(self) -> bool:
        """True if the cuts of features whose numbers leave them are set anew."""
        return self.discretizer is not None and self.discretizer.keeps_newest

    def hold_cuts(self) -> None:
        """Leave the cuts of numbers as they are; numbers of features without any are not counted from here on."""
        if self.discretizer is not None:
            self.discretizer.hold()

    def unlearn(self, x: Mapping[Any, Any], y: object, weight: float = 1.0, at: int | None = None) -> None:
        """Subtract exactly what learning the same sample added at the clock `at`."""
        row = self.encoder.unlearned(x, y, weight)
        self.forget(row, at)

    def forget(self, row: Any, at: int | None = None) -> None:
        """Subtract an encoded row."""
        if self.cuts_move:
            raise NotSupported(
                "with Binning(moving=True) nothing can be unlearned: what was counted before a feature's numbers left "
                "their cuts is forgotten already; leave moving out"
            )
        forget_row(self.tables, self.encoder, self.window, row, at, slides=self.slides)

    def advance(self, events: int) -> None:
        """Advance the clock by events that were not learned here."""
        if self.tables.timed:
            raise BadWeight(
                f"half_life={self.half_life!r} is in stream time, which advances with the samples"
            )
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

    # -- the newest events --------------------------------------------------------------------------------------------

    def keep_newest(self, size: int) -> None:
        """Keep this number of the newest events, encoded. The store must be empty."""
        if self.tables.timed:
            raise BadValue(
                f"half_life={self.half_life!r} is in stream time, and a window counts events; give half_life in events"
            )
        window = self._memory.window = Window(self.encoder, size)
        self.tables.window = window.ring
        self._growth.shrink(self._memory.columns)
        window.make_room()

    def slide(self, size: int) -> None:
        """Hold the newest events alone: a `SlidingReading` subtracts those that are older."""
        if self.cuts_move:
            raise BadValue("a sliding window unlearns, which Binning(moving=True) cannot; leave moving out")
        self.keep_newest(size + 1)  # an event that leaves is there until it is subtracted
        self._memory.slides = True
        if self.discretizer is not None:
            self.discretizer.slides = True

    # -- merging ----------------------------------------------------------------------------------------------------

    def merge(self, other: CountStore) -> None:
        """Add everything another store holds, by name. The older of two fading stores is aged first.

        Raises `CannotMerge` or `BudgetExceeded` with nothing changed.
        """
        if (self.tables.half_life, self.tables.timed, self.order) != (
            other.tables.half_life,
            other.tables.timed,
            other.order,
        ):
            raise CannotMerge("only stores of the same order and half_life can be merged")
        self._add(other, None)

    def add_prior(self, other: CountStore, weight: float) -> None:
        """Add everything another store holds, by name, its weights scaled to a sum of `weight` fresh samples.

        Raises an error with nothing changed where names that were declared do not fit, and where cuts would be set from
        events of the other one.
        """
        total = math.fsum(other.tables.class_weight)
        if not total > 0.0:
            raise BadValue("the prior has learned nothing; teach it events first")
        if self.order != other.order:
            raise CannotMerge(f"the prior counts in order {other.order}, this learner in order {self.order}")
        if self.tables.timed and not self.tables.has_time:
            raise NotSupported(
                "half_life in stream time: it is not set from when the prior fades; call advance_to(time) first"
            )
        if other.discretizer is not None and len(other.discretizer.kept_events):
            raise CannotMerge(
                "the prior keeps its first events until its cut points are final: teach it more, declare them in a "
                "schema, Numeric(cuts=[...]), or lower binning.window"
            )
        check_names_fit(self.encoder, other.encoder)
        self._add(other, weight * self.tables.unit / total)

    def _add(self, other: CountStore, factor: float | None) -> None:
        """Add everything another store holds, times a factor; without one its weights are aged to the clock here."""
        if self.window is not None:
            raise CannotMerge(
                "what is counted from the recent events depends on their order, which merging would not keep"
            )
        if self.cuts_move or other.cuts_move:
            raise CannotMerge("with Binning(moving=True) each learner sets cuts of its own; leave moving out")
        mine, theirs = self.discretizer, other.discretizer
        if mine is not None and theirs is not None:
            mine.check_merge(theirs)
        merge_names(self.encoder, other.encoder)
        self.make_room(
            bool(other.tables.exact) and factor in (None, 1.0),
            lambda families: configurations_met(self.encoder, families, other.encoder, other.tables.families),
        )
        if mine is not None and theirs is not None:
            mine.adopt(theirs)
        if factor is None:
            merge_tables(self.encoder, self.tables, other.encoder, other.tables)
        else:
            add_tables(self.encoder, self.tables, other.encoder, other.tables, factor)
        if mine is not None and theirs is not None:
            mine.join(theirs)

    # -- reading and keeping ------------------------------------------------------------------------------------------

    def by_name(self) -> dict[tuple[Any, ...], float]:
        """Return weights above 0 by names, in fresh samples: `{(label,): n, (feature, value, label): n, ...}`.

        Pairs are under `(feature, value, feature, value, label)`, in the order of names; numeric features under
        `(feature, label)` as (weight, mean, sum of squared deviations). Two stores that hold the same are equal here.
        """
        return weights_by_name(self.encoder, self.tables)

    def content(self) -> StoreContent:
        """Return everything held now, for a snapshot: `content().state()` may be written while this store goes on."""
        parts: dict[str, Any] = {} if self.discretizer is None else {"bins": self.discretizer.state()}
        arrays = table_arrays(self.encoder, self.tables)
        if self.window is not None:
            arrays |= self.window.arrays()
        if self.tables.families is not None:
            parts["families"] = families_state(self.tables.families)
            arrays |= families_arrays(self.tables.families, self.encoder)
        clock = {"order": self.order} | clock_state(self.tables)
        return StoreContent(clock, Names.of(self.encoder), parts, arrays)

    def state(self) -> dict[str, Any]:
        """Return everything held as JSON values under "meta" and arrays under "arrays"; `load` is the inverse."""
        return self.content().state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty store of the same configuration from a state. Raise `BadState` for an invalid one."""
        with refusing_bad_state():
            meta, arrays = state["meta"], state["arrays"]
            expect(meta["order"] == self.order, f"it holds counts of order {meta['order']}, not {self.order}")
            load_names(self.encoder, meta)
            if self.discretizer is not None:
                self.discretizer.load(meta["bins"])
            load_clock(self.tables, meta)
            check_shapes(self.encoder, self.order, arrays, self.tables.co_moments is not None)
            self._growth.take_room_for_names()
            beside = {name for name in arrays if name.startswith(("window_", "family_"))}
            load_arrays(self.encoder, self.tables, {n: a for n, a in arrays.items() if n not in beside})
            read = self._load_events(arrays) | self._load_families(meta, arrays)
            expect(read == beside, f"its arrays hold {sorted(beside)}, expected {sorted(read)}")

    def _load_events(self, arrays: Mapping[str, Array]) -> set[str]:
        if self.window is None:
            return set()
        self.window.load(arrays, int(self.tables.clock))
        expect(not self.slides or len(self.window) < self.window.size, "it holds more events than it may")
        return set(self.window.arrays())

    def _load_families(self, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> set[str]:
        if "families" not in meta:
            return set()
        codes = self._memory.codes_of_families()
        self.tables.families = load_families(self.tables, self.encoder, meta["families"], arrays, codes)
        return set(families_arrays(self.tables.families, self.encoder))

    @classmethod
    def from_state(cls, state: Mapping[str, Any], encoder: Encoder, **settings: Any) -> CountStore:
        """Return a store over a fresh encoder, with the settings of the saved one, filled from its state."""
        store = cls(encoder, **settings)
        store.load(state)
        return store
