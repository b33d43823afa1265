"""The experts of `AdaptiveBayes`: readings of stores that differ in forgetting, bins and inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.learners.classifier.binning import Binning
from stream_bayes.learners.kdb import KDB
from stream_bayes.learners.live_choice import LiveChoice
from stream_bayes.learners.naive_bayes import NaiveBayes

__all__ = ["FEATURES", "LABELS", "TRENDS", "Store", "stores"]

FEATURES, LABELS, TRENDS = "features", "labels", "trends"  # what a store is shown of an event

COARSE, MIDDLE, FINE = Binning(bins=3), Binning(bins=10), Binning(bins=40)


class Store(NamedTuple):
    """A store of counts, the names of the experts that read it, and what it is shown of an event."""

    experts: tuple[str, ...]
    learner: BayesClassifier
    inputs: str


def stores(settings: dict[str, Any]) -> list[Store]:
    """Return new stores, in the order of their experts.

    Parameters
    ----------
    settings
        Arguments that all learners take: `schema` and `class_prior`.
    """

    def pairs(name: str, readings: tuple[str, ...], inputs: str = FEATURES, **own: Any) -> Store:
        made = LiveChoice(readings=readings, **own, **settings)
        return Store(tuple(f"{reading}, {name}" for reading in readings), made, inputs)

    def alone(name: str, learner: BayesClassifier) -> Store:
        return Store((name,), learner, FEATURES)

    return [
        pairs("10 bins", ("nb", "tan", "aode"), binning=MIDDLE),
        pairs("10 bins, half-life 500", ("tan", "aode"), binning=MIDDLE, half_life=500.0),
        pairs("40 bins, half-life 500", ("nb", "aode"), binning=FINE, half_life=500.0),
        pairs("40 bins, half-life 100", ("nb", "aode"), binning=FINE, half_life=100.0),
        alone("kdb, 3 bins", KDB(k=3, binning=COARSE, **settings)),
        alone("kdb, 3 bins, half-life 500", KDB(k=3, binning=COARSE, half_life=500.0, **settings)),
        alone("Gaussian nb", NaiveBayes(**settings)),
        alone("Gaussian nb, half-life 500", NaiveBayes(half_life=500.0, **settings)),
        alone("Gaussian nb, half-life 50", NaiveBayes(half_life=50.0, **settings)),
        pairs("40 bins, last labels", ("nb", "aode"), LABELS, binning=FINE),
        pairs("40 bins, trends and last labels", ("aode",), TRENDS, binning=FINE),
    ]
