"""An inference engine whose tables follow the counts of a network."""

from __future__ import annotations

from collections.abc import Callable

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.live_networks._joint_reading import JointReading
from stream_bayes.core.live_networks.counted_network import CountedNetwork

__all__ = ["LiveInference"]


class LiveInference:
    """The network that counts make now, and an engine with its tables.

    Both are made when they are first needed and kept. The tables are read again only after `invalidate`; plans of
    inference last as long as the structure and the numbers of values. `memory_budget` is the most bytes that exact
    answers may take, as `Inference` takes it.

    Examples
    --------
    >>> from stream_bayes.core.live_networks.family_counts import FamilyCounts, network_encoder
    >>> from stream_bayes.core.networks.structure import Structure
    >>> counts = FamilyCounts(network_encoder(), Structure({"rain": []}))
    >>> live = LiveInference(lambda: CountedNetwork(counts, strength=0.0, spread=False))
    >>> for rain in ("yes", "no", "no"):
    ...     counts.learn({"rain": rain})
    ...     live.invalidate()
    >>> live.engine().query("rain")["yes"]
    0.333...
    """

    def __init__(self, read: Callable[[], CountedNetwork], memory_budget: int | None = None) -> None:
        self._read = read
        self._memory_budget = memory_budget
        self._network: CountedNetwork | None = None
        self._engine: Inference | None = None
        self._loaded: CountedNetwork | None = None  # the network whose tables the engine has
        self._is_stale = True
        self._joint: JointReading | None = None

    def invalidate(self) -> None:
        """Read the tables again before the next answer: the counts have changed."""
        self._is_stale = True

    def reset(self) -> None:
        """Drop the network and the engine: the store or its structure has been replaced."""
        self._network = self._engine = self._loaded = self._joint = None
        self._is_stale = True

    def network(self) -> CountedNetwork:
        """Return the network as it is now."""
        if self._network is None or not self._network.is_current:
            self._network = self._read()
        return self._network

    def joint_reading(self) -> JointReading | None:
        """Return the reading of whole events from the counts as they are; None without one."""
        if self._joint is None:
            self._joint = self.network().joint_reading()
        return self._joint

    def take_engine(self, other: LiveInference) -> None:
        """Take the engine of another network, which has none then: its plans last if structure and sizes are alike."""
        self._engine, other._engine = other._engine, None
        self._loaded, self._is_stale = None, True

    def engine(self) -> Inference:
        """Return an engine with the tables as they are now."""
        if self._engine is not None and not self._is_stale:
            return self._engine
        network = self.network()
        if self._engine is None:
            self._engine = Inference(network, memory_budget=self._memory_budget)
        elif network is self._loaded:
            network.fill(self._engine.conditionals)
        else:
            self._engine.load(network)
        self._loaded = network
        self._is_stale = False
        return self._engine
