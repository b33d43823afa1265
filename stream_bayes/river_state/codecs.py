r"""What an attribute may hold, how that is written as JSON, and how it is checked when it is read.

    ByName(REAL)     {"names": "height\nweight", "held": [1.75, 70.2]}      names as `packed` writes them
    Window(REAL)     [1.0, 2.5]
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
from stream_bayes.river_state.location import Place

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
    "ByName",
    "Kind",
    "Leaf",
    "Listed",
    "Optional",
    "OrderedByName",
    "Window",
    "key_order",
    "within",
]

MOST = 2**62  # of anything that is counted
SAFE = 2**53  # whole numbers up to here stand for themselves as JSON


class Kind(ABC):
    """What an attribute holds."""

    @abstractmethod
    def saved(self, held: Any, place: Place) -> JSONValue:
        """What is held as JSON that shares nothing with it."""

    @abstractmethod
    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        """What was held; `made` is what a fresh object holds there, and may be filled and returned."""

    def saved_many(self, held: Iterable[tuple[Any, Any]], place: Place) -> list[JSONValue]:
        """What is held under each of many names."""
        return [self.saved(value, place.at(shown(name))) for name, value in held]

    def loaded_many(
        self, saved: list[Any], names: Sequence[Any], make: Callable[[], Any] | None, place: Place
    ) -> list[Any]:
        """What was held under each of many names; `make` makes what is there before anything is learned."""
        return [
            self.loaded(item, make() if make else None, place.at(shown(name)))
            for item, name in zip(saved, names, strict=True)
        ]


@dataclass(frozen=True)
class Leaf(Kind):
    """A payload that is of a type, in a range: whatever `fits`."""

    expected: str
    fits: Callable[[Any], bool]

    def saved(self, held: Any, place: Place) -> JSONValue:
        try:
            value = plain(held)
        except BadValue as error:
            raise place.cannot(f"no snapshot can hold what is here: {error}") from error
        # A smaller float would come back as one that computes with more digits.
        if not self.fits(value) or (isinstance(held, np.floating) and not isinstance(held, float)):
            raise place.cannot(
                f"expected {self.expected}, got {type(held).__name__}: {shown(held)}; "
                "convert or leave it out before it reaches this step"
            )
        return tagged_payload(value)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        try:
            value = untagged_payload(saved)
        except BadState as error:
            raise place.wrong(self.expected, saved) from error
        if not self.fits(value):
            raise place.wrong(self.expected, value)
        return value

    def saved_many(self, held: Iterable[tuple[Any, Any]], place: Place) -> list[JSONValue]:
        pairs = list(held)
        values = [value for _, value in pairs]
        if _stand_for_themselves(values) and all(map(self.fits, values)):
            return values
        return super().saved_many(pairs, place)

    def loaded_many(
        self, saved: list[Any], names: Sequence[Any], make: Callable[[], Any] | None, place: Place
    ) -> list[Any]:
        if len(saved) == len(names) and _stand_for_themselves(saved) and all(map(self.fits, saved)):
            return saved
        return super().loaded_many(saved, names, make, place)


def _stand_for_themselves(values: list[Any]) -> bool:
    """Whether all are numbers that payloads write as they are."""
    return {float, int}.issuperset(map(type, values)) and (
        not values or (min(values) >= -SAFE and max(values) <= SAFE and all(map(math.isfinite, values)))
    )


def _is_number(value: object) -> bool:
    if isinstance(value, int):
        # A larger one is no float, and River would fail at computing with it.
        return value.bit_length() < 1023
    return isinstance(value, float)


def _is_finite(value: object) -> bool:
    return _is_number(value) and math.isfinite(value)  # type: ignore[arg-type]  # it is a number


def within(least: float, most: float) -> Leaf:
    """A number from one to another; infinite where these are."""
    return Leaf(
        f"a number from {least} to {most}", lambda value: _is_number(value) and least <= value <= most
    )


REAL = Leaf("a number", _is_number)  # also NaN, where River itself lets one in and goes on
FINITE = Leaf("a finite number", _is_finite)
WEIGHT = Leaf("a finite number from 0", lambda value: _is_finite(value) and value >= 0)
COUNT = Leaf("a whole number from 0", lambda value: type(value) is int and 0 <= value < MOST)
FLAG = Leaf("true or false", lambda value: type(value) is bool)
PLAIN = Leaf("a plain value", lambda _: True)


@dataclass(frozen=True)
class Optional(Kind):
    """None, or something of a kind."""

    kind: Kind

    def saved(self, held: Any, place: Place) -> JSONValue:
        return None if held is None else self.kind.saved(held, place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        return None if saved is None else self.kind.loaded(saved, made, place)


@dataclass(frozen=True)
class ByName(Kind):
    """A dict, in its order, whose keys are names of features, labels or anything else that is a value, or None."""

    kind: Kind

    def saved(self, held: Any, place: Place) -> JSONValue:
        chosen = self.chosen(held, place)
        names = [name for name, _ in chosen]
        return {"names": _saved_names(names, place), "held": self.kind.saved_many(chosen, place)}

    def chosen(self, held: Mapping[Any, Any], place: Place) -> list[tuple[Any, Any]]:
        """What is written, in the order in which it is."""
        return list(held.items())

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        written, held = place.fields(saved, "names", "held")
        names = _loaded_names(written, place)
        if len(place.items(held)) != len(names):
            raise place.wrong(f"something for each of {len(names)} names", held)
        loaded = self.kind.loaded_many(held, names, getattr(made, "default_factory", None), place)
        made.clear()
        for name, value in zip(names, loaded, strict=True):
            made[name] = value  # a Counter's update would add
        return made


class OrderedByName(ByName):
    """A dict whose order means nothing and may have come from a set: written in the order of the names.

    Zeros are left out: reading a defaultdict puts them there, and looking at a metric must not change its state.
    """

    def chosen(self, held: Mapping[Any, Any], place: Place) -> list[tuple[Any, Any]]:
        return sorted(
            ((name, value) for name, value in held.items() if value),
            key=lambda item: key_order(item[0], place),
        )


def key_order(name: object, place: Place) -> tuple[int, Any]:
    """`name_order`, with None first."""
    if name is None:
        return 0, 0
    try:
        return 1, name_order(name)
    except BadValue as error:
        raise place.cannot(f"a name cannot be saved: {error}") from error


def _saved_names(names: list[Any], place: Place) -> JSONValue:
    try:
        if None in names:
            return [None if name is None else tagged(name) for name in names]
        return packed(names)
    except BadValue as error:
        raise place.cannot(f"a name cannot be saved: {error}") from error


def _loaded_names(saved: object, place: Place) -> list[Any]:
    try:
        if isinstance(saved, list) and None in saved:
            names: list[Any] = [None if name is None else untagged(name) for name in saved]
        else:
            names = list(unpacked(saved))
    except BadState as error:
        raise place.wrong("names", saved) from error
    if len(set(names)) < len(names) or _saved_names(names, place) != saved:
        raise place.wrong("names that differ, as they are written", saved)
    return names


class _Set(Kind):
    """A set of values, or of None: written in the order of `name_order`, whatever order it has in memory."""

    def saved(self, held: Any, place: Place) -> JSONValue:
        ordered = sorted(held, key=lambda value: key_order(value, place))
        return [None if value is None else tagged(value) for value in ordered]

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        try:
            values = [None if value is None else untagged(value) for value in place.items(saved)]
        except BadState as error:
            raise place.wrong("values", saved) from error
        if len(set(values)) < len(values):
            raise place.wrong("values that differ", saved)
        return set(values)


class _Mapping(Kind):
    """A plain dict of payloads by name: what is made anew where a defaultdict holds dicts."""

    def __init__(self, kind: Kind) -> None:
        self.inner = ByName(kind)

    def saved(self, held: Any, place: Place) -> JSONValue:
        return self.inner.saved(held, place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        return self.inner.loaded(saved, {}, place)


SETS = ByName(_Set())
MAPPINGS = ByName(_Mapping(Leaf("a whole number", lambda value: type(value) is int and abs(value) < MOST)))


class _Texts(Kind):
    """The keys of a dict that maps texts to 0, in their order."""

    def saved(self, held: Any, place: Place) -> JSONValue:
        return _saved_names(list(held), place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        names = _loaded_names(saved, place)
        if not {str}.issuperset(map(type, names)):
            raise place.wrong("texts", saved)
        return dict.fromkeys(names, 0)


TEXTS = _Texts()


@dataclass(frozen=True)
class Window(Kind):
    """The latest of something: a deque, never longer than a fresh object's may become."""

    kind: Kind

    def saved(self, held: Any, place: Place) -> JSONValue:
        return self.kind.saved_many(enumerate(held), place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        if made.maxlen is not None and len(place.items(saved)) > made.maxlen:
            raise place.wrong(f"at most {made.maxlen} of something", f"{len(saved)}")
        made.clear()
        made.extend(self.kind.loaded_many(place.items(saved), range(len(saved)), None, place))
        return made


@dataclass(frozen=True)
class Listed(Kind):
    """A list that grows."""

    kind: Kind

    def saved(self, held: Any, place: Place) -> JSONValue:
        return self.kind.saved_many(enumerate(held), place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        return list(self.kind.loaded_many(place.items(saved), range(len(saved)), None, place))


class _Generator(Kind):
    """A generator of random numbers of Python's `random`: a version, 624 words and where it is among them."""

    WORDS = 624

    def saved(self, held: Any, place: Place) -> JSONValue:
        version, words, normal = held.getstate()
        if version != 3:
            raise place.cannot(
                f"this Python's random numbers have version {version}, which is not known here"
            )
        return [*words, None if normal is None else float(normal).hex()]

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        *words, normal = place.items(saved) or [None]
        fit = len(words) == self.WORDS + 1 and all(type(word) is int and 0 <= word < 2**32 for word in words)
        if not fit or words[-1] > self.WORDS or not any(words[:-1]):
            raise place.wrong("the words of a generator of random numbers", saved)
        try:
            left = None if normal is None else float.fromhex(normal)
        except (TypeError, ValueError, OverflowError):
            left = math.nan
        if left is not None and not math.isfinite(left):
            raise place.wrong("a normal number that was left over, or none", normal)
        made.setstate((3, tuple(words), left))
        return made


GENERATOR = _Generator()
