"""The part of a labelled network that decides between its classes, once other variables are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.live_networks.labelled_network import LabelledNetwork
from stream_bayes.core.networks.graph_algorithms import needed_families
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value

__all__ = ["Subnetwork"]


class Subnetwork:
    """The families of a network that P(class | observed) depends on.

    All other tables are constant in the class and left out. An observed parent whose own table is left out becomes a
    root with a uniform distribution. `whole` is the network, `target` the class. `observed` are the variables whose
    values will be given. `memory_budget` is the most bytes that exact answers may take, as `Inference` takes it.

    Attributes
    ----------
    ready
        True if the tables are up to date; the owner sets it.
    """

    def __init__(
        self, whole: LabelledNetwork, target: Value, observed: frozenset[Value], memory_budget: int | None
    ) -> None:
        names = whole.structure.variables
        positions = {name: position for position, name in enumerate(names)}
        parents = [[positions[parent] for parent in whole.structure.parents(name)] for name in names]
        needed = needed_families(parents, positions[target], {positions[name] for name in observed})
        self.ready = False
        self._whole = whole
        self._target = target
        self._memory_budget = memory_budget
        self._needed = [names[v] for v in needed]
        alone = {names[p] for v in needed for p in parents[v]}.difference(self._needed)
        self.structure = Structure(
            {**{v: whole.structure.parents(v) for v in self._needed}, **dict.fromkeys(alone, ())}
        )
        self.states: Mapping[Any, tuple[Any, ...]] = {v: whole.states[v] for v in self.structure}
        self._even = {v: np.ones(len(self.states[v])) for v in alone}
        self._engine: Inference | None = None

    @property
    def tables(self) -> Mapping[Any, NDArray[np.float64]]:
        """The tables as they are now."""
        return {**self._even, **{v: self._whole.table(v) for v in self._needed}}

    def read(self) -> None:
        """Read the tables as they are now."""
        if self._engine is None:
            self._engine = Inference(self, memory_budget=self._memory_budget)
        else:
            self._engine.load(self)

    def scores(self, evidence: Mapping[Value, Value], labels: list[Value]) -> list[float]:
        """Return log P(class, evidence) for each class, up to a term that all classes share."""
        assert self._engine is not None, "call read() first"
        inside = {name: value for name, value in evidence.items() if name in self.structure}
        return [self._engine.log_probability({**inside, self._target: label}) for label in labels]
