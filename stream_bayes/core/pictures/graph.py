"""Drawings of networks: nodes with belief bars or tables, and edges that show changes and confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stream_bayes.core.pictures.layout import Box, GraphLayout, Point, layout
from stream_bayes.core.pictures.picture import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PALE,
    Curve,
    Label,
    Picture,
    Polygon,
    Rectangle,
    Shape,
)
from stream_bayes.core.pictures.text import shortened, visible, width_of

__all__ = ["Bar", "EdgeChange", "Link", "Node", "drawn_graph", "graph_layout"]

EdgeChange: TypeAlias = Literal["kept", "added", "removed", "reversed"]

NAME_SIZE, BAR_SIZE = 12.0, 10.0
NAME_WIDTH, LABEL_WIDTH = 190.0, 96.0  # the most that a node's name and a bar's label take
ROW, HEAD, PADDING = 15.0, 24.0, 9.0
BAR, NUMBER = 70.0, 38.0  # width of a bar, and of the number beside it
LINE_COLOURS = {"kept": "#444444", "added": BLUE, "removed": GREY, "reversed": ORANGE}
ARROW, HALF = 8.0, 3.4
# Stacked shares: dark enough to be distinguished on white, in all kinds of colour vision.
SHARES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a node: a label and one share, or several shares that are stacked."""

    label: str
    shares: tuple[float, ...] = ()  # each from 0 to 1
    interval: tuple[float, float] | None = None  # a credible interval of the only share
    is_observed: bool = False  # True for the label that is evidence


@dataclass(frozen=True, slots=True)
class Node:
    """A variable: its name, its rows, and whether it is evidence."""

    name: str
    bars: tuple[Bar, ...] = ()
    is_evidence: bool = False
    is_target: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between nodes, by their positions."""

    parent: int
    child: int
    change: EdgeChange = "kept"  # "added" is drawn blue, "reversed" orange, "removed" grey and dashed
    confidence: float | None = None  # from 0 to 1: drawn as the strength of the line, with a number


def graph_layout(nodes: Sequence[Node], links: Sequence[Link]) -> GraphLayout:
    """Place nodes, each as large as its rows need, and links. Removed links do not decide what stands above what.

    Examples
    --------
    >>> placed = graph_layout([Node("rain"), Node("wet")], [Link(0, 1)])
    >>> placed.boxes[0].y < placed.boxes[1].y
    True
    """
    sizes = [_size(node) for node in nodes]
    firm = [(link.parent, link.child) for link in links if link.change != "removed"]
    loose = [(link.parent, link.child) for link in links if link.change == "removed"]
    # The walk that finds cycles turns an edge that closes one. It follows a node's edges in their order, and the
    # orders of the firm edges alone are acyclic; so loose edges that go against them are given turned.
    rank = _ranks(len(nodes), firm)
    turned = {(a, b) for a, b in loose if rank[a] >= rank[b]}
    edges = [*firm, *((b, a) if (a, b) in turned else (a, b) for a, b in loose)]
    placed = layout(sizes, edges)
    path_of = dict(zip(edges, placed.paths, strict=True))
    paths = tuple(
        tuple(reversed(path_of[link.child, link.parent]))
        if link.change == "removed" and (link.parent, link.child) in turned
        else path_of[link.parent, link.child]
        for link in links
    )
    return GraphLayout(placed.boxes, paths, placed.width, placed.height)


def _ranks(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the rank of each node in a topological order; nodes of a cycle come last."""
    children: list[list[int]] = [[] for _ in range(nodes)]
    waiting = [0] * nodes
    for above, below in edges:
        children[above].append(below)
        waiting[below] += 1
    order = [node for node in range(nodes) if not waiting[node]]
    for node in order:
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    rank = [len(order)] * nodes
    for number, node in enumerate(order):
        rank[node] = number
    return rank


def _size(node: Node) -> tuple[float, float]:
    name = min(width_of(node.name, NAME_SIZE) * 1.08, NAME_WIDTH)  # 1.08: it is bold
    if not node.bars:
        return name + 2 * PADDING + 4, HEAD + 4
    width = max(name, _label_width(node) + 6 + BAR + NUMBER) + 2 * PADDING
    return width, HEAD + ROW * len(node.bars) + 7


def _label_width(node: Node) -> float:
    return min(max(width_of(bar.label, BAR_SIZE) for bar in node.bars), LABEL_WIDTH)


def drawn_graph(nodes: Sequence[Node], links: Sequence[Link], title: str = "") -> Picture:
    """Draw a network. `title` is one line that stands for the picture where it cannot be seen; made from the counts if
    empty.

    Examples
    --------
    >>> picture = drawn_graph([Node("rain", (Bar("yes", (0.2,)),)), Node("wet")], [Link(0, 1, "added")])
    >>> picture.title
    'A network of 2 variables and 1 edge; 1 added'
    """
    placed = graph_layout(nodes, links)
    shapes: list[Shape] = []
    for link, path in zip(links, placed.paths, strict=True):
        shapes += _line(link, path, nodes)
    for node, box in zip(nodes, placed.boxes, strict=True):
        shapes += _node(node, box)
    return Picture(placed.width, placed.height, tuple(shapes), visible(title) or _title(nodes, links))


def _title(nodes: Sequence[Node], links: Sequence[Link]) -> str:
    edges = sum(link.change != "removed" for link in links)
    counts = (f"{_count(len(nodes), 'variable')} and {_count(edges, 'edge')}",)
    changes = [
        f"{number} {change}"
        for change in ("added", "reversed", "removed")
        if (number := sum(link.change == change for link in links))
    ]
    observed = sum(node.is_evidence for node in nodes)
    return "; ".join(
        [f"A network of {counts[0]}", *([f"{observed} observed"] if observed else []), ", ".join(changes)]
    ).removesuffix("; ")


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _line(link: Link, path: Sequence[Point], nodes: Sequence[Node]) -> list[Shape]:
    colour = LINE_COLOURS[link.change]
    confidence = link.confidence
    strength = 1.0 if confidence is None else 0.35 + 0.65 * min(max(confidence, 0.0), 1.0)
    width = (1.8 if link.change != "kept" else 1.2) if confidence is None else 0.8 + 1.6 * strength
    (x, y), (_, before) = path[-1], path[-2]
    way = math.copysign(1.0, y - before) if y != before else math.copysign(1.0, y - path[0][1])
    end = (x, y - way * ARROW)
    hint = f"{nodes[link.parent].name} → {nodes[link.child].name}"
    if link.change != "kept":
        hint += f", {link.change}"
    if confidence is not None:
        hint += f", confidence {confidence:.0%}"
    inner = list(path[:-1])
    if len(inner) % 2:  # the last curve ends at the arrow's base, where the line goes on straight
        last = inner[-1]
        if (last[1] - end[1]) * way > 0:
            inner[-1] = (last[0], end[1])
    shapes: list[Shape] = [
        Curve((*inner, end), colour, width, link.change == "removed", strength, hint),
        Polygon(((x, y), (x - HALF, end[1]), (x + HALF, end[1])), colour, strength),
    ]
    if confidence is not None:
        one, other = path[1], path[2]
        at = ((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)
        text = f"{confidence:.0%}"
        wide = width_of(text, 9.0)
        shapes += [
            Rectangle(at[0] - wide / 2 - 1, at[1] - 6, wide + 2, 12, "#ffffff", radius=2),
            Label(at[0], at[1] + 3.2, text, 9.0, wide + 2, colour, "middle"),
        ]
    return shapes


def _node(node: Node, box: Box) -> list[Shape]:
    border, width = (ORANGE, 2.0) if node.is_evidence else (BLUE, 2.0) if node.is_target else ("#8a929c", 1.0)
    shapes: list[Shape] = [
        Rectangle(box.x, box.y, box.width, box.height, PALE, border, width, 5.0, hint=node.name)
    ]
    baseline = box.y + (HEAD / 2 + 4.5 if node.bars else box.height / 2 + 4.5)
    shown = shortened(node.name, NAME_WIDTH / 1.08, NAME_SIZE)
    shapes.append(Label(box.centre, baseline, shown, NAME_SIZE, math.inf, INK, "middle", True))
    if not node.bars:
        return shapes
    label_width = _label_width(node)
    left = box.x + PADDING + label_width + 6
    room = box.x + box.width - PADDING - NUMBER - left
    for row, bar in enumerate(node.bars):
        y = box.y + HEAD + ROW * row
        shapes += _bar(bar, box.x + PADDING, left, y, label_width, room)
    return shapes


def _bar(bar: Bar, start: float, left: float, y: float, label_width: float, room: float) -> list[Shape]:
    shapes: list[Shape] = [
        Label(start, y + ROW - 4, bar.label, BAR_SIZE, label_width + 1, INK, is_bold=bar.is_observed)
    ]
    if not bar.shares:
        return shapes
    shapes.append(Rectangle(left, y + 3, room, ROW - 6, "#e3e6ea"))
    x = left
    for number, share in enumerate(bar.shares):
        width = room * min(max(share, 0.0), 1.0)
        colour = SHARES[number % len(SHARES)] if len(bar.shares) > 1 else ORANGE if bar.is_observed else BLUE
        if width > 0.0:
            shapes.append(Rectangle(x, y + 3, width, ROW - 6, colour, hint=f"{bar.label}: {share:.4g}"))
        x += width
    if len(bar.shares) == 1:
        if bar.interval is not None:
            low, high = (left + room * min(max(end, 0.0), 1.0) for end in bar.interval)
            shapes.append(Rectangle(low, y + ROW / 2 - 0.6, max(high - low, 0.8), 1.2, INK))
        shapes.append(
            Label(left + room + NUMBER, y + ROW - 4, _percent(bar.shares[0]), BAR_SIZE, NUMBER, INK, "end")
        )
    return shapes


def _percent(share: float) -> str:
    """Return a share in per cent; one that is not quite 0 or 100 does not look so.

    Examples
    --------
    >>> [_percent(share) for share in (0.0, 0.0001, 0.256, 0.9999, 1.0)]
    ['0', '<0.1', '25.6', '>99.9', '100']
    """
    if 0.0 < share < 0.001:
        return "<0.1"
    if 0.999 < share < 1.0:
        return ">99.9"
    return f"{100 * share:.1f}".removesuffix(".0")
