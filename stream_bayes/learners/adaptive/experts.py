"""The experts of `AdaptiveBayes`: readings of stores that differ in forgetting, bins and inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.learners.adaptive.inputs import trend_name
from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.learners.classifier.binning import Binning
from stream_bayes.learners.kdb import KDB
from stream_bayes.learners.live_choice import LiveChoice
from stream_bayes.learners.naive_bayes import NaiveBayes

__all__ = ["FEATURES", "LABELS", "TRENDS", "Store", "schema_of", "stores"]

FEATURES, LABELS, TRENDS = "features", "labels", "trends"  # what a store is shown of an event

COARSE, MIDDLE, FINE = Binning(bins=3), Binning(bins=10), Binning(bins=40)


class Store(NamedTuple):
    """A store of counts, the names of the experts that read it, and what it is shown of an event."""

    experts: tuple[str, ...]
    learner: BayesClassifier
    inputs: str


def stores(schema: Schema | None, label_names: Sequence[str]) -> list[Store]:
    """Return new stores, in the order of their experts.

    Parameters
    ----------
    schema
        The features and classes, if they are declared.
    label_names
        The names of the last labels as features; without any, no store is shown more than the features.
    """

    def pairs(name: str, readings: tuple[str, ...], inputs: str = FEATURES, **own: Any) -> Store:
        seen = schema if schema is None else schema_of(inputs, schema, label_names)
        made = LiveChoice(readings=readings, schema=seen, **own)
        return Store(tuple(f"{reading}, {name}" for reading in readings), made, inputs)

    def alone(name: str, learner: BayesClassifier) -> Store:
        return Store((name,), learner, FEATURES)

    made = [
        pairs("10 bins", ("nb", "tan", "aode"), binning=MIDDLE),
        pairs("10 bins, half-life 500", ("tan", "aode"), binning=MIDDLE, half_life=500.0),
        pairs("40 bins, half-life 500", ("nb", "aode"), binning=FINE, half_life=500.0),
        pairs("40 bins, half-life 100", ("nb", "aode"), binning=FINE, half_life=100.0),
        alone("kdb, 3 bins", KDB(k=3, binning=COARSE, schema=schema)),
        alone("kdb, 3 bins, half-life 500", KDB(k=3, binning=COARSE, half_life=500.0, schema=schema)),
        alone("Gaussian nb", NaiveBayes(schema=schema)),
        alone("Gaussian nb, half-life 500", NaiveBayes(half_life=500.0, schema=schema)),
        alone("Gaussian nb, half-life 50", NaiveBayes(half_life=50.0, schema=schema)),
        pairs("40 bins, last labels", ("nb", "aode"), LABELS, binning=FINE),
        pairs("40 bins, trends and last labels", ("aode",), TRENDS, binning=FINE),
    ]
    return made if label_names else [store for store in made if store.inputs == FEATURES]


def schema_of(inputs: str, schema: Schema, label_names: Sequence[str]) -> Schema:
    """Return the schema of what a store is shown, made from that of the features."""
    if inputs == FEATURES:
        return schema
    features: dict[str, Any] = dict(schema.features)
    if inputs == TRENDS:
        features = {
            trend_name(name) if isinstance(spec, Numeric) else name: Numeric()
            if isinstance(spec, Numeric)
            else spec
            for name, spec in features.items()
        }
    features.update(dict.fromkeys(label_names, Nominal()))
    return Schema(features, schema.classes, schema.target, schema.unknown)
