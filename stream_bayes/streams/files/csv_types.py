"""Detection of the numeric columns of a CSV file from its first rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path, PurePath

from stream_bayes.core.events.event import Event
from stream_bayes.core.values.values import shown
from stream_bayes.data.features import Nominal, Numeric, Spec
from stream_bayes.data.schema import Schema
from stream_bayes.errors import Exhausted, SchemaError
from stream_bayes.streams.files.csv_cells import number
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.records.fields import Fields

__all__ = ["FIRST_ROWS", "delimiter_of", "first_rows", "has_rows", "inferred_features", "inferred_schema"]

FIRST_ROWS = 1000


def delimiter_of(path: str | os.PathLike[str], given: str | None = None) -> str:
    r"""Return the delimiter of a file: a tab may also be written `tab` or `\t`.

    Parameters
    ----------
    path
        The file; in one whose name ends in .tsv it is a tab, and in others a comma, unless another is given.
    given
        The configured delimiter.

    Examples
    --------
    >>> delimiter_of("days.tsv.gz"), delimiter_of("days.csv"), delimiter_of("days.csv", "tab")
    ('\t', ',', '\t')
    """
    if given in ("tab", r"\t"):
        return "\t"
    if given is not None:
        return given
    return "\t" if ".tsv" in [suffix.lower() for suffix in PurePath(path).suffixes] else ","


def inferred_features(names: Iterable[str], rows: Iterable[Mapping[str, str | None]]) -> dict[str, Spec]:
    """Infer the features from the text of some rows: numeric if every value is a finite number, otherwise nominal.

    A feature without any value is nominal. The result depends on the rows alone.

    Parameters
    ----------
    names
        The features.
    rows
        The text of each feature; None where a value is missing.

    Examples
    --------
    >>> rows = [{"sky": "grey", "wind": "3.5"}, {"sky": "blue", "wind": None}]
    >>> inferred_features(["sky", "wind"], rows)
    {'sky': Nominal(), 'wind': Numeric()}
    """
    numeric = dict.fromkeys(names, False)  # whether a number has been seen
    nominal: set[str] = set()
    for row in rows:
        for name in numeric.keys() - nominal:
            text = row.get(name)
            if text is None:
                continue
            try:
                number(text)
                numeric[name] = True
            except ValueError:
                nominal.add(name)
    return {name: Numeric() if seen and name not in nominal else Nominal() for name, seen in numeric.items()}


def inferred_schema(
    path: str | os.PathLike[str],
    fields: Fields | None = None,
    rows: int = FIRST_ROWS,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
    missing: Iterable[str] = ("",),
) -> Schema:
    r"""Infer a schema from the first rows of a file.

    Values and classes are left open, for later rows may hold others; but a column that holds numbers in these rows must
    hold numbers in all of them. Numbers that are names, as of products, look like any others: declare them nominal.

    Parameters
    ----------
    path, fields, columns, delimiter, missing
        As of a `CSVSource`.
    rows
        Number of rows to examine, including those that cannot be read.

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
    source = CSVSource(path, fields, columns=columns, delimiter=delimiter, missing=missing)
    try:
        _check_names(path, source.columns, source.fields)
        features = inferred_features(
            filter(source.fields.is_feature, source.columns), (event.x for event in first_rows(source, rows))
        )
    finally:
        source.close()
    if source.fields.target is not None:
        return Schema(features, target=source.fields.target)
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
    while count > 0:
        try:
            records = source.poll(count)
        except Exhausted:
            return
        count -= len(records)
        yield from (record for record in records if isinstance(record, Event))


def has_rows(
    path: str | os.PathLike[str],
    fields: Fields | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
) -> bool:
    """Return True if a file holds at least one row that can be read."""
    if Path(path).exists() and not Path(path).stat().st_size:
        return False
    with closing(CSVSource(path, fields, columns=columns, delimiter=delimiter)) as source:
        return any(True for _ in first_rows(source, 1))
