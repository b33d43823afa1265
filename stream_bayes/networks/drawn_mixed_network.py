"""A network over names and numbers with drawn tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core.live_networks.mixed_draws import DrawnFamilies
from stream_bayes.core.live_networks.mixed_inference import MixedInference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.learners.base.draws import generator_of

__all__ = ["DrawnMixedNetwork"]


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
