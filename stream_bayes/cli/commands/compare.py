"""`stream-bayes compare`: several models side by side on one stream."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stream_bayes import plots
from stream_bayes.bugs import is_bug
from stream_bayes.cli.commands.service import ServeOptions, wait_for_signal
from stream_bayes.cli.commands.train import records_of
from stream_bayes.cli.compared_models import MODELS, PEERS, SEED, compared_models
from stream_bayes.cli.compared_regressors import compared_regressors, numeric_rows, standings
from stream_bayes.cli.data_file import (
    DataFile,
    DataOptions,
    label_amount,
    label_cuts,
    merged_with,
    open_table,
    warn_of_misfits,
)
from stream_bayes.cli.decision_rules import DecisionOptions
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.networks import check_target
from stream_bayes.cli.output import (
    JSON,
    checked_output,
    console,
    left_out_lines,
    note,
    print_json,
    print_table,
)
from stream_bayes.cli.tasks import Task, is_regression
from stream_bayes.core.events.event import Event
from stream_bayes.data.schema import Schema
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.drift.detectors import DETECTORS
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.evaluation.baselines import BASELINES
from stream_bayes.evaluation.comparison import Comparison
from stream_bayes.evaluation.comparison import compare as compare_learners
from stream_bayes.evaluation.details import Details
from stream_bayes.evaluation.network_comparison import NetworkStanding, compare_networks
from stream_bayes.evaluation.regression import BASELINES as REGRESSION_BASELINES
from stream_bayes.evaluation.regression import evaluate_regression
from stream_bayes.evaluation.report import report
from stream_bayes.learners.catalogue import REGRESSION, class_named
from stream_bayes.names import Imported, closest
from stream_bayes.private_files import write_private
from stream_bayes.saving.model_files import save as save_model
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.sources.binned_labels import BinnedLabels
from stream_bayes.streams.sources.iterable import IterableSource

if TYPE_CHECKING:
    from stream_bayes.serve.compared import ComparedModels

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
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="CSV, TSV, JSON lines, ARFF, Parquet or Avro file (plain, .gz or .zst), or one of River's datasets: "
            f"{', '.join(DATASETS)}. Several files of the same columns are merged by --time.",
            show_default=False,
        ),
    ],
    *,
    target: Annotated[str | None, typer.Option(help="Column with the labels.", show_default=False)] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Model to compare: one of `stream-bayes models`, or River's "
            + ", ".join(PEERS)
            + ". MODEL+DETECTOR adapts to drift; detectors: "
            + ", ".join(DETECTORS)
            + f". Repeatable; pass OTHER=MODEL to compare two of a kind. Default: {', '.join(MODELS)}. The baselines "
            "majority and no-change are always compared."
        ),
    ] = None,
    task: Task = None,
    arg: Annotated[
        list[str],
        typer.Option("--arg", help="Argument of the models, as NAME=VALUE or MODEL.NAME=VALUE. Repeatable."),
    ] = [],
    options: DataOptions,
    bins: Annotated[
        int | None,
        typer.Option(
            help="Turn a numeric target into classes: this number of intervals, with equally many rows in each.",
            min=2,
        ),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="Shuffle the rows first (in memory), for a sorted table."),
    ] = False,
    decisions: DecisionOptions,
    drift: Annotated[str | None, typer.Option(hidden=True)] = None,
    every: Annotated[int, typer.Option(help="Events between two checkpoints.", min=1)] = 100,
    delay: Annotated[int, typer.Option(help="Events between a prediction and its label.", min=0)] = 0,
    limit: Annotated[int | None, typer.Option(help="Stop after this many events.", min=1)] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a report: tables, curves, calibration, confusions, evidence.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw accuracy and log loss over time, as .svg or .png.")
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(help="Write the checkpoints to this file, as JSON lines.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the most accurate model of this package to this file.")
    ] = None,
    serve: ServeOptions,
    json: JSON = False,
) -> None:
    """Compare models on one stream: each predicts, then learns, every event. Report accuracy and speed.

    With --task regression, models of numbers are compared by their errors and intervals.
    Without --target, networks (bayes-net, bayes-net+adwin) are compared by the mean surprise of the events, in nats.
    """
    with exit_on_error():
        if drift is not None:  # an option of `replay`
            raise BadValue(f"--drift {drift}: name the detector with each model instead: --model tan+{drift}")
        outputs = {"--checkpoints": checkpoints, "--picture": picture, "--save": save, "--html": html}
        for option, path in outputs.items():
            if path is not None:
                checked_output(option, path)
        if picture is not None:
            plots.check_can_draw(picture)
        serve.check()
        costs = decisions.costs()
        for_classes = {
            "--bins": bins is not None,
            "--html": html is not None,
            "--picture": picture is not None,
            "--checkpoints": checkpoints is not None,
            "--serve": serve.is_wanted,
            "--costs": costs is not None,
        }
        file = files[0]
        if target is None and (file.exists() or str(file) not in DATASETS):
            if not file.exists():
                _refuse_absent(file)
            check_target(file, target, model or MODELS, options)
            _refuse(for_classes | {"--delay": delay > 0}, "is for models of a class; name it with --target")
            _compare_networks(files, model or MODELS, arg, options, shuffle, limit, save, json)
            return
        if is_regression(model, task):
            _refuse(for_classes, f"is for models of classes, not with --task {REGRESSION}")
            _compare_regressors(files, target, model or [], arg, options, shuffle, delay, limit, save, json)
            return
        source, schema, table = _stream(files, target, options, bins)
        with closing(source), ExitStack() as around:
            if table is not None:
                note([*table.described(), *([] if bins else table.warnings())], quiet=json)
                if len(files) > 1:
                    note([_merging(files, options.time)], quiet=json)
            learners = compared_models(model or MODELS, arg, schema)
            if save is not None and not any(map(_is_own, learners.values())):
                raise BadValue(
                    f"--save {save}: no model of this package is compared; add one, such as --model aode"
                )
            learners |= {name: make() for name, make in BASELINES.items() if name not in learners}
            details = Details(costs) if html is not None or costs is not None else None
            stream = source if not shuffle else _shuffled(source)
            service = (
                around.enter_context(_service(learners, file, target, serve.port, json))
                if serve.is_wanted
                else None
            )
            with _bar(_length(source, limit), quiet=json) as show:
                try:
                    result = compare_learners(
                        learners,
                        stream,
                        every=every,
                        delay=delay,
                        limit=limit,
                        progress=show,
                        on_checkpoint=None if service is None else service.note,
                        on_answer=None if details is None else details.add,
                    )
                except (
                    ArithmeticError,
                    LookupError,
                    TypeError,
                    ValueError,
                ) as error:  # River's learners may raise any of these
                    if is_bug(error):
                        raise
                    notes = "; ".join(getattr(error, "__notes__", ()))
                    reason = (
                        str(error)
                        if isinstance(error, StreamBayesError)
                        else f"{type(error).__name__}: {error}"
                    )
                    raise BadValue(f"a model cannot learn from this stream: {notes}: {reason}") from error
            if table is not None:
                warn_of_misfits(source, lambda line: note([line], quiet=json))
            if costs is not None and details is not None:
                costs.check(details.labels())
                result.costs = details.mean_costs()
                result.expected_costs = details.mean_expected_costs()
            if checkpoints is not None:
                result.write(checkpoints)
            if picture is not None:
                plots.evaluation(result, picture, marks=_drift_marks(learners))
            if save is not None:
                _save(save, learners, result)
            if html is not None and details is not None:
                title = f"{file.name}: {target}" if target is not None else file.name
                write_private(html, report(result, details, learners, title).encode())
            if json:
                print_json(result.to_dict())
            else:
                console().print(result)
            note(_warnings(result, shuffle), quiet=json)
            for name, learner in learners.items():
                note([f"{name}: {line}" for line in left_out_lines(learner)], quiet=json)
            if service is not None:
                service.finish(result.losses, _best_own(learners, result) or result.most_accurate)
                note(["the stream has ended; the page goes on, until Ctrl-C"], quiet=json)
                wait_for_signal()


def _stream(
    files: Sequence[Path], target: str | None, options: DataOptions, bins: int | None
) -> tuple[Source, Schema | None, DataFile | None]:
    """Return files merged by time, or one of River's datasets by name, as a source."""
    file = files[0]
    if not file.exists() and str(file) in DATASETS:
        return IterableSource(DATASETS[str(file)](), str(file)), None, None
    if not file.exists():
        _refuse_absent(file)
    table = open_table(file, target, options)
    source = table.source if len(files) == 1 else merged_with(table, files[1:], options)
    if bins is None:
        return source, table.schema, table
    try:
        return BinnedLabels(source, label_cuts(table, bins), label_amount(table)), table.schema, table
    except BadValue:
        source.close()
        raise


def _refuse(options: Mapping[str, bool], reason: str) -> None:
    """Raise `BadValue` for the first of some options that is there."""
    for option, is_there in options.items():
        if is_there:
            raise BadValue(f"{option}: {reason}")


def _refuse_absent(file: Path) -> NoReturn:
    hint = closest(str(file), DATASETS)
    raise BadValue(f"there is no file {file}{hint} River's datasets are {', '.join(DATASETS)}")


def _compare_networks(
    files: Sequence[Path],
    models: Sequence[str],
    arguments: Sequence[str],
    options: DataOptions,
    shuffle: bool,
    limit: int | None,
    save_to: Path | None,
    json: bool,
) -> None:
    """Compare networks without a class by their nats per event, and print the result."""
    table = open_table(files[0], None, options)
    source = table.source if len(files) == 1 else merged_with(table, files[1:], options)
    with closing(source):
        note(table.described(), quiet=json)
        if len(files) > 1:
            note([_merging(files, options.time)], quiet=json)
        networks = compared_models(models, arguments, table.schema, has_target=False)
        records = _shuffled(source) if shuffle else records_of(source)
        with _bar(limit, quiet=json) as show:
            standings, bad = compare_networks(networks, records, limit=limit, progress=show)
        warn_of_misfits(source, lambda line: note([line], quiet=json))
    ranked = sorted(standings.items(), key=lambda item: _mean_or_infinity(item[1]))
    if save_to is not None:
        save_model(ranked[0][1].model, save_to)
    if json:
        print_json({"models": {name: each.to_dict() for name, each in ranked}, "skipped": bad})
        return
    rows = [
        {
            "model": name,
            "events": each.events,
            "nats an event": each.surprises.mean,
            "last 1,000": each.surprises.recent_mean,
            "events/s": round(each.events / max(each.seconds, 1e-9)),
        }
        for name, each in ranked
    ]
    print_table("surprise, the least first", rows, right=tuple(rows[0])[1:])
    for name, each in ranked:
        if each.surprises.impossible:
            typer.echo(f"{name}: {each.surprises.impossible:,} impossible events, which the mean leaves out")
        for reason, count in each.refused.items():
            typer.echo(f"{name}: refused {count:,} events: {reason}")
        if each.stopped is not None:
            typer.echo(f"{name}: stopped after {each.events:,} events: {each.stopped}")
    for reason, count in bad.items():
        typer.echo(f"{count:,} records skipped: {reason}")


def _compare_regressors(
    files: Sequence[Path],
    target: str | None,
    models: Sequence[str],
    arguments: Sequence[str],
    options: DataOptions,
    shuffle: bool,
    delay: int,
    limit: int | None,
    save_to: Path | None,
    json: bool,
) -> None:
    """Compare models of numbers by their errors and intervals, and print the result."""
    if target is None or not files[0].exists():
        raise BadValue(f"--task {REGRESSION}: needs a data file and its --target; got {files[0]}")
    source, schema, table = _stream(files, target, options, None)
    skipped: Counter[str] = Counter()
    with closing(source):
        if table is None:
            raise BadValue(f"{files[0]}: expected a data file")
        note(table.described(), quiet=json)
        if len(files) > 1:
            note([_merging(files, options.time)], quiet=json)
        regressors = compared_regressors(models, arguments, schema)
        records = _shuffled(source) if shuffle else records_of(source)
        with _bar(_length(source, limit), quiet=json) as show:
            result = evaluate_regression(
                numeric_rows(records, label_amount(table), skipped),
                regressors,
                delay=delay,
                limit=limit,
                progress=show,
                keep_answers=False,
            )
        warn_of_misfits(source, lambda line: note([line], quiet=json))
    if not result["mean"].events:
        raise BadValue(f"{files[0]}: fewer than two rows have a number in the column {target!r}")
    if save_to is not None:
        save_model(regressors[min(regressors, key=lambda name: result[name].rmse)], save_to)
    if json:
        print_json(standings(result) | {"skipped": skipped})
        return
    console().print(result)
    note([f"{count:,} rows skipped: {reason}" for reason, count in skipped.items()])
    for name, regressor in regressors.items():
        note(f"{name}: {line}" for line in left_out_lines(regressor))
    best = min(result[name].rmse for name in regressors)
    for name in REGRESSION_BASELINES:
        if result[name].rmse <= best:
            note([f"warning: no model has a smaller error than the baseline {name!r}"])


def _mean_or_infinity(standing: NetworkStanding) -> float:
    """Return the mean surprise; infinite for a network that stopped, as it is of other events."""
    mean = standing.surprises.mean
    return math.inf if standing.stopped is not None or math.isnan(mean) else mean


def _merging(files: Sequence[Path], time: str | None) -> str:
    if time is None:
        return f"  {len(files)} files, one after the other as given; to merge them by time: --time COLUMN"
    return f"  {len(files)} files, merged by {time}"


def _shuffled(source: Source) -> list[Any]:
    """Return the events of a source in random order; bad records first, so that they are counted."""
    records = list(records_of(source))
    events = [record for record in records if isinstance(record, Event)]
    Random(SEED).shuffle(events)
    return [*(record for record in records if not isinstance(record, Event)), *events]


def _warnings(result: Comparison, is_shuffled: bool) -> Iterator[str]:
    """Yield warnings of figures that mean less than it seems."""
    if "no-change" not in result or "majority" not in result:
        return
    last, most = (result[name].cumulative.accuracy or 0.0 for name in ("no-change", "majority"))
    best = max(
        (result[name].cumulative.accuracy or 0.0 for name in result if name not in BASELINES), default=1.0
    )
    if (last > 0.9 or last > best) and last > most + 0.05 and not is_shuffled:
        yield (
            f"warning: to repeat the last label is right in {last:.1%}: the rows are sorted by the target, or it "
            "rarely changes. For a table without order: --shuffle"
        )
    if best <= most:
        yield f"warning: no model is more accurate than the most frequent label ({most:.1%})"


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
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
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
    return class_named(type(learner).__name__) is type(learner)


def _best_own(learners: Mapping[str, Any], result: Comparison) -> str | None:
    """Return the most accurate learner of this package, the first of equals; None without any."""
    own = [name for name, learner in learners.items() if _is_own(learner)]
    return max(own, key=lambda name: result[name].cumulative.accuracy or 0.0, default=None)


def _service(
    learners: Mapping[str, Any], file: Path, target: str | None, port: int | None, quiet: bool
) -> ComparedModels:
    # Imported on use: a comparison without a service does not load it.
    from stream_bayes.serve.launch import check_installed

    check_installed()
    from stream_bayes.serve.compared import ComparedModels

    number = 8080 if port is None else port
    try:
        return ComparedModels(
            learners,
            file.name,
            target,
            "127.0.0.1",
            number,
            lambda url: note([f"serving {url}"], quiet=quiet),
        )
    except OSError as error:
        raise BadValue(
            f"127.0.0.1:{number} cannot be listened on: {error.strerror or error}; give another --port"
        ) from error


def _save(path: Path, learners: Mapping[str, Any], result: Comparison) -> None:
    """Save the most accurate learner of this package."""
    best = _best_own(learners, result)
    assert best is not None
    save_model(learners[best], path)
