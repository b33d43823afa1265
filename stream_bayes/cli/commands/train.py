"""`stream-bayes train`: a model from a data file, saved to a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shlex import join
from typing import Annotated, Any

import typer

from stream_bayes.cli.arguments import learner_arguments
from stream_bayes.cli.compared_regressors import number_of
from stream_bayes.cli.data_file import (
    CSVOptions,
    DataOptions,
    File,
    Target,
    label_amount,
    open_table,
    warn_of_misfits,
)
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.networks import check_target, named_network
from stream_bayes.cli.options import arguments_of
from stream_bayes.cli.output import JSON, checked_output, left_out_lines, note, print_json
from stream_bayes.cli.tasks import Task, chosen_model, is_regressor
from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.label_sets import LabelSets
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, BudgetExceeded, Exhausted, SchemaError, StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.catalogue import DEFAULT, DEFAULT_REGRESSOR, NETWORK
from stream_bayes.learners.factory import make_learner, make_regressor
from stream_bayes.saving.model_files import save, save_with_sets
from stream_bayes.saving.prior_files import PRIOR_WEIGHT, add_prior_of_file
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.sources.constructors import suffix_of

__all__ = ["records_of", "train"]

BATCH = 1000


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
        check_target(file, target, [model or DEFAULT], options)
        table = open_table(file, target, options)
        learned = unlabelled = 0
        bad: Counter[str] = Counter()
        with closing(table.source):
            chosen, said = (NETWORK, []) if target is None else chosen_model(table, model, task)
            warnings = [] if is_regressor(chosen) else table.warnings()
            if sets is not None and (target is None or is_regressor(chosen)):
                raise BadValue(
                    f"--coverage is for a class, and {chosen!r} "
                    + (
                        "has none without --target"
                        if target is None
                        else "predicts numbers; see `predict --intervals`"
                    )
                )
            note([*table.described(), *warnings, *said], quiet=json)
            try:
                learner: Any
                if target is None:
                    learner = named_network(learner_arguments(arg), table.schema)
                else:
                    make = make_regressor if is_regressor(chosen) else make_learner
                    learner = make(chosen, learner_arguments(arg), table.schema)
            except SchemaError as error:
                raise SchemaError(f"{chosen!r} cannot learn from this file: {error}") from error
            if prior is not None:
                add_prior_of_file(learner, prior, prior_weight)
            is_ours = isinstance(learner, BayesClassifier | BayesRegressor)
            timed = learner if is_ours and learner._store.tables.timed else None
            learns_unlabelled = getattr(learner, "unlabelled", "refuse") == "em"
            amount = label_amount(table) if is_regressor(chosen) else None
            for record in records_of(table.source):
                if not isinstance(record, Event):
                    bad[record.reason] += 1
                elif record.y is None and target is not None and not learns_unlabelled:
                    unlabelled += 1
                else:
                    if record.y is None and target is not None:
                        unlabelled += 1
                        if learner.classes_:
                            learner.learn_one(record.x, None)
                        continue
                    label = record.y if amount is None else number_of(record.y, amount)
                    if label is None and target is not None:
                        bad["its target is not a number"] += 1
                        continue
                    try:
                        if sets is not None:
                            answer = learner.predict_proba_one(record.x)
                        if target is None:
                            learner.learn_one(record.x)
                        elif timed is None:
                            learner.learn_one(record.x, label)
                        else:
                            timed.learn_one(record.x, label, at=record.time)
                    except BudgetExceeded:
                        raise
                    except StreamBayesError as error:
                        raise BadValue(f"{file}, at {record.position}: {error}") from error
                    learned += 1
                    if sets is not None:
                        sets.score(label, answer)
            warn_of_misfits(table.source, lambda line: note([line], quiet=json))
        if not learned and target is None:
            raise BadValue(f"{file}: there is no row to learn")
        if not learned and amount is not None and bad:
            raise BadValue(
                f"{file}: no row has a number in the column {target!r}; for classes: --task classification"
            )
        if not learned:
            raise BadValue(f"{file}: no row has a label in the column {target!r}, so nothing was learned")
        if sets is None:
            save(learner, out)
        else:
            save_with_sets(learner, sets, out)
        left_out = [shown(name) for name in getattr(learner, "left_out_", ())]
        shares = {} if sets is None else {str(level): sets.coverage(level) for level in sets.levels}
        if json:
            counts = {"learned": learned, "unlabelled": unlabelled, "bad": bad}
            covered = {"coverage": shares} if shares else {}
            print_json({"model": type(learner).__name__, **counts, **covered, "left_out": left_out})
            return
        text = f"{type(learner).__name__} learned {learned:,} rows"
        if unlabelled and learns_unlabelled:
            share = learner.unlabelled_share_
            text += f"; {unlabelled:,} rows without a label count with the share {share:g}, by what the labels show"
        elif unlabelled:
            text += f"; {unlabelled:,} rows without a label were skipped"
        text += "".join(f"; sets of {level} held the label in {share:.1%}" for level, share in shares.items())
        text += "".join(f"; {count:,} rows skipped: {reason}" for reason, count in bad.items())
        text = "\n".join([text, *left_out_lines(learner)])
        command = ["predict", str(out), f"NEW{suffix_of(file)}", "--out", "answers.csv"]
        command += [] if sets is None else ["--coverage", str(sets.levels[-1])]
        next_step = join(["stream-bayes", *command, *arguments_of(options, CSVOptions)])
        if target is None:
            next_step += f", or {join(['stream-bayes', 'network', 'export', str(out), 'network.bif'])}"
        typer.echo(f"{text}\nsaved to {out}; next: {next_step}")


def records_of(source: Source) -> Iterator[Record]:
    """Yield the records of a source up to its end."""
    while True:
        try:
            yield from source.poll(BATCH)
        except Exhausted:
            return
