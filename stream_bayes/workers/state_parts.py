"""A learner's state as parts of a bounded size, each with a name of its own, and back.

    meta/0, meta/1, ...       the state as JSON, without its arrays and texts; their types, shapes and lengths instead
    text/VOCABULARY/0, ...    the values of a feature
    array/NAME/0, ...         the rows of a table

Values are appended and tables grow at their end, so a part that was written stays as it is until one of its counts
changes. A part is sent again only then.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.errors import BadState

__all__ = ["PART_BYTES", "joined", "parts_of", "pieces"]

PART_BYTES = 65_536
KINDS = ("f8", "i8", "i4", "u2", "u1")  # of arrays in states
MOST_BYTES = 2**32  # of a state: what a snapshot holds at most


def parts_of(state: Mapping[str, Any], part_bytes: int = PART_BYTES) -> dict[str, bytes]:
    """Return a learner's state as parts by name.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> model.learn_one({"sky": "grey"}, "rain")
    >>> sorted(parts_of(model.state()))[:3]
    ['array/class_peak/0', 'array/class_weight/0', 'array/present/0']
    """
    parts: dict[str, bytes] = {}
    rest = {name: value for name, value in state.items() if name != "arrays"}
    texts: dict[str, int] = {}
    store = rest.get("store")
    if isinstance(store, Mapping) and isinstance(store.get("vocabularies"), list):
        vocabularies = list(store["vocabularies"])
        for number, values in enumerate(vocabularies):
            if isinstance(values, str):
                data = values.encode("utf-8", "surrogatepass")
                texts[str(number)] = len(data)
                vocabularies[number] = None
                parts |= pieces(f"text/{number}", data, part_bytes)
        rest["store"] = {**store, "vocabularies": vocabularies}
    arrays = {}
    for name, value in state.get("arrays", {}).items():
        array = np.ascontiguousarray(value)
        arrays[name] = [array.dtype.str[1:], list(array.shape)]
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        parts |= pieces(f"array/{name}", data, part_bytes)
    meta = json.dumps({"state": rest, "texts": texts, "arrays": arrays, "part": part_bytes}).encode()
    return parts | pieces("meta", meta, part_bytes)


def joined(parts: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the state that `parts_of` cut. Its meaning is checked by the learner that loads it.

    Raises
    ------
    BadState
        If parts are missing or superfluous, or do not have the size that the first one states.
    """
    left = dict(parts)
    data = b""
    while (piece := left.pop(f"meta/{len(parts) - len(left)}", None)) is not None:
        data += piece
    try:
        meta = json.loads(data)
        state, texts, arrays, size = meta["state"], meta["texts"], meta["arrays"], meta["part"]
        if type(size) is not int or size < 1:
            raise ValueError(f"a part has {size!r} bytes")
        for number, length in texts.items():
            text = _joined(left, f"text/{number}", length, size)
            state["store"]["vocabularies"][int(number)] = text.decode("utf-8", "surrogatepass")
        filled = {}
        for name, (kind, shape) in arrays.items():
            if kind not in KINDS or any(type(extent) is not int or extent < 0 for extent in shape):
                raise ValueError(f"array {name!r} is of type {kind!r} and shape {shape!r}")
            dtype = np.dtype(f"<{kind}" if kind != "u1" else kind)
            content = _joined(left, f"array/{name}", math.prod(shape) * dtype.itemsize, size)
            filled[name] = np.frombuffer(content, dtype).reshape(shape)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise BadState(f"the parts do not make a state: {type(error).__name__}: {error}") from error
    if left:
        raise BadState(f"the parts do not make a state: {sorted(left)[0]!r} belongs to nothing")
    state["arrays"] = filled
    return dict(state)


def pieces(name: str, data: bytes, size: int) -> dict[str, bytes]:
    """Return data as numbered parts of a size; at least one.

    Examples
    --------
    >>> pieces("text", b"abcde", 2)
    {'text/0': b'ab', 'text/1': b'cd', 'text/2': b'e'}
    """
    return {
        f"{name}/{number}": data[number * size : (number + 1) * size]
        for number in range(max(1, -(-len(data) // size)))
    }


def _joined(left: dict[str, bytes], name: str, length: int, size: int) -> bytes:
    """Take the parts of a name out of what is left."""
    if type(length) is not int or not 0 <= length < MOST_BYTES:
        raise ValueError(f"{name} has {length!r} bytes")
    pieces = [left.pop(f"{name}/{number}") for number in range(max(1, -(-length // size)))]
    data = b"".join(pieces)
    if len(data) != length:
        raise ValueError(f"{name} has {len(data)} bytes, expected {length}")
    return data
