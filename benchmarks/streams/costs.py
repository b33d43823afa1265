"""`python -m benchmarks.streams.costs`: the time of an event by the number of features and classes.

An event is predicted and learned. The default learner and River's forest of ten trees take turns over the same events,
piece by piece, so that other work on the machine slows both. The first half of a stream counts apart: experts that do
not help fall asleep there. With `--batches`, the default learner alone: events one at a time, and in batches.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from time import process_time
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console
from rich.table import Table
from river import forest

import stream_bayes
from benchmarks.checks import Check, show
from stream_bayes import AdaptiveBayes

__all__ = ["SHAPES", "Times", "batch_times", "events_of", "main", "times"]

SEED = 21
PIECE = 100  # events until it is the other model's turn
TIMES_AS_FAST = 10
BATCH = 1_000  # rows
DEVIATIONS = 0.7  # between the means of neighbouring classes, in a third of the numbers
RIGHT_NAME = 0.4  # of the names are the one that goes with the class


class Shape(NamedTuple):
    """A stream: so many numbers and names, and so many classes."""

    numbers: int
    names: int
    classes: int

    def __str__(self) -> str:
        features = f"{self.numbers} numbers" if self.numbers else f"{self.names} names"
        return f"{features}, {self.classes} classes"


SHAPES = [
    *(Shape(numbers, 0, classes) for numbers in (5, 20, 50, 128) for classes in (2, 10)),
    *(Shape(0, 20, classes) for classes in (2, 10)),
]


class Times(NamedTuple):
    """Microseconds of an event in the first and in the second half of a stream."""

    first: float
    second: float

    def __str__(self) -> str:
        return f"{self.first:,.0f} to {self.second:,.0f} us"


def events_of(shape: Shape, seed: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield events: a third of the numbers, and all names, tell something about the class."""
    source = random.Random(seed)
    while True:
        label = source.randrange(shape.classes)
        x: dict[str, Any] = {
            f"n{k}": source.gauss(DEVIATIONS * ((label + k) % shape.classes) if k % 3 == 0 else 0.0, 1.0)
            for k in range(shape.numbers)
        }
        for k in range(shape.names):
            right = source.random() < RIGHT_NAME
            x[f"c{k}"] = f"v{(label + k) % 8 if right else source.randrange(8)}"
        yield x, label


def times(models: Sequence[Any], shape: Shape, events: int, seed: int) -> list[Times]:
    """Return the times of models that take turns over the same events."""
    seconds = [[0.0, 0.0] for _ in models]
    stream = events_of(shape, seed)
    for start in range(0, events, PIECE):
        piece = list(islice(stream, min(PIECE, events - start)))
        half = int(start >= events / 2)
        for model, spent in zip(models, seconds, strict=True):
            step = _step(model)
            began = process_time()
            for x, y in piece:
                step(x, y)
            spent[half] += process_time() - began
    return [Times(*(2e6 * spent / events for spent in halves)) for halves in seconds]


def batch_times(shape: Shape, events: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return the microseconds of an event that is learned, and that is predicted after all: one at a time, and in
    batches of dicts and of rows of a data frame.
    """
    samples = list(islice(events_of(shape, seed), events))
    pieces = [samples[start : start + BATCH] for start in range(0, events, BATCH)]
    dicts = [([x for x, _ in piece], [y for _, y in piece]) for piece in pieces]
    frames = [(pd.DataFrame(xs), pd.Series(ys)) for xs, ys in dicts]
    single, many, framed = AdaptiveBayes(), AdaptiveBayes(), AdaptiveBayes()

    def timed(steps: list[Callable[[], object]]) -> float:
        began = process_time()
        for step in steps:
            step()
        return (process_time() - began) / events * 1e6

    return {
        "one at a time": (
            timed([partial(single.learn_one, x, y) for x, y in samples]),
            timed([partial(single.predict_proba_one, x) for x, _ in samples]),
        ),
        "dicts": (
            timed([partial(many.learn_many, xs, ys) for xs, ys in dicts]),
            timed([partial(many.predict_proba_many, xs) for xs, _ in dicts]),
        ),
        "frames": (
            timed([partial(framed.learn_many, xs, ys) for xs, ys in frames]),
            timed([partial(framed.predict_proba_many, xs) for xs, _ in frames]),
        ),
    }


def _show_batches(events: int, seed: int, console: Console) -> None:
    table = Table("stream", "rows", "learned, us", "predicted, us")
    for shape in SHAPES:
        for form, (learned, predicted) in batch_times(shape, events, seed).items():
            table.add_row(str(shape), form, f"{learned:.0f}", f"{predicted:.0f}")
    console.print(table)


def _step(model: Any) -> Callable[[Any, Any], object]:
    """Return what predicts an event and learns it."""
    if hasattr(model, "predict_learn_one"):
        return model.predict_learn_one

    def step(x: Any, y: Any) -> None:
        model.predict_proba_one(x)
        model.learn_one(x, y)

    return step


def main(arguments: Sequence[str] | None = None) -> None:
    """Time the default learner beside River's forest over streams of several widths, and print what should hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.costs", description=main.__doc__)
    parser.add_argument("--events", type=int, default=5_000, help="of each stream; default: %(default)s")
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    parser.add_argument("--batches", action="store_true", help="time batches of the default learner")
    options = parser.parse_args(arguments)
    if not stream_bayes.compiled:
        parser.error("this is the uncompiled build, whose times mean nothing")
    if options.batches:
        _show_batches(options.events, options.seed, Console())
        return
    checks = []
    for shape in SHAPES:
        models = AdaptiveBayes(), forest.ARFClassifier(n_models=10, seed=SEED)
        ours, theirs = times(models, shape, options.events, options.seed)
        ratio = sum(theirs) / sum(ours)
        checks.append(
            Check(
                str(shape),
                f"at least {TIMES_AS_FAST} times as fast as ARF(10)",
                f"{ratio:.1f}: {ours}; ARF(10) {theirs}",
                ratio >= TIMES_AS_FAST,
            )
        )
    show(checks, Console())


if __name__ == "__main__":
    main()
