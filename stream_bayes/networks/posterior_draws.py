"""Networks with drawn tables, over names and numbers too, and answers of a class by them.

The rows of a network's tables are Dirichlet posteriors that are independent, and an event reads one row of each. So the
mean of P(event) over draws is the network's. Given an event with missing values, the tables are a mixture over its
completions, each by its probability: complete it, count it, and draw.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.draws.drawn_tables import FIRST, gammas
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.live_networks.counted_network import CountedNetwork, shares_of
from stream_bayes.core.live_networks.labelled_network import LabelledNetwork
from stream_bayes.core.live_networks.mixed_draws import DrawnFamilies
from stream_bayes.core.live_networks.mixed_inference import MixedInference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value
from stream_bayes.learners.base.draws import DrawnClassifier, generator_of
from stream_bayes.networks.answers import as_network

__all__ = ["DrawnBayesNet", "DrawnMixedNetwork", "DrawnNetwork", "drawn_network", "world_given"]

X = Mapping[Any, Any]
Floats = NDArray[np.float64]


class DrawnNetwork(NamedTuple):
    """A network with drawn tables; a variable without values has the state None."""

    structure: Structure
    states: Mapping[Any, tuple[Any, ...]]
    tables: Mapping[Any, Floats]


def drawn_network(
    network: CountedNetwork | LabelledNetwork, rng: np.random.Generator, event: X | None = None
) -> DrawnNetwork:
    """Return a network with tables drawn from their posterior, as after a complete event was counted once more.

    Probabilities that were given stay, and rows without samples and without a prior stay uniform.
    """
    structure, tables = network.structure, {}
    for variable in structure.variables:
        weights = network.weights(variable)
        if weights is None:
            tables[variable] = np.array(network.table(variable))
            continue
        shapes = np.array(weights)
        if event is not None:
            family = (*structure.parents(variable), variable)
            at = tuple(network.states[name].index(event[name]) for name in family)
            if shapes[at[:-1]].any():
                shapes[at] += 1.0
        rows = shapes.reshape(-1, shapes.shape[-1])
        tables[variable] = shares_of(gammas(rows.T, rng, FIRST).T.reshape(shapes.shape))
    return DrawnNetwork(structure, dict(network.states), tables)


def world_given(
    network: CountedNetwork | LabelledNetwork, engine: Inference, evidence: X, rng: np.random.Generator
) -> DrawnNetwork:
    """Return a network with tables drawn given its counts and the evidence of one more event.

    Raises `ImpossibleEvidence` if the evidence has the probability 0.
    """
    columns = engine.sample(1, rng, evidence)
    return drawn_network(network, rng, {name: column[0] for name, column in columns.items()})


class DrawnBayesNet(DrawnClassifier):
    """A draw of a `BayesNetClassifier`."""

    def __init__(
        self,
        encoder: Any,
        network: LabelledNetwork,
        drawn: DrawnNetwork,
        target: Value,
        memory_budget: int | None,
    ) -> None:
        super().__init__(encoder, network.states[target], target)
        self._network = drawn
        self._engine = Inference(drawn, memory_budget=memory_budget)
        self._memory_budget = memory_budget
        self._counted = network
        self._values = {
            int(encoder.features[name].slot): (name, network.values_by_code(name))
            for name in drawn.structure
            if name != target and name in encoder.features
        }

    @property
    def class_prior_(self) -> dict[Any, float]:
        return dict(self._engine.query(self._target))

    def to_network(self) -> DiscreteNetwork:
        """Return the drawn network, class included, as a `DiscreteNetwork`."""
        return as_network(self._network)

    def _table(self, feature: Any, label: Any) -> dict[Any, float]:
        return dict(self._engine.query(feature, {self._target: label}))

    def _joint(self, x: X) -> Any:
        row, evidence = self._row(x), {}
        for k in range(row.entries):
            name, values = self._values.get(int(row.feature[k]), (None, {}))
            if int(row.code[k]) in values:
                evidence[name] = values[int(row.code[k])]
        total = self._engine.log_probability(evidence)
        if total == -math.inf:
            counted = Inference(self._counted, memory_budget=self._memory_budget)
            if counted.log_probability(evidence) > -math.inf:
                return np.full(len(self._labels), -math.inf)
            evidence, total = {}, 0.0  # as the learner answers what its counts call impossible
        shares = np.array([*self._engine.query(self._target, evidence).values()])
        with np.errstate(divide="ignore"):
            return np.log(shares) + total


class DrawnMixedNetwork:
    """A `MixedNetwork` with tables drawn from their posterior: what the truth may be. It learns nothing.

    `MixedNetwork.draw(rng)` makes it. Its numbers are linear Gaussians, so its inference is exact where numbers are
    missing, too, but for those that are cut above names.
    """

    # `network` is a MixedNetwork of its own, whose module imports this one.
    def __init__(self, network: Any, rng: np.random.Generator) -> None:
        seed = int(rng.bit_generator.random_raw())
        network.families = DrawnFamilies(network.store, float(network.strength), seed, generator_of)
        network.inference = self.inference = MixedInference(network.families)
        self._network = network

    @property
    def structure(self) -> Structure:
        """The graph."""
        return self._network.structure

    def query(self, target: Any, evidence: Mapping[Any, Any] | None = None) -> Any:
        """Return the distribution of a variable given others, as `MixedNetwork.query` does."""
        return self._network.query(target, evidence)

    def log_density_one(self, x: Mapping[Any, Any]) -> float:
        """Return the logarithm of the density of an event, as `MixedNetwork.log_density_one` does."""
        return self._network.log_density_one(x)

    def sample(self, n: int, rng: np.random.Generator) -> list[dict[Any, Any]]:
        """Draw events, which are independent given these tables."""
        return self._network.sample(n, rng)
