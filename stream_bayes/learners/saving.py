"""A learner's state as JSON text and arrays, with a checksum: what `state`, `from_state` and pickle share."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.core.counts import StoreContent
from stream_bayes.core.network import DiscreteNetwork
from stream_bayes.core.structure import Structure
from stream_bayes.core.values import tagged, untagged
from stream_bayes.errors import BadState
from stream_bayes.schema import Schema

__all__ = [
    "FORMAT",
    "Content",
    "checksum",
    "loaded_parameter",
    "may_be_within",
    "saved_parameter",
    "text_of",
    "verified",
]

FORMAT = 1

_KEYS = {"format", "learner", "parameters", "store", "reading", "arrays", "checksum"}


class Content(NamedTuple):
    """Everything a learner held at one moment. Its state can be written while the learner goes on."""

    learner: str
    parameters: dict[str, Any]
    store: StoreContent
    reading: dict[str, Any]

    def state(self) -> dict[str, Any]:
        """All of it: JSON values, and arrays under "arrays"."""
        store = self.store.state()
        state = {
            "format": FORMAT,
            "learner": self.learner,
            "parameters": self.parameters,
            "store": store["meta"],
            "reading": self.reading,
            "arrays": store["arrays"],
        }
        state["checksum"] = checksum(text_of(state), store["arrays"])
        return state


def text_of(state: Mapping[str, Any]) -> str:
    """Everything of a state but its arrays and checksum: canonical JSON, then the vocabularies that are texts.

    These are most of it, and as JSON they would take ten times as long. In the JSON their lengths stand for them.
    """
    kept = {key: state[key] for key in sorted(state) if key not in ("arrays", "checksum")}
    store = kept.get("store")
    if not isinstance(store, Mapping) or not isinstance(store.get("vocabularies"), list):
        return json.dumps(kept)
    known = store["vocabularies"]
    kept["store"] = {**store, "vocabularies": [len(one) if isinstance(one, str) else one for one in known]}
    return "\n".join([json.dumps(kept), *(one for one in known if isinstance(one, str))])


def checksum(text: str, arrays: Mapping[str, Any]) -> int:
    """A checksum over the text and every array's name, type, shape and bytes."""
    total = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total = zlib.crc32(f"{name}{array.dtype.str}{array.shape}".encode(), total)
        total = zlib.crc32(array.data, total)
    return total


def verified(state: object, learner: str) -> Mapping[str, Any]:
    """A state, once its outer form, format and checksum are right."""
    if not isinstance(state, Mapping) or "format" not in state:
        raise BadState("this is no state of a learner: expected what state() returned")
    if state["format"] != FORMAT:
        raise BadState(
            f"the state has format {state['format']!r}, this version reads {FORMAT}; "
            "a newer version of stream_bayes wrote it, upgrade to read it"
        )
    if set(state) != _KEYS or not isinstance(state["arrays"], Mapping):
        raise BadState(f"the state is truncated: it has {sorted(map(str, state))}, expected {sorted(_KEYS)}")
    if state["learner"] != learner:
        raise BadState(f"the state is of a {state['learner']}, not of a {learner}")
    try:
        right = state["checksum"] == checksum(text_of(state), state["arrays"])
    except (TypeError, ValueError, AttributeError) as error:
        raise BadState(f"the state was altered: {error}") from error
    if not right:
        raise BadState("the state was altered: its checksum does not fit")
    return state


_WITHIN: dict[str, type] = {}  # the learners that others may have within, by the names of their classes


def may_be_within(kind: type) -> None:
    """Let a learner be an argument of another: a state names it, and never anything to import."""
    _WITHIN[kind.__name__] = kind


def saved_parameter(value: Any) -> Any:  # JSON in both directions
    """A constructor argument as JSON. A learner is its class with its own arguments, as River has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, tuple) and value and isinstance(value[0], type):
        kind: type = value[0]
        if _WITHIN.get(kind.__name__) is not kind:
            raise BadState(f"a {kind.__name__} within another learner cannot be saved")
        saved = {name: saved_parameter(argument) for name, argument in value[1].items()}
        return {"learner": [kind.__name__, saved]}
    if isinstance(value, Schema):
        return {"schema": value.to_json()}
    if isinstance(value, Structure):
        return {"structure": value.to_json()}
    if isinstance(value, DiscreteNetwork):
        return {"network": value.to_json()}
    if isinstance(value, Mapping):
        pairs = [[tagged(key), None if held is None else tagged(held)] for key, held in value.items()]
        return {"mapping": pairs}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [saved_parameter(part) for part in value]}
    raise BadState(f"a parameter of type {type(value).__name__} cannot be saved")


def loaded_parameter(saved: Any) -> Any:
    """The inverse of `saved_parameter`."""
    if not isinstance(saved, Mapping):
        return saved
    if set(saved) == {"learner"}:
        name, arguments = saved["learner"]
        if name not in _WITHIN:
            raise BadState(f"a learner {name!r} within another is not known")
        return _WITHIN[name](**{key: loaded_parameter(argument) for key, argument in arguments.items()})
    if set(saved) == {"schema"}:
        return Schema.from_json(saved["schema"])
    if set(saved) == {"structure"}:
        return Structure.from_json(saved["structure"])
    if set(saved) == {"network"}:
        return DiscreteNetwork.from_json(saved["network"])
    if set(saved) == {"mapping"}:
        pairs = saved["mapping"]
        return {untagged(key): None if held is None else untagged(held) for key, held in pairs}
    if set(saved) == {"tuple"}:
        return tuple(loaded_parameter(part) for part in saved["tuple"])
    if set(saved) == {"list"}:
        return [loaded_parameter(part) for part in saved["list"]]
    raise BadState(f"a parameter saved as {sorted(map(str, saved))} is not known")
