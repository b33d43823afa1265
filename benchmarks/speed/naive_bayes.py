"""Naive Bayes beside River: 20 nominal features of 8 values or 20 numeric ones, 2 and 10 classes, events as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from river import naive_bayes, preprocessing

import stream_bayes
from benchmarks.harness import Case, Contest, Learner, Side, learns, predicts, predicts_learns

__all__ = ["CLASS_NAMES", "FEATURES", "VALUES", "cases", "nominal_codes"]

FEATURES = tuple(f"feature_{number:02}" for number in range(20))
VALUES = tuple("red green blue white black amber violet ochre".split())
CLASS_NAMES = tuple("north east south west spring summer autumn winter dawn dusk".split())
TRAINED = 2_000
STREAM = 5_000


def nominal_codes(rows: int, classes: int, seed: int) -> tuple[Any, Any]:
    """Codes of rows by features, and of labels: each class prefers other values of each feature."""
    rng = np.random.default_rng(seed)
    shares = np.random.default_rng(20).dirichlet(np.full(len(VALUES), 1.5), (classes, len(FEATURES)))
    labels = rng.integers(0, classes, rows)
    below = shares.cumsum(axis=2)[labels]
    codes = (rng.random((rows, len(FEATURES), 1)) > below).sum(axis=2)
    return np.minimum(codes, len(VALUES) - 1).astype(np.int32), labels.astype(np.int32)


@cache
def nominal_lines(rows: int, classes: int, seed: int) -> list[str]:
    """Events with nominal features, a line of JSON each."""
    codes, labels = nominal_codes(rows, classes, seed)
    return [
        json.dumps([dict(zip(FEATURES, (VALUES[code] for code in row), strict=True)), CLASS_NAMES[label]])
        for row, label in zip(codes.tolist(), labels.tolist(), strict=True)
    ]


@cache
def numeric_lines(rows: int, classes: int, seed: int) -> list[str]:
    """Events with numeric features, a line of JSON each: a Gaussian for each class and feature."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(21).normal(0.0, 1.5, (classes, len(FEATURES)))
    labels = rng.integers(0, classes, rows)
    numbers = rng.normal(means[labels], 1.0).round(4)
    return [
        json.dumps([dict(zip(FEATURES, row, strict=True)), CLASS_NAMES[label]])
        for row, label in zip(numbers.tolist(), labels.tolist(), strict=True)
    ]


def decoded(lines: Sequence[str]) -> list[Any]:
    """Return events decoded one by one: names and values are strings of their own."""
    return [json.loads(line) for line in lines]


def one_hot() -> Learner:
    """Return River's transformer of nominal features."""
    return preprocessing.OneHotEncoder() | naive_bayes.MultinomialNB()


def contest(
    run: Callable[[Learner], Callable[[Any], float]],
    lines: Callable[[int, int, int], list[str]],
    classes: int,
    ours: Callable[[], Learner],
    our_events: int,
    peer: Callable[[], Learner] | None = None,
    peer_events: int = 0,
) -> Contest:
    """Ours against a peer, both trained with the same events."""

    def side(make: Callable[[], Learner], events: int) -> Side:
        model = make()
        for x, y in decoded(lines(TRAINED, classes, 1)):
            model.learn_one(x, y)
        return Side(events, run(model), decoded)

    other = None if peer is None else side(peer, peer_events)
    return Contest(lines(STREAM, classes, 2), side(ours, our_events), other)


def cases() -> list[Case]:
    """Return the report's lines."""
    made = []
    for classes in (2, 10):
        for kind, lines, ours, peer, learn, predict in (
            ("nominal", nominal_lines, stream_bayes.NaiveBayes, one_hot, 100, 150),
            ("numeric", numeric_lines, stream_bayes.NaiveBayes, naive_bayes.GaussianNB, 6, 60),
            ("numeric", numeric_lines, stream_bayes.GaussianNB, naive_bayes.GaussianNB, None, None),
        ):
            data = f"20 {kind}, {classes} classes"
            name = "River OneHotEncoder | MultinomialNB" if peer is one_hot else "River GaussianNB"
            few = 50 if kind == "nominal" else 1_000
            start = partial(contest, lines=lines, classes=classes, ours=ours)
            made += [
                Case(
                    f"{ours.__name__} learn, {data}",
                    partial(start, learns, our_events=5_000, peer=peer, peer_events=few),
                    name,
                    learn,
                ),
                Case(
                    f"{ours.__name__} predict, {data}",
                    partial(start, predicts, our_events=5_000, peer=peer, peer_events=50),
                    name,
                    predict,
                ),
            ]
            if ours is stream_bayes.NaiveBayes:
                made.append(
                    Case(
                        f"{ours.__name__} predict_learn_one, {data}",
                        partial(start, predicts_learns, our_events=5_000),
                    )
                )
    for discriminant in (stream_bayes.LDA, stream_bayes.QDA):
        start = partial(contest, lines=numeric_lines, classes=2, ours=discriminant, our_events=3_000)
        made += [
            Case(f"{discriminant.__name__} learn, 20 numeric, 2 classes", partial(start, learns), limit=3.0),
            Case(
                f"{discriminant.__name__} predict, 20 numeric, 2 classes", partial(start, predicts), limit=4.0
            ),
        ]
    return made
