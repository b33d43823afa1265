"""Sources in one call: `from_file`, `from_csv`, `from_jsonl`, `from_iterable`; `open_stream` for any."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, cast, get_args

from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, SchemaError
from stream_bayes.registry import Registry
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.files.csv_format import guessed_format, named_columns
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_columns import InferredJSONDecoder, inferred_json_schema, reading_nested
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.table_profile import FIRST_ROWS, has_rows, inferred_schema, profile_of
from stream_bayes.streams.files.typed_columns import inferred_typed_schema
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.sources.file_formats import TYPED_FILES, TypedSource, format_of
from stream_bayes.streams.sources.iterable import Item, IterableSource

__all__ = [
    *(
        "ROLES",
        "TOPICS",
        "Roles",
        "Streamable",
        "LearningTask",
        "open_stream",
    ),
    *("from_csv", "from_file", "from_iterable", "from_jsonl"),
]

logger = logging.getLogger(__name__)

# A path to a file of records, a source, or an iterable of (x, y), (x, y, weight), dicts or events.
Streamable: TypeAlias = "str | os.PathLike[str] | Source | Iterable[Any]"

# What a target is learned as: a class or a number.
LearningTask: TypeAlias = Literal["classification", "regression"]


class Roles(TypedDict, total=False):
    """Roles of the fields of a record other than the target; see `Fields`."""

    # The fields with the key of a sample, its time, its weight, and its kind: sample, label, correction or tombstone.
    key: str | None
    time: str | None
    # Unit of a time that is a number, since 1970 UTC: "s", "ms", "us", "ns"; "iso" if no number is a time.
    time_unit: str
    weight: str | None
    kind: str | None
    ignore: Sequence[str]  # fields that are no features
    only: Sequence[str] | None  # the only fields that are features


ROLES = tuple(Roles.__annotations__)

# What opens a topic, by kind: it takes the servers, the topic, and the roles of fields.
TOPICS: Registry[Callable[..., Source]] = Registry("kind of topic", "topics")


def from_csv(
    path: str | os.PathLike[str],
    *,
    target: str | Sequence[str] | None = None,
    task: LearningTask | None = None,
    schema: Schema | None = None,
    infer_types: bool = True,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    missing: Iterable[str] | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
    units: int | None = None,
    comment: str | None = None,
    sheet: str | None = None,
    misfits: str | None = None,
    follow: bool = False,
    name: str | None = None,
    **roles: Unpack[Roles],
) -> CSVSource:
    r"""Return a CSV file, or a sheet of a spreadsheet, as a source; plain or compressed.

    Parameters
    ----------
    path
        The file.
    target
        The column with the labels.
    task
        `"regression"` if the target is learned as a number, `"classification"` if as a class. Without it, a warning is
        logged if the target holds measurements.
    schema
        The declared features. If not given, the first 1,000 rows decide which columns are numeric.
    infer_types
        False to read every column as text where there is no schema.
    columns
        Names of the columns, for a file without a heading.
    delimiter, decimal, thousands, encoding
        Delimiter of the cells, marks in numbers, encoding of the text. What is not given is guessed from the first
        lines; `source.format` holds the guesses.
    header, skip, units, comment
        Whether the names of the columns are in the file, the lines before them, the rows of units after them, and what
        comment lines begin with. The same applies; `source.format.guesses` has a sentence for each that is not plain,
        and a warning is logged with it.
    sheet
        The sheet of a spreadsheet; by default the first one with a cell.
    missing
        Cells that stand for a missing value; by default `"?"` and those of pandas: `""`, `"NA"`, `"NaN"`, `"null"`, ...
    misfits
        `"missing"` if a cell of a numeric column that holds no number is missing, and counted in `source.misfits`;
        `"dead-letter"` if its row is a bad record. By default the latter for a declared schema only.
    follow
        True to wait for more rows at the end, also after the file is rotated.
    name
        Name of the source in snapshots and outputs; by default the file's name.
    **roles
        Columns with other roles: `key`, `time`, `weight`, `ignore`, ...; see `Roles`. All others are features.

    Raises
    ------
    SourceError
        If the file cannot be read, or is empty.
    SchemaError
        If a column is missing, or the types cannot be inferred.
    BadValue
        If `task` is another one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes import streams
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.csv")
    ...     _ = path.write_text("sky,wind,rain\ngrey,3.5,yes\nblue,1,no\n")
    ...     source = streams.from_csv(path, target="rain")
    ...     events = source.poll(10)
    ...     source.close()
    >>> [(event.x, event.y) for event in events]
    [({'sky': 'grey', 'wind': 3.5}, 'yes'), ({'sky': 'blue', 'wind': 1.0}, 'no')]
    """
    if task not in (None, *get_args(LearningTask)):
        raise BadValue(f"task: expected 'classification' or 'regression', got {shown(task)}")
    fields = Fields(target=target, **roles)
    form = guessed_format(
        path,
        delimiter=delimiter,
        decimal=decimal,
        thousands=thousands,
        encoding=encoding,
        missing=missing,
        header=header if columns is None else False,
        skip=skip,
        units=units,
        comment=comment,
        sheet=sheet,
        named=named_columns(fields, schema),
        follow=follow,
    )
    guesses = [*form.guesses]
    with closing(CSVSource(path, columns=columns, form=form, follow=follow)) as opened:
        guesses += opened.notes
        if not follow and "" in opened.columns and fields.is_feature("") and schema is None:
            fields = replace(fields, ignore=(*fields.ignore, ""))
            guesses.append("the column without a name is left out, as an index that pandas or R wrote")
    if misfits is None:
        misfits = "missing" if schema is None else "dead-letter"
    if schema is None and infer_types:
        if follow and not has_rows(path, fields, columns, form):
            raise SchemaError(
                f"{path} holds no row yet that shows which of its columns hold numbers: give a schema, or "
                "infer_types=False, or start once there are some"
            )
        # A file that grows is read alike whenever it is opened again: by its first rows alone.
        schema = inferred_schema(path, fields, FIRST_ROWS if follow else None, columns, form=form)
        if task is None and isinstance(target, str):
            labels = profile_of(path, [target], columns=columns, form=form)[target]
            if labels.is_measured:
                guesses = [
                    *guesses,
                    f"the column {target!r}, the target, has {labels.distinct:,} distinct numbers in the first "
                    f"{labels.values:,} rows; a classifier makes a class of each. BayesianRegression learns numbers: "
                    "task='regression'",
                ]
    for guess in guesses:
        logger.warning("%s: %s", path, guess)
    return CSVSource(
        path, fields, schema, columns=columns, form=form, misfits=misfits, name=name, follow=follow
    )


def from_file(
    path: str | os.PathLike[str],
    *,
    target: str | Sequence[str] | None = None,
    task: LearningTask | None = None,
    **roles: Unpack[Roles],
) -> Source:
    r"""Return a file as a source, by its suffix: CSV, JSON lines, ARFF, Parquet, Avro; plain or compressed.

    Parameters
    ----------
    path
        A name that ends in .csv, .tsv, .jsonl, .arff, .parquet, .avro, ..., optionally with .gz or .zst.
    target, task, **roles
        As of `from_csv`.

    Raises
    ------
    BadValue
        If the suffix is unknown.
    SourceError, SchemaError
        As of `from_csv`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes import streams
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.tsv")
    ...     _ = path.write_text("sky\train\ngrey\tyes\n")
    ...     source = streams.from_file(path, target="rain")
    ...     (event,) = source.poll(10)
    ...     source.close()
    >>> event.x, event.y
    ({'sky': 'grey'}, 'yes')
    """
    kind = format_of(path)
    if kind == "csv":
        return from_csv(path, target=target, task=task, **roles)
    if kind == "jsonl":
        return from_jsonl(path, target=target, **roles)
    fields, opener = Fields(target=target, **roles), TYPED_FILES[kind]
    return opener(
        path, fields, schema=inferred_typed_schema(fields, partial(_typed_rows, opener, path, fields))
    )


def _typed_rows(
    opener: Callable[..., TypedSource], path: str | os.PathLike[str], fields: Fields, schema: Schema | None
) -> TypedSource:
    return opener(path, fields, schema=schema)


def from_jsonl(
    path: str | os.PathLike[str],
    *,
    target: str | Sequence[str] | None = None,
    schema: Schema | None = None,
    infer_types: bool = True,
    follow: bool = False,
    name: str | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    **roles: Unpack[Roles],
) -> JSONLinesSource:
    r"""Return a file with a JSON object a line, or an array of them, as a source; plain or compressed.

    Parameters
    ----------
    path, target, schema, follow, name
        As of `from_csv`, with fields in place of columns.
    infer_types
        False to take each value as JSON has it where there is no schema. Otherwise the first rows decide which texts
        are amounts, dates or sentences, and are read as such, and whether `flatten` is on, as objects hold others; of a
        file that is followed, a warning names these texts.
    max_record_bytes
        Longer lines become dead letters.
    **roles
        As of `from_csv`.

    Raises
    ------
    SourceError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes import streams
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.jsonl")
    ...     _ = path.write_text('{"sky": "grey", "rain": true}\n')
    ...     source = streams.from_jsonl(path, target="rain")
    ...     (event,) = source.poll(10)
    ...     source.close()
    >>> event.x, event.y
    ({'sky': 'grey'}, True)
    """
    fields = Fields(target=target, **roles)
    decoder = JSONDecoder(fields, schema, max_record_bytes=max_record_bytes)
    if schema is None and infer_types:
        if follow or not Path(path).is_file():  # what it will hold is not there yet, or can be read once
            decoder.watch_texts(os.fspath(path))
        else:
            fields = reading_nested(path, fields)
            inferred = inferred_json_schema(path, fields)
            decoder = (
                JSONDecoder(fields, max_record_bytes=max_record_bytes)
                if inferred is None
                else InferredJSONDecoder(fields, inferred, max_record_bytes)
            )
    return JSONLinesSource(path, decoder, name=name, follow=follow)


def from_iterable(
    items: Iterable[Item] | Callable[[], Iterator[Item]],
    *,
    target: str | Sequence[str] | None = None,
    limit: int | None = None,
    name: str = "items",
    **roles: Unpack[Roles],
) -> IterableSource:
    """Return an iterable as a source: a list, a data set of River, a function that returns an iterator.

    Parameters
    ----------
    items
        Pairs (x, y), dicts, or events. To resume from a snapshot it must yield the same items again.
    target
        The field of a dict with the label.
    limit
        Maximum number of items to read.
    name
        Name of the source in snapshots and outputs.
    **roles
        As of `from_jsonl`: the fields of dicts. Pairs and events need none.

    Raises
    ------
    BadValue
        If this is not iterable.

    Examples
    --------
    >>> from stream_bayes import streams
    >>> source = streams.from_iterable([{"sky": "grey", "rain": True}], target="rain")
    >>> source.poll(1)[0].y
    True
    """
    fields = Fields(target=target, **roles)
    return IterableSource(items, name, limit, fields)


@contextmanager
def open_stream(
    stream: Streamable,
    target: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    task: LearningTask | None = None,
) -> Iterator[Source | Iterable[Any]]:
    """Yield a stream that learners can be evaluated on: a path is opened by its suffix, and closed afterwards.

    With a `target`, an iterable becomes a source, so that it may hold dicts. Anything else is yielded as it is. The
    `task` is as of `from_csv`.

    Raises
    ------
    BadValue
        If a path has an unknown suffix, or no target is given for it.
    """
    if isinstance(stream, (str, os.PathLike)):
        if target is None:
            raise BadValue(f"target: expected the name of the field of {stream} that holds the labels")
        with closing(from_file(stream, target=target, task=task, ignore=ignore)) as source:
            yield source
    elif target is None or hasattr(stream, "poll"):
        yield stream
    else:
        yield from_iterable(cast("Iterable[Item]", stream), target=target, ignore=ignore)
