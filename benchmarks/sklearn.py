"""scikit-learn's estimators of this package at a million rows, and `train` and `predict` on a CSV file of as many.

    python -m benchmarks.sklearn        three rounds in turn, as JSON; about a minute

The rows have 20 columns of 8 values and 2 classes. `fit` takes them as `OrdinalEncoder` gives them; `learn_many` takes
`CodedColumns`, `CategoricalNB` the same array as the estimator. The least of the rounds counts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.naive_bayes import CategoricalNB
from typer.testing import CliRunner

from stream_bayes import CodedColumns, NaiveBayes, Nominal, Schema
from stream_bayes.cli.app import app
from stream_bayes.sklearn import NaiveBayesClassifier

__all__ = ["main"]

ROWS, COLUMNS, VALUES, ROUNDS = 1_000_000, 20, 8, 3
TARGETS = {
    "fit / learn_many": 1.2,
    "CategoricalNB / fit": 2.0,
    "train, rows/s": 100_000.0,
    "predict, rows/s": 150_000.0,
}


def main(rows: int = ROWS) -> dict[str, float]:
    """Measure, and print the figures beside their targets."""
    found = times(rows) | rates(rows)
    sys.stdout.write(json.dumps({"figures": found, "targets": TARGETS}) + "\n")
    return found


def times(rows: int) -> dict[str, float]:
    """Return the ratios of `fit`, `learn_many` and `CategoricalNB.fit`, each in turn."""
    X, y = samples(rows)
    names = tuple(f"x{column}" for column in range(COLUMNS))
    values, codes = tuple(range(VALUES)), X.astype(np.int32)
    coded = CodedColumns(
        names, codes, (values,) * COLUMNS, (), np.empty((rows, 0)), y.astype(np.int32), (0, 1)
    )
    schema = Schema({name: Nominal(values) for name in names}, (0, 1))
    runs: dict[str, Callable[[], Any]] = {
        "fit": lambda: NaiveBayesClassifier(categorical_features="all").fit(X, y),
        "learn_many": lambda: NaiveBayes(schema=schema).learn_many(coded),
        "CategoricalNB": lambda: CategoricalNB().fit(X, y),
    }
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return {
        "fit / learn_many": best["fit"] / best["learn_many"],
        "CategoricalNB / fit": best["CategoricalNB"] / best["fit"],
    }


def samples(rows: int) -> tuple[Any, Any]:
    """Return codes as `OrdinalEncoder` gives them, floats, and labels."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, rows)
    X = (rng.integers(0, VALUES, (rows, COLUMNS)) + y[:, None] * (np.arange(COLUMNS) % 3)) % VALUES
    return X.astype(np.float64), y


def rates(rows: int) -> dict[str, float]:
    """Return the rows a second of `stream-bayes train` with naive Bayes, and of `predict`, on a CSV file."""
    X, y = samples(rows)
    with TemporaryDirectory() as directory:
        file, model, out = (str(Path(directory, name)) for name in ("rows.csv", "model.zip", "out.csv"))
        with Path(file).open("w") as text:
            text.write(",".join(f"x{column}" for column in range(COLUMNS)) + ",label\n")
            text.writelines(
                ",".join(f"v{value}" for value in row) + f",c{label}\n"
                for row, label in zip(X.astype(int).tolist(), y.tolist(), strict=True)
            )
        commands = {
            "train": ["train", file, "--target", "label", "--model", "nb", "--out", model],
            "predict": ["predict", model, file, "--out", out],
        }
        best = dict.fromkeys(commands, 0.0)
        for _ in range(ROUNDS):
            for name, command in commands.items():
                start = time.process_time()
                done = CliRunner().invoke(app, command)
                assert done.exit_code == 0, done.output
                best[name] = max(best[name], rows / (time.process_time() - start))
    return {f"{name}, rows/s": rate for name, rate in best.items()}


if __name__ == "__main__":
    main()
