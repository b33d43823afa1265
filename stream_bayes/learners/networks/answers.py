"""What a learned network tells: answers to questions, its tables, and itself as numbers to hand over."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core.inference.coded_network import Network
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.posterior import MostProbable, Posterior
from stream_bayes.core.live_networks.counted_network import CountedNetwork
from stream_bayes.core.live_networks.family_counts import FamilyCounts
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.inputs import read_number
from stream_bayes.core.values.values import OTHER, Value, canonical, is_missing, shown
from stream_bayes.errors import BadValue, NoValueKnown, UnknownFeature
from stream_bayes.learners.networks.conditional_table import ConditionalTable

__all__ = ["Answering", "as_network"]

X = Mapping[Any, Any]
UNINFORMED = 0.5  # samples of each value: Jeffreys' prior


class Answering:
    """A learner whose counts are a network. It says what these are, and calls `_changed` when they are others."""

    network: DiscreteNetwork | None
    network_weight: float
    memory_budget: int | None
    strength: float
    _structure: Structure
    _store: FamilyCounts

    _engine: Inference | None = None
    _counted: CountedNetwork | None = None  # what the engine's tables are read by
    _fresh = False  # whether the engine has the tables as they are now

    @abstractmethod
    def _network_of(self, counts: FamilyCounts) -> CountedNetwork:
        """The network that counts make, with the learner's smoothing."""

    def _changed(self) -> None:
        """The counts are others."""
        self._fresh = False

    def _begin_anew(self) -> None:
        """The store or its structure is another."""
        self._engine = self._counted = None
        self._fresh = False

    def query(self, targets: Any, evidence: X | None = None, **settings: Any) -> Posterior:
        """The probabilities of a variable's values given evidence, or of the combinations of several variables'.

        Parameters
        ----------
        targets
            A variable: the answer maps its values. Or a list of variables: it maps tuples of values, in their order.
        evidence
            What is known: `{variable: value}`; for what was seen less certainly `{variable: {value: likelihood}}`, with
            a likelihood for each value. What is None or NaN is not known.
        settings
            `method`, `rng`, `samples`, `chains` and `burn_in`, as `Inference.query` takes them: exact where it fits
            into memory.

        Raises
        ------
        UnknownFeature
            If the structure has no such variable.
        NoValueKnown
            If no value of a target, or of what is evidence, was learned or declared so far.
        ImpossibleEvidence
            If the evidence has probability zero.
        """
        engine, known = self._inference(), self._known(evidence)
        for variable in targets if isinstance(targets, list) else [targets]:
            if variable in self._structure:
                _check_met(variable, self._now())
        return engine.query(targets, known, **settings)

    def marginals(self, evidence: X | None = None, **settings: Any) -> dict[Any, Posterior]:
        """The probabilities of every variable's values given evidence; for the arguments see `query`. A variable of
        which no value is known yet has None alone, which is missing.
        """
        return self._inference().marginals(self._known(evidence), **settings)

    def most_probable(self, evidence: X | None = None) -> MostProbable:
        """The most probable values of all variables together, given evidence; None where no value is known yet."""
        return self._inference().most_probable(self._known(evidence))

    def log_likelihood_one(self, x: X) -> float:
        """The logarithm of the probability of an event; -inf if it is impossible.

        What is missing is summed out, and so is a value that was never met: nothing is known of it, and so the event is
        no less probable for it. What the structure does not know is ignored.

        Raises
        ------
        UnknownFeature
            If the event holds something, but none of the network's variables.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> [round(model.log_likelihood_one(x), 3) for x in ({"lawn": "wet"}, {"rain": "hail", "lawn": "wet"})]
        [-0.693, -0.693]
        """
        engine, row = self._inference(), self._store.encoder.lookup(x)
        if x and not any(name in self._structure for name in x):
            raise UnknownFeature(
                f"the event has none of the network's variables, {shown(list(self._structure))}: {shown(dict(x))}"
            )
        return float(engine.log_likelihoods(self._now().codes_of(row))[0])

    def sample(self, n: int, rng: np.random.Generator) -> dict[Any, list[Any]]:
        """Draw events, as columns of values; `learn_many` takes them.

        Parameters
        ----------
        n
            How many.
        rng
            Where chance comes from.
        """
        return self._inference().sample(n, rng)

    def _inference(self) -> Inference:
        """The engine, with the tables as they are now."""
        if self._fresh and self._engine is not None:
            return self._engine
        network = self._now()
        if self._engine is None:
            self._engine = Inference(network, memory_budget=self.memory_budget)
        elif network is self._counted:
            network.fill(self._engine.conditionals)
        else:
            self._engine.load(network)
        self._counted = network
        self._fresh = True
        return self._engine

    def _now(self) -> CountedNetwork:
        """The network as it is now: the one that was read last, where it still knows all places."""
        if self._counted is not None and self._counted.is_current:
            return self._counted
        return self._network_of(self._store)

    def _known(self, evidence: X | None) -> dict[Any, Any]:
        """Evidence by the values that the network has."""
        if evidence is None:
            return {}
        if not isinstance(evidence, Mapping):
            raise BadValue(f"evidence comes as a dict {{variable: value}}, not as {shown(evidence)}")
        return {variable: self._value(variable, known) for variable, known in evidence.items()}

    def _value(self, variable: Any, known: Any) -> Any:
        if variable not in self._structure or is_missing(known):
            return known
        _check_met(variable, self._now())
        if isinstance(known, Mapping):
            return known
        feature = self._store.encoder.features[variable]
        values = feature.vocabulary
        if feature.measured and not isinstance(known, str):
            number = read_number(variable, known, True)
            bins: Any = self._store.encoder.bins
            return values.values[bins.code_of(feature.slot, number)]
        try:
            value = canonical(known, feature=variable)
        except BadValue:
            return known  # no value at all: the engine says what may be evidence
        return OTHER if values.find(value) < 0 <= values.other else value

    # -- reading the model --------------------------------------------------------------------------------------------

    @property
    def states(self) -> dict[Any, tuple[Any, ...]]:
        """The values of each variable that hold samples, or were declared."""
        return {v: self._store.held_states(v) for v in self._structure.variables}

    def cpt(self, variable: Any) -> ConditionalTable:
        """P(variable | its parents), as `{(parents' values): {value: probability}}`, with credible intervals.

        The smoothing is the prior of the intervals. Without any, and with no network given beforehand, they take half a
        sample of each value for it, as Jeffreys did: a few equal samples do not make certain.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> table = model.cpt("lawn")
        >>> table["no",], table.parents
        ({'wet': 0.25, 'dry': 0.75}, ('rain',))
        >>> table.interval({"rain": "no"})["dry"]
        (0.2837..., 0.9715...)
        """
        self._check_variable(variable)
        network = self._now()
        _check_met(variable, network)
        parents = self._structure.parents(variable)
        weights = network.weights(variable)
        if not self.strength and (self.network is None or not self.network_weight):
            weights += UNINFORMED
        states = [network.states[name] for name in (*parents, variable)]
        return ConditionalTable(variable, parents, states, network.table(variable), weights)

    def to_network(self) -> DiscreteNetwork:
        """The network as it is now, as numbers to hand over: `write_bif` takes it.

        Raises
        ------
        NoValueKnown
            If no value of a variable is known yet.
        """
        return as_network(self._now(), self.network)

    def _check_variable(self, variable: Any) -> None:
        if variable not in self._structure:
            raise UnknownFeature(
                f"the network has no variable {shown(variable)}; its variables: {shown(list(self._structure))}"
            )


def as_network(network: Network, given: DiscreteNetwork | None = None) -> DiscreteNetwork:
    """A learned network as numbers, with what one given beforehand says besides."""
    for variable in network.structure.variables:
        _check_met(variable, network)
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


def _check_met(variable: Any, network: Network) -> None:
    """Refuse to speak of a variable of which nothing is known."""
    if not network.states[variable] or network.states[variable][0] is None:
        raise NoValueKnown(
            f"no value of {shown(variable)} is known yet; learn events that have it, or declare its values in a schema"
        )


def _label(value: Any) -> Value:
    """A value as it is handed over: what values past a limit share is called so."""
    return "<other>" if value is OTHER else value
