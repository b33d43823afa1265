"""The log of drifts: for each, the time, the signal, the candidates and their outcome.

An entry is a dict; every one has all of these keys, None if it does not apply:

    what       "warning"     a detector warns; a shadow model begins to learn
               "drift"       answers have become worse, or families have changed; candidates are made
               "unfinished"  a search spent its budget; its candidate is not tried
               "searched"    the candidates are there, and their trial begins
               "adopted"     a candidate has taken over
               "refused"     no candidate was better; the present model stays
    number     0, 1, 2, ...: the entries that were ever made
    event      the number of events learned by then
    time       the stream's time at that event, in seconds; None if the stream has none
    source, partition, position   of the record that the event came from; None outside the engine
    signal     "log-loss", "error" or "family"; of numbers "pit", and of their trials "log-loss", minus the log density
    detector   {"name": "ADWIN", "events": 812, "numbers": {"width": 96, ...}, "families": ["rain"]}: its class, the
               number of events it was fed, its state, and with the signal "family" the families that drifted; of a
               network without a class {"name": "FamilyChanges", ..., "numbers": {"log_evidence": 31.2}, ...}, the
               logarithm of the e-value of the most evident change, or of the table that was recalled
    since      the first event after the change
    candidate  "refit", "search", "both", or "retired 3", the model that answered as generation 3; "families" if some
               families of the present network were counted again since they changed, which needs no trial; "recalled"
               if a family got a table of before a change back
    structure  {"added": [[parent, child], ...], "removed": [...], "kept": [...]}: edges that are new, those that
               are gone, and all others, so that both structures can be drawn; of a LiveChoice those of any of its
               readings, and "members": {"tan": {"added": ..., "removed": ...}, ...}, the changes of each reading
               that has a structure
    score      {"before": 0.31, "after": 1.2}: of a drift the mean error or log-loss, or that of the family that
               became worst, before and after the change; with the signal "pit" how far targets lie from the middle of
               their forecasts, 0 to 1; of a trial the mean log-loss of the present model and of the candidate
    events     the number of events of a trial, or of a search
    why        the reason for "refused" or "unfinished"

All of this follows from the events alone. Durations do not, and are stored apart: `DriftLog.seconds`, by number of
entry, if the log has a `timer`. In JSON lines the duration is an entry's last key.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import permutations
from typing import Any

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.pictures.html import block, plain_table, time_line
from stream_bayes.errors import BadStructure
from stream_bayes.learners.base.edges import edges_of, learner_within, listed_edges

__all__ = ["KEYS", "KINDS", "DriftLog", "change_between", "difference"]

KINDS = ("warning", "drift", "unfinished", "searched", "adopted", "refused")
KEYS = (
    "what",
    "number",
    "event",
    "time",
    "source",
    "partition",
    "position",
    "signal",
    "detector",
    "since",
    "candidate",
    "structure",
    "score",
    "events",
    "why",
)
MOST_ENTRIES = 1000


class DriftLog:
    """Entries, the newest last; past a thousand the oldest go. `entries` are the first ones. `counts` has the number of
    entries of each kind that were ever added; None: only these. `seconds` has, by the number of an entry, the time that
    the work behind it took.

    Attributes
    ----------
    timer
        A clock in seconds, as `time.perf_counter`, that fills `seconds`; None: nothing is timed.

    Examples
    --------
    >>> log = DriftLog()
    >>> log.add("drift", 120, signal="error", since=80)
    >>> log.entries[0]["event"], log.entries[0]["candidate"], log.counts
    (120, None, {'drift': 1})
    >>> log, print(log)
    event 120: drift; since event 80
    (DriftLog(drift 1), None)
    >>> print(log.json_lines()[:44])
    {"what": "drift", "number": 0, "event": 120,
    """

    def __init__(
        self,
        entries: Iterable[Mapping[str, Any]] = (),
        counts: Mapping[str, int] | None = None,
        seconds: Mapping[int, float] | None = None,
    ) -> None:
        self.entries: list[dict[str, Any]] = [dict(entry) for entry in entries]
        kinds = Counter(entry["what"] for entry in self.entries)
        self.counts: dict[str, int] = dict(kinds if counts is None else counts)
        self.seconds: dict[int, float] = dict(seconds or {})
        self.timer: Callable[[], float] | None = None

    @property
    def added(self) -> int:
        """The number of entries that were ever added."""
        return sum(self.counts.values())

    def add(self, what: str, event: int, *, seconds: float | None = None, **fields: Any) -> None:
        """Add an entry, and the event after which it happened."""
        number = self.added
        self.entries.append(dict.fromkeys(KEYS) | {"what": what, "number": number, "event": event, **fields})
        self.counts[what] = self.counts.get(what, 0) + 1
        if seconds is not None:
            self.seconds[number] = seconds
        for gone in self.entries[:-MOST_ENTRIES]:
            self.seconds.pop(gone["number"], None)
        del self.entries[:-MOST_ENTRIES]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in self.counts.items())
        return f"DriftLog({kinds or 'no entry'})"

    def __str__(self) -> str:
        return "\n".join(map(_line, self.entries)) or "no entry"

    def _repr_html_(self) -> str:
        rows = [
            (entry["event"], entry["what"], entry["candidate"], _line(entry)) for entry in self.entries[::-1]
        ]
        table = plain_table(f"{self!r}, the newest first", ("event", "what", "candidate", "in words"), rows)
        return block(time_line(self.entries).svg(), table)

    def newest(self, number: int) -> list[dict[str, Any]]:
        """Return the last entries, which may be read and completed.

        Examples
        --------
        >>> log = DriftLog()
        >>> log.add("drift", 120)
        >>> for entry in log.newest(1):
        ...     entry["time"] = 12.5
        >>> log.entries[0]["time"]
        12.5
        """
        return self.entries[len(self.entries) - min(number, len(self.entries)) :]

    def json_lines(self) -> str:
        """Return the entries as JSON lines."""
        return "\n".join(json.dumps(self._with_seconds(entry)) for entry in self.entries)

    def _with_seconds(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        number = entry["number"]
        return {**entry, "seconds": self.seconds[number]} if number in self.seconds else dict(entry)


def _line(entry: Mapping[str, Any]) -> str:
    """Return an entry as a line of text."""
    parts = [f"event {entry['event']:,}: {entry['what']}"]
    if entry["candidate"] is not None:
        parts.append(f"candidate {entry['candidate']!r}")
    if entry["since"] is not None:
        parts.append(f"since event {entry['since']:,}")
    if entry["score"]:
        before, after = entry["score"]["before"], entry["score"]["after"]
        parts.append(f"{entry['signal'] or 'log-loss'} {before:.3g} -> {after:.3g}")
    for kind, edges in (entry["structure"] or {}).items():
        if edges and kind in ("added", "removed"):
            parts.append(f"{kind} {', '.join(f'{parent} -> {child}' for parent, child in edges)}")
    if entry["why"] is not None:
        parts.append(str(entry["why"]))
    return "; ".join(parts)


def change_between(before: Any, after: Any) -> dict[str, Any]:
    """Return the differences between the structures of two learners of a class, as an entry holds them.

    Examples
    --------
    >>> from stream_bayes import BayesNetClassifier
    >>> before, after = {"a": [], "b": [], "class": ["a"]}, {"a": ["class"], "b": ["class"], "class": []}
    >>> change_between(BayesNetClassifier(before), BayesNetClassifier(after))
    {'added': [['class', 'b']], 'removed': [], 'kept': [['class', 'a']]}
    """
    edges_after = edges_of(after)
    change: dict[str, Any] = dict(difference(edges_of(before), edges_after))
    change["kept"] = [edge for edge in edges_after if edge not in change["added"]]
    of_each = [
        {
            name: listed_edges(parents)
            for name, parents in getattr(learner_within(model), "structures_", {}).items()
        }
        for model in (before, after)
    ]
    if of_each[1]:
        change["members"] = {
            name: difference(of_each[0].get(name, []), edges) for name, edges in of_each[1].items()
        }
    return change


def difference(before: list[list[str]], after: list[list[str]]) -> dict[str, list[list[str]]]:
    """Return the edges that were added and those that were removed, without reversals that no data can show.

    Examples
    --------
    >>> difference([["a", "b"]], [["b", "a"], ["b", "c"]])
    {'added': [['b', 'c']], 'removed': []}
    >>> difference([["a", "b"], ["c", "b"]], [["a", "b"], ["b", "c"]])
    {'added': [['b', 'c']], 'removed': [['c', 'b']]}
    """
    old, new = {tuple(edge) for edge in before}, {tuple(edge) for edge in after}
    equivalent: set[tuple[str, ...]] = (
        set()
    )  # edges of both structures whose reversal, if any, no data can show
    names = {name for edge in (*before, *after) for name in edge}
    try:
        earlier, later = (
            Structure.from_edges([(a, b) for a, b in edges], names) for edges in (before, after)
        )
    except BadStructure:  # the edges of several structures together
        pass
    else:
        mine, theirs = earlier.cpdag().directions(), later.cpdag().directions()
        same = [pair for pair in mine if mine[pair] == theirs.get(pair)]
        equivalent = {tuple(edge) for pair in same for edge in permutations(map(str, pair))}
    return {
        "added": [edge for edge in after if tuple(edge) not in old | equivalent],
        "removed": [edge for edge in before if tuple(edge) not in new | equivalent],
    }
