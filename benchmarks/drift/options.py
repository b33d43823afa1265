"""`python -m benchmarks.drift.options`: what each option of `DriftAdaptive` gains or loses against its default.

A cell is the difference in log-loss per event, in nats, with its standard error over seeds; below 0 the option is
better than the default. Every setting of a learner predicts and learns the same events.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import stream_bayes
from benchmarks.drift.search import another_graph
from benchmarks.drift.streams import (
    STREAMS,
    Labelled,
    Make,
    abrupt,
    features_alone,
    gradual,
    networks,
    one_table,
    stationary,
)
from stream_bayes import AODE, KDB, TAN, BayesNetClassifier, DriftAdaptive
from stream_bayes.learners.base.class_probabilities import log_loss
from tests.concepts import stream_of, with_new_tables

__all__ = ["KINDS", "LEARNERS", "OPTIONS", "differences", "main"]

LEARNERS: Mapping[str, Callable[[], Any]] = {
    "TAN": TAN,
    "AODE": lambda: AODE(min_count=1.0),
    "KDB": lambda: KDB(k=2),
    "network": BayesNetClassifier,
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "retired=0": {"retired": 0},
    "signal=family": {"signal": "family"},
    "policy=refit": {"policy": "refit"},
    "policy=search": {"policy": "search"},
}


def new_graph(part: int, seed: int) -> Iterator[Labelled]:
    """Yield events of a network, then of one with other edges."""
    before, _, target = networks(seed)
    return stream_of([(before, part), (another_graph(before, seed + 1000), part)], target, seed)


def some_tables(part: int, seed: int) -> Iterator[Labelled]:
    """Yield events of a network, then of one with new tables of three variables."""
    before, _, target = networks(seed)
    after = with_new_tables(before, seed + 1000, sorted(before.structure)[:3])
    return stream_of([(before, part), (after, part)], target, seed)


def recurring(part: int, seed: int) -> Iterator[Labelled]:
    """Yield events of two graphs that take turns, four times."""
    before, _, target = networks(seed)
    return stream_of([(before, part), (another_graph(before, seed + 1000), part)] * 2, target, seed)


KINDS: Mapping[str, Make] = {
    "graph": new_graph,
    "all tables": abrupt,
    "the class's table": one_table,
    "three tables": some_tables,
    "recurring graphs": recurring,
    "gradual": gradual,
    "none": stationary,
    "features alone": features_alone,
    **STREAMS,
}


def loss(model: DriftAdaptive, events: Sequence[Labelled]) -> float:
    """Return the mean log-loss, each event predicted before it is learned; the first event has no prediction."""
    x, y = events[0]
    model.learn_one(x, y)
    scored = (log_loss(model.predict_learn_one(x, y), y) for x, y in islice(events, 1, None))
    return math.fsum(scored) / (len(events) - 1)


def differences(make: Callable[[], Any], kind: str, part: int, seeds: int) -> dict[str, list[float]]:
    """Return each option's log-loss less that of the defaults, a number a seed."""
    found: dict[str, list[float]] = {name: [] for name in OPTIONS}
    for seed in range(1, seeds + 1):
        events = list(KINDS[kind](part, 100 * seed))
        default = loss(DriftAdaptive(make()), events)
        for name, option in OPTIONS.items():
            found[name].append(loss(DriftAdaptive(make(), **option), events) - default)
    return found


def cell(numbers: Sequence[float]) -> str:
    """Return a mean with its standard error over seeds."""
    error = np.std(numbers, ddof=1) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return f"{np.mean(numbers):+.3f} ± {error:.3f}"


def main(given: Sequence[str] | None = None) -> int:
    """Measure the options, print a table for each learner, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift.options", description=__doc__)
    parser.add_argument("--seeds", metavar="N", type=int, default=3, help="streams of each kind (default 3)")
    parser.add_argument(
        "--part", metavar="N", type=int, default=5_000, help="events of a concept (default 5000)"
    )
    parser.add_argument(
        "--learner", choices=list(LEARNERS), action="append", help="only this; may be repeated"
    )
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="only this; may be repeated")
    options = parser.parse_args(given)
    if options.seeds < 1 or options.part < 100:
        parser.error("expected --seeds of at least 1 and --part of at least 100")
    if not stream_bayes.compiled:
        parser.error("this is the uncompiled build of stream_bayes; it would take hours")
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for learner in options.learner or LEARNERS:
        table = Table(
            title=f"{learner}: log-loss against the defaults of DriftAdaptive", title_justify="left"
        )
        for heading in ("kind of drift", *OPTIONS):
            table.add_column(heading)
        for kind in options.kind or KINDS:
            found = differences(LEARNERS[learner], kind, options.part, options.seeds)
            table.add_row(kind, *map(cell, found.values()))
        console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
