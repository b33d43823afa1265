"""Questions under the names that other packages give them, answered by `query` and `most_probable`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.core.inference.posterior import MostProbable, Posterior
from stream_bayes.core.values.values import is_missing

__all__ = ["NamedQuestions"]


class NamedQuestions(ABC):
    """The methods that follow from `query` and `most_probable`, for all that answers these."""

    @abstractmethod
    def query(self, *arguments: Any, **settings: Any) -> Posterior:
        """Return the probabilities of one variable's values given evidence, or of several variables' combinations."""

    @abstractmethod
    def most_probable(self, evidence: Mapping[Any, Any] | None = None) -> MostProbable:
        """Return the most probable values of all variables together given evidence."""

    def mpe(self, evidence: Mapping[Any, Any] | None = None) -> MostProbable:
        """Return the most probable explanation: `most_probable`."""
        return self.most_probable(evidence)

    def map_query(
        self,
        variables: Iterable[Any] | None = None,
        evidence: Mapping[Any, Any] | None = None,
        **settings: Any,
    ) -> dict[Any, Any]:
        """Return the most probable values of some variables together; all others are summed out.

        Parameters
        ----------
        variables
            The variables; None takes all that the evidence does not have observed.
        evidence, settings
            As `query` takes them.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]})
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> model.map_query(["rain"], {"lawn": "wet"}), model.map_query()
        ({'rain': 'no'}, {'lawn': 'dry', 'rain': 'no'})
        """
        if variables is None:
            found, given = self.most_probable(evidence), evidence or {}
            soft = {v for v, known in given.items() if isinstance(known, Mapping) or is_missing(known)}
            return {v: value for v, value in found.items() if v not in given or v in soft}
        wanted = list(variables)
        return dict(zip(wanted, self.query(wanted, evidence, **settings).argmax(), strict=True))
