"""Paths whose instructions are counted: learners, structures, and what stands around them in a run.

A path is a generator. Each value that it yields is a function that processes `events` new events; making them, and
training the model, happens before. The first is called to warm up, and the instructions of the second are counted: so
imports, first sizes of tables and caches to be filled do not count.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from stream_bayes import (
    AODE,
    KDB,
    LDA,
    TAN,
    AdaptiveBayes,
    AdaptiveRegression,
    BayesianRegression,
    BayesNet,
    GaussianNB,
    LiveChoice,
    MultinomialNB,
    NaiveBayes,
    Structure,
    load,
    save,
    streams,
)
from stream_bayes.errors import Exhausted
from stream_bayes.mail import EmailTokens, SpamFilter
from stream_bayes.networks import HillClimbing, sample_of

__all__ = ["PATHS", "GuardedPath"]

Pieces: TypeAlias = Iterator[Callable[[], object]]
Samples: TypeAlias = list[tuple[dict[str, Any], str]]

TRAINED = 300  # events before the first piece
FEATURES = [f"feature_{number:02}" for number in range(20)]
VALUES = "red green blue white black amber violet ochre".split()
LABELS = ["north", "south"]
RANKS = 1.0 / np.arange(3.0, 2003.0)  # Zipf's law
WORDS = np.array([f"word{number}" for number in range(RANKS.size)], object)


@dataclass(frozen=True)
class GuardedPath:
    """A path, and how many events a piece of it has."""

    name: str
    events: int
    pieces: Callable[[int], Pieces]


# --- events: each call returns new objects, as a stream does ---


def renewed(samples: Iterable[tuple[dict[str, Any], str]]) -> Samples:
    """Return samples decoded from JSON: their hashes are not computed yet."""
    return [(x, y) for x, y in (json.loads(json.dumps(sample)) for sample in samples)]


def nominal(rows: int, rng: np.random.Generator) -> Samples:
    """Return rows of 20 features with 8 values, whose order the class turns."""
    labels = rng.integers(0, 2, rows)
    codes = (rng.integers(0, 6, (rows, 20)) + labels[:, None] * rng.integers(0, 3, (rows, 20))) % 8
    return renewed(
        (dict(zip(FEATURES, (VALUES[code] for code in row), strict=True)), LABELS[label])
        for row, label in zip(codes.tolist(), labels.tolist(), strict=True)
    )


def numeric(rows: int, rng: np.random.Generator) -> Samples:
    """Return rows of 20 numbers around a middle for each class."""
    labels = rng.integers(0, 2, rows)
    numbers = rng.normal(labels[:, None] * np.linspace(-1.0, 1.0, 20), 1.0).round(4)
    return renewed(
        (dict(zip(FEATURES, row, strict=True)), LABELS[label])
        for row, label in zip(numbers.tolist(), labels.tolist(), strict=True)
    )


def few_nominal(rows: int, rng: np.random.Generator) -> Samples:
    """Return rows of the first 8 features, for what takes long."""
    return [({name: x[name] for name in FEATURES[:8]}, y) for x, y in nominal(rows, rng)]


def bags(rows: int, rng: np.random.Generator) -> Samples:
    """Return bags of 60 words by Zipf's law."""
    drawn = rng.choice(WORDS, (rows, 60), p=RANKS / RANKS.sum())
    return renewed((dict.fromkeys(row.tolist(), 1), LABELS[number % 2]) for number, row in enumerate(drawn))


def mails(rows: int, rng: np.random.Generator) -> list[tuple[bytes, str]]:
    """Return short messages with headers, plain text and a page."""
    made = []
    for number, (x, _) in enumerate(bags(rows, rng)):
        label = ("ham", "spam")[number % 2]
        text = " ".join(x)
        message = (
            f"Received: from mx.example.com ([192.0.2.7]) by in.example.org with ESMTP; Mon, 1 Jan 2024\n"
            f"From: {label}{number % 7}@example.com\nTo: bob@example.org\nSubject: {text[:40]}\n"
            f"Message-ID: <{number}@example.com>\nMIME-Version: 1.0\n"
            'Content-Type: multipart/alternative; boundary="=_b"\n\n'
            f"--=_b\nContent-Type: text/plain\n\n{text}\n"
            f"--=_b\nContent-Type: text/html\n\n<html><body><p>{text}</p>"
            f'<a href="http://{label}.example.com/{number}">more</a></body></html>\n--=_b--\n'
        )
        made.append((message.encode(), label))
    return made


# --- learners ---


def trained(make: Callable[[], Any], draw: Callable[..., Any], rng: np.random.Generator) -> Any:
    """Return a learner that has learned the first events."""
    model = make()
    for x, y in draw(TRAINED, rng):
        model.learn_one(x, y)
    return model


def learns(make: Callable[[], Any], draw: Callable[..., Any], events: int) -> Pieces:
    """Yield pieces that learn."""
    rng = np.random.default_rng(1)
    model = trained(make, draw, rng)

    def piece(samples: Samples) -> None:
        for x, y in samples:
            model.learn_one(x, y)

    while True:
        yield partial(piece, draw(events, rng))


def predicts(make: Callable[[], Any], draw: Callable[..., Any], events: int) -> Pieces:
    """Yield pieces that predict."""
    rng = np.random.default_rng(2)
    model = trained(make, draw, rng)

    def piece(samples: Samples) -> None:
        for x, _ in samples:
            model.predict_proba_one(x)

    while True:
        yield partial(piece, draw(events, rng))


def predicts_and_learns(make: Callable[[], Any], draw: Callable[..., Any], events: int) -> Pieces:
    """Yield pieces that predict each event and then learn it."""
    rng = np.random.default_rng(3)
    model = trained(make, draw, rng)

    def piece(samples: Samples) -> None:
        for x, y in samples:
            model.predict_proba_one(x)
            model.learn_one(x, y)

    while True:
        yield partial(piece, draw(events, rng))


def measured(rows: int, rng: np.random.Generator) -> list[tuple[dict[str, float], float]]:
    """Return rows of 20 numbers and a target that most of them move."""
    noise = rng.normal(size=rows).tolist()
    xs = [x for x, _ in numeric(rows, rng)]
    return [(x, sum(x.values()) + x[FEATURES[0]] ** 2 + each) for x, each in zip(xs, noise, strict=True)]


def forecasts_and_learns(make: Callable[[], Any], events: int) -> Pieces:
    """Yield pieces in which a regressor predicts each event with an interval, and then learns it."""
    rng = np.random.default_rng(15)
    model = trained(make, measured, rng)

    def piece(samples: list[tuple[dict[str, float], float]]) -> None:
        for x, y in samples:
            model.predict_one(x)
            model.predict_interval_one(x, 0.9)
            model.learn_one(x, y)

    while True:
        yield partial(piece, measured(events, rng))


# --- networks ---

GRAPH = Structure({FEATURES[child]: [FEATURES[child // 2]] if child else [] for child in range(12)})


def rows_of_a_network(rows: int, rng: np.random.Generator) -> list[dict[str, str]]:
    """Return rows of 12 variables, each like its parent more often than not."""
    codes = rng.integers(0, 4, (rows, 12))
    for child in range(1, 12):
        codes[:, child] = np.where(rng.random(rows) < 0.6, codes[:, child // 2], codes[:, child])
    named = [(dict(zip(FEATURES, map(VALUES.__getitem__, row), strict=False)), "") for row in codes.tolist()]
    return [x for x, _ in renewed(named)]


def network_learns(events: int) -> Pieces:
    """Yield pieces in which a network learns rows."""
    rng = np.random.default_rng(4)
    model = BayesNet(GRAPH)

    def piece(rows: list[dict[str, str]]) -> None:
        for row in rows:
            model.learn_one(row)

    while True:
        yield partial(piece, rows_of_a_network(events, rng))


def network_answers(events: int) -> Pieces:
    """Yield pieces of queries, each after a row that changes the tables."""
    rng = np.random.default_rng(5)
    model = BayesNet(GRAPH)
    model.learn_many(rows_of_a_network(TRAINED, rng))

    def piece(rows: list[dict[str, str]]) -> None:
        for number, row in enumerate(rows):
            evidence = {name: row[name] for name in FEATURES[number % 8 : number % 8 + 4]}
            model.query(FEATURES[11 - number % 7 if number % 8 < 3 else 0], evidence)
            if number % 8 == 7:
                model.learn_one(row)

    while True:
        yield partial(piece, rows_of_a_network(events, rng))


def searches(events: int) -> Pieces:
    """Yield pieces that search for the structure of so many rows, with restarts."""
    rng = np.random.default_rng(6)
    while True:
        sample = sample_of(rows_of_a_network(events, rng))
        yield partial(HillClimbing(max_parents=2, restarts=2, seed=1).search, sample)


# --- what stands around a learner in a run ---


def table(rows: int, rng: np.random.Generator) -> str:
    """Return a CSV file of 20 nominal columns and a label."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*FEATURES, "class"])
    writer.writerows([*x.values(), y] for x, y in nominal(rows, rng))
    return text.getvalue()


def reads(source: streams.Source) -> None:
    """Poll a source to its end."""
    with closing(source), suppress(Exhausted):
        while True:
            source.poll(1000)


def csv_rows(events: int) -> Pieces:
    """Yield pieces that read a CSV file."""
    rng = np.random.default_rng(7)
    with TemporaryDirectory() as folder:
        while True:
            path = Path(folder, "table.csv")
            path.write_text(table(events, rng), encoding="utf-8")
            yield partial(reads, streams.from_csv(path, target="class"))


def json_records(events: int) -> Pieces:
    """Yield pieces that decode JSON records."""
    rng = np.random.default_rng(8)
    decoder = streams.make_decoder("json", fields=streams.Fields(target="class"))

    def piece(records: list[bytes]) -> None:
        for position, record in enumerate(records):
            decoder.decode(record, position)

    while True:
        yield partial(piece, [json.dumps({**x, "class": y}).encode() for x, y in nominal(events, rng)])


def engine_steps(events: int) -> Pieces:
    """Yield pieces in which the engine's step predicts, scores and learns batches, and gives its outputs."""
    rng = np.random.default_rng(9)
    step = streams.Step(streams.served(NaiveBayes()))
    position = 0

    def piece(batches: list[list[streams.Event]]) -> None:
        for batch in batches:
            step.process(batch)
            step.collect_outputs()
            step.clear_results()

    while True:
        made = [streams.Event(x, y, position=position + at) for at, (x, y) in enumerate(nominal(events, rng))]
        position += events
        yield partial(piece, [made[start : start + 100] for start in range(0, events, 100)])


def saves(events: int) -> Pieces:
    """Yield pieces that save a model so many times."""
    model = trained(AODE, nominal, np.random.default_rng(10))
    with TemporaryDirectory() as folder:

        def piece() -> None:
            for _ in range(events):
                save(model, Path(folder, "model.zip"))

        while True:
            yield piece


def loads(events: int) -> Pieces:
    """Yield pieces that load a model so many times."""
    model = trained(AODE, nominal, np.random.default_rng(11))
    with TemporaryDirectory() as folder:
        save(model, Path(folder, "model.zip"))

        def piece() -> None:
            for _ in range(events):
                load(Path(folder, "model.zip"))

        while True:
            yield piece


def mail_tokens(events: int) -> Pieces:
    """Yield pieces that turn mails into tokens."""
    rng = np.random.default_rng(12)
    tokens = EmailTokens()

    def piece(messages: list[tuple[bytes, str]]) -> None:
        for message, _ in messages:
            tokens.transform_one(message)

    while True:
        yield partial(piece, mails(events, rng))


def mail_verdicts(events: int) -> Pieces:
    """Yield pieces that judge mails: their tokens, their score and the verdict."""
    rng = np.random.default_rng(13)
    model = SpamFilter()
    for message, label in mails(TRAINED, rng):
        model.learn_one(message, label)

    def piece(messages: list[tuple[bytes, str]]) -> None:
        for message, _ in messages:
            model.verdict_one(message)

    while True:
        yield partial(piece, mails(events, rng))


def with_both(name: str, make: Callable[[], Any], draw: Callable[..., Any], events: int) -> list[GuardedPath]:
    """Return the two paths of a learner: it learns, and it predicts."""
    return [
        GuardedPath(f"{name} learn", events, partial(learns, make, draw)),
        GuardedPath(f"{name} predict", events, partial(predicts, make, draw)),
    ]


PATHS = [
    *with_both("NaiveBayes, nominal", NaiveBayes, nominal, 1000),
    *with_both("GaussianNB", GaussianNB, numeric, 1000),
    *with_both("LDA", LDA, numeric, 1000),
    *with_both("AODE", AODE, nominal, 500),
    *with_both("TAN", TAN, nominal, 500),
    *with_both("KDB", KDB, nominal, 500),
    *with_both("MultinomialNB", MultinomialNB, bags, 1000),
    GuardedPath("LiveChoice event", 300, partial(predicts_and_learns, LiveChoice, nominal)),
    GuardedPath("AdaptiveBayes event", 100, partial(predicts_and_learns, AdaptiveBayes, few_nominal)),
    GuardedPath("BayesianRegression event", 300, partial(forecasts_and_learns, BayesianRegression)),
    GuardedPath("AdaptiveRegression event", 100, partial(forecasts_and_learns, AdaptiveRegression)),
    GuardedPath("BayesNet learn", 1000, network_learns),
    GuardedPath("BayesNet query", 200, network_answers),
    GuardedPath("hill climbing", 500, searches),
    GuardedPath("CSV rows", 2000, csv_rows),
    GuardedPath("JSON decode", 2000, json_records),
    GuardedPath("engine step", 1000, engine_steps),
    GuardedPath("snapshot save", 5, saves),
    GuardedPath("snapshot load", 5, loads),
    GuardedPath("mail tokens", 100, mail_tokens),
    GuardedPath("mail verdict", 100, mail_verdicts),
]
