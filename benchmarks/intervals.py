"""`python -m benchmarks.intervals`: the time of an interval, for every classifier, in predictions; and that of draws.

Each has learned 500 events of 2 or 7 classes with 10 or 18 features, and answers about 100 of them; the fastest of 25
passes of processor time counts. The target is 5 predictions, 1.5 of `AdaptiveBayes`. With `--inside`, each predicts the
first 5,000 events of four public streams instead, or words, then learns them: no answer may lie outside its interval.
With `--cover`, each learns 60 events of 500 worlds whose tables are drawn from the prior of an m-estimate: how many of
the true probabilities lie in intervals of 95 %.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import stream_bayes
from benchmarks.checks import Check, show
from benchmarks.streams.sources import STREAMS, fetch
from stream_bayes import HalfLifeChoice, ModelPerKey, NaiveBayes, Nominal, Schema, SlidingWindow
from stream_bayes.errors import BudgetExceeded
from stream_bayes.learners.catalogue import LEARNERS
from stream_bayes.learners.factory import make_learner

__all__ = ["covered", "drawing", "main", "outside", "ratio"]

PUBLIC = ("image segments", "phishing", "led drift", "keel letter")
ANSWERS = 5000
EVENTS, ASKED, PASSES = 500, 100, 25
DRAWS, DRAWING = 100, 5.0  # draws of naive Bayes over 20 names, and the milliseconds that they may take
SIZES = [(2, 10), (2, 18), (7, 10), (7, 18)]  # classes and features
WORLDS, LEARNED, CLASSES, FEATURES, VALUES = 500, 60, 3, 5, 3
LEAST_COVERED = 0.93
COVERED = (  # by names
    *(
        "nb",
        "lda",
        "spode",
        "aode",
        "a2de",
        "ode",
        "tan",
        "kdb",
        "bayes-net",
        "live-choice",
        "half-life-choice",
    ),
    "adaptive",
)
WRAPPED: dict[str, Callable[[], Any]] = {
    "half-life-choice": lambda: HalfLifeChoice(NaiveBayes(), [None, 100.0], combine="mixture"),
    "sliding-window": lambda: SlidingWindow(NaiveBayes(), 300),
    "model-per-key": lambda: ModelPerKey(NaiveBayes(), key="f0"),
}

Sample = tuple[dict[str, Any], str]


def events(kind: str, classes: int, features: int) -> list[Sample]:
    """Return events of names, numbers or words that tell something about the class."""
    source, rows = random.Random(1), []
    for _ in range(EVENTS):
        y = source.randrange(classes)
        x: dict[str, Any]
        if kind == "names":
            x = {
                f"f{k}": "abcd"[y % 4] if source.random() < 0.4 else source.choice("abcd")
                for k in range(features)
            }
        elif kind == "numbers":
            x = {f"f{k}": source.gauss(y * 0.4 * (k % 3), 1 + k % 2) for k in range(features)}
        else:
            x = {
                f"w{k}": source.randint(1, 3)
                for k in range(4 * features)
                if source.random() < 0.2 + 0.2 * ((k + y) % 3 == 0)
            }
        rows.append((x, f"class {y}"))
    return rows


def ratio(model: Any, samples: Sequence[Sample]) -> float:
    """Return the time of an interval in predictions, after a model has learned samples."""
    for x, y in samples:
        model.learn_one(x, y)
    asked = [x for x, _ in samples[:ASKED]]
    fastest = []
    for verb in (model.predict_interval_one, model.predict_proba_one):
        passes = []
        for _ in range(PASSES):
            start = time.thread_time()
            for x in asked:
                verb(x)
            passes.append(time.thread_time() - start)
        fastest.append(min(passes))
    return fastest[0] / fastest[1]


def drawing(model: Any, samples: Sequence[Sample]) -> float:
    """Return the milliseconds in which a model that has learned samples makes a number of draws."""
    for x, y in samples:
        model.learn_one(x, y)
    rng, passes = np.random.default_rng(0), []
    for _ in range(PASSES):
        start = time.thread_time()
        for _ in range(DRAWS):
            model.draw(rng)
        passes.append(time.thread_time() - start)
    return 1000.0 * min(passes)


def outside(model: Any, samples: Iterable[Sample], level: float = 0.95) -> tuple[int, int]:
    """Return the number of answers, and that of answers with a label outside its interval, each before its event is
    learned. A learner whose tables are full gives no further answers.
    """
    answers = wrong = 0
    for x, y in samples:
        answer = model.predict_proba_one(x)
        if answer:
            intervals = model.predict_interval_one(x, level)
            answers += 1
            wrong += not all(0.0 <= intervals[z][0] <= p <= intervals[z][1] <= 1.0 for z, p in answer.items())
        try:
            model.learn_one(x, y)
        except BudgetExceeded:
            break
    return answers, wrong


def covered(make: Callable[[Schema], Any]) -> tuple[float, float]:
    """Return the shares of true probabilities within intervals of 95 %: of predicted classes, and of all others.

    Classes are drawn from a Dirichlet distribution, and names given the class from another of each feature and class,
    with all parameters 1/3: the m-estimate of one event over three classes and three values.
    """
    rng = np.random.default_rng(1)
    names = [str(value) for value in range(VALUES)]
    schema = Schema({f"f{f}": Nominal(names) for f in range(FEATURES)}, classes=list(range(CLASSES)))
    held = np.zeros(2)
    for _ in range(WORLDS):
        prior = rng.dirichlet(np.full(CLASSES, 1.0 / CLASSES))
        tables = rng.dirichlet(np.full(VALUES, 1.0 / VALUES), (CLASSES, FEATURES))
        labels = rng.choice(CLASSES, size=LEARNED + 1, p=prior)
        below = rng.random((LEARNED + 1, FEATURES, 1)) > tables.cumsum(axis=2)[labels]
        codes = np.minimum(below.sum(axis=2), VALUES - 1)
        *rows, x = [{f"f{f}": names[code] for f, code in enumerate(row)} for row in codes.tolist()]
        truth = prior * tables[:, range(FEATURES), codes[-1]].prod(axis=1)
        truth /= truth.sum()
        model = make(schema)
        for row, y in zip(rows, labels[:-1].tolist(), strict=True):
            model.learn_one(row, y)
        best = model.predict_one(x)
        for y, (low, high) in model.predict_interval_one(x).items():
            held[int(y != best)] += low <= truth[y] <= high
    return held[0] / WORLDS, held[1] / WORLDS / (CLASSES - 1)


def made_with(name: str, schema: Schema) -> Any:
    """Return a classifier of declared names with an m-estimate, where it has one."""
    if name == "half-life-choice":
        learner = NaiveBayes(prior="m-estimate", schema=schema)
        return HalfLifeChoice(learner, [None, 500.0], combine="mixture")
    arguments: dict[str, Any] = {"parents": {"f1": "f0"}} if name == "ode" else {}
    if name in ("nb", "lda", "qda"):
        arguments["prior"] = "m-estimate"
    if name == "adaptive":
        arguments["label_memory"] = 0
    return make_learner(name, arguments, schema)


def kinds_of(model: Any) -> list[str]:
    """Return the kinds of features that a model takes."""
    inputs = getattr(model, "inputs", {"nominal", "numeric"})
    if inputs == {"bag"}:
        return ["words"]
    return [kind for kind, name in (("names", "nominal"), ("numbers", "numeric")) if name in inputs]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the classifiers whose names match, and print what should hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals", description=main.__doc__)
    parser.add_argument("--model", default="", help="classifiers whose names match this regular expression")
    parser.add_argument("--inside", action="store_true", help="count answers outside their intervals instead")
    parser.add_argument("--data", type=Path, default=Path("build/streams"), help="directory of downloads")
    parser.add_argument("--cover", action="store_true", help="count true probabilities within them instead")
    options = parser.parse_args(arguments)
    if not stream_bayes.compiled:
        parser.error("this is the uncompiled build, whose times mean nothing")
    if options.inside:
        fetch(options.data, {STREAMS[stream].origin for stream in PUBLIC})
    checks = []
    for name in LEARNERS:
        if not re.search(options.model, name):
            continue
        if options.cover:
            if name in COVERED:
                shares = covered(partial(made_with, name))
                text = f"{shares[0]:.3f}, others {shares[1]:.3f}"
                checks.append(Check(name, f"at least {LEAST_COVERED:g}", text, min(shares) >= LEAST_COVERED))
            continue
        arguments = {"parents": {"f1": "f0"}} if name == "ode" else {}
        make = WRAPPED.get(name, partial(make_learner, name, arguments))
        if options.inside:
            streams: dict[str, Iterable[Sample]]
            if kinds_of(make()) == ["words"]:
                streams = {"words": events("words", 7, 18)}
            else:
                streams = {stream: STREAMS[stream].samples(options.data) for stream in PUBLIC}
            for stream, samples in streams.items():
                answers, wrong = outside(make(), islice(samples, ANSWERS))
                checks.append(
                    Check(f"{name}, {stream}", "0 answers outside", f"{wrong} of {answers}", wrong == 0)
                )
            continue
        most = 1.5 if name == "adaptive" else 5.0
        for kind in kinds_of(make()):
            found = [ratio(make(), events(kind, *size)) for size in SIZES]
            text = ", ".join(f"{each:.1f}" for each in found)
            checks.append(Check(f"{name}, {kind}", f"at most {most:g} predictions", text, max(found) <= most))
    if not (options.inside or options.cover) and re.search(options.model, "nb"):
        took = drawing(NaiveBayes(), events("names", 2, 20))
        checks.append(
            Check("nb, names", f"{DRAWS} draws in at most {DRAWING:g} ms", f"{took:.1f} ms", took <= DRAWING)
        )
    show(checks, Console())


if __name__ == "__main__":
    main()
