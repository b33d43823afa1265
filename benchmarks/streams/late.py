"""`python -m benchmarks.streams.late`: the default learner where labels come 100 or 1,000 events after their samples.

Each event is predicted when it comes, and learned when its label does: as `AdaptiveBayes.hold` kept it, with the last
labels and departures of the moment of its prediction, or as it came, with those of the later moment. Label memory may
be left out, and naive Bayes needs none. Accuracy and log-loss, of which a thousandth of each answer is spread over the
labels so far, are of the events after the first label that was learned.
"""

from __future__ import annotations

import argparse
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.streams.scoring import DOUBT
from benchmarks.streams.sources import STREAMS, fetch
from stream_bayes import AdaptiveBayes, NaiveBayes

__all__ = ["MODELS", "main", "scored_late"]

DELAYS = (0, 100, 1_000)
CHOSEN = ("electricity", "weather", "sea", "sine 1 to 3", "keel chess")

Sample = tuple[dict[str, Any], str]
MODELS: dict[str, tuple[Callable[[], Any], bool]] = {  # and whether events are held
    "AdaptiveBayes, held": (AdaptiveBayes, True),
    "AdaptiveBayes, as it came": (AdaptiveBayes, False),
    "label_memory=0, held": (lambda: AdaptiveBayes(label_memory=0), True),
    "NaiveBayes": (NaiveBayes, False),
}


def scored_late(model: Any, samples: Iterable[Sample], delay: int, holds: bool) -> tuple[float, float]:
    """Return accuracy and log-loss of the answers of a model that learns each label so many events after its sample."""
    waiting: deque[Sample] = deque()
    labels: set[str] = set()
    right = count = 0
    loss = 0.0
    for x, y in samples:
        answer = model.predict_proba_one(x)
        labels.add(y)
        if answer:
            share = (1.0 - DOUBT) * answer.get(y, 0.0) / math.fsum(answer.values()) + DOUBT / len(labels)
            loss -= math.log(share)
            right += max(answer, key=answer.__getitem__) == y
            count += 1
        waiting.append((model.hold(x) if holds else x, y))
        if len(waiting) > delay:
            model.learn_one(*waiting.popleft())
    return right / count, loss / count


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the models over some streams, and print how well they predict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.late", description=main.__doc__)
    parser.add_argument(
        "--events", type=int, default=5_000, help="events of each stream; default: %(default)s"
    )
    parser.add_argument("--data", type=Path, default=Path("build/streams"), help="directory of downloads")
    options = parser.parse_args(arguments)
    fetch(options.data, {STREAMS[name].origin for name in CHOSEN})
    table = Table(title="Right answers in percent, log-loss in nats")
    for heading in ("stream", "labels late by", *MODELS):
        table.add_column(heading)
    for name in CHOSEN:
        samples = list(islice(STREAMS[name].samples(options.data), options.events))
        for delay in DELAYS:
            scores = [scored_late(make(), samples, delay, holds) for make, holds in MODELS.values()]
            table.add_row(name, f"{delay:,}", *(f"{accuracy:.2%}, {loss:.3f}" for accuracy, loss in scores))
    Console().print(table)


if __name__ == "__main__":
    main()
