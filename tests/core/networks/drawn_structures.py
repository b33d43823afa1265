"""Structures drawn by chance, and the same as networkx has them."""

from __future__ import annotations

from typing import Any

import networkx as nx
from hypothesis import strategies as st

from stream_bayes.core.networks.structure import Structure

NAMES: list[Any] = ["b", "a", 7, ("pair", 1), b"bytes", "naïve", False, 2.5]


@st.composite
def structures(draw, most=6, names=NAMES):
    order = draw(st.permutations(names))[: draw(st.integers(0, most))]
    return Structure({v: draw(st.sets(st.sampled_from(order[:i]))) if i else [] for i, v in enumerate(order)})


def as_networkx(structure):
    graph = nx.DiGraph(list(structure.edges))
    graph.add_nodes_from(structure.variables)
    return graph
