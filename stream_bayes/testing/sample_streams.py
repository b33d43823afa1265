"""Streams of samples that suit a learner, made from a seed.

The samples suit the learner: its `inputs` are nominal features, numeric ones
or bags of words, its schema which features and classes there are. Missing values come in all their forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.core.values.values import Value
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.schema import Nominal, Numeric, Schema
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.regressor import BayesRegressor

__all__ = ["LabelledSample", "Streams", "coded"]

NOMINAL: dict[str, tuple[Value, ...]] = {
    "colour": ("red", "green", "blue", "weiß"),
    "wet": (True, False),
    "größe": ("a", b"a", ("a", 1), "True", ""),
}
NUMERIC = ("size", "heat", "count")
TOKENS = ("free", "pills", "lunch", "notes", "straße", "a", "b", "c", "d")
LABELS: tuple[Value, ...] = ("yes", "no", True, 3)
MISSING_EVERY = 8
WHOLE = (1.0, 1.0, 2.0, 3.0)
FRACTIONAL = (1.0, 0.5, 0.3, 2.75, 1e-3)


class LabelledSample(NamedTuple):
    """Features, label and weight, as `learn_one` takes them."""

    x: dict[Any, Any]
    y: Any
    w: float = 1.0


class Streams:
    """A source of samples for one learner. Its `inputs`, `schema` and `class_prior` are looked at; it learns nothing.
    The same seed gives the same samples. `numeric` is True for numeric features, if the learner takes them.

    Examples
    --------
    >>> from stream_bayes import GaussianNB
    >>> streams = Streams(GaussianNB(), seed=1)
    >>> len(streams.samples(20)), sorted(streams.samples(1)[0]._fields)
    (20, ['w', 'x', 'y'])
    """

    def __init__(
        self, learner: BayesClassifier | BayesRegressor, seed: int = 0, numeric: bool = True
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.schema = learner.schema
        self.bags = "bag" in learner.inputs
        self.accepts_new_features = learner.traits.accepts_new_features
        self.labels = _declared_labels(learner) or LABELS
        self.declares_classes = _declared_labels(learner) is not None
        self.nominal: dict[str, tuple[Value, ...]] = {}
        self.numeric: tuple[str, ...] = ()
        self.tokens: tuple[str, ...] = ()
        if self.bags:
            self.tokens = TOKENS if self.schema is None else tuple(self.schema.features)
        elif self.schema is not None:
            for name, spec in self.schema.features.items():
                if isinstance(spec, Nominal):
                    self.nominal[name] = _values_of(spec)
            self.numeric = tuple(
                name for name, spec in self.schema.features.items() if isinstance(spec, Numeric)
            )
        else:
            self.nominal = dict(NOMINAL) if "nominal" in learner.inputs else {}
            self.numeric = NUMERIC if learner.traits.accepts_numbers else ()
        if not numeric:
            self.numeric = ()

    @property
    def takes_any_feature(self) -> bool:
        """True if features without a declaration may occur."""
        return self.schema is None

    def one_of(self, values: Sequence[Any]) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def samples(self, rows: int, weights: Sequence[float] = WHOLE) -> list[LabelledSample]:
        """Return samples, some values missing, with weights drawn from those given."""
        made = []
        for _ in range(rows):
            # The last class comes rarely or, if it is declared, never.
            number = int(self.rng.integers(len(self.labels) - (1 if self.declares_classes else 0)))
            made.append(LabelledSample(self.features(number), self.labels[number], self.one_of(weights)))
        return made

    def features(self, number: int) -> dict[Any, Any]:
        """Return the features of a sample of the class with this number."""
        if self.bags:
            return self._bag(number)
        x: dict[Any, Any] = {}
        for name, values in self.nominal.items():
            likely = values[number % len(values)]
            x[name] = likely if self.rng.random() < 0.5 else self.one_of(values)
        for k, name in enumerate(self.numeric):
            x[name] = round(float(self.rng.normal(number * (k + 1), 1.0 + k)), 3)
        return dict(self._with_gaps(x))

    def _bag(self, number: int) -> dict[Any, Any]:
        x: dict[Any, Any] = {}
        for k, token in enumerate(self.tokens):
            if self.rng.random() < (0.6 if k % len(self.labels) == number else 0.25):
                x[token] = self.one_of((1, 1, 2, 3.0))
        return dict(self._with_gaps(x))

    def _with_gaps(self, x: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
        for name, value in x.items():
            if self.rng.integers(MISSING_EVERY):
                yield name, value
            else:
                gap = self.one_of((..., None, float("nan")))
                if gap is not ...:
                    yield name, gap

    def extras(self, rows: int, weights: Sequence[float] = WHOLE) -> list[LabelledSample]:
        """Return samples with names no other has, where the learner allows it: to be learned and unlearned."""
        extras = self.samples(rows, weights)
        for number, sample in enumerate(extras):
            if self.accepts_new_features:
                sample.x.update(self._novelty(number))
            if not self.declares_classes and number % 2:
                extras[number] = sample._replace(y=("extra", number % 3))
        return extras

    def _novelty(self, number: int) -> dict[Any, Any]:
        if self.bags:
            return {f"extra {number % 3}": 2 + number % 2}
        novelty: dict[Any, Any] = {}
        if self.nominal:
            novelty |= {"colour": f"extra {number % 3}", "extra": "only here"}
        if self.numeric:
            novelty |= {"extra size": 2.0 * number}
        return novelty

    def probes(self, rows: int = 12) -> list[dict[Any, Any]]:
        """Return events to predict: usual features, none at all, values and features never learned."""
        probes: list[dict[Any, Any]] = [self.features(number % len(self.labels)) for number in range(rows)]
        probes.append({})
        if self.takes_any_feature:
            probes.append({**probes[0], **self.unseen()})
            probes.append(self.unseen())
        return probes

    def unseen(self) -> dict[Any, Any]:
        """Return a feature and a value that no stream holds; without a schema only."""
        if self.bags:
            return {"never seen": 2, "nor this": 3}
        unseen: dict[Any, Any] = {}
        if self.nominal:
            unseen |= {"colour": "never seen", "unheard of": "x"}
        if self.numeric:
            unseen |= {"unmeasured": 3.5}
        return unseen


def coded(streams: Streams, samples: Sequence[LabelledSample]) -> CodedColumns:
    """Return the samples as coded columns with labels, without weights."""
    target = "the label"
    schema = streams.schema
    if schema is None:
        measured = (*streams.numeric, *streams.tokens)
        schema = Schema({**dict.fromkeys(streams.nominal, Nominal()), **dict.fromkeys(measured, Numeric())})
    return schema.encode([{**sample.x, target: sample.y} for sample in samples], target)


def _values_of(spec: Nominal) -> tuple[Value, ...]:
    declared = spec.values or ()
    return declared if spec.closed else (*declared, "not declared", ("nor", "this"))


def _declared_labels(learner: BayesClassifier | BayesRegressor) -> tuple[Value, ...] | None:
    if isinstance(learner, BayesRegressor):
        return None
    if learner.schema is not None and learner.schema.classes is not None:
        return learner.schema.classes
    return None if isinstance(learner.class_prior, str) else tuple(learner.class_prior)
