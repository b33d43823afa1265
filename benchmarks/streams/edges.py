"""`python -m benchmarks.streams.edges`: the default learner where streams are wide, or their numbers move.

Wide streams: the memory of the model, and the processor time of the slowest events in a thousand. Numbers that move:
the share of right answers in the last 500 of 2,000 events after the move, beside a learner that began with the move.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from rich.console import Console

import stream_bayes
from benchmarks.checks import Check, show
from stream_bayes import AdaptiveBayes

__all__ = ["MOVES", "WIDE", "main", "slowest", "tracked"]

Sample = tuple[dict[str, Any], Any]

MOST_BYTES = 64 * 2**20
MOST_SECONDS = 0.050  # of processor time, for one event in a thousand
JUMP, SLOW = 0.015, 0.025  # points below a learner begun anew
BEFORE, AFTER, JUDGED = 2_000, 2_000, 500


def many_classes(seed: int) -> Iterator[Sample]:
    """Yield events of 200 classes with 6 numbers."""
    rng = np.random.default_rng(seed)
    while True:
        label = int(rng.integers(200))
        yield {f"n{k}": float(rng.normal() + label * (k + 3) % 17) for k in range(6)}, label


def many_columns(seed: int) -> Iterator[Sample]:
    """Yield events of 2 classes with 1,000 numbers, one of which tells the class."""
    rng = np.random.default_rng(seed)
    while True:
        numbers = rng.normal(size=1_000).tolist()
        yield {f"n{k}": number for k, number in enumerate(numbers)}, numbers[0] > 0.0


def many_names(seed: int) -> Iterator[Sample]:
    """Yield events of 2 classes with four columns of 100,000 names."""
    source = random.Random(seed)
    while True:
        yield {f"id{k}": f"v{source.randrange(100_000)}" for k in range(4)}, source.choice("ab")


def mixed(seed: int) -> Iterator[Sample]:
    """Yield events of 100 classes with 30 numbers and 30 columns of 3,000 names."""
    rng, source = np.random.default_rng(seed), random.Random(seed)
    while True:
        label = int(rng.integers(100))
        x: dict[str, Any] = {f"n{k}": float(rng.normal() + label * (k + 3) % 17) for k in range(30)}
        yield x | {f"id{k}": f"v{source.randrange(3_000)}" for k in range(30)}, label


WIDE: dict[str, Callable[[int], Iterator[Sample]]] = {
    "200 classes, 6 numbers": many_classes,
    "1,000 numbers": many_columns,
    "4 columns of 100,000 names": many_names,
    "100 classes, 30 numbers, 30 columns of 3,000 names": mixed,
}

# What becomes of a number, so many events after the move began, and whether it is a jump.
MOVES: dict[str, tuple[Callable[[float, int], float], bool]] = {
    "+10": (lambda z, _: z + 10.0, True),
    "in cents": (lambda z, _: z * 100.0, True),
    "in hundreds": (lambda z, _: z / 100.0, True),
    "a mean that wanders off": (lambda z, event: z + event / 200.0, False),
    "inflation": (lambda z, event: (z + 10.0) * 1.001**event, False),
}


def slowest(stream: Iterator[Sample], events: int) -> tuple[AdaptiveBayes, float]:
    """Return the model after so many events, and the processor seconds of the slowest of a thousand."""
    model, seconds = AdaptiveBayes(), []
    for x, y in islice(stream, events):
        start = time.thread_time()
        model.predict_proba_one(x)
        model.learn_one(x, y)
        seconds.append(time.thread_time() - start)
    return model, float(np.quantile(seconds, 0.999))


def tracked(
    move: Callable[[float, int], float], is_jump: bool, seed: int, label_memory: int
) -> tuple[float, float, float]:
    """Return the shares of right answers some time after a move began: of a model that was there before it, of one that
    began with it, and of one that began with it and sees numbers that do not move, unless they have jumped.
    """
    source = random.Random(seed)
    models = [AdaptiveBayes(label_memory=label_memory) for _ in range(2 if is_jump else 3)]
    right = [0] * len(models)
    for number in range(BEFORE + AFTER):
        numbers = [source.gauss(0.0, 1.0) for _ in range(4)]
        label = "same" if numbers[0] * numbers[1] > 0.0 else "different"
        since = number - BEFORE
        moved = numbers if since < 0 else [move(z, since) for z in numbers]
        for k, (model, shown) in enumerate(zip(models, (moved, moved, numbers), strict=False)):
            if k and since < 0:
                continue
            answer = model.predict_learn_one({f"n{i}": value for i, value in enumerate(shown)}, label)
            if since >= AFTER - JUDGED:
                right[k] += max(answer, key=answer.__getitem__) == label
    return right[0] / JUDGED, right[1] / JUDGED, right[-1] / JUDGED


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the default learner over wide streams and numbers that move, and print what should hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.edges", description=main.__doc__)
    parser.add_argument(
        "--events", type=int, default=3_000, help="events of a wide stream; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=21, help="default: %(default)s")
    options = parser.parse_args(arguments)
    if not stream_bayes.compiled:
        parser.error("this is the uncompiled build, whose times mean nothing")
    checks = []
    for name, events in WIDE.items():
        model, seconds = slowest(events(options.seed), options.events)
        size = model.memory_bytes
        checks.append(Check(name, "at most 64 MB", f"{size / 2**20:.0f} MB", size <= MOST_BYTES))
        found = f"{1_000 * seconds:.0f} ms"
        checks.append(Check(name, "99.9 % of events in 50 ms", found, seconds <= MOST_SECONDS))
    for name, (move, is_jump) in MOVES.items():
        for memory in (0, 2):
            kept, anew, still = tracked(move, is_jump, options.seed, memory)
            most = JUMP if is_jump else SLOW
            checks.append(
                Check(
                    f"{name}{'' if memory else ', no label memory'}",
                    f"{100 * most:.1f} points of one begun anew, where numbers stay",
                    f"{100 * kept:.1f} against {100 * still:.1f} %; begun anew where they move {100 * anew:.1f} %",
                    kept >= still - most,
                )
            )
    show(checks, Console())


if __name__ == "__main__":
    main()
