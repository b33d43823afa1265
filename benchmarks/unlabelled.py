"""The worth of events without a label: one event in so many keeps its label.

    python -m benchmarks.unlabelled [--every 20] [--events 5000] [--stream REGEX] [--learner NAME ...]
    python -m benchmarks.unlabelled --every 50 --messages sms_spam_collection.jsonl.gz

All events are predicted, then learned: by a learner that gets the labelled ones alone, and by the same one with
`unlabelled="em"`, which may nowhere lose more than .01 nats. With `--messages`, a corpus in the form that
`benchmarks.spam` reads, short messages come instead of the public streams, their words as features.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from river.feature_extraction import BagOfWords

from benchmarks.checks import Check, show
from benchmarks.spam.filters import Corpus
from benchmarks.streams.scoring import DOUBT
from benchmarks.streams.sources import STREAMS, fetch
from stream_bayes import A2DE, AODE, KDB, SPODE, TAN, BayesNetClassifier, MultinomialNB, NaiveBayes

__all__ = ["Worth", "checks_of", "main", "worth"]

LEARNERS: dict[str, Callable[..., Any]] = {
    "nb": NaiveBayes,
    "spode": SPODE,
    "aode": AODE,
    "a2de": A2DE,
    "tan": TAN,
    "kdb": KDB,
    "network": partial(BayesNetClassifier, None),
}
MESSAGES = "messages"
MOST_LOST = 0.01  # nats
LEAST_RIGHT = {MESSAGES: 0.965, "led drift": 0.735}  # with events without a label
NOT_BELOW_LABELS_ALONE = {"image segments"}

Sample = tuple[dict[str, Any], Any]


class Worth(NamedTuple):
    """Accuracy and log-loss by the labels alone, and by all events; and the seconds that these took."""

    accuracy: float
    accuracy_with_all: float
    loss: float
    loss_with_all: float
    seconds_with_all: float


def worth(make: Callable[..., Any], samples: Sequence[Sample], every: int) -> Worth:
    """Return what a learner makes of a stream in which one event in `every` keeps its label."""
    accuracy, loss = _measured(make(), samples, every, False)
    start = process_time()
    accuracy_with_all, loss_with_all = _measured(make(unlabelled="em"), samples, every, True)
    return Worth(accuracy, accuracy_with_all, loss, loss_with_all, process_time() - start)


def _measured(model: Any, samples: Iterable[Sample], every: int, learns_all: bool) -> tuple[float, float]:
    """Return the accuracy and log-loss of a model over all events after the first label."""
    right, loss, events = 0, 0.0, 0
    seen: set[Any] = set()
    for number, (x, y) in enumerate(samples):
        if seen:
            answer = model.predict_proba_one(x)
            loss -= math.log((1.0 - DOUBT) * answer.get(y, 0.0) + DOUBT / len(seen | {y}))
            right += max(answer, key=answer.__getitem__) == y
            events += 1
        if number % every == 0:
            seen.add(y)
            model.learn_one(x, y)
        elif learns_all:
            model.learn_one(x, None)
    return right / events, loss / events


def checks_of(stream: str, learner: str, result: Worth) -> list[Check]:
    """Return the checks of one learner on one stream."""
    lost = result.loss_with_all - result.loss
    checks = [Check(stream, f"{learner}: at most {MOST_LOST} nats lost", f"{lost:+.4f}", lost <= MOST_LOST)]
    least = result.accuracy if stream in NOT_BELOW_LABELS_ALONE else LEAST_RIGHT.get(stream)
    if least is not None:
        right = result.accuracy_with_all
        checks.append(
            Check(stream, f"{learner}: accuracy of at least {least:.4f}", f"{right:.4f}", right >= least)
        )
    return checks


def messages(path: Path) -> list[Sample]:
    """Return the words of each message of a corpus in its order, with its label."""
    corpus, words = Corpus.read(path), BagOfWords()
    texts = [each if isinstance(each, str) else each.decode("latin-1") for each in corpus.messages]
    labels = ["spam" if spam else "ham" for spam in corpus.spam]
    return [(dict(words.transform_one(text)), label) for text, label in zip(texts, labels, strict=True)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare learners with and without events that have no label; exit 1 if a check is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unlabelled", description=main.__doc__)
    parser.add_argument("--every", type=int, default=20, help="one event in so many keeps its label")
    parser.add_argument(
        "--events", type=int, default=5_000, help="events of each stream; default: %(default)s"
    )
    parser.add_argument("--stream", default="", help="streams whose names match this regular expression")
    parser.add_argument("--learner", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--messages", type=Path, help="corpus of messages to take in place of the streams")
    parser.add_argument("--data", type=Path, default=Path("build/streams"), help="directory of downloads")
    options = parser.parse_args(arguments)
    learners = {name: LEARNERS[name] for name in options.learner}
    streams: dict[str, Callable[[], Sequence[Sample]]]
    if options.messages is not None:
        streams, learners = {MESSAGES: partial(messages, options.messages)}, {"multinomial": MultinomialNB}
    else:
        chosen = {name: stream for name, stream in STREAMS.items() if re.search(options.stream, name)}
        fetch(options.data, {stream.origin for stream in chosen.values()})
        streams = {
            name: lambda stream=stream: list(islice(stream.samples(options.data), options.events))
            for name, stream in chosen.items()
        }
    console, checks = Console(), []
    table = Table(title=f"One label in {options.every}", title_justify="left")
    for heading in ("stream", "learner", "accuracy", "with all", "log-loss", "with all", "us an event"):
        table.add_column(heading, justify="left" if heading in ("stream", "learner") else "right")
    for name, samples in streams.items():
        rows = samples()
        for learner, make in learners.items():
            result = worth(make, rows, options.every)
            measures = (f"{each:.4f}" for each in result[:4])
            table.add_row(name, learner, *measures, f"{1e6 * result.seconds_with_all / len(rows):.0f}")
            checks += checks_of(name, learner, result)
            console.log(name, learner, *(check.found for check in checks[-1:]))
    console.print(table)
    show(checks, console)
    return 0 if all(check.met for check in checks) else 1


if __name__ == "__main__":
    raise SystemExit(main())
