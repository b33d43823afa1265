"""How well each family, a feature beside its parents, is foretold, and a detector for each: where a drift has been.

A family's signal is minus log P(value | class, parents), as a share of 5 nats, smoothed with one fresh sample. The
parents are those of the structure; of AODE, whose features all depend on one another, the class alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._rows import Row
from stream_bayes.core.values import Value
from stream_bayes.learners.base import BayesClassifier
from stream_bayes.learners.bayes_net_classifier import BayesNetClassifier

__all__ = ["FamilyWatch", "family_signals"]

MOST = 5.0  # nats
RECENT = 1 / 50  # what an event counts in the recent mean


def family_signals(model: BayesClassifier, row: Row) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The slots of the features that an event has, and the signal of each, before the event is learned.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> for _ in range(9):
    ...     model.learn_one({"light": "on"}, "day")
    >>> slots, signals = family_signals(model, model._store.encode({"light": "on"}, "day"))
    >>> slots.tolist(), abs(signals.round(2)).tolist()
    ([0], [0.0])
    """
    model = getattr(model, "learner", model)  # the one within a window
    tables = model._store.tables
    values = tables.values
    layout, label = values.layout, int(row.label)
    slots = np.asarray(row.feature)[: row.entries].astype(np.int64)
    start = np.asarray(layout.start)
    places = start[slots] + np.asarray(row.code)[: row.entries]
    own = np.asarray(values.weight)[places * layout.classes + label]
    total = np.asarray(values.present)[slots * layout.classes + label]
    if isinstance(model, BayesNetClassifier):
        _beside_several(model, row, own, total)
    elif tables.pairs is not None:
        parents = _parents(model._reading, len(start))
        if parents is not None:
            at = np.full(len(start), -1)
            at[slots] = places
            above = np.where(parents[slots] >= 0, at[parents[slots]], -1)
            beside = np.flatnonzero(above >= 0)
            high = np.maximum(places[beside], above[beside])
            low = np.minimum(places[beside], above[beside])
            owner = np.asarray(layout.owner)[high]
            cells = np.asarray(layout.pair_start)[owner] + (high - start[owner]) * start[owner] + low
            own[beside] = np.asarray(tables.pairs.weight)[cells * layout.classes + label]
            total[beside] = np.asarray(values.weight)[above[beside] * layout.classes + label]
    spread = np.maximum(np.asarray(values.distinct)[slots], 1)
    shares = (own / tables.unit + 1.0 / spread) / (total / tables.unit + 1.0)
    return slots, np.minimum(-np.log(np.minimum(shares, 1.0)) / MOST, 1.0)


def _parents(reading: Any, features: int) -> NDArray[np.int64] | None:
    """The slot of each feature's parent, of several the first; -1 without; None where no feature has any."""
    parents = np.full(features, -1)
    if hasattr(reading, "parents"):
        for child, above in reading.parents.items():
            parents[child] = above[0] if above else -1
    elif hasattr(reading, "parents_by_name"):
        known = np.asarray(reading.parent)
        parents[: len(known)] = known
    elif hasattr(reading, "chosen") and reading.chosen >= 0:
        parents[:] = reading.chosen
        parents[reading.chosen] = -1
    else:
        return None
    return parents


def _beside_several(
    model: BayesNetClassifier, row: Row, own: NDArray[np.float64], total: NDArray[np.float64]
) -> None:
    """Read the families of a network that have features for parents."""
    store = model._store
    families = store.tables.families
    if families is None or store.structure is None:
        return
    place = {int(slot): k for k, slot in enumerate(np.asarray(row.feature)[: row.entries].tolist())}
    codes = np.asarray(row.code)
    for f, (child, parents) in enumerate(families.families):
        name = store.encoder.nominal[child].name
        above = {feature for feature in store.structure.parents(name) if feature != model._target}
        if child not in place or above != {store.encoder.nominal[slot].name for slot in parents}:
            continue  # it is missing, or the family is that of the class's parents
        if all(slot in place for slot in parents):
            wanted = np.array([codes[place[slot]] for slot in parents], np.int32)
            weights = families.weights_under(f, wanted, int(row.label))
            own[place[child]], total[place[child]] = weights[codes[place[child]]], weights.sum()


class FamilyWatch:
    """A detector for each feature's family.

    Parameters
    ----------
    detector
        What each is a clone of.
    """

    def __init__(self, detector: Any) -> None:
        self.detector = detector
        self.detectors: list[Any] = []
        self.events: NDArray[np.int64] = np.zeros(0, np.int64)
        self.sums: NDArray[np.float64] = np.zeros(0)
        self.recent: NDArray[np.float64] = np.zeros(0)

    def reserve(self, features: int) -> None:
        """Have a detector for so many features."""
        more = features - len(self.detectors)
        if more > 0:
            self.detectors += [self.detector.clone() for _ in range(more)]
            self.events = np.concatenate([self.events, np.zeros(more, np.int64)])
            self.sums = np.concatenate([self.sums, np.zeros(more)])
            self.recent = np.concatenate([self.recent, np.zeros(more)])

    def feed(self, slots: NDArray[np.int64], signals: NDArray[np.float64]) -> list[int]:
        """Tell the detectors of an event; the slots of the families that are foretold worse than they were."""
        self.reserve(int(slots.max(initial=-1)) + 1)
        self.events[slots] += 1
        self.sums[slots] += signals
        self.recent[slots] += RECENT * (signals - self.recent[slots])
        detectors, drifted = self.detectors, []
        for slot, signal in zip(slots.tolist(), signals.tolist(), strict=True):
            detector = detectors[slot]
            detector.update(signal)
            if detector.drift_detected and self.is_worse(slot):
                drifted.append(slot)
        return drifted

    def is_worse(self, slot: int) -> bool:
        """Whether a family's recent signals are above the mean of all since it was first watched."""
        return self._recent_of(slot) > float(self.sums[slot] / self.events[slot])

    def since(self, slots: list[int], most: int) -> int:
        """How many of the newest events come after the change, at most so many; 0 where no detector tells."""
        widths = [getattr(self.detectors[slot], "width", 0) for slot in slots]
        return int(min(max(widths, default=0), most))

    def score(self, slots: list[int]) -> dict[str, float]:
        """The mean signal of the family that has become worst, and its recent mean."""
        slot = max(slots, key=lambda slot: self._recent_of(slot) - self.sums[slot] / self.events[slot])
        return {"before": float(self.sums[slot] / self.events[slot]), "after": self._recent_of(slot)}

    def _recent_of(self, slot: int) -> float:
        return float(self.recent[slot] / (1.0 - (1.0 - RECENT) ** int(self.events[slot])))

    @staticmethod
    def names(model: BayesClassifier, slots: list[int]) -> tuple[Value, ...]:
        """What the features are called."""
        encoder: Any = model._store.encoder
        return tuple([encoder.nominal[slot].name for slot in slots])
