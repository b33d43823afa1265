"""The variables of a model that its events lack: it warns of them once, as a name may be misspelt."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.checked_names import closest
from stream_bayes.core.values.values import is_missing, shown
from stream_bayes.errors import NeverMet

__all__ = ["AbsentVariables"]

EVENTS = 100  # after which a variable that none had is named


class AbsentVariables:
    """The variables that no event has had, since the model was made or loaded.

    Examples
    --------
    >>> absent = AbsentVariables(["sky"])
    >>> absent.look({"sky": "grey"})
    >>> absent.names
    []
    """

    def __init__(self, variables: Iterable[Any]) -> None:
        self.names = list(variables)
        self._events = 0
        self._is_done = False

    def look(self, x: Mapping[Any, Any]) -> None:
        """Look at an event that was learned; warn at the 100th of the names that none had, for methods of users."""
        if self._is_done:
            return
        self.names = [v for v in self.names if is_missing(x.get(v))]
        self._events += 1
        self._is_done = not self.names or self._events == EVENTS
        if self.names and self._is_done:
            there = [v for v in x if v not in self.names]
            warnings.warn(
                f"none of {EVENTS} events had {shown(self.names)}, so nothing is learned of it"
                f"{closest(str(self.names[0]), map(str, there))} The newest event has {shown(there)}",
                NeverMet,
                stacklevel=3,
            )
