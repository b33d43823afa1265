"""Cut points of numeric features from a stream: a mergeable sketch of quantiles for each feature.

Shards can be summed only if all have the same cut points, so these are found before a pipeline starts, and declared.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any, Self

import msgspec
import numpy as np

from stream_bayes._build import install_command
from stream_bayes.core.counts.cut_points import cut_quantiles
from stream_bayes.data.features import Nominal, Numeric
from stream_bayes.data.schema import Schema, usual_target
from stream_bayes.errors import BadState, BadValue, SchemaError

__all__ = ["CutSketch", "sketched_cuts"]

FORMAT = 1
SIZE = 1024  # "k" of KLL (Karnin, Lang and Liberty 2016): ranks are right to about 0.3 %, in some 24 KiB a feature
MOST_PENDING = 512  # numbers of a feature that wait to be added together
MAGIC = b"CUTS"


class _FeatureCounts(msgspec.Struct):
    """The number of values of a feature by kind, and the serialised sketch of its numbers."""

    numbers: int = 0
    names: int = 0
    infinite: int = 0
    sketch: bytes = b""


class CutSketch:
    """Quantiles of all numeric features of a stream, in bounded memory: some 24 KiB a feature.

    Up to about a thousand values of a feature its quantiles are exact; beyond that their ranks are right to 0.3 %.
    Sketches of parts of a stream merge into one of the whole, with the same bound. Weights are not counted.

    Raises
    ------
    BadValue
        If the package `datasketches` is not installed.

    Examples
    --------
    >>> one, other = CutSketch(), CutSketch()
    >>> for number in range(50):
    ...     one.add({"sky": "grey", "wind": number})
    ...     other.add({"sky": "blue", "wind": 50 + number})
    >>> one.merge(other)
    >>> one.schema(bins=4)
    Schema({'sky': Nominal(), 'wind': Numeric(cuts=(24.5, 49.5, 74.5))})
    """

    def __init__(self) -> None:
        self._sketches: dict[str, Any] = {}
        self._pending: dict[str, list[float]] = {}
        self._counts: dict[str, _FeatureCounts] = {}
        _datasketches()

    def add(self, x: Mapping[Any, Any]) -> None:
        """Add the features of an event; missing values are left out."""
        for name, value in x.items():
            if value is None or value != value:
                continue
            counts = self._counts.get(name)
            if counts is None:
                counts = self._counts[name] = _FeatureCounts()
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
                counts.names += 1
            elif not math.isfinite(value):
                counts.infinite += 1
            else:
                counts.numbers += 1
                pending = self._pending.setdefault(name, [])
                pending.append(float(value))
                if len(pending) >= MOST_PENDING:
                    self._flush(name)

    def merge(self, other: CutSketch) -> None:
        """Add everything that another sketch has seen."""
        for name, theirs in other._counts.items():
            counts = self._counts.setdefault(name, _FeatureCounts())
            counts.numbers += theirs.numbers
            counts.names += theirs.names
            counts.infinite += theirs.infinite
            if theirs.numbers:
                self._sketch(name).merge(other._sketch(name))

    def schema(self, bins: int, target: str | None = None) -> Schema:
        """Return the features as a schema: numeric ones with cut points, all others nominal.

        A feature with values of both kinds is of the more frequent one; see `warnings`.

        Raises
        ------
        BadValue
            If `bins` is less than 2.
        SchemaError
            If no feature has a value.
        """
        if bins < 2:
            raise BadValue(f"bins: expected at least 2, got {bins}")
        features: dict[str, Nominal | Numeric] = {}
        for name, counts in self._counts.items():
            if counts.numbers > counts.names:
                features[name] = Numeric(cuts=sketched_cuts(list(self._sketch(name)), bins))
            elif counts.names or counts.infinite:
                features[name] = Nominal()
        if not features:
            raise SchemaError("no record has a feature with a value, so there is nothing to declare")
        return Schema(features, target=target or usual_target(features))

    def warnings(self, bins: int) -> list[str]:
        """Return what a reader of the schema must know, a line each: features of two kinds, or with too few values."""
        lines = []
        for name, counts in self._counts.items():
            if counts.infinite:
                lines.append(
                    f"warning: {name}: {counts.infinite:,} infinite numbers were left out; learners refuse them"
                )
            if counts.numbers and counts.names:
                kind = "numeric" if counts.numbers > counts.names else "nominal"
                refused = "; records with other values become dead letters" if kind == "numeric" else ""
                lines.append(
                    f"warning: {name}: {counts.numbers:,} values are numbers and {counts.names:,} are not; it is "
                    f"declared {kind}{refused}"
                )
            if counts.numbers > counts.names:
                count = len(sketched_cuts(list(self._sketch(name)), bins)) + 1
                if count < bins:
                    lines.append(f"warning: {name}: its values repeat, so it has {count} bins, not {bins}")
        return lines

    def to_bytes(self) -> bytes:
        """Return the sketch as bytes, from which `from_bytes` makes an equal one."""
        saved = [
            (
                name,
                msgspec.structs.replace(
                    counts, sketch=self._sketch(name).serialize() if counts.numbers else b""
                ),
            )
            for name, counts in self._counts.items()
        ]
        return MAGIC + struct.pack("<H", FORMAT) + msgspec.msgpack.encode(saved)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the sketch that `to_bytes` wrote.

        Raises
        ------
        BadState
            If it is not one, or of a newer format.
        """
        if data[:4] != MAGIC or len(data) < 6:
            raise BadState("this is no file of sketches that `stream-bayes cuts --save` wrote")
        (form,) = struct.unpack("<H", data[4:6])
        if form != FORMAT:
            raise BadState(f"its format is {form}, and this version reads {FORMAT}; upgrade stream_bayes")
        made = cls()
        try:
            for name, counts in msgspec.msgpack.decode(data[6:], type=list[tuple[str, _FeatureCounts]]):
                if counts.numbers:
                    sketch = _datasketches().kll_doubles_sketch.deserialize(counts.sketch)
                    if sketch.n != counts.numbers or sketch.k != SIZE:
                        raise ValueError(
                            f"the sketch of {name!r} has {sketch.n} numbers, expected {counts.numbers}"
                        )
                    made._sketches[name] = sketch
                made._counts[name] = msgspec.structs.replace(counts, sketch=b"")
        except (msgspec.DecodeError, RuntimeError, ValueError) as error:
            raise BadState(f"the sketches are damaged: {error}") from error
        return made

    def _sketch(self, name: str) -> Any:
        """Return the sketch of a feature with all its numbers."""
        self._flush(name)
        return self._sketches[name]

    def _flush(self, name: str) -> None:
        if name not in self._sketches:
            self._sketches[name] = _datasketches().kll_doubles_sketch(SIZE)
        pending = self._pending.pop(name, None)
        if pending:
            self._sketches[name].update(np.array(pending))


def _datasketches() -> Any:
    try:
        import datasketches
    except ImportError as error:
        raise BadValue(
            f"cut points are found with the package datasketches: {install_command('cuts')}"
        ) from error
    return datasketches


def sketched_cuts(weighted: list[tuple[float, int]], bins: int) -> list[float]:
    """Return the cut points of weighted values by `cut_quantiles`. If all values are equal, the one cut is that value.

    Examples
    --------
    >>> sketched_cuts([(1.0, 1), (2.0, 1), (3.0, 1), (4.0, 1)], 2)
    [2.5]
    >>> sketched_cuts([(0.0, 99), (7.0, 1)], 4), sketched_cuts([(5.0, 3)], 4)
    ([3.5], [5.0])
    """
    values, weights = np.array(sorted(weighted)).T
    return cut_quantiles(values, weights, np.zeros(len(values), np.int32), bins) or [float(values[0])]
