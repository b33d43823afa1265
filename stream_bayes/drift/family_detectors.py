"""Detectors of drift by family, a feature with its parents: each is fed how well the family is predicted.

A family's signal is minus log P(value | class, parents) as a share of 5 nats, smoothed with one fresh sample, without
the event itself. The parents are those of the structure; for AODE, whose features all depend on one another, the class
alone. Events are processed `TOGETHER` at a time, which takes a fifth of the time. Families of a network without a class
are tested by `family_changes`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.readings._smoothing import m_estimate
from stream_bayes.core.values.values import Value
from stream_bayes.drift.detectors import MOST_LOSS
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.edges import learner_within
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier

__all__ = ["TOGETHER", "Coded", "FamilyWatch", "family_signals"]

TOGETHER = 32  # events
RECENT = 1 / 2  # the share of the newest events in the recent mean


class Coded(NamedTuple):
    """Some events as codes."""

    codes: NDArray[np.int64]  # a row a slot and a column an event; -1 is missing
    labels: NDArray[np.int64]  # the code of each event's label
    weights: NDArray[np.float64]  # of each event


def family_signals(model: BayesClassifier, events: Coded) -> NDArray[np.float64]:
    """Return the signal of each feature, a row per slot and a column per event; NaN if the value is missing.

    The model has learned these events.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> for light in ["on"] * 9 + ["off"]:
    ...     model.learn_one({"light": light}, "day")
    >>> newest = Coded(np.array([[1]]), np.array([0]), np.array([1.0]))
    >>> family_signals(model, newest).round(2).tolist()
    [[0.6]]
    """
    model = learner_within(model)
    tables = model.store.tables
    values = tables.values
    layout, unit = values.layout, tables.unit
    codes, labels, weights = events
    features, stride = len(codes), int(layout.classes)
    start = np.asarray(layout.start)[:features]
    there = codes >= 0
    positions = np.where(there, codes + start[:, None], 0)
    weight_of = np.asarray(values.weight)
    own = weight_of[positions * stride + labels]
    total = np.asarray(values.present)[np.arange(features)[:, None] * stride + labels]
    if isinstance(model, BayesNetClassifier):
        _read_families(model, events, own, total)
    elif tables.pairs is not None:
        parents = model.reading.parent_slots(features)
        if parents is not None:
            beside = there & there[parents] & (parents >= 0)[:, None]
            child, above, label = (
                positions[beside],
                positions[parents][beside],
                (positions * 0 + labels)[beside],
            )
            cells = layout.cells_of_pairs(np.maximum(child, above), np.minimum(child, above))
            own[beside] = np.asarray(tables.pairs.weight)[cells * stride + label]
            total[beside] = weight_of[above * stride + label]
    # Without the event itself, which has been learned.
    own, total = np.maximum(own / unit - weights, 0.0), np.maximum(total / unit - weights, 0.0)
    shares = m_estimate(own, total, np.maximum(np.asarray(values.distinct)[:features], 1)[:, None])
    signals = np.log(np.minimum(shares, 1.0)) / -MOST_LOSS
    return np.where(there, np.minimum(signals, 1.0), np.nan)


def _read_families(
    model: BayesNetClassifier, events: Coded, own: NDArray[np.float64], total: NDArray[np.float64]
) -> None:
    """Read the counts of a network's families whose parents are features."""
    store = model.store
    families = store.tables.families
    if families is None or store.structure is None:
        return
    nominal, structure = store.encoder.nominal, store.structure
    for f, (child, parents) in enumerate(families.families):
        above = set(structure.parents(nominal[child].name)) - {model.target_name}
        if above != {nominal[slot].name for slot in parents}:
            continue  # it is the family of the class's parents
        beside = events.codes[list(parents)].T.astype(np.int32)
        for column, (code, wanted) in enumerate(zip(events.codes[child].tolist(), beside, strict=True)):
            if code >= 0 and (wanted >= 0).all():
                weights = families.weights_under(f, np.ascontiguousarray(wanted), int(events.labels[column]))
                own[child, column], total[child, column] = weights[code], weights.sum()


class FamilyWatch:
    """A detector for each feature's family. Each is a clone of `detector`."""

    def __init__(self, detector: Any) -> None:
        self.detector = detector
        self.detectors: list[Any] = []
        self.events: NDArray[np.int64] = np.zeros(0, np.int64)
        self.sums: NDArray[np.float64] = np.zeros(0)
        self.recent: NDArray[np.float64] = np.zeros(0)

    def reserve(self, features: int) -> None:
        """Make room for a number of features."""
        more = features - len(self.detectors)
        if more > 0:
            self.detectors += [self.detector.clone() for _ in range(more)]
            self.events = np.concatenate([self.events, np.zeros(more, np.int64)])
            self.sums = np.concatenate([self.sums, np.zeros(more)])
            self.recent = np.concatenate([self.recent, np.zeros(more)])

    def feed(self, signals: NDArray[np.float64]) -> list[int]:
        """Feed the detectors some events; return the slots of the families that are predicted worse than before."""
        from river.drift import (
            ADWIN,  # here: it loads for a second, and by now a detector has loaded it
        )

        notices = _drops_signals if isinstance(self.detector, ADWIN) else _detects
        self.reserve(len(signals))
        there = ~np.isnan(signals)
        number, sums = there.sum(axis=1), np.where(there, signals, 0.0).sum(axis=1)
        mean = sums / np.maximum(number, 1)
        share = np.where(self.events == 0, 1.0, RECENT) * (number > 0)
        self.recent += share * (mean - self.recent)
        self.events += number
        self.sums += sums
        drifted = []
        rows = signals.tolist()
        if not there.all():
            rows = [[signal for signal in row if signal == signal] for row in rows]  # NaN is not
        for slot, row in enumerate(rows):
            if notices(self.detectors[slot], row) and self.is_worse(slot):
                drifted.append(slot)
        return drifted

    def is_worse(self, slot: int) -> bool:
        """Return True if a family's recent signals are above the mean of all its signals."""
        return bool(self.recent[slot] > self.sums[slot] / self.events[slot])

    def since(self, slots: list[int], most: int) -> int:
        """Return the number of newest events after the change, at most `most`; 0 if no detector dates it."""
        widest = max(int(getattr(self.detectors[slot], "width", 0)) for slot in slots)
        return min(widest, most) if widest >= TOGETHER else 0  # one that was reset has forgotten

    def score(self, slots: list[int]) -> dict[str, float]:
        """Return minus log P of the family that became worst, in nats: its mean, and its recent mean."""
        slot = max(slots, key=lambda slot: float(self.recent[slot] - self.sums[slot] / self.events[slot]))
        return {
            "before": float(MOST_LOSS * self.sums[slot] / self.events[slot]),
            "after": float(MOST_LOSS * self.recent[slot]),
        }

    @staticmethod
    def names(model: BayesClassifier, slots: list[int]) -> tuple[Value, ...]:
        """Return the names of the features."""
        encoder: Any = model.store.encoder
        return tuple([encoder.nominal[slot].name for slot in slots])


def _detects(detector: Any, signals: list[float]) -> bool:
    """Feed a detector some signals; return True if it detects a drift."""
    update, noticed = detector.update, False
    for signal in signals:
        update(signal)
        noticed = noticed or detector.drift_detected
    return noticed


def _drops_signals(detector: Any, signals: list[float]) -> bool:
    """Feed ADWIN some signals; return True if it drops some, in half the time of reading its flag each time."""
    update, width = detector.update, detector.width + len(signals)
    for signal in signals:
        update(signal)
    return bool(detector.width < width)
