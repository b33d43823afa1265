"""What became of each drift: when it was noticed, what it was, what was tried and what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.core.values import name_order

__all__ = ["DriftLog", "edges_of"]

MOST_ENTRIES = 1000


class DriftLog:
    """Entries, the newest last; past a thousand the oldest go.

    Parameters
    ----------
    entries
        Those it begins with.
    counts
        How many of each kind there have been, with those that went; None: there were no others.

    Examples
    --------
    >>> log = DriftLog()
    >>> log.add("drift", 120, signal=0.5)
    >>> print(log.json_lines())
    {"what": "drift", "event": 120, "signal": 0.5}
    >>> log.counts
    {'drift': 1}
    """

    def __init__(
        self, entries: Iterable[Mapping[str, Any]] = (), counts: Mapping[str, int] | None = None
    ) -> None:
        self.entries: list[dict[str, Any]] = [dict(entry) for entry in entries]
        kinds = Counter(entry["what"] for entry in self.entries)
        self.counts: dict[str, int] = dict(kinds if counts is None else counts)

    @property
    def added(self) -> int:
        """How many entries there have been."""
        return sum(self.counts.values())

    def add(self, what: str, event: int, **told: Any) -> None:
        """Note what happened, and after which event."""
        self.entries.append({"what": what, "event": event, **told})
        self.counts[what] = self.counts.get(what, 0) + 1
        del self.entries[:-MOST_ENTRIES]

    def newest(self, number: int) -> list[dict[str, Any]]:
        """The last so many entries, to be read or told more of.

        Examples
        --------
        >>> log = DriftLog([{"what": "drift", "event": 120}])
        >>> for entry in log.newest(1):
        ...     entry["time"] = 12.5
        >>> log.entries
        [{'what': 'drift', 'event': 120, 'time': 12.5}]
        """
        return self.entries[len(self.entries) - min(number, len(self.entries)) :]

    def json_lines(self) -> str:
        """An object a line."""
        return "\n".join(json.dumps(entry) for entry in self.entries)


def edges_of(model: Any) -> list[list[str]]:
    """The edges between features that a learner has derived or was given, as [parent, child] by name; none if it has
    no such thing.

    Examples
    --------
    >>> from stream_bayes import ODE
    >>> edges_of(ODE({"rain": "season"}))
    []
    """
    parents: Mapping[Any, Any] = getattr(model, "parents_", {})
    edges = []
    for child in sorted(parents, key=name_order):
        above = parents[child]
        several = isinstance(above, tuple) and above not in parents  # a name may be a tuple too
        edges += [[_named(one), _named(child)] for one in (above if several else (above,)) if one is not None]
    return edges


def _named(name: Any) -> str:
    return name if isinstance(name, str) else repr(name)
