"""Answers of inference: probabilities with the method that found them, and most probable explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stream_bayes.core.pictures.html import bars_table, plain_table
from stream_bayes.core.values.values import Value

__all__ = ["MostProbable", "Posterior", "Sampled"]


@dataclass(frozen=True, slots=True)
class Sampled:
    """The reliability of an answer from samples.

    Parameters
    ----------
    samples
        The number of samples counted.
    effective
        The number of independent samples that would give the same precision. If it is far below `samples`, use another
        method.
    errors
        The standard error of each probability, at least 1 / `effective`: an outcome that was never drawn may still be
        that probable.
    r_hat
        Gelman and Rubin's ratio over split chains: near 1 (1.01 is a common limit) if the chains agree. None without
        chains.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_bayes.networks import BayesNet
    >>> model = BayesNet({"rain": [], "lawn": ["rain"]})
    >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "dry")]:
    ...     model.learn_one({"rain": rain, "lawn": lawn})
    >>> answer = model.query("rain", {"lawn": "wet"}, method="likelihood-weighting", rng=np.random.default_rng(1))
    >>> answer.sampled.samples > 0
    True
    """

    samples: int
    effective: float
    errors: Mapping[Any, float]
    r_hat: float | None = None


class Posterior(Mapping[Any, float]):
    """Probabilities of a variable's labels, or of tuples of several variables' labels; a mapping.

    Parameters
    ----------
    probabilities
        In the order of the network's labels.
    method
        "exact", "likelihood-weighting" or "gibbs".
    reason
        The reason for the method.
    sampled
        The reliability of an answer from samples; None for an exact answer.
    intervals
        The credible interval of each probability, if it was requested.

    Examples
    --------
    >>> answer = Posterior({"yes": 0.25, "no": 0.75}, "exact", "requested")
    >>> answer["yes"], answer.method, answer.argmax()
    (0.25, 'exact', 'no')
    """

    __slots__ = ("_probabilities", "intervals", "method", "reason", "sampled")

    def __init__(
        self, probabilities: dict[Any, float], method: str, reason: str, sampled: Sampled | None = None
    ) -> None:
        self._probabilities = probabilities
        self.method = method
        self.reason = reason
        self.sampled = sampled
        self.intervals: Mapping[Any, tuple[float, float]] | None = None

    def argmax(self) -> Any:
        """Return the most probable label; of equal ones the first."""
        return max(self._probabilities, key=self._probabilities.__getitem__)

    def __getitem__(self, label: Any) -> float:
        return self._probabilities[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._probabilities)

    def __len__(self) -> int:
        return len(self._probabilities)

    def _repr_html_(self) -> str:
        how = "exact" if self.sampled is None else f"{self.method}, {self.sampled.samples:,} samples"
        return bars_table(f"posterior, {how}", self, self.intervals)

    def __repr__(self) -> str:
        return f"Posterior({self._probabilities!r}, method={self.method!r})"


class MostProbable(Mapping[Any, Value]):
    """The labels of all variables in a most probable row; a mapping.

    Parameters
    ----------
    labels
        The label of each variable, by name.
    log_probability
        The logarithm of the probability of the whole row, evidence included.

    Examples
    --------
    >>> from stream_bayes.networks import BayesNet
    >>> model = BayesNet({"rain": [], "lawn": ["rain"]})
    >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "dry")]:
    ...     model.learn_one({"rain": rain, "lawn": lawn})
    >>> model.most_probable({"lawn": "wet"})["rain"]
    'yes'
    """

    __slots__ = ("_labels", "log_probability")

    def __init__(self, labels: dict[Any, Value], log_probability: float) -> None:
        self._labels = labels
        self.log_probability = log_probability

    def __getitem__(self, variable: Any) -> Value:
        return self._labels[variable]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def _repr_html_(self) -> str:
        caption = f"most probable row, log-probability {self.log_probability:.4g}"
        return plain_table(caption, ("variable", "label"), self.items())

    def __repr__(self) -> str:
        return f"MostProbable({self._labels!r}, log_probability={self.log_probability!r})"
