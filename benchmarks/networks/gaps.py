"""Structure search over rows with missing values: edges that are invented, and what the found graph costs.

python -m benchmarks.networks.gaps [seeds, as 11-15]

Values are missing at random. The settings of the search were chosen on seeds 1 to 6; report others.

    independent   eight independent skewed variables of two or three values, 20,000 rows: edges found, the truth is 0
    chain         eight variables, each its predecessor with some flips, 30 % missing, 20,000 rows: structural Hamming
                  distance of the equivalence classes
    random        random networks of 12 variables: nats an event lost to the network that made the rows, by the found
                  graph and by the true one, each with tables from the complete rows of each family
    numbers       ten numbers, each a sum of two before it and noise, 2,000 rows: edges found of those 17, and others
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes import Nominal, Schema
from stream_bayes.networks import BayesNet, HillClimbing, Inference, Sample, Structure, mixed_structure
from tests.concepts import drawn_network

Columns = dict[Any, NDArray[Any]]

ROWS = 20_000
TEST_ROWS = 20_000
NAMES = [f"v{k}" for k in range(8)]


def with_gaps(columns: Columns, values: int, share: float, rng: np.random.Generator) -> Sample:
    """Return the columns with values missing at random."""
    gappy = {v: np.where(rng.random(len(column)) < share, -1, column) for v, column in columns.items()}
    return Sample(gappy, dict.fromkeys(gappy, values))


def independent(seed: int, values: int, share: float) -> int:
    """Return the number of edges found among independent skewed variables; a share of 0 leaves no gaps."""
    rng = np.random.default_rng(seed)
    columns: Columns = {}
    for v in NAMES:
        shares = np.sort(np.maximum(rng.dirichlet([0.6] * values), 0.03))[::-1]
        columns[v] = rng.choice(values, ROWS, p=shares / shares.sum())
    return len(HillClimbing().search(with_gaps(columns, values, share, rng)).structure.edges)


def chain(seed: int, flips: float, share: float = 0.3) -> int:
    """Return the distance of the graph found from a chain."""
    rng = np.random.default_rng(seed)
    columns, column = {}, (rng.random(ROWS) < 0.3).astype(int)
    for v in NAMES:
        columns[v] = column
        column = np.where(rng.random(ROWS) < flips, 1 - column, column)
    found = HillClimbing().search(with_gaps(columns, 2, share, rng)).structure
    return Structure.from_edges(itertools.pairwise(NAMES)).cpdag().shd(found.cpdag())


def random_network(seed: int, rows: int, share: float) -> tuple[float, float]:
    """Return what the found and the true graph lose to the network that made the rows, in nats an event."""
    rng = np.random.default_rng(seed)
    network = drawn_network(12, seed)
    names, engine = network.structure.variables, Inference(network)
    codes, test = engine.sample_codes(rows, rng), engine.sample_codes(TEST_ROWS, rng)
    sample = with_gaps({v: codes[:, k] for k, v in enumerate(names)}, 3, share, rng)
    found = HillClimbing().search(sample).structure
    best = float(engine.log_likelihoods(test).mean())
    events = [
        {v: network.states[v][code] for v, code in zip(names, row, strict=True) if code < 3}
        for row in sample.codes.tolist()
    ]
    losses = []
    for structure in (found, network.structure):
        model = BayesNet(structure, schema=Schema({v: Nominal(network.states[v]) for v in names}))
        model.learn_many(events)
        learned = model.to_network()
        order = [[learned.states[v].index(state) for state in network.states[v]] for v in names]
        coded = np.stack([np.array(places)[test[:, k]] for k, places in enumerate(order)], axis=1)
        losses.append(best - float(Inference(learned).log_likelihoods(coded).mean()))
    return losses[0], losses[1]


def numbers(seed: int, share: float) -> tuple[int, int]:
    """Return how many true edges `mixed_structure` finds among ten numbers, and how many others."""
    rng = np.random.default_rng(seed)
    columns, edges = np.zeros((2_000, 10)), set()
    for child in range(10):
        columns[:, child] = rng.normal(size=2_000)
        for parent in rng.choice(child, min(child, 2), replace=False).tolist():
            columns[:, child] += rng.choice([-1, 1]) * (0.4 + 0.6 * rng.random()) * columns[:, parent]
            edges.add(frozenset((parent, child)))
    is_gap = rng.random(columns.shape) < share
    rows = [dict(enumerate(row)) for row in np.where(is_gap, np.nan, columns).tolist()]
    found = {frozenset(edge) for edge in mixed_structure(rows).structure.edges}
    return len(found & edges), len(found - edges)


def main(seeds: range) -> None:
    """Print all tables."""
    for values in (2, 3):
        for share in (0.0, 0.02, 0.1, 0.3):
            found = [independent(seed, values, share) for seed in seeds]
            print(f"independent, {values} values, {share:.0%} missing: {found} edges", flush=True)
    for flips in (0.1, 0.2, 0.3):
        print(
            f"chain, {flips:.0%} flips, 30% missing: {[chain(seed, flips) for seed in seeds]} from it",
            flush=True,
        )
    for share in (0.0, 0.1, 0.3):
        counts = [numbers(seed, share) for seed in seeds]
        print(f"numbers, {share:.0%} missing: {counts} true edges and others", flush=True)
    for rows in (2_000, ROWS):
        for share in (0.2, 0.4):
            pairs = [random_network(seed, rows, share) for seed in seeds]
            listed = ", ".join(f"{mine:.4f} ({truth:.4f})" for mine, truth in pairs)
            ratio = sum(mine for mine, _ in pairs) / sum(truth for _, truth in pairs)
            print(
                f"random, {rows:,} rows, {share:.0%} missing: {listed}; {ratio:.2f} times the truth",
                flush=True,
            )


if __name__ == "__main__":
    first, _, last = (sys.argv[1] if len(sys.argv) > 1 else "11-15").partition("-")
    main(range(int(first), int(last or first) + 1))
