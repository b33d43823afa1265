"""Profiles of the columns of a table, and inference of its features from the first rows."""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from stream_bayes.core.events.event import Event
from stream_bayes.core.values.inputs import MOST_FRACTIONS
from stream_bayes.core.values.values import is_missing, shown
from stream_bayes.data.dates import Date
from stream_bayes.data.declarations import ColumnDeclaration
from stream_bayes.data.features import Numeric
from stream_bayes.data.kind_inference import InferredKind, inferred_kind, sure_mark, typed_kind
from stream_bayes.data.schema import Schema
from stream_bayes.data.texts import MOST_WORDS, Text
from stream_bayes.errors import SchemaError
from stream_bayes.streams.contracts.source import records_of
from stream_bayes.streams.files.csv_cells import BLANKS
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.records.fields import Fields

__all__ = [
    *("FIRST_ROWS", "ID_EVENTS", "ColumnProfile", "compare_columns", "first_rows", "has_rows"),
    *("inferred_features", "inferred_schema", "profile_of", "profiled_columns", "typed_profiles"),
]

logger = logging.getLogger(__name__)

FIRST_ROWS = 1000
LEAST_ROWS, MAX_CELLS = 100, 1_000_000  # of a file with many columns fewer rows are profiled
MAX_DISTINCT = 20_000  # values counted per column
ID_NAME = re.compile(
    r"(.*[_\- .])?(?i:id|idx|index|uuid|guid|key|rownames?|number|no|nr)|.*[a-z](ID|Id|Key|Number|No|Nr)|"
    "(?i:unnamed).*",
    re.DOTALL,
)
KEY_NAME = re.compile(
    r"(.*[_\- .])?(?i:id|idx|uuid|guid|key|code|zip|zipcode)|.*[a-z](ID|Id|Key|Code|Zip|ZipCode)", re.DOTALL
)
FEW_NUMBERS = 12  # distinct whole numbers; more are not codes
MOST_ALIKE = 8  # columns of names, of as many values, that are compared with one of numbers
MOST_MISTAKES = 0.01  # of rows in which a name has another number
MOST_ROWS_OF_A_GROUP = 20  # on average, of numbers without a gap that are codes
ID_SHARE = 1 / 3  # share of distinct values from which a column identifies rows rather than classes
ID_EVENTS = 20
LEAST_WORDS = 10  # of a text, where a table has many
YEARS = range(1500, 2101)  # consecutive numbers that are no identifiers
MOST_COLUMNS = 1 << 15  # a profile takes some 16 KB


@dataclass
class ColumnProfile:
    """Counts of the contents of one column, and the kind that they show."""

    name: str
    # of the file: the texts that stand for a missing value, and the likely decimal mark
    form: CSVFormat = field(default_factory=CSVFormat)
    values: int = 0  # the number of cells with a value
    missing: Counter[str] = field(default_factory=Counter)  # the number of missing cells, by their text
    # the number of cells by text, of the first 20,001 texts
    counts: Counter[str] = field(default_factory=Counter)
    # Of values that have a type, the number in each text that is one; None for the cells of a CSV file.
    typed_numbers: dict[str, float] | None = None
    decimal: str | None = None  # the likely decimal mark, by the other columns; None for that of the format
    numbers_column: str | None = None  # the column of names, each of which has one number of this one

    def add(self, cell: str) -> None:
        """Add a cell."""
        missing = self.form.missing
        if cell in missing or (cell in BLANKS and "" in missing):
            self.missing[cell] += 1
        else:
            self._count(cell)

    def add_value(self, value: object) -> None:
        """Add a value that has a type: a number is a number, and everything else a name."""
        if self.typed_numbers is None:
            self.typed_numbers = {}
        if is_missing(value):
            self.missing[""] += 1
            return
        text = str(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.typed_numbers[text] = float(value)
        self._count(text)

    def _count(self, text: str) -> None:
        self.values += 1
        if text in self.counts or len(self.counts) <= MAX_DISTINCT:
            self.counts[text] += 1

    @cached_property
    def kind(self) -> InferredKind:
        """The kind of the column. It is inferred once, after the last cell was added."""
        if self.typed_numbers is None:
            return inferred_kind(self.counts, self.form.decimal, self.decimal)
        return typed_kind(self.counts, self.typed_numbers, self.decimal)

    @property
    def is_numeric(self) -> bool:
        """True if the column is a feature of numbers, however they are written."""
        return bool(self.kind.numbers)

    @property
    def lowest(self) -> float:
        """The least number."""
        return min(self.kind.numbers.values())

    @property
    def highest(self) -> float:
        """The greatest number."""
        return max(self.kind.numbers.values())

    @property
    def is_whole(self) -> bool:
        """True if all numbers are whole."""
        return all(map(float.is_integer, self.kind.numbers.values()))

    @property
    def distinct(self) -> int:
        """The number of distinct values, counted up to 20,001."""
        return len(self.counts)

    @property
    def is_measured(self) -> bool:
        """True if the values are numbers with a fraction, most of which come once: measurements rather than classes."""
        fractions = sum(not number.is_integer() for number in self.kind.numbers.values())
        return fractions > MOST_FRACTIONS and self.distinct * 2 > self.values

    @property
    def is_id(self) -> bool:
        """True if the values look like identifiers of rows: names that hardly repeat, or consecutive whole numbers."""
        if (
            self.values < ID_EVENTS
            or self.kind.word in ("range", "flag", "constant")
            or isinstance(self.kind.column, (Date, Text))
        ):
            return False
        if not self.is_numeric:
            return self.distinct > MAX_DISTINCT or self.distinct >= max(ID_EVENTS, ID_SHARE * self.values)
        if not self.is_whole or self.distinct < min(self.values, MAX_DISTINCT) or self.kind.misfits[0]:
            return False
        if ID_NAME.fullmatch(self.name.strip()):
            return True
        are_years = YEARS[0] <= self.lowest and self.highest <= YEARS[-1]
        return self.highest - self.lowest < self.values and not are_years

    @property
    def may_be_codes(self) -> bool:
        """True for a numeric column that may be one of names: a few whole numbers, or two of any kind; one number for
        each name of another column; numbers from 1 on without a gap, of groups of rows; or the name of a key.
        """
        is_number = self.kind.word not in ("flag", "constant") and isinstance(self.kind.column, Numeric)
        if not is_number or self.distinct < 2:
            return False
        recur = self.values >= 5 * self.distinct
        if not self.is_whole:
            return recur and self.distinct == 2
        few = recur and self.distinct <= FEW_NUMBERS
        return few or self.numbers_column is not None or self._numbers_groups or self._is_key

    @property
    def _is_key(self) -> bool:
        return KEY_NAME.fullmatch(self.name.strip()) is not None and not self.is_id

    @property
    def _numbers_groups(self) -> bool:
        """True for 1 to n, or 0 to n, each in two rows or more, and in few: amounts that are so few have gaps."""
        return (
            self.distinct > FEW_NUMBERS
            and self.lowest in (0.0, 1.0)
            and self.highest - self.lowest + 1 == self.distinct
            and min(self.counts.values()) > 1
            and self.values <= MOST_ROWS_OF_A_GROUP * self.distinct
        )


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
    _find_numbered_names(profiles, listed)
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


def _find_numbered_names(profiles: Mapping[str, ColumnProfile], rows: Sequence[Mapping[str, object]]) -> None:
    """Note of each column of whole numbers the column of names of which each has one, as a country has a code."""
    names: dict[int, list[str]] = {}
    for name, profile in profiles.items():
        if profile.kind.word == "category" and FEW_NUMBERS < profile.distinct * 5 <= profile.values:
            names.setdefault(profile.distinct, []).append(name)
    for name, profile in profiles.items():
        if isinstance(profile.kind.column, Numeric) and profile.is_numeric and profile.is_whole:
            distinct = profile.distinct
            alike = [
                other for count in (distinct, distinct - 1, distinct + 1) for other in names.get(count, ())
            ]
            numbered = (other for other in alike[:MOST_ALIKE] if _is_one_to_one(name, other, rows))
            profile.numbers_column = next(numbered, None)


def _is_one_to_one(name: str, other: str, rows: Sequence[Mapping[str, object]]) -> bool:
    """Return True if each value of a column stands with one of another, apart from a few mistakes."""
    pairs = Counter((row.get(name), row.get(other)) for row in rows)
    common = {one: another for (one, another), _ in reversed(pairs.most_common())}
    is_unique = len(set(common.values())) == len(common)
    return is_unique and sum(pairs[pair] for pair in common.items()) >= (1 - MOST_MISTAKES) * len(rows)


def typed_profiles(rows: Sequence[Mapping[str, object]]) -> dict[str, ColumnProfile]:
    """Return the profile of each field of rows whose values have a type; a row without the field lacks a value."""
    names = _bounded(dict.fromkeys(name for row in rows for name in row))
    profiles = {name: ColumnProfile(str(name)) for name in names}
    for row in rows:
        for name, profile in profiles.items():
            profile.add_value(row.get(name))
    compare_columns(profiles.values())
    _find_numbered_names(profiles, rows)
    return profiles


def profile_of(
    path: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    rows: int = FIRST_ROWS,
    columns: Sequence[str] | None = None,
    form: CSVFormat | None = None,
) -> dict[str, ColumnProfile]:
    """Return the profiles of columns of a CSV file, by its first rows; fewer rows of a file with many columns. `names`
    are the columns to profile; all if not given. `rows` is the number of rows to examine. The other arguments are as of
    a `CSVSource`.

    Raises
    ------
    SourceError, SchemaError
        As of a `CSVSource`.
    """
    form = CSVFormat() if form is None else form
    # Nothing is missing to this source: the profile counts the texts that stand for a missing value.
    with closing(CSVSource(path, columns=columns, form=replace(form, missing=()))) as source:
        names = source.columns if names is None else names
        rows = min(rows, max(LEAST_ROWS, MAX_CELLS // max(len(source.columns), 1)))
        return profiled_columns(names, (event.x for event in first_rows(source, rows)), form)


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
    rows: int = FIRST_ROWS,
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
        Number of rows to examine, including those that cannot be read.
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
    # Nothing is missing here: the profile counts the texts that stand for a missing value.
    with closing(CSVSource(path, fields, columns=columns, form=form)) as source:
        _check_names(path, source.columns, source.fields)
        names = list(filter(source.fields.is_feature, source.columns))
        target, label_name = source.fields.target, source.fields.label_name(names)
    profiles = profile_of(path, names, rows, columns, form)
    features = {name: profile.kind.column for name, profile in profiles.items()}
    for name, profile in profiles.items():
        for warning in profile.kind.warnings:
            logger.warning("%s: column %s: %s", path, name, warning)
    if target is not None:
        return Schema(features, target=label_name)
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
