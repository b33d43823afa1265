"""`stream-bayes train`: a model from a data file, saved to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from shlex import join
from typing import Annotated, Any

import typer

from stream_bayes.cli.arguments import learner_arguments
from stream_bayes.cli.data_file import (
    CSVOptions,
    DataFile,
    DataOptions,
    File,
    Target,
    named_targets,
    open_table,
    warn_of_misfits,
)
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.learned_ranges import RANGES
from stream_bayes.cli.networks import check_target, named_network
from stream_bayes.cli.options import arguments_of
from stream_bayes.cli.output import JSON, checked_output, left_out_lines, note, print_json
from stream_bayes.cli.tasks import Task, chosen_model, is_regressor
from stream_bayes.cli.training import PARTLY_RANDOM, TableTraining, in_random_order, rows_that_wait
from stream_bayes.core.measures.coverage_control import LabelSets
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, SchemaError
from stream_bayes.learners.base.traits import is_led_by_order
from stream_bayes.learners.catalogue import DEFAULT, DEFAULT_REGRESSOR, NETWORK
from stream_bayes.learners.factory import make_learner, make_regressor, make_target_model
from stream_bayes.saving.model_files import SETS, save_with
from stream_bayes.saving.prior_files import PRIOR_WEIGHT, add_prior_of_file
from stream_bayes.streams.contracts.source import Record, records_of
from stream_bayes.streams.sources.file_formats import suffix_of

__all__ = ["train"]

RANDOM_ORDER = "the rows are learned in a random order; for that of the file: --no-shuffle"


def train(
    file: File,
    *,
    target: Target = None,
    out: Annotated[
        Path, typer.Option(help="Save the model to this file, such as model.zip.", show_default=False)
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help=f"Model to train; `stream-bayes models` lists them. Default: {DEFAULT}, or {DEFAULT_REGRESSOR} for "
            "numbers.",
            show_default=False,
        ),
    ] = None,
    task: Task = None,
    arg: Annotated[
        list[str], typer.Option("--arg", help="Argument of the model, as NAME=VALUE. Repeatable.")
    ] = [],
    coverage: Annotated[
        list[float],
        typer.Option(
            help="Learn the threshold of sets of labels that hold the true one in this share of rows, such as 0.9, for "
            "`predict --coverage`. Each row is predicted before it is learned. Repeatable.",
        ),
    ] = [],
    by_class: Annotated[
        bool, typer.Option("--by-class", help="The coverage holds among the rows of each label, too.")
    ] = False,
    prior: Annotated[
        Path | None,
        typer.Option(
            help="Begin with the counts of this saved model of the same kind, or with the tables of a .json file, "
            "scaled to --prior-weight rows.",
            show_default=False,
        ),
    ] = None,
    prior_weight: Annotated[
        float | None,
        typer.Option(help=f"Weight of --prior, in rows. Default: {PRIOR_WEIGHT:g}.", show_default=False),
    ] = None,
    shuffle: Annotated[
        bool | None,
        typer.Option(
            help="Learn the rows in a random order. Default: without --time, for models that depend on the order and "
            "do not fade by it.",
            show_default=False,
        ),
    ] = None,
    options: DataOptions,
    json: JSON = False,
) -> None:
    """Train a model on a data file, and save it for `predict`, `explain` and `run --warm-start`.

    Without --target, a bayes-net learns the joint distribution of all columns.
    """
    with exit_on_error():
        checked_output("--out", out)
        sets = LabelSets(coverage, by_class) if coverage else None
        if sets is None and by_class:
            raise BadValue("--by-class is for sets of labels: give --coverage, too, such as 0.9")
        if prior is None and prior_weight is not None:
            raise BadValue("--prior-weight is the weight of another model: give --prior MODEL.zip, too")
        named = named_targets(target)
        check_target(file, named, [model or DEFAULT], options)
        table = open_table(file, named, options)
        with closing(table.source):
            name, said = (NETWORK, []) if named is None else chosen_model(table, model, task)
            if sets is not None:
                _check_has_class(name, named)
            warnings = table.warnings(for_numbers=is_regressor(name))
            note([*table.described(), *warnings, *said], quiet=json)
            learner = _made(name, table, arg)
            if prior is not None:
                add_prior_of_file(learner, prior, prior_weight)
            training = TableTraining(learner, name, table, sets)
            records: Iterable[Record] = records_of(table.source)
            waiting = 0
            if shuffle or (shuffle is None and options.time is None and is_led_by_order(learner)):
                waiting = rows_that_wait(len(table.features))
                records = in_random_order(records, waiting)
                if shuffle is None:
                    note([RANDOM_ORDER], quiet=json)
            for record in records:
                training.learn(record)
            if 0 < waiting < training.learned:
                note([PARTLY_RANDOM.format(rows=training.learned, waiting=waiting)], quiet=json)
            warn_of_misfits(table.source, lambda line: note([line], quiet=json))
        training.check_learned()
        beside = {RANGES: training.ranges.state()} | ({} if sets is None else {SETS: sets.state()})
        save_with(learner, beside, out)
        if json:
            print_json(_summary(training))
            return
        command = ["predict", str(out), f"NEW{suffix_of(file)}", "--out", "answers.csv"]
        command += [] if sets is None else ["--coverage", str(sets.levels[-1])]
        next_step = join(["stream-bayes", *command, *arguments_of(options, CSVOptions)])
        if named is None:
            next_step += f", or {join(['stream-bayes', 'network', 'export', str(out), 'network.bif'])}"
        lines = [training.described(), *training.late_labels(), *left_out_lines(learner)]
        lines.append(f"saved to {out}; next: {next_step}")
        typer.echo("\n".join(lines))


def _check_has_class(model: str, target: str | Sequence[str] | None) -> None:
    """Refuse sets of labels for a model without labels."""
    if target is None:
        raise BadValue(f"--coverage is for a class, and {model!r} has none without --target")
    if is_regressor(model):
        raise BadValue(
            f"--coverage is for a class, and {model!r} predicts numbers; see `predict --intervals`"
        )


def _made(model: str, table: DataFile, arguments: list[str]) -> Any:
    """Return a new model by its name for the columns of a table."""
    try:
        if table.targets:
            return make_target_model(model, learner_arguments(arguments), table.targets, table.schema)
        if table.target is None:
            return named_network(learner_arguments(arguments), table.schema)
        make: Callable[..., Any] = make_regressor if is_regressor(model) else make_learner
        return make(model, learner_arguments(arguments), table.schema)
    except SchemaError as error:
        raise SchemaError(f"{model!r} cannot learn from this file: {error}") from error


def _summary(training: TableTraining) -> dict[str, Any]:
    """Return what was learned and what was not, for --json."""
    coverages = training.coverages()
    return {
        "model": type(training.learner).__name__,
        "learned": training.learned,
        "unlabelled": training.unlabelled,
        "bad": training.bad,
        **({"coverage": coverages} if coverages else {}),
        "left_out": [shown(name) for name in getattr(training.learner, "left_out_", ())],
    }
