"""The parameters of River's objects as JSON: compared with those of a state, never used to make an object.

A payload stands for itself; besides there are

    {"type": "int"}                       a type, of a few
    {"set": [...]}                        in the order of the values
    {"duration": [days, seconds, microseconds]}
    {"pattern": ["[a-z]+", 32]}           a compiled regular expression
    {"list": [...]}, {"tuple": [...]}, {"dict": [[key, value], ...]}     of these
    {"object": {...}}                     another object, with what it holds
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from stream_bayes.core.values.payloads import plain, tagged_payload, untagged_payload
from stream_bayes.core.values.values import JSONValue, shown
from stream_bayes.errors import BadValue, OtherConfiguration
from stream_bayes.saving.river.codecs import key_order
from stream_bayes.saving.river.location import Location

__all__ = [
    "ObjectWriter",
    "compare_parameters",
    "decode_parameter",
    "encode_parameter",
    "made_parameter",
    "objects_in",
]

TYPES: dict[type, str] = {
    kind: kind.__name__ for kind in (bool, int, float, str, bytes, list, tuple, dict, set)
}
TYPES[numbers.Number] = "Number"

SEQUENCES: dict[str, Callable[..., Any]] = {"list": list, "tuple": tuple, "set": set}

ObjectWriter = Callable[[Any, Location], JSONValue]  # raises for what is not an object of a known class
IsObject = Callable[[Any], bool]


def encode_parameter(value: Any, location: Location, is_object: IsObject, write: ObjectWriter) -> JSONValue:
    """Return a parameter as JSON; `write` writes objects of known classes."""

    def written(inner: Any) -> JSONValue:
        return encode_parameter(inner, location, is_object, write)

    if is_object(value):
        return {"object": write(value, location.inside())}
    if isinstance(value, type) and value in TYPES:
        return {"type": TYPES[value]}
    if isinstance(value, timedelta):
        return {"duration": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        return {"pattern": [value.pattern, int(value.flags)]}
    if isinstance(value, (set, frozenset)):
        return {
            "set": [
                written(element)
                for element in sorted(value, key=lambda element: key_order(element, location))
            ]
        }
    if isinstance(value, Mapping):
        return {"dict": [[written(key), written(element)] for key, element in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [written(element) for element in value]}
    try:
        return tagged_payload(plain(value))
    except BadValue as error:
        raise location.cannot_save(
            f"its value is {shown(value)}, and a snapshot never holds code or what only code could make; "
            "write what it does as a class of its own, and register that"
        ) from error


def made_parameter(saved: Any) -> Any:
    """Return the parameter that `encode_parameter` wrote: numbers, texts, and lists, tuples, sets and dicts of these.

    Raises
    ------
    BadState
        If it is anything else. A state never makes an object.
    """
    if isinstance(saved, Mapping) and len(saved) == 1:
        ((kind, parts),) = saved.items()
        if kind in SEQUENCES:
            return SEQUENCES[kind](made_parameter(element) for element in parts)
        if kind == "dict":
            return {made_parameter(key): made_parameter(element_value) for key, element_value in parts}
    return untagged_payload(saved)


def decode_parameter(
    made: Any,
    saved: object,
    location: Location,
    is_object: IsObject,
    restore: Callable[[Any, Any, Location], Any],
) -> None:
    """Compare a parameter with what was saved, and give the objects in it what they held.

    Raises
    ------
    OtherConfiguration
        If it was another.
    """
    if is_object(made):
        (state,) = location.fields(saved, "object")
        restore(made, state, location.inside())
        return
    if isinstance(made, (list, tuple)):
        (items,) = location.fields(saved, "tuple" if isinstance(made, tuple) else "list")
        _same_length(len(made), len(location.items(items)), location)
        for inner, element in zip(made, items, strict=True):
            decode_parameter(inner, element, location, is_object, restore)
        return
    written = encode_parameter(made, location, is_object, _no_object)
    if written != saved:
        raise OtherConfiguration(
            f"{location}: the snapshot was taken with {shown(saved)}, the model is configured with {shown(written)}; "
            "use the former configuration, or start over without the snapshot"
        )


def objects_in(value: Any, is_object: IsObject) -> Iterator[Any]:
    """Yield the objects within a parameter."""
    if is_object(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from objects_in(element, is_object)


def _same_length(made: int, saved: int, location: Location) -> None:
    if made != saved:
        raise OtherConfiguration(
            f"{location}: the snapshot was taken with {saved} of these, the model is configured with {made}; "
            "use the former configuration, or start over without the snapshot"
        )


def _no_object(value: Any, location: Location) -> JSONValue:
    raise location.cannot_save(f"a {type(value).__name__} cannot stand in a set or a dict of parameters")


def compare_parameters(made: dict[str, Any], saved: Any, location: Location) -> None:
    """Raise `OtherConfiguration` where written parameters differ from those that were saved."""
    if not isinstance(saved, Mapping):
        raise location.altered("parameters", saved)
    for name in sorted(made.keys() | saved.keys()):
        if name not in made or name not in saved or made[name] != saved[name]:
            raise OtherConfiguration(
                f"{location.at(name)}: the snapshot was taken with {shown(saved.get(name))}, "
                f"the model is configured with {shown(made.get(name))}; "
                "use the former configuration, or start over without the snapshot"
            )
