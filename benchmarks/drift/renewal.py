"""`python -m benchmarks.drift.renewal`: what trying fresh models costs on a stream without drift.

For each learner, the processor time of `DriftAdaptive(learner)` as a multiple of that with `renew=False`, and of the
learner alone, over the same events of a world that does not change; each event is predicted, then learned. The fastest
of a few rounds, in which the three take turns, counts. Columns are the first events of a stream, where trials are
frequent, and those after.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from time import process_time
from typing import Any

from benchmarks.drift.streams import Labelled, stationary
from stream_bayes import AODE, KDB, TAN, DriftAdaptive, NaiveBayes

__all__ = ["LEARNERS", "main", "seconds", "spans"]

LEARNERS: Mapping[str, Callable[[], Any]] = {
    "NaiveBayes": NaiveBayes,
    "TAN": TAN,
    "AODE": lambda: AODE(min_count=1.0),
    "KDB": lambda: KDB(k=2),
}
FIRST = 5_000  # events of the first column


def spans(count: int) -> list[tuple[int, int]]:
    """Return the parts of a stream that are timed apart: begin and end of each."""
    return list(pairwise([0, min(FIRST, count), *([count] if count > FIRST else [])]))


def seconds(model: Any, events: Sequence[Labelled]) -> list[float]:
    """Return the processor time of each part of the stream."""
    found = []
    for begin, end in spans(len(events)):
        start = process_time()
        for x, y in events[begin:end]:
            model.predict_learn_one(x, y)
        found.append(process_time() - start)
    return found


def main(given: Sequence[str] | None = None) -> int:
    """Print a line for each learner, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift.renewal", description=__doc__)
    parser.add_argument("--events", metavar="N", type=int, default=30_000, help="length (default 30000)")
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="rounds of each (default 3)")
    options = parser.parse_args(given)
    if options.events < 1_000 or options.rounds < 1:
        parser.error("expected --events of at least 1000 and --rounds of at least 1")
    events = list(stationary(options.events, 1))[: options.events]
    for name, make in LEARNERS.items():
        kinds: list[Callable[[], Any]] = [
            lambda make=make: DriftAdaptive(make()),
            lambda make=make: DriftAdaptive(make(), renew=False),
            make,
        ]
        rounds = [[seconds(kind(), events) for kind in kinds] for _ in range(options.rounds)]
        cells = []
        for place, (begin, end) in enumerate(spans(len(events))):
            renewed, still, alone = (min(turn[kind][place] for turn in rounds) for kind in range(len(kinds)))
            cells.append(
                f"events {begin:,} to {end:,}: {renewed / still:.2f} of renew=False, {renewed / alone:.2f} of it alone"
            )
        print(f"{name}: {'; '.join(cells)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
