"""The data file named on the command line: opening it, the guessed kinds of its columns, and warnings."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from stream_bayes.checked_names import closest
from stream_bayes.cli.leaks import leak_warnings, leaks_in
from stream_bayes.core.events.event import Event
from stream_bayes.data.codes import Code
from stream_bayes.data.prequential_gain import PrequentialGain
from stream_bayes.data.schema import Amount, Coordinates, Date, Nominal, Numeric, Schema, Text
from stream_bayes.errors import BadValue, SchemaError
from stream_bayes.streams.contracts.source import Record, Source, records_of
from stream_bayes.streams.files.code_columns import may_be_codes
from stream_bayes.streams.files.column_profile import ColumnProfile
from stream_bayes.streams.files.csv_cells import Misfits
from stream_bayes.streams.files.csv_format import CSVFormat, delimiter_of, guessed_format
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_columns import InferredJSONDecoder, json_schema, reading_nested
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.table_profile import (
    FIRST_ROWS,
    LEAST_ROWS,
    MAX_CELLS,
    profile_of,
)
from stream_bayes.streams.files.telling_columns import (
    EXAMINED_ROWS,
    MANY_LABELS,
    decide_codes,
    labels_of,
    number_of,
    telling_blanks,
)
from stream_bayes.streams.files.typed_columns import first_records, record_profiles, typed_schema
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.sources.binned_labels import BinnedLabels, cut_points
from stream_bayes.streams.sources.file_formats import TYPED_FILES, format_of
from stream_bayes.streams.sources.merged import MergedSource
from stream_bayes.streams.sources.paced import Paced

__all__ = [
    "CSVOptions",
    "DataFile",
    "DataOptions",
    "Delimiter",
    "File",
    "Target",
    "Time",
    "first_records",
    "label_amount",
    "label_cuts",
    "listed",
    "merged_with",
    "misfits_of",
    "named_targets",
    "number_of",
    "open_table",
    "warn_of_misfits",
]

SHOWN_NAMES = 8  # of columns, in one line
NAMED_LABELS = 6
SOURCE = "replay"  # in snapshots and outputs
SET_OTHERWISE = (
    "  to set it otherwise: --header or --no-header, --skip-lines, --unit-rows, --comment, --sheet"
)

File = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV, spreadsheet, JSON, ARFF, Parquet or Avro; plain, .gz, .zst, .bz2, .xz or .zip.",
        show_default=False,
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        help="Column with the labels. Repeatable, for several numbers. Needed, except for --model bayes-net, which "
        "then learns all columns.",
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Delimiter of a CSV file: one character, or 'tab'. Detected if not given.", show_default=False
    ),
]
Time = Annotated[
    str | None, typer.Option(help="Column with the event time: seconds since 1970, or ISO 8601.")
]


def named_targets(names: Sequence[str] | None) -> str | Sequence[str] | None:
    """Return the target of a command: one name, several, or None where none is given.

    Examples
    --------
    >>> named_targets(["rain"]), named_targets(["rain", "river"]), named_targets(None)
    ('rain', ['rain', 'river'], None)
    """
    return (names[0] if len(names) == 1 else names) if names else None


@dataclass(frozen=True, kw_only=True)
class CSVOptions:
    """The options of a CSV file: its format, detected where none is given."""

    delimiter: Delimiter = None
    decimal: Annotated[
        str | None,
        typer.Option(
            help="Decimal mark of a CSV file, '.' or ','. Detected if not given.", show_default=False
        ),
    ] = None
    missing: Annotated[
        list[str],
        typer.Option(
            "--missing",
            help="Cell that stands for a missing value. Repeatable. Default: ?, and those of pandas (NA, NULL, ...).",
        ),
    ] = field(default_factory=list)
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Encoding of a CSV file, such as latin-1. Detected if not given.", show_default=False
        ),
    ] = None

    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether a line of a CSV file holds the names of the columns; else they are c1, c2, ... Detected if "
            "not given.",
            show_default=False,
        ),
    ] = None
    skip_lines: Annotated[
        int | None,
        typer.Option(
            help="Lines of a CSV file before its header. Detected if not given.", min=0, show_default=False
        ),
    ] = None
    unit_rows: Annotated[
        int | None,
        typer.Option(
            help="Rows between the header of a CSV file and its data. Detected if not given.",
            min=0,
            show_default=False,
        ),
    ] = None
    comment: Annotated[
        str | None,
        typer.Option(
            help="What a comment line of a CSV file begins with. Detected if not given.", show_default=False
        ),
    ] = None
    sheet: Annotated[
        str | None, typer.Option(help="Sheet of a spreadsheet. Default: the first one.", show_default=False)
    ] = None

    def form_of(self, file: Path, named: Iterable[str] = ()) -> CSVFormat:
        """Return the format of a CSV file: as given, else as guessed; a line with all the names is its header."""
        return guessed_format(
            file,
            delimiter=None if self.delimiter is None else delimiter_of(file, self.delimiter),
            decimal=self.decimal,
            encoding=self.encoding,
            missing=self.missing or None,
            header=self.header,
            skip=self.skip_lines,
            units=self.unit_rows,
            comment=self.comment,
            sheet=self.sheet,
            named=named,
        )

    def refuse(self, file: Path) -> None:
        """Raise `BadValue` for an option that was given for a file of another format."""
        for option in dataclasses.fields(CSVOptions):
            if getattr(self, option.name) not in (None, []):
                raise BadValue(f"--{option.name.replace('_', '-')} is for CSV files, and {file} is not one")


@dataclass(frozen=True, kw_only=True)
class DataOptions(CSVOptions):
    """The options of a data file whose columns become features."""

    time: Time = None
    nominal: Annotated[
        list[str],
        typer.Option("--nominal", help="Numeric column to treat as nominal, such as a code. Repeatable."),
    ] = field(default_factory=list)
    numeric: Annotated[
        list[str],
        typer.Option(
            "--numeric",
            help="Column to treat as numbers; cells that hold none count as missing, and are counted. Repeatable.",
        ),
    ] = field(default_factory=list)
    ignore: Annotated[
        list[str], typer.Option("--ignore", help="Column to leave out of the features. Repeatable.")
    ] = field(default_factory=list)
    blanks: Annotated[
        bool,
        typer.Option(
            help="Make it a feature whether a cell is missing, for columns in which that predicts the label."
        ),
    ] = True
    drop_ids: Annotated[
        bool,
        typer.Option(
            "--drop-ids",
            help="Leave out identifiers of rows: values that never recur, or tell nothing.",
        ),
    ] = False


@dataclass
class DataFile:
    """An open data file."""

    path: Path
    target: str | None  # the column with the labels; None if there is none, or several
    source: Source  # the file as a source
    schema: Schema | None  # inferred or declared; None for JSON lines
    profiles: dict[str, ColumnProfile]  # of all columns, by the first rows
    form: CSVFormat | None = None  # of a CSV file; None for others
    # columns that were left out without being ignored by the user, with the reasons
    left_out: dict[str, str] = field(default_factory=dict)
    # features that give the label away, as `leaks_in` returns them, by target
    leaks: dict[str, dict[Any, str]] = field(default_factory=dict)
    # Of columns that look like identifiers, whether their values recur and what they tell about the label.
    measured: dict[str, PrequentialGain] = field(default_factory=dict)
    # Of columns for which it is a feature whether their cell is missing, what that tells about the label.
    blanks: dict[str, PrequentialGain] = field(default_factory=dict)
    targets: Sequence[str] = ()  # the columns of several labels; empty of one

    @property
    def all_targets(self) -> Sequence[str]:
        """The columns with labels."""
        return self.targets if self.target is None else [self.target]

    @property
    def guesses(self) -> list[str]:
        """Warnings of what was guessed of the layout of a CSV file, and a line about how to set it."""
        guesses = [*(self.form.guesses if self.form is not None else ()), *getattr(self.source, "notes", ())]
        return [*(f"warning: {guess}" for guess in guesses), SET_OTHERWISE] if guesses else []

    @cached_property
    def features(self) -> dict[str, ColumnProfile]:
        """The profiles of the features."""
        fields: Fields = (
            self.source.fields
            if hasattr(self.source, "fields")
            else Fields(target=self.target or self.targets or None)
        )
        return {name: profile for name, profile in self.profiles.items() if fields.is_feature(name)}

    @property
    def is_nested(self) -> bool:
        """True if records of JSON hold objects in objects, whose fields are named `outer.inner`."""
        return isinstance(self.source, JSONLinesSource) and self.source.decoder.fields.flatten

    def is_numeric(self, name: str) -> bool:
        """Return True for a numeric feature."""
        if self.schema is None:
            return self.profiles[name].is_numeric
        return isinstance(self.schema.columns.get(name), (Amount, Numeric))

    def text_of(self, name: str) -> Text | None:
        """Return the kind of a column of running text; None for another column."""
        column = None if self.schema is None else self.schema.columns.get(name)
        return column if isinstance(column, Text) else None

    def date_of(self, name: str) -> Date | None:
        """Return the kind of a column of dates; None for another column."""
        column = None if self.schema is None else self.schema.columns.get(name)
        return column if isinstance(column, Date) else None

    @cached_property
    def ids(self) -> dict[str, PrequentialGain]:
        """The features that identify rows: their values never recur, or tell nothing about the label."""
        return {
            name: each for name, each in self.measured.items() if name in self.features and not each.tells
        }

    @cached_property
    def entities(self) -> dict[str, PrequentialGain]:
        """The features with many values that recur and tell something, as persons or places."""
        return {name: each for name, each in self.measured.items() if name in self.features and each.tells}

    def described(self) -> list[str]:
        """Return the guessed kinds of the columns, one per line."""
        form = f" ({self.form})" if self.form is not None and str(self.form) else ""
        if self.is_nested:
            form = " (fields of nested objects are named outer.inner)"
        return [
            f"by the first {self._rows_examined} of {self.path}{form}",
            *self.guesses,
            *self._kind_lines(),
            *(f"  target {name}: {self._labels(name)}" for name in self.all_targets if name in self.profiles),
            *self._missing_lines(),
            *self._column_lines(),
            *self._code_lines(),
            *self._use_lines(),
        ]

    def _kind_lines(self) -> Iterator[str]:
        """Yield the columns of each kind that is read otherwise than the others."""
        columns = {} if self.schema is None else self.schema.columns
        numbers = [name for name in self.features if self.is_numeric(name)]
        dates = {name: date for name in self.features if (date := self.date_of(name)) is not None}
        texts = {name: text for name in self.features if (text := self.text_of(name)) is not None}
        positions = [name for name in self.features if isinstance(columns.get(name), Coordinates)]
        others = {*numbers, *dates, *texts, *positions}
        names = [name for name in self.features if name not in others]
        yield f"  numbers ({len(numbers)}): {listed(numbers)}"
        yield f"  names ({len(names)}): {listed(names)}"
        if dates:
            read = [f"{name} ({', '.join(date.parts)})" for name, date in dates.items()]
            yield f"  dates ({len(dates)}): {listed(read)}"
        if positions:
            yield f"  latitudes and longitudes ({len(positions)}): {listed(positions)}"
        if texts:
            read = [f"{name} ({len(text.words)} words are features)" for name, text in texts.items()]
            yield f"  texts ({len(texts)}): {listed(read)}"

    def _missing_lines(self) -> Iterator[str]:
        """Yield the counts of missing cells, and the texts that stand for them."""
        missing = {name: each for name, each in self.profiles.items() if each.missing and each.values}
        if missing:
            marks = dict.fromkeys(
                text.strip() or "blank" for each in missing.values() for text in each.missing
            )
            counts = [f"{name} {each.missing.total():,}" for name, each in missing.items()]
            yield f"  missing ({', '.join(marks)}): {listed(counts)}"

    def _column_lines(self) -> Iterator[str]:
        """Yield what is odd about single columns: cells that are not of their kind, warnings, and no value at all."""
        for name, each in self.features.items():
            misfits, examples = each.kind.misfits
            is_date = self.date_of(name) is not None
            if misfits and (is_date or self.is_numeric(name)):
                kind = "dates" if is_date else "numbers"
                yield (
                    f"  {name}: {misfits:,} of {each.values:,} values are not {kind} and count as missing, such as "
                    f"{examples[0]!r}"
                )
            if self.schema is None or self.schema.columns.get(name) == each.kind.column:
                yield from (f"  {name}: {warning}" for warning in each.kind.warnings)
        if empty := [name for name, each in self.features.items() if not each.values]:
            yield f"  without any value: {listed(empty)}"

    def _code_lines(self) -> Iterator[str]:
        """Yield the columns of numbers that may be codes, and of codes."""
        of = {
            name: each.numbers_column
            for name, each in self.features.items()
            if self.is_numeric(name) and may_be_codes(each)
        }
        if of:
            reasons = [f"{name} (one for each {other})" if other else name for name, other in of.items()]
            yield f"  numbers that may be codes: {listed(reasons)}; if so: --nominal {next(iter(of))}"
        named = {name: each.kind.reason for name, each in self.features.items() if each.kind.word == "code"}
        if named:
            reasons = [f"{name} ({reason})" for name, reason in named.items()]
            yield f"  codes, read as names: {listed(reasons)}; as numbers: --numeric {next(iter(named))}"

    def _use_lines(self) -> Iterator[str]:
        """Yield which columns are left out or tell something, by what was measured."""
        for name, reason in self.left_out.items():
            yield f"  left out: {name or 'the column without a name'}, {reason}"
        if self.blanks:
            tells = [f"{name} ({each.gain / each.rows:.2f} nats a row)" for name, each in self.blanks.items()]
            yield (
                f"  that a cell is missing tells something, and is a feature: {listed(tells)}; "
                "--no-blanks leaves it out"
            )
        yield from (f"  {name}, an entity: {_recurrence(each)}" for name, each in self.entities.items())
        if self.ids:
            counts = [f"{name} ({_recurrence(each)})" for name, each in self.ids.items()]
            yield (
                f"warning: these look like identifiers of rows: {listed(counts)}; they cost memory: leave them out "
                "with --drop-ids"
            )

    @property
    def _rows_examined(self) -> str:
        """The number of rows that the profiles are of, in words."""
        rows = [each.values + each.missing.total() for each in self.profiles.values()]
        first, most = min(rows, default=0), max(rows, default=0)
        return f"{first:,} rows" + (f", and {most - first:,} of those that follow," if most > first else "")

    def _labels(self, target: str) -> str:
        profile = self.profiles[target]
        counts = profile.counts
        text = "1 label" if profile.distinct == 1 else f"{profile.distinct:,} labels"
        if counts and len(counts) <= MANY_LABELS:
            common = sorted(counts.items(), key=lambda item: -item[1])[:NAMED_LABELS]
            text += " (" + ", ".join(f"{label} {count:,}" for label, count in common)
            text += ", ...)" if len(counts) > NAMED_LABELS else ")"
        elif profile.is_numeric:
            text = f"{profile.distinct:,} different numbers, {profile.lowest:g} to {profile.highest:g}"
        if absent := profile.missing.total():
            kinds = ", ".join(
                f"{text.strip() or 'blank'} {count:,}" for text, count in profile.missing.items()
            )
            text += f"; {absent:,} rows without a label ({kinds})"
        return text

    def late_labels(self, counts: Mapping[Any, int]) -> list[str]:
        """Return a line of the labels that were learned, but are not in the first rows; `counts` are their rows."""
        profile = self.profiles.get(self.target or "")
        if profile is None or profile.distinct > MANY_LABELS:
            return []
        late = {label: count for label, count in counts.items() if str(label) not in profile.counts}
        if not late:
            return []
        rows = profile.values + profile.missing.total()
        each = [
            f"{label} ({count:,} rows)" for label, count in sorted(late.items(), key=lambda item: -item[1])
        ]
        return [f"labels that the first {rows:,} rows do not have: {listed(each, NAMED_LABELS)}"]

    def warnings(self, for_numbers: bool = False) -> list[str]:
        """Return the problems of the target, one per line; `for_numbers` if its labels are learned as numbers."""
        of = {} if self.schema is None else self.schema.features_of
        columns = {feature: column for column, features in of.items() for feature in features}
        sentences = [
            line for target, leaks in self.leaks.items() for line in leak_warnings(leaks, target, columns)
        ]
        profile = None if self.target is None else self.profiles.get(self.target)
        if profile is None or not profile.values:
            return sentences
        if profile.is_numeric and profile.distinct > MANY_LABELS and not for_numbers:
            sentences.append(
                f"warning: --target {self.target} has {profile.distinct:,} distinct numbers in the first "
                f"{profile.values:,} rows; these models learn classes, so each number becomes one, and each class "
                "costs time and memory. To learn numbers: `train` or `compare --task regression`. For classes of "
                "equally many rows: --bins 4"
            )
        elif not profile.is_numeric and profile.distinct > max(MANY_LABELS, profile.values / 2):
            sentences.append(
                f"warning: --target {self.target} has {profile.distinct:,} labels in the first {profile.values:,} "
                "rows: most come once, so there is little to learn of them, and each costs time and memory. Is it an "
                "identifier or a date? Choose another target"
            )
        if profile.distinct == 1:
            (label,) = profile.counts
            sentences.append(
                f"warning: --target {self.target} has one value, {label!r}, in the first {profile.values:,} rows, so "
                "there is nothing to predict, unless the rows are sorted by it"
            )
        spellings: dict[str, list[str]] = {}
        for label in profile.counts if profile.distinct <= MANY_LABELS and not for_numbers else ():
            spellings.setdefault(" ".join(label.casefold().split()), []).append(label)
        if alike := [" and ".join(map(repr, each)) for each in spellings.values() if len(each) > 1]:
            sentences.append(
                f"warning: --target {self.target} has labels that differ in case or blanks only: {listed(alike)}; each "
                "is a class of its own"
            )
        absent = profile.missing.total()
        if absent and (counted := profile.missing.most_common(1)[0][0].strip()):
            sentences.append(
                f"warning: {absent:,} of {absent + profile.values:,} rows have no label, since {counted!r} counts as "
                "missing; they are predicted and not learned"
                + ("" if for_numbers else ". If it is a class: --missing ''")
            )
        return sentences


def listed(names: Sequence[str], most: int = SHOWN_NAMES) -> str:
    """Return names as text, the first ones only if there are many.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2), listed([])
    ('a, b and 1 more', 'none')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "none"


def open_table(file: Path, target: str | Sequence[str] | None, options: DataOptions) -> DataFile:
    """Return a data file as a table, with the schema inferred from its first rows. `target` names one column or more.

    Raises
    ------
    SchemaError, SourceError, BadValue
        If the file cannot be read, lacks a column, or an option does not fit it.
    """
    kind = format_of(file)
    if kind != "csv":
        options.refuse(file)
    ignore = list(options.ignore)
    fields = Fields(target=target, time=options.time, ignore=tuple(ignore))
    if kind == "jsonl":
        fields = reading_nested(file, fields)
    left_out: dict[str, str] = {}
    form = None
    if kind == "csv":
        form = options.form_of(file, [*fields.roles.values(), *ignore, *options.nominal, *options.numeric])
        with closing(CSVSource(file, fields, form=form)) as opened:  # refuses what is not there
            if "" in opened.columns and "" not in (*fields.roles.values(), *ignore):
                left_out[""] = "an index that pandas or R wrote"
        profiles = profile_of(file, form=form)
        if not any(each.values or each.missing for each in profiles.values()):
            with closing(CSVSource(file, form=form)) as opened:
                first_records(file, opened)
    else:
        with closing(_source(kind, file, fields, None)) as typed:
            numeric: Collection[str] = getattr(typed, "numeric_names", ())
            records = first_records(file, typed)
        profiles = record_profiles(records, fields, numeric)
        _check_targets(file, fields.all_targets, profiles, records)
    decided = {*options.nominal, *options.numeric}
    read = dataclasses.replace(fields, ignore=(*ignore, *left_out))
    decide_codes(profiles, read, lambda _: _source(kind, file, fields, None, form), decided)
    kept = {*fields.roles.values(), *ignore, *left_out, *decided}
    suspects = [name for name, profile in profiles.items() if profile.is_id and name not in kept]
    measured: dict[str, PrequentialGain] = {}
    blanks: dict[str, PrequentialGain] = {}
    if suspects:
        with closing(_source(kind, file, fields, None, form)) as plain:
            measured = _measured(plain, suspects, fields)
    if options.drop_ids:
        left_out |= {
            name: f"an identifier: {_recurrence(each)}" for name, each in measured.items() if not each.tells
        }
    fields = dataclasses.replace(fields, ignore=(*ignore, *left_out))
    schema = _schema_of(kind, file, fields, profiles, form, bool(decided))
    if schema is not None:
        if options.blanks:
            blanks = telling_blanks(
                schema, profiles, fields, lambda declared: _source(kind, file, fields, declared, form)
            )
        declared = with_kinds(schema, options.nominal, options.numeric)
        schema = Schema(declared.columns, schema.classes, schema.target, schema.unknown, blanks=[*blanks])
    source = _source(kind, file, fields, schema, form)
    leaks: dict[str, dict[Any, str]] = {}
    if target is not None:
        with closing(_source(kind, file, fields, schema, form)) as again:
            rows = min(FIRST_ROWS, max(LEAST_ROWS, MAX_CELLS // max(len(profiles), 1)))
            events = [record for record in first_records(file, again, rows) if isinstance(record, Event)]
        for k, name in enumerate(fields.all_targets):
            leaks[name] = leaks_in((replace(event, y=labels_of(event, fields)[k]) for event in events), name)
    one = target if isinstance(target, str) else None
    return DataFile(
        file, one, source, schema, profiles, form, left_out, leaks, measured, blanks, fields.targets
    )


def _check_targets(
    file: Path, targets: Sequence[str], profiles: Mapping[str, ColumnProfile], records: Sequence[Record]
) -> None:
    """Raise `SchemaError` if none of the first records has a target."""
    count = sum(isinstance(record, Event) for record in records)
    for target in targets if count else ():
        if target not in profiles:
            raise SchemaError(
                f"{file}: target: none of the first {count:,} records has a field {target!r}"
                f"{closest(target, profiles)} Found: {', '.join(sorted(map(str, profiles)))}"
            )


def _source(
    kind: str,
    file: Path,
    fields: Fields,
    schema: Schema | None,
    form: CSVFormat | None = None,
    name: str = SOURCE,
) -> Any:
    """Return a file as a source whose cells that do not fit the schema are missing."""
    if kind == "csv":
        return CSVSource(file, fields, schema, form=form or CSVFormat(), misfits="missing", name=name)
    if kind == "jsonl":
        decoder = JSONDecoder(fields) if schema is None else InferredJSONDecoder(fields, schema)
        return JSONLinesSource(file, decoder, name=name)
    return TYPED_FILES[kind](file, fields, name, schema=schema)


def _schema_of(
    kind: str,
    file: Path,
    fields: Fields,
    profiles: dict[str, ColumnProfile],
    form: CSVFormat | None,
    is_declared: bool,
) -> Schema | None:
    """Return the columns as their profiles show them; None for JSON whose values are features as they are, unless the
    kind of a column `is_declared`.

    Files that declare their types keep these; texts are read as the profile says.
    """
    if kind == "csv":
        specs = {name: each.kind.column for name, each in profiles.items() if fields.is_feature(name)}
        return Schema(specs, target=fields.label_name(specs))
    if kind == "jsonl":
        return json_schema(file, fields, profiles, is_declared)
    with closing(_source(kind, file, fields, None, form)) as source:
        return typed_schema(source.schema, profiles)


def _measured(source: Source, names: Sequence[str], fields: Fields) -> dict[str, PrequentialGain]:
    """Return whether the values of columns recur in a source, and what they tell about its labels: of several targets,
    about the one that they tell most of.
    """
    gains = {name: [PrequentialGain() for _ in fields.targets or "1"] for name in names}
    for record in records_of(source, EXAMINED_ROWS):
        if isinstance(record, Event):
            labels = labels_of(record, fields)
            for name, of_targets in gains.items():
                if (value := record.x.get(name)) is not None:
                    for each, label in zip(of_targets, labels, strict=True):
                        each.add(value, label)
    return {name: max(of_targets, key=lambda each: each.gain) for name, of_targets in gains.items()}


def _recurrence(each: PrequentialGain) -> str:
    """Return in words whether the values of a column recur, and what they tell."""
    if not each.recurring:
        return f"no value recurs in {each.rows:,} rows"
    if not each.has_labels:
        return f"{each.distinct:,} values in {each.rows:,} rows; whether they tell something, --target would show"
    tells = (
        f"they save {each.gain / each.rows:.2f} nats a row"
        if each.tells
        else "they tell nothing about the label"
    )
    return (
        f"{each.distinct:,} values in {each.rows:,} rows; {tells}, measured on rows before these are learned"
    )


def merged_with(table: DataFile, files: Sequence[Path], options: DataOptions) -> MergedSource:
    """Return a table's file and further ones as one source, merged by time; without times they follow each other.

    The kinds of the columns are those of the first file.

    Raises
    ------
    SchemaError, SourceError, BadValue
        If a file cannot be read, is of another format, or lacks a column.
    """
    first = table.source
    opened: list[Source] = [first]
    try:
        for number, file in enumerate(files, 2):
            kind, name = format_of(file), f"{SOURCE}-{number}"
            if kind != format_of(table.path):
                raise BadValue(f"expected files of one format, got {table.path} and {file}")
            left_out = (*options.ignore, *table.left_out)
            fields = Fields(
                target=table.target or table.targets or None,
                time=options.time,
                ignore=left_out,
                flatten=table.is_nested,
            )
            opened.append(_source(kind, file, fields, table.schema, table.form, name))
        return MergedSource(opened, SOURCE)
    except BaseException:
        for source in opened:
            source.close()
        raise


def label_cuts(table: DataFile, bins: int) -> list[float]:
    """Return the cut points of a numeric target, by its first rows.

    Raises
    ------
    BadValue
        If the target is not numeric.
    """
    profile = table.profiles[table.target or ""]
    if not profile.is_numeric:
        raise BadValue(f"--bins {bins}: the target {table.target!r} is not numeric")
    values = []
    for text, value in profile.kind.numbers.items():
        values += [value] * profile.counts[text]
    return cut_points(values, bins)


def label_amount(table: DataFile, target: str | None = None) -> Amount:
    """Return how the numbers of a numeric target are written; by default of the only one."""
    column = table.profiles[target or table.target or ""].kind.column
    return column if isinstance(column, Amount) else Amount()


def with_kinds(schema: Schema, nominal: Sequence[str] = (), numeric: Sequence[str] = ()) -> Schema:
    """Return the schema with some columns declared nominal, and some as numbers, where they are not yet.

    Raises
    ------
    BadValue
        If there is no such column, or one is to be both.
    """
    for option, names in (("nominal", nominal), ("numeric", numeric)):
        for name in names:
            if name not in schema.columns:
                features = ", ".join(schema.columns)
                raise BadValue(
                    f"--{option} {name}: no such feature{closest(name, schema.columns)} The features are {features}"
                )
    if both := set(nominal) & set(numeric):
        raise BadValue(f"{min(both)} is both --nominal and --numeric; give one of them")
    declared: dict[str, Any] = {
        **schema.columns,
        **{name: Code() if isinstance(schema.columns[name], Numeric) else Nominal() for name in nominal},
        **{name: Amount() for name in numeric if not isinstance(schema.columns[name], (Amount, Numeric))},
    }
    return Schema(declared, schema.classes, schema.target, schema.unknown, [*schema.missing_features])


def misfits_of(source: object) -> Mapping[str, Misfits]:
    """Return the counts of cells that are not of the kind of their column; empty for a source without columns."""
    if isinstance(source, (BinnedLabels, Paced)):
        return misfits_of(source.source)
    if isinstance(source, MergedSource):
        total: dict[str, Misfits] = {}
        for each in source.sources:
            for name, misfits in misfits_of(each).items():
                sum_of_column = total.setdefault(name, Misfits(0, misfits.first))
                sum_of_column.count += misfits.count
        return total
    if isinstance(source, JSONLinesSource):
        return {name: Misfits(count) for name, count in source.decoder.bad_fields.items()}
    return getattr(source, "misfits", {})


def late_fields_of(source: object) -> Mapping[str, int]:
    """Return the counts of fields that a JSON file has only after the rows that decided its features."""
    if isinstance(source, (BinnedLabels, Paced)):
        return late_fields_of(source.source)
    if isinstance(source, MergedSource):
        return sum((Counter(late_fields_of(each)) for each in source.sources), Counter())
    if isinstance(source, JSONLinesSource) and isinstance(source.decoder, InferredJSONDecoder):
        return source.decoder.late_fields
    return {}


def warn_of_misfits(source: object, write: Callable[[str], None]) -> None:
    """Write a line for each column with cells that are not of its kind, and for fields that came too late."""
    for name, count in late_fields_of(source).items():
        write(
            f"warning: field {name}: comes first after the first {EXAMINED_ROWS:,} rows, which decide the features; it "
            f"is no feature, and its {count:,} values were left out"
        )
    for name, each in misfits_of(source).items():
        cells = (
            "cell is not of its kind and counts" if each.count == 1 else "cells are not of its kind and count"
        )
        first = f", the first one {each.first!r}" if each.first else ""
        write(f"warning: column {name}: {each.count:,} {cells} as missing{first}")
