"""Structures over names and numbers, found from rows of generated networks: loss and time beside pybnesian.

    python -m benchmarks.networks.mixed 1000 11-20     # rows, and the seeds of the networks

Six names of three values and six numbers, each with up to two parents among the names before it, and each number with
up to two among the numbers before it: conditional linear Gaussians, of which each configuration has its own line. All
climb from the graph without edges. pybnesian has no number above a name, so ours is forbidden them but with its
defaults; it climbs once, by BIC, as `one climb` does. The loss is that of a `MixedNetwork` with the structure that was
found, in nats an event above the same with the true one, over 2,000 other rows. Times are processor time, the least of
three runs in turns; ours are given dicts, pybnesian a data frame.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from stream_bayes.networks import HillClimbing, MixedNetwork, Structure, mixed_structure

__all__ = ["main"]

Event = dict[str, Any]

NAMES, NUMBERS = [f"n{k}" for k in range(6)], [f"x{k}" for k in range(6)]
VALUES = 3
HELD_OUT = 2_000  # rows
RUNS = 3
UPWARD = [(x, n) for x in NUMBERS for n in NAMES]
SEARCHES: dict[str, dict[str, Any]] = {
    "BIC, one climb": {"search": HillClimbing(restarts=0, forbidden=UPWARD), "score": "bic"},
    "BIC": {"search": HillClimbing(forbidden=UPWARD), "score": "bic"},
    "marginal likelihood": {"search": HillClimbing(forbidden=UPWARD)},
    "defaults": {},
}


def drawn(seed: int, count: int) -> tuple[Structure, list[Event]]:
    """Draw a network, and rows from it."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    parents: dict[str, list[str]] = {}

    def some(candidates: list[str]) -> list[str]:
        return [candidates[k] for k in rng.permutation(len(candidates))[: int(rng.integers(3))]]

    def configuration(names: list[str]) -> Any:
        number = np.zeros(count, np.int64)
        for n in names:
            number = number * VALUES + columns[n]
        return number

    for k, n in enumerate(NAMES):
        parents[n] = some(NAMES[:k])
        shares = rng.dirichlet(np.full(VALUES, 0.5), VALUES ** len(parents[n])).cumsum(axis=1)
        above = rng.random(count)[:, None] > shares[configuration(parents[n])][:, :-1]
        columns[n] = above.sum(axis=1)
    for k, x in enumerate(NUMBERS):
        names, numbers = some(NAMES), some(NUMBERS[:k])
        parents[x], size, rows = names + numbers, VALUES ** len(names), configuration(names)
        means, slopes = 1.5 * rng.normal(size=size), rng.normal(size=(size, len(numbers)))
        columns[x] = means[rows] + np.exp(0.3 * rng.normal(size=size))[rows] * rng.normal(size=count)
        for slope, p in zip(slopes.T, numbers, strict=True):
            columns[x] = columns[x] + slope[rows] * columns[p]
    listed = {v: ["abc"[k] for k in c] if v in NAMES else c.tolist() for v, c in columns.items()}
    return Structure(parents), [
        dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)
    ]


def loss(structure: Structure, rows: list[Event], others: list[Event]) -> float:
    """Return the mean of minus the log-density of other rows, in a network that learned these."""
    model = MixedNetwork(structure)
    model.learn_many(rows)
    return -float(np.mean([model.log_density_one(x) for x in others]))


def ours(settings: dict[str, Any], rows: list[Event]) -> Callable[[], Structure]:
    return lambda: mixed_structure(rows, **settings).structure


def pybnesian_climb(rows: list[Event]) -> Callable[[], Structure]:
    import pandas as pd
    import pybnesian

    frame = pd.DataFrame(rows).astype(dict.fromkeys(NAMES, "category"))

    def work() -> Structure:
        found = pybnesian.hc(frame, bn_type=pybnesian.CLGNetworkType(), score="bic", operators=["arcs"])
        return Structure.from_edges(found.arcs(), [*NAMES, *NUMBERS])

    return work


def is_installed() -> bool:
    try:
        import pybnesian  # noqa: F401  # the reason of this function
    except ImportError:
        return False
    return True


def main(count: int, seeds: range) -> None:
    """Print a line for each network: the loss above the true structure's, and milliseconds."""
    columns = [*SEARCHES, *["pybnesian"] * is_installed()]
    print(f"| seed, {count:,} rows | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    losses, times = [], []
    for seed in seeds:
        truth, events = drawn(seed, count + HELD_OUT)
        rows, others = events[:count], events[count:]
        work = {name: ours(settings, rows) for name, settings in SEARCHES.items()}
        if is_installed():
            work["pybnesian"] = pybnesian_climb(rows)
        found, least = {}, dict.fromkeys(work, np.inf)
        for _ in range(RUNS):
            for name, search in work.items():
                begun = process_time()
                found[name] = search()
                least[name] = min(least[name], 1e3 * (process_time() - begun))
        own = loss(truth, rows, others)
        losses.append([loss(structure, rows, others) - own for structure in found.values()])
        times.append([*least.values()])
        cells = [f"{above:.4f}, {ms:.0f} ms" for above, ms in zip(losses[-1], times[-1], strict=True)]
        print(f"| {seed} | {' | '.join(cells)} |", flush=True)
    means = zip(np.mean(losses, axis=0), np.mean(times, axis=0), strict=True)
    print(f"| mean | {' | '.join(f'{above:.4f}, {ms:.0f} ms' for above, ms in means)} |")


if __name__ == "__main__":
    first, _, last = sys.argv[2].partition("-")
    main(int(sys.argv[1]), range(int(first), int(last or first) + 1))
