"""`python -m benchmarks.keys TABLE.csv --key player --target label`: a model for each key, by what it begins with.

Rows are predicted, then learned, in their order, by naive Bayes: one for all keys, without the key and with it as a
feature; one for each key alone; one for each key that begins with the counts of all at its first event; and
`ModelPerKey`, whose prior follows all keys. The log-loss of the first events of each key, and of each tenth one later.
Numbers are numbers wherever a whole column is.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from stream_bayes import ModelPerKey, NaiveBayes
from stream_bayes.learners.base.class_probabilities import log_loss

__all__ = ["LossByAge", "losses_of", "rows_in"]

FIRST, LATER = 20, 10  # events of a key that are all scored; of those after, one in so many is
LEAST = 1e-3  # of a probability that is scored

Row = tuple[dict[str, Any], str]


class LossByAge(NamedTuple):
    """The mean log-loss of the first events of keys, and of later ones."""

    first: float
    later: float


def rows_in(path: Path, target: str) -> list[Row]:
    """Return the rows of a table with its labels."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numeric = {name for name in rows[0] if all(_is_number(row[name]) for row in rows if row[name])}
    return [
        (
            {
                name: (float(value) if name in numeric else value) if value else None
                for name, value in row.items()
                if name != target
            },
            row[target],
        )
        for row in rows
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def losses_of(rows: Iterable[Row], key: str, weights: Sequence[float]) -> dict[str, LossByAge]:
    """Return the losses of each way to begin, by its name."""
    together, with_key = NaiveBayes(), NaiveBayes()
    alone: dict[Any, NaiveBayes] = {}
    begun: dict[float, dict[Any, NaiveBayes]] = {weight: {} for weight in weights}
    live = {weight: ModelPerKey(NaiveBayes(), key, weight) for weight in weights}
    events: dict[Any, int] = defaultdict(int)
    sums: dict[str, list[list[float]]] = defaultdict(lambda: [[], []])
    for x, y in rows:
        name = x[key]
        plain = {feature: value for feature, value in x.items() if feature != key}
        models: dict[str, tuple[Any, dict[str, Any]]] = {
            "all keys": (together, plain),
            "all keys, the key a feature": (with_key, x),
            "each key alone": (alone.setdefault(name, NaiveBayes()), plain),
        }
        for weight in weights:
            if name not in begun[weight]:
                fresh = NaiveBayes()
                begun[weight][name] = (
                    fresh.add_prior(together, min(weight, together.clock)) if together.clock else fresh
                )
            models[f"begins with all, {weight:g}"] = begun[weight][name], plain
            models[f"ModelPerKey, {weight:g}"] = live[weight], x
        number = events[name]
        events[name] += 1
        if together.clock and (number < FIRST or number % LATER == 0):
            classes = len(together.classes_)
            for way, (model, features) in models.items():
                answer = model.predict_proba_one(features) or dict.fromkeys(together.classes_, 1 / classes)
                loss = log_loss({label: max(p, LEAST) for label, p in {y: LEAST, **answer}.items()}, y)
                sums[way][number >= FIRST].append(loss)
        for model, features in models.values():
            model.learn_one(features, y)
    return {
        way: LossByAge(*(sum(part) / max(len(part), 1) for part in losses)) for way, losses in sums.items()
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="A model for each key of a table, by what it begins with.", allow_abbrev=False
    )
    parser.add_argument("table", type=Path, help="a CSV file, in the order of its events")
    parser.add_argument("--key", required=True, help="the column that names the key")
    parser.add_argument("--target", required=True, help="the column of the label")
    parser.add_argument(
        "--weights", type=float, nargs="+", default=[20, 50, 100], help="of the prior, in events"
    )
    arguments = parser.parse_args()
    shown = Table("begins with", f"first {FIRST} events of a key", f"1 in {LATER} later", title="log-loss")
    for way, loss in losses_of(
        rows_in(arguments.table, arguments.target), arguments.key, arguments.weights
    ).items():
        shown.add_row(way, f"{loss.first:.4f}", f"{loss.later:.4f}")
    Console().print(shown)
