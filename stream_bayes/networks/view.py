"""Views of networks: a learner as it was at one moment, for any number of threads and processes.

A view holds the learner's state. Each call borrows a copy of the learner that was made of it; there is one for each
call at the same time.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from stream_bayes.core.inference.posterior import MostProbable, Posterior
from stream_bayes.core.inference.questions import NamedQuestions
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.data.frames import Native
from stream_bayes.errors import UnknownFeature
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.learners.base.state import CountLearner
from stream_bayes.networks.conditional_table import ConditionalTable
from stream_bayes.networks.pictures import network_html
from stream_bayes.networks.surprise import Surprise

__all__ = ["BayesNetView", "ClassifierView", "LearnerView", "NetworkView"]

X = Mapping[Any, Any]


class LearnerView:
    """A learner as it was when the view was made. Its methods may be called by several threads at once. The learner
    goes on learning. Make the view in the thread that learns.

    Notes
    -----
    Making a view copies the learner's tables and names, and for each thread that uses it at the same time once more. A
    view can be pickled for another process.
    """

    def __init__(self, learner: CountLearner) -> None:
        self._kind = type(learner)
        self._state = learner.state()
        self.idle: list[Any] = []  # copies that no call uses; taking one from a list is atomic

    def _call(self, method: str, *arguments: Any, **settings: Any) -> Any:
        """Call a method of a copy that no other call uses."""
        try:
            copy = self.idle.pop()
        except IndexError:
            copy = self._made()
        try:
            return getattr(copy, method)(*arguments, **settings)
        finally:
            self.idle.append(copy)

    def _made(self) -> Any:
        """Return another copy."""
        return self._kind.from_state(self._state)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "idle": []}


class NetworkView(LearnerView, NamedQuestions):
    """A network as it was at one moment: the questions that every network answers. `structure` is the learner's; None
    while every feature depends on the class alone. `clock` is the number of events that it has learned.
    """

    def __init__(self, learner: CountLearner, structure: Structure | None, clock: int) -> None:
        super().__init__(learner)
        self.structure = structure
        self.clock = clock

    def _call(self, method: str, *arguments: Any, **settings: Any) -> Any:
        try:
            return super()._call(method, *arguments, **settings)
        except UnknownFeature as error:
            raise UnknownFeature(
                f"{error}; the view is as of event {self.clock:,}: if the variable came later, make a new view"
            ) from None

    def query(self, targets: Any, evidence: X | None = None, **settings: Any) -> Posterior:
        """Return the probabilities of some variables' values given evidence."""
        return self._call("query", targets, evidence, **settings)

    def marginals(self, evidence: X | None = None, **settings: Any) -> dict[Any, Posterior]:
        """Return the probabilities of every variable's values given evidence."""
        return self._call("marginals", evidence, **settings)

    def most_probable(self, evidence: X | None = None) -> MostProbable:
        """Return the most probable values of all variables together given evidence."""
        return self._call("most_probable", evidence)

    def probability_of_evidence(self, evidence: X) -> float:
        """Return the probability of evidence."""
        return self._call("probability_of_evidence", evidence)

    def log_probability_of_evidence(self, evidence: X) -> float:
        """Return the logarithm of the probability of evidence."""
        return self._call("log_probability_of_evidence", evidence)

    def do(self, values: X) -> DiscreteNetwork:
        """Return the network after an intervention."""
        return self.to_network().do(values)

    def to_network(self) -> DiscreteNetwork:
        """Return the network, a class included, as a `DiscreteNetwork`."""
        return self._call("to_network")


class BayesNetView(NetworkView):
    """A `BayesNet` as it was at one moment; its methods are those of `BayesNet`.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from stream_bayes import BayesNet
    >>> model = BayesNet({"rain": []}, strength=0)
    >>> model.learn_one({"rain": "yes"})
    >>> view = model.view()
    >>> model.learn_one({"rain": "no"})
    >>> with ThreadPoolExecutor(2) as threads:
    ...     [dict(answer) for answer in threads.map(view.query, ["rain", "rain"])]
    [{'yes': 1.0}, {'yes': 1.0}]
    """

    structure: Structure

    def __init__(
        self,
        learner: CountLearner,
        structure: Structure,
        clock: int,
        states: dict[Any, tuple[Any, ...]],
        before: BayesNetView | None,
    ) -> None:
        super().__init__(learner, structure, clock)
        self._spare = [] if before is None else before.idle  # copies whose engines have their plans
        self.states = states

    def _made(self) -> Any:
        copy = super()._made()
        with suppress(IndexError):  # none: the first view, or more threads than before
            copy.take_engine(self._spare.pop())
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_spare": []}

    def _repr_html_(self) -> str:
        return network_html(self, f"view of a BayesNet after {self.clock:,} events")

    def predict_proba_one(self, x: X, variable: Any, hidden: Container[Any] = ()) -> dict[Any, float]:
        """Return P(variable | the other values of an event)."""
        return self._call("predict_proba_one", x, variable, hidden)

    def predict_proba(self, X: Native, variable: Any) -> list[dict[Any, float]]:
        """Return `predict_proba_one` of each row."""
        return self._call("predict_proba", X, variable)

    def log_likelihood_one(self, x: X) -> float:
        """Return the logarithm of the probability of an event."""
        return self._call("log_likelihood_one", x)

    def score_one(self, x: X) -> float:
        """Return minus the log-likelihood of an event."""
        return self._call("score_one", x)

    def explain_one(self, x: X) -> Surprise:
        """Return the surprise of each value of an event."""
        return self._call("explain_one", x)

    def cpt(self, variable: Any) -> ConditionalTable:
        """Return P(variable | its parents) with credible intervals."""
        return self._call("cpt", variable)

    def sample(
        self, n: int, rng: np.random.Generator, evidence: X | None = None, do: X | None = None
    ) -> dict[Any, list[Any]]:
        """Draw events as columns of values, given evidence and values that are set from outside."""
        return self._call("sample", n, rng, evidence, do)


class ClassifierView(NetworkView):
    """A `BayesNetClassifier` as it was at one moment; its methods are those of `BayesNetClassifier`."""

    def __init__(
        self, learner: CountLearner, structure: Structure | None, clock: int, classes: tuple[Any, ...]
    ) -> None:
        super().__init__(learner, structure, clock)
        self.classes_ = classes

    def predict_proba_one(self, x: X) -> dict[Any, float]:
        """Return P(y | x) of each class."""
        return self._call("predict_proba_one", x)

    def predict_one(self, x: X) -> Any:
        """Return the most probable class."""
        return self._call("predict_one", x)

    def predict_proba_many(self, X: Native) -> Any:
        """Return the probabilities of many rows."""
        return self._call("predict_proba_many", X)

    def predict_proba(self, X: Native) -> Any:
        """Return the probabilities of many rows."""
        return self._call("predict_proba", X)

    def predict_many(self, X: Native) -> Any:
        """Return the most probable class of many rows."""
        return self._call("predict_many", X)

    def explain_one(self, x: X) -> Explanation:
        """Return the evidence of each feature for each class."""
        return self._call("explain_one", x)

    def predict_interval_one(self, x: X, level: float = 0.95) -> Any:
        """Return the credible interval of each class's probability."""
        return self._call("predict_interval_one", x, level)
