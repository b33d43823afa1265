"""Types of Avro: values of logical types as those of an event, and a check of schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from stream_bayes.streams.records.undecodable import DecodeReason, shortened, undecodable

__all__ = ["PLAIN", "check_sizes", "plain_value"]

MAX_DEPTH = 64  # of types in one another
FIRST_DAY = date(1970, 1, 1)


def check_sizes(schema: Any, named: Mapping[str, Any]) -> None:
    """Raise `Undecodable` for a parsed schema with which few bytes make a value of any size; `named` has its types."""
    _Sizes(named).check(schema, ())


class _Sizes:
    """A check that the bytes of a record bound what is made of them.

    Of a recursive type few bytes nest values without end, and of values that take no byte an array claims any number.
    """

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._checked: dict[str, bool] = {}

    def check(self, schema: Any, path: tuple[str, ...]) -> bool:
        """Return True if each value of a schema takes a byte at least."""
        if len(path) > MAX_DEPTH:
            raise undecodable(
                DecodeReason.BAD_SCHEMA, f"expected at most {MAX_DEPTH} types in one another, got more"
            )
        if isinstance(schema, list):
            for part in schema:
                self.check(part, (*path, ""))
            return True
        if isinstance(schema, str):
            return self.check(self._named[schema], path) if schema in self._named else schema != "null"
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._check_record(schema, path)
        if kind == "array":
            if not self.check(schema["items"], (*path, "")):
                raise undecodable(DecodeReason.BAD_SCHEMA, "it has an array whose values take no byte")
            return True
        if kind == "map":
            self.check(schema["values"], (*path, ""))
            return True
        if kind == "fixed":
            return bool(schema["size"])
        return kind == "enum" or self.check(kind, path)

    def _check_record(self, schema: Any, path: tuple[str, ...]) -> bool:
        name: str = schema["name"]
        if name in path:
            raise undecodable(DecodeReason.BAD_SCHEMA, f"the type {shortened(name)} holds itself")
        if name not in self._checked:
            sizes = [self.check(field["type"], (*path, name)) for field in schema["fields"]]
            self._checked[name] = any(sizes)
        return self._checked[name]


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# Values of logical types, as values that events hold.
PLAIN: Mapping[type, Callable[[Any], Any]] = {
    datetime: _seconds,
    date: lambda day: (day - FIRST_DAY).days,
    time: lambda hour: hour.hour * 3600 + hour.minute * 60 + hour.second + hour.microsecond / 1e6,
    Decimal: float,
    UUID: str,
}


def plain_value(value: Any) -> Any:
    """Return a value of a logical type as one that an event holds; others as they are.

    Examples
    --------
    >>> plain_value(date(1970, 1, 3)), plain_value(Decimal("1.50")), plain_value("grey")
    (2, 1.5, 'grey')
    >>> plain_value(datetime(1970, 1, 1, 0, 1))
    60.0
    """
    convert = PLAIN.get(type(value))
    return value if convert is None else convert(value)
