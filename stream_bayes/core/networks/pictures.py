"""Drawings of structures and networks: names, tables and answers as nodes with bars, edges as lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.networks.equivalence import Difference, Edge
from stream_bayes.core.pictures.graph import Bar, EdgeChange, Link, Node, drawn_graph
from stream_bayes.core.pictures.picture import Picture
from stream_bayes.core.pictures.text import visible
from stream_bayes.core.values.unknown_names import check_variables, unknown_variable
from stream_bayes.core.values.values import Value
from stream_bayes.errors import BadValue

__all__ = ["MOST_BARS", "belief_bars", "drawn_structure", "links_of", "table_bars"]

MOST_BARS = 8  # of a node; what is left out is one more row


def links_of(
    variables: Sequence[Value],
    edges: Iterable[Edge],
    difference: Difference | None = None,
    confidence: Mapping[Edge, float] | None = None,
) -> list[Link]:
    """Return the edges as lines of a drawing, removed ones last.

    Raises
    ------
    BadValue
        If a confidence is not between 0 and 1, or is of an edge that is not drawn.

    Examples
    --------
    >>> links_of(["rain", "wet"], [("rain", "wet")], confidence={("rain", "wet"): 0.9})
    [Link(parent=0, child=1, change='kept', confidence=0.9)]
    """
    edges, difference, confidence = list(edges), difference or Difference(), dict(confidence or {})
    position = {variable: number for number, variable in enumerate(variables)}
    check_variables([name for edge in difference.removed for name in edge], variables, "difference")
    if later := [edge for edge in (*difference.added, *difference.reversed) if edge not in edges]:
        raise BadValue(
            f"difference: expected changes that lead to the edges drawn; got {later[0]!r}, which is none of them"
        )
    change: dict[Edge, EdgeChange] = dict.fromkeys(difference.added, "added")
    change |= dict.fromkeys(difference.reversed, "reversed")
    drawn = [(edge, change.get(edge, "kept")) for edge in edges]
    drawn += [(edge, "removed") for edge in difference.removed]
    foreign = confidence.keys() - {edge for edge, _ in drawn}
    if foreign:
        raise BadValue(
            f"confidence: expected edges that are drawn, as (parent, child); got {min(foreign, key=repr)!r}"
        )
    for edge, share in confidence.items():
        if not 0.0 <= share <= 1.0:
            raise BadValue(f"confidence of {edge!r}: expected a number from 0 to 1, got {share!r}")
    return [Link(position[a], position[b], how, confidence.get((a, b))) for (a, b), how in drawn]


def drawn_structure(
    variables: Sequence[Value],
    links: Sequence[Link],
    bars: Mapping[Any, tuple[Bar, ...]] | None = None,
    evidence: Iterable[Any] = (),
    title: str = "",
) -> Picture:
    """Draw variables with their rows. The links refer to the order of `variables`. `bars` has the rows of a variable;
    none if it has no entry. Variables of `evidence` are observed. `title` is one line that stands for the picture where
    it cannot be seen.

    Examples
    --------
    >>> drawn_structure(["rain"], [], {"rain": belief_bars({"yes": 0.2, "no": 0.8})}, evidence=["rain"]).title
    'A network of 1 variable and 0 edges; 1 observed'
    """
    observed = set(evidence)
    if foreign := observed.difference(variables):
        raise unknown_variable(min(foreign, key=repr), variables, "evidence")
    names = map(visible, spelled(variables))
    nodes = [
        Node(name, (bars or {}).get(variable, ()), variable in observed)
        for variable, name in zip(variables, names, strict=True)
    ]
    return drawn_graph(nodes, links, title)


def belief_bars(
    shares: Mapping[Any, float],
    observed: Any = ...,
    intervals: Mapping[Any, tuple[float, float]] | None = None,
    most: int = MOST_BARS,
) -> tuple[Bar, ...]:
    """Return a row for each label's probability; of many labels the most probable ones, in their order.

    Examples
    --------
    >>> [(bar.label, bar.shares) for bar in belief_bars({"a": 0.5, "b": 0.125, "c": 0.375}, most=2)]
    [('a', (0.5,)), ('2 more', (0.5,))]
    """
    labels = list(shares)
    texts = dict(zip(labels, map(visible, spelled(labels)), strict=True))
    listed = labels
    if len(labels) > most:
        first = set(sorted(labels, key=lambda label: (label != observed, -shares[label]))[: most - 1])
        listed = [label for label in labels if label in first]
    bars = [
        Bar(texts[label], (shares[label],), (intervals or {}).get(label), label == observed)
        for label in listed
    ]
    if len(listed) < len(labels):
        rest = sum(share for label, share in shares.items() if label not in set(listed))
        bars.append(Bar(f"{len(labels) - len(listed):,} more", (min(rest, 1.0),)))
    return tuple(bars)


def table_bars(
    table: NDArray[np.float64], states: Sequence[Sequence[Value]], most: int = MOST_BARS
) -> tuple[Bar, ...]:
    """Return a row for each combination of the parents' labels: its distribution as stacked shares. The table is
    P(variable | parents), the variable's axis last; `states` are the labels of the parents, in the order of the axes.
    Past `most` rows, one more gives the number left out.

    Examples
    --------
    >>> bars = table_bars(np.array([[0.9, 0.1], [0.2, 0.8]]), [["yes", "no"]])
    >>> [(bar.label, bar.shares) for bar in bars]
    [('yes', (0.9, 0.1)), ('no', (0.2, 0.8))]
    """
    texts = [list(map(visible, spelled(labels))) for labels in states]
    rows = [
        Bar(
            ", ".join(labels[i] for labels, i in zip(texts, codes, strict=True)) or "all",
            tuple(table[codes].tolist()),
        )
        for codes in islice(np.ndindex(*table.shape[:-1]), most)
    ]
    left_out = int(np.prod(table.shape[:-1])) - len(rows)
    return (*rows, Bar(f"{left_out:,} more rows")) if left_out else tuple(rows)
