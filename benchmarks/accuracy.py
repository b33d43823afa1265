"""Accuracy of the learners: each event of River's bundled streams predicted, then learned, in its natural order.

Beside them run River's own classifiers. Nothing is tuned to these streams; `benchmarks.settings` looks at others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.progress import Progress
from river import datasets, forest, naive_bayes, neighbors, preprocessing, tree

from benchmarks.checks import Check, show
from benchmarks.harness import Learner
from stream_bayes import A2DE, AODE, KDB, SPODE, TAN, LiveChoice, NaiveBayes
from stream_bayes.learners.classifiers.live_choice import READINGS as CHOSEN_AMONG
from stream_bayes.streams import Comparison, compare

__all__ = [
    "CANDIDATES",
    "OURS",
    "READINGS",
    "STREAMS",
    "THEIRS",
    "Stream",
    "checks_of",
    "report",
    "run",
]

Make = Callable[[], Learner]


@dataclass(frozen=True)
class Stream:
    """A stream, and how right ours should be on it.

    Parameters
    ----------
    name
        Its name.
    make
        Makes its events anew.
    floor
        What AODE must reach, in percent.
    aim
        What one configuration of ours, the same on every stream, should reach, in percent.
    """

    name: str
    make: Callable[[], Any]
    floor: float | None = None
    aim: float | None = None


STREAMS = (
    Stream("Phishing", datasets.Phishing, floor=92.5, aim=93.0),
    Stream("ImageSegments", datasets.ImageSegments, floor=93.8, aim=95.0),
    Stream("Bananas", datasets.Bananas, floor=87.4, aim=89.0),
    Stream("Shuttle, the first 10,000", lambda: itertools.islice(datasets.Shuttle(), 10_000)),
)

# What `LiveChoice` chooses among, each as a learner of its own with the same settings.
READINGS: Mapping[str, Make] = {
    "naive Bayes in bins": lambda: KDB(k=0),
    "SPODE": lambda: SPODE(loss_half_life=500.0),
    "TAN": TAN,
    "KDB": KDB,
    "AODE": lambda: AODE(min_count=1.0),
    "naive Bayes, m-estimates": lambda: NaiveBayes(prior="m-estimate"),
}
BEST, MIXTURE = "LiveChoice, best", "LiveChoice, mixture"
# Each is one configuration, the same on every stream.
CANDIDATES: Mapping[str, Make] = {
    "AODE": READINGS["AODE"],
    "A2DE": A2DE,
    "A2DE, strength 0.25": lambda: A2DE(strength=0.25),
    MIXTURE: LiveChoice,
    "LiveChoice with A2DE": lambda: LiveChoice(readings=(*CHOSEN_AMONG, "a2de")),
}
OURS: Mapping[str, Make] = {
    "NaiveBayes": NaiveBayes,
    **READINGS,
    "AODE, min_count 30": AODE,
    BEST: lambda: LiveChoice(combine="best"),
    **CANDIDATES,
}
THEIRS: Mapping[str, Make] = {
    "River GaussianNB": naive_bayes.GaussianNB,
    "River HoeffdingTree": tree.HoeffdingTreeClassifier,
    "River HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
    "River ARF": lambda: forest.ARFClassifier(seed=1),
    "River AMF": lambda: forest.AMFClassifier(seed=1),
    "River KNN": lambda: neighbors.KNNClassifier(engine=neighbors.SWINN(seed=1)),
    "River StandardScaler | KNN": lambda: (
        preprocessing.StandardScaler() | neighbors.KNNClassifier(engine=neighbors.SWINN(seed=1))
    ),
}
MOST_BEHIND = 0.5  # percentage points by which the best of several readings may be missed


def run(stream: Stream, progress: Callable[[int], None] | None = None) -> Comparison:
    """Let every learner predict and learn one stream.

    Parameters
    ----------
    stream
        The stream.
    progress
        Called with the number of events done.
    """
    learners = {name: make() for name, make in {**OURS, **THEIRS}.items()}
    return compare(learners, stream.make(), every=10**9, progress=progress)


def checks_of(stream: Stream, found: Comparison) -> list[Check]:
    """Return the checks of a stream: the condition, and whether it holds."""
    right = {name: 100.0 * found.interval(name).value for name in found}
    loss = {name: found.interval(name, "log_loss").value for name in found}
    reading = max(READINGS, key=right.__getitem__)
    surest = min(READINGS, key=loss.__getitem__)
    made = [
        Check(
            stream.name,
            f"{BEST}: at most {MOST_BEHIND} points below the best of its readings",
            f"{right[BEST]:.2f} %, {reading} {right[reading]:.2f} %",
            right[BEST] >= right[reading] - MOST_BEHIND,
        ),
        Check(
            stream.name,
            f"{MIXTURE}: a log-loss no higher than that of the best reading",
            f"{loss[MIXTURE]:.4f}, {surest} {loss[surest]:.4f}",
            loss[MIXTURE] <= loss[surest],
        ),
    ]
    if stream.floor is not None:
        at_least = f"AODE: at least {stream.floor} %"
        made.append(Check(stream.name, at_least, f"{right['AODE']:.2f} %", right["AODE"] >= stream.floor))
    if stream.aim is not None:
        peer = max(THEIRS, key=right.__getitem__)
        made += [
            Check(
                stream.name,
                f"{name}: at least {stream.aim} %, and above each of River's",
                f"{right[name]:.2f} %, {peer} {right[peer]:.2f} %",
                right[name] >= stream.aim and right[name] > right[peer],
            )
            for name in CANDIDATES
        ]
    return made


def report(streams: Sequence[Stream], console: Console, progress: Progress) -> dict[str, Any]:
    """Run over streams, print what was found, and return it as JSON values."""
    results: dict[str, Any] = {}
    checks: list[Check] = []
    for stream in streams:
        task = progress.add_task(f"accuracy, {stream.name}", total=sum(1 for _ in stream.make()))
        found = run(stream, lambda events, task=task: progress.update(task, completed=events))  # type: ignore[misc]  # its task, as it is now
        checks += checks_of(stream, found)
        results[stream.name] = found.to_dict()
        console.print(f"\n[bold]{stream.name}")
        console.print(found)
    show(checks, console)
    return {"streams": results, "checks": [asdict(check) for check in checks]}
