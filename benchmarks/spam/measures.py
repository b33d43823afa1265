"""Measures of a filter's run over a stream of mail, and paired intervals of the ratio of two filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.spam.costs import cost_of, least_cost
from benchmarks.spam.filters import Order, Run
from stream_bayes.core.measures.calibration import Calibration

__all__ = ["Measures", "measures", "over", "roca", "settled"]

Array = NDArray[Any]
Measures = dict[str, float]
SETTLED = 500  # messages before verdicts are measured
RESAMPLED = 1_000
LOST = 0.001  # the share of ham that may be lost


def settled(spam: Array) -> int:
    """Return the place of the first message whose verdict is measured."""
    return min(SETTLED, len(spam) // 2)


def roca(score: Array, spam: Array, weight: Array | None = None) -> float:
    """Return 100 (1 - area under the ROC curve); equal scores count half."""
    weight = np.ones(len(score)) if weight is None else weight
    _, place = np.unique(score, return_inverse=True)
    ham = np.bincount(place, weight * ~spam)
    caught = np.bincount(place, weight * spam)
    pairs = ham.sum() * caught.sum()
    wrong = (ham * (np.cumsum(caught) - caught)).sum() + (ham * caught).sum() / 2
    return float(100 * wrong / pairs) if pairs else float("nan")


def over(orders: Sequence[Order], other: str, seed: int = 0) -> tuple[float, float, float]:
    """Return the ratio of our mean 1-ROCA to another filter's over the orders of one corpus, and its 95 % interval.

    Each message is drawn as often in every order, and for both.
    """
    many = len(orders[0].spam)

    def ratio(weight: Array) -> float:
        above = below = 0.0
        for order in orders:
            drawn = weight[order.places]
            mine, theirs = next(iter(order.runs.values())), order.runs[other]
            above += roca(np.array(mine.score), order.spam, drawn)
            below += roca(np.array(theirs.score), order.spam, drawn)
        return above / below if below else np.inf

    rng, share = np.random.default_rng(seed), np.full(many, 1 / many)
    ratios = [ratio(rng.multinomial(many, share).astype(float)) for _ in range(RESAMPLED)]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return ratio(np.ones(many)), float(low), float(high)


def measures(run: Run, spam: Array) -> Measures:
    """Return all measures of a run; verdicts, costs and calibration after the first messages."""
    score, chance = np.array(run.score), np.array(run.probability)
    order = np.argsort(-score, kind="stable")
    caught, lost = np.cumsum(spam[order]), np.cumsum(~spam[order])
    right = np.append(0, caught - lost) + (~spam).sum()
    allowed = int(np.searchsorted(lost, int(LOST * (~spam).sum()), side="right"))
    start = settled(spam)
    truth, certain, verdict = spam[start:], chance[start:], np.array(run.verdict)[start:]
    calibration = Calibration()
    sure = np.maximum(certain, 1 - certain)
    calibration.add(np.minimum(sure, 1.0), (certain > 0.5) == truth, np.ones(len(truth)))
    found = {
        "1-ROCA%": roca(score, spam),
        "1-ROCA% after the start": roca(score[start:], spam[start:]),
        "accuracy %": 100 * float(((chance > 0.5) == spam).mean()),
        "best accuracy %": 100 * float(right.max() / len(spam)),
        "ham lost %": _share((verdict == "spam") & ~truth, ~truth),
        "spam missed %": _share((verdict != "spam") & truth, truth),
        "of it unsure %": _share((verdict == "unsure") & truth, truth),
        "ham unsure %": _share((verdict == "unsure") & ~truth, ~truth),
        f"spam missed at {100 * LOST:g} % lost %": 100
        * float(1 - (caught[allowed - 1] if allowed else 0) / spam.sum()),
        "calibration error": calibration.error(),
    }
    for times in (9, 99):
        paid = cost_of(certain >= times / (1 + times), truth, times)
        least = least_cost(score[start:], truth, times)
        found[f"cost {times}:1, a message"] = paid / len(truth)
        found[f"cost {times}:1, over the best"] = paid / least if least else float("nan")
    if run.seconds:
        found["messages/s of processor time"] = len(spam) / run.seconds
    if run.memory is not None:
        found["memory, MB"] = run.memory / 1e6
    if run.tokens:
        found["tokens"] = run.tokens
    return found


def _share(part: Array, whole: Array) -> float:
    return 100 * float(part.sum() / whole.sum()) if whole.any() else float("nan")
