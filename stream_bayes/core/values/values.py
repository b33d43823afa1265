"""Labels and nominal values: which Python objects may be one, and how they are kept as JSON.

A value is a `str`, `bytes`, `bool`, `int`, finite `float`, or a tuple of these. Two values are the same if
a Python dict takes them for one key: `True`, `1` and `1.0` are one value, `"1"` is another.

As JSON, a string is itself and everything else is an object with a single key that names the type::

    "red"                           a str
    {"int": "5"}                    decimal; hexadecimal ("0x...") past 2048 bits
    {"float": "0x1.8000000000000p+0"}
    {"bool": true}
    {"bytes": "AP8="}               base64
    {"tuple": ["red", {"int": "5"}]}

Every value has exactly one such form, and reading accepts no other, so equal texts mean equal values and the
form can be hashed.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from stream_bayes.errors import BadLabel, BadState, BadValue

__all__ = [
    "OTHER",
    "JSONValue",
    "Value",
    "canonical",
    "canonical_label",
    "is_missing",
    "name_order",
    "packed",
    "shown",
    "tagged",
    "tagged_many",
    "unpacked",
    "untagged",
    "untagged_many",
]


class _Other:
    """The type of `OTHER`: what values share that came after `max_values` was reached. Equal to itself alone."""

    def __repr__(self) -> str:
        return "<other>"

    def __reduce__(self) -> str:
        return "OTHER"


OTHER = _Other()

Value: TypeAlias = str | bytes | bool | int | float | tuple["Value", ...]
JSONValue: TypeAlias = bool | int | float | str | list["JSONValue"] | dict[str, "JSONValue"] | None

# Depth of tuples in tuples, so that no saved state can exhaust the stack; as JSON twice that (`sections`).
MAX_DEPTH = 32
_DECIMAL_BITS = 2048  # below the lowest limit (640 digits) that sys.set_int_max_str_digits can set
_INTEGER = re.compile(r"-?(?:[0-9]{1,640}|0x[0-9a-f]+)", re.ASCII)

_SUPPORTED = f"str, bytes, bool, int, a finite float or a tuple of these (at most {MAX_DEPTH} deep)"


def canonical(value: object, *, feature: object | None = None) -> Value:
    """Return a nominal value as it is counted: a plain Python object of a supported type.

    Numpy scalars become Python's, and subclasses (enums, named tuples, `numpy.float64`) the plain type.
    `feature` is its name, for the message.

    Raises
    ------
    BadValue
        For anything that is not, or does not hold, a supported type; missing values included.

    Examples
    --------
    >>> import numpy as np
    >>> canonical("red"), canonical(np.int64(3)), canonical((np.True_, 1.5))
    ('red', 3, (True, 1.5))
    >>> canonical(float("inf"), feature="size")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: feature 'size': expected str, bytes, bool, int, a finite float or a tuple \
of these (at most 32 deep), got float: inf; convert it first, or leave the feature out where it is missing
    """
    if type(value) is str:
        return value
    plain = _plain(value, MAX_DEPTH)
    if plain is None:
        where = "value" if feature is None else f"feature {shown(feature)}"
        raise BadValue(
            f"{where}: expected {_SUPPORTED}, got {_type_name(value)}: {shown(value)}; "
            "convert it first, or leave the feature out where it is missing"
        )
    return plain


def canonical_label(label: object) -> Value:
    """Return a label as it is counted: `canonical` for the class variable.

    Raises
    ------
    BadLabel
        If the label is missing or of an unsupported type.

    Examples
    --------
    >>> canonical_label(True)
    True
    >>> canonical_label(None)
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadLabel: a label is needed, got None; for an event without one, predict now and \
learn when its label comes, or take unlabelled='em' where a learner has it
    """
    if type(label) is str or type(label) is int or type(label) is bool:
        return label
    plain = _plain(label, MAX_DEPTH)
    if plain is not None:
        return plain
    if is_missing(label):
        raise BadLabel(
            f"a label is needed, got {shown(label)}; for an event without one, predict now and learn when "
            "its label comes, or take unlabelled='em' where a learner has it"
        )
    raise BadLabel(f"label: expected {_SUPPORTED}, got {_type_name(label)}: {shown(label)}; convert it first")


def is_missing(value: object) -> bool:
    """Return True if a value is missing: `None`, a floating NaN, or pandas' `NA` and `NaT`.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing(0.0), is_missing("")
    (True, True, False, False)
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool:
        return False
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    # By name, so that pandas need not be installed. `not value == value` would not do: comparing NA gives NA.
    return kind.__name__ in ("NAType", "NaTType") and kind.__module__.partition(".")[0] == "pandas"


def tagged(value: Value) -> JSONValue:
    """Return a value as JSON that keeps its type and every bit of it.

    Examples
    --------
    >>> tagged("red"), tagged(5), tagged((True, 1.5))
    ('red', {'int': '5'}, {'tuple': [{'bool': True}, {'float': '0x1.8000000000000p+0'}]})
    """
    if type(value) is str:
        return value
    plain = canonical(value)  # refuses what is unsupported, and tuples too deep to be read again
    if isinstance(plain, str):
        return plain
    if isinstance(plain, bool):
        return {"bool": plain}
    if isinstance(plain, int):
        return {"int": str(plain) if plain.bit_length() <= _DECIMAL_BITS else hex(plain)}
    if isinstance(plain, float):
        return {"float": plain.hex()}
    if isinstance(plain, bytes):
        return {"bytes": base64.b64encode(plain).decode("ascii")}
    return {"tuple": [tagged(element) for element in plain]}


def untagged(json: object) -> Value:
    """Return the value that `tagged` wrote.

    Raises
    ------
    BadState
        For any JSON that `tagged` does not write.

    Examples
    --------
    >>> untagged({"tuple": [{"bool": True}, {"float": "0x1.8000000000000p+0"}]})
    (True, 1.5)
    >>> untagged({"int": "five"})
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadState: not a saved value: {'int': 'five'}
    """
    if type(json) is str:
        return json
    return _untagged(json, MAX_DEPTH)


def tagged_many(values: Iterable[Value]) -> list[JSONValue]:
    """Return `tagged` for each value, fast where most are strings (100,000 strings take about 3 ms).

    Examples
    --------
    >>> tagged_many(["red", 5])
    ['red', {'int': '5'}]
    """
    return [value if type(value) is str else tagged(value) for value in values]


def untagged_many(json: object) -> list[Value]:
    """Return `untagged` for each item of a JSON array, fast where most are strings.

    Examples
    --------
    >>> untagged_many(["red", {"int": "5"}])
    ['red', 5]
    """
    if type(json) is not list:
        raise BadState(f"expected an array of saved values, got {_type_name(json)}: {shown(json)}")
    return [element if type(element) is str else _untagged(element, MAX_DEPTH) for element in json]


def packed(values: list[Value]) -> JSONValue:
    r"""Return many values as JSON: strings without line breaks as the lines of one text, which is read ten times faster
    than a list; anything else as `tagged_many`.

    Examples
    --------
    >>> packed(["red", "green"]), packed(["red", 1]), packed([])
    ('red\ngreen', ['red', {'int': '1'}], [])
    """
    if values and set(map(type, values)) == {str}:
        text = "\n".join(values)  # type: ignore[arg-type]  # all are str
        if text.count("\n") == len(values) - 1:
            return text
    return tagged_many(values)


def unpacked(saved: object) -> list[Value]:
    r"""Return the values that `packed` wrote.

    Raises
    ------
    BadState
        If `packed` would not have made this.

    Examples
    --------
    >>> unpacked("red\ngreen"), unpacked([{"int": "1"}])
    (['red', 'green'], [1])
    """
    if isinstance(saved, str):
        return saved.split("\n")  # type: ignore[return-value]  # a list of str, but a new one
    return untagged_many(saved)


def name_order(value: object) -> tuple[int, object]:
    """Return a key that sorts values of any mix of types: numbers, then strings, bytes and tuples.

    Ties are broken with it everywhere. It depends on the value alone, never on `hash` or on identity, and is
    equal for two values exactly when a dict holds them to be the same, so that it does not matter which of
    `1` and `True` came first.

    Examples
    --------
    >>> sorted(["b", 2, (1, "a"), "a", True, b"c", 1.5], key=name_order)
    [True, 1.5, 2, 'a', 'b', b'c', (1, 'a')]
    """
    if isinstance(value, str):
        return 1, value
    if isinstance(value, (int, float)):
        return 0, value
    if isinstance(value, bytes):
        return 2, value
    if isinstance(value, tuple):
        return 3, tuple([name_order(element) for element in value])
    return name_order(canonical(value))


def shown(value: object) -> str:
    """Return a value's `repr` for a message, at most 80 characters of it.

    Examples
    --------
    >>> shown("red")
    "'red'"
    >>> len(shown("x" * 1000))
    80
    """
    try:
        text = repr(value)
    except Exception:  # a message about a bad value must not fail on that value, whatever its repr does
        return f"<{_type_name(value)} without a repr>"[:80]
    return text if len(text) <= 80 else text[:77] + "..."


def _plain(value: object, depth: int) -> Value | None:
    """Return the plain form of a supported value, else None (which is itself no value)."""
    # The base types' own methods: a subclass (an enum, say) may answer str(), int() or bytes() otherwise.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value) if math.isfinite(value) else None
    if isinstance(value, bytes):
        return bytes(memoryview(value))
    if isinstance(value, tuple):
        return _plain_tuple(value, depth)
    if isinstance(value, np.timedelta64):  # numpy derives durations from its integers
        return None
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value) if math.isfinite(value) else None
    return None


def _plain_tuple(items: tuple[object, ...], depth: int) -> Value | None:
    if depth == 0:
        return None
    plain: list[Value] = []
    for element in tuple.__iter__(items):
        one = _plain(element, depth - 1)
        if one is None:
            return None
        plain.append(one)
    return tuple(plain)


def _untagged(json: object, depth: int) -> Value:
    if type(json) is str:
        return json
    if type(json) is dict and len(json) == 1:
        ((tag, body),) = json.items()
        if tag == "tuple" and type(body) is list and depth > 0:
            return tuple([_untagged(element, depth - 1) for element in body])
        value = _scalar(tag, body)
        if value is not None and tagged(value) == json:  # no second spelling: " 5", "+5", "05", "1e0", ...
            return value
    raise BadState(f"not a saved value: {shown(json)}")


def _scalar(tag: object, body: object) -> Value | None:
    """Return the value of a tag and its body, if they make one in any spelling."""
    if tag == "bool" and type(body) is bool:
        return body
    if type(body) is not str:
        return None
    try:
        if tag == "int" and _INTEGER.fullmatch(body):
            return int(body, 16 if "x" in body else 10)
        if tag == "float":
            number = float.fromhex(body)
            return number if math.isfinite(number) else None
        if tag == "bytes":
            return base64.b64decode(body, validate=True)
    except (ValueError, OverflowError):
        return None
    return None


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
