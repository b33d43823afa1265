"""The contents of several stores as that of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stream_bayes.core.values.checks import expect, refusing_bad_state

__all__ = ["JoinedContent", "parts_of"]


class JoinedContent(NamedTuple):
    """The contents of stores by a name for each."""

    contents: Mapping[str, Any]

    def state(self) -> dict[str, Any]:
        """Return their states as one; an array has the name of its store in front."""
        states = {name: content.state() for name, content in self.contents.items()}
        arrays = {
            f"{name}-{key}": array for name, state in states.items() for key, array in state["arrays"].items()
        }
        return {"meta": {name: state["meta"] for name, state in states.items()}, "arrays": arrays}


def parts_of(state: Mapping[str, Any], names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the state of each store from one of `JoinedContent`. Raise `BadState` for a state of others."""
    with refusing_bad_state():
        parts: dict[str, dict[str, Any]] = {
            name: {"meta": state["meta"][name], "arrays": {}} for name in names
        }
        expect(parts.keys() == set(state["meta"]), "it holds the counts of something else")
        for key, array in state["arrays"].items():
            name, _, rest = key.partition("-")
            parts[name]["arrays"][rest] = array
    return parts
