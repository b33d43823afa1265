"""`python -m benchmarks.drift.streams`: streams that drift. How right one setting of ours is beside River's adaptive
trees, and how fast; and what each detector notices, how late, and how often for nothing.

Every learner predicts each event, then learns it. Streams have three concepts in turn, and one takes over from the
other within a thousand events, as River's ConceptDriftStream does by default. The times are of one process, in which
the learners take turns, a thousand events each.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table
from river import forest, tree
from river.datasets import synth

import stream_bayes
from stream_bayes import AODE, TAN, Binning, DriftAdaptive, LiveChoice
from stream_bayes.drift.detectors import DETECTORS
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.saving.river.catalogue import make_adaptive
from tests.concepts import (
    drawn_network,
    gradual_stream,
    stream_of,
    with_new_tables,
    with_other_features,
)

__all__ = ["CHANGING", "LEARNERS", "STREAMS", "Alarms", "Found", "alarms_of", "contest", "main", "noticed"]

Labelled: TypeAlias = tuple[Mapping[Any, Any], Any]
Make: TypeAlias = Callable[[int, int], Iterator[Labelled]]  # of the events of each concept, and a seed

WIDTH = 1000  # events within which a concept takes over from the one before
TURN = 1000  # events of a learner's turn
OURS, ADAPTIVE_TREE, FOREST = "DriftAdaptive(TAN)", "River HoeffdingAdaptiveTree", "River ARF"
MOST_BEHIND = 1.0  # points of accuracy below the forest
AS_FAST = 100.0  # times as fast as the forest


def tan() -> TAN:
    """Return TAN with one setting for all streams. Its cut points are settled early."""
    return TAN(binning=Binning(window=500))


LEARNERS: Mapping[str, Callable[[], Any]] = {
    OURS: lambda: DriftAdaptive(tan()),
    "DriftAdaptive(LiveChoice)": lambda: DriftAdaptive(
        LiveChoice(readings=("tan", "aode"), binning=Binning(window=500))
    ),
    "TAN": tan,
    ADAPTIVE_TREE: lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
    FOREST: lambda: forest.ARFClassifier(seed=1),
}


# -- streams -----------------------------------------------------------------------------------------------------------


def joined(concepts: Sequence[Any], part: int, seed: int) -> Iterator[Labelled]:
    """Concepts in turn, `part` events each, each taking over gradually from the one before."""
    stream = concepts[0]
    for number, concept in enumerate(concepts[1:], 1):
        # Its probability overflows some 177 widths before the middle of the change: nearer middles need no more.
        stream = synth.ConceptDriftStream(
            stream, concept, position=number * part, width=WIDTH, seed=seed + number
        )
    return itertools.islice(iter(stream), part * len(concepts))


def sea(part: int, seed: int) -> Iterator[Labelled]:
    """Yield whether two numbers add up to more than a threshold that moves: 8, 7, 9.5; one label in ten is wrong."""
    # Generators of the same seed would draw the same numbers, and every event would come again after the change.
    made = [synth.SEA(variant=variant, noise=0.1, seed=seed + n) for n, variant in enumerate((0, 2, 3))]
    return joined(made, part, seed)


def led(part: int, seed: int) -> Iterator[Labelled]:
    """Yield the digit that a display shows; 0, 3, 7 of its segments change places with irrelevant features."""
    made = [
        synth.LEDDrift(seed=seed + n, noise_percentage=0.1, irrelevant_features=True, n_drift_features=moved)
        for n, moved in enumerate((0, 3, 7))
    ]
    return joined(made, part, seed)


def agrawal(part: int, seed: int) -> Iterator[Labelled]:
    """Yield loan decisions by functions 1, 4 and 7, as River numbers them."""
    made = [
        synth.Agrawal(classification_function=function, seed=seed + n) for n, function in enumerate((1, 4, 7))
    ]
    return joined(made, part, seed)


STREAMS: Mapping[str, Make] = {"SEA": sea, "LED": led, "Agrawal": agrawal}


# -- how right, and how fast -------------------------------------------------------------------------------------------


@dataclass
class Found:
    """Result of a learner on a stream.

    Parameters
    ----------
    stream, learner
        Their names.
    events
        How many it was asked.
    right
        How many it knew.
    seconds
        What predicting and learning took.
    noted
        What a log of drifts says, as [what, event].
    """

    stream: str
    learner: str
    events: int = 0
    right: int = 0
    seconds: float = 0.0
    noted: list[list[Any]] | None = None

    @property
    def accuracy(self) -> float:
        """Return the share of right answers of all, in percent."""
        return 100.0 * self.right / self.events


def contest(
    name: str, events: Sequence[Labelled], learners: Mapping[str, Callable[[], Any]] = LEARNERS
) -> list[Found]:
    """Let learners take turns on a stream."""
    models = {learner: make() for learner, make in learners.items()}
    found = {learner: Found(name, learner) for learner in models}
    for start in range(0, len(events), TURN):
        part = events[start : start + TURN]
        for learner, model in models.items():
            gc.collect()  # what one has left behind is not the next one's time
            right, seconds = turn(model, part)
            found[learner].events += len(part)
            found[learner].right += right
            found[learner].seconds += seconds
    for learner, model in models.items():
        if isinstance(model, DriftAdaptive):
            found[learner].noted = [[entry["what"], entry["event"]] for entry in model.log.entries]
    return list(found.values())


def turn(model: Any, events: Sequence[Labelled]) -> tuple[int, float]:
    """Return how many of some events a model predicted correctly, and the seconds it took."""
    said = []
    if hasattr(model, "predict_learn_one"):
        step = model.predict_learn_one
        start = perf_counter()
        for x, y in events:
            said.append(step(x, y))
        seconds = perf_counter() - start
        return sum(most_probable(answer) == y for answer, (_, y) in zip(said, events, strict=True)), seconds
    predict, learn = model.predict_one, model.learn_one
    start = perf_counter()
    for x, y in events:
        said.append(predict(x))
        learn(x, y)
    seconds = perf_counter() - start
    return sum(answer == y for answer, (_, y) in zip(said, events, strict=True)), seconds


def checks_of(found: Sequence[Found]) -> list[tuple[str, str, bool]]:
    """Return the checks of each stream over all seeds: the condition, the finding, and whether it holds."""
    checks = []
    for stream in dict.fromkeys(one.stream for one in found):
        right, took = {}, {}
        for learner in dict.fromkeys(one.learner for one in found):
            own = [one for one in found if (one.stream, one.learner) == (stream, learner)]
            right[learner] = sum(one.accuracy for one in own) / len(own)
            took[learner] = sum(one.seconds for one in own)
        ahead, behind = right[OURS] - right[ADAPTIVE_TREE], right[FOREST] - right[OURS]
        ratio = took[FOREST] / took[OURS]
        checks += [
            (f"{stream}: above the adaptive tree", f"{ahead:+.2f} points", ahead > 0.0),
            (
                f"{stream}: within {MOST_BEHIND:g} of the forest",
                f"{-behind:+.2f} points",
                behind <= MOST_BEHIND,
            ),
            (f"{stream}: {AS_FAST:g}x the speed of the forest", f"{ratio:.0f}x", ratio >= AS_FAST),
        ]
    return checks


# -- what detectors notice ---------------------------------------------------------------------------------------------


def networks(seed: int) -> tuple[Any, Any, str]:
    """Return a network, the same graph with new tables, and the variable that has most to do with others."""
    before = drawn_network(10, seed)
    target = max(before.structure, key=lambda name: len(before.structure.markov_blanket(name)))
    return before, with_new_tables(before, seed + 1000), str(target)


def abrupt(part: int, seed: int) -> Iterator[Labelled]:
    """Change all tables of a network at once."""
    before, after, target = networks(seed)
    return stream_of([(before, part), (after, part)], target, seed)


def gradual(part: int, seed: int) -> Iterator[Labelled]:
    """Change all tables of a network within a thousand events."""
    before, after, target = networks(seed)
    return gradual_stream(before, after, target, seed, start=part, width=WIDTH, number=2 * part)


def one_table(part: int, seed: int) -> Iterator[Labelled]:
    """Change the table of the class alone."""
    before, _, target = networks(seed)
    return stream_of([(before, part), (with_new_tables(before, seed + 1000, [target]), part)], target, seed)


def moved_threshold(part: int, seed: int) -> Iterator[Labelled]:
    """SEA, at once: the threshold moves from 7 to 9.5."""
    first = itertools.islice(iter(synth.SEA(variant=2, noise=0.1, seed=seed)), part)
    return itertools.chain(
        first, itertools.islice(iter(synth.SEA(variant=3, noise=0.1, seed=seed + 1)), part)
    )


def stagger(part: int, seed: int) -> Iterator[Labelled]:
    """STAGGER, at once: from its first concept to its second."""
    first = itertools.islice(iter(synth.STAGGER(classification_function=0, seed=seed)), part)
    return itertools.chain(
        first, itertools.islice(iter(synth.STAGGER(classification_function=1, seed=seed + 1)), part)
    )


def stationary(part: int, seed: int) -> Iterator[Labelled]:
    """Return a network that stays as it is."""
    before, _, target = networks(seed)
    return stream_of([(before, 2 * part)], target, seed)


def features_alone(part: int, seed: int) -> Iterator[Labelled]:
    """P(features) moves, and P(class | features) does not."""
    before, _, target = networks(seed)
    return stream_of([(before, part), (with_other_features(before, target, seed + 1000), part)], target, seed)


CHANGING: Mapping[str, Make] = {
    "tables, abrupt": abrupt,
    "tables, gradual": gradual,
    "table of the class": one_table,
    "SEA, abrupt": moved_threshold,
    "STAGGER, abrupt": stagger,
}
STAYING: Mapping[str, Make] = {"stationary": stationary, "features alone": features_alone}


@dataclass(frozen=True)
class Alarms:
    """Alarms of a detector on streams of one kind.

    Parameters
    ----------
    detector, stream
        Their names.
    delays
        After how many events a change was noticed, in each stream in which it was.
    missed
        In how many it was not.
    false
        How often something was noticed where nothing had changed.
    events
        How many events those were.
    """

    detector: str
    stream: str
    delays: tuple[int, ...]
    missed: int
    false: int
    events: int


def noticed(events: Iterator[Labelled], detector: str) -> list[int]:
    """After which events a drift was noticed, all answers of a learner that is replaced when it should be."""
    model = make_adaptive(AODE(min_count=1.0), detector)
    for x, y in events:
        model.learn_one(x, y)
    return [entry["event"] for entry in model.log.entries if entry["what"] == "drift"]


def alarms_of(detector: str, name: str, made: Make, part: int, seeds: Sequence[int], changes: bool) -> Alarms:
    """Return the alarms of a detector on streams of one kind, a seed each."""
    delays, missed, false = [], 0, 0
    for seed in seeds:
        found = noticed(made(part, seed), detector)
        if not changes:
            false += len(found)
            continue
        false += sum(event <= part for event in found)
        later = [event for event in found if event > part]
        missed += not later
        delays += [later[0] - part] if later else []
    events = len(seeds) * (part if changes else 2 * part)
    return Alarms(detector, name, tuple(delays), missed, false, events)


# -- the report --------------------------------------------------------------------------------------------------------


def contest_table(found: Sequence[Found]) -> Table:
    """Accuracy and time of each learner on each stream, over all seeds."""
    table = Table(title="cumulative accuracy, and time an event", title_justify="left")
    for heading in ("stream", "learner"):
        table.add_column(heading)
    for heading in ("right, %", "of each seed", "us/event"):
        table.add_column(heading, justify="right")
    for stream, learner in dict.fromkeys((one.stream, one.learner) for one in found):
        own = [one for one in found if (one.stream, one.learner) == (stream, learner)]
        mean = sum(one.accuracy for one in own) / len(own)
        took = 1e6 * sum(one.seconds for one in own) / sum(one.events for one in own)
        each = ", ".join(f"{one.accuracy:.2f}" for one in own)
        table.add_row(stream, learner, f"{mean:.2f}", each, f"{took:,.1f}")
    return table


def detection_table(found: Sequence[Alarms]) -> Table:
    """For each detector: the mean delay on each changing stream and what it missed, and its false alarms."""
    table = Table(title="events until a change is noticed (missed), and false alarms", title_justify="left")
    table.add_column("detector")
    for name in (*CHANGING, "false, of 10,000", *STAYING):
        table.add_column(name, justify="right")
    for detector in dict.fromkeys(one.detector for one in found):
        own = {one.stream: one for one in found if one.detector == detector}
        cells = []
        for name in CHANGING:
            one = own[name]
            late = f"{sum(one.delays) / len(one.delays):,.0f}" if one.delays else "-"
            cells.append(late + (f" ({one.missed})" if one.missed else ""))
        before = [own[name] for name in CHANGING]
        cells.append(f"{1e4 * sum(one.false for one in before) / sum(one.events for one in before):.2f}")
        cells += [str(own[name].false) for name in STAYING]
        table.add_row(detector, *cells)
    return table


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift.streams", description=__doc__)
    parser.add_argument("--only", choices=("accuracy", "detection"))
    parser.add_argument("--part", type=int, default=10_000, help="events of each concept")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--streams", nargs="*", default=list(STREAMS), choices=list(STREAMS))
    parser.add_argument("--json", metavar="FILE", type=Path)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Run, and print the tables."""
    options = arguments(given)
    console = Console()
    if not stream_bayes.compiled:
        print("the uncompiled build is not measured; install the compiled one", file=sys.stderr)
        return 2
    found: list[Found] = []
    alarms: list[Alarms] = []
    if options.only != "detection":
        for name, seed in itertools.product(options.streams, range(options.seeds)):
            found += contest(name, list(STREAMS[name](options.part, 100 * seed + 1)))
        console.print(contest_table(found))
        for what, was, met in checks_of(found):
            console.print(f"{'met   ' if met else 'missed'}  {what}: {was}", highlight=False)
    if options.only != "accuracy":
        seeds = [100 * seed + 1 for seed in range(options.seeds)]
        for detector in DETECTORS:
            for streams, changes in ((CHANGING, True), (STAYING, False)):
                alarms += [
                    alarms_of(detector, name, made, options.part // 2, seeds, changes)
                    for name, made in streams.items()
                ]
        console.print(detection_table(alarms))
    if options.json is not None:
        report = {"accuracy": [asdict(one) for one in found], "detection": [asdict(one) for one in alarms]}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
