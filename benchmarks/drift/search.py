"""A world that changes at once: what following it costs, what it gains, and how long the stream waits for a search.

The losses are those of 20 networks of 20 variables, one of which is the class, and of the same graph with edges added,
removed and turned round, and new tables where parents changed; of one setting for all. A pass is all of the work, and
its figure a ratio of losses: 100 % is as much as the peer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from time import perf_counter, sleep
from typing import Any

import numpy as np
from river import drift

from benchmarks.harness import Case, Contest, Side, predicts_learns
from benchmarks.speed.pairs import WIDE, beside
from stream_bayes import AODE, TAN, BayesNetClassifier, DriftAdaptive
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.values.values import Value
from stream_bayes.errors import BadStructure
from stream_bayes.learners.base.class_probabilities import log_loss
from tests.concepts import drawn_network, stream_of, with_edges

__all__ = ["LENGTHS", "SEEDS", "cases"]

SEEDS = 20
VARIABLES = 20
LENGTHS = (5_000, 4_000)  # events before the change, and after
LATER = 2_000  # events after the change from which on it is to be as good as one that knows no other world
ADDED, MOST_PARENTS = 6, 3

SEARCHED, COLUMNS = 50_000, 37  # events of a search
DELAY, RATE = 40_000, 8_000  # after how many events it is due; events a second while it runs


# -- losses -----------------------------------------------------------------------------------------------------------


def another_graph(network: DiscreteNetwork, seed: int) -> DiscreteNetwork:
    """Return a graph with a third of the edges removed, a third turned where that makes no cycle, and some added."""
    rng = np.random.default_rng(seed)
    structure = network.structure
    changes: dict[str, list[tuple[Any, Any]]] = {"removed": [], "turned": [], "added": []}
    edges = sorted(structure.edges)
    for place in rng.permutation(len(edges)).tolist():
        kind = ("removed", "turned", "kept")[int(rng.integers(3))]
        try:
            if kind == "removed":
                structure = structure.without_edge(*edges[place])
            elif kind == "turned":
                structure = structure.with_reversed(*edges[place])
            else:
                continue
        except BadStructure:
            continue
        changes[kind].append(edges[place])
    while len(changes["added"]) < ADDED:
        parent, child = (
            structure.variables[n] for n in rng.choice(len(structure), 2, replace=False).tolist()
        )
        if len(structure.parents(child)) == MOST_PARENTS or parent in structure.parents(child):
            continue
        try:
            structure = structure.with_edge(parent, child)
        except BadStructure:
            continue
        changes["added"].append((parent, child))
    return with_edges(network, seed, **changes)


def stream(seed: int) -> list[tuple[dict[Any, Any], Any]]:
    """Two worlds, one after the other; the class is what most depends on, or is depended on by, in the first."""
    before = drawn_network(VARIABLES, seed)
    target: Value = max(before.structure, key=lambda name: len(before.structure.markov_blanket(name)))
    worlds = zip((before, another_graph(before, seed + 1000)), LENGTHS, strict=True)
    return list(stream_of(list(worlds), target, seed))


def losses(answers: Callable[[Any, Any], Any], events: Iterable[Any]) -> list[float]:
    return [log_loss(answers(x, y), y) for x, y in events]


def reset() -> Callable[[Any, Any], Any]:
    """Return a learner that ADWIN restarts."""
    detector: Any = drift.ADWIN()
    model = drift.DriftRetrainingClassifier(TAN(), detector, train_in_background=False)

    def answer(x: Any, y: Any) -> Any:
        said = model.predict_proba_one(x)
        model.learn_one(x, y)
        return said

    return answer


@cache
def lost() -> dict[str, float]:
    """Return sums over all seeds: of everything, and of the events from `LATER` on."""
    changed, later = LENGTHS[0], LENGTHS[0] + LATER
    sums = dict.fromkeys(("ours", "static", "reset", "ours later", "new later"), 0.0)
    for seed in range(SEEDS):
        events = stream(seed)
        ours = losses(DriftAdaptive(TAN()).predict_learn_one, events)
        sums["ours"] += math.fsum(ours)
        sums["ours later"] += math.fsum(ours[later:])
        sums["new later"] += math.fsum(losses(TAN().predict_learn_one, events[changed:])[LATER:])
        sums["static"] += math.fsum(losses(TAN().predict_learn_one, events))
        sums["reset"] += math.fsum(losses(reset(), events))
    return sums


def share(ours: str, other: str) -> Contest:
    """Our loss as a share of another's."""
    return Contest([None], Side(1, lambda _: lost()[ours] / lost()[other], list))


# -- the pause --------------------------------------------------------------------------------------------------------


class Once:
    """A detector that says so after the events that fill the window."""

    def __init__(self, seen: int = 0) -> None:
        self.seen = seen

    def update(self, x: float) -> None:
        self.seen += 1

    @property
    def warning_detected(self) -> bool:
        return True

    @property
    def drift_detected(self) -> bool:
        return self.seen == SEARCHED

    def clone(self) -> Once:
        return Once()


def pause() -> Contest:
    """Return the longest time of an event while a network is searched over all events kept, trained, and tried."""
    network = drawn_network(COLUMNS, 5)
    worlds = [(network, SEARCHED // 2), (another_graph(network, 6), SEARCHED // 2 + 2 * DELAY)]
    events = list(stream_of(worlds, "v9", 8))
    model = DriftAdaptive(
        BayesNetClassifier(None), Once(), policy="search", search_delay=DELAY, window=SEARCHED
    )

    def run(_: Any) -> float:
        taken = iter(events)
        for x, y in itertools.islice(taken, SEARCHED - 1):
            model.learn_one(x, y)
        longest, begun = 0.0, perf_counter()
        with ThreadPoolExecutor(1) as executor:
            model.search_on(executor)
            for number, (x, y) in enumerate(taken):
                if number % 100 == 0:
                    sleep(max(begun + number / RATE - perf_counter(), 0.0))
                start = perf_counter()
                model.predict_learn_one(x, y)
                longest = max(longest, perf_counter() - start)
                if model.log.entries[-1]["what"] in ("adopted", "refused"):
                    break
        if not any(entry["what"] == "searched" for entry in model.log.entries):
            raise RuntimeError(f"no search came to its end: {model.log.entries}")
        return longest

    return Contest([None], Side(1, run, list))


def cases() -> list[Case]:
    """Return the report's lines."""
    drifting = f"abrupt structural drift, {VARIABLES} variables, {SEEDS} seeds, TAN"
    return [
        Case(
            "DriftAdaptive of AODE, one ADWIN, nothing drifts, predict_learn_one, 50 x 8, 2 classes",
            partial(beside, predicts_learns, (lambda: DriftAdaptive(AODE()), AODE), (WIDE, WIDE)),
            "AODE alone",
            target=1 / 1.15,
        ),
        Case(
            "DriftAdaptive of AODE, an ADWIN a family, nothing drifts, predict_learn_one, 50 x 8, 2 classes",
            partial(
                beside, predicts_learns, (lambda: DriftAdaptive(AODE(), signal="family"), AODE), (WIDE, WIDE)
            ),
            "AODE alone",
            target=1 / 3,
        ),
        Case(
            f"pause of the stream by a search over {SEARCHED:,} x {COLUMNS} events",
            pause,
            limit=20.0,
            unit="ms",
            once=True,
        ),
        Case(
            f"{drifting}: log-loss over events {LATER:,}-{LENGTHS[1]:,}, of that of a model of the new world alone",
            partial(share, "ours later", "new later"),
            limit=105.0,
            unit="%",
            once=True,
        ),
        *(
            Case(
                f"{drifting}: log-loss, of that of {other}",
                partial(share, "ours", name),
                limit=99.0,
                unit="%",
                once=True,
            )
            for name, other in (("static", "a static model"), ("reset", "a model that ADWIN has begin anew"))
        ),
    ]
