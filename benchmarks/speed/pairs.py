"""Pairs and triples of features: AODE and A2DE beside WEKA's AODE, structures from counts, several readings at once.

Ours learns from dicts of strings, decoded from JSON, or from codes as `CodedColumns`; WEKA's events are instances
that exist already, and its time is taken inside Java.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np

import stream_bayes
from benchmarks.harness import Case, Contest, Learner, Side, learns, predicts, predicts_learns
from benchmarks.speed.weka import Shape, codes, weka_side
from stream_bayes import CodedColumns

__all__ = ["cases"]

TRAINED = 2_000
STREAM = 5_000
ROWS = 1_000  # of a batch
WIDE, WIDER, MANY = Shape(50, 8, 2), Shape(100, 4, 2), Shape(50, 8, 10)
NARROW = Shape(20, 8, 2)
SHAPES = (NARROW, WIDE, WIDER)
MEASURED = Shape(18, 0, 7)  # numbers, as River's ImageSegments has
# WEKA's A2DE, which Maven does not have, as a multiple of its AODE: 13 us to update and 68 to predict, beside 4.0 for
# both of AODE's, on one quiet machine at 20 x 8 with 2 classes. WEKA's AODE on this machine is what scales it.
WEKA_A2DE = (13.0 + 68.0) / 4.0


@cache
def lines(shape: Shape, rows: int, seed: int) -> list[str]:
    """Events as dicts of strings, a line of JSON each."""
    drawn, labels = codes(shape, rows, seed)
    return [
        json.dumps([{f"feature_{f:03}": f"value_{code}" for f, code in enumerate(row)}, f"class_{label}"])
        for row, label in zip(drawn.tolist(), labels.tolist(), strict=True)
    ]


@cache
def measured_lines(shape: Shape, rows: int, seed: int) -> list[str]:
    """Events as dicts of numbers: around a middle of each class and feature, a line of JSON each."""
    middles = np.random.default_rng(21).normal(size=(shape.classes, shape.features))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, shape.classes, rows)
    drawn = middles[labels] + rng.normal(size=(rows, shape.features))
    return [
        json.dumps([{f"feature_{f:03}": value for f, value in enumerate(row)}, f"class_{label}"])
        for row, label in zip(drawn.tolist(), labels.tolist(), strict=True)
    ]


def decoded(raw: Any) -> list[Any]:
    """Return events decoded one by one."""
    return [json.loads(line) for line in raw]


@cache
def trained(make: Callable[[], Learner], shape: Shape) -> Learner:
    """Return a learner that has seen the training events."""
    return taught(make(), lines(shape, TRAINED, 1))


def taught(model: Learner, raw: Any) -> Learner:
    """Return a learner after it has learned some events."""
    for x, y in decoded(raw):
        model.learn_one(x, y)
    return model


def from_dicts(
    run: Callable[[Learner], Any], make: Callable[[], Learner], shape: Shape, work: str | None
) -> Contest:
    """Ours from dicts, maybe beside WEKA's AODE."""
    ours = Side(STREAM, run(trained(make, shape)), decoded)
    return Contest(lines(shape, STREAM, 2), ours, weka_side(shape, work) if work else None)


def beside(
    run: Callable[[Learner], Any],
    make: tuple[Callable[[], Learner], Callable[[], Learner]],
    shapes: tuple[Shape, Shape],
) -> Contest:
    """Ours beside another of ours, maybe on other events: what its events are is made apart."""
    raw = list(zip(lines(shapes[0], STREAM, 2), lines(shapes[1], STREAM, 2), strict=True))

    def side(place: int) -> Side:
        model = trained(make[place], shapes[place])
        return Side(STREAM, run(model), lambda pairs: decoded(pair[place] for pair in pairs))

    return Contest(raw, side(0), side(1))


def from_codes(make: Callable[[], Learner], shape: Shape) -> Contest:
    """Prediction and learning of coded rows in one call, beside WEKA's AODE."""
    drawn, labels = codes(shape, STREAM, 2)
    names = tuple(f"feature_{f:03}" for f in range(shape.features))
    values = tuple(f"value_{code}" for code in range(shape.values))
    columns = CodedColumns(
        names=names,
        codes=np.ascontiguousarray(drawn),
        vocabularies=(values,) * shape.features,
        numeric_names=(),
        numeric=np.zeros((STREAM, 0)),
        labels=labels,
        classes=tuple(f"class_{label}" for label in range(shape.classes)),
    )
    model = trained(make, shape)
    batches = [columns.rows(start, start + ROWS) for start in range(0, STREAM, ROWS)]

    def run(events: Any) -> float:
        start = perf_counter()
        for batch in events:
            model.predict_learn_many(batch)
        return (perf_counter() - start) / ROWS

    return Contest(batches, Side(len(batches), run, list, len(batches)), weka_side(shape, "both"))


def from_numbers(make: Callable[[], Learner], shape: Shape) -> Contest:
    """Ours alone from dicts of numbers, which it counts in bins and reads between them."""
    model = taught(make(), measured_lines(shape, TRAINED, 1))
    return Contest(measured_lines(shape, STREAM, 2), Side(500, predicts_learns(model), decoded))


def structure(shape: Shape) -> Contest:
    """Return a tree derived from the counts."""
    model = trained(partial(stream_bayes.TAN, every=1_000_000), shape)

    def run(events: Any) -> float:
        start = perf_counter()
        for _ in events:
            model.rederive()
        return perf_counter() - start

    return Contest([None], Side(20, run, list))


def cases() -> list[Case]:
    """Return the report's lines."""
    aode, a2de, choice = stream_bayes.AODE, stream_bayes.A2DE, stream_bayes.LiveChoice
    peer = "WEKA AODE"
    made = []
    for shape in SHAPES:
        target = 2.0 if shape is WIDE else None
        made += [
            Case(f"AODE learn, dicts, {shape}", partial(from_dicts, learns, aode, shape, "update"), peer),
            Case(
                f"AODE predict, dicts, {shape}", partial(from_dicts, predicts, aode, shape, "predict"), peer
            ),
            Case(
                f"AODE predict_learn_one, dicts, {shape}",
                partial(from_dicts, predicts_learns, aode, shape, "both"),
                peer,
                target,
            ),
            Case(
                f"AODE predict_learn_many, coded rows, {shape}",
                partial(from_codes, aode, shape),
                peer,
                2.86 if shape is WIDE else None,
            ),
        ]
    made += [
        Case(
            "AODE predict, dicts, 10 classes, 50 x 8",
            partial(beside, predicts, (aode, aode), (MANY, WIDE)),
            "the same with 2 classes",
            0.25,
        ),
        Case(
            f"A2DE predict_learn_one, dicts, {NARROW}",
            partial(from_dicts, predicts_learns, a2de, NARROW, "both"),
            peer,
            1 / (0.4 * WEKA_A2DE),
        ),
        Case(
            f"A2DE predict_learn_many, coded rows, {NARROW}",
            partial(from_codes, a2de, NARROW),
            peer,
            1 / (0.4 * WEKA_A2DE),
        ),
        Case(
            f"A2DE predict_learn_one, {MEASURED.features} numbers in bins, {MEASURED.classes} classes",
            partial(from_numbers, a2de, MEASURED),
            limit=1.0,
            unit="ms",
        ),
        Case(
            f"AODE predict_learn_one, {MEASURED.features} numbers in bins, {MEASURED.classes} classes",
            partial(from_numbers, aode, MEASURED),
        ),
        Case(
            f"LiveChoice of five predict_learn_one, {WIDE}",
            partial(beside, predicts_learns, (choice, aode), (WIDE, WIDE)),
            "AODE alone",
            1 / 1.6,
        ),
        Case(f"TAN structure from counts, {WIDE}", partial(structure, WIDE), limit=2.0, unit="ms"),
        Case(f"TAN structure from counts, {WIDER}", partial(structure, WIDER), limit=4.0, unit="ms"),
    ]
    return made
