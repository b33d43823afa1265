"""`python -m benchmarks.drift.local`: how fast a network without a class follows a change of some of its families.

Each world has 5,000 events of a random network and 6,000 of another. The figures are nats an event above the true
network in windows around 500, 2,000 and 5,500 events after the change, for `DriftAdaptive(BayesNet("learn"))`, and for
an oracle: tables of the true graph, those of changed families counted since the change, the others since the begin.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import stream_bayes
from benchmarks.drift.search import another_graph
from stream_bayes import DriftAdaptive
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.errors import BadStructure
from stream_bayes.networks import BayesNet, Inference
from stream_bayes.testing.concepts import drawn_network, with_edges, with_new_tables

__all__ = ["WORLDS", "main", "measured"]

BEFORE, AFTER = 5_000, 6_000  # events
WINDOWS = ((350, 650), (1_600, 2_400), (5_000, 6_000))  # events after the change

Event = Mapping[Any, Any]


def some_tables(network: DiscreteNetwork, seed: int, number: int) -> DiscreteNetwork:
    """Return a network with new tables of a number of variables with parents."""
    children = [name for name in network.structure if network.structure.parents(name)]
    chosen = np.random.default_rng(seed).choice(len(children), number, replace=False)
    return with_new_tables(network, seed, [children[place] for place in chosen])


def one_more_edge(network: DiscreteNetwork, seed: int) -> DiscreteNetwork:
    """Return a network with one edge more, and a new table of its child."""
    rng = np.random.default_rng(seed)
    while True:
        edge = [network.structure.variables[k] for k in rng.choice(len(network.structure), 2, replace=False)]
        try:
            return with_edges(network, seed, added=[(edge[0], edge[1])])
        except BadStructure:
            continue


WORLDS: Mapping[str, Callable[[DiscreteNetwork, int], DiscreteNetwork]] = {
    "no change": lambda network, seed: network,
    "one table": lambda network, seed: some_tables(network, seed, 1),
    "a tenth of the tables": lambda network, seed: some_tables(
        network, seed, max(len(network.structure) // 10, 1)
    ),
    "one more edge": one_more_edge,
    "all tables": with_new_tables,
    "other edges": another_graph,
    "another network": lambda network, seed: drawn_network(len(network.structure), seed),
    "easier": lambda network, seed: drawn_network(len(network.structure), seed, most_parents=1),
    "harder": lambda network, seed: drawn_network(len(network.structure), seed, most_parents=3),
}


def events_of(network: DiscreteNetwork, number: int, seed: int) -> list[Event]:
    """Draw events."""
    columns = Inference(network).sample(number, np.random.default_rng(seed))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def oracle(old: DiscreteNetwork, new: DiscreteNetwork, events: Sequence[Event]) -> NDArray[np.float64]:
    """Return what the tables of the true graphs lose on each event after the change."""
    losses = np.zeros(len(events))
    for name in new.structure:
        parents, size = new.structure.parents(name), len(new.states[name])
        same = parents == old.structure.parents(name) and np.array_equal(new.tables[name], old.tables[name])
        own: Counter[Any] = Counter()
        total: Counter[Any] = Counter()
        for place in range(0 if same else BEFORE, len(events)):
            row = tuple(events[place][parent] for parent in parents)
            cell = (row, events[place][name])
            losses[place] -= math.log((own[cell] + 1.0 / size) / (total[row] + 1.0))
            own[cell] += 1
            total[row] += 1
    return losses[BEFORE:]


def measured(variables: int, world: str, seed: int) -> tuple[list[float], list[float], DriftAdaptive, float]:
    """Return the gaps of the network and of the oracle, the network, and events a second."""
    old = drawn_network(variables, seed)
    new = WORLDS[world](old, seed + 1000)
    events = [*events_of(old, BEFORE, seed + 50), *events_of(new, AFTER, seed + 60)]
    true = BayesNet.from_network(new)
    truth = np.array([true.score_one(x) for x in events[BEFORE:]])
    model = DriftAdaptive(BayesNet("learn"))
    begun = process_time()
    ours = np.array([model.score_learn_one(x) for x in events])[BEFORE:]
    rate = len(events) / (process_time() - begun)
    gaps = [
        [float(np.mean((losses - truth)[begin:end])) for begin, end in WINDOWS]
        for losses in (ours, oracle(old, new, events))
    ]
    return gaps[0], gaps[1], model, rate


def main(given: Sequence[str] | None = None) -> int:
    """Print a line for each world, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift.local", description=__doc__)
    parser.add_argument("--variables", metavar="N", type=int, default=12, help="of the networks (default 12)")
    parser.add_argument(
        "--seeds", metavar="N", type=int, default=4, help="networks of each world (default 4)"
    )
    parser.add_argument("--first", metavar="SEED", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--world", choices=list(WORLDS), action="append", help="only this; may be repeated")
    options = parser.parse_args(given)
    if not stream_bayes.compiled:
        print(
            "benchmarks: this is the uncompiled build of stream_bayes; it would take hours", file=sys.stderr
        )
        return 2
    for world in options.world or WORLDS:
        runs = [measured(options.variables, world, options.first + k) for k in range(options.seeds)]
        ours, best = (np.mean([run[kind] for run in runs], axis=0) for kind in (0, 1))
        adopted = [
            [entry["candidate"] for entry in run[2].log.entries if entry["what"] == "adopted"] for run in runs
        ]
        print(
            f"{world}: {' / '.join(f'{gap:.3f}' for gap in ours)}; oracle {' / '.join(f'{gap:.3f}' for gap in best)}; "
            f"{np.mean([run[3] for run in runs]):,.0f} events/s; adopted {adopted}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
