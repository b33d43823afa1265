"""Events, and what is asked of objects while these go by."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from river import metrics

Drive = Callable[[Any, int, int], list[Any]]

NAMES = ("height", "größe", "x\ny", "b", "a")
WORDS = ("offer", "lunch", "übung", "at", "noon", "offer now", "the", "is")
LABELS = ("spam", "ham", "ägg", "x")


def rng_at(event: int) -> random.Random:
    """Random numbers of one event, the same whenever it comes."""
    return random.Random(f"event {event}")


@cache
def numbers(event: int) -> dict[Any, Any]:
    rng = rng_at(event)
    x: dict[Any, Any] = {name: rng.gauss(3, 40) for name in NAMES if rng.random() < 0.8}
    return {**x, "whole": rng.randrange(-3, 9), ("a", 1): rng.random() * 1e-9}


@cache
def nominals(event: int) -> dict[Any, Any]:
    rng = rng_at(event)
    return {
        "colour": rng.choice(WORDS),
        "flag": rng.random() < 0.5,
        7: rng.randrange(4),
        "maybe": rng.choice([None, "x"]),
    }


@cache
def gaps(event: int) -> dict[Any, Any]:
    rng = rng_at(event)
    return {
        "a": rng.choice([None, rng.gauss(0, 1)]),
        "b": rng.choice([None, 1, 2]),
        "c": rng.choice([None, "x", "y"]),
    }


@cache
def text(event: int) -> str:
    rng = rng_at(event)
    return " ".join(rng.choices(WORDS, k=rng.randrange(1, 9)))


@cache
def label(event: int) -> str:
    return rng_at(event).choice(LABELS[: 2 + event // 40])


def transforming(events: Callable[[int], Any]) -> Drive:
    def drive(held: Any, start: int, stop: int) -> list[Any]:
        answers = []
        for event in range(start, stop):
            held.learn_one(events(event))
            answers.append(held.transform_one(events(event)))
        return answers

    return drive


def counting(held: Any, start: int, stop: int) -> list[Any]:
    answers = []
    for event in range(start, stop):
        held.update(rng_at(event).gauss(0, 3))
        answers.append(held.get())
    return answers


def counting_two(held: Any, start: int, stop: int) -> list[Any]:
    answers = []
    for event in range(start, stop):
        held.update(rng_at(event).gauss(0, 3), rng_at(event + 1).gauss(0, 3))
        answers.append(held.get())
    return answers


def counting_values(held: Any, start: int, stop: int) -> list[Any]:
    answers = []
    for event in range(start, stop):
        held.update(rng_at(event).choice(WORDS))
        answers.append(held.get())
    return answers


def counting_in_time(held: Any, start: int, stop: int) -> list[Any]:
    answers = []
    for event in range(start, stop):
        held.update(
            rng_at(event).gauss(0, 3),
            t=dt.datetime(2024, 1, 1) + dt.timedelta(minutes=7 * event, microseconds=event),
        )
        answers.append(held.get())
    return answers


def judging_labels(held: Any, start: int, stop: int) -> list[Any]:
    answers = []
    for event in range(start, stop):
        guess = None if event == 3 else label(event + 1)
        held.update(label(event), guess, rng_at(event).choice([1.0, 0.5]))
        answers.append(valued(held))
    return answers


def judging_flags(held: Any, start: int, stop: int) -> list[Any]:
    answers = []
    for event in range(start, stop):
        held.update(rng_at(event).random() < 0.4, rng_at(event + 1).random() < 0.6)
        answers.append(valued(held))
    return answers


def judging_probabilities(held: Any, start: int, stop: int) -> list[Any]:
    answers = []
    for event in range(start, stop):
        p = round(rng_at(event).random(), 1)
        held.update(rng_at(event).random() < 0.4, {True: p, False: 1 - p})
        if event % 5 == 0:  # the rolling ones compute when they are asked
            answers.append(valued(held))
    return answers


def judging_numbers(held: Any, start: int, stop: int) -> list[Any]:
    answers = []
    for event in range(start, stop):
        held.update(rng_at(event).random(), rng_at(event + 1).random())
        answers.append(valued(held))
    return answers


def valued(metric: Any) -> Any:
    try:
        return metric.get()
    except NotImplementedError:
        return repr(metric) if isinstance(metric, metrics.ClassificationReport) else metric.total_weight


def detecting(held: Any, start: int, stop: int) -> list[Any]:
    """A rate of errors that changes twice, so that detectors begin anew."""
    answers = []
    for event in range(start, stop):
        rate = (0.05, 0.6, 0.1)[event // 150 % 3]
        held.update(int(rng_at(event).random() < rate))
        answers.append(
            (held.drift_detected, getattr(held, "warning_detected", None), getattr(held, "p_value", None))
        )
    return answers


def classifying(events: Callable[[int], Any]) -> Drive:
    def drive(held: Any, start: int, stop: int) -> list[Any]:
        answers = []
        for event in range(start, stop):
            x, y = events(event), label(event)
            answers.append((held.predict_proba_one(x), held.predict_one(x)))
            held.learn_one(x, y)
        return answers

    return drive


def same(one: Any, other: Any) -> bool:
    """Equal to the bit and the type, in the same order; a NaN equals a NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one.hex() == other.hex() or (math.isnan(one) and math.isnan(other))
    return bool(one == other)
