"""Sensitivity of an answer: to each number of the tables, and to each finding of the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.values.unknown_names import check_variables, unknown_label
from stream_bayes.core.values.values import Value, is_missing, shown
from stream_bayes.errors import BadValue

__all__ = [
    "FindingImpact",
    "SupportsNetwork",
    "TableSensitivity",
    "finding_impacts",
    "network_of",
    "table_sensitivities",
]


class SupportsNetwork(Protocol):
    """A learner with a network to export, such as a `BayesNet`."""

    def to_network(self) -> DiscreteNetwork:
        """Return the network."""


class TableSensitivity(NamedTuple):
    """A number of a table, P(label | parents), and how fast the answer changes with it.

    `derivative` is that of the answer, with the rest of the row scaled so that it sums to 1.

    Examples
    --------
    >>> from stream_bayes.core.networks.structure import Structure
    >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.25, 0.75]})
    >>> table_sensitivities(coin, "coin", "heads")[0]
    TableSensitivity(variable='coin', parents=(), label='heads', probability=0.25, derivative=1.0)
    """

    variable: Value
    parents: tuple[Value, ...]
    label: Value
    probability: float
    derivative: float


class FindingImpact(NamedTuple):
    """A finding of the evidence, and the answer without it, and with it alone.

    Examples
    --------
    >>> FindingImpact("test", "+", without=0.01, alone=0.15).alone
    0.15
    """

    variable: Value
    value: Any
    without: float
    alone: float


def table_sensitivities(
    network: DiscreteNetwork | SupportsNetwork,
    target: Any,
    label: Any,
    evidence: Mapping[Any, Any] | None = None,
) -> list[TableSensitivity]:
    """Return how P(target = label | evidence) changes with each number of the tables, the fastest first.

    Numbers that are 0 or 1 are left out: they say that something is impossible, and nothing scales with them.

    Parameters
    ----------
    network
        A `DiscreteNetwork`, or a `BayesNet`.
    target, label
        The variable asked about, and its label.
    evidence
        As `Inference.query` takes it.

    Examples
    --------
    >>> from stream_bayes.core.networks.structure import Structure
    >>> test = DiscreteNetwork(
    ...     Structure({"ill": [], "test": ["ill"]}),
    ...     states={"ill": ["yes", "no"], "test": ["+", "-"]},
    ...     tables={"ill": [0.01, 0.99], "test": [[0.9, 0.1], [0.05, 0.95]]},
    ... )
    >>> most = table_sensitivities(test, "ill", "yes", {"test": "+"})[0]
    >>> most.variable, most.label, round(most.derivative, 2)
    ('ill', 'yes', 13.15)
    """
    network = network_of(network)
    engine, evidence = Inference(network), dict(evidence or {})
    answer = _answer(engine, network, target, label, evidence)
    if answer == 0.0:
        return []
    before, after = engine.families(evidence), engine.families({**evidence, target: label})
    sensitivities = []
    for v in network.structure.variables:
        table = network.tables[v]
        gain = after[v] - before[v]
        others = gain.sum(axis=-1, keepdims=True) - gain
        inner = (table > 0.0) & (table < 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = answer * (gain / table - others / (1.0 - table))
        parents = network.structure.parents(v)
        for at in map(tuple, np.argwhere(inner).tolist()):
            labels = tuple(network.states[p][code] for p, code in zip(parents, at, strict=False))
            sensitivities.append(
                TableSensitivity(v, labels, network.states[v][at[-1]], float(table[at]), float(slopes[at]))
            )
    return sorted(sensitivities, key=lambda each: -abs(each.derivative))


def finding_impacts(
    network: DiscreteNetwork | SupportsNetwork, target: Any, label: Any, evidence: Mapping[Any, Any]
) -> list[FindingImpact]:
    """Return what each finding does to P(target = label | evidence): the answer without it, and with it alone.

    The finding that changes the answer most if it is taken away comes first.

    Examples
    --------
    >>> from stream_bayes.core.networks.structure import Structure
    >>> test = DiscreteNetwork(
    ...     Structure({"ill": [], "test": ["ill"]}),
    ...     states={"ill": ["yes", "no"], "test": ["+", "-"]},
    ...     tables={"ill": [0.01, 0.99], "test": [[0.9, 0.1], [0.05, 0.95]]},
    ... )
    >>> finding_impacts(test, "ill", "yes", {"test": "+"})
    [FindingImpact(variable='test', value='+', without=0.01, alone=0.1538...)]
    """
    network = network_of(network)
    engine = Inference(network)
    if not isinstance(evidence, Mapping):
        raise BadValue(f"evidence comes as a dict {{variable: value}}, not as {shown(evidence)}")
    answer = _answer(engine, network, target, label, evidence)
    impacts = []
    for v, value in evidence.items():
        if isinstance(value, Mapping) or not is_missing(value):
            rest = {other: finding for other, finding in evidence.items() if other != v}
            without, alone = (_answer(engine, network, target, label, each) for each in (rest, {v: value}))
            impacts.append(FindingImpact(v, value, without, alone))
    return sorted(impacts, key=lambda each: -abs(each.without - answer))


def _answer(
    engine: Inference, network: DiscreteNetwork, target: Any, label: Any, evidence: Mapping[Any, Any]
) -> float:
    check_variables([target], network.structure.variables, "target")
    if label not in network.states[target]:
        raise unknown_label(target, label, network.states[target])
    if target in evidence:
        raise BadValue(f"the target {shown(target)} is in the evidence: nothing is left to answer")
    return float(engine.query(target, evidence)[label])


def network_of(network: object) -> DiscreteNetwork:
    """Return a network, or that of a learner. Raise `BadValue` for anything else."""
    if isinstance(network, DiscreteNetwork):
        return network
    if not hasattr(network, "to_network"):
        raise BadValue(f"network: expected a DiscreteNetwork, or a BayesNet, got {shown(network)}")
    return network.to_network()
