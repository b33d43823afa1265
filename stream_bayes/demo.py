"""`make demo`: test-then-train over the streams that ship with River, beside River's own naive Bayes.

python -m stream_bayes.demo                 all of them, about half a minute
python -m stream_bayes.demo Phishing        those named
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from river import datasets, naive_bayes

import stream_bayes
from stream_bayes import NaiveBayes, Nominal, Schema

STREAMS: dict[str, Callable[[], Any]] = {
    "Phishing": datasets.Phishing,
    "ImageSegments": datasets.ImageSegments,
    "Bananas": datasets.Bananas,
    "Shuttle": datasets.Shuttle,
}
LEVELS = {"Phishing"}  # its numbers are a few levels each, so they may as well be counted as names


@dataclass
class Score:
    """How a learner did on a stream, each event predicted before it was learned."""

    events: int = 0
    right: int = 0
    log_loss: float = 0.0
    seconds: float = 0.0

    def add(self, probabilities: Mapping[Any, float], label: Any) -> None:
        """Score one prediction; a class that was not yet known had probability 0, counted as one in a million."""
        self.events += 1
        self.right += bool(probabilities) and max(probabilities, key=probabilities.__getitem__) == label
        self.log_loss -= math.log(max(probabilities.get(label, 0.0), 1e-6))


def run(events: Iterable[tuple[dict[Any, Any], Any]], step: Callable[..., Mapping[Any, float]]) -> Score:
    """Predict, score and learn each event; the time is that of predicting and learning alone."""
    score = Score()
    for x, y in events:
        start = time.perf_counter()
        probabilities = step(x, y)
        score.seconds += time.perf_counter() - start
        score.add(probabilities, y)
    return score


def predict_then_learn(model: Any) -> Callable[..., Mapping[Any, float]]:
    """River's two calls as one step."""

    def step(x: dict[Any, Any], y: Any) -> Mapping[Any, float]:
        probabilities: Mapping[Any, float] = model.predict_proba_one(x)
        model.learn_one(x, y)
        return probabilities

    return step


def contenders(stream: str, features: Iterable[str]) -> dict[str, Callable[..., Mapping[Any, float]]]:
    """What runs on each stream."""
    learners = {"NaiveBayes": NaiveBayes().predict_learn_one}
    if stream in LEVELS:
        schema = Schema({name: Nominal() for name in features})
        learners["NaiveBayes, nominal"] = NaiveBayes(schema=schema).predict_learn_one
    return learners | {"River GaussianNB": predict_then_learn(naive_bayes.GaussianNB())}


def chosen(arguments: Sequence[str] | None) -> list[str]:
    """The streams that are named on the command line, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m stream_bayes.demo", description="test-then-train, beside River"
    )
    parser.add_argument("stream", nargs="*", help=f"of {', '.join(STREAMS)}; all, if none is named")
    named: list[str] = parser.parse_args(arguments).stream
    for name in named:
        if name not in STREAMS:
            parser.error(f"there is no stream {name!r}, only {', '.join(STREAMS)}")
    return named or list(STREAMS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the streams asked for, then print the table."""
    streams = chosen(arguments)
    console = Console()
    console.print(
        f"stream_bayes {stream_bayes.__version__}, {'compiled' if stream_bayes.compiled else 'uncompiled'}, "
        f"Python {sys.version.split()[0]}\n"
    )
    table = Table(title="Each event is predicted before it is learned", box=SIMPLE)
    for heading in ("stream", "learner"):
        table.add_column(heading, no_wrap=True)
    for heading in ("events", "right %", "log-loss", "events/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    columns = (TextColumn("{task.description:<44}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for stream in streams:
            events = list(STREAMS[stream]())
            for name, step in contenders(stream, events[0][0]).items():
                task = progress.add_task(f"{stream}: {name}", total=len(events))
                score = run(progress.track(events, task_id=task), step)
                table.add_row(
                    stream,
                    name,
                    f"{score.events:,}",
                    f"{100 * score.right / score.events:.2f}",
                    f"{score.log_loss / score.events:.3f}",
                    f"{score.events / score.seconds / 1000:,.1f}k",
                )
            table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()
