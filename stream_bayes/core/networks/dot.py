"""Structures in Graphviz's DOT language, and variable names as texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stream_bayes.core.networks.equivalence import Difference, Edge
from stream_bayes.core.values.values import Value

__all__ = ["dot_text", "spelled"]

# Blue and orange differ for every kind of colour vision; dashes need no colour at all.
ADDED = ' [color="#0072B2"]'
REVERSED = ' [color="#D55E00"]'
REMOVED = ' [color="#777777", style=dashed]'


def spelled(names: Sequence[Value]) -> list[str]:
    """Return names as distinct texts: strings as they are, anything else as its `repr`.

    If that would make two of them equal, all names become their `repr`.

    Examples
    --------
    >>> spelled(["red", 1, True]), spelled(["1", 1])
    (['red', '1', 'True'], ["'1'", '1'])
    """
    texts = [name if isinstance(name, str) else repr(name) for name in names]
    return texts if len(set(texts)) == len(texts) else [repr(name) for name in names]


def dot_text(variables: Sequence[Value], edges: Iterable[Edge], difference: Difference) -> str:
    """Return the graph in DOT, with changed edges coloured and removed edges drawn dashed.

    Examples
    --------
    >>> print(dot_text(["rain", "wet"], [("rain", "wet")], Difference()))
    digraph structure {
      "rain";
      "wet";
      "rain" -> "wet";
    }
    """
    quoted = dict(zip(variables, map(_quoted, spelled(variables)), strict=True))
    marks = dict.fromkeys(difference.added, ADDED) | dict.fromkeys(difference.reversed, REVERSED)
    lines = [f"  {text};" for text in quoted.values()]
    lines += [f"  {quoted[a]} -> {quoted[b]}{marks.get((a, b), '')};" for a, b in edges]
    lines += [f"  {quoted[a]} -> {quoted[b]}{REMOVED};" for a, b in difference.removed]
    return "\n".join(["digraph structure {", *lines, "}"])


def _quoted(text: str) -> str:
    """Quote a text so that Graphviz shows it unchanged: a bare backslash would begin an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r\n", "\n").replace("\n", "\\n")
    return f'"{escaped}"'
