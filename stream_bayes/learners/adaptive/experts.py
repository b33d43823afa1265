"""The experts of `AdaptiveBayes`: readings of stores that differ in forgetting, bins and inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.values.values import is_missing
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.learners.adaptive.expert_inputs import trend_name
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.fourier_features import FOURIER
from stream_bayes.learners.classifiers.discriminant import LDA
from stream_bayes.learners.classifiers.kdb import KDB
from stream_bayes.learners.classifiers.live_choice import LiveChoice
from stream_bayes.learners.classifiers.logistic import BayesianLogistic
from stream_bayes.learners.classifiers.naive_bayes import NaiveBayes
from stream_bayes.learners.classifiers.neighbours import NearestNeighbours

__all__ = [
    "DEPARTURES",
    "FEATURES",
    "LABELS",
    "MOST_PAIRED",
    "PAIRED",
    "TRENDS",
    "Store",
    "confine",
    "paired_part",
    "stores",
]

# What a store is shown of an event: all features; those of the pairs; these with the last labels; their numbers as
# departures, with the last labels; and without them.
FEATURES, PAIRED, LABELS, TRENDS, DEPARTURES = "features", "paired", "labels", "trends", "departures"

MOST_PAIRED = 32  # features that are counted in pairs
# Values of each, so that an identifier costs what a category costs: later values share a code.
MOST_PAIRED_VALUES = 64
MOST_JOINT = 96  # coefficients of a logistic regression with a covariance of all: it costs their square
MOST_VALUES = 10_000  # of a feature that is not counted in pairs
NEWEST_EVENTS = 2_000  # that are kept to count new parents of KDB, if there is room
EVENT_BYTES = 512  # of a store of KDB for each of them: they take at most half of it
PARTS = 76  # of the memory, of which the stores have 72; the rest is for the newest events

# The cuts are set first where a bin holds some numbers. Each time they are set again, the events are counted again.
COARSE = Binning(bins=3, after=20, window=640)
FIVE = Binning(bins=5, after=20, window=640)
MIDDLE = Binning(bins=10, after=10, window=640)
FINE = Binning(bins=20, after=160, window=640)
FINEST = Binning(bins=40, after=320, window=640)


class Store(NamedTuple):
    """A store of counts: what it counts, the names of the experts that read it, and what it is shown of an event."""

    experts: tuple[str, ...]  # their names
    kind: type[BayesClassifier]  # the class of its learner
    arguments: Mapping[str, Any]  # beside the schema and the memory
    inputs: str  # what it is shown
    memory: int  # the most bytes of its tables
    schema: Schema | None  # all that it may be shown, if features or classes are declared

    def learner(self, names: Iterable[Any] | None) -> BayesClassifier:
        """Return a new learner that uses these names only; None: all that come, or all declared.

        Raises
        ------
        BudgetExceeded
            If the tables of what is declared do not fit.
        """
        schema, wanted = self.schema, None if names is None else set(names)
        if schema is not None and wanted is not None:
            features = {name: spec for name, spec in schema.features.items() if name in wanted}
            schema = Schema(features, schema.classes, schema.target, "ignore")
        learner = self.kind(**self.arguments, schema=schema, memory_budget=self.memory)
        confine(learner, wanted)
        return learner

    def names_of(self, feature: Any) -> tuple[Any, ...]:
        """Return the names under which it may be shown a feature: a number of trends comes as its departures."""
        if self.inputs not in (TRENDS, DEPARTURES):
            return (feature,)
        both = (feature, trend_name(feature))
        return both if self.schema is None else tuple(name for name in both if name in self.schema.features)


def confine(learner: BayesClassifier, names: Iterable[Any] | None) -> None:
    """Let a learner use these names only, take bags of words, as naive Bayes does, which leads, and not warn of
    numbers that move, which are followed. A logistic regression soon shares the covariance of its classes: with the
    whole one its intervals are better, and its answers are no better.
    """
    encoder = learner.store.encoder
    assert isinstance(encoder, RowEncoder)
    encoder.refuses_bags = False
    learner.store.tables.on_moved = None
    encoder.wanted = None if names is None else set(names)
    if isinstance(learner, BayesianLogistic):
        learner.reading.most_joint = MOST_JOINT


def stores(schema: Schema | None, label_names: Sequence[str], memory: int) -> list[Store]:
    """Return the stores, in the order of their experts. `label_names` are those of the last labels as features; without
    any, no store is shown labels. `memory` is in bytes, of all tables together.
    """

    def store(
        experts: tuple[str, ...], kind: type[BayesClassifier], inputs: str, parts: int, **settings: Any
    ) -> Store:
        limit = MOST_VALUES if inputs == FEATURES else MOST_PAIRED_VALUES
        shown = None if schema is None else _schema_of(inputs, schema, label_names)
        return Store(experts, kind, {"max_values": limit, **settings}, inputs, memory * parts // PARTS, shown)

    def pairs(name: str, readings: tuple[str, ...], inputs: str, parts: int, **settings: Any) -> Store:
        experts = tuple(f"{reading}, {name}" for reading in readings)
        return store(experts, LiveChoice, inputs, parts, readings=readings, **settings)

    def kdb(name: str, k: int, parts: int, binning: Binning) -> Store:
        window = min(NEWEST_EVENTS, memory * parts // PARTS // EVENT_BYTES)
        return store((name,), KDB, PAIRED, parts, k=k, window=window, binning=binning)

    def logistic(name: str, inputs: str, parts: int, **settings: Any) -> Store:
        return store((name,), BayesianLogistic, inputs, parts, max_values=MOST_PAIRED_VALUES, **settings)

    # Naive Bayes comes first: it uses all features, and refuses an event before another store adds names from it.
    made = [
        store(("Gaussian nb",), NaiveBayes, FEATURES, 5),
        store(("Gaussian nb, half-life 50",), NaiveBayes, FEATURES, 2, half_life=50.0),
        store(("lda, half-life 1000",), LDA, FEATURES, 7, half_life=1000.0),
        pairs("10 bins", ("nb", "tan", "aode"), PAIRED, 14, binning=MIDDLE),
        store(("nb, 40 bins",), NaiveBayes, PAIRED, 1, numbers=FINEST),
        pairs("10 bins, half-life 500", ("tan",), PAIRED, 8, binning=MIDDLE, half_life=500.0),
        kdb("kdb of three, 3 bins", 3, 4, COARSE),
        kdb("kdb of two, 5 bins", 2, 6, FIVE),
        pairs("20 bins, last labels", ("nb", "aode"), LABELS, 4, binning=FINE),
        pairs("10 bins, trends", ("aode",), DEPARTURES, 4, binning=MIDDLE),
        pairs("20 bins, trends and last labels", ("aode",), TRENDS, 5, binning=FINE),
        logistic("logistic, half-life 2000", PAIRED, 4, half_life=2000.0),
        logistic(
            "Fourier logistic, half-life 500", FEATURES, 4, features=FOURIER, strength=0.1, half_life=500.0
        ),
        store(("neighbours",), NearestNeighbours, FEATURES, 4),
    ]
    return made if label_names else [each for each in made if each.inputs not in (LABELS, TRENDS)]


def _schema_of(inputs: str, schema: Schema, label_names: Sequence[str]) -> Schema:
    """Return the schema of what a store is shown, made from that of the features."""
    if inputs in (FEATURES, PAIRED):
        return schema
    features: dict[str, Any] = dict(schema.features)
    if inputs in (TRENDS, DEPARTURES):
        features = {
            trend_name(name) if isinstance(spec, Numeric) else name: Numeric()
            if isinstance(spec, Numeric)
            else spec
            for name, spec in features.items()
        }
    if inputs != DEPARTURES:
        features.update(dict.fromkeys(label_names, Nominal()))
    return Schema(features, schema.classes, schema.target, schema.unknown)


def paired_part(x: Mapping[Any, Any], paired: Mapping[Any, None], is_closed: bool) -> Mapping[Any, Any]:
    """Return the part of an event that is counted in pairs. `is_closed` is True if there will be no others than
    `paired`; else the first that come are added, up to `MOST_PAIRED`.
    """
    if x.keys() <= paired.keys():
        return x
    if is_closed:
        return {name: x[name] for name in paired if name in x}
    left = MOST_PAIRED - len(paired)
    if len(x) <= left:
        return x
    shown = {name: value for name, value in x.items() if name in paired}
    new = (name for name in x if name not in paired and not is_missing(x[name]))
    return shown | {name: x[name] for name in islice(new, left)}
