"""A layout keeps its guarantees on any graph: no overlap, edges go downward, equal input gives equal output."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.pictures.layout import Box, GraphLayout, layout
from stream_bayes.core.pictures.picture import Curve
from tests.hash_seeds import printed_with

SLACK = 1e-6
Graph = tuple[list[tuple[float, float]], list[tuple[int, int]]]


@st.composite
def graphs(draw: st.DrawFn, *, acyclic: bool = True) -> Graph:
    nodes = draw(st.integers(1, 14))
    size = st.tuples(st.floats(5, 200), st.floats(5, 120))
    sizes = draw(st.lists(size, min_size=nodes, max_size=nodes))
    order = draw(st.permutations(range(nodes)))
    pair = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(
        lambda edge: edge[0] != edge[1]
    )
    pairs = draw(st.lists(pair, max_size=30, unique=True))
    rank = {node: place for place, node in enumerate(order)}
    edges = dict.fromkeys((a, b) if not acyclic or rank[a] < rank[b] else (b, a) for a, b in pairs)
    return sizes, [edge for edge in edges if acyclic or edge[::-1] not in edges or edge[0] < edge[1]]


def overlap(one: Box, other: Box) -> bool:
    across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    return across > SLACK and down > SLACK


def points_on(path: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Follow the line as it is drawn, in small steps."""
    here, found = path[0], [path[0]]
    for kind, to in Curve(tuple(path), "#000000").pieces():
        for step in range(1, 13):
            t = step / 12
            if kind == "L":
                found.append((here[0] + t * (to[0][0] - here[0]), here[1] + t * (to[0][1] - here[1])))
            else:
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
                corners = (here, *to)
                x, y = (sum(w * c[axis] for w, c in zip(weights, corners, strict=True)) for axis in (0, 1))
                found.append((x, y))
        here = to[-1]
    return found


def is_inside(point: tuple[float, float], box: Box) -> bool:
    (x, y), slack = point, 1e-3
    return box.x + slack < x < box.x + box.width - slack and box.y + slack < y < box.y + box.height - slack


@given(graphs(acyclic=False))
@settings(max_examples=60, deadline=None)
def test_nodes_do_not_overlap_and_keep_their_sizes(graph: Graph) -> None:
    sizes, edges = graph
    placed = layout(sizes, edges)
    for number, box in enumerate(placed.boxes):
        assert (box.width, box.height) == sizes[number]
        assert box.x >= -SLACK and box.y >= -SLACK
        assert box.x + box.width <= placed.width + SLACK and box.y + box.height <= placed.height + SLACK
        assert not any(overlap(box, other) for other in placed.boxes[:number])


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_edges_go_downward_from_the_parent_to_the_child_and_cross_no_node(graph: Graph) -> None:
    sizes, edges = graph
    placed = layout(sizes, edges)
    for (parent, child), path in zip(edges, placed.paths, strict=True):
        above, below = placed.boxes[parent], placed.boxes[child]
        assert above.y + above.height < below.y
        assert math.isclose(path[0][1], above.y + above.height) and math.isclose(path[-1][1], below.y)
        assert above.x <= path[0][0] <= above.x + above.width
        assert below.x <= path[-1][0] <= below.x + below.width
        points = points_on(path)
        assert all(one[1] <= other[1] + SLACK for one, other in pairwise(points))
        assert not any(is_inside(point, box) for point in points for box in placed.boxes)


@given(graphs(acyclic=False))
@settings(max_examples=40, deadline=None)
def test_an_edge_of_a_cycle_still_joins_its_two_nodes(graph: Graph) -> None:
    sizes, edges = graph
    placed = layout(sizes, edges)
    for (parent, child), path in zip(edges, placed.paths, strict=True):
        for node, (x, y) in ((parent, path[0]), (child, path[-1])):
            box = placed.boxes[node]
            assert box.x - SLACK <= x <= box.x + box.width + SLACK
            assert min(abs(y - box.y), abs(y - box.y - box.height)) < SLACK


def big_graph() -> Graph:
    rng = random.Random(5)
    edges = {(rng.randrange(node), node) for node in range(1, 400) for _ in range(2)}
    return [(60.0 + node % 7, 30.0) for node in range(400)], sorted(edges)


def fingerprint(placed: GraphLayout) -> str:
    return repr((placed.boxes, placed.paths))


def test_a_layout_is_the_same_in_another_process() -> None:
    code = (
        "from tests.core.pictures.test_layout import big_graph, fingerprint, layout; "
        "print(fingerprint(layout(*big_graph())))"
    )
    assert printed_with(7, code).decode().strip() == fingerprint(layout(*big_graph()))


def test_a_tree_is_drawn_without_crossings_and_a_chain_is_straight() -> None:
    tree = layout([(40.0, 20.0)] * 7, [(0, 1), (0, 2), (2, 3), (1, 4), (2, 5), (1, 6)])
    first, second = sorted((1, 2), key=lambda node: tree.boxes[node].x)
    children = {1: (4, 6), 2: (3, 5)}
    ends = [max(tree.boxes[n].x for n in children[first]), min(tree.boxes[n].x for n in children[second])]
    assert ends[0] < ends[1]
    chain = layout([(40.0, 20.0)] * 5, [(n, n + 1) for n in range(4)])
    assert len({box.x for box in chain.boxes}) == 1


def test_nothing_and_one_node_have_a_layout() -> None:
    assert layout([], []) == GraphLayout((), (), 0.0, 0.0)
    assert layout([(3.0, 4.0)], []).boxes == (Box(0.0, 0.0, 3.0, 4.0),)
