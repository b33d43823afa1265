"""What readings derive from: the features by name and what they tell; when it is time again; checks of what was saved.

What a reading derives is a pure function of the counts by name: names decide the order of every sum and every tie.
*When* it derives is a function of the number of events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.state import grid
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings._information import Information
from stream_bayes.core.values.values import OTHER, Value, name_order
from stream_bayes.errors import BadState, UnknownFeature

__all__ = [
    "NEVER",
    "Awaited",
    "Missed",
    "Named",
    "checked_losses",
    "checked_slot",
    "checked_time",
    "decay_of",
    "next_check",
    "require_features",
]

NEVER = 2**63 - 1
FIRST = 10  # events before anything is derived
GROWTH = 10  # derive again when there are a tenth more events
LONG = 1000  # events without a feature that was named: its name may be wrong

Missed = Callable[[Sequence[Value], int, Sequence[Value]], None]


class Awaited:
    """Names that features are to have, and who is told of those that have not come in many events.

    Parameters
    ----------
    names
        The names.
    missed
        Called once, as the events grow to be many: with the names that did not come, the number of events, and the
        names that did.
    """

    def __init__(self, names: Sequence[Value], missed: Missed | None) -> None:
        self.names = names
        self.missed = missed
        self.looked_at = 0  # how many events there were

    def look(self, encoder: Encoder, clock: int) -> None:
        """Look which names have come by now."""
        before, self.looked_at = self.looked_at, clock
        if before < LONG <= clock and self.missed is not None:
            absent = [name for name in self.names if name not in encoder.features]
            if absent:
                self.missed(absent, clock, list(encoder.features))


class Named:
    """The features that hold samples, in the order of their names, and what they tell."""

    def __init__(self, tables: Tables, encoder: Encoder) -> None:
        held = grid(tables.values.present, tables.values.layout.classes).max(axis=1) > 0.0
        features = [feature for feature in encoder.nominal if held[feature.slot]]
        features.sort(key=lambda feature: name_order(feature.name))
        self.names: list[Value] = [feature.name for feature in features]
        self.slots: list[int] = [feature.slot for feature in features]
        layout = tables.values.layout
        labels = encoder.labels.values
        self.information = Information(
            tables,
            self.slots,
            [
                layout.start[feature.slot]
                + np.array(_order(feature.vocabulary.values[: layout.used[feature.slot]]), np.longlong)
                for feature in features
            ],
            _order(labels[: tables.labels]),
        )

    def with_class(self) -> NDArray[np.float64]:
        """I(feature; class) of each."""
        return np.array([self.information.with_class(place) for place in range(len(self.names))])


def _order(names: Sequence[Value]) -> list[int]:
    """The places of values in the order of their names; the code that values past a limit share comes last."""
    known = [place for place, name in enumerate(names) if not isinstance(name, type(OTHER))]
    known.sort(key=lambda place: name_order(names[place]))
    return known + [place for place, name in enumerate(names) if isinstance(name, type(OTHER))]


def next_check(tables: Tables, every: int | None) -> int:
    """When to derive again: after so many events, or when there are a tenth more."""
    clock = int(tables.clock)
    if every is not None:
        return clock + every
    grown = max(FIRST, clock // GROWTH)
    # What fades is as good as new after a half-life.
    return clock + (min(grown, max(FIRST, int(tables.half_life))) if tables.half_life else grown)


def decay_of(half_life: float | None) -> float:
    """What is left of a loss after an event."""
    return 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)


def require_features(encoder: Encoder, names: Sequence[Value], what: str) -> None:
    """Refuse names that no declared feature has; where features are met as they come, any may still come."""
    if not encoder.declared:
        return
    for name in names:
        if name not in encoder.features:
            raise UnknownFeature(f"{what} {name!r} is not declared in the schema: {list(encoder.features)!r}")


def checked_time(due: object) -> int:
    """A time out of a state."""
    if type(due) is not int or not 0 <= due <= NEVER:
        raise BadState(f"the state does not fit: {due!r} is no time")
    return due


def checked_losses(losses: object) -> NDArray[np.float64]:
    """Losses out of a state."""
    checked = np.array(losses, np.float64)
    if checked.ndim != 1 or not np.isfinite(checked).all() or not (checked >= 0).all():
        raise BadState("the state does not fit: a loss is no number of at least 0")
    return checked


def checked_slot(slot: object, features: int) -> int:
    """A feature's slot out of a state."""
    if type(slot) is not int or not 0 <= slot < features:
        raise BadState(f"the state does not fit: {slot!r} is none of its {features} features")
    return slot
