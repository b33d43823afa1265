"""`stream-bayes predict`: the predictions of a saved model for the rows of a data file, as CSV."""

from __future__ import annotations

import csv
import io
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TextIO

import numpy as np
import typer
from numpy.typing import NDArray

from stream_bayes.cli.commands.snapshots import KeyOption, key_of
from stream_bayes.cli.data_file import CSVOptions, File, warn_of_misfits, with_kinds
from stream_bayes.cli.decision_rules import UNSURE, DecisionOptions, MistakeCosts
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.learned_ranges import OutsideRows, learned_ranges
from stream_bayes.cli.output import JSON, STANDARD_OUTPUT, checked_output, note, print_json
from stream_bayes.cli.unseen_values import UnseenValues
from stream_bayes.core.encoding._features import RowEncoder
from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.coverage_control import LabelSets, checked_levels
from stream_bayes.core.values.unknown_names import unknown_variable
from stream_bayes.core.values.values import name_order
from stream_bayes.data.dates import Date, date_order
from stream_bayes.data.declarations import ColumnDeclaration
from stream_bayes.data.kind_inference import marked_alike, sure_mark
from stream_bayes.data.schema import Amount, Nominal, Numeric, Schema
from stream_bayes.errors import BadValue, Exhausted, NotSupported, SchemaError, StreamBayesError
from stream_bayes.learners.adaptive.adaptive_regression import AdaptiveRegression
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.learners.base.credible_intervals import ends_of
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.base.samples import process_samples
from stream_bayes.learners.factory import Learner
from stream_bayes.learners.regressors.several_targets import MultiTargetRegression
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.private_files import open_private
from stream_bayes.saving.model_files import load_answering, load_learner, load_sets
from stream_bayes.streams.contracts.source import Source, records_of
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_columns import InferredJSONDecoder, reading_nested
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.json_sink import json_bytes
from stream_bayes.streams.files.table_profile import profile_of
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.sources.constructors import from_file
from stream_bayes.streams.sources.file_formats import TYPED_FILES, format_of

__all__ = ["predict"]

BATCH = 2000
SERIES = 0.5  # correlation of targets with the one before, from which the order of rows matters


def predict(
    model: Annotated[
        Path, typer.Argument(help="Saved model, or directory of snapshots.", show_default=False)
    ],
    file: File,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="CSV file for the predictions. Default, and -: standard output.", show_default=False
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Column to copy to the predictions. Default: the number of the row.")
    ] = None,
    variable: Annotated[
        str | None,
        typer.Option(
            help="Variable to predict from the others, of a network without a class.", show_default=False
        ),
    ] = None,
    intervals: Annotated[
        float | None,
        typer.Option(
            help="Level of credible intervals, such as 0.95: each label gets the columns low(...) and high(...). "
            "Where the label is a number, there is always one, by default of 0.9.",
            show_default=False,
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Write the set of labels that holds the true one in this share of events, such as 0.9, as a list in a "
            "column set(...). Its threshold is learned by `train --coverage`, or by a pipeline.",
            show_default=False,
        ),
    ] = None,
    decisions: DecisionOptions,
    options: CSVOptions,
    key_env: KeyOption = None,
    json: JSON = False,
) -> None:
    """Predict each row of a file with a saved model. The file needs no labels.

    The output has a row for each row of the file: the key, the prediction, the decision (with costs or thresholds), and
    the probability of each label. Of a network without a class, it has the key, the surprise of the row in nats, the
    variables with new values, and with `--variable` its prediction and the probability of each value. Where the label
    is a number, it has the key, the mean, and the bounds of an interval.
    """
    with exit_on_error():
        out = None if out == STANDARD_OUTPUT else out
        if out is not None:
            checked_output("--out", out)
        if json and out is None:
            raise BadValue("--json prints a summary, so the predictions need --out")
        todo = RowsToPredict(file, out, key, options, json)
        secret = key_of(key_env)
        answering = load_answering(model, secret)
        if isinstance(answering, BayesNet):
            for option, value in (
                ("costs and thresholds are for a class", decisions.costs()),
                ("--intervals is for a model with a class", intervals),
                ("--coverage is for a model with a class", coverage),
            ):
                if value is not None:
                    raise BadValue(f"{option}, and this network has none")
            _score(answering, variable, todo)
        elif isinstance(answering, BayesRegressor | MultiTargetRegression):
            if decisions.costs() is not None or variable is not None:
                raise BadValue(f"costs, thresholds and --variable are for classes; {model} predicts numbers")
            if coverage is not None:
                raise BadValue(f"--coverage is for classes, and {model} predicts numbers: give --intervals")
            level = 0.9 if intervals is None else intervals
            _forecast(answering, level, todo, StrangeRows(answering, model, secret))
        else:
            if variable is not None:
                raise BadValue(f"--variable {variable}: is for a network without a class; {model} has one")
            learner = load_learner(model, secret)
            if not learner.store.encoder.labels.values:
                raise NotSupported(f"{model}: the model has not learned anything yet")
            sets = None if coverage is None else load_sets(model, checked_levels(coverage)[0], secret)
            strange = StrangeRows(learner, model, secret)
            _classify(learner, todo, decisions.costs(), intervals, sets, strange)


@dataclass(frozen=True)
class RowsToPredict:
    """A file of rows, and where their predictions go."""

    file: Path
    out: Path | None  # None is the standard output
    key: str | None  # the column to copy to the predictions
    options: CSVOptions
    json: bool

    def write(
        self, source: Source, heading: Sequence[Any], cells_of: Callable[[Mapping[Any, Any]], Sequence[Any]]
    ) -> WrittenRows:
        """Write a line for each row of the source: its key, and the cells that its features give."""
        rows, bad = 0, Counter[str]()
        start = time.perf_counter()
        with closing(source), _written(self.out) as text:
            text.write(",".join(map(_cell, [self.key or "row", *heading])) + "\n")
            for record in records_of(source):
                if not isinstance(record, Event):
                    bad[record.reason] += 1
                    continue
                rows += 1
                try:
                    cells = cells_of(record.x)
                except StreamBayesError as error:
                    raise BadValue(f"{self.file}, at {record.position}: {error}") from error
                key = rows if self.key is None else record.key
                text.write(",".join(map(_cell, [key, *cells])) + "\n")
            warn_of_misfits(source, lambda line: note([line]))
        return WrittenRows(rows, bad, time.perf_counter() - start)

    def report(self, written: WrittenRows, facts: Mapping[str, Any], answers: str = "predictions") -> None:
        """Say how many rows have an answer and how many have none; with `json` further facts, too.

        Raises
        ------
        SchemaError
            If the file has rows and none can be read: it is the wrong file.
        """
        rows, bad, seconds = written
        note([f"warning: {count:,} rows have no prediction: {reason}" for reason, count in bad.items()])
        if self.json:
            print_json({"rows": rows, "bad": bad, "seconds": seconds, **facts})
        if bad and not rows:
            raise SchemaError(f"{self.file}: none of its rows can be read, so there are no {answers}")
        if self.out is not None and not self.json:
            typer.echo(f"{rows:,} {answers} in {self.out}, {rows / max(seconds, 1e-9):,.0f} per second")


class WrittenRows(NamedTuple):
    """The number of rows with a prediction, and of those without one by reason; and how long they took."""

    rows: int
    bad: Mapping[str, int]
    seconds: float


class StrangeRows:
    """Rows unlike those that a saved model learned: names that are new, numbers outside, values that are missing."""

    def __init__(
        self, model: Learner | BayesRegressor | MultiTargetRegression, path: Path, key: bytes | None
    ) -> None:
        self._unseen = UnseenValues(model)
        self._outside = OutsideRows(learned_ranges(path, key))
        self._waiting: list[Mapping[Any, Any]] = []

    def add(self, xs: Sequence[Mapping[Any, Any]]) -> None:
        """Count those among some rows."""
        self._waiting += xs
        if len(self._waiting) >= BATCH:
            self._count()

    def _count(self) -> None:
        self._unseen.add(self._waiting)
        self._outside.add(self._waiting)
        self._waiting = []

    def facts(self) -> dict[str, Any]:
        """Return the numbers of rows by column, for --json."""
        self._count()
        return {
            "unseen": self._unseen.counts,
            "outside": self._outside.told(),
            "lacking": self._outside.lacking,
        }

    def warnings(self) -> list[str]:
        """Return a line for each column in which some rows are unlike those that were learned."""
        self._count()
        return [f"warning: {line}" for line in (*self._unseen.warnings(), *self._outside.warnings())]


def _score(network: BayesNet, variable: str | None, todo: RowsToPredict) -> None:
    """Write the surprise of each row, and the probabilities of a variable that the other values give."""
    if variable is not None and variable not in network.structure:
        raise unknown_variable(variable, network.structure)
    values = [] if variable is None else [value for value in network.states[variable] if value is not None]
    if variable is not None and not values:
        raise NotSupported(f"the network has not learned any value of {variable!r} yet")
    values.sort(key=name_order)

    def cells_of(x: Mapping[Any, Any]) -> list[Any]:
        log_likelihood, novel = network.log_likelihood_and_novel(x)
        cells = [f"{0.0 - log_likelihood:.6g}", " ".join(map(str, novel))]
        if variable is None:
            return cells
        shares = network.predict_proba_one(x, variable)
        return [*cells, most_probable(shares), *(f"{shares[v]:.6g}" if shares else "" for v in values)]

    heading = ["score", "novel", *["prediction"] * bool(values), *(f"p({v})" for v in values)]
    written = todo.write(_source_of_network(network, variable, todo), heading, cells_of)
    todo.report(written, {"values": values}, "scores")


def _forecast(
    regressor: BayesRegressor | MultiTargetRegression,
    level: float,
    todo: RowsToPredict,
    strange: StrangeRows,
) -> None:
    """Write the mean and the interval of each row's number, or of each of several."""
    if not regressor.clock:
        raise NotSupported("the model has not learned anything yet")
    ends_of(level)

    def cells_of(x: Mapping[Any, Any]) -> list[str]:
        strange.add([x])
        return [f"{number:.9g}" for number in _forecast_numbers(regressor, x, level)]

    heading = ["prediction", "low", "high"]
    if isinstance(regressor, MultiTargetRegression):
        heading = [f"{each}({name})" for name in regressor.target_names for each in heading]
    written = todo.write(_source(regressor, todo), heading, cells_of)
    todo.report(written, {**strange.facts(), "level": level})
    note([*strange.warnings(), *_late_rows(regressor, written.rows)])


def _late_rows(regressor: BayesRegressor | MultiTargetRegression, rows: int) -> list[str]:
    """Return a warning if forecasts see a last target that tells less and less of the rows after it."""
    if rows < 2 or not isinstance(regressor, AdaptiveRegression):
        return []
    correlation = regressor.last_target_correlation_
    if correlation < SERIES:
        return []
    return [
        f"warning: the model sees the last target that it learned (targets correlate by {correlation:.2f} with the one "
        f"before), so its forecasts hold for the row after it; of the {rows - 1:,} others they are worse than their "
        "intervals say: train with --arg lags=0, or run a pipeline that gets the targets as they come"
    ]


def _forecast_numbers(
    regressor: BayesRegressor | MultiTargetRegression, x: Mapping[Any, Any], level: float
) -> list[float]:
    """Return the mean and the ends of the interval, of several targets one after the other."""
    if isinstance(regressor, MultiTargetRegression):
        forecasts = regressor.predict_distribution_one(x).values()
        return [number for each in forecasts for number in (each.mean, *each.interval(level))]
    return [regressor.predict_one(x), *regressor.predict_interval_one(x, level)]


def _source_of_network(network: BayesNet, variable: str | None, todo: RowsToPredict) -> Source:
    """Return the file as a source of a network's variables; the one to predict may be absent."""
    file, key, options = todo.file, todo.key, todo.options
    variables: list[Any] = list(network.structure)
    needed = [name for name in variables if name != variable]
    if format_of(file) != "csv":
        options.refuse(file)
        source = from_file(file, key=key)
        if hasattr(source, "columns"):
            _check_features(file, needed, source.columns)
        return source
    form, names = _layout_of(file, needed, options)
    only = [name for name in names if name in variables]
    schema: Schema | None = network.schema
    if schema is None:
        # Cells of a variable with texts alone are texts; the kinds of other columns are inferred from the rows.
        profiles = profile_of(file, only, form=form)
        texts = [name for name in only if all(isinstance(value, str) for value in network.states[name])]
        inferred = Schema({name: profiles[name].kind.column for name in only})
        schema = with_kinds(inferred, texts)
    return CSVSource(file, Fields(key=key, only=only), schema, form=form, misfits="missing")


@contextmanager
def _written(out: Path | None) -> Iterator[TextIO]:
    if out is None:
        yield sys.stdout
        return
    with os.fdopen(open_private(out), "w", encoding="utf-8", newline="") as text:
        yield text


def _source(learner: Learner | BayesRegressor | MultiTargetRegression, todo: RowsToPredict) -> Source:
    """Return the file as a source of the model's features."""
    file, key, options = todo.file, todo.key, todo.options
    schema: Schema | None = learner.schema
    if schema is not None:
        columns = [*schema.columns]
    elif isinstance(learner, BayesRegressor | MultiTargetRegression):
        columns = learner.feature_names
    else:
        columns = [*learner.store.encoder.features]
    kind = format_of(file)
    if kind == "csv":
        form, names = _layout_of(file, columns, options)
        key_only = Fields(key=key)
        if schema is None:
            schema = _schema_without_one(learner, file, [name for name in names if name in columns], form)
            return CSVSource(file, key_only, schema, form=form, misfits="missing")
        schema = _written_as_here(schema, file, form)
        return CSVSource(file, Fields(key=key, only=columns), schema, form=form, misfits="missing")
    options.refuse(file)
    if kind == "jsonl" and schema is not None:
        fields = reading_nested(file, Fields(key=key, only=columns))
        return JSONLinesSource(file, InferredJSONDecoder(fields, schema))
    source = from_file(file, key=key)
    if hasattr(source, "columns"):
        _check_features(file, columns, source.columns)
        if schema is not None:
            source.close()  # the cells are read as those that were learned, whatever the types of this file
            return TYPED_FILES[kind](file, Fields(key=key, only=columns), schema=schema)
    return source


def _schema_without_one(
    learner: Learner | BayesRegressor | MultiTargetRegression,
    file: Path,
    names: Sequence[str],
    form: CSVFormat,
) -> Schema:
    """Return the kinds of columns for a model that was given no schema: numbers where it learned numbers and names
    where it learned names, however the cells look; the rest as the rows show it.
    """
    profiles = profile_of(file, names, form=form)
    columns = {name: profiles[name].kind.column for name in names}
    encoder = learner.store.encoder if isinstance(learner, BayesClassifier) else None
    for name, feature in encoder.features.items() if isinstance(encoder, RowEncoder) else ():
        if name in columns and not feature.measured:
            columns[name] = Nominal()
        elif name in columns and not isinstance(columns[name], (Amount, Numeric)):
            columns[name] = Amount(decimal=form.decimal)
    return Schema(columns)


def _written_as_here(schema: Schema, file: Path, form: CSVFormat) -> Schema:
    """Return the schema with the decimal marks and the orders of dates of this file, where its first rows show others
    than were learned.
    """
    written = [name for name, each in schema.columns.items() if isinstance(each, Amount | Numeric | Date)]
    profiles = profile_of(file, written, form=form) if written else {}
    changed: dict[str, ColumnDeclaration] = {}
    marks, orders = [], []
    for name in written:
        column, counts = schema.columns[name], profiles[name].counts
        if isinstance(column, Amount) and (marked := marked_alike(column, counts)) != column:
            changed[name] = marked
            marks.append(f"{name} {marked.decimal!r}")
        elif isinstance(column, Numeric) and form.decimal == "." and sure_mark(counts) == ",":
            changed[name] = Amount(decimal=",", cuts=column.cuts)
            marks.append(f"{name} ','")
        elif isinstance(column, Date):
            order, doubt = date_order([*counts])
            if order not in ("ymd", column.order) and (not doubt or column.order == "ymd"):
                changed[name] = replace(column, order=order)
                orders.append(
                    f"{name} has the {'day' if order == 'dmy' else 'month'} first{doubt and ': ' + doubt}"
                )
    if not changed:
        return schema
    if marks:
        note([f"the decimal marks of {file} are others than the model learned: {', '.join(marks)}"])
    if orders:
        note([f"the order of dates in {file} is another than the model learned: {', '.join(orders)}"])
    columns, blanks = {**schema.columns, **changed}, [*schema.missing_features]
    return Schema(columns, schema.classes, schema.target, schema.unknown, blanks)


def _layout_of(file: Path, features: Sequence[Any], options: CSVOptions) -> tuple[CSVFormat, tuple[str, ...]]:
    """Return the format of a file with these features, and the names of its columns."""
    form = options.form_of(file, map(str, features))
    with closing(CSVSource(file, form=form)) as opened:
        note([f"warning: {file}: {guess}" for guess in (*form.guesses, *opened.notes)])
        _check_features(file, features, opened.columns)
        return form, opened.columns


def _check_features(file: Path, learned: Sequence[str], names: Sequence[str]) -> None:
    absent = [name for name in learned if name not in names]
    if absent:
        raise SchemaError(
            f"{file} lacks {len(absent)} of the {len(learned)} features that the model learned: {', '.join(absent[:8])}"
            f"{', ...' * (len(absent) > 8)}. It has {', '.join(names[:8])}{', ...' * (len(names) > 8)}"
        )


def _classify(
    learner: Learner,
    todo: RowsToPredict,
    costs: MistakeCosts | None,
    level: float | None,
    sets: LabelSets | None,
    strange: StrangeRows,
) -> None:
    """Write each row's prediction, its decision if there are costs, the probabilities, their intervals and its set."""
    labels = list(learner.store.encoder.labels.values)
    if costs is not None:
        costs.check(labels)
    if level is not None:
        ends_of(level)
    source, start = _source(learner, todo), time.perf_counter()
    rows, bad = 0, Counter[str]()
    with closing(source), _written(todo.out) as text:
        lines = _PredictionLines(learner, costs, level, sets)
        text.write(",".join([_cell(todo.key or "row"), *lines.heading]) + "\n")
        with suppress(Exhausted):
            while True:
                records = source.poll(BATCH)
                events = [record for record in records if isinstance(record, Event)]
                bad.update(record.reason for record in records if not isinstance(record, Event))
                xs = [event.x for event in events]
                strange.add(xs)
                numbers: Iterable[Any] = range(rows + 1, rows + 1 + len(events))
                keys = numbers if todo.key is None else [_cell(event.key) for event in events]
                text.write(lines.of(keys, xs))
                rows += len(events)
        warn_of_misfits(source, lambda line: note([line]))
    written = WrittenRows(rows, bad, time.perf_counter() - start)
    todo.report(written, {**strange.facts(), "labels": labels})
    note(strange.warnings())


class _PredictionLines:
    """The lines of predictions of labels, many rows at a time."""

    def __init__(
        self, learner: Learner, costs: MistakeCosts | None, level: float | None, sets: LabelSets | None
    ) -> None:
        labels = learner.store.encoder.labels.values
        self._order = sorted(range(len(labels)), key=lambda code: name_order(labels[code]))
        self._learner, self._level, self._sets = learner, level, sets
        self._labels = [labels[code] for code in self._order]
        self._names = [_cell(label) for label in self._labels]
        self._decide = None if costs is None else _decisions(costs, self._labels)
        decided, ends = costs is not None, () if level is None else ("low", "high")
        self.heading = [
            "prediction",
            *["decision"] * decided,
            *(_cell(f"p({label})") for label in self._labels),
            *(_cell(f"{end}({label})") for label in self._labels for end in ends),
            *(f"set({each})" for each in (() if sets is None else sets.levels)),
        ]
        numbers = ["%.6g"] * ((1 + len(ends)) * len(labels))
        self._line = ",".join(["%s"] * (2 + decided) + numbers + ["%s"] * (sets is not None)) + "\n"

    def of(self, keys: Iterable[Any], xs: list[Any]) -> str:
        """Return a line for each event."""
        table = _probabilities(self._learner, xs)[:, self._order]
        columns: list[Any] = [keys, [self._names[code] for code in table.argmax(axis=1).tolist()]]
        if self._decide is not None:
            columns.append(self._decide(table))
        columns += table.T.tolist()
        if self._level is not None:
            ends = self._learner.predict_interval_many(xs, self._level)
            columns += [[row.get(label, 0.0) for row in end] for label in self._labels for end in ends]
        if self._sets is not None:
            columns.append(_set_cells(self._sets, self._labels, table))
        return "".join([self._line % row for row in zip(*columns, strict=True)])


def _set_cells(sets: LabelSets, labels: Sequence[Any], table: NDArray[np.float64]) -> list[str]:
    """Return the set of labels of each row as a cell: a list in JSON."""
    (level,) = sets.levels
    answers = [dict(zip(labels, row, strict=True)) for row in table.tolist()]
    return [_cell(json_bytes(sets.labels(answer)[level]).decode()) for answer in answers]


def _probabilities(learner: Learner, xs: list[Any]) -> NDArray[np.float64]:
    """Return the probabilities of each event, a column a class code."""
    if not isinstance(learner, BayesClassifier):
        labels = learner.store.encoder.labels.values
        answers = [learner.predict_proba_one(x) for x in xs]
        rows = [[answer.get(label, 0.0) for label in labels] for answer in answers]
        return np.array(rows, np.float64).reshape(len(xs), len(labels))
    table, refused = process_samples(learner, xs, [None] * len(xs), [1.0] * len(xs))
    if refused is not None:
        raise refused
    return np.nan_to_num(np.asarray(table.table)[: len(xs)])


def _decisions(costs: MistakeCosts, labels: Sequence[Any]) -> Callable[[NDArray[np.float64]], list[str]]:
    """Return the function from a table of probabilities, a column for each label, to the cells of the decisions."""
    if costs.thresholds is not None:
        decide = costs.decide
        return lambda table: [_cell(decide(dict(zip(labels, row, strict=True)))) for row in table.tolist()]
    decisions = [*labels, *[UNSURE] * (costs.unsure is not None)]
    matrix = np.array([[costs.of(label, decision) for decision in decisions] for label in labels])
    cells = [_cell(decision) for decision in decisions]
    return lambda table: [cells[code] for code in (table @ matrix).argmin(axis=1).tolist()]


def _cell(value: object) -> str:
    """Return a value as a cell of CSV, in quotes if it needs them."""
    text = "" if value is None else str(value)
    if not any(mark in text for mark in ',"\r\n'):
        return text
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow([text])
    return buffer.getvalue()
