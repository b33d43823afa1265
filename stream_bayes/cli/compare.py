"""`stream-bayes compare`: several models side by side on one stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stream_bayes import plots
from stream_bayes.by_name import Imported, closest
from stream_bayes.cli.compared_models import MODELS, PEERS, compared_models
from stream_bayes.cli.data_file import Delimiter, Ignore, Nominal, Time, source_of
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json
from stream_bayes.data.schema import Schema
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.detectors import DETECTORS
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.snapshots.snapshot import Snapshot
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.evaluation.comparison import Comparison
from stream_bayes.streams.evaluation.comparison import compare as compare_learners
from stream_bayes.streams.sources.iterable import IterableSource

__all__ = ["DATASETS", "compare"]

DATASETS = Imported(
    {
        "phishing": "river.datasets.Phishing",
        "image-segments": "river.datasets.ImageSegments",
        "bananas": "river.datasets.Bananas",
        "shuttle": "river.datasets.Shuttle",
    }
)


def compare(
    file: Annotated[
        Path,
        typer.Argument(
            help=f"CSV or JSON lines file, or one of River's datasets: {', '.join(DATASETS)}.",
            show_default=False,
        ),
    ],
    target: Annotated[str | None, typer.Option(help="Column with the labels.", show_default=False)] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Model to compare: one of `stream-bayes models`, or River's "
            + ", ".join(PEERS)
            + ". MODEL+DETECTOR adapts to drift; detectors: "
            + ", ".join(DETECTORS)
            + ". Repeatable; OTHER=MODEL names a second one of a kind."
        ),
    ] = None,
    arg: Annotated[
        list[str],
        typer.Option("--arg", help="Argument of the models, as NAME=VALUE or MODEL.NAME=VALUE. Repeatable."),
    ] = [],
    time: Time = None,
    nominal: Nominal = [],
    ignore: Ignore = [],
    delimiter: Delimiter = None,
    drift: Annotated[str | None, typer.Option(hidden=True)] = None,
    every: Annotated[int, typer.Option(help="Events between two checkpoints.", min=1)] = 100,
    delay: Annotated[int, typer.Option(help="Events between a prediction and its label.", min=0)] = 0,
    limit: Annotated[int | None, typer.Option(help="Stop after this many events.", min=1)] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw accuracy and log loss over time, as .svg or .png.")
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(help="Write the checkpoints to this file, as JSON lines.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the most accurate model of this package to this file.")
    ] = None,
    json: JSON = False,
) -> None:
    """Compare models on one stream: each predicts, then learns, every event. Report accuracy and speed."""
    with exit_on_error():
        if drift is not None:  # an option of `replay`
            raise BadValue(f"--drift {drift}: name the detector with each model instead: --model tan+{drift}")
        _check_files(checkpoints, picture, save)
        source, schema = _stream(file, target, time, nominal, ignore, delimiter)
        with closing(source):
            learners = compared_models(model or MODELS, arg, schema)
            if save is not None and not any(map(_is_own, learners.values())):
                raise BadValue(
                    f"--save {save}: no model of this package is compared; add one, such as --model aode"
                )
            with _bar(_length(source, limit), quiet=json) as show:
                try:
                    result = compare_learners(
                        learners, source, every=every, delay=delay, limit=limit, progress=show
                    )
                except (
                    ArithmeticError,
                    LookupError,
                    TypeError,
                    ValueError,
                ) as error:  # River's learners may raise any of these
                    notes = "; ".join(getattr(error, "__notes__", ()))
                    reason = (
                        str(error)
                        if isinstance(error, StreamBayesError)
                        else f"{type(error).__name__}: {error}"
                    )
                    raise BadValue(f"a model cannot learn from this stream: {notes}: {reason}") from error
        if checkpoints is not None:
            result.write(checkpoints)
        if picture is not None:
            plots.evaluation(result, picture, marks=_drift_marks(learners))
        if save is not None:
            _save(save, learners, result)
        if json:
            print_json(result.to_dict())
        else:
            Console().print(result)


def _stream(
    file: Path,
    target: str | None,
    time: str | None,
    nominal: list[str],
    ignore: list[str],
    delimiter: str | None,
) -> tuple[Source, Schema | None]:
    """Return a file, or one of River's datasets by name, as a source."""
    if not file.exists() and str(file) in DATASETS:
        return IterableSource(DATASETS[str(file)](), str(file)), None
    if not file.exists():
        hint = closest(str(file), DATASETS)
        raise BadValue(f"there is no file {file}{hint} River's datasets are {', '.join(DATASETS)}")
    if target is None:
        raise BadValue("--target is missing: name the column with the labels")
    return source_of(file, target, time, nominal, ignore, delimiter)


def _check_files(checkpoints: Path | None, picture: Path | None, save: Path | None) -> None:
    """Raise `BadValue` for a file that cannot be written, before hours are spent."""
    for option, path in (("--checkpoints", checkpoints), ("--picture", picture), ("--save", save)):
        if path is None:
            continue
        if not path.parent.is_dir():
            raise BadValue(f"{option} {path}: there is no directory {path.parent}; create it first")
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BadValue(
                f"{option} {path}: cannot be written; name a file in a directory that you can write to"
            )
    if picture is not None:
        plots.check_can_draw(picture)


def _length(source: Source, limit: int | None) -> int | None:
    """Return the number of records that will be read; None if unknown in advance."""
    length: int | None = getattr(getattr(source, "items", None), "n_samples", None)
    return limit if length is None or limit is None else min(length, limit)


@contextmanager
def _bar(total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Show a bar on stderr; yield the function that advances it, or None if it is not shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("events", total=total)
        yield lambda scored: bar.update(task, completed=scored)


def _drift_marks(learners: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return the drifts to mark in a picture, with the model's name if several models adapt to drift."""
    logs = {name: learner.log for name, learner in learners.items() if isinstance(learner, DriftAdaptive)}
    return [
        mark
        for name, log in logs.items()
        for mark in plots.drift_marks(log.entries, name if len(logs) > 1 else "")
    ]


def _is_own(learner: object) -> bool:
    return isinstance(learner, BayesClassifier)


def _save(path: Path, learners: Mapping[str, Any], result: Comparison) -> None:
    """Save the most accurate learner of this package."""
    own = [name for name, learner in learners.items() if _is_own(learner)]
    best = max(own, key=lambda name: result[name].cumulative.accuracy or 0.0)  # the first of equals
    learner = learners[best]
    snapshot = Snapshot(
        learner=type(learner).__name__, sections={"model": learner.state()}, clock=result[best].events
    )
    path.write_bytes(snapshot.to_bytes())
