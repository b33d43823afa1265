"""The methods of learners whose structure may grow with the stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from stream_bayes.core.networks.equivalence import Edge
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.score_search import ScoreSearch
from stream_bayes.core.search.structure_score import edge_confidence
from stream_bayes.networks.growth import StructureChange, StructureGrowth

__all__ = ["GrowingLearner"]


class GrowingLearner(ABC):
    """A learner with the arguments `search` and `seed`, whose structure may grow."""

    search: ScoreSearch | None
    seed: int

    @property
    @abstractmethod
    def _growth(self) -> StructureGrowth | None:
        """The growth of the structure; None for a given structure."""

    @abstractmethod
    def recent(self) -> Sample:
        """Return the newest events as a sample to search structures over."""

    @property
    def changes(self) -> list[StructureChange]:
        """The log of a structure that grows, the newest entry last; empty for a given structure.

        Examples
        --------
        >>> from stream_bayes import BayesNet, BayesNetClassifier
        >>> model = BayesNet("learn")
        >>> for rain, lawn in 100 * [("yes", "wet"), ("no", "dry"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> print(model.changes[0])
        event 89: adopted: added 'lawn' -> 'rain'; +0.6214 nats an event in 25
        >>> classifier = BayesNetClassifier()
        >>> for number in range(400):
        ...     a, b = number % 2 == 0, number // 2 % 2 == 0
        ...     classifier.learn_one({"a": a, "b": b}, a != b)
        >>> [(change.event, change.why) for change in classifier.changes], classifier.structure
        ([(89, None)], Structure({'a': (), 'b': ('a', 'class'), 'class': ()}))
        """
        return [] if self._growth is None else list(self._growth.changes)

    @property
    def generation(self) -> int:
        """The number of structures that were adopted; 0 for a given structure."""
        return 0 if self._growth is None else self._growth.generation

    def edge_confidence(
        self, replicates: int = 50, search: ScoreSearch | None = None
    ) -> Mapping[Edge, float]:
        """Return the share of bootstrap replicates of the newest events in whose structure each edge is found.

        It takes a search for each replicate; `seed` draws them.

        Parameters
        ----------
        replicates
            The number of replicates.
        search
            The search; None is the learner's own, or `HillClimbing()`.
        """
        chosen = search or self.search or HillClimbing()
        return edge_confidence(self.recent(), chosen, replicates, np.random.default_rng(self.seed))

    def work(self) -> bool:
        """Do a slice of a search in an idle moment; return True if there is more to do. Answers do not change.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet("learn")
        >>> while model.work():  # the stream is silent
        ...     pass
        """
        return self._growth is not None and self._growth.work()
