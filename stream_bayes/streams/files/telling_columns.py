"""Columns read by what they tell about the label: whole numbers as names, and whether a cell is missing.

Each row is predicted before it is learned.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeAlias

from stream_bayes.core.events.event import Event
from stream_bayes.data.amounts import Amount
from stream_bayes.data.codes import Code
from stream_bayes.data.kind_inference import InferredKind
from stream_bayes.data.prequential_gain import PrequentialGain
from stream_bayes.data.schema import Schema
from stream_bayes.streams.contracts.source import Record, Source, records_of
from stream_bayes.streams.files.code_columns import code_kind
from stream_bayes.streams.files.column_profile import ColumnProfile
from stream_bayes.streams.records.fields import Fields

__all__ = [
    *(
        "EXAMINED_ROWS",
        "MANY_LABELS",
        "RowsOpener",
        "decide_codes",
        "labels_of",
        "number_of",
        "telling_blanks",
    ),
    *("with_telling_blanks",),
]

EXAMINED_ROWS = 200_000  # of a file, for what its values tell, and for fields that come after its first rows
BLANK_ROWS = 5_000  # of a file, for what its missing cells tell
MANY_LABELS = 50  # distinct numbers: more than this are measurements rather than classes
CODE_INTERVALS, LABEL_INTERVALS = 8, 4  # of numbers, to compare codes as names with codes as numbers

# Opens the rows of a table anew, read by a schema, or as they are.
RowsOpener: TypeAlias = "Callable[[Schema | None], Source]"


def decide_codes(
    profiles: Mapping[str, ColumnProfile],
    fields: Fields,
    open_rows: RowsOpener,
    decided: Collection[str] = (),
    most_rows: int = EXAMINED_ROWS,
) -> None:
    """Make codes of the features whose name or whose column of names shows it. Where there is a target, they must
    predict it as names not worse than as numbers, over the first `most_rows`. Those that are `decided` stay as they
    are.
    """
    codes = {
        name: kind
        for name, profile in profiles.items()
        if fields.is_feature(name) and name not in decided and (kind := code_kind(profile)) is not None
    }
    if codes and fields.target is not None:
        with closing(open_rows(None)) as rows:
            codes = _telling_codes(records_of(rows, most_rows), codes, profiles, fields)
    for name, kind in codes.items():
        profiles[name].kind = kind


def _telling_codes(
    records: Iterable[Record],
    codes: Mapping[str, InferredKind],
    profiles: Mapping[str, ColumnProfile],
    fields: Fields,
) -> dict[str, InferredKind]:
    """Return the columns of codes that predict the label as names not worse than as numbers, of which intervals with
    equally many values stand for the numbers. Labels that are measurements count by intervals, too.
    """
    read = {name: _interval_reader(profiles[name], CODE_INTERVALS) for name in codes}
    targets = fields.all_targets
    read_label = [
        _interval_reader(each, LABEL_INTERVALS)
        if (each := profiles.get(name)) is not None and each.is_numeric and each.distinct > MANY_LABELS
        else None
        for name in targets
    ]
    gains = {name: [(PrequentialGain(), PrequentialGain()) for _ in targets] for name in codes}
    for record in records:
        if not isinstance(record, Event):
            continue
        labels = [
            label if label is None or interval is None else interval(label)
            for label, interval in zip(labels_of(record, fields), read_label, strict=True)
        ]
        for name, kind in codes.items():
            if (value := record.x.get(name)) is None or (number := read[name](value)) is None:
                continue
            assert isinstance(kind.column, Code)
            code = kind.column.read(value)
            for (as_name, as_number), label in zip(gains[name], labels, strict=True):
                as_name.add(code, label)
                as_number.add(number, label)
    return {
        name: kind
        for name, kind in codes.items()
        if max(each.gain for each, _ in gains[name]) >= max(each.gain for _, each in gains[name])
    }


def labels_of(event: Event, fields: Fields) -> Sequence[Any]:
    """Return the label of each target."""
    if not fields.targets:
        return [event.y]
    return [None] * len(fields.targets) if event.y is None else [event.y[name] for name in fields.targets]


def _interval_reader(profile: ColumnProfile, intervals: int) -> Callable[[object], int | None]:
    """Return the function from a value to its interval among those with equally many values of a column; None for a
    value that is no number.
    """
    numbers = profile.kind.numbers
    ordered = sorted(number for text, number in numbers.items() for _ in range(profile.counts[text]))
    cuts = sorted({ordered[len(ordered) * part // intervals] for part in range(1, intervals)})

    def interval(value: object) -> int | None:
        number = numbers.get(str(value).strip())
        if number is None:
            number = number_of(value, Amount())
        return None if number is None else bisect_right(cuts, number)

    return interval


def number_of(label: object, amount: Amount) -> float | None:
    """Return a label as a number, as the column is written; None if it is none."""
    try:
        number = amount.read(label)[0]
    except ValueError:
        return None
    return float(number) if isinstance(number, (int, float)) else None


def with_telling_blanks(
    schema: Schema,
    profiles: Mapping[str, ColumnProfile],
    fields: Fields,
    open_rows: RowsOpener,
    most_rows: int = BLANK_ROWS,
) -> Schema:
    """Return the schema in which it is a feature that a cell is missing, where that tells something about the label."""
    blanks = telling_blanks(schema, profiles, fields, open_rows, most_rows)
    return Schema(schema.columns, schema.classes, schema.target, schema.unknown, [*blanks])


def telling_blanks(
    schema: Schema,
    profiles: Mapping[str, ColumnProfile],
    fields: Fields,
    open_rows: RowsOpener,
    most_rows: int = BLANK_ROWS,
) -> dict[str, PrequentialGain]:
    """Return the columns of which it tells something about the label whether their cell is missing; none without a
    target. Of columns that are missing together, one is enough.
    """
    names = [name for name in schema.columns if name in profiles and profiles[name].missing]
    if fields.target is None or not names:
        return {}
    with closing(open_rows(schema)) as source:
        rows = [record for record in records_of(source, most_rows) if isinstance(record, Event)]
    telling: dict[str, PrequentialGain] = {}
    patterns: set[bytes] = set()
    for name in names:
        feature = schema.features_of[name][0]
        pattern = bytes(event.x.get(feature) is None for event in rows)
        gains = [PrequentialGain() for _ in fields.all_targets]
        for event, is_missing in zip(rows, pattern, strict=True):
            for each, label in zip(gains, labels_of(event, fields), strict=True):
                each.add(is_missing, label)
        gain = max(gains, key=lambda each: each.gain)
        if gain.tells and pattern not in patterns:
            patterns.add(pattern)
            telling[name] = gain
    return telling
