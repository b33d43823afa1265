"""Profiles of all columns of a table, and inference of its features from the first rows."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from stream_bayes.core.events.event import Event
from stream_bayes.core.values.values import shown
from stream_bayes.data.declarations import ColumnDeclaration
from stream_bayes.data.kind_inference import sure_mark
from stream_bayes.data.schema import Schema
from stream_bayes.data.texts import MOST_WORDS, Text
from stream_bayes.errors import SchemaError
from stream_bayes.streams.contracts.source import Source, records_of
from stream_bayes.streams.files.code_columns import find_numbered_names
from stream_bayes.streams.files.column_profile import ColumnProfile
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.telling_columns import (
    BLANK_ROWS,
    EXAMINED_ROWS,
    decide_codes,
    with_telling_blanks,
)
from stream_bayes.streams.records.fields import Fields

__all__ = [
    *("FIRST_ROWS", "compare_columns", "first_rows", "has_rows", "inferred_features", "inferred_schema"),
    *("profile_of", "profiled_columns", "typed_profiles"),
]

logger = logging.getLogger(__name__)

FIRST_ROWS = 1000
LEAST_ROWS, MAX_CELLS = 100, 1_000_000  # of a file with many columns fewer rows are profiled
LEAST_WORDS = 10  # of a text, where a table has many
LATER_CELLS = 2_000_000  # examined after the first rows
LEAST_VALUES = 20  # of a column, before the first rows are enough
MOST_COLUMNS = 1 << 15  # a profile takes some 16 KB


def profiled_columns(
    names: Iterable[str], rows: Iterable[Mapping[str, str | None]], form: CSVFormat
) -> dict[str, ColumnProfile]:
    """Return the profile of each column of some rows of text, by name."""
    profiles = {name: ColumnProfile(name, form) for name in _bounded(names)}
    listed = [*rows]
    for row in listed:
        for name, profile in profiles.items():
            profile.add(row.get(name) or "")
    compare_columns(profiles.values())
    find_numbered_names(profiles, listed)
    return profiles


def _bounded(names: Iterable[str]) -> list[str]:
    """Return the names of columns. Raise `SchemaError` for more than MOST_COLUMNS."""
    listed = [*names]
    if len(listed) > MOST_COLUMNS:
        raise SchemaError(
            f"expected at most {MOST_COLUMNS:,} columns whose kinds are inferred, got {len(listed):,}; keep those that "
            "may tell about the target in a file of their own"
        )
    return listed


def compare_columns(profiles: Iterable[ColumnProfile]) -> None:
    """Settle what the columns of a table show together: the likely decimal mark, and the number of words of a text."""
    profiles = [*profiles]
    marks = Counter(mark for profile in profiles if (mark := sure_mark(profile.counts)) is not None)
    if marks["."] != marks[","]:
        for profile in profiles:
            profile.decimal = max(marks, key=lambda mark: marks[mark])
    texts = [profile for profile in profiles if isinstance(profile.kind.column, Text)]
    for profile in texts if len(texts) > 1 else ():
        column = profile.kind.column
        assert isinstance(column, Text)
        fewer = Text(column.words[: max(LEAST_WORDS, MOST_WORDS // len(texts))])
        profile.kind = replace(profile.kind, column=fewer)


def typed_profiles(rows: Sequence[Mapping[str, object]]) -> dict[str, ColumnProfile]:
    """Return the profile of each field of rows whose values have a type; a row without the field lacks a value."""
    names = _bounded(dict.fromkeys(name for row in rows for name in row))
    profiles = {name: ColumnProfile(str(name)) for name in names}
    for row in rows:
        for name, profile in profiles.items():
            profile.add_value(row.get(name))
    compare_columns(profiles.values())
    find_numbered_names(profiles, rows)
    return profiles


def profile_of(
    path: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    form: CSVFormat | None = None,
) -> dict[str, ColumnProfile]:
    """Return the profiles of columns of a CSV file, by its first rows; fewer rows of a file with many columns. `names`
    are the columns to profile; all if not given. `rows` is the number of rows to examine. The other arguments are as of
    a `CSVSource`.

    Rows may be sorted, and columns begin late. So rows that are spread over the following ones are examined, too,
    unless `rows` is given: a column of few values in the first rows, or of one, gets theirs, and so does one whose kind
    they would change.

    Raises
    ------
    SourceError, SchemaError
        As of a `CSVSource`.
    """
    form = CSVFormat() if form is None else form
    # Nothing is missing to this source: the profile counts the texts that stand for a missing value.
    with closing(CSVSource(path, columns=columns, form=replace(form, missing=()))) as source:
        names = source.columns if names is None else names
        width = max(len(source.columns), 1)
        first = min(rows or FIRST_ROWS, max(LEAST_ROWS, MAX_CELLS // width))
        profiles = profiled_columns(names, (event.x for event in first_rows(source, first)), form)
        if rows is None:
            _examine_later_rows(source, profiles, LATER_CELLS // width, first)
    return profiles


def _examine_later_rows(
    source: CSVSource, profiles: dict[str, ColumnProfile], examined: int, kept: int
) -> None:
    """Replace the profiles of columns of which the rows that follow show more. At most `kept` of them count: those at
    equal steps, and those that have another value of a column with one.
    """
    rows: list[Mapping[str, str | None]] = []
    others: list[Mapping[str, str | None]] = []
    constants = {name: profile for name, profile in profiles.items() if profile.distinct == 1}
    step, number = 1, -1
    for number, record in enumerate(records_of(source, examined)):
        if not isinstance(record, Event):
            continue
        if number % step == 0:
            rows.append(record.x)
            if len(rows) == kept:
                del rows[1::2]
                step *= 2
        else:
            differing = [name for name, each in constants.items() if each.has_other(record.x.get(name) or "")]
            if differing:
                others.append(record.x)
                constants = {name: each for name, each in constants.items() if name not in differing}
    if rows:
        longer = {name: _with_later_rows(profile, [*rows, *others]) for name, profile in profiles.items()}
        profiles |= {name: profile for name, profile in longer.items() if profile is not None}
        compare_columns(profiles.values())
    for profile in profiles.values():
        profile.has_ended = number + 1 < examined


def _with_later_rows(
    profile: ColumnProfile, rows: Sequence[Mapping[str, str | None]]
) -> ColumnProfile | None:
    """Return the profile of a column with further rows; None where these show nothing else."""
    longer = ColumnProfile(
        profile.name,
        profile.form,
        profile.values,
        profile.missing.copy(),
        profile.counts.copy(),
        decimal=profile.decimal,
        numbers_column=profile.numbers_column,
    )
    for row in rows:
        longer.add(row.get(profile.name) or "")
    is_young = profile.values < LEAST_VALUES or profile.distinct < 2
    if is_young:
        return longer if longer.distinct > profile.distinct else None
    if type(longer.kind.column) is type(profile.kind.column):
        return None
    first = profile.values + profile.missing.total()
    said = (
        f"the first {first:,} rows alone would show another kind: {profile.kind.word}, {profile.kind.reason}"
    )
    longer.kind = replace(longer.kind, warnings=[*longer.kind.warnings, said])
    return longer


def inferred_features(
    names: Iterable[str], rows: Iterable[Mapping[str, str | None]]
) -> dict[str, ColumnDeclaration]:
    """Infer the columns from the text of some rows: the kind to which at least 90 % of the values belong, else nominal.

    A column without any value is nominal, and so is one of digits with leading zeros. The result depends on the rows
    alone. Of each row, the text of a feature is None if its value is missing.

    Examples
    --------
    >>> rows = [{"sky": "grey", "wind": "3.5"}, {"sky": "blue", "wind": None}]
    >>> inferred_features(["sky", "wind"], rows)
    {'sky': Nominal(), 'wind': Numeric()}
    """
    profiles = profiled_columns(names, rows, CSVFormat())
    return {name: profile.kind.column for name, profile in profiles.items()}


def inferred_schema(
    path: str | os.PathLike[str],
    fields: Fields | None = None,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
    missing: Iterable[str] = ("",),
    form: CSVFormat | None = None,
) -> Schema:
    r"""Infer a schema from the first rows of a file.

    A warning is logged for each column of which something cannot be known, such as dates of mixed order. Values and
    classes are left open, for later rows may hold others. Numbers that are names, as of products, look like
    any others: declare them nominal.

    Parameters
    ----------
    path, fields, columns, delimiter, missing
        As of a `CSVSource`.
    rows
        Number of rows to examine, including those that cannot be read. Default: the first 1,000, and 1,000 at most of
        those that follow; up to 200,000 for what codes tell about the label, and 5,000 for what missing cells tell.
    form
        The format of the file, in place of `delimiter` and `missing`.

    Raises
    ------
    SourceError, SchemaError
        As of a `CSVSource`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.csv")
    ...     _ = path.write_text("sky,wind,rain\ngrey,3.5,yes\nblue,,no\n")
    ...     inferred_schema(path, Fields(target="rain"))
    Schema({'sky': Nominal(), 'wind': Numeric()}, target='rain')
    """
    form = CSVFormat(delimiter=delimiter, missing=tuple(missing)) if form is None else form
    opened = partial(CSVSource, path, columns=columns)
    # Nothing is missing here: the profile counts the texts that stand for a missing value.
    with closing(opened(fields, form=form)) as source:
        _check_names(path, source.columns, source.fields)
        fields = source.fields
        names = list(filter(fields.is_feature, source.columns))
        target, label_name = fields.target, fields.label_name(names)
        # The marks of columns that are no features count, too, unless the features are few of many.
        profiled = source.columns if fields.only is None else [*names, *fields.all_targets]
    profiles = profile_of(path, profiled, rows, columns, form)

    def open_rows(schema: Schema | None) -> Source:
        return opened(fields, schema, form=form, misfits="missing")

    decide_codes(profiles, fields, open_rows, most_rows=rows or EXAMINED_ROWS)
    features = {name: profiles[name].kind.column for name in names}
    for name in names:
        for warning in profiles[name].kind.warnings:
            logger.warning("%s: column %s: %s", path, name, warning)
    if target is not None:
        schema = Schema(features, target=label_name)
        return with_telling_blanks(schema, profiles, fields, open_rows, rows or BLANK_ROWS)
    if "class" in features:
        raise SchemaError(
            f"{path}: the column 'class' has the target's usual name; name the target, or rename the column in "
            f"{shown([*features])}"
        )
    return Schema(features)


def _check_names(path: str | os.PathLike[str], names: Sequence[str], fields: Fields) -> None:
    """Refuse a feature without a name: what stands there is an index that pandas wrote, as a rule."""
    if "" in names and fields.is_feature(""):
        raise SchemaError(
            f"{path}: column {list(names).index('') + 1} of {len(names)} has no name, as an index that pandas writes; "
            "give it one, or leave it out: --ignore '', or ignore = [\"\"] in a pipeline file"
        )


def first_rows(source: CSVSource, count: int) -> Iterable[Event]:
    """Yield the events among the first `count` records of a file."""
    return (record for record in records_of(source, count) if isinstance(record, Event))


def has_rows(
    path: str | os.PathLike[str],
    fields: Fields | None = None,
    columns: Sequence[str] | None = None,
    form: CSVFormat | None = None,
) -> bool:
    """Return True if a file holds at least one row that can be read."""
    if Path(path).exists() and not Path(path).stat().st_size:
        return False
    with closing(CSVSource(path, fields, columns=columns, form=form)) as source:
        return any(True for _ in first_rows(source, 1))
