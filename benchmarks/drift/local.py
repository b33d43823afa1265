"""`python -m benchmarks.drift.local`: how fast a network without a class follows a change of some of its families.

Each world has 5,000 events of a random network, 3,000 of each network between, if there are any, and 6,000 of another.
The figures are nats an event above the true network in windows around 500, 2,000 and 5,500 events after the last
change, for `DriftAdaptive(BayesNet("learn"))`, and for an oracle: tables of the true graph, each counted over all
events in which its family was as it is.
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
from tests.concepts import drawn_network, with_edges, with_new_tables

__all__ = ["WORLDS", "main", "measured"]

BEFORE, BETWEEN, AFTER = 5_000, 3_000, 6_000  # events
WINDOWS = ((350, 650), (1_600, 2_400), (5_000, 6_000))  # events after the change

Event = Mapping[Any, Any]
Network = DiscreteNetwork


def some_tables(network: Network, seed: int, number: int) -> Network:
    """Return a network with new tables of a number of variables with parents."""
    children = [name for name in network.structure if network.structure.parents(name)]
    chosen = np.random.default_rng(seed).choice(len(children), number, replace=False)
    return with_new_tables(network, seed, [children[place] for place in chosen])


def one_more_edge(network: Network, seed: int) -> Network:
    """Return a network with one edge more, and a new table of its child."""
    rng = np.random.default_rng(seed)
    while True:
        edge = [network.structure.variables[k] for k in rng.choice(len(network.structure), 2, replace=False)]
        try:
            return with_edges(network, seed, added=[(edge[0], edge[1])])
        except BadStructure:
            continue


def in_turn(network: Network, seed: int) -> list[Network]:
    """Return networks in which three tables change, one after another; in the last one the first table is back."""
    children = [name for name in network.structure if network.structure.parents(name)]
    chosen = np.random.default_rng(seed).choice(len(children), 3, replace=False)
    worlds: list[Network] = []
    for place in chosen:
        worlds.append(with_new_tables(worlds[-1] if worlds else network, seed, [children[place]]))
    back = {**worlds[-1].tables, children[chosen[0]]: network.tables[children[chosen[0]]]}
    return [*worlds, Network(network.structure, network.states, back)]


def another(network: Network, seed: int) -> Network:
    """Return a network of as many variables."""
    return drawn_network(len(network.structure), seed)


WORLDS: Mapping[str, Callable[[Network, int], list[Network]]] = {
    "no change": lambda network, seed: [network],
    "one table": lambda network, seed: [some_tables(network, seed, 1)],
    "a tenth of the tables": lambda network, seed: [
        some_tables(network, seed, max(len(network.structure) // 10, 1))
    ],
    "one more edge": lambda network, seed: [one_more_edge(network, seed)],
    "all tables": lambda network, seed: [with_new_tables(network, seed)],
    "other edges": lambda network, seed: [another_graph(network, seed)],
    "another network": lambda network, seed: [another(network, seed)],
    "easier": lambda network, seed: [drawn_network(len(network.structure), seed, most_parents=1)],
    "harder": lambda network, seed: [drawn_network(len(network.structure), seed, most_parents=3)],
    "one table, and back": lambda network, seed: [some_tables(network, seed, 1), network],
    "three tables in turn, the first back": in_turn,
    "all tables, and back": lambda network, seed: [with_new_tables(network, seed), network],
    "another network, and back": lambda network, seed: [another(network, seed), network],
}


def events_of(network: Network, number: int, seed: int) -> list[Event]:
    """Draw events."""
    columns = Inference(network).sample(number, np.random.default_rng(seed))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def oracle(phases: Sequence[tuple[Network, Sequence[Event]]]) -> NDArray[np.float64]:
    """Return what the tables of the true graphs lose on each event after the last change."""
    last, measured_events = phases[-1]
    losses = np.zeros(len(measured_events))
    for name in last.structure:
        parents, size = last.structure.parents(name), len(last.states[name])
        own: Counter[Any] = Counter()
        total: Counter[Any] = Counter()
        for network, events in phases:
            is_last = network is last and events is measured_events
            if network.structure.parents(name) != parents or not np.array_equal(
                network.tables[name], last.tables[name]
            ):
                continue
            for place, event in enumerate(events):
                row = tuple(event[parent] for parent in parents)
                cell = (row, event[name])
                if is_last:
                    losses[place] -= math.log((own[cell] + 1.0 / size) / (total[row] + 1.0))
                own[cell] += 1
                total[row] += 1
    return losses


def measured(variables: int, world: str, seed: int) -> tuple[list[float], list[float], DriftAdaptive, float]:
    """Return the gaps of the network and of the oracle, the network, and events a second."""
    old = drawn_network(variables, seed)
    later = WORLDS[world](old, seed + 1000)
    phases = [(old, events_of(old, BEFORE, seed + 50))]
    phases += [(network, events_of(network, BETWEEN, seed + 70 + k)) for k, network in enumerate(later[:-1])]
    phases.append((later[-1], events_of(later[-1], AFTER, seed + 60)))
    true = BayesNet.from_network(later[-1])
    truth = np.array([true.score_one(x) for x in phases[-1][1]])
    model = DriftAdaptive(BayesNet("learn"))
    events = [x for _, part in phases for x in part]
    begun = process_time()
    ours = np.array([model.score_learn_one(x) for x in events])[-AFTER:]
    rate = len(events) / (process_time() - begun)
    gaps = [
        [float(np.mean((losses - truth)[begin:end])) for begin, end in WINDOWS]
        for losses in (ours, oracle(phases))
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
        parser.error("this is the uncompiled build of stream_bayes; it would take hours")
    for world in options.world or WORLDS:
        runs = [measured(options.variables, world, options.first + k) for k in range(options.seeds)]
        ours, best = np.mean([run[0] for run in runs], axis=0), np.mean([run[1] for run in runs], axis=0)
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
