"""Influence diagrams in files: the nodes of one to write, and the decisions and utilities of one that is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import NamedTuple

from stream_bayes.core.inference.influence_diagram import Decision, InfluenceDiagram, Utility
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadFormat, BadStructure, BadValue
from stream_bayes.networks.files.network_draft import NetworkDraft

__all__ = ["DiagramDraft", "DiagramNode", "nodes_of"]


class DiagramNode(NamedTuple):
    """A node as it is written: its kind (chance, decision or utility), its parents, and its numbers in one list.

    The labels of the last parent change first in the numbers, those of a variable of chance before them. A decision has
    no numbers: its parents are what is known.
    """

    kind: str
    name: Value
    parents: tuple[Value, ...]
    numbers: list[float]


def nodes_of(diagram: InfluenceDiagram) -> Iterator[DiagramNode]:
    """Yield the nodes of a diagram, parents first. Each decision is a parent of the next, which knows of it."""
    network, decisions = diagram.network, diagram.decisions
    before = dict(zip([*decisions][1:], decisions, strict=False))
    above = {d: [*each.knowing, *([before[d]] if d in before else [])] for d, each in decisions.items()}
    whole = Structure({v: above.get(v, network.structure.parents(v)) for v in network.structure.variables})
    for v in whole.topological_order:
        is_decision = v in decisions
        numbers = [] if is_decision else network.tables[v].ravel().tolist()
        yield DiagramNode("decision" if is_decision else "chance", v, whole.parents(v), numbers)
    for name, worth in diagram.utilities.items():
        every = product(*(network.states[v] for v in worth.of))
        yield DiagramNode(
            "utility", name, tuple(worth.of), [diagram.worth_of(name, labels) for labels in every]
        )


@dataclass
class DiagramDraft(NetworkDraft):
    """The variables, tables, decisions and utilities read so far. A sum is a utility that weighs others."""

    knowing: dict[str, list[str]] = field(default_factory=dict)
    worths: dict[str, tuple[list[str], list[float]]] = field(default_factory=dict)
    sums: dict[str, tuple[list[str], list[float]]] = field(default_factory=dict)

    def add_variable(
        self, name: str, labels: Sequence[str], line: int, properties: Sequence[str] = ()
    ) -> None:
        """Add a variable with its labels."""
        self._check_new(name, line)
        super().add_variable(name, labels, line, properties)

    def add_decision(
        self, name: str, labels: Sequence[str], line: int, properties: Sequence[str] = ()
    ) -> None:
        """Add a decision with its options; what is known may come later."""
        self.add_variable(name, labels, line, properties)
        self.knowing[name] = []

    def add_utility(self, name: str, parents: Sequence[str], numbers: list[float], line: int) -> None:
        """Add a utility: a number for each combination of its parents' labels."""
        self._add_worth(self.worths, name, parents, numbers, line)

    def add_sum(self, name: str, parents: Sequence[str], weights: list[float], line: int) -> None:
        """Add a utility that is the weighted sum of others."""
        if len(parents) != len(weights):
            self.fail(
                line,
                f"expected {len(parents)} weights of {shown(name)}, one for each parent, got {len(weights)}",
            )
        self._add_worth(self.sums, name, parents, weights, line)

    def _add_worth(
        self,
        worths: dict[str, tuple[list[str], list[float]]],
        name: str,
        parents: Sequence[str],
        numbers: list[float],
        line: int,
    ) -> None:
        self._check_new(name, line)
        if len(set(parents)) < len(parents):
            self.fail(line, f"{shown(name)} has a parent twice: {shown(list(parents))}")
        worths[name] = list(parents), numbers
        self._lines[name] = line

    def _check_new(self, name: str, line: int) -> None:
        if name in self.worths or name in self.sums or name in self.states:
            self.fail(line, f"{shown(name)} is defined twice")

    def network(self, tolerance: float) -> DiscreteNetwork:
        """Return the network. Raise `BadFormat` if the file has decisions or utilities, or parts do not fit."""
        for kind, names in (("decision", self.knowing), ("utility", self.worths), ("utility", self.sums)):
            for name in names:
                self.fail(
                    self._lines[name],
                    f"the node {shown(name)} is a {kind}: read_diagram reads influence diagrams",
                )
        return super().network(tolerance)

    def diagram(self, tolerance: float) -> InfluenceDiagram:
        """Return the influence diagram. Raise `BadFormat` if parts are missing, or do not fit."""
        if not self.knowing or not self.worths:
            self.fail(1, "expected decisions and utilities; read_network reads a network of chance alone")
        order = self._decisions_in_order()
        for name in order:
            options = len(self.states[name])
            self.add_table(name, [], [1.0 / options] * options, self._lines[name])
        network = super().network(tolerance)
        names = {name: self._value_of(name) for name in self.states}
        decisions = {
            names[name]: Decision([names[p] for p in self.knowing[name] if p not in self.knowing])
            for name in order
        }
        factors = self._factors()
        utilities = {}
        for name, (parents, numbers) in self.worths.items():
            self._check_parents(name, "utility")
            every = [*product(*(network.states[names[p]] for p in parents))]
            if len(every) != len(numbers):
                self.fail(
                    self._lines[name],
                    f"expected {len(every):,} utilities of {shown(name)} given {shown(parents)}, got {len(numbers):,}",
                )
            scaled = [number * factors[name] for number in numbers]
            utilities[name] = Utility([names[p] for p in parents], dict(zip(every, scaled, strict=True)))
        try:
            return InfluenceDiagram(network, decisions, utilities)
        except BadValue as error:
            raise BadFormat(f"{self.source}: {error}") from None

    def _check_parents(self, name: str, kind: str) -> None:
        parents = self.knowing[name] if kind == "decision" else self.worths[name][0]
        if absent := [parent for parent in parents if parent not in self.states]:
            self.fail(
                self._lines[name],
                f"the {kind} {shown(name)} has the parent {shown(absent[0])}, which is no variable of the file",
            )

    def _decisions_in_order(self) -> list[str]:
        """Return decisions in the order of the paths between them."""
        for name in self.knowing:
            self._check_parents(name, "decision")
        try:
            whole = Structure({**self.parents, **self.knowing})
        except BadStructure as error:
            raise BadFormat(f"{self.source}: {error}") from None
        order = [str(name) for name in whole.topological_order if name in self.knowing]
        for first, second in pairwise(order):
            if second not in whole.descendants(first):
                self.fail(
                    self._lines[second],
                    f"no path says which of the decisions {shown(first)} and {shown(second)} comes first; add an arc "
                    "between them",
                )
        return order

    def _factors(self) -> dict[str, float]:
        """Return how often each utility counts: by the weights of the sums that it is in, or once."""
        every = {
            **dict.fromkeys(self.worths, ()),
            **{name: parents for name, (parents, _) in self.sums.items()},
        }
        for name, parents in every.items():
            if absent := [parent for parent in parents if parent not in every]:
                self.fail(
                    self._lines[name],
                    f"the sum {shown(name)} has the parent {shown(absent[0])}, which is no utility of the file",
                )
        try:
            order = Structure(every).topological_order
        except BadStructure as error:
            raise BadFormat(f"{self.source}: {error}") from None
        parts = {parent for parents in every.values() for parent in parents}
        factors = {name: 0.0 if name in parts else 1.0 for name in every}
        for name in map(str, reversed(order)):
            for parent, weight in zip(*self.sums.get(name, ((), ())), strict=True):
                factors[parent] += weight * factors[name]
        if wrong := [name for name, factor in factors.items() if not math.isfinite(factor)]:
            self.fail(self._lines[wrong[0]], f"the weights of {shown(wrong[0])} are too large")
        return factors
