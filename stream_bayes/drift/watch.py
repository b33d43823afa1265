"""The watch over a model: a detector of drift, the signal it is fed, and the log of what follows."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.values import Value
from stream_bayes.drift.detectors import (
    BINARY,
    DEFAULT_DETECTOR,
    FEWEST,
    MOST_LOSS,
    detector_of,
    mean_of,
    natural_signal,
    numbers_of,
    since_change,
)
from stream_bayes.drift.family_changes import FamilyChange, FamilyChanges
from stream_bayes.drift.family_detectors import TOGETHER, FamilyWatch, family_signals
from stream_bayes.drift.log import DriftLog
from stream_bayes.drift.recent_events import JOINT_NETWORKS, RecentEvents, RenewedModel
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.edges import edge_name

__all__ = ["DriftWatch"]

MIDDLE_SURPRISE = log(2.0)  # nats of each variable: the surprise of an event that gives the signal 1/2


class DriftWatch:
    """A detector that is fed a signal of each event, and a log of the drifts it detects.

    `given` is the name of a detector, or one to clone; `signal` one of `SIGNALS`, None for the detector's natural one.
    `is_joint` is True for a network without a class: its signal is the surprise of each event, which has no bound, as s
    / (s + middle), with `middle` a bit for each variable. With densities it may be below 0: then the
    signal is (1 + s / (|s| + middle)) / 2. `window` is the number of recent events within which changes of its families
    are dated.
    """

    def __init__(
        self,
        given: Any,
        signal: str | None,
        is_joint: bool = False,
        window: int = 0,
        has_densities: bool = False,
    ) -> None:
        self.is_joint = is_joint
        self.has_densities = has_densities
        self.given = given
        self.detector = detector_of(given, signal)
        self.signal = signal or self._natural_signal()
        self.is_binary = isinstance(self.detector, BINARY)
        self.can_warn = hasattr(self.detector, "warning_detected")
        is_by_family = self.signal == "family"
        self.families = FamilyWatch(self.detector) if is_by_family and not is_joint else None
        self.changes = FamilyChanges(window // TOGETHER) if is_by_family and is_joint else None
        self.fed = 0  # events that the detector was fed
        self.log = DriftLog()

    def _natural_signal(self) -> str:
        if self.is_joint and isinstance(self.given, str) and self.given == DEFAULT_DETECTOR:
            return "family"
        return natural_signal(self.detector)

    def changed_families(
        self, changes: FamilyChanges, model: RenewedModel, recent: RecentEvents
    ) -> list[FamilyChange]:
        """Count an event; after every `TOGETHER` events return the families of a network that have changed."""
        assert isinstance(model, JOINT_NETWORKS)
        self.fed += 1
        return (
            changes.after_block(model, recent) if self.fed % TOGETHER == 0 and len(recent) >= TOGETHER else []
        )

    def start_of_changes(self, changed: list[FamilyChange], recent: RecentEvents, variables: int) -> int:
        """Record that families of a network have changed; return the first event after the most evident change."""
        since = changed[0].since
        signals = recent.signals()
        newest = min(recent.newest - since + 1, len(signals))
        change = len(signals) - newest
        score = {
            name: self._nats_of(mean_of(part), variables)
            for name, part in (("before", signals[:change]), ("after", signals[change:]))
        }
        names = [edge_name(one.variable) for one in changed]
        numbers = {"log_evidence": changed[0].log_evidence}
        self.record("drift", recent.newest, since=since, score=score, families=names, numbers=numbers)
        return since

    def detects(self, signal: float) -> bool:
        """Feed the detector the signal of an event; return True if it detects a drift."""
        self.fed += 1
        self.detector.update(bool(signal) if self.is_binary else signal)
        return self.detector.drift_detected

    def drifted_families(
        self, families: FamilyWatch, model: BayesClassifier, recent: RecentEvents
    ) -> list[int]:
        """Count an event; after every `TOGETHER` events return the slots of the families that became worse."""
        self.fed += 1
        if self.fed % TOGETHER:
            return []
        return families.feed(family_signals(model, recent.newest_codes(TOGETHER)))

    def is_worse(self, signals: NDArray[np.float64], newest: int, event: int, variables: int = 0) -> bool:
        """Return True, and record a drift, if the mean of the newest signals is above the mean of those before.

        Of a network without a class, `variables` is the number of its variables.
        """
        change = len(signals) - newest
        before, after = mean_of(signals[:change]), mean_of(signals[change:])
        if newest == 0 or after <= before:
            return False
        score = {
            name: self._nats_of(mean, variables) for name, mean in (("before", before), ("after", after))
        }
        self.record("drift", event, since=event - newest + 1, score=score)
        return True

    def signal_of(self, score: float, variables: int) -> float:
        """Return the signal of an event's surprise, between 0 and 1, given the number of variables of the network."""
        signal = score / (abs(score) + MIDDLE_SURPRISE * max(variables, 1))
        return (1.0 + signal) / 2.0 if self.has_densities else signal

    def _nats_of(self, signal: float, variables: int) -> float:
        """Return the loss in nats of a mean signal; for wrong answers, their share."""
        if self.is_joint:
            signal = 2.0 * signal - 1.0 if self.has_densities else signal
            return MIDDLE_SURPRISE * max(variables, 1) * signal / (1.0 - abs(signal))
        return signal if self.signal == "error" else MOST_LOSS * signal

    def start_of_drift(
        self, families: FamilyWatch, drifted: list[int], recent: RecentEvents, model: BayesClassifier
    ) -> tuple[int, tuple[Value, ...]]:
        """Record a drift of families; return the first event after the change, and the families' names."""
        newest = families.since(drifted, self.fed) or since_change(recent.signals()[-self.fed :])
        since = recent.newest - (newest or FEWEST) + 1
        names = families.names(model, drifted)
        self.record(
            "drift",
            recent.newest,
            since=since,
            score=families.score(drifted),
            families=[edge_name(name) for name in names],
        )
        return since, names

    def reset(self) -> None:
        """Begin with a new detector, once a drift has been dealt with."""
        if self.changes is not None:
            return  # the tests of families go on
        self.detector, self.fed = detector_of(self.given, self.signal), 0
        if self.families is not None:
            self.families = FamilyWatch(self.detector)

    def record(
        self,
        what: str,
        event: int,
        families: list[str] | None = None,
        numbers: dict[str, float] | None = None,
        **fields: Any,
    ) -> None:
        """Add an entry to the log, with the detector as it is."""
        by_family = self.families is not None or self.changes is not None
        detector = {
            "name": type(self.detector if self.changes is None else self.changes).__name__,
            "events": self.fed,
            "numbers": numbers or ({} if by_family else numbers_of(self.detector)),
        }
        if families is not None:
            detector["families"] = families
        self.log.add(what, event, signal=self.signal, detector=detector, **fields)
