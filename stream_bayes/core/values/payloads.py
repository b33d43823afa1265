"""Payloads as JSON: the features of a stored sample, its prediction, and the data a learner needs to unlearn it.

A payload is *plain* when it is made of None, bool, int, float, str and bytes, and of lists, tuples and dicts of
plain payloads; the keys of dicts are values as in `values`. As JSON::

    null, true, 5, 1.5, "red"       stand for themselves
    [1, 2]                          a list
    {"tuple": [1, 2]}               a tuple
    {"dict": {"a": 1, "b": 2}}      a dict whose keys are strings, in its order
    {"items": ["a", 1, true, 2]}    any other dict: a key, what it holds, the next key
    {"bytes": "AP8="}               base64
    {"int": "9007199254740993"}     an int beyond 2^53, which not every reader of JSON keeps
    {"float": "nan"}                nan, inf, -inf

Nothing is lost: types, order and every bit come back, but for the bits inside a NaN.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from stream_bayes.core.values.values import JSONValue, canonical, shown, tagged, untagged
from stream_bayes.errors import BadState, BadValue

__all__ = ["MAX_DEPTH", "Payload", "plain", "tagged_payload", "untagged_payload"]

Payload: TypeAlias = Any  # see the module's docstring; a recursive type would add nothing for a checker

MAX_DEPTH = 16  # of payloads in payloads; as JSON twice that. The limit of `sections` follows from it

_SIMPLE = frozenset({type(None), bool, int, float, str, bytes})
_NAMES = frozenset({str})
_THEMSELVES = frozenset({type(None), bool, str})  # most features are; checked all at once
_SAFE_INTEGER = 2**53
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def plain(payload: object) -> Payload:
    """Return the payload itself if it is plain, else a copy with numpy's scalars and subclasses made plain.

    Raises
    ------
    BadValue
        If it holds anything else, or is too deep.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"size": np.float64(1.5), "words": ["a", None]})
    {'size': 1.5, 'words': ['a', None]}
    >>> plain({"day": {1, 2}})
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: expected None, bool, int, float, str, bytes, or lists, tuples and dicts of these \
(at most 16 deep), got set: {1, 2}; convert it before it enters the stream
    """
    if type(payload) is dict and _NAMES.issuperset(map(type, payload)):
        if _SIMPLE.issuperset(map(type, payload.values())):
            return payload
    return _plain(payload, MAX_DEPTH)


def _plain(payload: object, depth: int) -> Payload:
    if type(payload) in _SIMPLE:
        return payload
    if depth > 0:
        if isinstance(payload, dict):
            return {canonical(key): _plain(value, depth - 1) for key, value in payload.items()}
        if isinstance(payload, list):
            return [_plain(value, depth - 1) for value in payload]
        if isinstance(payload, tuple):
            return tuple([_plain(value, depth - 1) for value in payload])
    if isinstance(payload, (float, np.floating)):  # NaN and infinity too, which are no values
        return float(payload)
    if isinstance(payload, (str, bytes, int, np.bool_, np.integer)) and not isinstance(
        payload, np.timedelta64
    ):
        return canonical(payload)
    raise BadValue(
        "expected None, bool, int, float, str, bytes, or lists, tuples and dicts of these (at most "
        f"{MAX_DEPTH} deep), got {type(payload).__name__}: {shown(payload)}; convert it before it enters the stream"
    )


def tagged_payload(payload: Payload) -> JSONValue:
    """Return a plain payload as JSON.

    Examples
    --------
    >>> tagged_payload({"size": 1.5, "codes": (1, 2)})
    {'dict': {'size': 1.5, 'codes': {'tuple': [1, 2]}}}
    """
    if isinstance(payload, (str, bool)) or payload is None:
        return payload
    if isinstance(payload, float):
        return payload if math.isfinite(payload) else {"float": repr(payload)}
    if isinstance(payload, int) and -_SAFE_INTEGER <= payload <= _SAFE_INTEGER:
        return payload
    if isinstance(payload, dict):
        return _tagged_dict(payload)
    if isinstance(payload, list):
        return [tagged_payload(value) for value in payload]
    if isinstance(payload, tuple):
        return {"tuple": [tagged_payload(value) for value in payload]}
    return tagged(payload)


def _tagged_dict(payload: dict[Any, Any]) -> JSONValue:
    if not _NAMES.issuperset(map(type, payload)):
        items = [(tagged(key), tagged_payload(value)) for key, value in payload.items()]
        return {"items": list(chain.from_iterable(items))}
    if _THEMSELVES.issuperset(map(type, payload.values())):
        return {"dict": dict(payload)}
    return {"dict": {name: tagged_payload(value) for name, value in payload.items()}}


def untagged_payload(json: object) -> Payload:
    """Return the payload that `tagged_payload` wrote.

    Raises
    ------
    BadState
        For any JSON that it does not write.

    Examples
    --------
    >>> untagged_payload({"dict": {"size": 1.5, "codes": {"tuple": [1, 2]}}})
    {'size': 1.5, 'codes': (1, 2)}
    """
    return _untagged(json, MAX_DEPTH)


def _untagged(json: object, depth: int) -> Payload:
    if isinstance(json, (str, bool)) or json is None:
        return json
    if isinstance(json, float) and math.isfinite(json):
        return json
    if isinstance(json, int) and -_SAFE_INTEGER <= json <= _SAFE_INTEGER:
        return json
    if isinstance(json, list) and depth > 0:
        return [_untagged(value, depth - 1) for value in json]
    if isinstance(json, dict) and len(json) == 1:
        ((tag, body),) = json.items()
        if isinstance(body, list) and depth > 0:
            if tag == "tuple":
                return tuple([_untagged(value, depth - 1) for value in body])
            if tag == "items":
                return _untagged_items(body, depth)
        elif isinstance(body, dict) and depth > 0:
            if tag == "dict":
                return _untagged_dict(body, depth)
        elif isinstance(body, str):
            if tag == "float" and body in _NOT_FINITE:
                return _NOT_FINITE[body]
            if tag == "bytes" or (tag == "int" and len(body) > 15):  # shorter ones stand for themselves
                return untagged(json)
    raise BadState(f"not a saved payload: {shown(json)}")


def _untagged_dict(body: dict[Any, Any], depth: int) -> dict[str, Any]:
    if not _NAMES.issuperset(map(type, body)):
        raise BadState(f"not a saved dict: {shown(body)}")
    if _THEMSELVES.issuperset(map(type, body.values())):
        return dict(body)
    return {name: _untagged(value, depth - 1) for name, value in body.items()}


def _untagged_items(body: list[Any], depth: int) -> dict[Any, Any]:
    keys = [untagged(key) for key in body[::2]]
    if len(body) % 2 or len(set(keys)) < len(keys) or _NAMES.issuperset(map(type, keys)):
        raise BadState(f"not the keys and items of a saved dict: {shown(body)}")
    return dict(zip(keys, [_untagged(value, depth - 1) for value in body[1::2]], strict=True))
