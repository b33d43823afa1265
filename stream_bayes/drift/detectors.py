"""Detectors of drift by name, the signals they are fed, and the time of a change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, stats

from stream_bayes.checked_names import Imported
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue

__all__ = [
    "BINARY",
    "DEFAULT_DETECTOR",
    "DETECTORS",
    "FEWEST",
    "MOST_LOSS",
    "SIGNALS",
    "detector_of",
    "mean_of",
    "natural_signal",
    "numbers_of",
    "since_change",
]

DEFAULT_DETECTOR = "adwin"
SIGNALS = ("log-loss", "error", "family")
MOST_LOSS = 5.0  # nats: a signal is a share of this, as detectors expect numbers between 0 and 1
FEWEST = 20  # events before and after a change, at least
SURE = 3.0  # standard errors by which a rise must differ from none
BINARY = (base.BinaryDriftDetector, base.BinaryDriftAndWarningDetector)

DETECTORS = Imported(
    {
        "adwin": "river.drift.ADWIN",
        "page-hinkley": "river.drift.PageHinkley",
        "kswin": "river.drift.KSWIN",
        "ddm": "river.drift.binary.DDM",
        "eddm": "river.drift.binary.EDDM",
        "hddm-a": "river.drift.binary.HDDMA",
        "hddm-w": "river.drift.binary.HDDMW",
    }
)


def detector_of(given: Any, signal: str | None) -> Any:
    """Return a new detector, by its name or cloned, that takes a signal; None: its natural signal."""
    detector = given
    if isinstance(given, str) and given in DETECTORS:
        made: Any = DETECTORS[given]
        detector = made(seed=0) if given == "kswin" else made()  # it draws at random
    if isinstance(detector, type) or not all(
        hasattr(detector, name) for name in ("update", "drift_detected", "clone")
    ):
        raise BadValue(
            f"detector must be one of {', '.join(map(repr, DETECTORS))}, or a drift detector as River has them, with "
            f"update, drift_detected and clone, not {shown(detector)}"
        )
    if signal not in (None, "error") and isinstance(detector, BINARY):
        raise BadValue(
            f"{type(detector).__name__} detects drift in errors, and cannot be fed signal={signal!r}: leave "
            "signal out, or use a detector of numbers, as 'adwin'"
        )
    return detector.clone()


def natural_signal(detector: Any) -> str:
    """Return the default signal of a detector.

    Examples
    --------
    >>> natural_signal(DETECTORS["ddm"]()), natural_signal(DETECTORS["adwin"]())
    ('error', 'log-loss')
    """
    return "error" if isinstance(detector, BINARY) else "log-loss"


def numbers_of(detector: Any) -> dict[str, float]:
    """Return the numbers that one of River's detectors holds, by name, without its arguments; none for other detectors.

    Examples
    --------
    >>> detector = DETECTORS["adwin"]()
    >>> for error in [0.0, 1.0] * 8:
    ...     _ = detector.update(error)
    >>> numbers_of(detector)
    {'estimation': 0.5, 'n_detections': 0, 'total': 8.0, 'variance': 4.0, 'width': 16.0}
    """
    kind = type(detector)
    if kind not in DETECTORS.values():
        return {}
    shown_by = [name for name, part in vars(kind).items() if isinstance(part, property)]
    attributes = {**vars(detector), **{name: getattr(detector, name) for name in shown_by}}
    given = detector._get_params()
    numbers: dict[str, float] = {}
    for name in sorted(attributes, key=lambda name: name.strip("_")):
        value = (
            attributes[name].get()
            if isinstance(attributes[name], stats.base.Univariate)
            else attributes[name]
        )
        if name not in given and isinstance(value, (int, float)) and type(value) is not bool:
            if math.isfinite(value):
                numbers[name.strip("_")] = value if type(value) is int else float(value)
    return numbers


def since_change(signals: NDArray[np.float64]) -> int:
    """Return the number of newest signals after the one rise of the mean that explains most of their variance.

    If a fall explains more, the signals before it are left out: answers became better, as while a model learns. 0 if no
    rise is left, or if it may be by chance. All, if there are too few signals to decide.

    Examples
    --------
    >>> since_change(np.array([0.0] * 100 + [1.0] * 40)), since_change(np.array([1.0] * 100 + [0.0] * 40))
    (40, 0)
    >>> since_change(np.array([1.0] * 100 + [0.0] * 200 + [1.0] * 40))
    40
    """
    if len(signals) < 2 * FEWEST:
        return len(signals)
    while len(signals) >= 2 * FEWEST:
        total = len(signals)
        newest = np.arange(FEWEST, total - FEWEST + 1)
        sums = np.cumsum(signals[::-1])
        rise = sums[newest - 1] / newest - (sums[-1] - sums[newest - 1]) / (total - newest)
        explained = newest * (total - newest) * rise**2 / total  # of the sum of squares
        best = int(np.argmax(explained))
        left = float(np.sum((signals - sums[-1] / total) ** 2)) - explained[best]
        if explained[best] * (total - 2) <= SURE**2 * left:
            return 0
        if rise[best] > 0.0:
            return int(newest[best])
        signals = signals[-newest[best] :]
    return 0


def mean_of(signals: NDArray[np.float64]) -> float:
    """Return the mean; 0 without signals, so that the first ones are no improvement."""
    return float(signals.mean()) if len(signals) else 0.0
