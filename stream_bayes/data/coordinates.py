"""Columns of positions: a latitude and a longitude in one cell, read as two numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from stream_bayes.core.values.values import JSONValue, Value
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import Numeric, Spec

__all__ = ["Coordinates", "written_coordinates"]

NUMBER = r"[+-]?\d{1,3}\.\d+"
PAIR = re.compile(rf"[(\[]?\s*({NUMBER})°?\s*(?:[,;]\s*|\s+)({NUMBER})°?\s*[)\]]?")
POINT = re.compile(rf"(?i:point)\s*\(\s*({NUMBER})\s+({NUMBER})\s*\)")  # the longitude comes first in WKT


def written_coordinates(text: str) -> tuple[float, float] | None:
    """Return the latitude and the longitude in a text; None for any other text.

    Examples
    --------
    >>> written_coordinates("(40.71, -74.01)"), written_coordinates("POINT (-74.01 40.71)")
    ((40.71, -74.01), (40.71, -74.01))
    """
    text = text.strip()
    match = PAIR.fullmatch(text)
    if match is not None:
        latitude, longitude = float(match[1]), float(match[2])
    elif (match := POINT.fullmatch(text)) is not None:
        longitude, latitude = float(match[1]), float(match[2])
    else:
        return None
    return (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None


@dataclass(frozen=True, slots=True)
class Coordinates(ColumnKind):
    """A column of positions such as `(40.71, -74.01)` and `POINT (-74.01 40.71)`, in degrees.

    It becomes two numeric features, `NAME latitude` and `NAME longitude`.

    Examples
    --------
    >>> Coordinates().features("at")
    {'at latitude': Numeric(), 'at longitude': Numeric()}
    >>> Coordinates().read("40.71, -74.01")
    (40.71, -74.01)
    """

    word: ClassVar[str] = "coordinates"

    def features(self, column: str) -> Mapping[str, Spec]:
        return {f"{column} latitude": Numeric(), f"{column} longitude": Numeric()}

    def read(self, cell: object) -> tuple[Value | None, ...]:
        position = written_coordinates(cell) if isinstance(cell, str) else None
        if position is None:
            raise ValueError("a latitude and a longitude")
        return position

    def options(self) -> dict[str, JSONValue]:
        return {}
