"""Networks as the objects of pgmpy and pyAgrum, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, MissingPackage
from stream_bayes.networks.files.bif import SupportsToNetwork

__all__ = ["from_pgmpy", "from_pyagrum", "to_pgmpy", "to_pyagrum"]


def to_pgmpy(network: DiscreteNetwork | SupportsToNetwork) -> Any:
    """Return a network as a `pgmpy.models.DiscreteBayesianNetwork`, with the same names, labels and numbers.

    Raises
    ------
    MissingPackage
        If pgmpy is not installed.

    Examples
    --------
    >>> from stream_bayes.networks import DiscreteNetwork, Structure, from_pgmpy, to_pgmpy
    >>> rain = DiscreteNetwork(Structure({"rain": []}), {"rain": ["yes", "no"]}, {"rain": [0.25, 0.75]})
    >>> from_pgmpy(to_pgmpy(rain)).tables["rain"].tolist()
    [0.25, 0.75]
    """
    try:
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    except ImportError:
        raise MissingPackage("to_pgmpy needs pgmpy; install it with: pip install pgmpy") from None
    discrete = _network(network)
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(discrete.structure.variables)
    for child in discrete.structure.variables:
        model.add_edges_from([(parent, child) for parent in discrete.structure.parents(child)])
    for variable in discrete.structure.variables:
        parents = discrete.structure.parents(variable)
        table = discrete.tables[variable]
        model.add_cpds(
            TabularCPD(
                variable,
                table.shape[-1],
                table.reshape(-1, table.shape[-1]).T,
                evidence=list(parents),
                evidence_card=list(table.shape[:-1]),
                state_names={v: list(discrete.states[v]) for v in (*parents, variable)},
            )
        )
    return model


def from_pgmpy(model: Any) -> DiscreteNetwork:
    """Return a pgmpy model with a table for each variable as a `DiscreteNetwork`.

    Examples
    --------
    >>> from stream_bayes.networks import DiscreteNetwork, Structure, from_pgmpy, to_pgmpy
    >>> rain = DiscreteNetwork(Structure({"rain": []}), {"rain": ["yes", "no"]}, {"rain": [0.25, 0.75]})
    >>> from_pgmpy(to_pgmpy(rain)).tables["rain"].tolist()
    [0.25, 0.75]
    """
    nodes = list(model.nodes())
    factors = {cpd.variable: cpd for cpd in model.get_cpds()}
    if missing := [node for node in nodes if node not in factors]:
        raise BadValue(f"the model has no table of {shown(missing)}; fit it, or add its tables")
    for node in nodes:
        if set(factors[node].variables) != {node, *model.get_parents(node)}:
            raise BadValue(
                f"the table of {shown(node)} has the parents {shown(factors[node].variables[1:])}, the graph of the "
                f"model has {shown(list(model.get_parents(node)))}; correct one of them"
            )
    structure = Structure({node: factors[node].variables[1:] for node in nodes})
    states = {node: list(factors[node].state_names[node]) for node in nodes}
    tables = {node: _table_of(factors[node], states) for node in nodes}
    return DiscreteNetwork(structure, states, tables, tolerance=1e-2)


def _table_of(cpd: Any, states: dict[Any, list[Any]]) -> Any:
    """Return a table of pgmpy with the variable's axis last. A table may order a parent's labels in its own way."""
    positions = []
    for variable in cpd.variables:
        labels = list(cpd.state_names[variable])
        if sorted(map(repr, labels)) != sorted(map(repr, states[variable])):
            raise BadValue(
                f"the table of {shown(cpd.variable)} has the labels {shown(labels)} of {shown(variable)}, whose own "
                f"table has {shown(states[variable])}; correct one of them"
            )
        positions.append([labels.index(label) for label in states[variable]])
    return np.moveaxis(np.asarray(cpd.values, np.float64)[np.ix_(*positions)], 0, -1)


def to_pyagrum(network: DiscreteNetwork | SupportsToNetwork) -> Any:
    """Return a network as a `pyagrum.BayesNet`. Names and labels are texts there: others are written as their `repr`.

    Raises
    ------
    MissingPackage
        If pyAgrum is not installed.
    """
    try:
        import pyagrum
    except ImportError:
        raise MissingPackage("to_pyagrum needs pyAgrum; install it with: pip install pyagrum") from None
    discrete = _network(network)
    variables = discrete.structure.variables
    names = dict(zip(variables, spelled(variables), strict=True))
    model = pyagrum.BayesNet(discrete.name)
    for v in variables:
        model.add(pyagrum.LabelizedVariable(names[v], names[v], spelled(discrete.states[v])))
    for child in variables:
        for parent in discrete.structure.parents(child):
            model.addArc(names[parent], names[child])
    for v in variables:
        _fill(
            model.cpt(names[v]), [names[u] for u in (*discrete.structure.parents(v), v)], discrete.tables[v]
        )
    return model


def _fill(table: Any, family: list[str], numbers: Any) -> None:
    # pyAgrum's arrays have the axes of `names` in reverse order.
    order = [family.index(name) for name in reversed(table.names)]
    table.fillWith(np.transpose(numbers, order).ravel().tolist())


def from_pyagrum(model: Any) -> DiscreteNetwork:
    """Return a `pyagrum.BayesNet` as a `DiscreteNetwork`, with texts for names and labels."""
    names = sorted(model.names())
    structure = Structure({name: [v for v in model.cpt(name).names if v != name] for name in names})
    tables = {}
    for name in names:
        table = model.cpt(name)
        axes = list(reversed(table.names))
        order = [axes.index(v) for v in (*structure.parents(name), name)]
        tables[name] = np.transpose(np.asarray(table.toarray(), np.float64), order)
    states = {name: list(model.variableFromName(name).labels()) for name in names}
    return DiscreteNetwork(structure, states, tables, tolerance=1e-2)


def _network(network: DiscreteNetwork | SupportsToNetwork) -> DiscreteNetwork:
    if isinstance(network, DiscreteNetwork):
        return network
    if not hasattr(network, "to_network"):
        raise BadValue(f"network: expected a DiscreteNetwork, or a BayesNet, got {shown(network)}")
    return network.to_network()
