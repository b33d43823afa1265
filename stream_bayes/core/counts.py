"""The count store: names, tables and clock of a learner, as one thing that adds, takes back, merges and fades.

A store of order 1 counts (class, value); order 2 counts (class, value, value) too. Whatever is learned is learned
here; what is predicted from it is a reading's business.

State, as `state()` gives it::

    {"meta": {"order": 1, "clock": 12, "origin": 0, "exact": true, "labels": ["no", "yes"],
              "features": [["sky", "nominal"], ["wind", "numeric"]],     in the order they were met
              "vocabularies": [["grey", {"int": "3"}]], "other": [false]},
     "arrays": {"class_weight": (C,), "weight": (codes, C), "present": (features, C), "pairs": (cells, C), ...}}

Tables are written without their spare room: codes of the first feature, then of the second, classes innermost; of
pairs the triangle that `_tables` draws. `samples` arrays are there unless all weights were whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._encoding import BagEncoder, RowEncoder, Vocabulary
from stream_bayes.core._tables import Gaussians, Layout, PairCounts, Tables, ValueCounts
from stream_bayes.core.values import OTHER, Value, tagged_many, untagged_many
from stream_bayes.errors import BadState, BadWeight, BudgetExceeded, CannotMerge, NotLearned

__all__ = ["CountStore"]

Array = NDArray[Any]

NAME_BYTES = 96  # a code's share of its dict, its int, and the slack of both; the name itself is the user's
SMALLEST_ROOM = 4
SPARE_FEATURES = 4  # one more for each so many, so that features met one by one do not move the tables each time


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
    Memory: 8 bytes for each class and value (16 with fractional weights or fading), 24 for each class and numeric
    feature, in order 2 also 8 for each class and pair of values, with up to as much again as room to grow; and about
    96 bytes a value for its name's code.

    Examples
    --------
    >>> from stream_bayes.core._encoding import RowEncoder, Vocabulary
    >>> store = CountStore(RowEncoder(Vocabulary()))
    >>> store.learn({"sky": "grey"}, "rain")
    >>> store.learn({"sky": "blue"}, "sun", 2.0)
    >>> store.by_name()["sky", "blue", "sun"]
    2.0
    """

    def __init__(
        self,
        encoder: RowEncoder | BagEncoder,
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
        self._used: Array = np.zeros(0, np.longlong)
        self._rebuild(*self._sizes())

    # -- one event at a time ------------------------------------------------------------------------------------------

    def learn(self, x: Mapping[Any, Any], y: object, weight: float = 1.0) -> None:
        """Encode a sample and add it: all of it, or, where anything is refused, nothing."""
        row = self.encoder.encode(x, y, weight)
        if self.encoder.created:
            self.make_room(row.weight)
        self.tables.add(row)

    def unlearn(self, x: Mapping[Any, Any], y: object, weight: float = 1.0, at: int | None = None) -> None:
        """Take back exactly what learning the same sample added when the clock stood `at`."""
        row = self.encoder.unlearned(x, y, weight)
        self.forget(row, at)

    def forget(self, row: Any, at: int | None = None) -> None:
        """Take an encoded row back."""
        tables = self.tables
        if at is not None and (isinstance(at, bool) or not isinstance(at, int) or not 0 <= at <= tables.clock):
            raise NotLearned(f"nothing was learned at {at!r}: the clock stands at {tables.clock}")
        failed = tables.forget(row, tables.unit if at is None else tables.unit_at(at))
        if failed != -1:
            raise NotLearned(f"cannot unlearn {self._name_of(row, failed)}: no such sample is held")

    def advance(self, events: int) -> None:
        """Let time pass: so many events happened that were not learned here."""
        if isinstance(events, bool) or not isinstance(events, int) or events < 0:
            raise BadWeight(f"advance takes a whole number of events of at least 0, not {events!r}")
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
        vocabulary = self._vocabularies()[row.feature[failed]]
        value = vocabulary.values[row.code[failed]]
        amount = row.amount[failed] * row.weight
        if isinstance(self.encoder, BagEncoder):
            return f"{amount} of token {value!r} in class {label!r}"
        name = self.encoder.nominal[row.feature[failed]].name
        return f"{name!r} = {value!r} with weight {amount} in class {label!r}"

    # -- room -------------------------------------------------------------------------------------------------------

    def make_room(self, weight: float = 1.0) -> None:
        """Let the tables follow what the encoder has just created, or take it back: for lack of budget, or
        because a sample of weight 0 names nothing."""
        encoder = self.encoder
        if weight == 0.0:
            encoder.rollback()
            return
        try:
            if not self._fits():
                self._grow()
        except BudgetExceeded:
            encoder.rollback()
            raise
        encoder.created.clear()
        self.tables.labels = len(encoder.labels)

    def _vocabularies(self) -> list[Vocabulary]:
        """The vocabulary of each run of positions."""
        if isinstance(self.encoder, BagEncoder):
            return [self.encoder.tokens]
        return [feature.vocabulary for feature in self.encoder.nominal]

    def _numeric_features(self) -> int:
        return 0 if isinstance(self.encoder, BagEncoder) else len(self.encoder.numeric)

    def _sizes(self) -> tuple[Array, Array]:
        """How many codes each feature has, and how many of them were declared."""
        vocabularies = self._vocabularies()
        used = np.fromiter((len(v) for v in vocabularies), np.longlong, len(vocabularies))
        declared = np.fromiter((v.declared for v in vocabularies), np.longlong, len(vocabularies))
        return used, declared

    def _fits(self) -> bool:
        """Whether new codes have room where they are; looks only at what is new."""
        layout = self.tables.values.layout
        if len(self.encoder.labels) > layout.classes:
            return False
        for made in self.encoder.created:
            if not isinstance(made, Vocabulary):
                return False  # a new feature
            if made.slot >= 0:
                if made.slot >= layout.features or len(made) > layout.room[made.slot]:
                    return False
                if self.memory_budget is not None:
                    self._check_budget(layout, 1)
                layout.used[made.slot] = len(made)
        return True

    def _grow(self) -> None:
        """Move to a layout with room for everything, half as large again where the budget allows it."""
        used, declared = self._sizes()
        layout = self.tables.values.layout
        old_room = np.asarray(layout.room)[: len(used)]
        room = np.maximum(used, SMALLEST_ROOM)
        room[: len(old_room)] = np.where(used[: len(old_room)] > old_room, 2 * room[: len(old_room)], old_room)
        if len(old_room) and (used[: len(old_room)] > old_room).any() and room.sum() < 1.5 * old_room.sum():
            room = np.where(2 * used > room, np.maximum(2 * used, room), room)  # the next to overflow
        spare = len(used) // SPARE_FEATURES if 0 < layout.features < len(used) else 0
        try:
            self._rebuild(used, declared, room, spare)
        except BudgetExceeded:
            self._rebuild(used, declared, used, 0)

    def _rebuild(self, used: Array, declared: Array, room: Array | None = None, spare: int = 0) -> None:
        """Move everything into new tables."""
        classes = 2
        while classes < len(self.encoder.labels):
            classes *= 2
        room = used if room is None else room
        wide = np.concatenate([room, np.full(spare, SMALLEST_ROOM)]).astype(np.longlong)
        padding = np.zeros(spare, np.longlong)
        layout = Layout(np.concatenate([used, padding]), wide, np.concatenate([declared, padding]), classes)
        self._check_budget(layout, 0)
        self._move(layout, self._numeric_features())

    def _move(self, layout: Layout, numeric: int) -> None:
        tables = self.tables
        old = tables.values
        classes = layout.classes
        values = ValueCounts(layout, tables.exact)
        pairs = PairCounts(layout) if self.order >= 2 else None
        gaussians = Gaussians(numeric, classes, tables.exact)
        class_weight = np.zeros(classes)
        class_samples = class_weight if tables.exact else np.zeros(classes)
        if old is not None:
            kept = old.layout.classes
            held = np.asarray(old.layout.used)[: layout.features]
            here, there = layout.positions_of(held), old.layout.positions_of(held)
            runs = min(layout.features, old.layout.features)
            for new, now, rows, old_rows in (
                (values.weight, old.weight, here, there),
                (values.samples, old.samples, here, there),
                (values.present, old.present, slice(runs), slice(runs)),
                (values.present_samples, old.present_samples, slice(runs), slice(runs)),
                *(
                    (
                        getattr(gaussians, name),
                        getattr(tables.gaussians, name),
                        slice(tables.gaussians.features),
                        slice(None),
                    )
                    for name in ("weight", "samples", "mean", "m2")
                ),
            ):
                _grid(new, classes)[rows, :kept] = _grid(now, kept)[old_rows]
            class_weight[:kept] = tables.class_weight
            class_samples[:kept] = tables.class_samples
            values.recount()
            if pairs is not None:
                targets = np.zeros(old.layout.positions, np.longlong)
                targets[there] = here
                pairs.pour(tables.pairs, targets, np.arange(kept, dtype=np.longlong), 1.0)
        if self._histogram and tables.exact:
            values.rebuild_histogram()
        tables.values, tables.pairs, tables.gaussians = values, pairs, gaussians
        tables.class_weight, tables.class_samples = class_weight, class_samples
        tables.labels = len(self.encoder.labels)

    def _bytes(self, layout: Layout, codes: int) -> int:
        """What a store of this layout takes, names included."""
        columns = 1 if self.tables.exact else 2
        cells = layout.classes * (columns * (layout.positions + layout.features + 1))
        cells += layout.classes * (2 + columns) * self._numeric_features()
        if self.order >= 2:
            cells += layout.classes * layout.pairs
        small = layout.positions * (1 + (4 * layout.classes if self._histogram else 0))
        return 8 * cells + small + NAME_BYTES * (codes + layout.features + self._numeric_features())

    def _check_budget(self, layout: Layout, more: int) -> None:
        if self.memory_budget is None:
            return
        need = self._bytes(layout, int(np.asarray(layout.used).sum()) + more)
        if need > self.memory_budget:
            raise BudgetExceeded(
                f"the tables would need {need:,} bytes, the budget is {self.memory_budget:,}; raise memory_budget, "
                "bound the values with max_values, or learn fewer features"
            )

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables and of the codes of names; the names themselves are not counted."""
        layout = self.tables.values.layout
        return self._bytes(layout, int(np.asarray(layout.used).sum()))

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
            factor = 1.0 / theirs.unit_at(mine.clock) if mine.clock - theirs.origin < 1000 * mine.half_life else 0.0
        labels = np.array([self.encoder.labels.lookup(y) for y in other.encoder.labels.values], np.longlong)
        _add(mine.class_weight, theirs.class_weight, 1, labels, factor=factor)
        self._merge_values(other, runs, labels, factor)
        self._merge_numbers(other, labels, factor)

    def _merge_names(self, other: CountStore) -> list[int]:
        """Give everything the other store names a code here; where its runs are here."""
        encoder, runs = self.encoder, []
        encoder.rollback()
        try:
            for y in other.encoder.labels.values:
                encoder.name_label(y)
            if isinstance(encoder, BagEncoder):
                _merge_vocabulary("the bag of words", encoder.tokens, other.encoder.tokens, encoder.created)
                return [0]
            for feature in other.encoder.features.values():
                own = encoder.name_feature(feature.name, feature.numeric)
                if own.numeric != feature.numeric:
                    raise CannotMerge(f"feature {feature.name!r} is nominal in one learner and numeric in the other")
            for feature in other.encoder.nominal:
                own = encoder.features[feature.name]
                runs.append(own.slot)
                _merge_vocabulary(f"feature {feature.name!r}", own.vocabulary, feature.vocabulary, encoder.created)
        except BaseException:
            encoder.rollback()
            raise
        return runs

    def _merge_values(self, other: CountStore, runs: list[int], labels: Array, factor: float) -> None:
        mine, theirs = self.tables.values, other.tables.values
        targets = np.zeros(theirs.layout.positions, np.longlong)
        positions = theirs.layout.positions_of(np.asarray(theirs.layout.used)[: len(runs)])
        own = self._vocabularies()
        targets[positions] = np.fromiter(
            (
                mine.layout.start[run] + own[run].index[value]
                for run, vocabulary in zip(runs, other._vocabularies(), strict=True)
                for value in vocabulary.index
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
        if not theirs.features:
            return
        rows = np.array([self.encoder.features[feature.name].slot for feature in other.encoder.numeric])
        grid = np.ix_(rows, labels)
        there = {name: _grid(getattr(theirs, name), theirs.classes)[:, : len(labels)] for name in _MOMENTS}
        here = {name: _grid(getattr(mine, name), mine.classes) for name in _MOMENTS}
        weight = here["weight"][grid] + factor * there["weight"]
        share = np.divide(factor * there["weight"], weight, out=np.zeros_like(weight), where=weight > 0)
        away = there["mean"] - here["mean"][grid]
        # Chan, Golub and LeVeque: the means part by `away`, which adds to the squared deviations.
        here["m2"][grid] += factor * there["m2"] + here["weight"][grid] * share * away * away
        here["mean"][grid] += away * share
        if mine.exact:
            here["weight"][grid] = weight
        else:
            here["samples"][grid] += there["samples"]
            here["weight"][grid] = weight

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
        weight = _grid(tables.values.weight, layout.classes)
        runs = [
            (None if isinstance(self.encoder, BagEncoder) else self.encoder.nominal[run].name, vocabulary.values)
            for run, vocabulary in enumerate(self._vocabularies())
        ]
        places = []
        for run, (name, values) in enumerate(runs):
            for code, value in enumerate(values):
                position = layout.start[run] + code
                places.append((run, position, (value,) if name is None else (name, value)))
                for y in np.flatnonzero(weight[position]):
                    named[(*places[-1][2], labels[y])] = float(weight[position, y]) / unit
        if tables.pairs is not None:
            self._pairs_by_name(named, places, labels)
        for feature in self._numeric_names():
            for code, label in enumerate(labels):
                cell = feature[1] * layout.classes + code
                numbers = tables.gaussians
                if numbers.weight[cell] > 0:
                    moments = (numbers.weight[cell] / unit, numbers.mean[cell], numbers.m2[cell] / unit)
                    named[feature[0], label] = moments
        return named

    def _numeric_names(self) -> list[tuple[Any, int]]:
        if isinstance(self.encoder, BagEncoder):
            return []
        return [(feature.name, feature.slot) for feature in self.encoder.numeric]

    def _pairs_by_name(self, named: dict[tuple[Any, ...], Any], places: list[Any], labels: list[Value]) -> None:
        layout = self.tables.pairs.layout
        weight = _grid(self.tables.pairs.weight, layout.classes)
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
        tables, encoder = self.tables, self.encoder
        labels = len(encoder.labels)
        used, declared = self._sizes()
        values, layout = tables.values, tables.values.layout
        positions = layout.positions_of(used)

        def table(flat: Any, rows: Any = slice(None), classes: int = layout.classes) -> Array:
            return np.ascontiguousarray(_grid(flat, classes)[rows][:, :labels])

        arrays = {
            "class_weight": np.array(tables.class_weight)[:labels],
            "weight": table(values.weight, positions),
            "present": table(values.present, slice(len(used))),
        }
        if tables.pairs is not None:
            compact = Layout(used, used, declared, max(labels, 1))
            pairs = PairCounts(compact)
            targets = np.zeros(layout.positions, np.longlong)
            targets[positions] = np.arange(len(positions))
            pairs.pour(tables.pairs, targets, np.arange(labels, dtype=np.longlong), 1.0)
            arrays["pairs"] = table(pairs.weight, classes=compact.classes)
        if tables.gaussians.features:
            for name in ("weight", "mean", "m2"):
                arrays[f"numeric_{name}"] = table(getattr(tables.gaussians, name))
        if not tables.exact:
            arrays["class_samples"] = np.array(tables.class_samples)[:labels]
            arrays["samples"] = table(values.samples, positions)
            arrays["present_samples"] = table(values.present_samples, slice(len(used)))
            if tables.gaussians.features:
                arrays["numeric_samples"] = table(tables.gaussians.samples)
        return {"meta": self._names_state(), "arrays": arrays}

    def _names_state(self) -> dict[str, Any]:
        encoder, vocabularies = self.encoder, self._vocabularies()
        features = [] if isinstance(encoder, BagEncoder) else list(encoder.features.values())
        return {
            "order": self.order,
            "clock": self.tables.clock,
            "origin": self.tables.origin,
            "exact": bool(self.tables.exact),
            "labels": tagged_many(encoder.labels.values),
            "features": tagged_many([feature.name for feature in features]),
            "numeric": [bool(feature.numeric) for feature in features],
            "vocabularies": [tagged_many(v.values[: -1 if OTHER in v.index else None]) for v in vocabularies],
            "other": [OTHER in v.index for v in vocabularies],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty store of the same configuration from a state; whatever is wrong with it raises `BadState`."""
        try:
            self._load(state["meta"], state["arrays"])
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            if isinstance(error, BadState):
                raise
            raise BadState(f"the state is truncated or was altered: {type(error).__name__}: {error}") from error

    def _load(self, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        encoder, tables = self.encoder, self.tables
        expect(meta["order"] == self.order, f"it holds counts of order {meta['order']}, not {self.order}")
        _load_names(encoder, meta)
        vocabularies = self._vocabularies()
        expect(len(vocabularies) == len(meta["vocabularies"]) == len(meta["other"]), "a vocabulary is missing")
        for vocabulary, values, other in zip(vocabularies, meta["vocabularies"], meta["other"], strict=True):
            _load_vocabulary(vocabulary, untagged_many(values), other)
        clock, origin = meta["clock"], meta["origin"]
        expect(type(clock) is int and type(origin) is int and 0 <= origin <= clock < 2**62, "its clock is no clock")
        expect(tables.half_life > 0 or origin == 0, "it fades, the learner does not")
        if not meta["exact"]:
            tables.leave_exact()
        expect(tables.exact == meta["exact"], "it lacks the sample counts that fading needs")
        tables.clock, tables.origin = clock, origin
        tables.unit = tables.unit_at(clock) if (clock - origin) <= 256 * (tables.half_life or np.inf) else np.inf
        expect(np.isfinite(tables.unit), "its clock is far from its origin")
        self._rebuild(*self._sizes())
        self._load_arrays(arrays)

    def _load_arrays(self, arrays: Mapping[str, Array]) -> None:
        tables, labels = self.tables, len(self.encoder.labels)
        used, declared = self._sizes()
        values, layout = tables.values, tables.values.layout
        compact = Layout(used, used, declared, max(labels, 1))
        numeric = tables.gaussians.features
        shapes: dict[str, tuple[Any, tuple[int, ...], Any]] = {
            "class_weight": (_grid(tables.class_weight, 1), (labels,), slice(labels)),
            "weight": (_grid(values.weight, layout.classes), (int(used.sum()), labels), slice(None)),
            "present": (_grid(values.present, layout.classes), (len(used), labels), slice(None)),
        }
        if numeric:
            for name in ("weight", "mean", "m2"):
                grid = _grid(getattr(tables.gaussians, name), layout.classes)
                shapes[f"numeric_{name}"] = (grid, (numeric, labels), slice(None))
        if not tables.exact:
            shapes["class_samples"] = (_grid(tables.class_samples, 1), (labels,), slice(labels))
            shapes["samples"] = (_grid(values.samples, layout.classes), (int(used.sum()), labels), slice(None))
            shapes["present_samples"] = (_grid(values.present_samples, layout.classes), (len(used), labels), slice(None))
            if numeric:
                grid = _grid(tables.gaussians.samples, layout.classes)
                shapes["numeric_samples"] = (grid, (numeric, labels), slice(None))
        names = set(shapes) | ({"pairs"} if self.order >= 2 else set())
        expect(set(arrays) == names, f"its arrays are {sorted(arrays)}, expected {sorted(names)}")
        for name, (grid, shape, rows) in shapes.items():
            checked = _checked(name, arrays[name], shape)
            if len(shape) == 1:
                grid[rows, 0] = checked
            else:
                grid[rows, :labels] = checked
        values.recount()
        if values.histogram is not None:
            values.rebuild_histogram()
        if tables.pairs is not None:
            saved = PairCounts(compact)
            saved.weight = np.ascontiguousarray(_checked("pairs", arrays["pairs"], (compact.pairs, labels))).reshape(-1)
            if labels:
                targets = layout.positions_of(used)
                tables.pairs.pour(saved, targets, np.arange(labels, dtype=np.longlong), 1.0)


_MOMENTS = ("weight", "samples", "mean", "m2")


def _grid(flat: Any, classes: int) -> Array:
    """A flat table as a view with a row a cell and a column a class."""
    return np.asarray(flat).reshape(-1, classes)


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
    source = _grid(theirs, there)[their_rows][:, : len(labels)]
    _grid(own, here)[np.ix_(rows, labels)] += factor * source


def _merge_vocabulary(what: str, mine: Vocabulary, theirs: Vocabulary, created: list[Any]) -> None:
    """Give each value of another vocabulary a code here. Where values would share one, the order of events decided
    which, so there is no merging."""
    if mine.limit is not None:
        union = len({*mine.index, *theirs.index})
        if OTHER in mine.index or OTHER in theirs.index or union > mine.limit:
            raise CannotMerge(
                f"{what} has passed max_values={mine.limit}, or would by merging: which values share <other> depends "
                "on the order of events, so these learners cannot be merged"
            )
    for value in theirs.index:
        if value not in mine.index:
            mine.add(value)
            created.append(mine)


def expect(condition: bool, message: str) -> None:
    """Raise `BadState` unless the condition holds."""
    if not condition:
        raise BadState(f"the state does not fit: {message}")


def _load_names(encoder: RowEncoder | BagEncoder, meta: Mapping[str, Any]) -> None:
    _load_vocabulary(encoder.labels, untagged_many(meta["labels"]), False)
    names, kinds = untagged_many(meta["features"]), meta["numeric"]
    expect(len(names) == len(kinds) == len(set(names)), "its features are not distinct")
    expect(all(type(kind) is bool for kind in kinds), "a feature is neither nominal nor numeric")
    if isinstance(encoder, BagEncoder):
        expect(not names, "a bag of words has no named features")
        return
    known = [(feature.name, bool(feature.numeric)) for feature in encoder.features.values()]
    given = list(zip(names, kinds, strict=True))
    expect(given[: len(known)] == known, "its features are not the declared ones")
    expect(not encoder.declared or len(given) == len(known), "it has features that are not declared")
    for name, numeric in given[len(known) :]:
        encoder.name_feature(name, numeric)
    encoder.created.clear()


def _load_vocabulary(vocabulary: Vocabulary, values: list[Value], other: object) -> None:
    declared = vocabulary.values
    expect(type(other) is bool, "a vocabulary's mark of shared values is neither true nor false")
    expect(len(set(values)) == len(values), "a vocabulary names a value twice")
    expect(values[: len(declared)] == declared, f"it does not begin with the declared values {declared!r}")
    expect(not vocabulary.closed or len(values) == len(declared), "it holds values beyond the declared ones")
    expect(vocabulary.limit is None or len(values) <= vocabulary.limit, "it holds more values than max_values")
    expect(not other or len(values) == vocabulary.limit, "values share <other> before max_values was reached")
    for value in values[len(declared) :]:
        vocabulary.add(value)
    if other:
        vocabulary.add(OTHER)


def _checked(name: str, array: object, shape: tuple[int, ...]) -> Array:
    """An array of a state, once it cannot do any harm."""
    expect(isinstance(array, np.ndarray), f"{name} is no array")
    assert isinstance(array, np.ndarray)
    expect(array.dtype == np.float64, f"{name} has dtype {array.dtype}, expected float64")
    expect(array.shape == shape, f"{name} has shape {array.shape}, expected {shape}")
    expect(bool(np.isfinite(array).all()), f"{name} holds numbers that are not finite")
    if name != "numeric_mean":
        expect(bool((array >= 0).all()), f"{name} holds negative numbers")
    if name.endswith("samples"):
        expect(bool((array == np.floor(array)).all()), f"{name} holds fractions of samples")
    return array
