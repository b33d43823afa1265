"""`AdaptiveRegression` on whole tables, in the order of their rows, beside the published errors of ASML-REG.

    python -m benchmarks.regression_tables FILE:TARGET ...     # CSV, ARFF and whatever else the package reads

Each row is predicted and then learned. A file that is called after a table of the paper, as `abalone.arff`, is compared
with the least root mean square error of the variants there. The tables are no part of the package. Files of other
versions or orders of a table have other errors.
"""

from __future__ import annotations

import sys
from pathlib import Path

from stream_bayes import AdaptiveRegression, BayesianRegression
from stream_bayes.streams import evaluate_regression

__all__ = ["PUBLISHED", "main"]

PUBLISHED = {
    "fried": 1.963,
    "bike": 72.9,
    "abalone": 2.07,
    "kin8nm": 0.161,
    "house8l": 36_088.0,
    "metrotraffic": 1_437.0,
    "cpu": 5.47,
    "ailerons": 0.049,
    "elevators": 0.0025,
    "wine": 0.722,
}


def main(files: list[str]) -> None:
    """Print a line for each table: errors in the unit of its target."""
    names = ["AdaptiveRegression", "BayesianRegression", "no change", "mean"]
    print(f"| root mean square | rows | {' | '.join(names)} | published |\n|---|{'---:|' * 6}")
    for named in files:
        path, _, target = named.rpartition(":")
        regressors = {"AdaptiveRegression": AdaptiveRegression(), "BayesianRegression": BayesianRegression()}
        found = evaluate_regression(path, regressors, target=target, keep_answers=False)
        name, errors = Path(path).stem, [f"{found[each].rmse:.4g}" for each in names]
        published = PUBLISHED.get(name.lower(), "")
        print(f"| {name} | {found[names[0]].events:,} | {' | '.join(errors)} | {published} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
