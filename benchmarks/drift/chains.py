"""`python -m benchmarks.drift.chains`: networks in time, on chains that stay as they are and on chains that drift.

A chain has five variables, each with parents in its event and the one before: names by tables, and in a mixed chain
three of them numbers, linear in numbers with coefficients for each value of a name above them. A stationary stream has
25,000 events. The loss of `DriftAdaptive(DynamicNetwork(...))` over that of the same network alone is what its
adoptions cost. A drifting one has 5,000 events of a chain, 3,000 of a chain between, if there is one, and 6,000 of
another. The gaps are nats an event above the true chain in windows around 500, 2,000 and 5,500 events after the last
change: of the network that follows drift, of the same one alone, and of an oracle. The oracle is told the graph, and
counts families that changed since they did and the others over all events.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import stream_bayes
from benchmarks.drift.local import AFTER, BEFORE, BETWEEN, WINDOWS
from stream_bayes import DriftAdaptive, DynamicNetwork

__all__ = ["WORLDS", "Chain", "Family", "drawn_chain", "drifting", "main", "stationary"]

STATIONARY = 25_000  # events
VARIABLES = 5
VALUES = 3  # of each name
LASTS = 0.9  # the share of a name's copies that simply stay, in chains whose values last
SPREAD = 0.6  # of a number about its line

Event = dict[str, Any]
Parent = tuple[int, int]  # a variable, and 0 for its value in the same event or 1 for that before


class Family(NamedTuple):
    """A variable of a chain: its parents, and a table of its shares, or lines: coefficients and an intercept."""

    is_number: bool
    names: tuple[Parent, ...]
    numbers: tuple[Parent, ...]
    table: Any  # by the values of the names above it

    @property
    def parents(self) -> tuple[Parent, ...]:
        """All parents."""
        return self.names + self.numbers


Chain = tuple[Family, ...]


def drawn_family(number: int, is_mixed: bool, rng: np.random.Generator, lasts: bool = False) -> Family:
    """Draw the parents and the table of a variable of a chain."""
    is_number = is_mixed and number >= 2
    others = [(v, 0) for v in range(number)] + [(v, 1) for v in range(VARIABLES) if v != number]
    others = [each for each in others if is_number or not (is_mixed and each[0] >= 2)]
    chosen = [others[k] for k in rng.permutation(len(others))[: int(rng.integers(1, 3))]]
    parents = [(number, 1), *chosen] if lasts or is_number or rng.random() < 0.7 else chosen
    names = tuple(each for each in parents if not (is_mixed and each[0] >= 2))
    numbers = tuple(each for each in parents if each not in names)
    return Family(is_number, names, numbers, drawn_table(is_number, names, numbers, number, rng, lasts))


def drawn_table(
    is_number: bool,
    names: tuple[Parent, ...],
    numbers: tuple[Parent, ...],
    number: int,
    rng: np.random.Generator,
    lasts: bool = False,
) -> Any:
    """Draw shares, or lines whose coefficients keep a chain from running away."""
    shape = (VALUES,) * len(names)
    if not is_number:
        table = 0.9 * rng.dirichlet(np.full(VALUES, 0.6), shape) + 0.1 / VALUES
        if lasts and names[0] == (number, 1):
            stays = np.eye(VALUES).reshape(VALUES, *(1,) * (len(names) - 1), VALUES)
            table = LASTS * stays + (1.0 - LASTS) * table
        return table
    slopes = rng.uniform(0.2, 0.9, (*shape, len(numbers))) * rng.choice([-1.0, 1.0], (*shape, len(numbers)))
    slopes *= 0.9 / max(len(numbers), 1)
    return np.concatenate([slopes, rng.normal(0.0, 1.0, (*shape, 1))], axis=-1)


def drawn_chain(seed: int, is_mixed: bool = False, lasts: bool = False) -> Chain:
    """Draw a chain."""
    rng = np.random.default_rng(seed)
    return tuple(drawn_family(number, is_mixed, rng, lasts) for number in range(VARIABLES))


def with_new_tables(chain: Chain, variables: Sequence[int], seed: int) -> Chain:
    """Return a chain with new tables of some variables."""
    rng = np.random.default_rng(seed)
    return tuple(
        family._replace(table=drawn_table(family.is_number, family.names, family.numbers, number, rng))
        if number in variables
        else family
        for number, family in enumerate(chain)
    )


def events_of(chains: Sequence[tuple[Chain, int]], seed: int) -> Iterator[tuple[Event, float]]:
    """Yield the events of chains, one after another, and what the truth loses on each."""
    rng = np.random.default_rng(seed)
    before: list[Any] = [0.0 if family.is_number else 0 for family in chains[0][0]]
    for chain, count in chains:
        for _ in range(count):
            now: list[Any] = []
            loss = 0.0
            for family in chain:
                row = family.table[tuple(int((now, before)[lag][v]) for v, lag in family.names)]
                if family.is_number:
                    above = [(now, before)[lag][v] for v, lag in family.numbers]
                    noise = float(rng.standard_normal())
                    now.append(float(row[:-1] @ above + row[-1]) + SPREAD * noise)
                    loss += 0.5 * noise * noise + math.log(SPREAD) + 0.5 * math.log(2.0 * math.pi)
                else:
                    now.append(min(int(np.searchsorted(np.cumsum(row), rng.random())), VALUES - 1))
                    loss -= math.log(row[now[-1]])
            yield (
                {name_of(v): value if type(value) is float else f"v{value}" for v, value in enumerate(now)},
                loss,
            )
            before = now


def name_of(v: int, lag: int = 0) -> str:
    """Return the name of a variable, or of its copy."""
    return f"x{v}@-1" if lag else f"x{v}"


LAGS: Mapping[str, Sequence[int]] = {name_of(v): [1] for v in range(VARIABLES)}


def network_of(is_mixed: bool, graph: Any = "learn") -> DynamicNetwork:
    """Return a network in time that knows nothing but the lags, or a graph as well."""
    return DynamicNetwork(LAGS, graph, numbers=is_mixed)


def graph_of(chain: Chain) -> dict[str, list[str]]:
    """Return the parents of each variable of a chain."""
    return {name_of(v): [name_of(*each) for each in family.parents] for v, family in enumerate(chain)}


def is_same(one: Family, other: Family) -> bool:
    """Return True if two families have the same parents and the same table."""
    return one.parents == other.parents and np.array_equal(one.table, other.table)


def in_turn(chain: Chain, seed: int) -> list[Chain]:
    """Return chains in which one table changes, then another one; in the last one the first table is back."""
    first, second = (seed % VARIABLES, (seed + 2) % VARIABLES)
    one = with_new_tables(chain, [first], seed)
    both = with_new_tables(one, [second], seed + 1)
    return [one, both, tuple(chain[first] if v == first else family for v, family in enumerate(both))]


WORLDS: Mapping[str, Callable[[Chain, int, bool], list[Chain]]] = {
    "no change": lambda chain, seed, is_mixed: [chain],
    "one table": lambda chain, seed, is_mixed: [with_new_tables(chain, [seed % VARIABLES], seed)],
    "all tables": lambda chain, seed, is_mixed: [with_new_tables(chain, range(VARIABLES), seed)],
    "another chain": lambda chain, seed, is_mixed: [drawn_chain(seed, is_mixed)],
    "one table, and back": lambda chain, seed, is_mixed: [
        with_new_tables(chain, [seed % VARIABLES], seed),
        chain,
    ],
    "two tables in turn, the first back": lambda chain, seed, is_mixed: in_turn(chain, seed),
    "all tables, and back": lambda chain, seed, is_mixed: [
        with_new_tables(chain, range(VARIABLES), seed),
        chain,
    ],
}


def adopted(model: DriftAdaptive) -> list[str]:
    """Return the candidates that were adopted."""
    return [entry["candidate"] for entry in model.log.entries if entry["what"] == "adopted"]


def drifting(world: str, seed: int, is_mixed: bool) -> tuple[list[list[float]], list[str], float]:
    """Return the gaps of the network that follows drift, of that alone and of the oracle by window, what was adopted,
    and events a second of the first.
    """
    old = drawn_chain(seed, is_mixed)
    later = WORLDS[world](old, seed + 1_000, is_mixed)
    phases = [(old, BEFORE), *((chain, BETWEEN) for chain in later[:-1]), (later[-1], AFTER)]
    last, begin = later[-1], sum(count for _, count in phases) - AFTER
    changed_in = [[v for v in range(VARIABLES) if not is_same(chain[v], last[v])] for chain, _ in phases]
    changed = {name_of(v) for each in changed_in for v in each}
    # A phase tells of the families that changed if none of them is another one there.
    is_told = [not each for each, (_, count) in zip(changed_in, phases, strict=True) for _ in range(count)]
    model, plain = DriftAdaptive(network_of(is_mixed)), network_of(is_mixed)
    whole, since = (network_of(is_mixed, graph_of(last)) for _ in range(2))
    gaps: list[list[list[float]]] = [[[] for _ in WINDOWS] for _ in range(3)]
    seconds = 0.0
    for place, (x, truth) in enumerate(events_of(phases, seed + 50)):
        begun = process_time()
        ours = model.score_learn_one(x)
        seconds += process_time() - begun
        alone = plain.score_learn_one(x)
        for window, (first, end) in enumerate(WINDOWS):
            if first <= place - begin < end:
                parts = whole.explain_one(x), since.explain_one(x)
                oracle = math.fsum(parts[v in changed][v] for v in graph_of(last))
                for kind, loss in enumerate((ours, alone, oracle)):
                    gaps[kind][window].append(loss - truth)
        whole.learn_one(x)
        if is_told[place]:
            since.learn_one(x)
        else:
            since.remember_one(x)
    means = [[float(np.mean(window)) for window in kind] for kind in gaps]
    return means, adopted(model), (begin + AFTER) / seconds


def stationary(seed: int, is_mixed: bool, lasts: bool, count: int = STATIONARY) -> tuple[float, list[str]]:
    """Return nats an event lost to the network alone, and what was adopted."""
    model, plain = DriftAdaptive(network_of(is_mixed)), network_of(is_mixed)
    lost = math.fsum(
        model.score_learn_one(x) - plain.score_learn_one(x)
        for x, _ in events_of([(drawn_chain(seed, is_mixed, lasts), count)], seed + 50)
    )
    return lost / count, adopted(model)


def main(given: Sequence[str] | None = None) -> int:
    """Print a line for each kind of chain and world, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift.chains", description=__doc__)
    parser.add_argument("--seeds", metavar="N", type=int, default=4, help="chains of each world (default 4)")
    parser.add_argument("--first", metavar="SEED", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--events", metavar="N", type=int, default=STATIONARY, help="of a stationary stream")
    parser.add_argument("--only", choices=["names", "mixed"], help="chains of names alone, or with numbers")
    parser.add_argument("--part", choices=["stationary", "drifting"], help="only this")
    parser.add_argument("--world", choices=list(WORLDS), action="append", help="only this; may be repeated")
    options = parser.parse_args(given)
    if not stream_bayes.compiled:
        parser.error("this is the uncompiled build of stream_bayes; it would take hours")
    seeds = range(options.first, options.first + options.seeds)
    for is_mixed in (False, True):
        kind = "mixed" if is_mixed else "names"
        if options.only not in (None, kind):
            continue
        for lasts in () if options.part == "drifting" else (False, True):
            found = [stationary(seed, is_mixed, lasts, options.events) for seed in seeds]
            print(
                f"{kind}, stationary{', values last' if lasts else ''}: lost to the network alone "
                f"{[round(lost, 5) for lost, _ in found]}; adopted {[each for _, each in found]}",
                flush=True,
            )
        for world in () if options.part == "stationary" else options.world or WORLDS:
            runs = [drifting(world, seed, is_mixed) for seed in seeds]
            ours, alone, oracle = (
                " / ".join(f"{gap:.3f}" for gap in np.mean([run[0][k] for run in runs], axis=0))
                for k in range(3)
            )
            print(
                f"{kind}, {world}: {ours}; alone {alone}; oracle {oracle}; "
                f"{np.mean([run[2] for run in runs]):,.0f} events/s; adopted {[run[1] for run in runs]}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
