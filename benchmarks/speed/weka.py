"""WEKA as a peer of the one-dependence family, timed inside a Java process that runs beside the benchmarks.

    python -m benchmarks.speed.weka          # what WEKA takes on this machine, as JSON

Java takes the time around loops over instances that exist already, so what is measured is WEKA's own work: no text,
no pipe, no start of Java. Both sides get their events from `codes`. For a line of the report, the WEKA side is

    Contest(raw, ours, weka_side(Shape(50, 8, 2), "both"))

where `weka_side` is None, and says why, if WEKA cannot run here. The harness then runs the two in turn, as it does with
every peer; the Java process waits while ours runs. A target "at most 0.5 times WEKA's time" is a `Case` with
`target=2`. The programs and the pom are in `tests/oracles/weka`.

A2DE is not measured: it belongs to a package that WEKA's own package manager installs, and is in no Maven artefact of
WEKA's that we know. `pairs` scales what it took elsewhere by what WEKA's AODE takes here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Side
from tests.oracles.weka.jvm import NoWeka, command, stream_text, version

__all__ = ["Shape", "WekaTimer", "codes", "weka_side", "weka_times"]

BAYES = "weka.classifiers.bayes."
TRAINED = 2_000  # events learned before anything is timed
STREAM = 5_000  # events that the timed passes take in turn
PASS = 0.1  # seconds a timed pass takes, about
WARM = 1.5  # seconds of a kind of work before it is timed; the Java compiler has settled well before
WORKS = ("update", "predict", "both")


@dataclass(frozen=True)
class Shape:
    """Numbers of features, of values of each, and of classes."""

    features: int
    values: int
    classes: int

    def __str__(self) -> str:
        return f"{self.features} x {self.values}, {self.classes} classes"


SHAPES = (Shape(20, 8, 2), Shape(50, 8, 2), Shape(100, 4, 2), Shape(50, 8, 10))


@cache
def codes(shape: Shape, rows: int, seed: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Codes of rows by features, and of labels: each class prefers other values of each feature."""
    rng = np.random.default_rng(seed)
    shares = np.random.default_rng(20).dirichlet(np.full(shape.values, 1.5), (shape.classes, shape.features))
    labels = rng.integers(0, shape.classes, rows)
    below = shares.cumsum(axis=2)[labels]
    drawn = (rng.random((rows, shape.features, 1)) > below).sum(axis=2)
    return np.minimum(drawn, shape.values - 1).astype(np.int32), labels.astype(np.int32)


class WekaTimer:
    """A classifier of WEKA in a Java process, trained and ready to be timed. The process ends with this object.

    Parameters
    ----------
    shape
        What the events are like.
    classifier
        A class of `weka.classifiers.bayes` that can be updated: "AODE", "AODEsr", "NaiveBayesUpdateable".
    options
        Its options, as on WEKA's command line.

    Raises
    ------
    NoWeka
        If Java or the jar are missing.
    """

    def __init__(self, shape: Shape, classifier: str = "AODE", options: Sequence[str] = ()) -> None:
        drawn, labels = codes(shape, STREAM, 2)
        rows = [(1.0, label, row) for row, label in zip(drawn.tolist(), labels.tolist(), strict=True)]
        self._process = subprocess.Popen(
            command("Times", str(TRAINED), BAYES + classifier, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.close = weakref.finalize(self, end, self._process)
        sizes = [shape.values] * shape.features
        answer = self._ask(stream_text(shape.classes, sizes, rows))
        if answer != "ready":
            raise RuntimeError(f"WEKA's {classifier} did not learn the stream; it said {answer!r}")

    def _ask(self, text: str) -> str:
        channel = self._process
        assert channel.stdin is not None and channel.stdout is not None
        channel.stdin.write(text + "\n")
        channel.stdin.flush()
        return channel.stdout.readline().strip()

    def seconds(self, work: str, events: int) -> float:
        """Return the time of the next events: "update" learns, "predict" predicts, "both" predicts and then learns."""
        answer = self._ask(f"{work},{events}")
        if not answer:
            raise RuntimeError(f"WEKA failed at {work}; what it said is on the error stream")
        return int(answer) * 1e-9

    def warmed(self, work: str, seconds: float = WARM) -> int:
        """Do some work until Java's compiler is through with it, and say how many events a timed pass takes."""
        events, spent, taken = 100, 0.0, 0.0
        while spent < seconds:
            taken = self.seconds(work, events)
            spent += taken
            if taken < PASS / 2:
                events *= 2
        return max(1, round(events * PASS / taken))


def end(process: subprocess.Popen[str]) -> None:
    """End Java by the end of its input."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    process.wait()


def left_out(reason: NoWeka) -> None:
    print(f"benchmarks: WEKA is left out: {reason}", file=sys.stderr)


def weka_side(
    shape: Shape, work: str, classifier: str = "AODE", options: Sequence[str] = (), warm: float = WARM
) -> Side | None:
    """WEKA's side of a contest, trained and warm; None where WEKA cannot run, after printing why.

    The events that the harness hands over are only counted: Java holds its own, of the same `codes(shape, 5000, 2)`.
    """
    try:
        timer = WekaTimer(shape, classifier, options)
    except NoWeka as reason:
        left_out(reason)
        return None
    events = timer.warmed(work, warm)

    def run(given: Sequence[Any]) -> float:
        return timer.seconds(work, len(given))

    return Side(events, run, list, chunk=events)


def weka_times(
    shapes: Iterable[Shape] = SHAPES,
    classifiers: Iterable[tuple[str, ...]] = (("AODE",), ("AODE", "-M"), ("NaiveBayesUpdateable",)),
    rounds: int = 10,
    warm: float = WARM,
) -> dict[str, Any] | None:
    """Microseconds an event, the best of some passes, by classifier, shape and work; None if WEKA cannot run.

    `{"weka": "3.6.14", "us": {"AODE": {"20 x 8, 2 classes": {"update": ..., "predict": ..., "both": ...}}}}`
    """
    shapes = tuple(shapes)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for classifier, *options in classifiers:
        by_shape = found.setdefault(" ".join([classifier, *options]), {})
        for shape in shapes:
            try:
                timer = WekaTimer(shape, classifier, options)
            except NoWeka as reason:
                left_out(reason)
                return None
            by_work = by_shape.setdefault(str(shape), {})
            for work in WORKS:
                events = timer.warmed(work, warm)
                by_work[work] = 1e6 * min(timer.seconds(work, events) for _ in range(rounds)) / events
            timer.close()
    return {"weka": version(), "us": found}


if __name__ == "__main__":
    measured = weka_times()
    print(json.dumps(measured, indent=1))
    sys.exit(measured is None)
