"""The experts of `AdaptiveBayes`: readings of stores that differ in forgetting, bins and inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.values.values import is_missing
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.errors import BudgetExceeded
from stream_bayes.learners.adaptive.inputs import trend_name
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.classifiers.discriminant import LDA
from stream_bayes.learners.classifiers.kdb import KDB
from stream_bayes.learners.classifiers.live_choice import LiveChoice
from stream_bayes.learners.classifiers.naive_bayes import NaiveBayes

__all__ = [
    "FEATURES",
    "FEATURE_BYTES",
    "LABELS",
    "MOST_PAIRED",
    "PAIRED",
    "STORE_BYTES",
    "TRENDS",
    "Store",
    "paired_part",
    "schema_of",
    "stores",
]

# What a store is shown of an event: all features; the first that came; these with the last labels; and as departures.
FEATURES, PAIRED, LABELS, TRENDS = "features", "paired", "labels", "trends"

MOST_PAIRED = 100  # features that experts over pairs of features see: the first that come
STORE_BYTES = 2**25  # of a store of pairs
FEATURE_BYTES = STORE_BYTES * 3 // 4  # names and values beyond are not counted there; the rest is for labels

# The cuts are set first where a bin holds some numbers. Each time they are set again, the events are counted again.
COARSE = Binning(bins=3, after=20, window=1280)
MIDDLE = Binning(bins=10, after=10, window=1280)
FINE = Binning(bins=40, after=160, window=1280)


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
    features = MOST_PAIRED
    while True:
        try:
            return _stores(schema, label_names, features)
        except BudgetExceeded:  # many declared features, values and classes: pairs of fewer fit
            if features == 1:
                raise
            features = max(1, min(features, len(schema.features) if schema is not None else 1) * 3 // 4)


def _stores(schema: Schema | None, label_names: Sequence[str], most_paired: int) -> list[Store]:
    """Return new stores; those over pairs have at most this number of the declared features.

    Raises
    ------
    BudgetExceeded
        If their tables do not fit.
    """

    def pairs(name: str, readings: tuple[str, ...], inputs: str = PAIRED, **own: Any) -> Store:
        seen = paired if paired is None else schema_of(inputs, paired, label_names)
        made = LiveChoice(readings=readings, schema=seen, memory_budget=STORE_BYTES, **own)
        return Store(tuple(f"{reading}, {name}" for reading in readings), made, inputs)

    def kdb(name: str, half_life: float | None) -> Store:
        made = KDB(k=3, binning=COARSE, half_life=half_life, schema=paired, memory_budget=STORE_BYTES)
        return Store((name,), made, PAIRED)

    def alone(name: str, learner: BayesClassifier) -> Store:
        return Store((name,), learner, FEATURES)

    paired = None if schema is None else schema_of_first(most_paired, schema)
    # Naive Bayes comes first: it uses all features, and refuses an event before another store adds names from it.
    made = [
        alone("Gaussian nb", NaiveBayes(schema=schema)),
        alone("Gaussian nb, half-life 500", NaiveBayes(half_life=500.0, schema=schema)),
        alone("Gaussian nb, half-life 50", NaiveBayes(half_life=50.0, schema=schema)),
        Store(("lda, half-life 1000",), LDA(half_life=1000.0, schema=paired), PAIRED),
        pairs("10 bins", ("nb", "tan", "aode"), binning=MIDDLE),
        pairs("10 bins, half-life 500", ("tan", "aode"), binning=MIDDLE, half_life=500.0),
        pairs("40 bins, half-life 500", ("nb", "aode"), binning=FINE, half_life=500.0),
        pairs("40 bins, half-life 100", ("nb", "aode"), binning=FINE, half_life=100.0),
        kdb("kdb, 3 bins", None),
        kdb("kdb, 3 bins, half-life 500", 500.0),
        pairs("40 bins, last labels", ("nb", "aode"), LABELS, binning=FINE),
        pairs("40 bins, trends and last labels", ("aode",), TRENDS, binning=FINE),
    ]
    for store in made:
        encoder = store.learner._store.encoder
        assert isinstance(encoder, RowEncoder)
        encoder.refuses_bags = False  # naive Bayes, which takes them, will lead
    return made if label_names else [store for store in made if store.inputs in (FEATURES, PAIRED)]


def schema_of(inputs: str, schema: Schema, label_names: Sequence[str]) -> Schema:
    """Return the schema of what a store is shown, made from that of the features."""
    if inputs in (FEATURES, PAIRED):
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


def schema_of_first(features: int, schema: Schema) -> Schema:
    """Return a schema with the first features only; others are ignored."""
    if len(schema.features) <= features:
        return schema
    return Schema(dict(islice(schema.features.items(), features)), schema.classes, schema.target)


def paired_part(x: Mapping[Any, Any], store: CountStore) -> Mapping[Any, Any]:
    """Return an event without the features beyond the first `MOST_PAIRED` that a store has, or now gets."""
    known = store.encoder.features
    left = MOST_PAIRED - len(known)
    if len(x) <= left:
        return x
    shown = {}
    for name, value in x.items():
        if name in known:
            shown[name] = value
        elif left > 0 and not is_missing(value):
            shown[name] = value
            left -= 1
    return shown
