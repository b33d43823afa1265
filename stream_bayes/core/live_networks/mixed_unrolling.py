"""A network over names and numbers of one event and lagged copies of earlier ones, unrolled over the events to come.

Nodes are those of `core.networks.unrolling`: `(variable, step)`, of which step 1 is the next event and 0 the newest
that has come. Each step has the families of the network as they are learned. A node before step 1 that no copy stands
for, and one of a family that no event had whole, has the distribution of its variable over all events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stream_bayes.core.live_networks.family_sums import Cuts
from stream_bayes.core.live_networks.mixed_counts import Marginal, MixedCounts
from stream_bayes.core.live_networks.mixed_families import UNKNOWN, MixedFamilies, NumericFamily
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.networks.unrolling import Copies, StepNode, step_node
from stream_bayes.core.values.values import Value

__all__ = ["UnrolledFamilies"]


class NodeFamily(NamedTuple):
    """The variable of the network that a node is a case of, and the node of each of its parents there.

    `child` is None for a node that has the distribution of its variable over all events.
    """

    child: Value | None
    nodes: dict[Value, StepNode]


class UnrolledCounts:
    """The graph over nodes, and what inference reads of the counts behind it."""

    def __init__(self, counts: MixedCounts, copies: Copies, steps: int) -> None:
        self._counts = counts
        self.cuts: dict[tuple[Value, Value], Cuts] = {}
        self.families: dict[Value, NodeFamily] = {}
        parents: dict[StepNode, tuple[StepNode, ...]] = {}
        for v in counts.families:
            for step in (1,) if v in copies else range(1, steps + 1):
                node = step_node(v, step, copies)
                above = (*counts.nominal_parents(v), *counts.numeric_parents(v), *counts.cut_parents(v))
                nodes = {p: step_node(p, step, copies) for p in above}
                self.families[node] = NodeFamily(v, nodes)
                parents[node] = tuple(nodes.values())
                self.cuts |= {(nodes[p], node): counts.cuts[p, v] for p in counts.cut_parents(v)}
        whole = {(v, step) for v in counts.kinds if v not in copies for step in range(1, steps + 1)}
        for node in whole.union(*parents.values()) - parents.keys():
            self.families[node] = NodeFamily(None, {})
            parents[node] = ()
        self.structure = Structure(parents)
        self.kinds: dict[Value, bool] = {node: counts.kinds[node[0]] for node in parents}

    def nominal_parents(self, v: Value) -> tuple[Value, ...]:
        """Return the parents of a node that have names."""
        return self._above(v, self._counts.nominal_parents)

    def numeric_parents(self, v: Value) -> tuple[Value, ...]:
        """Return the parents that the number of a node is linear in."""
        return self._above(v, self._counts.numeric_parents)

    def cut_parents(self, v: Value) -> tuple[Value, ...]:
        """Return the parents of a name that have numbers."""
        return self._above(v, self._counts.cut_parents)

    def _above(self, v: Value, parents_of: Callable[[Value], tuple[Value, ...]]) -> tuple[Value, ...]:
        child, nodes = self.families[v]
        return () if child is None else tuple(nodes[p] for p in parents_of(child))

    def counts(self, v: Any) -> dict[Value, float]:
        """Return the weight of each value of a node's variable in all events."""
        return self._counts.counts(v[0])


class UnrolledFamilies(MixedFamilies):
    """The families of the next `steps` events, and of what is remembered of those before them."""

    def __init__(self, families: MixedFamilies, copies: Copies, steps: int) -> None:
        self._unrolled = UnrolledCounts(families.counts, copies, steps)
        counts: Any = self._unrolled
        super().__init__(counts, families.strength)
        self._families = families

    def unit(self, v: Any) -> Marginal:
        return self._families.unit(v[0])

    def states(self, v: Any) -> list[Value]:
        return self._families.states(v[0])

    def shares(self, v: Any, values: Mapping[Value, Any]) -> dict[Value, float]:
        child, _ = self._unrolled.families[v]
        if child is not None:
            shares = self._families.shares(child, self._there(v, values))
        else:
            counts = self._unrolled.counts(v)
            shares = {value: weight / sum(counts.values()) for value, weight in counts.items()}
        # A copy lacks a value that no event has come after yet.
        return {value: shares.get(value, 0.0) for value in self.states(v)}

    def numeric(self, v: Any, values: Mapping[Value, Any]) -> NumericFamily:
        child, _ = self._unrolled.families[v]
        if child is not None:
            return self._families.numeric(child, self._there(v, values))
        unit = self.unit(v)
        squares = unit.weight * unit.spread**2
        family = NumericFamily(1, self.strength)
        family.fill([unit], unit.weight, [unit.mean], [[squares]])
        return family

    def novel_share(self, v: Any) -> float:
        return self._families.novel_share(v[0])

    def _there(self, v: Value, values: Mapping[Value, Any]) -> dict[Value, Any]:
        """Return the values of a node's parents by the network's own names."""
        return {p: values.get(node, UNKNOWN) for p, node in self._unrolled.families[v].nodes.items()}
