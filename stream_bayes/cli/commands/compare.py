"""`stream-bayes compare`: several models side by side on one stream."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from stream_bayes import plots
from stream_bayes.cli.comparison.classifiers import ClassifierOutputs, compare_and_print_classifiers
from stream_bayes.cli.comparison.models import MODELS, PEERS, kinds_of
from stream_bayes.cli.comparison.networks import compare_and_print_networks
from stream_bayes.cli.comparison.regressors import compare_and_print_regressors
from stream_bayes.cli.comparison.request import DATASETS, ComparisonRequest
from stream_bayes.cli.data_file import DataOptions, named_targets
from stream_bayes.cli.decision_rules import DecisionOptions
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.networks import check_target
from stream_bayes.cli.output import JSON, checked_output
from stream_bayes.cli.service import ServeOptions
from stream_bayes.cli.tasks import Task, check_several, is_regression, seen_task
from stream_bayes.drift.detectors import DETECTORS
from stream_bayes.errors import BadValue
from stream_bayes.learners.catalogue import REGRESSION

__all__ = ["compare"]


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
    target: Annotated[
        list[str] | None,
        typer.Option(help="Column with the labels. Repeatable, for several numbers.", show_default=False),
    ] = None,
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

    A target of numbers, and --task regression, compare models of numbers by their errors and intervals; several targets
    compare those that learn them together, by target.
    Without --target, networks (bayes-net, bayes-net+adwin) are compared by the mean surprise of the events, in nats.
    """
    with exit_on_error():
        if drift is not None:  # an option of `replay`
            raise BadValue(f"--drift {drift}: name the detector with each model instead: --model tan+{drift}")
        written = {"--checkpoints": checkpoints, "--picture": picture, "--save": save, "--html": html}
        for option, path in written.items():
            if path is not None:
                checked_output(option, path)
        if picture is not None:
            plots.check_can_draw(picture)
        serve.check()
        request = ComparisonRequest(
            files=files,
            target=named_targets(target),
            models=model or (),
            arguments=arg,
            options=options,
            bins=bins,
            shuffle=shuffle,
            delay=delay,
            limit=limit,
            save=save,
            json=json,
        )
        request.check_file()
        outputs = ClassifierOutputs(
            every=every,
            costs=decisions.costs(),
            checkpoints=checkpoints,
            html=html,
            picture=picture,
            serve=serve,
        )
        for_classes = {"--bins": bins is not None, **outputs.options()}
        if len(target or ()) > 1:
            _check_several(request, task, for_classes)
            compare_and_print_regressors(request)
        elif not target and not request.is_dataset:
            check_target(files[0], None, model or MODELS, options)
            _refuse(for_classes | {"--delay": delay > 0}, "is for models of a class; name it with --target")
            compare_and_print_networks(request)
        elif is_regression(model, task) or (
            task is None
            and not (model or request.is_dataset or any(for_classes.values()))
            and _has_numbers(request)
        ):
            _refuse(for_classes, f"is for models of classes, not with --task {REGRESSION}")
            compare_and_print_regressors(request)
        else:
            compare_and_print_classifiers(request, outputs)


def _has_numbers(request: ComparisonRequest) -> bool:
    """Return True if the target looks like numbers, as `train` sees it, and say so."""
    seen, is_unsure = seen_task(request.table)
    if seen == REGRESSION:
        said = f"{request.target} holds numbers, so models of numbers are compared; for classes: --task classification"
        request.note([f"unsure: {said}" if is_unsure else said])
    return seen == REGRESSION


def _check_several(request: ComparisonRequest, task: str | None, for_classes: Mapping[str, bool]) -> None:
    """Raise `BadValue` if the models or options of a comparison are not for several targets."""
    try:
        check_several(request.table, [*kinds_of(request.models).values()], task)
        _refuse(for_classes, "is for models of classes, and several targets are numbers")
    except BadValue:
        request.table.source.close()
        raise


def _refuse(options: Mapping[str, bool], reason: str) -> None:
    """Raise `BadValue` for the first of some options that is there."""
    for option, is_there in options.items():
        if is_there:
            raise BadValue(f"{option}: {reason}")
