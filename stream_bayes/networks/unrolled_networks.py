"""Networks over an event and lagged copies, unrolled: what is asked of the events to come.

`UnrolledNames` answers by exact inference over tables. `UnrolledNumbers` answers for networks over names and numbers:
exactly, or by likelihood weighting where too many combinations of names are possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.mixed_inference import MixedInference
from stream_bayes.core.live_networks.mixed_unrolling import UnrolledFamilies
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.networks.unrolling import Copies, StepNode, unrolled
from stream_bayes.core.values.unknown_names import no_value_of
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadValue, BudgetExceeded, NotSupported
from stream_bayes.networks.answers import label_of, name_of_state
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.mixed_network import MixedNetwork

__all__ = ["UnrolledNames", "UnrolledNetwork", "UnrolledNumbers"]

DRAWS = 500  # of a forecast that is too large for an exact answer, each about a millisecond
Nodes = Mapping[StepNode, Any]


class UnrolledNetwork(Protocol):
    """A network of the next events, and of those before them that matter."""

    def value_at(self, node: StepNode, value: Any) -> Any:
        """Return a value that is known of a node as the network has it; None if nothing follows from it."""
        ...

    def supposed(self, node: StepNode, value: Any) -> Any:
        """Return a value that is supposed of a node. Raise `BadValue` if its variable has no such value."""
        ...

    def forecast(self, node: StepNode, evidence: Nodes) -> Any:
        """Return the distribution of a node. Raise `NoValueKnown` if no value of it is known."""
        ...

    def most_probable(
        self, variables: Sequence[Any], steps: range, past: Nodes
    ) -> tuple[list[dict[Any, Any]], float]:
        """Return the most probable events together, and the logarithm of their probability given the past."""
        ...


class UnrolledNames:
    """A network of names."""

    def __init__(self, model: BayesNet, copies: Copies, steps: int) -> None:
        self._network = model.live.network()
        network = _with_values(self._network)
        self._states = network.states
        self._copy_at: dict[StepNode, Any] = {(v, 1 - lag): name for name, (v, lag) in copies.items()}
        self._engine = Inference(unrolled(network, copies, Inference(network).marginals(), steps))

    def value_at(self, node: StepNode, value: Any) -> Any:
        if node not in self._engine.structure:
            return None
        label = label_of(self._network, node[0], value)
        # Nothing follows from a value that no event has come after, or that was forgotten with a half-life.
        copy = self._copy_at.get(node, node[0])
        return label if label in self._states[copy if copy in self._states else node[0]] else None

    def supposed(self, node: StepNode, value: Any) -> Any:
        return label_of(self._network, node[0], value)

    def forecast(self, node: StepNode, evidence: Nodes) -> dict[Any, float]:
        if node not in self._engine.structure:
            raise no_value_of([node[0]])
        return {**self._engine.query(node, evidence)}

    def most_probable(
        self, variables: Sequence[Any], steps: range, past: Nodes
    ) -> tuple[list[dict[Any, Any]], float]:
        unknown = [v for v in variables if (v, steps[-1]) not in self._engine.structure]
        if unknown or not variables:
            raise no_value_of(unknown)
        # What is missing of the past is part of the path's probability; its values are not returned.
        best = self._engine.most_probable(past)
        log_past = self._engine.log_probability(past) if past else 0.0
        path = [{v: best[v, step] for v in variables} for step in steps]
        return path, best.log_probability - log_past


class UnrolledNumbers:
    """A network of names and numbers."""

    def __init__(self, model: MixedNetwork, copies: Copies, steps: int) -> None:
        self._model = model
        self._copy_at: dict[StepNode, Any] = {(v, 1 - lag): name for name, (v, lag) in copies.items()}
        self._inference = MixedInference(UnrolledFamilies(model.families, copies, steps))
        self._structure = self._inference.counts.structure

    def value_at(self, node: StepNode, value: Any) -> Any:
        if node not in self._structure:
            return None
        copy = self._copy_at.get(node)
        name = copy if copy in self._model.store.kinds else node[0]
        return self._model.values_known({name: value}).get(name)

    def supposed(self, node: StepNode, value: Any) -> Any:
        v = node[0]
        read = self._model.store.read({v: value})
        if v not in read or self._model.novel_values(read):
            raise BadValue(f"variable {shown(v)}: {shown(value)} was never learned; nothing follows from it")
        return read[v]

    def forecast(self, node: StepNode, evidence: Nodes) -> Any:
        if node not in self._structure:
            raise no_value_of([node[0]])
        inference, has_numbers = self._inference, self._inference.counts.kinds[node]
        observed: dict[Value, Any] = dict(evidence.items())
        try:
            return inference.number(node, observed) if has_numbers else inference.shares(node, observed)
        except BudgetExceeded:
            rng = np.random.default_rng(0)  # equal questions have equal answers
        if has_numbers:
            return inference.sampled_number(node, observed, DRAWS, rng)
        return inference.sampled_shares(node, observed, DRAWS, rng)[0]

    def most_probable(
        self, variables: Sequence[Any], steps: range, past: Nodes
    ) -> tuple[list[dict[Any, Any]], float]:
        raise NotSupported(
            "numbers have no most probable path, but densities: forecast_one has the distribution of each"
        )


def _with_values(network: CountedNetwork) -> DiscreteNetwork:
    """Return a network without the variables that have no value yet: theirs are tables of a single row, None."""
    states = {v: [name_of_state(state) for state in network.states[v]] for v in network.structure.variables}
    parents, tables = {}, {}
    for v in (v for v, values in states.items() if values != [None]):
        family = network.structure.parents(v)
        empty = tuple(k for k, p in enumerate(family) if states[p] == [None])
        parents[v] = [p for p in family if states[p] != [None]]
        tables[v] = network.tables[v].squeeze(empty)
    return DiscreteNetwork(Structure(parents), {v: states[v] for v in parents}, tables)
