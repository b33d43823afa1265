"""`stream-bayes compare`: several models side by side on one stream."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from river import base, datasets, forest, naive_bayes, neighbors, tree

from stream_bayes import plots
from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.printing import JSON, print_json
from stream_bayes.cli.streams import Ignore, Nominal, Time, source_of
from stream_bayes.core.event import Partition, Position
from stream_bayes.errors import BadValue, Exhausted
from stream_bayes.learners.base import BayesClassifier
from stream_bayes.learners.catalogue import LEARNERS, closest, make_learner
from stream_bayes.schema import Schema
from stream_bayes.snapshot import Snapshot
from stream_bayes.streams.evaluation.comparing import compare as compare_learners
from stream_bayes.streams.evaluation.result import Evaluation
from stream_bayes.streams.iterables import IterableSource
from stream_bayes.streams.source import Record, Source

__all__ = ["DATASETS", "PEERS", "compare"]

# What River brings, to compare with. They are made anew for each comparison.
PEERS: dict[str, Callable[[], base.Classifier]] = {
    "river-gaussian-nb": naive_bayes.GaussianNB,
    "river-hoeffding-tree": tree.HoeffdingTreeClassifier,
    "river-adaptive-tree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
    "river-arf": lambda: forest.ARFClassifier(seed=1),
    "river-amf": lambda: forest.AMFClassifier(seed=1),
    "river-knn": neighbors.KNNClassifier,
}
DATASETS: dict[str, Callable[[], Any]] = {
    "phishing": datasets.Phishing,
    "image-segments": datasets.ImageSegments,
    "bananas": datasets.Bananas,
    "shuttle": datasets.Shuttle,
}
MODELS = ("nb", "tan", "aode", "live-choice")


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
            help="A model; see `stream-bayes models`, and River's: " + ", ".join(PEERS) + ". May be repeated."
        ),
    ] = None,
    time: Time = None,
    nominal: Nominal = [],  # noqa: B006  # typer reads it
    ignore: Ignore = [],  # noqa: B006
    delimiter: Annotated[str, typer.Option(help="What stands between the cells of a CSV file.")] = ",",
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
        source, schema = _stream(file, target, time, nominal, ignore, delimiter)
        with closing(source):
            learners = {name: _learner(name, schema) for name in model or MODELS}
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
                    raise BadValue(f"a model cannot learn from this stream: {error} ({notes})") from error
        if lines is not None:
            result.write(lines)
        if picture is not None:
            plots.evaluation(result, picture)
        if save is not None:
            _save(save, learners, result)
        if json:
            print_json(result.to_dict())
        else:
            Console().print(result)


def _stream(
    file: Path, target: str | None, time: str | None, nominal: list[str], ignore: list[str], delimiter: str
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


def _learner(name: str, schema: Schema | None) -> base.Classifier:
    if name in PEERS:
        return PEERS[name]()
    if name not in LEARNERS:
        known = [*LEARNERS, *PEERS]
        raise BadValue(f"there is no model {name!r}{closest(name, known)} There are {', '.join(known)}")
    return make_learner(name, None, schema)


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


def _save(path: Path, learners: Mapping[str, Any], result: Evaluation) -> None:
    """Write the most accurate learner of this package, as a pipeline's `--warm-start` takes it."""
    own = [name for name, learner in learners.items() if isinstance(learner, BayesClassifier)]
    if not own:
        raise BadValue("--save: none of the models is of this package; add one, such as --model aode")
    best = max(own, key=lambda name: result[name].cumulative.accuracy or 0.0)  # the first of equals
    learner = learners[best]
    snapshot = Snapshot(
        learner=type(learner).__name__, sections={"model": learner.state()}, clock=result[best].events
    )
    path.write_bytes(snapshot.to_bytes())
