"""Detection of planted anomalies in events of ten networks, by `BayesNet("learn")` and River's HalfSpaceTrees.

    python -m benchmarks.networks.anomalies [EVENTS]

prints for each table the area under the ROC curve of the scores, first of ours. An event is scored, then learned. After
a quarter of the stream, one event in twenty is planted, and is not learned: half of these have a value that never
occurred, the others values of another event in a third of their variables: each usual, together not. HalfSpaceTrees
gets an indicator of each value.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from river import anomaly, metrics

from benchmarks.networks.questions import file_of
from stream_bayes.networks import BayesNet, Inference, read_bif

__all__ = ["areas", "main"]

TABLES = ("asia", "cancer", "earthquake", "survey", "sachs", "child", "insurance", "alarm", "water", "hepar2")
SHARE = 0.05  # of planted events


def stream(name: str, events: int, seed: int) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the events of a table, and True for those that are planted."""
    path = file_of(name)
    assert path is not None, "pgmpy has the networks"
    rng = np.random.default_rng(seed)
    columns = Inference(read_bif(path)).sample(events, rng)
    names = list(columns)
    rows = [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for number, x in enumerate(rows):
        yield x, False
        if number < events // 4 or rng.random() > SHARE:
            continue
        if rng.random() < 0.5:
            yield {**x, names[rng.integers(len(names))]: "planted"}, True
            continue
        other = rows[rng.integers(len(rows))]
        chosen = rng.choice(names, max(len(names) // 3, 1), replace=False).tolist()
        mixed = x | {variable: other[variable] for variable in chosen}
        if mixed != x:
            yield mixed, True


def areas(name: str, events: int, seed: int = 1) -> tuple[float, float]:
    """Return the areas of one table, ours first."""
    model, trees = BayesNet("learn", seed=seed), anomaly.HalfSpaceTrees(seed=seed)
    found = metrics.ROCAUC(n_thresholds=2000), metrics.ROCAUC(n_thresholds=2000)
    for number, (x, is_planted) in enumerate(stream(name, events, seed)):
        indicators = {f"{variable}={value}": 1.0 for variable, value in x.items()}
        scores = model.score_one(x), trees.score_one(indicators)
        if number >= events // 4:
            # The measure has thresholds between 0 and 1.
            found[0].update(is_planted, 1.0 - float(np.exp(-scores[0] / 50.0)))
            found[1].update(is_planted, scores[1])
        if not is_planted:
            model.learn_one(x)
            trees.learn_one(indicators)
    return found[0].get(), found[1].get()


def main(events: int) -> None:
    """Print the areas of all tables."""
    better = 0
    for name in TABLES:
        ours, theirs = areas(name, events)
        better += ours > theirs
        print(f"{name:12} {ours:.3f} {theirs:.3f}", flush=True)
    print(f"ours is larger on {better} of {len(TABLES)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000)
