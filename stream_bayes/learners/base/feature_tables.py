"""Tables of named features, by name: P(feature | class), P(feature | class, another feature), P(class, feature)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.readings._smoothing import pseudocount
from stream_bayes.core.values.values import Value, canonical
from stream_bayes.errors import BadLabel, NotSupported, UnknownFeature
from stream_bayes.learners.base.posteriors import NumberPosterior, SharePosterior

__all__ = ["FeatureTables"]


class FeatureTables:
    """The tables of a store of named features, smoothed as its reading smooths them. The `strength` and `spread` of the
    reading smooth them, and its Gaussians model the numbers.
    """

    def __init__(self, store: CountStore, reading: Any) -> None:
        self.store = store
        self.reading = reading

    def feature(self, name: Any) -> Any:
        """Return the encoder's entry of a feature."""
        feature = self.store.encoder.features.get(name)
        if feature is None:
            raise UnknownFeature(
                f"no feature {name!r} is known; there are {list(self.store.encoder.features)!r}"
            )
        return feature

    def code(self, name: Any, value: Any) -> int:
        """Return the code of a feature's value."""
        feature = self.feature(name)
        code: int = feature.vocabulary.find(canonical(value, feature=name))
        if code < 0:
            raise BadLabel(f"feature {name!r} has the values {feature.vocabulary.values!r}, not {value!r}")
        return code

    def counts(self, name: Any, label: Any) -> dict[Value, float]:
        """Return the weight of each value that holds samples or was declared, in fresh samples."""
        feature = self.feature(name)
        if feature.numeric:
            raise NotSupported(
                f"feature {name!r} is numeric: it has a mean and a deviation, no table of counts"
            )
        tables = self.store.tables
        layout, code = tables.values.layout, self.store.encoder.labels.find(label)
        start = layout.start[feature.slot]
        return {
            value: tables.values.weight[(start + number) * layout.classes + code] / tables.unit
            for number, value in enumerate(feature.vocabulary.values)
            if tables.values.occupied[start + number]
        }

    def given_class(self, name: Any, label: Any) -> dict[Any, float]:
        """Return P(feature | label); the mean and deviation of a numeric feature; nothing if it is 0/0."""
        feature = self.feature(name)
        if feature.numeric:
            mean, variance, _, _ = self.reading.gaussian(feature.slot, self.store.encoder.labels.find(label))
            return {"mean": mean, "sd": math.sqrt(variance)}
        return self._smoothed(self.counts(name, label))

    def given_value(self, name: Any, label: Any, other: Any, value: Any) -> dict[Any, float]:
        """Return P(feature | label, other = value), from a store of pairs; nothing if it is 0/0."""
        return self._smoothed(self._pair_counts(name, label, other, value))

    def _pair_counts(self, name: Any, label: Any, other: Any, value: Any) -> dict[Any, float]:
        """Return the weight of each value of a feature beside a value of another, in fresh samples."""
        feature, parent = self.feature(name), self.feature(other)
        if feature is parent:
            raise NotSupported(f"{name!r} cannot be given to itself")
        tables = self.store.tables
        pairs: Any = tables.pairs
        layout, code = tables.values.layout, self.store.encoder.labels.find(label)
        parent_position = layout.start[parent.slot] + self.code(other, value)
        counts = {}
        for number, feature_value in enumerate(feature.vocabulary.values):
            position = layout.start[feature.slot] + number
            if tables.values.occupied[position]:
                cell = layout.pair(max(position, parent_position), min(position, parent_position))
                counts[feature_value] = pairs.weight[cell * layout.classes + code] / tables.unit
        return counts

    def posterior_given_class(self, name: Any, label: Any) -> SharePosterior | NumberPosterior:
        """Return the posterior of P(feature | label); of the mean and deviation of a numeric feature."""
        feature = self.feature(name)
        if feature.numeric:
            code = self.store.encoder.labels.find(label)
            return NumberPosterior(*self.reading.number_posterior(feature.slot, code))
        return self._posterior(self.counts(name, label))

    def posterior_given_value(self, name: Any, label: Any, other: Any, value: Any) -> SharePosterior:
        """Return the posterior of P(feature | label, other = value), from a store of pairs."""
        return self._posterior(self._pair_counts(name, label, other, value))

    def joint(self, name: Any, labels: Iterable[Any]) -> dict[Any, dict[Value, float]]:
        """Return P(label, feature), smoothed over all cells together."""
        counts = {(y, value): n for y in labels for value, n in self.counts(name, y).items()}
        shares: dict[Any, dict[Value, float]] = {}
        for (y, value), share in self._smoothed(counts).items():
            shares.setdefault(y, {})[value] = share
        return shares

    def _smoothed(self, counts: Mapping[Any, float]) -> dict[Any, float]:
        """Return each cell's smoothed share; nothing if it is 0/0."""
        return self._posterior(counts).mean

    def _posterior(self, counts: Mapping[Any, float]) -> SharePosterior:
        """Return the posterior of the cells' shares."""
        add = pseudocount(self.reading.strength, len(counts), self.reading.spread)
        return SharePosterior({cell: n + add for cell, n in counts.items()})
