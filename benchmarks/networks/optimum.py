"""The distances of searches from the optimum, and of all from the truth: small known networks, 1,000 rows.

    python -m benchmarks.networks.optimum [SEEDS]

For each network a line with the BIC of the optimum where `ExactSearch` finds it (at most 20 variables), else of the
best of all searches, and for each search by how many nats it ends below on each sample, and its seconds. `ExactSearch`
and the others have `max_parents=3`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from time import process_time

from benchmarks.networks.recovery import Rows
from stream_bayes.networks import BOSS, ExactSearch, HillClimbing, SearchResult

__all__ = ["main"]

ROWS = 1_000
NETWORKS = ("asia", "sachs", "child", "insurance")
MOST_EXACT = 20  # variables
PARENTS = 3
SEARCHES: Mapping[str, Callable[[], HillClimbing | BOSS | ExactSearch]] = {
    "ExactSearch": lambda: ExactSearch(max_parents=PARENTS),
    "HillClimbing": lambda: HillClimbing(max_parents=PARENTS),
    "HillClimbing, no restarts": lambda: HillClimbing(max_parents=PARENTS, restarts=0),
    "BOSS": lambda: BOSS(max_parents=PARENTS),
}


def main(seeds: int = 5) -> None:
    """Print the lines."""
    for name in NETWORKS:
        short: dict[str, list[float]] = {}
        seconds: dict[str, float] = {}
        optima = []
        is_exact = True
        for seed in range(1, seeds + 1):
            rows = Rows(name, ROWS, seed)
            found: dict[str, SearchResult] = {}
            for search, make in SEARCHES.items():
                if search == "ExactSearch" and len(rows.names) > MOST_EXACT:
                    is_exact = False
                    continue
                begun = process_time()
                found[search] = make().search(rows.sample())
                seconds[search] = seconds.get(search, 0.0) + process_time() - begun
            best = max(each.score for each in found.values())
            optima.append(best)
            for search, each in found.items():
                short.setdefault(search, []).append(best - each.score)
        print(
            f"{name}: {'optimum' if is_exact else 'best of all'} {', '.join(f'{best:.1f}' for best in optima)}"
        )
        for search, each_short in short.items():
            below = ", ".join(f"{nats:.2f}" for nats in each_short)
            print(f"  {search}: {below} below; {seconds[search] / seeds:.2f} s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
