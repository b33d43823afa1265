"""Posteriors of what a table holds: a Dirichlet distribution of probabilities, a Student's t of a mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import scipy  # its submodules load on first use

from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.errors import NotSupported
from stream_bayes.learners.base.credible_intervals import beta_interval, ends_of

__all__ = ["NumberPosterior", "ShareNumbers", "SharePosterior", "log_bayes_factor"]

ShareNumbers = dict[Any, float]


class SharePosterior(NamedTuple):
    """The Dirichlet posterior of the probabilities of a feature's values, or of the classes.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> for sky in ["grey", "grey", "blue"]:
    ...     model.learn_one({"sky": sky}, "rain")
    >>> posterior = model.posterior("sky", given={"class": "rain"})
    >>> posterior.parameters, posterior.mean
    ({'grey': 3.0, 'blue': 2.0}, {'grey': 0.6, 'blue': 0.4})
    >>> posterior.interval(0.9)["grey"]
    (0.2486..., 0.9023...)
    """

    parameters: dict[Any, float]  # of each value: its weight in fresh samples, and the smoothing

    @property
    def mean(self) -> ShareNumbers:
        """The probability of each value as the model has it; empty where it is 0/0."""
        total = math.fsum(self.parameters.values())
        return {value: weight / total for value, weight in self.parameters.items()} if total > 0.0 else {}

    @property
    def variance(self) -> ShareNumbers:
        """The variance of each probability."""
        total = math.fsum(self.parameters.values())
        return {value: p * (1.0 - p) / (total + 1.0) for value, p in self.mean.items()}

    def interval(self, level: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Return the interval of each probability, exactly: that of a Beta distribution; it holds the mean."""
        ends_of(level)
        total = math.fsum(self.parameters.values())
        return {
            value: beta_interval(self.parameters[value], total - self.parameters[value], level, p)
            for value, p in self.mean.items()
        }


class NumberPosterior(NamedTuple):
    """The normal-inverse-gamma posterior of the mean and the variance of a number.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> for wind in [18.0, 20.0, 22.0, 24.0, 21.0]:
    ...     model.learn_one({"wind": wind}, "rain")
    >>> posterior = model.posterior("wind", given={"class": "rain"})
    >>> round(posterior.mean, 2), round(posterior.variance, 2)
    (21.0, 1.23)
    >>> posterior.interval(0.9), posterior.deviation_interval(0.9)
    ((19.2..., 22.7...), (1.4..., 3.9...))
    """

    location: float  # the mean's own mean
    weight: float  # the fresh samples that the mean rests on, those of the prior among them
    scale: float  # the square of the scale of the variance, whose mean it is close to
    degrees: float  # the variance's degrees of freedom

    @property
    def of_mean(self) -> StudentT:
        """The distribution of the mean."""
        return StudentT(self.location, math.sqrt(self.scale / self.weight), self.degrees)

    @property
    def mean(self) -> float:
        """The mean of the mean."""
        return self.location

    @property
    def variance(self) -> float:
        """The variance of the mean; infinite with two degrees of freedom or fewer."""
        return self.of_mean.standard_deviation**2

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the mean, exactly: that of Student's t."""
        ends_of(level)
        return self.of_mean.interval(level)

    def deviation_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of the standard deviation, exactly: that of an inverse gamma distribution."""
        tail, _ = ends_of(level)
        half = 0.5 * self.degrees
        low, high = (float(2.0 * scipy.special.gammaincinv(half, p)) for p in (1.0 - tail, tail))
        return math.sqrt(self.degrees * self.scale / low), math.sqrt(self.degrees * self.scale / high)


def log_bayes_factor(first: Any, second: Any) -> float:
    """Return by how much the evidence of one model is above that of another, in nats, after the same events.

    Above 0 the events speak for the first. exp of it is the Bayes factor.

    Raises
    ------
    NotSupported
        If a model has no exact evidence; its `log_evidence` says why; or if they have not learned equally many events.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, Nominal, Schema
    >>> schema = Schema({"sky": Nominal(["grey", "blue"])}, classes=["rain", "dry"])
    >>> strong, weak = NaiveBayes(schema=schema), NaiveBayes(strength=50, schema=schema)
    >>> for number in range(40):
    ...     event = ({"sky": "grey"}, "rain") if number % 2 else ({"sky": "blue"}, "dry")
    ...     strong.learn_one(*event)
    ...     weak.learn_one(*event)
    >>> round(log_bayes_factor(strong, weak), 1)
    17.0
    """
    if first.clock != second.clock:
        raise NotSupported(
            f"a Bayes factor compares models of the same events, and these have learned {first.clock:,} and "
            f"{second.clock:,}: let both learn the same"
        )
    one: float = first.log_evidence()
    two: float = second.log_evidence()
    return one - two
