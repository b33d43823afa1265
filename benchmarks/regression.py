"""Regressors on streams that come with River, or that River generates: squared errors, intervals and time.

    python -m benchmarks.regression [--events 5000] [--peer REGEX] [--stream REGEX] [--tables DIRECTORY] [--renew]

Each event is predicted and then learned; the first 10 are not scored. An error is in deviations of the targets of the
stream, so 1 is that of their mean. River's peers have one-hot names and, but for trees and rules, scaled numbers; those
of CapyMOA, which need Java, are given features and names before the stream. Settings of our regressors were chosen on
the streams above the line, and reported for those below it: among them are tables, the files of a directory. Those of
KEEL, `.dat`, are in a random order; rows of `.arff` in their own, and their last column is the target. What is not
there is left out, with a line that says so.

A result of a peer is kept, as a line of `regression-EVENTS.jsonl`, and not run again: only for the same events, the
same settings of the model. So a kept result also stands where the peer does not run. Ours are run each time. The row of
times has a median of each model, kept ones as they were measured.

Three tables follow each other: root mean squares, with times; mean absolute errors; and the forecasts of the models
that give a density or an interval: the share of targets in their intervals of 90 % and 50 %, in the worst 500 events,
in the thirds with narrow, middle and wide intervals; the median width of those of 90 %; the mean negative log density
and, of every tenth event, the CRPS, all three in deviations. `held out` is the share in intervals of 90 % of the 200
events after the first 300, none of which is learned, as a saved model has them: of streams in time nobody knows the
last targets then. A model that cannot read a stream has no number there, and its error is printed.
"""

from __future__ import annotations

import argparse
import math
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import (
    compose,
    datasets,
    dummy,
    ensemble,
    forest,
    linear_model,
    neighbors,
    preprocessing,
    rules,
    stats,
    tree,
)
from river.datasets import synth

from benchmarks.results import KeptResults
from benchmarks.streams.moa import MOA_REGRESSORS, MoaIntervals, MoaRegressor, is_result, missing_part
from benchmarks.streams.sources import keel_rows
from stream_bayes import AdaptiveRegression, BayesianRegression
from stream_bayes.core.events.event import BadRecord
from stream_bayes.errors import Exhausted
from stream_bayes.streams import from_file
from stream_bayes.streams.files.arff import ARFFSource

Event = tuple[dict[Any, Any], float]
Floats = NDArray[np.float64]

NOT_SCORED = 10
LEVEL = 0.9
HALF = 0.5
WORST = 500  # events
EVERY = 10  # of so many events one has its CRPS measured, which takes some milliseconds
FIRST, HELD_OUT = 300, 200
NAN = math.nan


class Density(NamedTuple):
    """The forecast of an event: its ends at two levels, log density and CRPS of the target, in the target's unit.

    All but the ends are NaN of a model that gives intervals alone; the CRPS also where it was not measured.
    """

    ends: tuple[float, float]
    half: tuple[float, float] = (NAN, NAN)
    log_density: float = NAN
    crps: float = NAN


class Result(NamedTuple):
    """A model's errors, forecasts and time on a stream."""

    error: float  # root of the mean square, in deviations of the target
    absolute: float  # mean absolute error, likewise
    forecasts: list[float]  # the ten numbers of the third table; none without a density or intervals
    microseconds: float  # of processor time, to predict and learn an event


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


def tables_of(directory: Path) -> dict[str, Callable[[], Iterable[Event]]]:
    """Return the tables in a directory, by name."""
    tables: dict[str, Callable[[], Iterable[Event]]] = {}
    for path in sorted(directory.glob("*.dat")):
        tables[f"keel {path.stem}"] = partial(_keel_events, path)
    for path in sorted(directory.glob("*.arff")):
        tables[path.stem] = partial(_arff_events, path)
    return tables


def _keel_events(path: Path) -> Iterator[Event]:
    for x, label in keel_rows(path):
        yield x, float(label)


def _arff_events(path: Path) -> Iterator[Event]:
    with closing(ARFFSource(path)) as heading:
        target = heading.columns[-1]
    with closing(from_file(path, target=target)) as rows, suppress(Exhausted):
        while events := rows.poll(1000):
            for event in events:
                if isinstance(event, BadRecord):
                    raise ValueError(f"{path}: {event.detail}")
                yield dict(event.x), float(event.y)


OURS: dict[str, Callable[[], Any]] = {
    "AdaptiveRegression": AdaptiveRegression,
    "BayesianRegression": BayesianRegression,
}
scaler = preprocessing.StandardScaler
PEERS: dict[str, Callable[[], Any]] = {
    "mean": lambda: dummy.StatisticRegressor(stats.Mean()),
    "no change": lambda: dummy.StatisticRegressor(stats.Shift(0)),
    "BLR": lambda: encoded(linear_model.BayesianLinearRegression(), scaler()),
    "LR": lambda: encoded(linear_model.LinearRegression(), scaler()),
    "HATR": lambda: encoded(tree.HoeffdingAdaptiveTreeRegressor(seed=1)),
    "AMRules": lambda: encoded(rules.AMRules()),
    "kNN": lambda: encoded(neighbors.KNNRegressor(), scaler()),
    "ARF": lambda: encoded(forest.ARFRegressor(seed=1)),
    "SRP": lambda: encoded(ensemble.SRPRegressor(n_models=10, seed=1)),
    **MOA_REGRESSORS,
}


def forecast(model: Any, x: dict[Any, Any], y: float, is_whole: bool) -> Density | None:
    """Return the forecast of a model that gives a density or intervals; None for others. The CRPS only `is_whole`."""
    if isinstance(model, MoaIntervals):
        return Density(model.ends(x))
    if hasattr(model, "predict_distribution_one"):
        given = model.predict_distribution_one(x)
        crps = given.crps(y) if is_whole else NAN
        return Density(given.interval(LEVEL), given.interval(HALF), given.log_density(y), crps)
    steps = getattr(model, "steps", {})
    if "BayesianLinearRegression" not in steps:
        return None
    normal = model.predict_one(x, with_dist=True)
    mean, deviation = normal.mu, max(normal.sigma, 1e-12)
    z = (y - mean) / deviation
    inner, outer = (NormalDist().inv_cdf(0.5 + 0.5 * level) * deviation for level in (HALF, LEVEL))
    log_density = -0.5 * z * z - math.log(deviation * math.sqrt(2.0 * math.pi))
    crps = deviation * (
        z * (2.0 * NormalDist().cdf(z) - 1.0) + 2.0 * NormalDist().pdf(z) - 1.0 / math.sqrt(math.pi)
    )
    return Density((mean - outer, mean + outer), (mean - inner, mean + inner), log_density, crps)


def measure(model: Any, events: list[Event]) -> Result:
    """Predict and learn events."""
    targets = np.array([y for _, y in events])
    if isinstance(model, MoaRegressor):
        model.declare(events)
    predicted, densities, held_out, seconds = [], [], NAN, 0.0
    for k, (x, y) in enumerate(events):
        if k == FIRST and len(events) >= FIRST + HELD_OUT:
            ahead = [(forecast(model, *each, False), each[1]) for each in events[k : k + HELD_OUT]]
            if ahead[0][0] is not None:
                held_out = float(np.mean([each.ends[0] <= y <= each.ends[1] for each, y in ahead if each]))
        begin = time.process_time()
        predicted.append(model.predict_one(x) or 0.0)
        seconds += time.process_time() - begin
        given = forecast(model, x, y, k % EVERY == 0) if k >= NOT_SCORED else None
        if given is not None:
            densities.append(given)
        begin = time.process_time()
        model.learn_one(x, y)
        seconds += time.process_time() - begin
    errors = (np.array(predicted) - targets)[NOT_SCORED:] / float(np.std(targets))
    error, absolute = math.sqrt(float(np.mean(np.square(errors)))), float(np.mean(np.abs(errors)))
    forecasts = scores(densities, held_out, targets) if densities else []
    return Result(error, absolute, forecasts, 1e6 * seconds / len(events))


def scores(densities: list[Density], held_out: float, targets: Floats) -> list[float]:
    """Return the numbers of the third table of a model on a stream."""
    deviation, scored = float(np.std(targets)), targets[NOT_SCORED:]
    ends = np.array([each.ends for each in densities])
    half = np.array([each.half for each in densities])
    inside = (ends[:, 0] <= scored) & (scored <= ends[:, 1])
    size = min(WORST, len(inside))
    worst = min(float(np.mean(inside[k : k + size])) for k in range(len(inside) - size + 1))
    thirds = [inside[part].mean() for part in np.array_split(np.argsort(ends[:, 1] - ends[:, 0]), 3)]
    has_half = not np.isnan(half).any()
    inner = np.mean((half[:, 0] <= scored) & (scored <= half[:, 1])) if has_half else NAN
    width = float(np.median(ends[:, 1] - ends[:, 0])) / deviation
    log_densities = np.array([each.log_density for each in densities])
    measured = [each.crps for each in densities if not math.isnan(each.crps)]
    crps = float(np.mean(measured)) / deviation if measured else NAN
    shares = [inside.mean(), inner, worst, *thirds, held_out]
    return [*map(float, shares), width, float(-log_densities.mean()) - math.log(deviation), crps]


def shown(number: float) -> str:
    """Return a number as a cell, which is empty for NaN."""
    if math.isnan(number):
        return ""
    return f"{number:.3f}" if abs(number) < 100 else f"{number:.0e}"


def cells(errors: list[float]) -> str:
    """Return errors as cells, the least one bold."""
    least = np.nanmin(errors)
    return " | ".join(f"**{shown(error)}**" if error == least else shown(error) for error in errors)


def settings_of(model: Any) -> str:
    """Return what a peer and the steps before it are made of."""
    steps = getattr(model, "steps", None) or getattr(model, "transformers", None)
    if steps:
        return " | ".join(settings_of(step) for step in steps.values())
    if isinstance(model, MoaRegressor):
        return f"{type(model).__name__} {model.name} {model.settings}"
    return "types" if isinstance(model, compose.SelectType) else repr(model)


def row_of(result: Result) -> dict[str, Any]:
    """Return a result as it is kept: with six digits, and None for NaN."""
    numbers = result._asdict()
    forecasts = numbers.pop("forecasts")
    return {name: _kept(number) for name, number in numbers.items()} | {
        "forecasts": [_kept(number) for number in forecasts]
    }


def _kept(number: float) -> float | None:
    return None if math.isnan(number) else float(f"{number:.6g}")


def result_of(row: dict[str, Any]) -> Result:
    """Return a result that was kept; NaN for a peer that failed."""
    if "error_message" in row:
        return FAILED
    numbers = [NAN if row[name] is None else row[name] for name in ("error", "absolute", "microseconds")]
    forecasts = [NAN if number is None else number for number in row["forecasts"]]
    return Result(numbers[0], numbers[1], forecasts, numbers[2])


FAILED = Result(NAN, NAN, [], NAN)


class Peers:
    """The peers whose names match: their results are read where they are kept, and else run and kept."""

    def __init__(self, pattern: str, kept: KeptResults, limit: int, is_renewed: bool) -> None:
        self.kept, self.limit, self.is_renewed = kept, limit, is_renewed
        chosen = [name for name in PEERS if re.search(pattern, name)]
        reason = missing_part()
        self.cannot_run = {name for name in chosen if name in MOA_REGRESSORS} if reason else set[str]()
        known = {row["model"] for row in kept if row["limit"] == limit}
        self.names = [name for name in chosen if name not in self.cannot_run or name in known]
        if left_out := [name for name in chosen if name not in self.names]:
            print(f"left out: {', '.join(left_out)}: {reason}\n")

    def result(self, name: str, stream: str, events: list[Event]) -> Result:
        """Return the result of a peer on a stream. An error of the peer is printed, and its result is NaN."""
        model = PEERS[name]()
        setting = sha256(f"{settings_of(model)} {events}".encode()).hexdigest()[:16]
        row = self.kept.find(name, stream, self.limit)
        can_run = name not in self.cannot_run
        if row is None or row["setting"] != setting or (self.is_renewed and can_run):
            if not can_run:
                return FAILED
            row = self._run(name, model, stream, events) | {"setting": setting}
            self.kept.keep(row)
        if "error_message" in row:
            print(f"{name} on {stream}: {row['error_message']}")
        return result_of(row)

    def _run(self, name: str, model: Any, stream: str, events: list[Event]) -> dict[str, Any]:
        package = "capymoa" if name in MOA_REGRESSORS else "river"
        pick = (
            f"--peer {shlex.quote(f'^{re.escape(name)}$')} --stream {shlex.quote(f'^{re.escape(stream)}$')}"
        )
        row: dict[str, Any] = {"model": name, "stream": stream, "limit": self.limit} | {
            "command": f"python -m benchmarks.regression --events {self.limit} {pick} --renew",
            "by": f"{package} {version(package)}",
        }
        try:
            return row | row_of(measure(model, events))
        except Exception as error:  # a peer that cannot read a stream is a result
            if not is_result(error):
                raise
            return row | {"error_message": f"{type(error).__name__}: {error}"}


def chosen_streams(pattern: str, directory: Path) -> list[dict[str, Callable[[], Iterable[Event]]]]:
    """Return the streams that match, those chosen on first; print if there is no table."""
    tables = tables_of(directory)
    if not tables:
        print(f"left out: regression tables: {directory} has no file .dat or .arff\n")
    every = (CHOSEN_ON, KEPT_ASIDE | tables)
    return [{name: make for name, make in each.items() if re.search(pattern, name)} for each in every]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, a row for each stream."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regression", description=main.__doc__)
    parser.add_argument(
        "--events", type=int, default=5000, help="events of each stream; default: %(default)s"
    )
    parser.add_argument("--peer", default="", help="peers whose names match this regular expression")
    parser.add_argument("--stream", default="", help="streams whose names match this regular expression")
    parser.add_argument(
        "--tables",
        type=Path,
        default=Path("build/regression-tables"),
        help="directory of tables; default: %(default)s",
    )
    parser.add_argument(
        "--results", type=Path, help="file of kept results; default: regression-EVENTS.jsonl beside this one"
    )
    parser.add_argument("--renew", action="store_true", help="run these peers again on these streams")
    given = parser.parse_args(arguments)
    kept = KeptResults(given.results or Path(__file__).with_name(f"regression-{given.events}.jsonl"))
    peers = Peers(given.peer, kept, given.events, given.renew)
    streams = chosen_streams(given.stream, given.tables)
    names = [*OURS, *peers.names]
    line = "|---|---:|" + "---:|" * len(names)
    print(f"| root mean square | events | {' | '.join(names)} |\n{line}")
    times: dict[str, list[float]] = {name: [] for name in names}
    absolute, forecasts = [], []
    for group in filter(None, streams):
        ranks: list[tuple[float, float]] = []
        for stream, make in group.items():
            seen = [
                ({str(name): value for name, value in x.items()}, y) for x, y in islice(make(), given.events)
            ]
            results = {name: measure(model(), seen) for name, model in OURS.items()}
            results |= {name: peers.result(name, stream, seen) for name in peers.names}
            errors = [result.error for result in results.values()]
            sizes = [result.absolute for result in results.values()]
            for name, result in results.items():
                if not math.isnan(result.microseconds):
                    times[name].append(result.microseconds)
                if result.forecasts:
                    forecasts.append([stream, name, *map(shown, result.forecasts)])
            ranks.append((1 + sum(e < errors[0] for e in errors), 1 + sum(size < sizes[0] for size in sizes)))
            print(f"| {stream} | {len(seen)} | {cells(errors)} |", flush=True)
            absolute.append(f"| {stream} | {len(seen)} | {cells(sizes)} |")
        of_squares, of_sizes = np.mean(ranks, axis=0)
        print(f"| mean rank of AdaptiveRegression | | {of_squares:.2f} |{' |' * (len(names) - 1)}")
        absolute.append(f"| mean rank of AdaptiveRegression | | {of_sizes:.2f} |{' |' * (len(names) - 1)}")
    medians = [f"{np.median(taken):.0f}" if taken else "" for taken in times.values()]
    print(f"| us an event | | {' | '.join(medians)} |")
    print(f"\n| mean absolute error | events | {' | '.join(names)} |\n{line}")
    print("\n".join(absolute))
    shares = "90 % | 50 % | worst 500 | narrow | middle | wide | held out"
    print(f"\n| forecasts | model | {shares} | width | -log density | CRPS |\n|---|---|{'---:|' * 10}")
    for row in forecasts:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
