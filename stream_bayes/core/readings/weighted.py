"""Naive Bayes with features weighted by their information about the class, as counted so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.state import grid
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._naive_bayes import ValueReading
from stream_bayes.core.readings.state import load_clock
from stream_bayes.core.structures.deriving_schedule import next_check
from stream_bayes.core.structures.named_features import NamedFeatures
from stream_bayes.core.values.values import Value
from stream_bayes.errors import BadState

__all__ = ["WeightedValues"]


class WeightedValues(ValueReading):
    """Naive Bayes over values, each feature's evidence times its weight.

    Notes
    -----
    The counts of a feature that is independent of the class have information all the same: over n samples, 2 n I has a
    chi-squared distribution whose mean is its (values - 1) (classes - 1) degrees of freedom. A weight is the share
    of the information that is beyond that mean, max(0, 1 - degrees / (2 n I)): useless features drop out, and useful
    ones soon have a weight near 1. The weights are derived again after a tenth more events.
    """

    def __init__(self, tables: Tables, encoder: Encoder, **settings: Any) -> None:
        super().__init__(tables, encoder.labels, **settings)
        self.encoder = encoder
        self.due = next_check(tables, None)

    def derive(self) -> None:
        self.rederive()
        self.due = next_check(self.tables, None)

    def rederive(self) -> None:
        """Derive the weights from the counts as they are now."""
        named, values = NamedFeatures(self.tables, self.encoder), self.tables.values
        classes = int((np.asarray(self.tables.class_samples) > 0.0).sum())
        samples = grid(values.present, values.layout.classes).sum(axis=1) / self.tables.unit
        weights = np.ones(len(self.encoder.nominal))
        for slot, information in zip(named.slots, named.with_class(), strict=True):
            degrees = (int(values.distinct[slot]) - 1) * (classes - 1)
            if degrees > 0:
                twice = 2.0 * samples[slot] * information
                weights[slot] = max(0.0, 1.0 - degrees / twice) if twice > 0.0 else 0.0
        self.exponent = weights

    def weights_by_name(self) -> dict[Value, float]:
        """Return each feature's weight, the greatest first; 1 for features that came after the last derivation."""
        exponents = np.asarray(self.exponent).tolist()
        weights = {
            feature.name: exponents[feature.slot] if feature.slot < len(exponents) else 1.0
            for feature in self.encoder.nominal
        }
        return dict(sorted(weights.items(), key=lambda pair: -pair[1]))

    # -- state --------------------------------------------------------------------------------------------------------

    def derived_state(self) -> dict[str, Any]:
        """Return the weights by slot."""
        return {"due": self.due, "weights": np.asarray(self.exponent).tolist()}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.due = load_clock(saved["due"])
        weights = saved["weights"]
        if len(weights) > len(self.encoder.nominal):
            raise BadState(
                f"the state does not fit: it has weights of {len(weights)} features, more than it has"
            )
        if not all(type(weight) in (int, float) and 0.0 <= weight <= 1.0 for weight in weights):
            raise BadState("the state does not fit: a weight of a feature is not a number from 0 to 1")
        self.exponent = np.array(weights, np.float64)

    def after_merge(self) -> None:
        self.derive()
