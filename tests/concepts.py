"""Drifting streams from networks: the same graph with new tables, another graph, the same features rarer.

A concept is a network; a stream draws a number of events from each. `with_new_tables`, `with_edges` and
`with_other_features` make the second concept; each changes one thing. The same seed gives the same stream.

    abrupt      [(before, 5000), (after, 5000)]
    recurring   [(before, 5000), (after, 5000)] * 3
    gradual     the second takes over within a number of events, each event drawn from one of them
    virtual     with_other_features: P(features) moves, P(class | features) does not
    stationary  [(network, 1_000_000)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from stream_bayes.core.networks.discrete_network import DiscreteNetwork, Floats
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value
from stream_bayes.errors import BadValue
from stream_bayes.networks.bayes_net import BayesNet

__all__ = [
    "drawn_network",
    "gradual_stream",
    "stream_of",
    "with_edges",
    "with_new_tables",
    "with_other_features",
]

Labelled = tuple[dict[Any, Any], Any]
Edge = tuple[Value, Value]  # from, to

SPREAD = 0.4  # alpha of the Dirichlet distribution that rows of tables are drawn from: below 1, most rows lean one way
AT_ONCE = 4096  # events drawn together


def drawn_network(variables: int, seed: int, most_parents: int = 2, labels: int = 3) -> DiscreteNetwork:
    """Return a random network of `v0`, `v1`, ...: each variable has at most `most_parents` of those before it.

    Examples
    --------
    >>> drawn_network(5, seed=1)
    DiscreteNetwork(5 variables, 6 edges, 75 probabilities)
    """
    rng = np.random.default_rng(seed)
    names = [f"v{place}" for place in range(variables)]
    parents: dict[Value, list[Value]] = {}
    for place, name in enumerate(names):
        most = min(most_parents, place)
        number = int(rng.integers(min(1, most), most + 1))
        parents[name] = sorted([names[above] for above in rng.permutation(place)[:number].tolist()])
    structure = Structure(parents)
    states = {name: tuple(f"{name}={code}" for code in range(labels)) for name in names}
    tables = {name: _drawn_table(structure, states, name, rng) for name in structure.variables}
    return DiscreteNetwork(structure, states, tables)


def with_new_tables(
    network: DiscreteNetwork, seed: int, variables: Iterable[Value] | None = None
) -> DiscreteNetwork:
    """Return the same graph, with new tables for some variables, or for all.

    Examples
    --------
    >>> network = drawn_network(5, seed=1)
    >>> after = with_new_tables(network, 2, ["v3"])
    >>> [name for name in network.structure if not (after.tables[name] == network.tables[name]).all()]
    ['v3']
    """
    chosen = set(network.structure.variables if variables is None else variables)
    return _rebuilt(network, network.structure, chosen, np.random.default_rng(seed))


def with_edges(
    network: DiscreteNetwork,
    seed: int,
    *,
    added: Iterable[Edge] = (),
    removed: Iterable[Edge] = (),
    turned: Iterable[Edge] = (),
) -> DiscreteNetwork:
    """Return the network with edges added, removed or reversed; variables with new parents get new tables.

    Examples
    --------
    >>> network = drawn_network(5, seed=1)
    >>> set(network.structure.edges) - set(with_edges(network, 2, removed=[("v0", "v1")]).structure.edges)
    {('v0', 'v1')}
    """
    structure = network.structure
    for edge in removed:
        structure = structure.without_edge(*edge)
    for edge in turned:
        structure = structure.with_reversed(*edge)
    for edge in added:
        structure = structure.with_edge(*edge)
    changed = {
        name
        for name in structure.variables
        if set(structure.parents(name)) != set(network.structure.parents(name))
    }
    return _rebuilt(network, structure, changed, np.random.default_rng(seed))


def with_other_features(network: DiscreteNetwork, target: Value, seed: int) -> DiscreteNetwork:
    """Return a network with another P(features) and the same P(target | features).

    All tables are new except those of the target and its children, which alone carry information on the target
    once every feature is known.
    """
    structure = network.structure
    kept = {target, *structure.children(target)}
    return _rebuilt(network, structure, set(structure.variables) - kept, np.random.default_rng(seed))


def stream_of(
    concepts: Sequence[tuple[DiscreteNetwork, int]], target: Value, seed: int
) -> Iterator[Labelled]:
    """Yield the events of each concept in turn, as (features, label).

    Examples
    --------
    >>> before = drawn_network(5, seed=1)
    >>> events = list(stream_of([(before, 10), (with_new_tables(before, 2), 5)], "v4", seed=3))
    >>> len(events), sorted(events[0][0])
    (15, ['v0', 'v1', 'v2', 'v3'])
    """
    rng = np.random.default_rng(seed)
    for network, number in concepts:
        drawing = _drawing(network, target, rng)
        for _ in range(number):
            yield next(drawing)


def gradual_stream(
    before: DiscreteNetwork,
    after: DiscreteNetwork,
    target: Value,
    seed: int,
    *,
    start: int,
    width: int,
    number: int,
) -> Iterator[Labelled]:
    """Yield a stream in which a second concept takes over: more likely with each of `width` events from `start` on."""
    if width < 1 or start < 0:
        raise BadValue(f"a change starts at 0 or later and takes 1 event or more, not {start} and {width}")
    rng = np.random.default_rng(seed)
    drawing = _drawing(before, target, rng), _drawing(after, target, rng)
    for place in range(number):
        yield next(drawing[rng.random() * width < place - start + 1 if place >= start else 0])


def _drawing(network: DiscreteNetwork, target: Value, rng: np.random.Generator) -> Iterator[Labelled]:
    model = BayesNet.from_network(network)
    while True:
        columns = model.sample(AT_ONCE, rng)
        for row in zip(*columns.values(), strict=True):
            x = dict(zip(columns, row, strict=True))
            y = x.pop(target)
            yield x, y


def _rebuilt(
    network: DiscreteNetwork, structure: Structure, changed: set[Value], rng: np.random.Generator
) -> DiscreteNetwork:
    tables = {
        name: _drawn_table(structure, network.states, name, rng) if name in changed else network.tables[name]
        for name in structure.variables
    }
    return DiscreteNetwork(structure, network.states, tables)


def _drawn_table(structure: Structure, states: Any, name: Value, rng: np.random.Generator) -> Floats:
    own = len(states[name])
    rows = [len(states[parent]) for parent in structure.parents(name)]
    return rng.dirichlet([SPREAD] * own, size=rows) if rows else rng.dirichlet([SPREAD] * own)
