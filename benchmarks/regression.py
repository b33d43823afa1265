"""Regressors on streams that come with River, or that River generates: squared errors, intervals and time.

python -m benchmarks.regression [events of each stream, by default 2000]

Each event is predicted and then learned; the first 10 are not scored. An error is in deviations of the targets of the
stream, so 1 is that of their mean. Peers have one-hot names and, but for trees and rules, scaled numbers. Settings of
our regressors were chosen on the streams above the line, and reported for those below it.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from river import (
    compose,
    datasets,
    dummy,
    forest,
    linear_model,
    neighbors,
    preprocessing,
    rules,
    stats,
    tree,
)
from river.datasets import synth

from stream_bayes import AdaptiveRegression, BayesianRegression

Event = tuple[dict[Any, Any], float]

NOT_SCORED = 10
LEVEL = 0.9


class Result(NamedTuple):
    """A model's squared error, coverage and time on a stream."""

    error: float  # root of the mean square, in deviations of the target
    coverage: float  # share of targets in intervals of 90 %; NaN without intervals
    microseconds: float  # to predict and learn an event


def with_parts_of_dates(events: Iterable[Any], target: str | None = None) -> Iterator[Event]:
    """Yield events whose dates are month, hour and seconds."""
    for x, y in events:
        plain = {name: value for name, value in x.items() if not hasattr(value, "timestamp")}
        for name, value in x.items():
            if hasattr(value, "timestamp"):
                plain |= {f"{name} month": value.month, f"{name} hour": value.hour, name: value.timestamp()}
        yield plain, float(y if target is None else y[target])


def with_names(events: Iterable[Any], names: set[str]) -> Iterator[Event]:
    """Yield events in which some numbers are names."""
    for x, y in events:
        yield {name: str(value) if name in names else value for name, value in x.items()}, float(y)


CHOSEN_ON: dict[str, Callable[[], Iterable[Event]]] = {
    "TrumpApproval": lambda: with_parts_of_dates(datasets.TrumpApproval()),
    "ChickWeights": lambda: with_names(datasets.ChickWeights(), {"chick", "diet"}),
    "WaterFlow": lambda: with_parts_of_dates(datasets.WaterFlow()),
    "Friedman, seed 1": lambda: synth.Friedman(seed=1),
    "Friedman, gradual drift, seed 2": lambda: synth.FriedmanDrift("gra", (1000, 2000), seed=2),
    "Planes2D, seed 1": lambda: synth.Planes2D(seed=1),
}
KEPT_ASIDE: dict[str, Callable[[], Iterable[Event]]] = {
    "Mv, seed 5": lambda: synth.Mv(seed=5),
    "Friedman, seed 7": lambda: synth.Friedman(seed=7),
    "Friedman, local drift, seed 8": lambda: synth.FriedmanDrift("lea", (700, 1200, 1600), seed=8),
    "Friedman, recurring drift, seed 9": lambda: synth.FriedmanDrift("gsg", (700, 1300), 300, seed=9),
    "Planes2D, seed 7": lambda: synth.Planes2D(seed=7),
    "AirlinePassengers": lambda: with_parts_of_dates(datasets.AirlinePassengers()),
    "SolarFlare": lambda: with_parts_of_dates(datasets.SolarFlare(), "c-class-flares"),
}


def encoded(model: Any, numbers: Any = None) -> Any:
    """Return a model behind one-hot names, and numbers as they are or behind a transformer."""
    named = compose.SelectType(str) | preprocessing.OneHotEncoder()
    plain = compose.SelectType(int, float)
    return (named + (plain if numbers is None else plain | numbers)) | model


def models() -> dict[str, Any]:
    """Return new models, ours first."""
    scaler = preprocessing.StandardScaler
    return {
        "AdaptiveRegression": AdaptiveRegression(),
        "BayesianRegression": BayesianRegression(),
        "mean": dummy.StatisticRegressor(stats.Mean()),
        "no change": dummy.StatisticRegressor(stats.Shift(0)),
        "BLR": encoded(linear_model.BayesianLinearRegression(), scaler()),
        "LR": encoded(linear_model.LinearRegression(), scaler()),
        "HATR": encoded(tree.HoeffdingAdaptiveTreeRegressor(seed=1)),
        "AMRules": encoded(rules.AMRules()),
        "kNN": encoded(neighbors.KNNRegressor(), scaler()),
        "ARF": encoded(forest.ARFRegressor(seed=1)),
    }


def measure(model: Any, events: list[Event]) -> Result:
    """Predict and learn events."""
    targets = np.array([y for _, y in events])
    predicted, inside, seconds = [], [], 0.0
    for x, y in events:
        begin = time.perf_counter()
        predicted.append(model.predict_one(x) or 0.0)
        seconds += time.perf_counter() - begin
        if hasattr(model, "predict_interval_one"):
            low, high = model.predict_interval_one(x, LEVEL)
            inside.append(low <= y <= high)
        begin = time.perf_counter()
        model.learn_one(x, y)
        seconds += time.perf_counter() - begin
    errors = (np.array(predicted) - targets)[NOT_SCORED:]
    error = math.sqrt(float(np.mean(np.square(errors)))) / float(np.std(targets))
    coverage = float(np.mean(inside[NOT_SCORED:])) if inside else math.nan
    return Result(error, coverage, 1e6 * seconds / len(events))


def main(events: int) -> None:
    """Print a row for each stream."""
    names = list(models())
    print(f"| stream | events | coverage | {' | '.join(names)} |")
    print(f"|---|---:|---:|{'---:|' * len(names)}")
    times: dict[str, list[float]] = {name: [] for name in names}
    for streams in (CHOSEN_ON, KEPT_ASIDE):
        ranks: list[float] = []
        for stream, make in streams.items():
            seen = [({str(name): value for name, value in x.items()}, y) for x, y in islice(make(), events)]
            results = {name: measure(model, seen) for name, model in models().items()}
            errors = [result.error for result in results.values()]
            for name, result in results.items():
                times[name].append(result.microseconds)
            cells = [
                f"**{error:.3f}**"
                if error == min(errors)
                else f"{error:.3f}"
                if error < 100
                else f"{error:.0e}"
                for error in errors
            ]
            ranks.append(1.0 + sum(error < errors[0] for error in errors))
            print(
                f"| {stream} | {len(seen)} | {results[names[0]].coverage:.3f} | {' | '.join(cells)} |",
                flush=True,
            )
        print(f"| mean rank of AdaptiveRegression | | | {np.mean(ranks):.2f} |{' |' * (len(names) - 1)}")
    medians = [f"{np.median(times[name]):.0f}" for name in names]
    print(f"| us an event | | | {' | '.join(medians)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
