"""The features of a store by name: their information, and names that the user gave and that may never come.

Structures are pure functions of the counts by name: names decide the order of every sum and every tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.state import grid
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.structures._information import Information
from stream_bayes.core.values.values import Value
from stream_bayes.errors import UnknownFeature

__all__ = ["PATIENCE", "ExpectedFeatures", "NamedFeatures", "OnAbsent", "require_features"]

PATIENCE = 1000  # events without a feature that the user named: the name may be wrong

OnAbsent: TypeAlias = Callable[[Sequence[Value], int, Sequence[Value]], None]


class NamedFeatures:
    """The features that hold samples, in the order of their names, and their information."""

    def __init__(self, tables: Tables, encoder: Encoder) -> None:
        weights = grid(tables.values.present, tables.values.layout.classes).max(axis=1).tolist()
        features = [feature for feature in encoder.nominal_by_name() if weights[feature.slot] > 0.0]
        self.names: list[Value] = [feature.name for feature in features]
        self.slots: list[int] = [feature.slot for feature in features]
        self.information = Information(tables, features, encoder.labels)

    def with_class(self) -> NDArray[np.float64]:
        """Return I(feature; class) of each feature."""
        return self.information.with_class_all()


class ExpectedFeatures:
    """Names that the user gave, reported once if they have not come after many events. `on_absent` is called once at
    most, after `PATIENCE` events, with the names that did not come, the number of events, and the names that did.
    """

    def __init__(self, names: Sequence[Value], on_absent: OnAbsent | None) -> None:
        self.names = names
        self.on_absent = on_absent
        self.checked_at = 0  # the clock of the last check

    def check(self, encoder: Encoder, clock: int) -> None:
        """Report the names that have not come, once there are many events."""
        before, self.checked_at = self.checked_at, clock
        if before < PATIENCE <= clock and self.on_absent is not None:
            absent = [name for name in self.names if name not in encoder.features]
            if absent:
                self.on_absent(absent, clock, list(encoder.features))


def require_features(encoder: Encoder, names: Sequence[Value], what: str) -> None:
    """Raise `UnknownFeature` for a name that is not declared; without declared features, any may still come."""
    if not encoder.declared:
        return
    for name in names:
        if name not in encoder.features:
            raise UnknownFeature(f"{what} {name!r} is not declared in the schema: {list(encoder.features)!r}")
