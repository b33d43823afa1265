"""What learners over named features share: the encoder, the tables to read, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stream_bayes.core.encoding._bins import Bins
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._naive_bayes import ValueReading
from stream_bayes.data.schema import Nominal, Schema
from stream_bayes.errors import NotSupported, SchemaError, UnknownFeature
from stream_bayes.learners.classifier.base import BayesClassifier, X
from stream_bayes.learners.classifier.intervals import Cumulants, log_gaussian, log_share

__all__ = ["NamedFeatures", "row_encoder"]


def row_encoder(
    labels: Vocabulary,
    schema: Schema | None,
    max_values: int | None,
    only: str | None = None,
    bins: Bins | None = None,
) -> RowEncoder:
    """The encoder of named features that a schema, or its absence, asks for."""
    if schema is None:
        return RowEncoder(labels, None, False, only, max_values, bins)
    declared: dict[str, Vocabulary | None] = {}
    for name, spec in schema.features.items():
        if isinstance(spec, Nominal):
            if only == "numeric":
                raise SchemaError(
                    f"feature {name!r} is declared nominal, but this learner takes numeric features only"
                )
            limit = max_values if spec.max_values is None else spec.max_values
            declared[name] = Vocabulary(spec.values or (), limit, spec.closed)
        else:
            if only == "nominal":
                raise SchemaError(
                    f"feature {name!r} is declared numeric, but without binning this learner takes nominal features "
                    "only"
                )
            declared[name] = None
    return RowEncoder(labels, declared, schema.unknown == "refuse", only, max_values, bins)


class NamedFeatures(BayesClassifier):
    """A classifier over named features: its tables by name, and their posteriors."""

    _reading: ValueReading

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """P(feature | class) as the model has it now.

        Parameters
        ----------
        feature
            Its name.
        given
            The class, under the schema's `target` (`"class"` where no schema names it): `{"class": "yes"}`. Without it
            the tables of all classes are returned, by class.

        Returns
        -------
        `{value: probability}` for a nominal feature; `{"mean": m, "sd": s}` for a numeric one, the standard deviation
        as predictions use it.
        """
        label = self._given_label(given)
        tables = {y: self._distribution(feature, y) for y in self.classes_ if label is ... or y == label}
        return tables if label is ... else tables[label]

    def joint(self, feature: Any = ...) -> dict[Any, Any]:
        """P(y), or P(y, feature) as `{label: {value: probability}}`: the table, smoothed over all its cells
        together.
        """
        if feature is ...:
            return self.class_prior_
        counts = {y: self._counts(feature, y) for y in self.classes_}
        cells = sum(len(per_value) for per_value in counts.values())
        add = self._reading.strength / (cells if self._reading.spread else 1)
        total = math.fsum(n for per_value in counts.values() for n in per_value.values()) + add * cells
        return {y: {v: (n + add) / total for v, n in row.items()} for y, row in counts.items() if total > 0}

    def _feature(self, feature: Any) -> Any:
        known = self._store.encoder.features.get(feature)
        if known is None:
            raise UnknownFeature(
                f"no feature {feature!r} is known; there are {list(self._store.encoder.features)!r}"
            )
        return known

    def _counts(self, feature: Any, label: Any) -> dict[Any, float]:
        """The weight of each value that holds samples or was declared, in fresh samples."""
        known = self._feature(feature)
        if known.numeric:
            raise NotSupported(
                f"feature {feature!r} is numeric: it has a mean and a deviation, no table of counts"
            )
        tables = self._store.tables
        layout, code = tables.values.layout, self._store.encoder.labels.find(label)
        start = layout.start[known.slot]
        return {
            value: tables.values.weight[(start + place) * layout.classes + code] / tables.unit
            for place, value in enumerate(known.vocabulary.values)
            if tables.values.held[start + place]
        }

    def _distribution(self, feature: Any, label: Any) -> dict[Any, float]:
        known = self._feature(feature)
        if known.numeric:
            mean, variance, _, _ = self._reading.gaussian(known.slot, self._store.encoder.labels.find(label))
            return {"mean": mean, "sd": math.sqrt(variance)}
        counts = self._counts(feature, label)
        add = self._reading.strength / (len(counts) if self._reading.spread and counts else 1)
        total = math.fsum(counts.values()) + add * len(counts)
        return {value: (n + add) / total for value, n in counts.items()} if total > 0 else {}

    def _log_likelihood_cumulants(self, x: X, label: int) -> Cumulants:
        row, tables, reading = self._store.encoder.lookup(x), self._store.tables, self._reading
        moments = Cumulants()
        layout = tables.values.layout
        for k in range(row.entries):
            slot = row.feature[k]
            position = layout.start[slot] + row.code[k]
            if not tables.values.held[position]:
                continue
            add = reading.strength / (tables.values.distinct[slot] if reading.spread else 1)
            own = tables.values.weight[position * layout.classes + label] / tables.unit + add
            total = tables.values.present[slot * layout.classes + label] / tables.unit
            total += add * tables.values.distinct[slot]
            if total > 0:
                moments += log_share(own, total)
        for k in range(row.numbers):
            mean, variance, weight, freedom = self._reading.gaussian(row.numeric_feature[k], label)
            if weight > 0 and freedom > 0:
                moments += log_gaussian(row.number[k] - mean, variance, weight, freedom)
        return moments
