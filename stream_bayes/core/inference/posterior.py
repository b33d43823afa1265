"""Answers about networks: probabilities with the way they were found, and most probable explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stream_bayes.core.values.values import Value

__all__ = ["MostProbable", "Posterior", "Sampled"]


@dataclass(frozen=True, slots=True)
class Sampled:
    """How far an answer from samples can be trusted.

    Parameters
    ----------
    samples
        How many were drawn and counted.
    effective
        How many independent samples would say as much. Far fewer than were drawn: look for another method.
    errors
        The standard error of each probability, at least one in the effective number: what was never drawn may still
        be so probable.
    r_hat
        Gelman and Rubin's ratio, of chains split in halves: near 1 (1.01 is a common limit) where the chains agree.
        None where there are no chains.
    """

    samples: int
    effective: float
    errors: Mapping[Any, float]
    r_hat: float | None = None


class Posterior(Mapping[Any, float]):
    """Probabilities of the labels of a variable, or of tuples of labels of several; a mapping.

    Parameters
    ----------
    probabilities
        In the order of the network's labels.
    method
        "exact", "likelihood-weighting" or "gibbs".
    reason
        Why that one was taken.
    sampled
        Of an answer from samples: how far it can be trusted.

    Examples
    --------
    >>> answer = Posterior({"yes": 0.25, "no": 0.75}, "exact", "asked for")
    >>> answer["yes"], answer.method
    (0.25, 'exact')
    >>> max(answer, key=answer.get)
    'no'
    """

    __slots__ = ("_probabilities", "method", "reason", "sampled")

    def __init__(
        self, probabilities: dict[Any, float], method: str, reason: str, sampled: Sampled | None = None
    ) -> None:
        self._probabilities = probabilities
        self.method = method
        self.reason = reason
        self.sampled = sampled

    def __getitem__(self, label: Any) -> float:
        return self._probabilities[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._probabilities)

    def __len__(self) -> int:
        return len(self._probabilities)

    def __repr__(self) -> str:
        return f"Posterior({self._probabilities!r}, method={self.method!r})"


class MostProbable(Mapping[Any, Value]):
    """The label of every variable in a most probable row; a mapping.

    Parameters
    ----------
    labels
        By the names of the variables.
    log_probability
        That of the whole row together with the evidence.
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

    def __repr__(self) -> str:
        return f"MostProbable({self._labels!r}, log_probability={self.log_probability!r})"
