"""Prequential measures by their definitions, over a list of events: sums are taken anew, pair by pair if need be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

# (label, {label: probability}, predicted, weight); predicted is `...` for the most probable label
Event = tuple[Any, dict[Any, float], Any, float]


def predicted_label(event: Event) -> Any:
    """Return the predicted label."""
    _, probabilities, predicted, _ = event
    if predicted is not ...:
        return predicted
    best = max(probabilities.values(), default=0.0)
    return min(label for label, p in probabilities.items() if p == best) if best > 0 else None


def labels_answered(events: Sequence[Event]) -> list[Any]:
    """Return the predicted label of each event; None for a decision that is no label.

    An answer is a label if it was one before, is the true one, or the probabilities list it, or list nothing.
    """
    known: set[Any] = set()
    answers = []
    for event in events:
        label, probabilities, predicted, _ = event
        possible = {name for name, p in probabilities.items() if p > 0}
        answer = predicted_label(event)
        if predicted is not ... and possible and answer not in {label, *known, *probabilities}:
            answer = None
        answers.append(answer)
        known |= {label, *possible, *({answer} - {None})}
    return answers


def baselines(events: Sequence[Event]) -> tuple[list[Any], list[Any]]:
    """Return the predictions of the majority so far and of the previous label."""
    majority, last = [], []
    counts: dict[Any, float] = {}
    before: Any = None
    for (label, probabilities, predicted, weight), answer in zip(
        events, labels_answered(events), strict=True
    ):
        first = [label, *([] if predicted is ... or answer is None else [answer])]
        for name in [*first, *(name for name, p in probabilities.items() if p > 0)]:
            counts.setdefault(name, 0.0)
        top = max(counts.values())
        majority.append(next(name for name, c in counts.items() if c == top) if top > 0 else None)
        last.append(before)
        counts[label] += weight
        before = label
    return majority, last


def area(pairs: Sequence[tuple[float, bool, float]]) -> float | None:
    """AUC of (score, is positive, weight): each pair of a positive and a negative is looked at."""
    won = total = 0.0
    for score, own, weight in pairs:
        for other, is_own, its_weight in pairs:
            if own and not is_own:
                total += weight * its_weight
                won += weight * its_weight * (1.0 if score > other else 0.5 if score == other else 0.0)
    return won / total if total else None


def is_answered(event: Event) -> bool:
    """An event without an answer is in no measure, but counts for the baselines."""
    return predicted_label(event) is not None or any(p > 0 for p in event[1].values())


def chances(events: Sequence[Event], least: float, rows: float = math.inf) -> list[float]:
    """The probability of each true label in the log-loss: 1 / (k + 1) for one that never came before, and has none.

    Labels past the first `rows` share one row, which always counts as new.
    """
    own: dict[Any, None] = {}
    came: set[Any] = set()
    found = []
    for event, answer in zip(events, labels_answered(events), strict=True):
        label, probabilities, predicted, weight = event
        for name in [label, *([] if predicted is ... or answer is None else [answer])] + [
            name for name, p in probabilities.items() if p > 0
        ]:
            if len(own) < rows:
                own[name] = None
        row = label if label in own else "shared row"
        chance = probabilities.get(label, 0.0)
        if not chance > 0 and is_answered(event) and (label not in own or row not in came):
            chance = 1 / (1 + len(came))
        found.append(max(chance, least))
        if weight > 0:
            came.add(row)
    return found


def measures(
    events: Sequence[Event], weights: Sequence[float], least: float, rows: float = math.inf
) -> dict[str, Any]:
    """The measures over events with these weights in place of their own."""
    majority, last = baselines(events)
    weights = [w if is_answered(e) else 0.0 for e, w in zip(events, weights, strict=True)]
    total = math.fsum(weights)
    answers = labels_answered(events)
    names = {e[0] for e in events} | set(answers) - {None}
    for _, probabilities, _, _ in events:
        names |= {name for name, p in probabilities.items() if p > 0}

    def mean(values: Sequence[float]) -> float:
        return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / total if total else math.nan

    losses = [-math.log(chance) for chance in chances(events, least, rows)]
    brier = [math.fsum((e[1].get(n, 0.0) - (n == e[0])) ** 2 for n in names) for e in events]
    right = [float(a == e[0]) for e, a in zip(events, answers, strict=True)]
    accuracy = mean(right)

    def kappa(simple: float) -> float:
        return (accuracy - simple) / (1 - simple) if simple < 1 - 1e-12 else math.nan

    chance = math.fsum(mean([e[0] == n for e in events]) * mean([a == n for a in answers]) for n in names)
    f1, auc = {}, {}
    for name in names:
        true = [e[0] == name for e in events]
        guessed = [a == name for a in answers]
        both = [a and b for a, b in zip(true, guessed, strict=True)]
        if total and mean(true) + mean(guessed) > 0:
            f1[name] = 2 * mean(both) / (mean(true) + mean(guessed))
        found = area([(e[1].get(name, 0.0), t, w) for e, t, w in zip(events, true, weights, strict=True)])
        if found is not None:
            auc[name] = found
    bins: dict[int, list[float]] = {}
    for e, a, r, w in zip(events, answers, right, weights, strict=True):
        confidence = 0.0 if a is None else e[1].get(a, 0.0)
        held = bins.setdefault(min(int(confidence * 10), 9), [0.0, 0.0, 0.0])
        held[0], held[1], held[2] = held[0] + w, held[1] + w * confidence, held[2] + w * r
    effective = total**2 / math.fsum(w * w for w in weights) if total else 0.0
    return {
        "weight": total,
        "effective_events": effective,
        "accuracy": accuracy,
        "majority_accuracy": mean([float(e[0] == m) for e, m in zip(events, majority, strict=True)]),
        "no_change_accuracy": mean([float(e[0] == p) for e, p in zip(events, last, strict=True)]),
        "kappa": kappa(chance),
        "kappa_m": kappa(mean([float(e[0] == m) for e, m in zip(events, majority, strict=True)])),
        "kappa_t": kappa(mean([float(e[0] == p) for e, p in zip(events, last, strict=True)])),
        "log_loss": mean(losses),
        "brier": mean(brier),
        "f1": f1,
        "macro_f1": math.fsum(f1.values()) / len(f1) if f1 else math.nan,
        "roc_auc_by_label": auc,
        "roc_auc": math.fsum(auc.values()) / len(auc) if auc else math.nan,
        "calibration_error": (
            math.fsum(abs(r - c) for _, c, r in bins.values()) / total if total else math.nan
        ),
    }


def windowed(events: Sequence[Event], window: int, least: float, rows: float = math.inf) -> dict[str, Any]:
    """Over the last events; the majority is still that of the whole stream."""
    weights = [
        e[3] if age < window else 0.0 for age, e in zip(range(len(events) - 1, -1, -1), events, strict=True)
    ]
    found = measures(events, weights, least, rows)
    kept = events[-window:]
    answers = labels_answered(events)[-window:]
    seen = {name for e, a in zip(kept, answers, strict=True) if e[3] > 0 for name in (e[0], a)}
    found["f1"] = {name: value for name, value in found["f1"].items() if name in seen}
    return found


def fading(events: Sequence[Event], half_life: float, least: float) -> dict[str, Any]:
    """Over all events, weighted by their ages."""
    weights = [
        e[3] * 0.5 ** (age / half_life) for age, e in zip(range(len(events) - 1, -1, -1), events, strict=True)
    ]
    return measures(events, weights, least)
