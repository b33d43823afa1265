"""States as entries of an archive, and back: their JSON values as text, their arrays as `.npy` files.

    {"learner": {"format": 1, "store": {...}, "arrays": {"weight": ...}}, "metrics": {"seen": 1200}}

    learner/state.json    {"format":1,"store":{...}}
    learner/weight.npy    magic, version 1.0, {'descr': '<f8', 'fortran_order': False, 'shape': (12, 2), }, numbers
    metrics/state.json    {"seen":1200}

and, as their description in meta.json, {"learner": {"text": 27, "arrays": {"weight": ["<f8", [12, 2]]}},
"metrics": {"text": 13}}.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values import payloads, values
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadSnapshot, BadValue
from stream_bayes.saving.snapshots.archive import ALIGNMENT, ArchiveEntry, Bytes, Extent

__all__ = [
    "State",
    "copied_state",
    "dumped",
    "entries_of",
    "expect",
    "is_count",
    "is_name",
    "parsed",
    "read_sections",
    "sizes",
]

State: TypeAlias = Mapping[str, Any]  # JSON values, and arrays under "arrays"

TYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")  # of a section or an array: never a path
PLAIN = frozenset({str, int, float, bool, type(None)})
# Of values within values. The deepest payload has 2 * 16 levels as JSON, and a key in it 2 * 32 more; as many again
# are left for what stands around it. Far from where Python's own recursion ends.
MOST_DEPTH = 2 * 2 * (payloads.MAX_DEPTH + values.MAX_DEPTH)
MOST_DIMENSIONS = 8
MOST_CELLS = 2**40  # also of arrays without any: so much fits in no file
NPY_MAGIC = b"\x93NUMPY\x01\x00"


def copied_state(section: str, state: object) -> State:
    """Return a state with its JSON values copied and its arrays shared, after checking that all of it can be saved."""
    expect(isinstance(state, Mapping), f"section {section}", "a mapping", state)
    assert isinstance(state, Mapping)
    copied: dict[str, Any] = _copied(section, {key: state[key] for key in state if key != "arrays"}, 0)
    if "arrays" in state:
        expect(isinstance(state["arrays"], Mapping), f"arrays of {section}", "a mapping", state["arrays"])
        for name, array in state["arrays"].items():
            where = f"array of {section}"
            expect(is_name(name), where, "a name of ASCII letters, digits, _ and -", name)
            expect(isinstance(array, np.ndarray), f"{where}, {name}", "a numpy array", array)
            plain = array.dtype.newbyteorder("<").str in TYPES and _is_shape(array.shape)
            expect(plain, f"{where}, {name}", f"one of {', '.join(TYPES)}", f"{array.dtype} {array.shape}")
        copied["arrays"] = dict(sorted(state["arrays"].items()))
    return copied


def _copied(where: str, value: Any, depth: int) -> Any:
    """Return a JSON value that shares no list or dict with the given one."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    expect(depth < MOST_DEPTH, f"section {where}", f"at most {MOST_DEPTH} values within values", "more")
    if isinstance(value, Mapping):
        for key in value:
            expect(isinstance(key, str), f"section {where}", "texts as keys, as JSON has them", key)
        return {key: _copied(where, element, depth + 1) for key, element in value.items()}
    expect(isinstance(value, (list, tuple)), f"section {where}", "values that JSON has", value)
    # The stream waits for this, and most items of long lists are plain: they are spared the call.
    return [element if type(element) in PLAIN else _copied(where, element, depth + 1) for element in value]


def entries_of(section: str, state: State) -> tuple[list[ArchiveEntry], dict[str, Any]]:
    """Return the entries of one state, and their description for meta.json."""
    text = dumped(section, {key: value for key, value in state.items() if key != "arrays"})
    entries = [ArchiveEntry(f"{section}/state.json", (text,))]
    description: dict[str, Any] = {"text": len(text)}
    if "arrays" in state:
        description["arrays"] = {}
    for name, array in state.get("arrays", {}).items():
        stored = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        description["arrays"][name] = [stored.dtype.str, list(stored.shape)]
        header = _npy_header(stored.dtype.str, stored.shape)
        entries.append(
            ArchiveEntry(f"{section}/{name}.npy", (header, stored.reshape(-1).view(np.uint8).data))
        )
    return entries, description


def sizes(sections: Any) -> Iterator[tuple[str, int]]:
    """Yield the name and size of every entry, as the sections are described. Raise `BadSnapshot` if that is wrong."""
    try:
        for section, described in sections.items():
            _refuse(not is_name(section), section)
            _refuse(not set(described) <= {"text", "arrays"} or not is_count(described["text"]), section)
            yield f"{section}/state.json", described["text"]
            for name, (kind, shape) in described.get("arrays", {}).items():
                _refuse(not is_name(name) or kind not in TYPES, f"{section}/{name}")
                _refuse(not isinstance(shape, list) or not _is_shape(shape), f"{section}/{name}")
                size = math.prod(shape) * np.dtype(kind).itemsize
                yield f"{section}/{name}.npy", len(_npy_header(kind, tuple(shape))) + size
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, BadSnapshot):
            raise
        raise BadSnapshot(f"the sections are not described as expected: {error!r}") from error


def _refuse(condition: bool, what: object) -> None:
    if condition:
        raise BadSnapshot(
            f"the sections describe {shown(what)}: expected a plain name, its size, and arrays "
            f"of one of the types {', '.join(TYPES)} that fit in a file"
        )


def read_sections(
    file: memoryview, sections: Mapping[str, Any], extents: Iterable[Extent]
) -> dict[str, State]:
    """Return the states in the entries at these extents."""
    remaining = iter(extents)
    states: dict[str, State] = {}
    for section, described in sections.items():
        extent = next(remaining)
        state = parsed(extent.name, file[extent.begin : extent.stop])
        if "arrays" in described:
            state["arrays"] = {
                name: _read_array(file, next(remaining), kind, tuple(shape))
                for name, (kind, shape) in described["arrays"].items()
            }
        states[section] = state
    return states


def _read_array(file: memoryview, extent: Extent, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    start = extent.begin + len(_npy_header(kind, shape))
    array: NDArray[Any] = np.ndarray(shape, kind, file, start)
    if kind == "|b1" and array.view(np.uint8).max(initial=0) > 1:
        raise BadSnapshot(f"{extent.name} was altered: a truth value is neither 0 nor 1")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _npy_header(kind: str, shape: tuple[int, ...]) -> bytes:
    """Return the header of a `.npy` file. numpy's own function pads differently between versions."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}"
    size = len(NPY_MAGIC) + 2 + len(text) + 1
    text += " " * (-size % ALIGNMENT) + "\n"
    return NPY_MAGIC + len(text).to_bytes(2, "little") + text.encode("ascii")


def dumped(where: str, value: object) -> bytes:
    """Return a value as JSON text."""
    try:
        return json.dumps(value, separators=(",", ":")).encode("ascii")
    except ValueError as error:  # a number of thousands of digits
        raise BadValue(f"{where} cannot be written as JSON: {error}") from error


def parsed(where: str, text: Bytes) -> dict[str, Any]:
    """Return the JSON object in a text."""
    try:
        value = json.loads(bytes(text).decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise BadSnapshot(f"{where} was altered: it is not ASCII JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadSnapshot(f"{where} was altered: expected a JSON object, got {shown(value)}")
    return value


def expect(condition: object, what: str, expected: str, got: object) -> None:
    """Refuse what cannot be kept."""
    if not condition:
        raise BadValue(f"a snapshot's {what}: expected {expected}, got {shown(got)}")


def is_name(value: object) -> bool:
    """Return True if this can name a section or an array."""
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def is_count(value: object) -> TypeGuard[int]:
    """Return True for a whole number from 0 to 2^63 - 1."""
    return type(value) is int and 0 <= value < 2**63


def _is_shape(shape: Sequence[Any]) -> bool:
    counted = len(shape) <= MOST_DIMENSIONS and all(is_count(size) for size in shape)
    return counted and math.prod(max(size, 1) for size in shape) <= MOST_CELLS
