r"""A count store's names and clock as JSON values, and back, with everything checked; its tables: `tables_state`.

{"meta": {"order": 1, "clock": 12, "origin": 0, "exact": true, "labels": ["no", "yes"],
          "features": ["sky", "wind"], "numeric": [false, true],     in the order they were met
          "vocabularies": ["grey\nblue"], "other": [false]},
 "arrays": {"class_weight", "class_peak": (1, C), "weight": (codes, C), "present": (features, C),
            "pairs", "triples": (cells, C), "beside": (codes * features, C),
            "numeric_weight", "numeric_mean", "numeric_m2", "numeric_peak": (numeric, C)}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._encoding import Encoder, RowEncoder
from stream_bayes.core._tables import Tables
from stream_bayes.core._vocabulary import Vocabulary
from stream_bayes.core.values import OTHER, Value, packed, tagged_many, unpacked, untagged_many
from stream_bayes.errors import BadState, StreamBayesError

__all__ = [
    "MOMENTS",
    "SAMPLES_OF",
    "Names",
    "clock_state",
    "expect",
    "grid",
    "load_clock",
    "load_names",
    "refusing_bad_state",
    "sizes",
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
    except MemoryError as error:
        if isinstance(error, StreamBayesError):
            raise
        raise BadState(
            "the state asks for more memory than there is: it was altered, or needs a larger machine"
        ) from error


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


class Names(NamedTuple):
    """Labels, features and vocabularies in the order of their codes, as they were at one moment.

    Nothing is copied. A list of values only grows, since a value's code never changes, so how long it was tells what
    was in it; and copying a million references to strings takes longer than copying their counts.
    """

    labels: tuple[list[Value], int]
    features: list[tuple[Value, bool]]
    vocabularies: list[tuple[list[Value], int]]
    other: list[bool]

    @classmethod
    def of(cls, encoder: Encoder) -> Self:
        """Those that an encoder has now."""
        known = vocabularies(encoder)
        return cls(
            (encoder.labels.values, len(encoder.labels)),
            [(feature.name, bool(feature.measured)) for feature in encoder.features.values()],
            [(v.values, v.other if v.other >= 0 else len(v)) for v in known],
            [v.other >= 0 for v in known],
        )

    def state(self) -> dict[str, Any]:
        """All of them as JSON values."""
        return {
            "labels": tagged_many(self.labels[0][: self.labels[1]]),
            "features": tagged_many(name for name, _ in self.features),
            "numeric": [numeric for _, numeric in self.features],
            "vocabularies": [packed(values[:length]) for values, length in self.vocabularies],
            "other": self.other,
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
