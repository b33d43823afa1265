"""The measures of one model on one stream: each event is predicted before it is learned."""

from __future__ import annotations

import math
from collections.abc import Iterable
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Score", "block_interval", "calibration_error", "kappa_temporal", "score"]

DOUBT = 1e-3  # of every answer, spread over the labels so far: no log-loss is infinite
WARM_UP = 1000  # events before calibration counts
BLOCK = 100  # events; errors come in runs, so single events would make intervals too narrow
RESAMPLES = 1000


class Score(NamedTuple):
    """The measures; `low` and `high` are the 95 % interval of the accuracy.

    `ece` is None for short streams, `megabytes` for a model that cannot be measured.
    """

    events: int
    accuracy: float
    low: float
    high: float
    kappa_temporal: float
    log_loss: float
    ece: float | None
    microseconds: float
    megabytes: float | None


def score(model: Any, samples: Iterable[tuple[dict[str, Any], str]]) -> Score:
    """Return the measures of a model; its time is that of predicting and learning alone."""
    right: list[bool] = []
    repeated: list[bool] = []
    sure: list[float] = []
    labels: set[str] = set()
    loss = seconds = 0.0
    last: str | None = None
    predict_learn = getattr(model, "predict_learn_one", None)
    for x, y in samples:
        start = process_time()
        if predict_learn is not None:
            answer = predict_learn(x, y)
        else:
            answer = model.predict_proba_one(x)
            model.learn_one(x, y)
        seconds += process_time() - start
        best = max(answer, key=answer.get) if answer else None
        total = sum(answer.values()) or 1.0
        labels.add(y)
        share = (1 - DOUBT) * answer.get(y, 0.0) / total + DOUBT / len(labels) if answer else 1 / len(labels)
        loss -= math.log(max(share, DOUBT / len(labels)))
        right.append(best == y)
        repeated.append(last == y)
        sure.append(answer[best] / total if best is not None else 0.0)
        last = y
    hits = np.array(right, np.float64)
    low, high = block_interval(hits)
    size = model.memory_bytes if hasattr(model, "memory_bytes") else model._raw_memory_usage
    return Score(
        len(right),
        float(hits.mean()),
        low,
        high,
        kappa_temporal(float(hits.mean()), float(np.mean(repeated))),
        loss / len(right),
        calibration_error(hits[WARM_UP:], np.array(sure)[WARM_UP:]) if len(right) > 2 * WARM_UP else None,
        seconds / len(right) * 1e6,
        None if math.isnan(size) else size / 1e6,
    )


def kappa_temporal(accuracy: float, no_change: float) -> float:
    """Return the part of no-change's mistakes that a model avoids; below 0 it makes more.

    Examples
    --------
    >>> kappa_temporal(0.95, 0.9)
    0.5
    """
    return 0.0 if no_change == 1.0 else round((accuracy - no_change) / (1.0 - no_change), 12)


def block_interval(hits: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by a bootstrap over blocks of events."""
    blocks = np.array_split(hits, max(len(hits) // BLOCK, 1))
    sums = np.array([block.sum() for block in blocks])
    sizes = np.array([len(block) for block in blocks], np.float64)
    drawn = np.random.default_rng(0).integers(0, len(blocks), (RESAMPLES, len(blocks)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def calibration_error(hits: NDArray[np.float64], sure: NDArray[np.float64], bins: int = 10) -> float:
    """Return the mean distance of the highest probability from the share that is right, over bins of it."""
    place = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = [abs(hits[place == each].sum() - sure[place == each].sum()) for each in range(bins)]
    return float(sum(gaps) / len(hits))
