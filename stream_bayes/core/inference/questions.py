"""Questions that follow from others: those under the names of other packages, entropy and mutual information."""

from __future__ import annotations

import math
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
            best, findings = self.most_probable(evidence), evidence or {}
            soft = {
                v for v, finding in findings.items() if isinstance(finding, Mapping) or is_missing(finding)
            }
            return {v: value for v, value in best.items() if v not in findings or v in soft}
        wanted = list(variables)
        return dict(zip(wanted, self.query(wanted, evidence, **settings).argmax(), strict=True))

    def entropy(self, variables: Any, evidence: Mapping[Any, Any] | None = None, **settings: Any) -> float:
        """Return the entropy of a variable given evidence in nats, or of the combinations of several.

        Parameters
        ----------
        variables
            The variable, or a list of variables.
        evidence, settings
            As `query` takes them.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> model.entropy("lawn"), model.entropy("lawn", {"rain": "yes"}), model.entropy(["rain", "lawn"])
        (0.693..., 0.0, 1.039...)
        """
        shares = self.query(variables, evidence, **settings).values()
        return 0.0 - math.fsum(share * math.log(share) for share in shares if share > 0.0)  # never -0.0

    def mutual_information(
        self, variable: Any, other: Any, evidence: Mapping[Any, Any] | None = None, **settings: Any
    ) -> float:
        """Return how much the values of two variables tell of each other given evidence, in nats: 0 if nothing.

        It is the entropy of one less its mean entropy once the other is observed, so that the variables with the most
        of it are those to observe first.

        Parameters
        ----------
        variable, other
            The two variables.
        evidence, settings
            As `query` takes them.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet({"rain": [], "lawn": ["rain"]}, strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet"), ("no", "dry")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> model.mutual_information("rain", "lawn"), model.mutual_information("rain", "lawn", {"lawn": "dry"})
        (0.215..., 0.0)
        """
        alone = [self.entropy(one, evidence, **settings) for one in (variable, other)]
        if variable == other:
            return alone[0]
        # Rounding may leave a little less than 0.
        return max(math.fsum(alone) - self.entropy([variable, other], evidence, **settings), 0.0)
