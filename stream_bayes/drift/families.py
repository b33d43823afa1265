"""How well each family, a feature beside its parents, is foretold, and a detector for each: where a drift has been.

A family's signal is minus log P(value | class, parents), as a share of 5 nats, smoothed with one fresh sample; the
event itself does not count. The parents are those of the structure; of AODE, whose features all depend on one
another, the class alone. Some events are looked at together, which takes a fifth of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.readings._reading import m_estimate
from stream_bayes.core.values.values import Value
from stream_bayes.drift.detectors import MOST_LOSS
from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.learners.networks.bayes_net_classifier import BayesNetClassifier

__all__ = ["TOGETHER", "Coded", "FamilyWatch", "family_signals"]

TOGETHER = 32  # events
RECENT = 1 / 2  # what so many events count in the recent mean


class Coded(NamedTuple):
    """Some events as codes.

    Parameters
    ----------
    codes
        A row a slot and a column an event; -1 is missing.
    labels
        The code of each label.
    weights
        The weight of each event.
    """

    codes: NDArray[np.int64]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]


def family_signals(model: BayesClassifier, events: Coded) -> NDArray[np.float64]:
    """The signal of each feature, a row a slot and a column an event, by a model that has learned these events; NaN
    where it is missing.

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
    model = getattr(model, "learner", model)  # the one within a window
    tables = model._store.tables
    values = tables.values
    layout, unit = values.layout, tables.unit
    codes, labels, weights = events
    features, stride = len(codes), int(layout.classes)
    start = np.asarray(layout.start)[:features]
    there = codes >= 0
    places = np.where(there, codes + start[:, None], 0)
    weight_of = np.asarray(values.weight)
    own = weight_of[places * stride + labels]
    total = np.asarray(values.present)[np.arange(features)[:, None] * stride + labels]
    if isinstance(model, BayesNetClassifier):
        _beside_several(model, events, own, total)
    elif tables.pairs is not None:
        parents = model._reading.parent_slots(features)
        if parents is not None:
            beside = there & there[parents] & (parents >= 0)[:, None]
            child, above, label = places[beside], places[parents][beside], (places * 0 + labels)[beside]
            cells = layout.cells_of_pairs(np.maximum(child, above), np.minimum(child, above))
            own[beside] = np.asarray(tables.pairs.weight)[cells * stride + label]
            total[beside] = weight_of[above * stride + label]
    # Without the event itself, which has been learned.
    own, total = np.maximum(own / unit - weights, 0.0), np.maximum(total / unit - weights, 0.0)
    shares = m_estimate(own, total, np.maximum(np.asarray(values.distinct)[:features], 1)[:, None])
    signals = np.log(np.minimum(shares, 1.0)) / -MOST_LOSS
    return np.where(there, np.minimum(signals, 1.0), np.nan)


def _beside_several(
    model: BayesNetClassifier, events: Coded, own: NDArray[np.float64], total: NDArray[np.float64]
) -> None:
    """Read the families of a network that have features for parents."""
    store = model._store
    families = store.tables.families
    if families is None or store.structure is None:
        return
    nominal, structure = store.encoder.nominal, store.structure
    for f, (child, parents) in enumerate(families.families):
        above = set(structure.parents(nominal[child].name)) - {model._target}
        if above != {nominal[slot].name for slot in parents}:
            continue  # it is the family of the class's parents
        beside = events.codes[list(parents)].T.astype(np.int32)
        for column, (code, wanted) in enumerate(zip(events.codes[child].tolist(), beside, strict=True)):
            if code >= 0 and (wanted >= 0).all():
                weights = families.weights_under(f, np.ascontiguousarray(wanted), int(events.labels[column]))
                own[child, column], total[child, column] = weights[code], weights.sum()


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

    def feed(self, signals: NDArray[np.float64]) -> list[int]:
        """Tell the detectors of events together; the slots of the families that are foretold worse than they were."""
        from river.drift import (
            ADWIN,  # here, as it loads for a second, and a detector that is told has loaded it
        )

        notices = _narrows if isinstance(self.detector, ADWIN) else _notices
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
        """Whether a family's recent signals are above the mean of all since it was first watched."""
        return bool(self.recent[slot] > self.sums[slot] / self.events[slot])

    def since(self, slots: list[int], most: int) -> int:
        """How many of the newest events come after the change, at most so many; 0 where no detector tells."""
        widest = max(int(getattr(self.detectors[slot], "width", 0)) for slot in slots)
        return min(widest, most) if widest >= TOGETHER else 0  # one that began anew has forgotten

    def score(self, slots: list[int]) -> dict[str, float]:
        """Minus log P of the family that has become worst, in nats: its mean, and its recent mean."""
        slot = max(slots, key=lambda slot: float(self.recent[slot] - self.sums[slot] / self.events[slot]))
        return {
            "before": float(MOST_LOSS * self.sums[slot] / self.events[slot]),
            "after": float(MOST_LOSS * self.recent[slot]),
        }

    @staticmethod
    def names(model: BayesClassifier, slots: list[int]) -> tuple[Value, ...]:
        """What the features are called."""
        encoder: Any = model._store.encoder
        return tuple([encoder.nominal[slot].name for slot in slots])


def _notices(detector: Any, signals: list[float]) -> bool:
    """Whether a detector sees a drift in some more signals."""
    update, noticed = detector.update, False
    for signal in signals:
        update(signal)
        noticed = noticed or detector.drift_detected
    return noticed


def _narrows(detector: Any, signals: list[float]) -> bool:
    """The same of ADWIN: what it drops at a drift its width tells, in half of the time."""
    update, width = detector.update, detector.width + len(signals)
    for signal in signals:
        update(signal)
    return bool(detector.width < width)
