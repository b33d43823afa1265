"""Graphs for the page: places of the nodes and lines of the edges, and drawings of changed structures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.networks.equivalence import Difference
from stream_bayes.core.networks.pictures import drawn_structure, links_of
from stream_bayes.core.pictures.graph import Bar, Link, Node, graph_layout
from stream_bayes.core.pictures.picture import Curve
from stream_bayes.core.pictures.text import number_text, visible

__all__ = ["change_svg", "graph_of"]

MOST_NODES = 400
MOST_BARS = 10  # of a monitor; the last one is the sum of all further values if there are more


def graph_of(
    edges: Sequence[tuple[str, str]], values: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Any] | None:
    """Return the layout of a graph as JSON values; None if it has no node, or too many to be looked at. Edges are pairs
    of names: parent, child. `values` are those of each variable, for which its node has room; None for nodes without
    rows.

    Examples
    --------
    >>> graph = graph_of([("rain", "wet")])
    >>> [node["name"] for node in graph["nodes"]], graph["edges"][0]["parent"]
    (['rain', 'wet'], 'rain')
    """
    values = values or {}
    names = list(dict.fromkeys([*values, *(name for edge in edges for name in edge)]))
    if not 0 < len(names) <= MOST_NODES:
        return None
    nodes = [Node(visible(name), _rows(values.get(name, ()))) for name in names]
    index = {name: number for number, name in enumerate(names)}
    links = [Link(index[parent], index[child]) for parent, child in dict.fromkeys(edges) if parent != child]
    placed = graph_layout(nodes, links)
    return {
        "width": round(placed.width, 2),
        "height": round(placed.height, 2),
        "nodes": [
            {
                "name": name,
                "x": round(box.x, 2),
                "y": round(box.y, 2),
                "width": round(box.width, 2),
                "height": round(box.height, 2),
                "rows": [
                    {"label": bar.label, "value": value}
                    for bar, value in zip(node.bars, _values(values.get(name, ())), strict=True)
                ],
            }
            for name, node, box in zip(names, nodes, placed.boxes, strict=True)
        ],
        "edges": [
            {"parent": names[link.parent], "child": names[link.child], "path": _path(path)}
            for link, path in zip(links, placed.paths, strict=True)
        ],
    }


def _values(values: Sequence[str]) -> list[str | None]:
    """Return the value of each bar of a monitor; None for the bar of all further values."""
    return list(values) if len(values) <= MOST_BARS else [*values[: MOST_BARS - 1], None]


def _rows(values: Sequence[str]) -> tuple[Bar, ...]:
    further = f"{len(values) - MOST_BARS + 1:,} more"
    return tuple(Bar(further if value is None else visible(value)) for value in _values(values))


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Return a line as the `d` of an SVG path."""
    text = f"M{number_text(points[0][0])},{number_text(points[0][1])}"
    for kind, to in Curve(tuple(points), "").pieces():
        text += kind + " ".join(f"{number_text(x)},{number_text(y)}" for x, y in to)
    return text


def change_svg(changed: Mapping[str, Any], graph: str = "change") -> str:
    """Return the structure of a drift log's entry as a drawing: added edges blue, reversed orange, removed dashed.
    `changed` is the entry's `structure`. `graph` is "before" or "after" for a whole structure, "change" for the edges
    that changed. Of more than 400 variables, these alone are drawn.

    Examples
    --------
    >>> changed = {"added": [["rain", "wet"]], "removed": [["sky", "wet"]], "kept": [["sky", "rain"]]}
    >>> [[text in change_svg(changed, graph) for graph in ("before", "after", "change")]
    ...     for text in ("rain → wet, added", "sky → wet, removed", "sky → rain")]
    [[False, True, True], [True, False, True], [True, True, False]]
    """
    removed, added, kept = (
        [(one, other) for one, other in changed.get(name) or ()] for name in ("removed", "added", "kept")
    )
    difference = Difference.between(removed, added)
    if graph == "change" or len({name for edge in kept for name in edge}) > MOST_NODES:
        kept = []
    edges = [*kept, *difference.added, *difference.reversed]
    if graph == "before":
        turned = tuple((child, parent) for parent, child in difference.reversed)
        edges, difference = [*kept, *turned], Difference(removed=difference.removed, reversed=turned)
    elif graph == "after":
        difference = Difference(added=difference.added, reversed=difference.reversed)
    names = sorted({name for edge in (*edges, *difference.removed) for name in edge})
    return drawn_structure(names, links_of(names, edges, difference)).svg()
