"""`python -m benchmarks.settings`: what other defaults would do, on streams that the accuracy benchmark does not use.

River's generators, some of them drifting, and scikit-learn's bundled tables in a shuffled order. Each stream is made
from several seeds and counts once; each setting is compared with the present default on the same events.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from river.datasets import synth
from sklearn import datasets

import stream_bayes
from benchmarks.harness import Learner
from stream_bayes import A2DE, AODE, KDB, SPODE, TAN, LiveChoice
from stream_bayes.learners.classifiers.live_choice import READINGS
from stream_bayes.streams import compare

__all__ = ["SETTINGS", "STREAMS", "differences", "main"]

Events = list[tuple[dict[Any, Any], Any]]

LENGTH = 3000
WIDE = 2000  # of streams with many features


def first(stream: Iterable[Any], events: int = LENGTH) -> Events:
    return list(itertools.islice(stream, events))


def in_words(events: Iterable[Any], names: str = "") -> Events:
    """Return the same events with values as strings, of the features whose names hold `names`."""
    return [({n: str(v) if names in str(n) else v for n, v in x.items()}, y) for x, y in events]


def drifting(before: Iterable[Any], after: Iterable[Any]) -> Events:
    return first(before, LENGTH // 2) + first(after, LENGTH // 2)


def shuffled(table: Any, seed: int) -> Events:
    order = np.random.default_rng(seed).permutation(len(table.target))
    data = table.data
    if data.shape[1] == 64:  # handwritten digits: every four pixels as one
        data = data.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    return [({f"f{n}": v for n, v in enumerate(data[row].tolist())}, int(table.target[row])) for row in order]


def agrawal(function: int, seed: int) -> Iterable[Any]:
    return synth.Agrawal(classification_function=function, seed=seed, perturbation=0.05)


def sea(variant: int, noise: float, seed: int) -> Iterable[Any]:
    return synth.SEA(variant=variant, noise=noise, seed=seed)


def balls(classes: int, centroids: int, seed: int) -> Iterable[Any]:
    return synth.RandomRBF(seed, seed, n_classes=classes, n_features=10, n_centroids=centroids)


STREAMS: Mapping[str, Callable[[int], Events]] = {
    "Agrawal 1": lambda seed: first(agrawal(1, seed)),
    "Agrawal 4": lambda seed: first(agrawal(4, seed)),
    "Agrawal 7": lambda seed: first(agrawal(7, seed)),
    "LED": lambda seed: in_words(first(synth.LED(seed, 0.1, irrelevant_features=True), WIDE)),
    "SEA 0, noisy": lambda seed: first(sea(0, 0.1, seed)),
    "SEA 2": lambda seed: first(sea(2, 0.0, seed)),
    "RBF, 2 classes": lambda seed: first(balls(2, 20, seed)),
    "RBF, 5 classes": lambda seed: first(balls(5, 50, seed)),
    "hyperplane, turning": lambda seed: first(
        synth.Hyperplane(seed, n_features=10, n_drift_features=2, mag_change=0.001)
    ),
    "mixed": lambda seed: first(synth.Mixed(classification_function=0, seed=seed, balance_classes=True)),
    "sine 0, noisy": lambda seed: first(synth.Sine(classification_function=0, seed=seed, has_noise=True)),
    "sine 2": lambda seed: first(synth.Sine(classification_function=2, seed=seed)),
    "STAGGER": lambda seed: in_words(first(synth.STAGGER(classification_function=1, seed=seed))),
    "waveform": lambda seed: first(synth.Waveform(seed), WIDE),
    "random tree": lambda seed: in_words(
        first(synth.RandomTree(seed, seed, n_num_features=5, n_cat_features=5)), "cat"
    ),
    "SEA 0, then 3": lambda seed: drifting(sea(0, 0.0, seed), sea(3, 0.0, seed + 50)),
    "Agrawal 1, then 3": lambda seed: drifting(agrawal(1, seed), agrawal(3, seed + 50)),
    "digits": lambda seed: shuffled(datasets.load_digits(), seed),
    "wine": lambda seed: shuffled(datasets.load_wine(), seed),
    "breast cancer": lambda seed: shuffled(datasets.load_breast_cancer(), seed),
    "iris": lambda seed: shuffled(datasets.load_iris(), seed),
}

# The default first; then what it is compared with.
SETTINGS: Mapping[str, Mapping[str, Callable[[], Learner]]] = {
    "AODE": {
        "AODE": AODE,
        "min_count=1": lambda: AODE(min_count=1.0),
        "strength=0.5": lambda: AODE(strength=0.5),
        "strength=0.25": lambda: AODE(strength=0.25),
    },
    "AODE from the first sample": {
        "AODE(min_count=1)": lambda: AODE(min_count=1.0),
        "strength=0.5": lambda: AODE(min_count=1.0, strength=0.5),
        "strength=0.25": lambda: AODE(min_count=1.0, strength=0.25),
        "subsumption=100": lambda: AODE(min_count=1.0, subsumption=100.0),
        "weights": lambda: AODE(min_count=1.0, weights="mutual-information"),
    },
    **{
        kind.__name__: {
            kind.__name__: kind,
            "strength=0.5": partial(kind, strength=0.5),
            "strength=0.25": partial(kind, strength=0.25),
        }
        for kind in (A2DE, SPODE, TAN, KDB)
    },
    "LiveChoice": {
        "LiveChoice": LiveChoice,
        "combine='best'": lambda: LiveChoice(combine="best"),
        "rate=1": lambda: LiveChoice(rate=1.0),
        "rate=0.25": lambda: LiveChoice(rate=0.25),
        "rate=0.05": lambda: LiveChoice(rate=0.05),
        "loss_half_life=100": lambda: LiveChoice(loss_half_life=100.0),
        "loss_half_life=250": lambda: LiveChoice(loss_half_life=250.0),
        "strength=0.5": lambda: LiveChoice(strength=0.5),
        "with A2DE": lambda: LiveChoice(readings=(*READINGS, "a2de")),
    },
}


def differences(
    settings: Mapping[str, Callable[[], Learner]], streams: Iterable[tuple[str, Events]]
) -> dict[str, dict[str, Any]]:
    """By how much each setting differs from the default: arrays over streams, those of one name averaged.

    Parameters
    ----------
    settings
        What makes the learners; the default comes first.
    streams
        Names and events.

    Returns
    -------
    `{setting: {"right": points, "log_loss": nats}}`.
    """
    found: dict[str, dict[str, list[tuple[float, float]]]] = {name: {} for name in settings}
    for stream, events in streams:
        result = compare({name: make() for name, make in settings.items()}, events, every=10**9)
        default = result[next(iter(settings))].cumulative
        for name in settings:
            own = result[name].cumulative
            right = 100.0 * ((own.accuracy or 0.0) - (default.accuracy or 0.0))
            found[name].setdefault(stream, []).append(
                (right, (own.log_loss or 0.0) - (default.log_loss or 0.0))
            )
    means = {name: np.array([np.mean(each, axis=0) for each in of.values()]) for name, of in found.items()}
    return {name: {"right": table[:, 0], "log_loss": table[:, 1]} for name, table in means.items()}


def summary(numbers: Any, digits: int, *, more_is_better: bool) -> tuple[str, str]:
    """Return a mean with its standard error over streams, and on how many streams it is better and worse."""
    error = numbers.std(ddof=1) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    gained = numbers if more_is_better else -numbers
    better, worse = int((gained > 1e-9).sum()), int((gained < -1e-9).sum())
    return f"{numbers.mean():+.{digits}f} ± {error:.{digits}f}", f"{better} : {worse}"


def made(names: Sequence[str], seeds: int, advance: Callable[[], None]) -> Iterator[tuple[str, Events]]:
    for name in names:
        for seed in range(1, seeds + 1):
            yield name, STREAMS[name](seed)
            advance()


def main(given: Sequence[str] | None = None) -> int:
    """Compare the settings, print, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.settings", description=__doc__)
    parser.add_argument("--seeds", metavar="N", type=int, default=3, help="of each stream (default 3)")
    parser.add_argument(
        "--learner", choices=list(SETTINGS), action="append", help="only this; may be repeated"
    )
    parser.add_argument("--stream", choices=list(STREAMS), action="append", help="only this; may be repeated")
    options = parser.parse_args(given)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    if not stream_bayes.compiled:
        parser.error("this is the uncompiled build of stream_bayes; it would take hours")
    learners, streams = options.learner or list(SETTINGS), options.stream or list(STREAMS)
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for learner in learners:
            task = progress.add_task(learner, total=len(streams) * options.seeds)
            events = made(streams, options.seeds, partial(progress.advance, task))
            table = Table(
                title=f"{learner}: against the first, over {len(streams)} streams", title_justify="left"
            )
            for heading in ("setting", "right, points", "better : worse", "log-loss", "better : worse"):
                table.add_column(heading)
            for name, found in differences(SETTINGS[learner], events).items():
                right = summary(found["right"], 3, more_is_better=True)
                table.add_row(name, *right, *summary(found["log_loss"], 4, more_is_better=False))
            console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
