r"""Codecs of attributes: values to JSON, and checked JSON to values.

    DictOf(REAL)     {"names": "height\nweight", "held": [1.75, 70.2]}      names as `packed` writes them
    DequeOf(REAL)     [1.0, 2.5]
    SETS             {"names": "colour", "held": [["blue", "red"]]}          in the order of the values

Nothing that comes from a state is ever put where River would not have put it: every number is in its range, every
window is as short as it has to be, and what is read goes into the containers that a fresh object has made.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stream_bayes.core.values.payloads import plain, tagged_payload, untagged_payload
from stream_bayes.core.values.values import JSONValue, name_order, packed, shown, tagged, unpacked, untagged
from stream_bayes.errors import BadState, BadValue
from stream_bayes.saving.river.location import Location

__all__ = [
    "COUNT",
    "FINITE",
    "FLAG",
    "GENERATOR",
    "MAPPINGS",
    "PLAIN",
    "REAL",
    "SETS",
    "TEXTS",
    "WEIGHT",
    "DequeOf",
    "DictOf",
    "ListOf",
    "OrNone",
    "PayloadCodec",
    "SortedDictOf",
    "ValueCodec",
    "key_order",
    "number_between",
]

MOST = 2**62  # of anything that is counted
SAFE = 2**53  # whole numbers up to here stand for themselves as JSON


class ValueCodec(ABC):
    """The codec of an attribute's values."""

    @abstractmethod
    def encode(self, value: Any, location: Location) -> JSONValue:
        """Return the value as JSON that shares nothing with it."""

    @abstractmethod
    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        """Return the saved value. `made` is the value in a fresh object; it may be filled and returned."""

    def encode_many(self, pairs: Iterable[tuple[Any, Any]], location: Location) -> list[JSONValue]:
        """Return the values under many names as JSON."""
        return [self.encode(value, location.at(shown(name))) for name, value in pairs]

    def decode_many(
        self, saved: list[Any], names: Sequence[Any], make: Callable[[], Any] | None, location: Location
    ) -> list[Any]:
        """Return the saved values under many names; `make` makes the value that a fresh object would hold."""
        return [
            self.decode(value, make() if make else None, location.at(shown(name)))
            for value, name in zip(saved, names, strict=True)
        ]


@dataclass(frozen=True)
class PayloadCodec(ValueCodec):
    """A payload of a type and in a range: one that `fits`."""

    expected: str
    fits: Callable[[Any], bool]

    def encode(self, value: Any, location: Location) -> JSONValue:
        try:
            plain_value = plain(value)
        except BadValue as error:
            raise location.cannot_save(f"no snapshot can hold what is here: {error}") from error
        # A smaller float would come back as one that computes with more digits.
        if not self.fits(plain_value) or (isinstance(value, np.floating) and not isinstance(value, float)):
            raise location.cannot_save(
                f"expected {self.expected}, got {type(value).__name__}: {shown(value)}; "
                "convert or leave it out before it reaches this step"
            )
        return tagged_payload(plain_value)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        try:
            value = untagged_payload(saved)
        except BadState as error:
            raise location.altered(self.expected, saved) from error
        if not self.fits(value):
            raise location.altered(self.expected, value)
        return value

    def encode_many(self, pairs: Iterable[tuple[Any, Any]], location: Location) -> list[JSONValue]:
        listed = list(pairs)
        values = [value for _, value in listed]
        if _stand_for_themselves(values) and all(map(self.fits, values)):
            return values
        return super().encode_many(listed, location)

    def decode_many(
        self, saved: list[Any], names: Sequence[Any], make: Callable[[], Any] | None, location: Location
    ) -> list[Any]:
        if len(saved) == len(names) and _stand_for_themselves(saved) and all(map(self.fits, saved)):
            return saved
        return super().decode_many(saved, names, make, location)


def _stand_for_themselves(values: list[Any]) -> bool:
    """Return True if all are numbers that payloads write unchanged."""
    return {float, int}.issuperset(map(type, values)) and (
        not values or (min(values) >= -SAFE and max(values) <= SAFE and all(map(math.isfinite, values)))
    )


def _is_number(value: object) -> bool:
    if isinstance(value, int):
        # A larger one is not a float, and River would fail at computing with it.
        return value.bit_length() < 1023
    return isinstance(value, float)


def _is_finite(value: object) -> bool:
    return _is_number(value) and math.isfinite(value)  # type: ignore[arg-type]  # it is a number


def number_between(least: float, most: float) -> PayloadCodec:
    """Return the codec of a number in a range, infinite if a bound is."""
    return PayloadCodec(
        f"a number from {least} to {most}", lambda value: _is_number(value) and least <= value <= most
    )


REAL = PayloadCodec("a number", _is_number)  # also NaN, where River itself lets one in and goes on
FINITE = PayloadCodec("a finite number", _is_finite)
WEIGHT = PayloadCodec("a finite number from 0", lambda value: _is_finite(value) and value >= 0)
COUNT = PayloadCodec("a whole number from 0", lambda value: type(value) is int and 0 <= value < MOST)
FLAG = PayloadCodec("true or false", lambda value: type(value) is bool)
PLAIN = PayloadCodec("a plain value", lambda _: True)


@dataclass(frozen=True)
class OrNone(ValueCodec):
    """None, or something of a kind."""

    kind: ValueCodec

    def encode(self, value: Any, location: Location) -> JSONValue:
        return None if value is None else self.kind.encode(value, location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        return None if saved is None else self.kind.decode(saved, made, location)


@dataclass(frozen=True)
class DictOf(ValueCodec):
    """A dict, in its order, whose keys are names of features, labels or anything else that is a value, or None."""

    kind: ValueCodec

    def encode(self, value: Any, location: Location) -> JSONValue:
        chosen = self.chosen(value, location)
        names = [name for name, _ in chosen]
        return {"names": _saved_names(names, location), "held": self.kind.encode_many(chosen, location)}

    def chosen(self, mapping: Mapping[Any, Any], location: Location) -> list[tuple[Any, Any]]:
        """Return the items to write, in their order."""
        return list(mapping.items())

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        written, values = location.fields(saved, "names", "held")
        names = _loaded_names(written, location)
        if len(location.items(values)) != len(names):
            raise location.altered(f"something for each of {len(names)} names", values)
        loaded = self.kind.decode_many(values, names, getattr(made, "default_factory", None), location)
        made.clear()
        for name, value in zip(names, loaded, strict=True):
            made[name] = value  # a Counter's update would add
        return made


class SortedDictOf(DictOf):
    """A dict whose order means nothing and may have come from a set: written in the order of the names.

    Zeros are left out: reading a defaultdict puts them there, and looking at a metric must not change its state.
    """

    def chosen(self, mapping: Mapping[Any, Any], location: Location) -> list[tuple[Any, Any]]:
        return sorted(
            ((name, value) for name, value in mapping.items() if value),
            key=lambda entry: key_order(entry[0], location),
        )


def key_order(name: object, location: Location) -> tuple[int, Any]:
    """Return a sort key: `name_order`, with None first."""
    if name is None:
        return 0, 0
    try:
        return 1, name_order(name)
    except BadValue as error:
        raise location.cannot_save(f"a name cannot be saved: {error}") from error


def _saved_names(names: list[Any], location: Location) -> JSONValue:
    try:
        if None in names:
            return [None if name is None else tagged(name) for name in names]
        return packed(names)
    except BadValue as error:
        raise location.cannot_save(f"a name cannot be saved: {error}") from error


def _loaded_names(saved: object, location: Location) -> list[Any]:
    try:
        if isinstance(saved, list) and None in saved:
            names: list[Any] = [None if name is None else untagged(name) for name in saved]
        else:
            names = list(unpacked(saved))
    except BadState as error:
        raise location.altered("names", saved) from error
    if len(set(names)) < len(names) or _saved_names(names, location) != saved:
        raise location.altered("names that differ, as they are written", saved)
    return names


class _Set(ValueCodec):
    """A set of values, or of None: written in the order of `name_order`, whatever order it has in memory."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        ordered = sorted(value, key=lambda member: key_order(member, location))
        return [None if member is None else tagged(member) for member in ordered]

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        try:
            values = [None if value is None else untagged(value) for value in location.items(saved)]
        except BadState as error:
            raise location.altered("values", saved) from error
        if len(set(values)) < len(values):
            raise location.altered("values that differ", saved)
        return set(values)


class _Mapping(ValueCodec):
    """A plain dict of payloads by name: what is made anew where a defaultdict holds dicts."""

    def __init__(self, kind: ValueCodec) -> None:
        self.inner = DictOf(kind)

    def encode(self, value: Any, location: Location) -> JSONValue:
        return self.inner.encode(value, location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        return self.inner.decode(saved, {}, location)


SETS = DictOf(_Set())
MAPPINGS = DictOf(
    _Mapping(PayloadCodec("a whole number", lambda value: type(value) is int and abs(value) < MOST))
)


class _Texts(ValueCodec):
    """The keys of a dict that maps texts to 0, in their order."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        return _saved_names(list(value), location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        names = _loaded_names(saved, location)
        if not {str}.issuperset(map(type, names)):
            raise location.altered("texts", saved)
        return dict.fromkeys(names, 0)


TEXTS = _Texts()


@dataclass(frozen=True)
class DequeOf(ValueCodec):
    """The latest of something: a deque, never longer than a fresh object's may become."""

    kind: ValueCodec

    def encode(self, value: Any, location: Location) -> JSONValue:
        return self.kind.encode_many(enumerate(value), location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        if made.maxlen is not None and len(location.items(saved)) > made.maxlen:
            raise location.altered(f"at most {made.maxlen} of something", f"{len(saved)}")
        made.clear()
        made.extend(self.kind.decode_many(location.items(saved), range(len(saved)), None, location))
        return made


@dataclass(frozen=True)
class ListOf(ValueCodec):
    """A list that grows."""

    kind: ValueCodec

    def encode(self, value: Any, location: Location) -> JSONValue:
        return self.kind.encode_many(enumerate(value), location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        return list(self.kind.decode_many(location.items(saved), range(len(saved)), None, location))


class _Generator(ValueCodec):
    """A generator of random numbers of Python's `random`: a version, 624 words and where it is among them."""

    WORDS = 624

    def encode(self, value: Any, location: Location) -> JSONValue:
        version, words, normal = value.getstate()
        if version != 3:
            raise location.cannot_save(
                f"this Python's random numbers have version {version}, which is not known here"
            )
        return [*words, None if normal is None else float(normal).hex()]

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        *words, normal = location.items(saved) or [None]
        fit = len(words) == self.WORDS + 1 and all(type(word) is int and 0 <= word < 2**32 for word in words)
        if not fit or words[-1] > self.WORDS or not any(words[:-1]):
            raise location.altered("the words of a generator of random numbers", saved)
        try:
            left = None if normal is None else float.fromhex(normal)
        except (TypeError, ValueError, OverflowError):
            left = math.nan
        if left is not None and not math.isfinite(left):
            raise location.altered("a normal number that was left over, or none", normal)
        made.setstate((3, tuple(words), left))
        return made


GENERATOR = _Generator()
