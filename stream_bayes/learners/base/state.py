"""States of learners: JSON values and arrays under a checksum; and learners that merge, save and pickle by them.

{"format": 1, "learner": "AODE", "parameters": {...}, "store": {...}, "reading": {...}, "arrays": {...}, "checksum": n}
"""

from __future__ import annotations

import json
import zlib
from abc import abstractmethod
from collections.abc import Container, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from river import base

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.saved_search import search_from_json
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.values.checks import refusing_bad_state
from stream_bayes.core.values.values import shown, tagged, untagged
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadState, CannotMerge, StreamBayesError
from stream_bayes.learners.base.arguments import ReadOnlyArguments, argument_names
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.fourier_features import FourierFeatures
from stream_bayes.learners.catalogue import class_named

__all__ = [
    "FORMAT",
    "CountLearner",
    "LearnerContent",
    "checksum",
    "loaded_parameter",
    "saved_parameter",
    "text_of",
    "verified",
]

FORMAT = 1

_KEYS = {"format", "learner", "parameters", "store", "reading", "arrays", "checksum"}


class StoredCounts(Protocol):
    """The counts of a learner: they merge, and are saved and loaded, with exact results."""

    def merge(self, other: Any) -> None:
        """Add everything that another store of the same settings holds."""

    def content(self) -> StoredContent:
        """Return a copy of everything held."""

    def state(self) -> dict[str, Any]:
        """Return everything held as JSON values under "meta" and arrays under "arrays"."""

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill an empty store from a state. Raise `BadState` for an invalid one."""

    @property
    def memory_bytes(self) -> int:
        """The bytes held."""


class StoredContent(Protocol):
    """The content of a store at one moment."""

    def state(self) -> dict[str, Any]:
        """Return it as JSON values under "meta" and arrays under "arrays"."""


class LearnerContent(NamedTuple):
    """All that a learner held at one moment. Its state can be written while the learner goes on."""

    learner: str
    parameters: dict[str, Any]
    store: StoredContent
    reading: dict[str, Any]

    def state(self) -> dict[str, Any]:
        """Return the state: JSON values, and arrays under "arrays"."""
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
    """Return everything of a state but its arrays and checksum: canonical JSON, then the vocabularies that are texts.

    Those texts are most of a state, and as JSON they would take ten times as long. The JSON holds their lengths.
    """
    parts = {key: state[key] for key in sorted(state) if key not in ("arrays", "checksum")}
    store = parts.get("store")
    if not isinstance(store, Mapping) or not isinstance(store.get("vocabularies"), list):
        return json.dumps(parts)
    vocabularies = store["vocabularies"]
    parts["store"] = {
        **store,
        "vocabularies": [len(one) if isinstance(one, str) else one for one in vocabularies],
    }
    return "\n".join([json.dumps(parts), *(one for one in vocabularies if isinstance(one, str))])


def checksum(text: str, arrays: Mapping[str, Any]) -> int:
    """Return a checksum over the text and every array's name, type, shape and bytes."""
    total = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total = zlib.crc32(f"{name}{array.dtype.str}{array.shape}".encode(), total)
        total = zlib.crc32(array.data, total)
    return total


def verified(state: object, learner: str) -> Mapping[str, Any]:
    """Return a state whose outer form, format and checksum are right; otherwise raise `BadState`."""
    if not isinstance(state, Mapping) or "format" not in state:
        raise BadState("this is not a state of a learner: expected what state() returned")
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


def saved_parameter(value: Any) -> Any:  # JSON in both directions
    """Return a constructor argument as JSON. A learner is its class with its own arguments, as in River."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return tagged(value)
    if isinstance(value, tuple) and value and isinstance(value[0], type):
        kind: type = value[0]
        if class_named(kind.__name__) is not kind:
            raise BadState(f"a {kind.__name__} within another learner cannot be saved")
        saved = {name: saved_parameter(argument) for name, argument in value[1].items()}
        return {"learner": [kind.__name__, saved]}
    if isinstance(value, Binning):
        return {"binning": value.to_json()}
    if isinstance(value, FourierFeatures):
        return {"fourier": value.to_json()}
    if isinstance(value, Schema):
        return {"schema": value.to_json()}
    if isinstance(value, Structure):
        return {"structure": value.to_json()}
    if isinstance(value, DiscreteNetwork):
        return {"network": value.to_json()}
    if isinstance(value, ScoreSearch):
        return {"search": value.to_json()}
    if isinstance(value, Mapping):
        pairs = [[tagged(key), None if entry is None else tagged(entry)] for key, entry in value.items()]
        return {"mapping": pairs}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [saved_parameter(element) for element in value]}
    if callable(value):
        raise BadState(
            f"{shown(value)} cannot be saved, as a file holds no code: a learner with a function of yours is neither "
            "saved nor copied"
        )
    raise BadState(f"a parameter of type {type(value).__name__} cannot be saved")


def loaded_parameter(saved: Any) -> Any:
    """Return the argument that `saved_parameter` saved."""
    if not isinstance(saved, Mapping):
        return saved
    if set(saved) == {"learner"}:
        name, arguments = saved["learner"]
        made = class_named(name)
        if made is None:
            raise BadState(f"a learner {name!r} within another is not known")
        return made(**{key: loaded_parameter(argument) for key, argument in arguments.items()})
    if set(saved) == {"binning"}:
        return Binning.from_json(saved["binning"])
    if set(saved) == {"fourier"}:
        return FourierFeatures.from_json(saved["fourier"])
    if set(saved) == {"schema"}:
        return Schema.from_json(saved["schema"])
    if set(saved) == {"structure"}:
        return Structure.from_json(saved["structure"])
    if set(saved) == {"network"}:
        return DiscreteNetwork.from_json(saved["network"])
    if set(saved) == {"search"}:
        return search_from_json(saved["search"])
    if set(saved) == {"bytes"}:
        return untagged(saved)
    if set(saved) == {"mapping"}:
        pairs = saved["mapping"]
        return {untagged(key): None if entry is None else untagged(entry) for key, entry in pairs}
    if set(saved) == {"tuple"}:
        return tuple(loaded_parameter(element) for element in saved["tuple"])
    if set(saved) == {"list"}:
        return [loaded_parameter(element) for element in saved["list"]]
    raise BadState(f"a parameter saved as {sorted(map(str, saved))} is not known")


def _parameter(value: Any) -> Any:
    """Return a constructor argument as River's `_get_params` has it: a learner is its class with its arguments."""
    if isinstance(value, base.Base):
        return type(value), value._get_params()
    if isinstance(value, Mapping) and not isinstance(value, dict):
        return dict(value)  # a view of a dict cannot be copied
    if isinstance(value, tuple) and not value:
        return []  # River's clone reads a tuple as a class with its arguments
    return value


class CountLearner(ReadOnlyArguments, base.Base):
    """A learner that is its arguments, a store of counts, and the parts derived from them.

    `BayesClassifier`, `BayesNet` and `MarkovChain` are such learners. A subclass with derived parts writes
    `derived_state` and `load_derived`, and `after_merge` to adapt them after a merge.
    """

    unlearns: ClassVar[bool] = True
    """False if what it learned is no sum, so that `unlearn_one` raises `NotSupported`."""

    sliding_arguments: ClassVar[Mapping[str, Any] | None] = None
    """The arguments beside `window` that make it a sliding window by itself; None if there are none."""

    store: StoredCounts

    def _get_params(self) -> dict[str, Any]:
        # River inspects the signature at every call, which takes longer than the rest of a clone.
        names = argument_names(type(self).__init__)
        if names is None:
            return super()._get_params()
        return {name: _parameter(getattr(self, name)) for name in names}

    def derived_state(self) -> dict[str, Any]:
        """Return the derived parts that are saved with the counts, as JSON values."""
        return {}

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        """Take over the derived parts of a saved learner."""
        if derived:
            raise BadState("the state does not fit: it holds more than counts")

    def after_merge(self) -> None:
        """Adapt the derived parts after a merge."""

    def merge(self, other: Self) -> Self:
        """Add the counts of another learner of the same class and settings, which stays unchanged.

        Raises `CannotMerge` if the two differ.
        """
        self._check_alike(other)
        self.store.merge(other.twin().store if other is self else other.store)
        self.after_merge()
        return self

    def _check_alike(self, other: Self, free: Container[str] = ("memory_budget",)) -> None:
        """Raise `CannotMerge` for another class, or other settings than those that are free."""
        if type(other) is not type(self):
            raise CannotMerge(
                f"a {type(self).__name__} merges with its own kind, not with a {type(other).__name__}"
            )
        mine, theirs = self._get_params(), other._get_params()
        if "binning" in mine:  # "mdl" is Binning("mdl")
            mine, theirs = ({**each, "binning": Binning.of(each["binning"])} for each in (mine, theirs))
        for name in mine:
            if name not in free and mine[name] != theirs[name]:
                raise CannotMerge(
                    f"the learners differ in {name}: {mine[name]!r} here, {theirs[name]!r} there"
                )

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, CountLearner):
            return NotImplemented
        return self.twin().merge(other)

    def __radd__(self, other: object) -> Self:
        # `sum` starts from 0, which acts as a learner without counts.
        return self.twin() if type(other) is int and other == 0 else NotImplemented

    def twin(self) -> Self:
        """Return an independent copy that has learned the same."""
        return type(self).from_state(self.state())

    @property
    @abstractmethod
    def clock(self) -> int:
        """The number of events learned."""

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables and of the codes of names; the names themselves are not counted."""
        return self.store.memory_bytes

    def content(self) -> LearnerContent:
        """Return a copy of all that the learner holds, at the cost of a copy of the tables.

        `content().state()` may be written while the learner goes on learning.
        """
        return LearnerContent(
            type(self).__name__,
            {name: saved_parameter(value) for name, value in self._get_params().items()},
            self.store.content(),
            self.derived_state(),
        )

    def state(self) -> dict[str, Any]:
        """Return all that the learner holds: JSON values, and arrays under "arrays". `from_state` is the inverse."""
        return self.content().state()

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the learner that a state was taken from. Raises `BadState` for a bad state."""
        state = verified(state, cls.__name__)
        try:
            learner = cls(**{name: loaded_parameter(saved) for name, saved in state["parameters"].items()})
        except (TypeError, ValueError, AttributeError, StreamBayesError) as error:
            raise BadState(f"the state's parameters do not make a {cls.__name__}: {error}") from error
        learner.load_parts({"meta": state["store"], "arrays": state["arrays"]}, state["reading"])
        return learner

    def load_parts(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        """Continue from a saved store and derived parts."""
        self.store.load(store)
        with refusing_bad_state():
            self.load_derived(derived)

    def __getstate__(self) -> dict[str, Any]:
        # The names as one text: pickle's bytes for many strings depend on which of them are the same object.
        content = self.content()
        store = content.store.state()
        return {
            "parameters": json.dumps(content.parameters),
            "names": json.dumps(store["meta"]),
            "reading": json.dumps(content.reading),
            "arrays": store["arrays"],
        }

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        params = json.loads(pickled["parameters"])
        self.__init__(**{name: loaded_parameter(saved) for name, saved in params.items()})  # type: ignore[misc]  # as a new one
        store = {"meta": json.loads(pickled["names"]), "arrays": pickled["arrays"]}
        self.load_parts(store, json.loads(pickled["reading"]))
