"""Answers from a network whose tables are counts: evidence by the values it has, tables, the network itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_bayes.core.inference.coded_network import Network
from stream_bayes.core.inference.posterior import Posterior
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.live_inference import LiveInference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.values.inputs import read_number
from stream_bayes.core.values.values import OTHER, Value, canonical, is_missing, shown
from stream_bayes.errors import BadValue, NoValueKnown, UnknownFeature
from stream_bayes.learners.networks.conditional_table import ConditionalTable

__all__ = ["as_network", "conditional_table", "given_values", "log_likelihood", "query"]

X = Mapping[Any, Any]
UNINFORMED = 0.5  # samples of each value: Jeffreys' prior


def query(live: LiveInference, targets: Any, evidence: X | None, **settings: Any) -> Posterior:
    """Return the probabilities of one variable's values, or of the combinations of several variables' values."""
    engine, network = live.engine(), live.network()
    given = given_values(network, evidence)
    for variable in targets if isinstance(targets, list) else [targets]:
        if variable in network.structure:
            _check_has_value(variable, network)
    return engine.query(targets, given, **settings)


def log_likelihood(live: LiveInference, x: X) -> float:
    """Return the logarithm of the probability of an event."""
    engine, network = live.engine(), live.network()
    row = network.counts.encoder.lookup(x)
    if x and not any(name in network.structure for name in x):
        raise UnknownFeature(
            f"the event has none of the network's variables, {shown(list(network.structure))}: {shown(dict(x))}"
        )
    return float(engine.log_likelihoods(network.codes_of(row))[0])


def conditional_table(network: CountedNetwork, variable: Any) -> ConditionalTable:
    """Return P(variable | its parents) with credible intervals."""
    structure = network.structure
    if variable not in structure:
        raise UnknownFeature(
            f"the network has no variable {shown(variable)}; its variables: {shown(list(structure))}"
        )
    _check_has_value(variable, network)
    parents = structure.parents(variable)
    weights = network.weights(variable)
    if not network.strength and (network.given is None or not network.weight):
        weights += UNINFORMED
    states = [network.states[name] for name in (*parents, variable)]
    return ConditionalTable(variable, parents, states, network.table(variable), weights)


def given_values(network: CountedNetwork, evidence: X | None) -> dict[Any, Any]:
    """Return evidence by the values that the network has: numbers by their bins, values past a limit by `<other>`."""
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping):
        raise BadValue(f"evidence comes as a dict {{variable: value}}, not as {shown(evidence)}")
    return {variable: _value(network, variable, given) for variable, given in evidence.items()}


def _value(network: CountedNetwork, variable: Any, given: Any) -> Any:
    if variable not in network.structure or is_missing(given):
        return given
    _check_has_value(variable, network)
    if isinstance(given, Mapping):
        return given
    encoder = network.counts.encoder
    feature = encoder.features[variable]
    values = feature.vocabulary
    if feature.measured and not isinstance(given, str):
        number = read_number(variable, given, True)
        bins: Any = encoder.bins
        return values.values[bins.code_of(feature.slot, number)]
    try:
        value = canonical(given, feature=variable)
    except BadValue:
        return given  # no value at all: the engine's error names what may be evidence
    return OTHER if values.find(value) < 0 <= values.other else value


def as_network(network: Network, given: DiscreteNetwork | None = None) -> DiscreteNetwork:
    """Return a learned network as a `DiscreteNetwork`, with the name and properties of one given beforehand."""
    for variable in network.structure.variables:
        _check_has_value(variable, network)
    states = {v: tuple(map(_label, network.states[v])) for v in network.structure.variables}
    if given is None:
        return DiscreteNetwork(network.structure, states, network.tables)
    return DiscreteNetwork(
        network.structure,
        states,
        network.tables,
        name=given.name,
        properties=given.properties,
        properties_of=given.properties_of,
        tolerance=given.tolerance,
    )


def _check_has_value(variable: Any, network: Network) -> None:
    """Raise `NoValueKnown` unless the network has a value of the variable."""
    if not network.states[variable] or network.states[variable][0] is None:
        raise NoValueKnown(
            f"no value of {shown(variable)} is known yet; learn events that have it, or declare its values in a schema"
        )


def _label(value: Any) -> Value:
    return "<other>" if value is OTHER else value
