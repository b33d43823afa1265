"""AODE whose super-parents have weights derived from the counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._aode import AverageReading
from stream_bayes.core.readings.state import load_clock, load_losses, load_slot
from stream_bayes.core.structures.deriving_schedule import next_check
from stream_bayes.core.structures.named_features import NamedFeatures

__all__ = ["WeightedAverage"]


class WeightedAverage(AverageReading):
    """AODE whose super-parents are weighted by I(feature; class), derived again after a tenth more events."""

    def __init__(self, tables: Tables, encoder: Encoder, **settings: Any) -> None:
        super().__init__(tables, encoder.labels, encoder=encoder, **settings)
        self.due = next_check(tables, None)

    def derive(self) -> None:
        self.rederive()
        self.due = next_check(self.tables, None)

    def rederive(self) -> None:
        """Derive the weights from the counts as they are now; all are equal if no feature has information."""
        named = NamedFeatures(self.tables, self.encoder)
        weights = np.zeros(len(self.encoder.nominal))
        weights[named.slots] = named.with_class()
        self.importance = weights if weights.any() else None

    def derived_state(self) -> dict[str, Any]:
        """Return the weights by slot."""
        if self.importance is None:
            return {"due": self.due, "weights": None}
        weights = enumerate(np.asarray(self.importance).tolist())
        return {"due": self.due, "weights": [[slot, weight] for slot, weight in weights if weight > 0.0]}

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        self.due = load_clock(saved["due"])
        if saved["weights"] is None:
            self.importance = None
            return
        weights = np.zeros(len(self.encoder.nominal))
        for slot, weight in saved["weights"]:
            weights[load_slot(slot, len(weights))] = load_losses([weight])[0]
        self.importance = weights
