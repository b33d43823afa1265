"""What is done with all that a learner is: merging, saving, loading, pickling."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Self

from river import base

from stream_bayes.core.counts import CountStore
from stream_bayes.core.counts_state import refusing_bad_state
from stream_bayes.errors import BadState, CannotMerge, StreamBayesError
from stream_bayes.learners.saving import Content, loaded_parameter, saved_parameter, verified

__all__ = ["Keeping"]


SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@lru_cache(maxsize=256)
def _names_in(init: Callable[..., None]) -> tuple[str, ...] | None:
    """The names of arguments; None where some have none."""
    _, *parameters = inspect.signature(init).parameters.values()
    if any(parameter.kind in SEVERAL for parameter in parameters):
        return None
    return tuple([parameter.name for parameter in parameters])


class Keeping(base.Base):
    """A learner that is its arguments, a store of counts, and what it has derived from them."""

    _store: CountStore

    def _get_params(self) -> dict[str, Any]:
        # As River has it. But it looks at the signature each time, which takes longer than all else that a clone does.
        names = _names_in(type(self).__init__)
        if names is None:
            return super()._get_params()
        given = {name: getattr(self, name) for name in names}
        return {
            name: (type(value), value._get_params()) if isinstance(value, base.Base) else value
            for name, value in given.items()
        }

    def _derived(self) -> dict[str, Any]:
        """What it has derived from the counts and must be kept beside them, as JSON values."""
        return {}

    def _load_derived(self, derived: Mapping[str, Any]) -> None:
        """Take over what the saved learner had derived."""
        if derived:
            raise BadState("the state does not fit: it holds more than counts")

    def _merged(self) -> None:
        """Go on after the store has taken in another's counts."""

    def merge(self, other: Self) -> Self:
        """Add what another learner of the same kind and settings has learned; the other stays as it is."""
        self._check_alike(other)
        self._store.merge(other._twin()._store if other is self else other._store)
        self._merged()
        return self

    def _check_alike(self, other: Self) -> None:
        """Refuse to merge with another kind, or with other settings."""
        if type(other) is not type(self):
            raise CannotMerge(
                f"a {type(self).__name__} merges with its own kind, not with a {type(other).__name__}"
            )
        mine, theirs = self._get_params(), other._get_params()
        for name in mine:
            if name != "memory_budget" and mine[name] != theirs[name]:
                raise CannotMerge(
                    f"the learners differ in {name}: {mine[name]!r} here, {theirs[name]!r} there"
                )

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Keeping):
            return NotImplemented
        return self._twin().merge(other)

    def __radd__(self, other: object) -> Self:
        # `sum` starts from 0, and so 0 is the learner that knows nothing.
        return self._twin() if type(other) is int and other == 0 else NotImplemented

    def _twin(self) -> Self:
        return type(self).from_state(self.state())

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables and of the codes of names; the names themselves are not counted."""
        return self._store.memory_bytes

    def content(self) -> Content:
        """Everything the learner is now, for a snapshot: `content().state()` may be written while it goes on learning.

        Making one costs a copy of the tables.
        """
        return Content(
            type(self).__name__,
            {name: saved_parameter(value) for name, value in self._get_params().items()},
            self._store.content(),
            self._derived(),
        )

    def state(self) -> dict[str, Any]:
        """Everything the learner is: JSON values, and arrays under "arrays". `from_state` is the inverse."""
        return self.content().state()

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The learner that a state was taken from. Raises `BadState` for whatever is wrong with it."""
        state = verified(state, cls.__name__)
        try:
            learner = cls(**{name: loaded_parameter(saved) for name, saved in state["parameters"].items()})
        except (TypeError, ValueError, AttributeError, StreamBayesError) as error:
            raise BadState(f"the state's parameters do not make a {cls.__name__}: {error}") from error
        learner._load({"meta": state["store"], "arrays": state["arrays"]}, state["reading"])
        return learner

    def _load(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        """Go on where the saved learner stood."""
        self._store.load(store)
        with refusing_bad_state():
            self._load_derived(derived)

    def __getstate__(self) -> dict[str, Any]:
        # The names as one text: pickle's bytes for many strings depend on which of them are the same object.
        state = self._store.state()
        params = {name: saved_parameter(value) for name, value in self._get_params().items()}
        return {
            "parameters": json.dumps(params),
            "names": json.dumps(state["meta"]),
            "reading": json.dumps(self._derived()),
            "arrays": state["arrays"],
        }

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        params = json.loads(pickled["parameters"])
        self.__init__(**{name: loaded_parameter(saved) for name, saved in params.items()})  # type: ignore[misc]  # as made anew
        store = {"meta": json.loads(pickled["names"]), "arrays": pickled["arrays"]}
        self._load(store, json.loads(pickled["reading"]))
