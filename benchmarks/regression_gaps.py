"""Intervals of regressions that learned rows with gaps, on tables of one's own.

    python -m benchmarks.regression_gaps FILE:TARGET ...     # CSV, ARFF and whatever else the package reads

Of each table 400 random rows are learned and 300 others predicted, four times. Before that, numbers and names are taken
away at random from the rows to learn. Printed are the share of targets in intervals of 90 %, and their mean width in
deviations of the target. The tables are no part of the package.
"""

from __future__ import annotations

import sys

import numpy as np

from stream_bayes import BayesianRegression
from stream_bayes.streams import from_file

__all__ = ["main"]

LEARNED, PREDICTED = 400, 300
SEEDS = (7, 8, 9, 10)


def main(files: list[str]) -> None:
    """Print a line for each table, share of gaps and kind of features."""
    print("| table | lacking | features | in 90 % | width |\n|---|---:|---|---:|---:|")
    for named in files:
        path, _, target = named.rpartition(":")
        source = from_file(path, target=target, task="regression")
        events = [(event.x, float(event.y)) for event in source.poll(10_000)]
        source.close()
        deviation = float(np.std([y for _, y in events]))
        for lacking in (0.0, 0.05, 0.2, 0.5):
            for features in (None, "fourier"):
                inside, widths = [], []
                for seed in SEEDS:
                    rng = np.random.default_rng(seed)
                    order = rng.permutation(len(events)).tolist()
                    model = BayesianRegression(features=features)
                    for x, y in (events[at] for at in order[:LEARNED]):
                        model.learn_one({name: x[name] for name in x if rng.random() >= lacking}, y)
                    for x, y in (events[at] for at in order[LEARNED : LEARNED + PREDICTED]):
                        low, high = model.predict_interval_one(x, 0.9)
                        inside.append(low <= y <= high)
                        widths.append((high - low) / deviation)
                found = f"{np.mean(inside):.3f} | {np.mean(widths):.2f}"
                print(f"| {named} | {lacking:.0%} | {features or 'as they are'} | {found} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
