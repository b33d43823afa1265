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
from stream_bayes.cli.contenders import MODELS, PEERS, contenders
from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.printing import JSON, print_json
from stream_bayes.cli.sources import Delimiter, Ignore, Nominal, Time, source_of
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.data.schema import Schema
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.detectors import DETECTORS
from stream_bayes.errors import BadValue, Exhausted, StreamBayesError
from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.snapshots.snapshot import Snapshot
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.evaluation.comparison import compare as compare_learners
from stream_bayes.streams.evaluation.result import Evaluation
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
            help=f"A CSV or JSON lines file, or one of {', '.join(DATASETS)}.", show_default=False
        ),
    ],
    target: Annotated[
        str | None, typer.Option(help="The column that holds the labels.", show_default=False)
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A model; see `stream-bayes models`, and River's: "
            + ", ".join(PEERS)
            + ". One of this package follows drift as MODEL+DETECTOR, with "
            + ", ".join(DETECTORS)
            + ". May be repeated; "
            "OTHER=NAME gives a second one of a kind another name."
        ),
    ] = None,
    arg: Annotated[
        list[str],
        typer.Option(
            "--arg", help="An argument of the models, NAME=VALUE or MODEL.NAME=VALUE. May be repeated."
        ),
    ] = [],
    time: Time = None,
    nominal: Nominal = [],
    ignore: Ignore = [],
    delimiter: Delimiter = None,
    drift: Annotated[str | None, typer.Option(hidden=True)] = None,
    every: Annotated[int, typer.Option(help="Note where they stand after so many events.", min=1)] = 100,
    delay: Annotated[int, typer.Option(help="How many events later labels come.", min=0)] = 0,
    most: Annotated[int | None, typer.Option(help="Stop after so many events.", min=1)] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw accuracy and log-loss over time: a .svg or .png.")
    ] = None,
    lines: Annotated[
        Path | None, typer.Option(help="Write where they stood over time, as JSON lines.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the most accurate model of this package as a snapshot.")
    ] = None,
    json: JSON = False,
) -> None:
    """Let models predict, then learn, each event of one stream; say how good each was, and how fast."""
    with telling_errors():
        if drift is not None:  # as `replay` has it
            raise BadValue(
                f"--drift {drift}: say of each model whether it is to follow drift: --model tan+{drift}"
            )
        _check_files(lines, picture, save)
        source, schema = _stream(file, target, time, nominal, ignore, delimiter)
        with closing(source):
            learners = contenders(model or MODELS, arg, schema)
            if save is not None and not any(map(_is_own, learners.values())):
                raise BadValue(
                    f"--save {save}: none of the models is of this package; add one, such as --model aode"
                )
            source = source if most is None else _First(source, most)
            with _bar(_length(source), quiet=json) as show:
                try:
                    result = compare_learners(learners, source, every=every, delay=delay, progress=show)
                except (
                    ArithmeticError,
                    LookupError,
                    TypeError,
                    ValueError,
                ) as error:  # River's learners raise any
                    notes = "; ".join(getattr(error, "__notes__", ()))
                    told = (
                        str(error)
                        if isinstance(error, StreamBayesError)
                        else f"{type(error).__name__}: {error}"
                    )
                    raise BadValue(f"a model cannot learn from this stream: {notes}: {told}") from error
        if lines is not None:
            result.write(lines)
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
    """A file, or one of River's datasets by its name."""
    if not file.exists() and str(file) in DATASETS:
        return IterableSource(DATASETS[str(file)](), str(file)), None
    if not file.exists():
        hint = closest(str(file), DATASETS)
        raise BadValue(f"there is no file {file}{hint} River's datasets here are {', '.join(DATASETS)}")
    if target is None:
        raise BadValue("--target: name the column that holds the labels")
    return source_of(file, target, time, nominal, ignore, delimiter)


def _check_files(lines: Path | None, picture: Path | None, save: Path | None) -> None:
    """Refuse what could not be written, before hours are spent on it."""
    for option, path in (("--lines", lines), ("--picture", picture), ("--save", save)):
        if path is None:
            continue
        if not path.parent.is_dir():
            raise BadValue(f"{option} {path}: there is no directory {path.parent}; make it first")
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BadValue(f"{option} {path}: cannot be written; name a file in a directory of yours")
    if picture is not None:
        plots.check_can_draw(picture)


class _First:
    """The first so many records of a source."""

    may_skip = False

    def __init__(self, source: Source, most: int) -> None:
        self.source, self.left = source, most
        self.name, self.medium = source.name, source.medium

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return self.source.positions

    def poll(self, limit: int) -> list[Record]:
        if not self.left:
            raise Exhausted
        records = self.source.poll(min(limit, self.left))
        self.left -= len(records)
        return records

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        self.source.seek(positions)

    def close(self) -> None:
        self.source.close()


def _length(source: Source) -> int | None:
    """How many records there are, where that is known beforehand."""
    if isinstance(source, _First):
        inner = _length(source.source)
        return source.left if inner is None else min(source.left, inner)
    return getattr(getattr(source, "items", None), "n_samples", None)


@contextmanager
def _bar(total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """A bar on the standard error, and what to tell it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("events", total=total)
        yield lambda scored: bar.update(task, completed=scored)


def _drift_marks(learners: Mapping[str, Any]) -> list[tuple[int, str]]:
    """What those that follow drift noted; where several do, with their names."""
    logs = {name: learner.log for name, learner in learners.items() if isinstance(learner, DriftAdaptive)}
    return [
        mark
        for name, log in logs.items()
        for mark in plots.drift_marks(log.entries, name if len(logs) > 1 else "")
    ]


def _is_own(learner: object) -> bool:
    return isinstance(learner, BayesClassifier)


def _save(path: Path, learners: Mapping[str, Any], result: Evaluation) -> None:
    """Write the most accurate learner of this package, as a pipeline's `--warm-start` takes it."""
    own = [name for name, learner in learners.items() if _is_own(learner)]
    best = max(own, key=lambda name: result[name].cumulative.accuracy or 0.0)  # the first of equals
    learner = learners[best]
    snapshot = Snapshot(
        learner=type(learner).__name__, sections={"model": learner.state()}, clock=result[best].events
    )
    path.write_bytes(snapshot.to_bytes())
