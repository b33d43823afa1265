"""`python -m benchmarks.streams.ablation`: what each store of the default learner is worth.

The answers of all experts are recorded, none of which may sleep, and mixed once with all of them and once without those
of each store. That is many times as fast as running the learner without each store, and all is the same but for sleep:
stores do not know of each other. Shown is the log-loss without a store against that with all, and the store's time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.streams.scoring import DOUBT
from benchmarks.streams.sources import STREAMS, fetch
from stream_bayes import AdaptiveBayes
from stream_bayes.core.mixtures._expert_mixture import ExpertMixture
from stream_bayes.core.mixtures._recalibration import Recalibration
from stream_bayes.learners.adaptive.sleeping_experts import Sleep

__all__ = ["Recorded", "main", "record", "replayed"]


class Recorded(NamedTuple):
    """The answers of the experts before each event was learned, and the label that came.

    `opinions[event, expert, label]` are probabilities, `met` the number of labels that had come by then.
    """

    opinions: NDArray[np.float64]
    labels: NDArray[np.int64]
    met: NDArray[np.int64]
    answers: list[dict[Any, float]]  # of the learner itself


class Awake(Sleep):
    """Notes drifts, and puts no store to sleep."""

    def _rest(self, mixture: ExpertMixture) -> None:
        pass


def record(samples: Iterable[tuple[dict[str, Any], Any]], model: AdaptiveBayes) -> Recorded:
    """Return the answers of all experts of a new learner to a stream that it learns."""
    model._sleep = Awake(len(model.members))
    model._panel = model._new_panel()  # whose loop has the sleep
    of_events: list[NDArray[np.float64]] = []
    labels: list[int] = []
    met: list[int] = []
    answers: list[dict[Any, float]] = []
    for x, y in samples:
        met.append(len(model.classes_))
        predicted = model.predict_proba_one(x)
        opinions = np.array(model._panel.opinions)
        answers.append(model.predict_learn_one(x, y))
        if answers[-1] != predicted:  # a store had no room, and began anew
            opinions = np.array(model._panel.opinions)
        of_events.append(opinions[:, : met[-1]])
        labels.append(model.classes_.index(y))
    padded = np.zeros((len(of_events), len(model.experts_), len(model.classes_)))
    for event, opinions in enumerate(of_events):
        padded[event, :, : opinions.shape[1]] = opinions
    return Recorded(padded, np.array(labels), np.array(met), answers)


def replayed(
    recorded: Recorded, model: AdaptiveBayes, without: int | None = None
) -> list[NDArray[np.float64]]:
    """Return the answers of the mixture of all recorded experts, or of those that are not in a group."""
    like, groups = model._mixture, np.asarray(model._mixture.group_of)
    kept = np.flatnonzero(groups != without)
    mixture = ExpertMixture(
        len(kept),
        np.asarray(like.switching),
        np.asarray(like.rates),
        like.final_switching,
        np.unique(groups[kept], return_inverse=True)[1],
        np.asarray(like.walks),
    )
    recalibration, answers = Recalibration(), []
    opinions = np.ascontiguousarray(recorded.opinions[:, kept])
    for event, (label, met) in enumerate(zip(recorded.labels.tolist(), recorded.met.tolist(), strict=True)):
        if not met:
            answers.append(np.zeros(0))
            continue
        mixture.mix(opinions[event], met)
        recalibration.mix(mixture.answer, met)
        answers.append(np.array(recalibration.answer)[:met])
        if label < met:
            recalibration.learn(label, 1.0)
            mixture.learn(label, 1.0)
    return answers


def log_loss(recorded: Recorded, answers: Sequence[NDArray[np.float64]]) -> float:
    """Return the mean log-loss, with a thousandth of each answer spread over the labels so far."""
    total, seen = 0.0, set[int]()
    for label, answer in zip(recorded.labels.tolist(), answers, strict=True):
        seen.add(label)
        share = float(answer[label]) if label < len(answer) else 0.0
        total -= math.log((1.0 - DOUBT) * share + DOUBT / len(seen) if len(answer) else 1.0 / len(seen))
    return total / len(recorded.labels)


def main(arguments: Sequence[str] | None = None) -> None:
    """Mix the experts of the default learner without each store, and print what is lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.ablation", description=main.__doc__)
    parser.add_argument("--events", type=int, default=5_000, help="of each stream; default: %(default)s")
    parser.add_argument("--stream", action="append", choices=list(STREAMS), help="default: all")
    parser.add_argument("--data", type=Path, default=Path("build/streams"), help="directory of downloads")
    options = parser.parse_args(arguments)
    console = Console()
    names = options.stream or list(STREAMS)
    fetch(options.data, {STREAMS[name].origin for name in names})
    model = AdaptiveBayes()
    stores = [", ".join(store.experts) for store in model._stores] + ["last label again"]
    changes: list[list[float]] = [[] for _ in stores]
    for name in names:
        start, model = process_time(), AdaptiveBayes()
        recorded = record(islice(STREAMS[name].samples(options.data), options.events), model)
        everyone = replayed(recorded, model)
        for answer, answer_then in zip(everyone, recorded.answers, strict=True):
            assert answer.tolist() == list(answer_then.values()), "the replay is not what the learner did"
        whole = log_loss(recorded, everyone)
        for store, change in enumerate(changes):
            change.append(log_loss(recorded, replayed(recorded, model, store)) / whole - 1.0)
        console.print(f"{name}: {whole:.4f} nats with all, {process_time() - start:.0f} s")
    table = Table("store", "without it, mean", "most lost on", "most gained on")
    for store, change in sorted(zip(stores, changes, strict=True), key=lambda pair: -np.mean(pair[1])):
        most, least = int(np.argmax(change)), int(np.argmin(change))
        table.add_row(
            store,
            f"{100 * np.mean(change):+.2f} %",
            f"{names[most]} {100 * change[most]:+.1f} %",
            f"{names[least]} {100 * change[least]:+.1f} %",
        )
    console.print(table)


if __name__ == "__main__":
    main()
