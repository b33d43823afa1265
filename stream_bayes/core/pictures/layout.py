"""Layered layout of directed graphs, after Sugiyama, Tagawa and Toda (1981): parents above their children.

The steps: split into connected parts; assign layers by longest paths; cut long edges into pieces of one layer each,
with a bend in every layer between; order the layers by the barycentres of neighbours; choose x by least squares under
the distances that the order demands. Connected parts are then packed side by side.

Guarantees: nodes do not overlap; an edge of an acyclic graph goes downward and crosses no node; equal input gives equal
output. Edges that would close a cycle are laid out as if they were reversed.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

__all__ = ["Box", "GraphLayout", "Point", "layout"]

Point: TypeAlias = tuple[float, float]
Size: TypeAlias = tuple[float, float]
NodePair: TypeAlias = tuple[int, int]

SIDE_GAP = 22.0  # between neighbours of a layer
BEND_GAP = 14.0  # between an edge that passes a layer and its neighbour
LAYER_GAP = 46.0
PART_GAP = 34.0  # between connected parts
SWEEPS = 24  # over all layers, to order them; fewer for large graphs
WORK = 400_000  # nodes and edge pieces touched by all sweeps together, about
SETTLING = 12  # rounds in which x follows the neighbours
# Weight of a piece between two bends, against that of a piece at a node: long edges stay straight.
STRAIGHT = 4.0
ASPECT = 1.7  # width to height of the whole that packing aims at


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: its left and top edge, width and height. y grows downward."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> float:
        """The middle of its width."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """Boxes of nodes and paths of edges."""

    boxes: tuple[Box, ...]  # of each node, in the order of the sizes given
    # The points of each edge, in the order of the edges given, from the parent's border to the child's. Points at
    # places 0 and 1, 2 and 3, ... are joined by a straight vertical line, those between by a curve that leaves and
    # arrives vertically.
    paths: tuple[tuple[Point, ...], ...]
    width: float  # width and height are those of the whole
    height: float


def layout(sizes: Sequence[Size], edges: Sequence[NodePair]) -> GraphLayout:
    """Place nodes of these sizes and the edges between them. A size is width and height. Edges are pairs of positions
    in `sizes`: parent, child. None may be a loop or be given twice.

    Examples
    --------
    >>> placed = layout([(40, 20), (40, 20), (40, 20)], [(0, 2), (1, 2)])
    >>> [(box.x, box.y) for box in placed.boxes]
    [(0.0, 0.0), (62.0, 0.0), (31.0, 66.0)]
    """
    parts = _connected(len(sizes), edges)
    of_node = {node: component for component, part in enumerate(parts) for node in part}
    inner: list[list[int]] = [[] for _ in parts]
    for number, (above, _) in enumerate(edges):
        inner[of_node[above]].append(number)
    placed = [
        _part([sizes[n] for n in part], _renumbered(part, [edges[e] for e in numbers]))
        for part, numbers in zip(parts, inner, strict=True)
    ]
    origins, width, height = _packed([(each.width, each.height) for each in placed])
    boxes: list[Box] = [Box(0.0, 0.0, 0.0, 0.0)] * len(sizes)
    paths: list[tuple[Point, ...]] = [()] * len(edges)
    for part, numbers, each, (x, y) in zip(parts, inner, placed, origins, strict=True):
        for node, box in zip(part, each.boxes, strict=True):
            boxes[node] = Box(box.x + x, box.y + y, box.width, box.height)
        for edge, path in zip(numbers, each.paths, strict=True):
            paths[edge] = tuple((a + x, b + y) for a, b in path)
    return GraphLayout(tuple(boxes), tuple(paths), width, height)


def _connected(nodes: int, edges: Sequence[NodePair]) -> list[list[int]]:
    """Return the connected parts: large ones first, else in the order of their first nodes."""
    beside: list[list[int]] = [[] for _ in range(nodes)]
    for above, below in edges:
        beside[above].append(below)
        beside[below].append(above)
    is_reached = [False] * nodes
    parts = []
    for first in range(nodes):
        if is_reached[first]:
            continue
        is_reached[first] = True
        part = [first]
        for node in part:
            for other in beside[node]:
                if not is_reached[other]:
                    is_reached[other] = True
                    part.append(other)
        parts.append(sorted(part))
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def _renumbered(part: Sequence[int], edges: Sequence[NodePair]) -> list[NodePair]:
    number = {node: i for i, node in enumerate(part)}
    return [(number[above], number[below]) for above, below in edges]


def _packed(sizes: Sequence[Size]) -> tuple[list[Point], float, float]:
    """Return the origin of each part, and the size of all: parts stand in rows, as words do in a text."""
    area = sum((width + PART_GAP) * (height + PART_GAP) for width, height in sizes)
    limit = max([math.sqrt(area * ASPECT), *(width for width, _ in sizes)], default=0.0)
    origins: list[Point] = []
    x = y = row = widest = 0.0
    for width, height in sizes:
        if x > 0.0 and x + width > limit:
            x, y, row = 0.0, y + row + PART_GAP, 0.0
        origins.append((x, y))
        widest, row = max(widest, x + width), max(row, height)
        x += width + PART_GAP
    return origins, widest, y + row


def _part(sizes: Sequence[Size], edges: Sequence[NodePair]) -> GraphLayout:
    """Place one connected part."""
    down = _without_cycles(len(sizes), edges)
    layer_of = _layers(len(sizes), down)
    graph = _Layered(sizes, down, layer_of)
    graph.order()
    return graph.placed(edges)


def _without_cycles(nodes: int, edges: Sequence[NodePair]) -> list[NodePair]:
    """Return the edges, those reversed that lead back to a node which a depth-first walk has not left yet."""
    children: list[list[int]] = [[] for _ in range(nodes)]
    entering = [0] * nodes
    for above, below in edges:
        children[above].append(below)
        entering[below] += 1
    state = [0] * nodes  # 1 while the walk is within, 2 once it left
    back: set[NodePair] = set()
    for root in sorted(range(nodes), key=lambda node: (entering[node] > 0, node)):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(children[root]))]
        while stack:
            node, rest = stack[-1]
            child = next(rest, None)
            if child is None:
                state[node] = 2
                stack.pop()
            elif state[child] == 1:
                back.add((node, child))
            elif state[child] == 0:
                state[child] = 1
                stack.append((child, iter(children[child])))
    return [(below, above) if (above, below) in back else (above, below) for above, below in edges]


def _layers(nodes: int, edges: Sequence[NodePair]) -> list[int]:
    """Return the layer of each node: one below its lowest parent; a root stands just above its highest child."""
    parents: list[list[int]] = [[] for _ in range(nodes)]
    children: list[list[int]] = [[] for _ in range(nodes)]
    for above, below in edges:
        parents[below].append(above)
        children[above].append(below)
    waiting = [len(each) for each in parents]
    order = [node for node in range(nodes) if not waiting[node]]
    layer = [0] * nodes
    for node in order:
        for child in children[node]:
            layer[child] = max(layer[child], layer[node] + 1)
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    for node in reversed(order):  # the lowest place it may take, where this makes its edges shorter
        if len(children[node]) > len(parents[node]):
            layer[node] = max(layer[node], min(layer[child] for child in children[node]) - 1)
    return layer


class _Layered:
    """Nodes and bends in layers, with the pieces of edges between neighbouring layers. Bends are numbered after the
    nodes. The edges are acyclic.
    """

    def __init__(self, sizes: Sequence[Size], edges: Sequence[NodePair], layer_of: Sequence[int]) -> None:
        self.nodes = len(sizes)
        self.sizes = list(sizes)
        self.layers: list[list[int]] = [[] for _ in range(max(layer_of, default=0) + 1)]
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        for node, layer in enumerate(layer_of):
            self.layers[layer].append(node)
        self.chains: dict[NodePair, list[int]] = {}
        for above, below in edges:
            chain = [above]
            chain += [self._bend(layer) for layer in range(layer_of[above] + 1, layer_of[below])]
            chain.append(below)
            for one, other in pairwise(chain):
                self.below[one].append(other)
                self.above[other].append(one)
            self.chains[above, below] = chain

    def _bend(self, layer: int) -> int:
        bend = len(self.sizes)
        self.sizes.append((0.0, 0.0))
        self.above.append([])
        self.below.append([])
        self.layers[layer].append(bend)
        return bend

    def order(self) -> None:
        """Order each layer so that few edges cross: sweeps down and up, of which the best order is kept."""
        pieces = sum(map(len, self.below))
        sweeps = max(4, min(SWEEPS, WORK // (len(self.sizes) + pieces + 1)))
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(sweeps):
            if fewest == 0:
                break
            downward = sweep % 2 == 0
            neighbours = self.above if downward else self.below
            for layer in self.layers if downward else reversed(self.layers):
                self._sort(layer, neighbours)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    def _sort(self, layer: list[int], neighbours: Sequence[Sequence[int]]) -> None:
        """Sort a layer by the mean position of the neighbours; nodes without any keep theirs."""
        position = self._positions()
        mean = {
            node: sum(position[other] for other in neighbours[node]) / len(neighbours[node])
            for node in layer
            if neighbours[node]
        }
        moving = iter(sorted((node for node in layer if node in mean), key=lambda node: mean[node]))
        layer[:] = [next(moving) if node in mean else node for node in layer]

    def _positions(self) -> dict[int, float]:
        """Return the position of each node in its layer, from 0 to 1."""
        return {node: (i + 0.5) / len(layer) for layer in self.layers for i, node in enumerate(layer)}

    def _crossings(self) -> int:
        """Count the pairs of pieces that cross."""
        crossings = 0
        for upper, lower in zip(self.layers, self.layers[1:], strict=False):
            position = {node: i for i, node in enumerate(lower)}
            ends: list[int] = []
            for node in upper:
                targets = sorted(position[other] for other in self.below[node])
                for target in targets:
                    crossings += len(ends) - bisect_left(ends, target + 1)
                for target in targets:
                    insort(ends, target)
        return crossings

    def placed(self, edges: Sequence[NodePair]) -> GraphLayout:
        """Return the boxes of nodes and the paths of edges."""
        centres = self._centres()
        heights = [max((self.sizes[node][1] for node in layer), default=0.0) for layer in self.layers]
        tops, y = [], 0.0
        for height in heights:
            tops.append(y)
            y += height + LAYER_GAP
        boxes = [Box(0.0, 0.0, 0.0, 0.0)] * len(self.sizes)
        bands: list[tuple[float, float]] = [(0.0, 0.0)] * len(self.sizes)
        for layer, top, height in zip(self.layers, tops, heights, strict=True):
            for node in layer:
                width, box_height = self.sizes[node]
                boxes[node] = Box(
                    centres[node] - width / 2, top + (height - box_height) / 2, width, box_height
                )
                bands[node] = (top, top + height)
        left = min(box.x for box in boxes)
        boxes = [Box(box.x - left, box.y, box.width, box.height) for box in boxes]
        paths = [self._path(edge, boxes, bands) for edge in edges]
        width = max(box.x + box.width for box in boxes)
        return GraphLayout(tuple(boxes[: self.nodes]), tuple(paths), width, y - LAYER_GAP)

    def _path(
        self, edge: NodePair, boxes: Sequence[Box], bands: Sequence[tuple[float, float]]
    ) -> tuple[Point, ...]:
        """Return the points of an edge: it leaves its layer, passes others at its bends, and arrives."""
        chain = self.chains.get(edge)
        if chain is None:  # it is laid out the other way round
            return tuple(reversed(self._path((edge[1], edge[0]), boxes, bands)))
        first, last = chain[0], chain[-1]
        start, end = (
            self._port(first, chain[1], boxes, self.below),
            self._port(last, chain[-2], boxes, self.above),
        )
        points = [(start, boxes[first].y + boxes[first].height), (start, bands[first][1])]
        for bend in chain[1:-1]:
            points += [(boxes[bend].centre, bands[bend][0]), (boxes[bend].centre, bands[bend][1])]
        return (*points, (end, bands[last][0]), (end, boxes[last].y))

    def _port(self, node: int, to: int, boxes: Sequence[Box], neighbours: Sequence[Sequence[int]]) -> float:
        """Return the x at which a piece touches a node: pieces share its middle part, in the order of their ends."""
        box = boxes[node]
        several = sorted(neighbours[node], key=lambda other: (boxes[other].centre, other))
        if len(several) == 1:
            return box.centre
        span = min(0.6 * box.width, 16.0 * (len(several) - 1))
        return box.centre + span * (several.index(to) / (len(several) - 1) - 0.5)

    def _centres(self) -> dict[int, float]:
        """Return the middle of each node: near those of its neighbours, as far as the order of layers allows."""
        centres: dict[int, float] = {}
        for layer in self.layers:
            x = 0.0
            for before, node in zip([None, *layer], layer, strict=False):
                x += 0.0 if before is None else self._distance(before, node)
                centres[node] = x
            for node in layer:  # around 0, so that no layer begins far off
                centres[node] -= x / 2
        for turn in range(SETTLING):
            downward = turn % 2 == 0
            for layer in self.layers if downward else reversed(self.layers):
                around = (
                    (self.above, self.below)
                    if turn >= SETTLING - 4
                    else (self.above if downward else self.below,)
                )
                self._settle(layer, centres, around)
        return centres

    def _settle(
        self, layer: Sequence[int], centres: dict[int, float], around: Sequence[Sequence[Sequence[int]]]
    ) -> None:
        """Move the nodes of a layer next to their neighbours: weighted least squares under the least distances.

        With the least distances subtracted the order is a monotone regression, solved by pooling adjacent violators.
        """
        offsets, offset = [], 0.0
        for before, node in zip([None, *layer], layer, strict=False):
            offset += 0.0 if before is None else self._distance(before, node)
            offsets.append(offset)
        pools: list[tuple[float, float, int]] = []  # mean, weight, length
        for node, offset in zip(layer, offsets, strict=True):
            wanted, weight = self._wanted(node, centres, around)
            mean, length = wanted - offset, 1
            while pools and pools[-1][0] > mean:
                other, others, more = pools.pop()
                mean = (mean * weight + other * others) / (weight + others)
                weight, length = weight + others, length + more
            pools.append((mean, weight, length))
        means = [mean for mean, _, length in pools for _ in range(length)]
        for node, mean, offset in zip(layer, means, offsets, strict=True):
            centres[node] = mean + offset

    def _wanted(
        self, node: int, centres: Mapping[int, float], around: Sequence[Sequence[Sequence[int]]]
    ) -> tuple[float, float]:
        """Return the mean of the neighbours' middles, and its weight."""
        total = weight = 0.0
        for neighbours in around:
            for other in neighbours[node]:
                pull = STRAIGHT if node >= self.nodes and other >= self.nodes else 1.0
                total += pull * centres[other]
                weight += pull
        return (total / weight, weight) if weight else (centres[node], 0.01)

    def _distance(self, one: int, other: int) -> float:
        """Return the least distance between the middles of two neighbours of a layer."""
        gap = BEND_GAP if one >= self.nodes or other >= self.nodes else SIDE_GAP
        return (self.sizes[one][0] + self.sizes[other][0]) / 2 + gap
