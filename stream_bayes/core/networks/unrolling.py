"""A network over one event and lagged copies of earlier ones, unrolled over the events that follow.

Nodes are `(variable, step)`: step 1 is the next event, 0 the newest that has come, -1 the one before. A family of the
network is that of its variable at each step from 1 on; the copies of step 1 are the nodes at 0 and before. A node
before step 1 that no copy stands for has the distribution of its variable over all events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from stream_bayes.core.networks.discrete_network import DiscreteNetwork, Floats
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value

__all__ = ["Copies", "StepNode", "step_node", "unrolled"]

Copies: TypeAlias = Mapping[Any, tuple[Value, int]]  # any Value; but keys are invariant
StepNode: TypeAlias = tuple[Value, int]


def unrolled(
    network: DiscreteNetwork, copies: Copies, marginals: Mapping[Any, Mapping[Value, float]], steps: int
) -> DiscreteNetwork:
    """Return the network of the next `steps` events and of those before them that matter.

    `network` is over an event and its copies; `copies` has the variable and the lag of each, `{"sky@-1": ("sky", 1)}`.
    `marginals` has the distribution of each variable of the network over all events. A value that a copy lacks, as it
    has come in the newest event alone, is treated there as missing.
    """
    states = _joint_states(network, copies)
    parents: dict[StepNode, list[StepNode]] = {}
    tables: dict[StepNode, Floats] = {}
    for v in network.structure.variables:
        # A copy is a node once, relative to step 1; a variable of the event is one at each step.
        for step in (1,) if v in copies else range(1, steps + 1):
            node = step_node(v, step, copies)
            parents[node] = [step_node(p, step, copies) for p in network.structure.parents(v)]
            tables[node] = _widened(network, v, copies, states, marginals)
    for v, step in {p for family in parents.values() for p in family} - parents.keys():
        node = v, step
        parents[node] = []
        tables[node] = np.array([marginals[v].get(state, 0.0) for state in states[v]])
    return DiscreteNetwork(Structure(parents), {(v, step): states[v] for v, step in parents}, tables)


def step_node(v: Value, step: int, copies: Copies) -> StepNode:
    """Return the node of a variable of the network, which may be a copy, where the event is at a step."""
    variable, lag = copies.get(v, (v, 0))
    return variable, step - lag


def _joint_states(network: DiscreteNetwork, copies: Copies) -> dict[Value, list[Value]]:
    """Return the values of each variable in events or in copies of it."""
    states: dict[Value, dict[Value, None]] = {}
    for v in sorted(network.structure.variables, key=lambda v: v in copies):
        states.setdefault(copies.get(v, (v, 0))[0], {}).update(dict.fromkeys(network.states[v]))
    return {v: [*values] for v, values in states.items()}


def _widened(
    network: DiscreteNetwork,
    child: Value,
    copies: Copies,
    states: Mapping[Value, Sequence[Value]],
    marginals: Mapping[Any, Mapping[Value, float]],
) -> Floats:
    """Return a table over the values of all events: a value that a parent lacks has the mean of the others' rows."""
    table = network.tables[child]
    for axis, v in enumerate((*network.structure.parents(child), child)):
        wanted, present = states[copies.get(v, (v, 0))[0]], network.states[v]
        shape = (*table.shape[:axis], len(wanted), *table.shape[axis + 1 :])
        wide: Any = np.zeros(shape)
        if v != child:
            weights = np.array([marginals[v][state] for state in present])
            wide[...] = np.expand_dims(np.tensordot(table, weights / weights.sum(), (axis, 0)), axis)
        at = (slice(None),) * axis
        wide[(*at, [wanted.index(state) for state in present])] = table
        table = wide
    return table
