r"""A count store's names, clock and tables as JSON values and arrays, and back, with everything checked.

    {"meta": {"order": 1, "clock": 12, "origin": 0, "exact": true, "labels": ["no", "yes"],
              "features": ["sky", "wind"], "numeric": [false, true],     in the order they were met
              "vocabularies": ["grey\nblue"], "other": [false]},
     "arrays": {"class_weight", "class_peak": (1, C), "weight": (codes, C), "present": (features, C),
                "pairs", "triples": (cells, C), "beside": (codes * features, C),
                "numeric_weight", "numeric_mean", "numeric_m2", "numeric_peak": (numeric, C)}}

Tables are written without their spare room: the codes of the first feature, then of the second, classes innermost;
of pairs the triangle that `_layout` draws, of triples the tetrahedron. Arrays of samples are there unless all weights
were whole, `beside` where the store has it. The kernels run unchecked, so nothing enters the tables from here that
was not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._encoding import Encoder, RowEncoder
from stream_bayes.core._layout import Layout
from stream_bayes.core._tables import Tables
from stream_bayes.core._vocabulary import Vocabulary
from stream_bayes.core.values import OTHER, Value, packed, tagged_many, unpacked, untagged_many
from stream_bayes.errors import BadState, StreamBayesError

__all__ = [
    "MOMENTS",
    "check_shapes",
    "clock_state",
    "expect",
    "grid",
    "load_arrays",
    "load_clock",
    "load_names",
    "names_state",
    "refusing_bad_state",
    "sizes",
    "table_arrays",
    "vocabularies",
]

Array = NDArray[Any]

MOMENTS = ("weight", "mean", "m2", "peak", "samples")  # of numeric features; samples only where they differ
SAMPLES_OF = {  # which weights each array of samples belongs to
    "class_samples": "class_weight",
    "samples": "weight",
    "present_samples": "present",
    "numeric_samples": "numeric_weight",
}
MOST_HALF_LIVES = 256  # between origin and clock: the tables are rescaled before


def grid(flat: Any, classes: int) -> Array:
    """A flat table as a view with a row a cell and a column a class."""
    return np.asarray(flat).reshape(-1, classes)


def vocabularies(encoder: Encoder) -> list[Vocabulary]:
    """The vocabulary of each run of positions."""
    return [feature.vocabulary for feature in encoder.nominal]


def sizes(encoder: Encoder) -> tuple[Array, Array]:
    """How many codes each nominal feature has, and how many of them were declared."""
    known = vocabularies(encoder)
    used = np.fromiter((len(vocabulary) for vocabulary in known), np.longlong, len(known))
    declared = np.fromiter((vocabulary.declared for vocabulary in known), np.longlong, len(known))
    return used, declared


def expect(condition: bool, message: str) -> None:
    """Raise `BadState` unless the condition holds."""
    if not condition:
        raise BadState(f"the state does not fit: {message}")


@contextmanager
def refusing_bad_state() -> Iterator[None]:
    """Let whatever a malformed state provokes come out as `BadState`."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, StreamBayesError):
            raise
        raise BadState(f"the state is truncated or was altered: {type(error).__name__}: {error}") from error


def clock_state(tables: Tables) -> dict[str, Any]:
    """When it is, and since when the tables have been on their present scale."""
    return {"clock": tables.clock, "origin": tables.origin, "exact": bool(tables.exact)}


def load_clock(tables: Tables, meta: Mapping[str, Any]) -> None:
    """Set empty tables to a saved time."""
    clock, origin, exact = meta["clock"], meta["origin"], meta["exact"]
    expect(
        type(clock) is int and type(origin) is int and 0 <= origin <= clock < 2**62, "its clock is no clock"
    )
    expect(type(exact) is bool, "it does not say whether its counts are exact")
    if tables.half_life:
        expect(not exact, "it lacks the sample counts that fading needs")
        expect(clock - origin <= MOST_HALF_LIVES * tables.half_life, "its clock is too far from its origin")
    else:
        expect(origin == 0, "it fades, the learner does not")
    if not exact:
        tables.leave_exact()
    tables.clock, tables.origin = clock, origin
    tables.unit = tables.unit_at(clock)


def names_state(encoder: Encoder) -> dict[str, Any]:
    """Labels, features and vocabularies, in the order of their codes."""
    known, features = vocabularies(encoder), list(encoder.features.values())
    return {
        "labels": tagged_many(encoder.labels.values),
        "features": tagged_many([feature.name for feature in features]),
        "numeric": [bool(feature.measured) for feature in features],
        "vocabularies": [packed(v.values[: v.other] if v.other >= 0 else v.values) for v in known],
        "other": [v.other >= 0 for v in known],
    }


def load_names(encoder: Encoder, meta: Mapping[str, Any]) -> None:
    """Give everything that a state names its code, in a fresh encoder."""
    _load_vocabulary(encoder.labels, untagged_many(meta["labels"]), False)
    names, kinds = untagged_many(meta["features"]), meta["numeric"]
    expect(len(names) == len(kinds) == len(set(names)), "its features are not distinct")
    expect(all(type(kind) is bool for kind in kinds), "a feature is neither nominal nor numeric")
    known = [(feature.name, bool(feature.measured)) for feature in encoder.features.values()]
    given = list(zip(names, kinds, strict=True))
    expect(given[: len(known)] == known, "its features are not the declared ones")
    may_grow = isinstance(encoder, RowEncoder) and not encoder.declared
    expect(may_grow or len(given) == len(known), "it has features that are not declared")
    for name, numeric in given[len(known) :]:
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
        vocabulary.add(OTHER)


def _tables_by_name(encoder: Encoder, tables: Tables) -> dict[str, tuple[Array, Any]]:
    """Each flat table as a grid with a column a class, and the rows of it that are in use."""
    used, _ = sizes(encoder)
    values, layout, numbers = tables.values, tables.values.layout, tables.gaussians
    positions, runs = layout.positions_of(used), slice(len(used))
    found = {
        "class_weight": (grid(tables.class_weight, len(tables.class_weight)), slice(None)),
        "class_peak": (grid(tables.class_peak, len(tables.class_peak)), slice(None)),
        "weight": (grid(values.weight, layout.classes), positions),
        "present": (grid(values.present, layout.classes), runs),
    }
    if not tables.exact:
        found["class_samples"] = (grid(tables.class_samples, len(tables.class_samples)), slice(None))
        found["samples"] = (grid(values.samples, layout.classes), positions)
        found["present_samples"] = (grid(values.present_samples, layout.classes), runs)
    if tables.pairs is not None:
        found["pairs"] = (grid(tables.pairs.weight, layout.classes), layout.pairs_of(used))
        if tables.pairs.beside is not None:
            columns = (positions[:, None] * layout.features + np.arange(len(used))).reshape(-1)
            found["beside"] = (grid(tables.pairs.beside, layout.classes), columns)
    if tables.triples is not None:
        found["triples"] = (grid(tables.triples.weight, layout.classes), layout.triples_of(used))
    if encoder.numeric:
        for name in MOMENTS[: 4 if tables.exact else 5]:
            found[f"numeric_{name}"] = (
                grid(getattr(numbers, name), numbers.classes),
                slice(len(encoder.numeric)),
            )
    return found


def table_arrays(encoder: Encoder, tables: Tables) -> dict[str, Array]:
    """The tables, without their spare room."""
    labels = len(encoder.labels)
    return {
        name: np.array(table[rows][:, :labels], order="C")  # never a view: the tables go on changing
        for name, (table, rows) in _tables_by_name(encoder, tables).items()
    }


def _compact(encoder: Encoder) -> Layout:
    """A layout without spare room."""
    used, declared = sizes(encoder)
    return Layout(used, used, declared, max(len(encoder.labels), 1))


def check_shapes(encoder: Encoder, order: int, arrays: Mapping[str, Array]) -> None:
    """Refuse names without arrays to go with them, before any room is made for what they claim."""
    used, _ = sizes(encoder)
    labels = len(encoder.labels)
    expect(
        np.shape(arrays["weight"]) == (int(used.sum()), labels),
        "its values do not match its table of weights",
    )
    expect(np.shape(arrays["present"]) == (len(used), labels), "its features do not match its tables")
    compact = _compact(encoder)
    if order >= 2:
        expect(
            np.shape(arrays["pairs"]) == (compact.pairs, labels),
            "its values do not match its pairs",
        )
    if order >= 3:
        expect(
            np.shape(arrays["triples"]) == (compact.triples, labels),
            "its values do not match its triples",
        )
    if encoder.numeric:
        expect(
            np.shape(arrays["numeric_weight"]) == (len(encoder.numeric), labels), "its numbers do not match"
        )


def load_arrays(encoder: Encoder, tables: Tables, arrays: Mapping[str, Array]) -> None:
    """Fill tables that have just the room for it."""
    labels = len(encoder.labels)
    if tables.pairs is not None and "beside" in arrays:
        tables.pairs.count_beside()
    expected = _tables_by_name(encoder, tables)
    expect(set(arrays) == set(expected), f"its arrays are {sorted(arrays)}, expected {sorted(expected)}")
    for name, (table, rows) in expected.items():
        array = _checked(name, arrays[name], (len(table[rows]), labels))
        if tables.exact and name not in ("class_peak", "numeric_mean", "numeric_m2", "numeric_peak"):
            expect(
                bool((array == np.floor(array)).all()),
                f"{name} holds fractions, but its counts are said to be whole",
            )
        table[rows, :labels] = array
    for name, weight in SAMPLES_OF.items():
        if name in expected:
            alone = (arrays[name] == 0) & (arrays[weight] > 0)
            expect(not bool(alone.any()), f"{weight} holds weight that no sample has")
    peaks = np.array(tables.class_peak)
    tables.raise_peaks()
    expect(
        np.array_equal(peaks, tables.class_peak), "a class weighs more than it is said to have ever weighed"
    )
    tables.values.recount()
    if tables.values.histogram is not None:
        tables.values.rebuild_histogram()
    if tables.pairs is not None and tables.pairs.beside is None:
        expect(tables.is_complete(), "it lacks the table beside its pairs that missing values need")


def _checked(name: str, array: object, shape: tuple[int, int]) -> Array:
    """An array of a state, once it cannot do any harm."""
    if not isinstance(array, np.ndarray):
        raise BadState(f"the state does not fit: {name} is no array")
    expect(array.dtype == np.float64, f"{name} has dtype {array.dtype}, expected float64")
    expect(array.shape == shape, f"{name} has shape {array.shape}, expected {shape}")
    expect(bool(np.isfinite(array).all()), f"{name} holds numbers that are not finite")
    if name != "numeric_mean":
        expect(bool((array >= 0).all()), f"{name} holds negative numbers")
    if name.endswith("samples"):
        expect(bool((array == np.floor(array)).all()), f"{name} holds fractions of samples")
    return array
