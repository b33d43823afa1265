"""Answers from a network whose tables are counts: evidence by the values it has, tables, the network itself."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.inference.coded_network import Network
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.posterior import MostProbable, Posterior
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.labelled_network import LabelledNetwork
from stream_bayes.core.live_networks.live_inference import LiveInference
from stream_bayes.core.live_networks.novelty import novel_share, novel_values
from stream_bayes.core.live_networks.tails import log_tails, tails_of
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.values.inputs import read_number
from stream_bayes.core.values.unknown_names import (
    check_variables,
    no_value_of,
    unknown_label,
    unknown_variable,
)
from stream_bayes.core.values.values import OTHER, Value, canonical, is_missing, shown
from stream_bayes.errors import BadValue, ImpossibleEvidence
from stream_bayes.learners.base.credible_intervals import odds_interval
from stream_bayes.networks.conditional_table import ConditionalTable, checked_level
from stream_bayes.networks.ignored_features import check_has_variable
from stream_bayes.networks.surprise import Surprise

__all__ = [
    "UNSEEN",
    "as_network",
    "check_known",
    "conditional_table",
    "credible_intervals",
    "evidence_of",
    "explain",
    "label_of",
    "log_likelihood",
    "log_probability_of_evidence",
    "marginals",
    "most_probable",
    "name_of_state",
    "observed_shares",
    "probabilities",
    "query",
]

X = Mapping[Any, Any]
UNINFORMED = 0.5  # samples of each value: Jeffreys' prior
UNSEEN = ("novel", "ignore", "error")  # the policies for values that were never learned


def query(
    live: LiveInference,
    targets: Any,
    evidence: X | None,
    level: float | None = None,
    **settings: Any,
) -> Posterior:
    """Return the probabilities of one variable's values, or of the combinations of several variables' values."""
    engine, network = live.engine(), live.network()
    several = targets if isinstance(targets, list) else [targets]
    for variable in several:
        if variable not in network.structure:
            raise unknown_variable(variable, network.structure)
    findings = evidence_of(network, evidence)
    for variable in several:
        _check_has_value(variable, network)
    answer = engine.query(targets, findings, **settings)
    if level is not None:
        answer.intervals = credible_intervals(
            engine, network, targets, findings, answer, checked_level(level)
        )
    return answer


def credible_intervals(
    engine: Inference,
    network: CountedNetwork | LabelledNetwork,
    targets: Any,
    findings: X,
    answer: Posterior,
    level: float,
) -> dict[Any, tuple[float, float]]:
    """Return the credible interval of each probability, from the variance of its log-odds by the delta method.

    The log-odds of p = P(t | e) change with the logarithm of a cell of a table by (F(t, e) - F(e)) / (1 - p), with F
    the probability of that cell. The rows of the tables are independent Dirichlet variables, the variances of whose
    logarithms are known. So only the sums over what is not observed are taken to first order.
    """
    several = targets if isinstance(targets, list) else [targets]
    parameters = {v: posterior_weights(network, v) for v in network.structure.variables}
    weights = {v: each for v, each in parameters.items() if each is not None}
    average = engine.families(findings)
    intervals = {}
    for label, share in answer.items():
        if not 0.0 < share < 1.0:
            intervals[label] = (share, share)
            continue
        values = label if isinstance(targets, list) else (label,)
        with_label = engine.families({**findings, **dict(zip(several, values, strict=True))})
        slopes = {v: (with_label[v] - average[v]) / (1.0 - share) for v in weights}
        variance = math.fsum(_variance(slopes[v], weights[v]) for v in weights)
        intervals[label] = odds_interval(share, max(0.0, variance), level)
    return intervals


def _variance(slopes: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the variance of sum(slopes * log(share)) over rows of Dirichlet parameters."""
    positive = weights > 0.0
    psi = scipy.special.polygamma
    return float(
        (slopes[positive] ** 2 * psi(1, weights[positive])).sum()
        - (slopes.sum(axis=-1) ** 2 * psi(1, weights.sum(axis=-1))).sum()
    )


def log_probability_of_evidence(live: LiveInference, evidence: X) -> float:
    """Return the logarithm of the probability of evidence; likelihoods are not normalised."""
    return live.engine().log_probability(evidence_of(live.network(), evidence))


def _is_soft(x: X) -> bool:
    """Return True if there is soft evidence: likelihoods of values."""
    return any(isinstance(value, Mapping) for value in x.values())


def marginals(
    live: LiveInference, evidence: X | None, level: float | None = None, **settings: Any
) -> dict[Any, Posterior]:
    """Return the probabilities of every variable's values."""
    engine, network = live.engine(), live.network()
    findings = evidence_of(network, evidence)
    check_known(network)
    posteriors = engine.marginals(findings, **settings)
    if level is not None:
        for v, answer in posteriors.items():
            answer.intervals = credible_intervals(engine, network, v, findings, answer, checked_level(level))
    return posteriors


def most_probable(live: LiveInference, evidence: X | None) -> MostProbable:
    """Return the most probable values of all variables together."""
    findings = evidence_of(live.network(), evidence)
    check_known(live.network())
    return live.engine().most_probable(findings)


def log_likelihood(
    live: LiveInference, encoder: Encoder, x: X, unseen: str
) -> tuple[float, dict[Value, Value]]:
    """Return the logarithm of the probability of an event, and the values in it that were never learned.

    It is read from the counts where that is enough, and inferred otherwise. A number beyond the outer cuts has the
    factor of `tails`.
    """
    log_probability, novel = _log_probability(live, encoder, x, unseen)
    return log_probability + math.fsum(log_tails(live.network().counts, x).values()), novel


def _log_probability(
    live: LiveInference, encoder: Encoder, x: X, unseen: str
) -> tuple[float, dict[Value, Value]]:
    """Return the logarithm of the probability of an event's names and bins, and its new values."""
    try:
        row = encoder.lookup(x)
    except BadValue:
        if not _is_soft(x):
            raise
        network = live.network()
        novel = _novel(
            network, {v: value for v, value in x.items() if not isinstance(value, Mapping)}, unseen
        )
        evidence = {v: value for v, value in x.items() if v in network.structure and v not in novel}
        log_probability = live.engine().log_probability(evidence_of(network, evidence))
        return log_probability + sum(_log_novel(network, v, unseen) for v in novel), novel
    reading = live.joint_reading()
    log_probability = math.nan if reading is None else reading.log_probability(row)
    if reading is not None and reading.observed == len(x) and not math.isnan(log_probability):
        return log_probability, {}
    network = live.network()
    if encoder.declared:
        check_has_variable(x, network.structure)
    if math.isnan(log_probability):
        log_probability = float(live.engine().log_likelihoods(network.codes_of(row))[0])
    novel = _novel(network, x, unseen)
    return log_probability + sum(_log_novel(network, v, unseen) for v in novel), novel


def novel(live: LiveInference, x: X, unseen: str) -> dict[Value, Value]:
    """Return the values of an event that were never learned; those with soft evidence are none."""
    hard = {variable: value for variable, value in x.items() if not isinstance(value, Mapping)}
    return _novel(live.network(), hard, unseen)


def probabilities(
    live: LiveInference, encoder: Encoder, variable: Any, x: X, hidden: Container[Any], unseen: str
) -> dict[Any, float]:
    """Return P(variable | event without it and without hidden variables); empty if no value is known or the rest is
    impossible.
    """
    network = live.network()
    if variable not in network.structure:
        if not encoder.declared:
            return {}  # it may come yet
        raise unknown_variable(variable, network.structure)
    if encoder.declared and isinstance(hidden, Iterable):
        check_variables(hidden, network.structure, "hidden")
    states = network.states[variable]
    if states[0] is None:
        return {}
    evidence = {
        name: value
        for name, value in x.items()
        if name != variable
        and name not in hidden
        and name in network.structure
        and not is_missing(value)
        and network.states[name][0] is not None  # nothing is known of it: its value is no evidence yet
    }
    reading, joint = live.joint_reading(), [math.nan]
    if reading is not None and not encoder.features[variable].measured and not _is_soft(evidence):
        joint = [reading.log_probability(encoder.lookup({**evidence, variable: state})) for state in states]
    if any(map(math.isnan, joint)):
        novel = _novel(
            network, {v: value for v, value in evidence.items() if not isinstance(value, Mapping)}, unseen
        )
        try:
            return dict(query(live, variable, {v: value for v, value in evidence.items() if v not in novel}))
        except ImpossibleEvidence:
            return {}
    top = max(joint)
    if top == -math.inf:
        return {}
    shares = [math.exp(one - top) for one in joint]
    total = math.fsum(shares)
    return {state: share / total for state, share in zip(states, shares, strict=True)}


def explain(live: LiveInference, x: X, unseen: str, past: X = MappingProxyType({})) -> Surprise:
    """Return the surprise of each value of an event, given values of other variables that came before."""
    engine, network = live.engine(), live.network()
    if network.counts.encoder.declared:
        check_has_variable(x, network.structure)
    novel = _novel(network, {v: value for v, value in x.items() if not isinstance(value, Mapping)}, unseen)
    values = {
        name: _value(network, name, value)
        for name, value in x.items()
        if name in network.structure and name not in novel and not is_missing(value)
    }
    nats: dict[Any, float] = {}
    expected: dict[Any, float] = {}
    before = {v: value for v, value in past.items() if v in network.structure}
    before = {
        v: _value(network, v, value) for v, value in before.items() if v not in novel_values(network, before)
    }
    tails = log_tails(network.counts, x)
    for variable in network.structure.topological_order:
        if variable in novel:
            nats[variable] = -_log_novel(network, variable, unseen)
            expected[variable] = 0.0
        elif isinstance(likelihoods := values.get(variable), Mapping):
            ahead = engine.log_probability(before)
            joint = engine.log_probability({**before, variable: likelihoods})
            nats[variable] = ahead - joint
            expected[variable] = -math.log(max(likelihoods.values()))
            if joint > -math.inf:
                before[variable] = likelihoods
        elif variable in values:
            shares = engine.query(variable, before)
            share = shares[values[variable]]
            nats[variable] = (-math.log(share) if share > 0.0 else math.inf) - tails.get(variable, 0.0)
            expected[variable] = -math.fsum(p * math.log(p) for p in shares.values() if p > 0.0)
            if (outer := tails_of(network.counts, variable)) is not None:
                first, *_, last = shares.values()
                expected[variable] += outer.expected(first, last)
            if share > 0.0:  # nothing follows from an impossible value
                before[variable] = values[variable]
    return Surprise(nats, expected, tuple(novel))


def _log_novel(network: CountedNetwork, variable: Value, unseen: str) -> float:
    """Return the logarithm of the probability that a variable has a new value."""
    if unseen == "ignore":
        return 0.0
    share = novel_share(network, variable)
    return math.log(share) if share > 0.0 else -math.inf


def _novel(network: CountedNetwork, x: X, unseen: str) -> dict[Value, Value]:
    """Return the new values of an event; with `unseen="error"` raise `BadValue` if there is one."""
    novel = novel_values(network, x)
    if novel and unseen == "error":
        variable, value = next(iter(novel.items()))
        raise BadValue(
            f"variable {shown(variable)}: expected one of {shown(network.states[variable])}, got {shown(value)}, which "
            "was never learned"
        )
    return novel


def conditional_table(network: CountedNetwork, variable: Any) -> ConditionalTable:
    """Return P(variable | its parents) with credible intervals."""
    structure = network.structure
    if variable not in structure:
        raise unknown_variable(variable, structure)
    _check_has_value(variable, network)
    parents = structure.parents(variable)
    weights = posterior_weights(network, variable)
    assert weights is not None  # no counted network has a given prior alone
    states = [network.states[name] for name in (*parents, variable)]
    return ConditionalTable(variable, parents, states, network.table(variable), weights)


def posterior_weights(network: CountedNetwork | LabelledNetwork, variable: Any) -> NDArray[np.float64] | None:
    """Return the parameters of each row's Dirichlet posterior; without any prior, with Jeffreys' prior.

    None for a class whose probabilities were given, and so are certain.
    """
    weights = network.weights(variable)
    has_prior = isinstance(network, CountedNetwork) and network.prior is not None and network.weight
    if weights is not None and not network.strength and not has_prior:
        weights = weights + UNINFORMED
    return weights


def evidence_of(network: CountedNetwork, evidence: X | None) -> dict[Any, Any]:
    """Return the evidence of a question by the values that the network has.

    Numbers become their bins, and values past a limit `<other>`. Raises `BadValue` for a value that the network does
    not have: nothing follows from it, and a misspelt one would count as not observed.
    """
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping):
        raise BadValue(f"evidence comes as a dict {{variable: value}}, not as {shown(evidence)}")
    states, structure = network.states, network.structure
    findings, doubtful = {}, {}
    for variable in evidence:
        if variable not in structure:
            raise unknown_variable(variable, structure)
    for variable, observed in evidence.items():
        if type(observed) is str and observed in states[variable]:
            findings[variable] = observed  # a text that is held is a value as it stands
            continue
        value = findings[variable] = _value(network, variable, observed)
        if _is_value(value):
            doubtful[variable] = value
    novel = novel_values(network, doubtful) if doubtful else {}
    for variable, value in novel.items():
        raise unknown_label(variable, value, states[variable])
    return findings


def _is_value(evidence: Any) -> bool:
    """Return True for what may be a variable's value; False for likelihoods, lists and the like."""
    try:
        canonical(evidence)
    except BadValue:
        return False
    return True


def _value(network: CountedNetwork, variable: Any, evidence: Any) -> Any:
    if variable not in network.structure or is_missing(evidence):
        return evidence
    _check_has_value(variable, network)
    if isinstance(evidence, Mapping):
        return evidence
    encoder = network.counts.encoder
    feature = encoder.features[variable]
    values = feature.vocabulary
    if feature.measured and not isinstance(evidence, str):
        number = read_number(variable, evidence, True)
        bins: Any = encoder.bins
        return values.values[bins.code_of(feature.slot, number)]
    try:
        value = canonical(evidence, feature=variable)
    except BadValue:
        return evidence  # no value at all: the engine's error names what may be evidence
    return OTHER if values.find(value) < 0 <= values.other else value


def label_of(network: CountedNetwork, variable: Value, value: Any) -> Value:
    """Return what a value of an event counts as: itself, its bin, or `<other>`."""
    return name_of_state(_value(network, variable, value))


def as_network(network: Network, prior: DiscreteNetwork | None = None) -> DiscreteNetwork:
    """Return a learned network as a `DiscreteNetwork`, with the name and properties of one given beforehand."""
    check_known(network)
    states = {v: tuple(map(name_of_state, network.states[v])) for v in network.structure.variables}
    if prior is None:
        return DiscreteNetwork(network.structure, states, network.tables)
    return DiscreteNetwork(
        network.structure,
        states,
        network.tables,
        name=prior.name,
        properties=prior.properties,
        properties_of=prior.properties_of,
        tolerance=prior.tolerance,
    )


def check_known(network: Network) -> None:
    """Raise `NoValueKnown` unless the network has variables, and a value of each: for questions about all of them."""
    variables = network.structure.variables
    unknown = [v for v in variables if not _has_value(v, network)]
    if unknown or not variables:
        raise no_value_of(unknown)


def _check_has_value(variable: Any, network: Network) -> None:
    """Raise `NoValueKnown` unless the network has a value of the variable."""
    if not _has_value(variable, network):
        raise no_value_of([variable])


def _has_value(variable: Any, network: Network) -> bool:
    return bool(network.states[variable]) and network.states[variable][0] is not None


def observed_shares(target: Any, value: Any, names: Iterable[Any]) -> dict[Any, float]:
    """Return the distribution of a variable whose name the evidence has; raise `BadValue` if that is a number."""
    if isinstance(value, float):
        raise BadValue(f"{shown(target)} is in the evidence: to forecast its number, leave it out there")
    return {name: float(name == value) for name in names}


def name_of_state(value: Any) -> Value:
    """Return a value as networks and files name it."""
    return "<other>" if value is OTHER else value
