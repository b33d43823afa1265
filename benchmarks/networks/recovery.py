"""Structures recovered from rows of known networks: time, BIC and distance to the truth (SHD), beside other packages.

    python -m benchmarks.networks.recovery alarm 5000            # a line for each package and setting
    python -m benchmarks.networks.recovery pigs 1000 --only ours,pybnesian
    python -m benchmarks.networks.recovery child 5000 --seed 4   # other rows

All get the same rows and climb from the structure without edges by BIC: ours with its defaults, without restarts and
over orders, pybnesian, pyAgrum and pgmpy with theirs. Times are processor time, the least of two runs for ours and
pybnesian, taken in turns; of one run for the others. The SHD counts the pairs of variables whose edge differs between
the equivalence classes; the one in brackets compares edge by edge, and so also directions that no data can decide. A
package that takes longer than `PATIENCE` seconds is left out, with a line that says so.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable, Iterable
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmarks.networks.questions import file_of
from stream_bayes.core.search.sample import Sample
from stream_bayes.networks import BIC, BOSS, HillClimbing, Inference, Structure, read_bif, score

__all__ = ["main"]

PATIENCE = 240.0  # seconds
PACKAGES = ("ours", "ours, no restarts", "ours, orders", "pybnesian", "pyagrum", "pgmpy")
TWICE = PACKAGES[:4]


class Rows:
    """Rows drawn from a known network, in the forms that the packages take."""

    def __init__(self, name: str, count: int, seed: int = 1) -> None:
        path = file_of(name)
        if path is None:
            raise SystemExit(f"there is no file of the network {name!r}; install pgmpy, which has it")
        network = read_bif(path)
        self.truth = network.structure
        self.names: list[Any] = list(network.structure.variables)
        self.sizes = {v: len(network.states[v]) for v in self.names}
        self.codes = Inference(network).sample_codes(count, np.random.default_rng(seed))

    def sample(self) -> Sample:
        """Return the rows as ours takes them; equal ones are merged within the search."""
        return Sample({v: self.codes[:, k] for k, v in enumerate(self.names)}, self.sizes)

    def frame(self) -> Any:
        """Return the rows as a data frame, in columns that know all labels."""
        import pandas as pd

        return pd.DataFrame(
            {
                str(v): pd.Categorical.from_codes(self.codes[:, k].astype(int), self.labels(v))
                for k, v in enumerate(self.names)
            }
        )

    def labels(self, variable: Any) -> list[str]:
        """Return the labels of a variable in the data frame."""
        return [f"s{j}" for j in range(self.sizes[variable])]


def climbing(search: HillClimbing | BOSS, rows: Rows) -> Callable[[], Structure]:
    sample = rows.sample()
    return lambda: search.search(sample.collapsed()).structure


def pybnesian_climbing(rows: Rows) -> Callable[[], Structure]:
    import pybnesian

    data = rows.frame()

    def work() -> Structure:
        found = pybnesian.hc(data, bn_type=pybnesian.DiscreteBNType(), score="bic", operators=["arcs"])
        return Structure.from_edges(found.arcs(), rows.names)

    return work


def pyagrum_climbing(rows: Rows) -> Callable[[], Structure]:
    import pyagrum

    template = pyagrum.BayesNet()
    for v in rows.names:
        template.add(pyagrum.LabelizedVariable(str(v), str(v), rows.labels(v)))
    data = rows.frame().astype(str)

    def work() -> Structure:
        learner = pyagrum.BNLearner(data, template)
        learner.setNumberOfThreads(1)
        learner.useGreedyHillClimbing()
        learner.useScoreBIC()
        dag = learner.learnDAG()
        return Structure.from_edges([(rows.names[a], rows.names[b]) for a, b in dag.arcs()], rows.names)

    return work


def pgmpy_climbing(rows: Rows) -> Callable[[], Structure]:
    from pgmpy.estimators import HillClimbSearch

    data = rows.frame()

    def work() -> Structure:
        found = HillClimbSearch(data).estimate(scoring_method="bic-d", show_progress=False)
        return Structure.from_edges(list(found.edges()), rows.names)

    return work


KINDS: dict[str, Callable[[Rows], Callable[[], Structure]]] = {
    "ours": partial(climbing, HillClimbing()),
    "ours, no restarts": partial(climbing, HillClimbing(restarts=0)),
    "ours, orders": partial(climbing, BOSS()),
    "pybnesian": pybnesian_climbing,
    "pyagrum": pyagrum_climbing,
    "pgmpy": pgmpy_climbing,
}


def timed(package: str, rows: Rows, answers: Any) -> None:
    """Put the seconds and the edges of one run into a queue."""
    work = KINDS[package](rows)
    start = process_time()
    found = work()
    answers.put((process_time() - start, found.edges))


def distances(found: Structure, truth: Structure) -> tuple[int, int]:
    """Return the structural Hamming distance between the equivalence classes, and between the structures themselves."""
    edges, true_edges = set(found.edges), set(truth.edges)
    reversed_ = {(a, b) for a, b in edges if (b, a) in true_edges}
    return found.shd(truth), len(edges ^ true_edges) - len(reversed_)


def run_of(package: str, rows: Rows) -> tuple[float, Structure] | None:
    """Run a package in a process of its own; return None if it takes too long."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=timed, args=(package, rows, answers))
    process.start()
    try:
        seconds, edges = answers.get(timeout=PATIENCE)
    except Exception:  # queue.Empty, from a context's own module
        process.kill()
        return None
    finally:
        process.join()
    return seconds, Structure.from_edges(edges, rows.names)


def main(name: str, count: int, packages: Iterable[str] = PACKAGES, seed: int = 1) -> None:
    """Print a line for each package."""
    rows = Rows(name, count, seed)
    runs: dict[str, list[tuple[float, Structure]]] = {}
    for turn in range(2):
        for package in packages:
            if turn == 1 and package not in TWICE:
                continue
            found = run_of(package, rows)
            if found is None:
                print(f"{name} {count:,} {package}: no answer within {PATIENCE:.0f} s", flush=True)
                continue
            runs.setdefault(package, []).append(found)
    sample = rows.sample().collapsed()
    for package, done in runs.items():
        seconds, structure = min(done, key=lambda run: run[0])
        classes, edges = distances(structure, rows.truth)
        print(
            f"{name} {count:,} {package}: {1000 * seconds:,.0f} ms, BIC {score(structure, sample, BIC()):,.1f}, SHD "
            f"{classes} ({edges})",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("network")
    parser.add_argument("rows", type=int)
    parser.add_argument("--seed", type=int, default=1, help="of the rows (default 1)")
    parser.add_argument("--only", default=",".join(PACKAGES), help="packages, joined by commas")
    given = parser.parse_args()
    chosen = [package for package in PACKAGES if package.split(",")[0] in given.only.split(",")]
    main(given.network, given.rows, chosen, given.seed)
