r"""A count store's names and clock as JSON values, and back, with everything checked; its tables: `tables_state`.

{"meta": {"order": 1, "clock": 12, "origin": 0, "exact": true, "labels": ["no", "yes"],
          "features": ["sky", "wind"], "numeric": [false, true],     in the order they were met
          "vocabularies": ["grey\nblue"], "other": [false]},
 "arrays": {"class_weight", "class_peak": (1, C), "weight": (codes, C), "present": (features, C),
            "pairs", "triples": (cells, C), "beside": (codes * features, C),
            "numeric_weight", "numeric_peak", "numeric_last": (numeric, C), "numeric_sums": (numeric * 8, C),
            "co_products": (pairs of numeric * 3, C), "co_beside": (pairs of numeric * 9, C)}}

A count store's tables as arrays, and back, with everything checked.

Tables are written without their spare room: the codes of the first feature, then of the second, classes innermost;
of pairs the triangle that `_layout` draws, of triples the tetrahedron. Arrays of samples are there unless all weights
were whole, `beside` and `co_beside` where the store has them. The kernels run unchecked, so nothing enters the tables
from here that was not looked at.

Copying is what a stream waits for. Tables that were loaded have no spare room: they are filled as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._layout import Layout, gather, gather_pairs
from stream_bayes.core.counts._moments import ROWS_BESIDE, ROWS_OF_FEATURE, ROWS_OF_PRODUCT
from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder, RowEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import OTHER, Value, packed, tagged_many, unpacked, untagged_many
from stream_bayes.errors import BadState

__all__ = [
    "CO_MOMENTS",
    "MOMENTS",
    "SAMPLES_OF",
    "Names",
    "check_shapes",
    "clock_state",
    "grid",
    "load_arrays",
    "load_clock",
    "load_names",
    "sizes",
    "table_arrays",
    "vocabularies",
]

Array = NDArray[Any]

# The arrays of numeric features and of their pairs, with the rows of each of these; samples only where they differ.
MOMENTS = {"weight": 1, "peak": 1, "last": 1, "sums": ROWS_OF_FEATURE, "samples": 1}
CO_MOMENTS = {"products": ROWS_OF_PRODUCT, "beside": ROWS_BESIDE}
SAMPLES_OF = {  # which weights each array of samples belongs to
    "class_samples": "class_weight",
    "samples": "weight",
    "present_samples": "present",
    "numeric_samples": "numeric_weight",
}
MOST_HALF_LIVES = 256  # between origin and clock: the tables are rescaled before


def grid(flat: Any, classes: int) -> Array:
    """Return a flat table as a view, a row a cell and a column a class."""
    return np.asarray(flat).reshape(-1, classes)


def vocabularies(encoder: Encoder) -> list[Vocabulary]:
    """Return the vocabulary of each run of positions."""
    return [feature.vocabulary for feature in encoder.nominal]


def sizes(encoder: Encoder) -> tuple[Array, Array]:
    """Return the number of codes of each nominal feature, and of those that were declared."""
    runs = vocabularies(encoder)
    used = np.array([*map(len, runs)], np.longlong)
    declared = np.array([vocabulary.declared for vocabulary in runs], np.longlong)
    return used, declared


def clock_state(tables: Tables) -> dict[str, Any]:
    """Return the time, and the half-life at which the tables' present scale began."""
    clock = {"clock": tables.clock, "origin": int(tables.origin), "exact": bool(tables.exact)}
    return clock | {"time": int(tables.time) if tables.has_time else None} if tables.timed else clock


def load_clock(tables: Tables, meta: Mapping[str, Any]) -> None:
    """Set empty tables to a saved time."""
    clock, origin, exact = meta["clock"], meta["origin"], meta["exact"]
    expect(type(clock) is int and 0 <= clock < 2**62, "its clock is invalid")
    expect(type(origin) is int and abs(origin) < 2**73, "its origin is invalid")
    expect(type(exact) is bool, "it does not say whether its counts are exact")
    expect(not (exact and tables.half_life), "it lacks the sample counts that fading needs")
    expect(tables.timed or origin >= 0, "its origin is negative")
    expect(bool(tables.half_life) or origin == 0, "it fades, the learner does not")
    if not tables.half_life and not exact:
        tables.leave_exact()
    tables.clock = clock
    if not tables.timed or _load_time(tables, meta["time"], origin):
        tables.origin = origin
        tables.unit = tables.unit_at(tables.time if tables.timed else clock)
        expect(0.0 < tables.unit <= 2.0**MOST_HALF_LIVES, "its clock is too far from its origin")
        expect(not tables.half_life or tables.unit >= 1.0, "its origin is after its clock")


def _load_time(tables: Tables, time: object, origin: int) -> bool:
    """Set empty tables that fade by time to a saved time; return False if they have none."""
    if time is None:
        expect(origin == 0, "it has a unit, and no time")
        return False
    if type(time) is not int or abs(time) >= 2**61:
        raise BadState(f"the state does not fit: its time is {time!r}")
    tables.has_time, tables.time = True, time
    return True


class Names(NamedTuple):
    """Labels, features and vocabularies in the order of their codes, as they were at one moment.

    Nothing is copied. A value's code never changes and lists of values only grow, so a list's former length identifies
    its former contents; and copying a million references to strings takes longer than copying their counts.
    """

    labels: tuple[list[Value], int]
    features: list[tuple[Value, bool]]
    vocabularies: list[tuple[list[Value], int]]
    other: list[bool]

    @classmethod
    def of(cls, encoder: Encoder) -> Self:
        """Return the names that an encoder has now."""
        runs = vocabularies(encoder)
        return cls(
            (encoder.labels.values, len(encoder.labels)),
            [(feature.name, bool(feature.measured)) for feature in encoder.features.values()],
            [(v.values, v.other if v.other >= 0 else len(v)) for v in runs],
            [v.other >= 0 for v in runs],
        )

    def state(self) -> dict[str, Any]:
        """Return the names as JSON values."""
        return {
            "labels": tagged_many(self.labels[0][: self.labels[1]]),
            "features": tagged_many(name for name, _ in self.features),
            "numeric": [numeric for _, numeric in self.features],
            "vocabularies": [packed(values[:length]) for values, length in self.vocabularies],
            "other": self.other,
        }


def load_names(encoder: Encoder, meta: Mapping[str, Any]) -> None:
    """Create the codes of all names of a state in a fresh encoder."""
    _load_vocabulary(encoder.labels, untagged_many(meta["labels"]), False)
    names, kinds = untagged_many(meta["features"]), meta["numeric"]
    expect(len(names) == len(kinds) == len(set(names)), "its features are not distinct")
    expect(all(type(kind) is bool for kind in kinds), "a feature is neither nominal nor numeric")
    declared = [(feature.name, bool(feature.measured)) for feature in encoder.features.values()]
    saved = list(zip(names, kinds, strict=True))
    expect(saved[: len(declared)] == declared, "its features are not the declared ones")
    for name, numeric in saved[len(declared) :]:
        may_come = isinstance(encoder, RowEncoder) and encoder.may_gain(name, numeric)
        expect(may_come, "it has features that are not declared")
        encoder.name_feature(name, numeric)
    encoder.created.clear()
    runs = vocabularies(encoder)
    expect(len(runs) == len(meta["vocabularies"]) == len(meta["other"]), "a vocabulary is missing")
    for vocabulary, values, other in zip(runs, meta["vocabularies"], meta["other"], strict=True):
        _load_vocabulary(vocabulary, unpacked(values), other)


def _load_vocabulary(vocabulary: Vocabulary, values: list[Value], other: object) -> None:
    declared = list(vocabulary.values)
    expect(type(other) is bool, "a vocabulary's mark of shared values is neither true nor false")
    expect(values[: len(declared)] == declared, f"it does not begin with the declared values {declared!r}")
    expect(not vocabulary.closed or len(values) == len(declared), "it holds values beyond the declared ones")
    expect(
        vocabulary.limit is None or len(values) <= vocabulary.limit, "it holds more values than max_values"
    )
    expect(not other or len(values) == vocabulary.limit, "values share <other> before max_values was reached")
    expect(vocabulary.restore(values), "a vocabulary names a value twice")
    if other:
        vocabulary.insert(OTHER)


ANY_SIGN = ("numeric_sums", "co_products", "co_beside")
FRACTIONS = ("class_peak", "numeric_peak", "numeric_last", *ANY_SIGN)  # also of whole weights
ROUNDING = 1e-9  # of the largest magnitude held: what is promised of floats
LARGEST_NUMBER = 1e100  # an encoder takes no larger one
MOST_ROUNDING = 1e-6  # of a sum: the second and third of its doubles, after 1e10 samples
UNDERFLOW = 1e-290  # sums of so small products have no second double
AT_ONCE = 2**15  # numbers that stay in the cache while they are looked at twice


@dataclass(frozen=True)
class _Part:
    """A flat table, its number of classes, and the cells of it that are in use."""

    table: Any
    classes: int
    cells: slice | Array

    @property
    def size(self) -> int:
        """The number of cells in use."""
        if isinstance(self.cells, slice):
            return len(range(*self.cells.indices(len(self.table) // self.classes)))
        return len(self.cells)

    def copied(self, labels: int) -> Array:
        """Return a copy of the cells in use, without spare classes; the tables go on changing."""
        if isinstance(self.cells, slice):
            return np.array(grid(self.table, self.classes)[self.cells, :labels], order="C")
        out = np.empty((len(self.cells), labels))
        gather(self.table, self.cells, self.classes, out)
        return out

    def fill(self, array: Array) -> None:
        """Put an array into the cells in use."""
        grid(self.table, self.classes)[self.cells, : array.shape[1]] = array


@dataclass(frozen=True)
class _SparsePairs(_Part):
    """Pairs among spare room: their cells are found while they are copied, and not listed before."""

    layout: Layout
    used: Array

    @property
    def size(self) -> int:
        return int(Layout(self.used, self.used, self.used, 1).pairs)

    def copied(self, labels: int) -> Array:
        out = np.empty((self.size, labels))
        gather_pairs(self.table, self.layout, self.used, out)
        return out

    def fill(self, array: Array) -> None:
        grid(self.table, self.classes)[self.layout.pairs_of(self.used), : array.shape[1]] = array


@dataclass(frozen=True)
class _PairSums(_Part):
    """Sums of pairs of numbers, whose table has the classes outermost; `cells` are the pairs in use."""

    rows: int

    @property
    def size(self) -> int:
        return super().size * self.rows

    @property
    def by_pair(self) -> Array:
        """The table in use with the pairs outermost."""
        pairs = len(self.table) // (self.classes * self.rows)
        return np.asarray(self.table).reshape(self.classes, self.rows, pairs).transpose(2, 1, 0)[self.cells]

    def copied(self, labels: int) -> Array:
        return np.array(self.by_pair[:, :, :labels], order="C").reshape(self.size, labels)

    def fill(self, array: Array) -> None:
        shape = len(array) // self.rows, self.rows, array.shape[1]
        self.by_pair[:, :, : array.shape[1]] = array.reshape(shape)


def _parts(encoder: Encoder, tables: Tables) -> dict[str, _Part]:
    """Return the tables by name."""
    used, _ = sizes(encoder)
    values, layout, numbers = tables.values, tables.values.layout, tables.gaussians
    classes, runs = layout.classes, slice(len(used))
    compact = len(used) == layout.features and bool((np.asarray(layout.room) == used).all())
    positions = slice(layout.positions) if compact else layout.positions_of(used)
    parts = {
        "class_weight": _Part(tables.class_weight, len(tables.class_weight), slice(None)),
        "class_peak": _Part(tables.class_peak, len(tables.class_peak), slice(None)),
        "weight": _Part(values.weight, classes, positions),
        "present": _Part(values.present, classes, runs),
    }
    if not tables.exact:
        parts["class_samples"] = _Part(tables.class_samples, len(tables.class_samples), slice(None))
        parts["samples"] = _Part(values.samples, classes, positions)
        parts["present_samples"] = _Part(values.present_samples, classes, runs)
    if tables.pairs is not None:
        pairs = tables.pairs.weight
        parts["pairs"] = (
            _Part(pairs, classes, slice(layout.pairs))
            if compact
            else _SparsePairs(pairs, classes, slice(0), layout, used)
        )
        if tables.pairs.beside is not None:
            rows = layout.positions_of(used)[:, None] * layout.features
            parts["beside"] = _Part(tables.pairs.beside, classes, (rows + np.arange(len(used))).reshape(-1))
    if tables.triples is not None:
        triples = slice(layout.triples) if compact else layout.triples_of(used)
        parts["triples"] = _Part(tables.triples.weight, classes, triples)
    if encoder.numeric:
        for name, rows in MOMENTS.items():
            if name != "samples" or not tables.exact:
                measured = slice(len(encoder.numeric) * rows)
                parts[f"numeric_{name}"] = _Part(getattr(numbers, name), numbers.classes, measured)
    if tables.co_moments is not None:
        for name, rows in CO_MOMENTS.items():
            table, pairs_of_numbers = getattr(tables.co_moments, name), slice(_pairs(len(encoder.numeric)))
            if table is not None:
                parts[f"co_{name}"] = _PairSums(table, tables.co_moments.classes, pairs_of_numbers, rows)
    return parts


def _pairs(features: int) -> int:
    """Return the number of pairs of a number of features."""
    return features * (features - 1) // 2


def table_arrays(encoder: Encoder, tables: Tables) -> dict[str, Array]:
    """Return the tables without their spare room."""
    labels = len(encoder.labels)
    return {name: part.copied(labels) for name, part in _parts(encoder, tables).items()}


def check_shapes(encoder: Encoder, order: int, arrays: Mapping[str, Array], co_moments: bool) -> None:
    """Raise `BadState` for names without arrays of their shape, before any room is made for them."""
    used, _ = sizes(encoder)
    labels = len(encoder.labels)
    expect(
        np.shape(arrays["weight"]) == (int(used.sum()), labels),
        "its values do not match its table of weights",
    )
    expect(np.shape(arrays["present"]) == (len(used), labels), "its features do not match its tables")
    compact = Layout(used, used, used, 1)
    if order >= 2:
        expect(np.shape(arrays["pairs"]) == (compact.pairs, labels), "its values do not match its pairs")
    if order >= 3:
        expect(
            np.shape(arrays["triples"]) == (compact.triples, labels), "its values do not match its triples"
        )
    if co_moments:
        cells = _pairs(len(encoder.numeric))
        rows = cells * ROWS_OF_PRODUCT
        expect(np.shape(arrays["co_products"]) == (rows, labels), "its numbers do not match their co-moments")
    if encoder.numeric:
        expect(
            np.shape(arrays["numeric_weight"]) == (len(encoder.numeric), labels), "its numbers do not match"
        )


def load_arrays(encoder: Encoder, tables: Tables, arrays: Mapping[str, Array]) -> None:
    """Fill tables that have just the room for it."""
    labels = len(encoder.labels)
    if tables.pairs is not None and "beside" in arrays:
        tables.pairs.count_beside()
    if tables.co_moments is not None and "co_beside" in arrays:
        tables.co_moments.count_beside(tables.gaussians)
    expected = _parts(encoder, tables)
    expect(set(arrays) == set(expected), f"its arrays are {sorted(arrays)}, expected {sorted(expected)}")
    for name, part in expected.items():
        part.fill(_checked(name, arrays[name], (part.size, labels), exact=tables.exact))
    for name, weight in SAMPLES_OF.items():
        if name in expected:
            alone = (arrays[name] == 0) & (arrays[weight] > 0)
            expect(not bool(alone.any()), f"{weight} holds weight that no sample has")
    # A feature's weights, summed in another order than the class's, may round to a little more than these.
    most = np.asarray(tables.class_peak) * (1.0 if tables.exact else 1.0 + ROUNDING)
    expect(
        bool((tables.heaviest() <= most).all()), "a class weighs more than it is said to have ever weighed"
    )
    _check_sums(encoder, tables, arrays)
    tables.values.recount()
    tables.gaussians.changed()
    if tables.values.histogram is not None:
        tables.values.rebuild_histogram()
    if tables.pairs is not None and tables.pairs.beside is None:
        expect(tables.is_complete(), "it lacks the table beside its pairs that missing values need")


def _check_sums(encoder: Encoder, tables: Tables, arrays: Mapping[str, Array]) -> None:
    """Raise `BadState` for sums that no numbers can have: each double but the first is the rounding of those before."""
    labels, features = len(encoder.labels), len(encoder.numeric)
    if not features:
        return
    heaviest, peak = np.asarray(tables.class_peak)[:labels], arrays["numeric_peak"]
    expect(float(peak.max(initial=0.0)) <= LARGEST_NUMBER, "numeric_peak holds a number beyond 1e100")
    sums = arrays["numeric_sums"].reshape(features, ROWS_OF_FEATURE, labels)
    _check_sum("numeric_sums", arrays["numeric_weight"], sums[:, :2], heaviest)
    for power in (1, 2):
        rows = sums[:, 3 * power - 1 : 3 * power + 2]
        _check_sum("numeric_sums", arrays["numeric_weight"], rows, heaviest, peak**power)
    if tables.co_moments is None:
        return
    high, low = np.tril_indices(features, -1)
    products = arrays["co_products"].reshape(len(high), ROWS_OF_PRODUCT, labels)
    if "co_beside" not in arrays:
        weight = arrays["numeric_weight"]
        is_even = (weight == weight.max(axis=0, initial=0.0)) | (weight == 0.0).all(axis=1)[:, None]
        expect(bool(is_even.all()), "it lacks the sums of pairs that missing numbers need")
        weight = np.minimum(weight[high], weight[low])
    else:
        beside = arrays["co_beside"].reshape(len(high), ROWS_BESIDE, labels)
        weight = beside[:, 0]
        expect(float(weight.min(initial=0.0)) >= 0.0, "co_beside holds negative weights")
        expect(bool((weight <= heaviest * (1.0 + ROUNDING)).all()), "co_beside weighs more than its class")
        _check_sum("co_beside", weight, beside[:, 1:3], heaviest)
        _check_sum("co_beside", weight, beside[:, 3:6], heaviest, peak[high])
        _check_sum("co_beside", weight, beside[:, 6:9], heaviest, peak[low])
    _check_sum("co_products", weight, products, heaviest, peak[high] * peak[low])


def _check_sum(name: str, weight: Array, rows: Array, heaviest: Array, most: Any = None) -> None:
    """Check the rest of a weight, or where there is a largest term `most`, a sum and the two roundings below it."""
    if most is None:
        expect(
            bool((np.abs(rows) <= ROUNDING * heaviest).all()), f"{name} holds a rest larger than its weight"
        )
        return
    largest = weight * most * (1.0 + ROUNDING) + ROUNDING * heaviest * most + UNDERFLOW
    expect(bool((np.abs(rows.sum(axis=1)) <= largest).all()), f"{name} holds more than its weight of numbers")
    lower = np.abs(rows[:, 1:]).max(axis=1, initial=0.0)
    rounding = MOST_ROUNDING * heaviest * most + UNDERFLOW
    expect(bool((lower <= rounding).all()), f"{name} holds rounding larger than its sums allow")


def _checked(name: str, array: object, shape: tuple[int, int], *, exact: bool) -> Array:
    """Return an array of a state, or raise `BadState`."""
    if not isinstance(array, np.ndarray):
        raise BadState(f"the state does not fit: {name} is not an array")
    expect(array.dtype == np.float64, f"{name} has dtype {array.dtype}, expected float64")
    expect(array.shape == shape, f"{name} has shape {array.shape}, expected {shape}")
    least, are_whole = _survey(array)
    expect(least > -math.inf, f"{name} holds numbers that are not finite")
    expect(name in ANY_SIGN or least >= 0, f"{name} holds negative numbers")
    expect(are_whole or not name.endswith("samples"), f"{name} holds fractions of samples")
    expect(
        are_whole or not exact or name in FRACTIONS,
        f"{name} holds fractions, but its counts are said to be whole",
    )
    return array


def _survey(array: Array) -> tuple[float, bool]:
    """Return the least number, -inf if one is not finite; and whether all are whole.

    In pieces that stay in the cache: an array of tables is read from memory once, and no second one is made of it.
    """
    flat = array.reshape(-1)
    rounded = np.empty(min(len(flat), AT_ONCE))
    least, are_whole = 0.0, True
    for start in range(0, len(flat), AT_ONCE):
        piece = flat[start : start + AT_ONCE]
        least_here, most_here = float(piece.min()), float(piece.max())
        if not (least_here > -math.inf and most_here < math.inf):  # a NaN makes both NaN
            return -math.inf, False
        least = min(least, least_here)
        if are_whole:
            np.floor(piece, out=rounded[: len(piece)])
            are_whole = np.array_equal(piece, rounded[: len(piece)])
    return least, are_whole
