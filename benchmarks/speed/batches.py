"""Many rows at once: 1,000 rows of 20 nominal features, as columns of codes and as dicts; and the bare kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.naive_bayes import CategoricalNB

import stream_bayes
from benchmarks.harness import Case, Contest, Learner, Side
from benchmarks.speed.naive_bayes import CLASS_NAMES, FEATURES, VALUES, decoded, nominal_codes, nominal_lines
from stream_bayes import CodedColumns, Nominal, Schema
from stream_bayes.learners.base.batches import encode_batch

__all__ = ["cases"]

ROWS = 1_000
BATCHES = 20

# The columns, and the same codes and labels in the integers that scikit-learn uses.
Columns = tuple[CodedColumns, Any, Any]


def schema(classes: int) -> Schema:
    """Return the columns."""
    return Schema({name: Nominal(VALUES) for name in FEATURES}, CLASS_NAMES[:classes])


@cache
def columns(classes: int) -> list[Columns]:
    """Different batches of coded columns."""
    made = []
    for seed in range(BATCHES):
        codes, labels = nominal_codes(ROWS, classes, seed)
        vocabularies = (VALUES,) * len(FEATURES)
        batch = CodedColumns(
            FEATURES, codes, vocabularies, (), np.empty((ROWS, 0)), labels, CLASS_NAMES[:classes]
        )
        made.append((batch, codes.astype(np.int64), labels.astype(np.int64)))
    return made


def coded(classes: int, run: Callable[[Learner, Any], object], *, peer: bool = False) -> Contest:
    """Ours over coded columns, against scikit-learn's over the same codes."""
    model = stream_bayes.NaiveBayes(schema=schema(classes))
    other = CategoricalNB(min_categories=len(VALUES))
    batches = columns(classes)
    model.learn_many(batches[0][0])
    other.partial_fit(batches[0][1], batches[0][2], classes=np.arange(classes))

    def ours(events: Any) -> float:
        start = perf_counter()
        for batch, _, _ in events:
            run(model, batch)
        return (perf_counter() - start) / ROWS

    def theirs(events: Any) -> float:
        start = perf_counter()
        for _, codes, labels in events:
            other.partial_fit(codes, labels)
        return (perf_counter() - start) / ROWS

    return Contest(batches, Side(BATCHES, ours, list), Side(4, theirs, list) if peer else None)


def dicts(classes: int, verb: str) -> Contest:
    """Return lists of dicts, decoded from JSON for each pass."""
    model = stream_bayes.NaiveBayes()

    def run(events: Any) -> float:
        xs, ys = [x for x, _ in events], [y for _, y in events]
        step = getattr(model, verb)
        start = perf_counter()
        step(xs, ys)
        return perf_counter() - start

    run(decoded(nominal_lines(ROWS, classes, 3)))
    return Contest(nominal_lines(5 * ROWS, classes, 2), Side(5 * ROWS, run, decoded, ROWS))


def kernel(classes: int, *, predict: bool) -> Contest:
    """Return a pass of the loops alone, over rows that are in the store's codes already."""
    model = stream_bayes.NaiveBayes(schema=schema(classes))
    batches = [encode_batch(model.store, batch, learning=True) for batch, _, _ in columns(classes)]
    out = np.zeros((ROWS, classes))
    reading = model.reading

    def run(events: Any) -> float:
        start = perf_counter()
        for batch in events:
            if predict:
                reading.predict_learn_batch(batch, out)
            else:
                reading.learn_batch(batch)
        return (perf_counter() - start) / ROWS

    return Contest(batches, Side(BATCHES, run, list))


def learn_many(model: Learner, batch: CodedColumns) -> None:
    model.learn_many(batch)


def predict_learn_many(model: Learner, batch: CodedColumns) -> None:
    model.predict_learn_many(batch)


def cases() -> list[Case]:
    """Return the report's lines."""
    made = []
    for classes in (2, 10):
        data = f"20 nominal, {classes} classes"
        made += [
            Case(
                f"NaiveBayes learn_many, CodedColumns, {data}",
                partial(coded, classes, learn_many, peer=True),
                "scikit-learn CategoricalNB",
                2,
            ),
            Case(
                f"NaiveBayes predict_learn_many, CodedColumns, {data}",
                partial(coded, classes, predict_learn_many),
            ),
            Case(f"NaiveBayes learn_many, dicts, {data}", partial(dicts, classes, "learn_many")),
            Case(
                f"NaiveBayes predict_learn_many, dicts, {data}", partial(dicts, classes, "predict_learn_many")
            ),
            Case(f"bare engine: learn coded rows, {data}", partial(kernel, classes, predict=False)),
            Case(
                f"bare engine: predict and learn coded rows, {data}", partial(kernel, classes, predict=True)
            ),
        ]
    return made
