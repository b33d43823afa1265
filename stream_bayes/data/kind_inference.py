"""Inference of the kind of a column from the texts in its cells, with the reason."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from stream_bayes.core.values.values import shown
from stream_bayes.data.amounts import (
    Amount,
    WrittenNumber,
    decimal_mark,
    is_money,
    is_time,
    known_unit,
    number,
    written_number,
)
from stream_bayes.data.codes import Code, common_width
from stream_bayes.data.coordinates import Coordinates, written_coordinates
from stream_bayes.data.dates import (
    LEAST_GAP,
    Date,
    Moment,
    century_pivot,
    date_order,
    short_years,
    widest_gap,
    written_moment,
)
from stream_bayes.data.declarations import ColumnDeclaration
from stream_bayes.data.features import Nominal, Numeric
from stream_bayes.data.ranges import are_open, range_order
from stream_bayes.data.texts import WIDE, Text, frequent_words, words_of

__all__ = ["LEAST_SHARE", "InferredKind", "inferred_kind", "marked_alike", "sure_mark", "typed_kind"]

LEAST_SHARE = 0.9  # of the cells with a value are of the kind; the others count as missing
LEAST_DAYS = 5  # different ones, before numbers of eight digits are dates
EXAMINED = 20  # texts, before a column cannot be one of dates
LEAST_UNIT_SHARE = 0.01  # of the numbers have a unit; rarer ones are misfits
SHOWN_MISFITS = 3
UNIT = ""  # of a number without one
DECIMAL = re.compile(r"-?\d*\.\d+")  # with one point: no date, whatever its order
LEAST_LETTERS, MOST_UNITS = 2, 5  # 10A and 12B are codes; so are numbers before many different words
LEAST_TEXTS, LEAST_DIFFERENT = 20, 1 / 3  # cells, and the share of different ones, of a column of text
WORDS, MANY_WORDS = 4.0, 8.0  # a cell, on average: of texts, and of texts that may repeat more often
MOST_WORDS_FOR_NONE, LEAST_WORD_COUNT = 2, 2  # different words among numbers, and cells of each
LEAST_NUMBERS_A_WORD = 10  # different ones
LEAST_CASE = 10  # words that begin with a letter, before capitals mean names
LEAST_LENGTHS, LEAST_LENGTH_SHARE = 3, 0.005  # of numbers that are filled up with zeros, without these
LEAST_FILLED = 2  # zeros that all of them have
LEAST_CODE_WIDTH = 4  # digits
LEAST_COUNTS = 3  # different numbers from 0 or 1 on, half of which are there, such as those of rooms
MOST_COUNTS = 12  # different numbers with a bound among them, such as 0, 1, 2 and 3+, that may be ranges
LEAST_DIFFERENT_NUMBERS = 10  # before a column that is mostly numbers is told from one of codes
LEAST_NUMBERS_IN_TEXT = 3  # different ones
LEAST_FREQUENT = 10  # words that many cells hold, or these are no texts to learn from
# A year with a month, and perhaps a day; 00 stands for one that is not known. Days since 1900 are dates already.
DAY_OR_MONTH = re.compile(r"\s*(?:1[5-9]|20)\d\d(?P<month>0\d|1[0-2])(?:[0-2]\d|3[01])?\s*")
DECADE = re.compile(r"\s*(?:1\d|20)\d0\s?s\s*")  # no seconds
CLOCK = re.compile(
    r"\s*(\d{1,18}):[0-5]\d(?P<seconds>:[0-5]\d(?:\.\d+)?)?\s*"
)  # a time of the day, or a duration
NINES = re.compile(r"\s*(?:-9{1,6}|9{3,6})(?:\.0+)?\s*")  # written where no value is
LEAST_CODES = 3  # cells
# Digits such as 0930 are times of the day, if enough differ, by their hours and by their minutes too.
LEAST_TIMES, LEAST_HOURS, LEAST_MINUTES = 20, 5, 10
SECONDS = (850e6, 2.2e9)  # since 1970, of moments between 1996 and 2039
GROUPED_BY_POINT = re.compile(r"[1-9]\d{0,2}\.\d{3}")
LIST_OF_NUMBERS = re.compile(r"\s*\d+(?:\s*[,;/|]\s*\d+)+\s*")
SHARE_IN_BRACKETS = re.compile(r"\s*\(\s*\d+(?:[.,]\d+)?\s*%\s*\)\s*")
NUMBER_IN_TEXT = re.compile(
    r"(?<![^\s(])[+-]?\d+(?:[.,]\d+)*(?![^\s)'′])"
)  # on its own, not as in A12 or 2nd
WIDE_LETTER = re.compile(f"[{WIDE}]")
FLAGS = (
    *({"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"}, {"on", "off"}, {"0", "1"}, {"0.0", "1.0"}),
    # in other languages
    *({"si", "no"}, {"sí", "no"}, {"sì", "no"}, {"oui", "non"}, {"ja", "nein"}, {"ja", "nee"}, {"ja", "nej"}),
    *({"ja", "nei"}, {"sim", "não"}, {"sim", "nao"}, {"tak", "nie"}, {"да", "нет"}, {"evet", "hayır"}),
    *({"wahr", "falsch"}, {"vrai", "faux"}, {"vero", "falso"}, {"verdadero", "falso"}, {"是", "否"}),
    {"はい", "いいえ"},
)
LEAST_SHARE_OF_TEXTS = 0.1  # of the cells are different, before names of many words may be texts


@dataclass(frozen=True)
class InferredKind:
    """The kind of a column, as its cells show it."""

    # number, money, percent, duration, date, time, coordinates, text, range, flag, constant, category, code, empty
    word: str
    column: ColumnDeclaration  # the declaration for a schema
    reason: str  # what showed it, with counts
    numbers: Mapping[str, float]  # the number in each text that is one; empty for names
    # the number of cells that are not of the kind, and the first texts of these
    misfits: tuple[int, Sequence[str]] = (0, ())
    warnings: Sequence[str] = ()  # what cannot be known, or should be looked at
    doubt: str = ""  # what the column may be instead, such as "numbers?"


def inferred_kind(texts: Counter[str], decimal: str = ".", likely: str | None = None) -> InferredKind:
    """Return the kind of a column. `texts` has the number of cells of each text, without missing ones. `decimal` is the
    mark of numbers that are declared numeric in this file; `likely` the one where the column alone does not show it, by
    the other columns; None for `decimal`.

    Examples
    --------
    >>> kind = inferred_kind(Counter(["$1,200", "$35.50"]))
    >>> kind.word, kind.column, kind.reason
    ('money', Amount(units=('$',), decimal='.', cuts=None), 'all with $')
    >>> inferred_kind(Counter(["red", "blue"])).word
    'category'
    """
    if not texts:
        return InferredKind("empty", Nominal(), "no value", {})
    grouped = "" if likely == "." else _grouped_by_points(texts, likely)
    return _special(
        _clock_digits(texts)
        or _date(texts)
        or (_grouped(texts, grouped, likely) if grouped else _number(texts, decimal))
        or _coordinates(texts)
        or (_range(texts) if are_open(texts) else None)
        or _beside_words(texts, decimal, likely)
        or _amount(texts, decimal, likely)
        or _text(texts)
        or _range(texts)
        or _category(texts),
        texts,
    )


def typed_kind(texts: Counter[str], numbers: Mapping[str, float], likely: str | None = None) -> InferredKind:
    """Return the kind of a column whose values have a type, from their texts and the number in each that is one.

    Texts are read as cells are, but whole numbers that are texts by their type stay names.

    Examples
    --------
    >>> typed_kind(Counter(["$1,200", "0"]), {"0": 0.0}).column
    Amount(units=('$',), decimal='.', cuts=None)
    >>> typed_kind(Counter(["80331", "10115"]), {}).reason
    'whole numbers that are texts by their type'
    """
    if not texts:
        return InferredKind("empty", Nominal(), "no value", {})
    if _enough(numbers, texts):
        reason = _share(numbers, texts, "numbers by their type")
        return _special(InferredKind("number", Numeric(), reason, numbers, _misfits(numbers, texts)), texts)
    kind = inferred_kind(texts, ".", likely)
    if not isinstance(kind.column, Numeric):
        return kind
    if not numbers and all(map(str.isdecimal, texts)):
        reason = "whole numbers that are texts by their type"
        doubt = "numbers?" if len(texts) >= LEAST_DIFFERENT_NUMBERS and not _has_codes(texts) else ""
        return _special(InferredKind("category", Nominal(), reason, {}, doubt=doubt), texts)
    return replace(kind, column=Amount())  # reads numbers, and the texts that are some


def _special(kind: InferredKind, texts: Counter[str]) -> InferredKind:
    """Return a kind with the word for columns of one value, or of two that mean yes and no."""
    if len(texts) == 1:
        return replace(kind, word="constant", reason=f"one value in {texts.total():,} rows", doubt="")
    if kind.word in ("number", "category") and {text.strip().casefold() for text in texts} in FLAGS:
        return replace(kind, word="flag", reason=f"{' and '.join(texts)}")
    return kind


def _number(texts: Counter[str], decimal: str) -> InferredKind | None:
    """Return the kind of a column of plain numbers; None if it holds other things, or numbers that are written."""
    numbers: dict[str, float] = {}
    for text in texts:
        try:
            numbers[text] = number(text)
        except ValueError:
            continue
    is_padded = _is_padded(texts)
    if not _enough(numbers, texts) or (_has_codes(numbers) and not is_padded):
        return None
    if len(numbers) < len(texts) and any(written_number(text) for text in texts if text not in numbers):
        return None
    if decimal == "," and any("." in text for text in numbers):
        return None  # a numeric column of this file has no points
    doubt, warnings = "", []
    if _may_be_days(numbers):
        doubt = "dates?"
        warnings.append(
            f"{next(iter(numbers))} and all others may be a year, a month and a day; read as numbers, whose distances "
            "are not those of dates; write them as 1994-05-01"
        )
    elif all(text.strip().isdecimal() for text in numbers) and _are_clock_digits(numbers):
        doubt = "times?"
        warnings.append(
            f"{max(numbers, key=len)} and all others may be hours and minutes; read as numbers, in which 959 and 1000 "
            'are far apart; declare them as { kind = "date", order = "hm", parts = ["hour"] }, or write 09:59'
        )
    elif _may_be_seconds(numbers):
        doubt = "dates?"
        warnings.append(
            f"{next(iter(numbers))} and all others may be seconds since 1970; read as numbers, which have no hours and "
            "weekdays; write them as 2020-07-02 11:40"
        )
    if is_padded:
        example = next(filter(_is_code, texts))
        warnings.append(
            f"{example} and the like are read as numbers that are filled up with zeros, for all have two and more, and "
            "their lengths without them differ; if they are codes: --nominal"
        )
    lists = [text for text in texts if text not in numbers and LIST_OF_NUMBERS.fullmatch(text)]
    if lists:
        doubt = "names?"
        warnings.append(
            f"{lists[0]!r} and the like hold several numbers, and count as missing; as names: --nominal"
        )
    warnings += _codes_for_missing(numbers, texts)
    reason = _share(numbers, texts, "numbers")
    return InferredKind("number", Numeric(), reason, numbers, _misfits(numbers, texts), warnings, doubt)


def _coordinates(texts: Counter[str]) -> InferredKind | None:
    """Return the kind of a column of latitudes and longitudes; None if it holds other things."""
    positions = {text: 0 for text in texts if written_coordinates(text) is not None}
    if not _enough(positions, texts):
        return None
    reason = _share(positions, texts, "latitudes and longitudes")
    return InferredKind("coordinates", Coordinates(), reason, {}, _misfits(positions, texts))


def _is_padded(texts: Counter[str]) -> bool:
    """Return True for amounts that zeros fill up to one width, as files of fixed columns have them. Codes use the whole
    of their width, or nearly so.
    """
    digits = {text: count for text, count in texts.items() if text.strip().isdecimal()}
    widths = {len(text.strip()) for text in digits}
    if len(widths) != 1 or not _enough(digits, texts):
        return False
    lengths = Counter[int]()
    for text, count in digits.items():
        lengths[len(text.strip().lstrip("0"))] += count
    least = LEAST_LENGTH_SHARE * lengths.total()
    frequent = sum(count >= least for length, count in lengths.items() if length)
    return max(lengths) <= max(widths) - LEAST_FILLED and frequent >= LEAST_LENGTHS


def _padded_or_codes(texts: Counter[str]) -> list[str]:
    """Return a warning of digits with leading zeros that may be numbers: short ones, or ones of several widths."""
    digits = {text for text in texts if text.strip().isdecimal()}
    widths = {len(text.strip()) for text in digits}
    are_short = max(widths, default=LEAST_CODE_WIDTH) < LEAST_CODE_WIDTH
    numbers = {int(text) for text in digits} if are_short else {0}
    may_be_counts = len(numbers) >= LEAST_COUNTS and min(numbers) <= 1 and max(numbers) < 2 * len(numbers)
    may_be = may_be_counts or (len(digits) >= LEAST_DIFFERENT_NUMBERS and (are_short or len(widths) > 1))
    if (
        not _has_codes(texts)
        or not may_be
        or len(texts) == texts.total()
        or not _enough(dict.fromkeys(digits), texts)
    ):
        return []
    example = shown(next(filter(_is_code, texts)))
    return [
        f"digits with leading zeros, such as {example}, are names, as codes are; if they are numbers: --numeric"
    ]


def _grouped_by_points(texts: Counter[str], likely: str | None) -> str:
    """Return the first of numbers whose point groups thousands: 1.230 beside 950; empty if it may be a decimal mark.

    Numbers with decimals have any number of them, and no 0 at the end where whole ones have no point.
    """
    bodies = {text: text.strip().lstrip("+-") for text in texts}
    pointed = [text for text, body in bodies.items() if "." in body]
    whole = [body for body in bodies.values() if body.isdecimal()]
    if not pointed or not all(GROUPED_BY_POINT.fullmatch(bodies[text]) for text in pointed):
        return ""
    is_shown = whole and max(map(len, whole)) <= 3 and any(text.strip().endswith("0") for text in pointed)
    return pointed[0] if likely == "," or is_shown else ""


def _grouped(texts: Counter[str], example: str, likely: str | None) -> InferredKind | None:
    """Return the kind of a column of numbers whose points group thousands; None if too few of the texts are numbers."""
    kind = _amount(texts, ",", ",")
    if kind is None or likely == ",":  # as the other columns have it
        return kind
    warning = (
        f"{example!r} is read as {kind.numbers[example]:g}: the points group thousands, for none of the numbers beyond "
        "999 is without one; if it is a decimal mark: decimal = '.'"
    )
    return replace(kind, warnings=[*kind.warnings, warning])


def _codes_for_missing(numbers: Mapping[str, float], texts: Counter[str]) -> list[str]:
    """Return a warning of numbers such as -999 that recur far from all others, as they do where no value is."""
    codes = [text for text in numbers if NINES.fullmatch(text)]
    others = [value for text, value in numbers.items() if text not in codes]
    if len(others) < LEAST_DIFFERENT_NUMBERS:
        return []
    low, high = min(others), max(others)
    far = [
        text
        for text in codes
        if texts[text] >= LEAST_CODES and not low - (high - low) <= numbers[text] <= high + (high - low)
    ]
    if not far:
        return []
    listed = " and ".join(f"{text} ({texts[text]:,} cells)" for text in far)
    return [
        f"{listed}, far from the other numbers ({low:g} to {high:g}), may stand for missing values: then make these "
        "cells blank, or give --missing for each of the file's markers"
    ]


def _may_be_days(numbers: Mapping[str, float]) -> bool:
    """Return True if all numbers may be years with a month, and few of them are round numbers such as 180000."""
    matches = [DAY_OR_MONTH.fullmatch(text) for text in numbers]
    months = [match["month"] for match in matches if match is not None]
    return (
        len(numbers) >= LEAST_DIFFERENT_NUMBERS
        and len(months) == len(numbers)
        and months.count("00") * 2 < len(months)
    )


def _may_be_seconds(numbers: Mapping[str, float]) -> bool:
    """Return True if all numbers may be moments, as seconds or milliseconds since 1970."""
    low, high = min(numbers.values()), max(numbers.values())
    return len(numbers) >= LEAST_DIFFERENT_NUMBERS and any(
        SECONDS[0] <= low / unit and high / unit <= SECONDS[1] for unit in (1.0, 1e3)
    )


def _beside_words(texts: Counter[str], decimal: str, likely: str | None) -> InferredKind | None:
    """Return the kind of a column of numbers, amounts or dates in which a word stands for one that is not there,
    however often it does: None, `Still in office`, `Undisclosed`; None if there are many words, or few others.
    """
    others = [text for text in texts if written_number(text) is None and not _may_be_date(text)]
    count = sum(texts[text] for text in others)
    if (
        not 1 <= len(others) <= MOST_WORDS_FOR_NONE
        or any(map(str.isdigit, "".join(others)))
        or count < LEAST_WORD_COUNT * len(others)
        or len(texts) - len(others) < max(LEAST_DIFFERENT_NUMBERS, LEAST_NUMBERS_A_WORD * len(others))
    ):
        return None
    rest = Counter({text: count for text, count in texts.items() if text not in others})
    kind = _date(rest) or _number(rest, decimal) or _amount(rest, decimal, likely)
    if kind is None or not isinstance(kind.column, (Date, Numeric, Amount)):
        return None
    named = "date" if isinstance(kind.column, Date) else "number"
    listed = " and ".join(map(shown, others))
    warning = f"{count:,} of {texts.total():,} values are {listed}, which is no {named} and counts as missing"
    misfits = count + kind.misfits[0]
    reason = kind.reason.removeprefix("all ") if kind.reason.startswith("all ") else f"{named}s"
    return replace(
        kind,
        reason=f"{texts.total() - misfits:,} of {texts.total():,} {reason}",
        misfits=(misfits, [*others, *kind.misfits[1]][:SHOWN_MISFITS]),
        warnings=[*kind.warnings, warning],
    )


def _date(texts: Counter[str]) -> InferredKind | None:
    """Return the kind of a column of dates or times; None if it holds other things, or years and months alone."""
    if not any(map(_may_be_date, islice(texts, EXAMINED))):
        return None
    order, warning = date_order([*texts])
    pivot = century_pivot([*texts])
    moments = _readable(texts, order, pivot)
    if not _enough(moments, texts):
        return _mixed_dates(texts, pivot)
    days = {moment.day for moment in moments.values() if moment.day is not None}
    hours = {moment.hours for moment in moments.values()} - {None, 0.0}
    if days and all(text.strip().isdecimal() for text in moments) and len(days) < LEAST_DAYS:
        return None  # a few numbers of eight digits
    parts = ["date"] * bool(days)
    if len({day.month for day in days}) > 1:
        parts.append("month")
    if len({day.day for day in days}) > 1:  # otherwise these are months, whose first days mean nothing
        parts += ["day", "weekday"]
    if hours:
        parts.append("hour")
    if not parts:
        return None
    named = "dates" if not hours else "dates and times" if days else "times of the day"
    named += {"dmy": ", day first", "mdy": ", month first"}.get(order, "")
    warnings = [warning] * bool(warning)
    if short := short_years([*moments]):
        years = sorted(day.year for day in days)
        named += f", years {years[0]} to {years[-1]}"
        if widest_gap(short)[0] < LEAST_GAP:
            warnings.append(
                f"years of two digits fill the century, so those of the last one cannot be known; those from {pivot} "
                f"on are read as 19{pivot:02}; if that is wrong, declare another pivot"
            )
    doubt = ""
    if not days and _may_be_durations(moments):
        doubt = "duration?"
        warnings.append(
            f"{next(iter(moments))} is read as a time of the day, but no hour is above 11; if these are durations "
            "in minutes or hours, their feature is right but for its unit"
        )
    return InferredKind(
        "date" if days else "time",
        Date(order, parts, pivot),
        _share(moments, texts, named),
        {},
        _misfits(moments, texts),
        warnings,
        doubt,
    )


def _clock_digits(texts: Counter[str]) -> InferredKind | None:
    """Return the kind of a column of times of the day in four digits, such as 0930; None if it holds other things."""
    if len(texts) < LEAST_TIMES or not _has_codes(texts) or any(len(text.strip()) != 4 for text in texts):
        return None
    if not _are_clock_digits(texts):
        return None
    reason = "all times of the day, as 0930"
    return InferredKind("time", Date("hm", ["hour"]), reason, {})


def _are_clock_digits(texts: Iterable[str]) -> bool:
    """Return True if digits may all be hours and minutes, and enough of these differ."""
    if any(len(text.strip()) > 4 or text.strip()[-2:].zfill(2) >= "60" for text in texts):
        return False  # as of nearly all other numbers
    moments = [written_moment(text, "hm") for text in texts]
    hours = [moment.hours for moment in moments if moment is not None and moment.hours is not None]
    return (
        len(hours) == len(moments) >= LEAST_TIMES
        and len({int(hour) for hour in hours}) >= LEAST_HOURS
        and len({round(hour % 1 * 60) for hour in hours}) >= LEAST_MINUTES
    )


def _may_be_durations(moments: Mapping[str, Moment]) -> bool:
    """Return True for times such as 3:38 and 02:09:19, all before noon and without a leading zero or with seconds."""
    matches = [match for text in moments if (match := CLOCK.fullmatch(text)) is not None]
    return len(matches) == len(moments) and all(
        int(match[1]) < 12 and (match["seconds"] is not None or match[1] == "0" or match[1][0] != "0")
        for match in matches
    )


def _mixed_dates(texts: Counter[str], pivot: int) -> InferredKind | None:
    """Return names with a warning for a column of dates that has no order; None if it is none of dates."""
    first = {order: _readable(texts, order, pivot) for order in ("dmy", "mdy")}
    if not _enough(first["dmy"] | first["mdy"], texts):
        return None
    only = {
        order: sum(texts[text] for text in first[order].keys() - first[other].keys())
        for order, other in (("dmy", "mdy"), ("mdy", "dmy"))
    }
    if not all(only.values()):
        return None
    warning = (
        f"dates of mixed order: {only['dmy']:,} must have the day first and {only['mdy']:,} the month, so the others "
        "cannot be known; read as names; write them as 2021-03-04"
    )
    return InferredKind("category", Nominal(), "dates of mixed order", {}, warnings=[warning], doubt="dates?")


def _readable(texts: Counter[str], order: str, pivot: int) -> dict[str, Moment]:
    return {text: moment for text in texts if (moment := written_moment(text, order, pivot)) is not None}


def _may_be_date(text: str) -> bool:
    if DECIMAL.fullmatch(text) or not any(map(str.isdigit, text)):
        return False
    return any(mark in text for mark in "-/.: QM") or (len(text.strip()) == 8 and text.strip().isdecimal())


def _amount(texts: Counter[str], decimal: str, likely: str | None) -> InferredKind | None:
    """Return the kind of a column of written numbers, such as amounts of money; None if it holds other things."""
    parts = {text: part for text in texts if (part := written_number(text)) is not None}
    units = _units(parts, texts) if _enough(parts, texts) else None
    if units is None:
        return None
    mark, is_sure = _mark(parts, texts, likely or decimal)
    column = Amount(units, mark)
    numbers = _readable_numbers(parts, column)
    if not _enough(numbers, texts) or (not units and _has_codes(numbers)):
        return None
    bounds = {(parts[text].about[:1], value) for text, value in numbers.items()}
    if any(("<", value) in bounds and (">", value) in bounds for value in numbers.values()):
        return None  # <20 and >20 would be one number
    are_decades = units == ["s"] and all(DECADE.fullmatch(text) for text, part in parts.items() if part.unit)
    has_sure_mark = is_sure or likely is not None
    warnings = [
        *([] if has_sure_mark else _unsure_mark(numbers, parts, mark)),
        *_differing_units(column, parts, texts),
        *([] if are_decades else _numbers_without_unit(numbers, units, parts, texts)),
        *_bounds(numbers, parts, texts),
    ]
    named = f"with {', '.join(units)}" if units else "numbers"
    if mark == ",":
        named += ", decimal comma"
    has_bound = any(parts[text].about for text in numbers)
    return InferredKind(
        "number" if are_decades else _word(units),
        column,
        _share(numbers, texts, "years and decades" if are_decades else named),
        numbers,
        _misfits(numbers, texts),
        warnings,
        "range?" if has_bound and len(texts) <= MOST_COUNTS else "",
    )


def _readable_numbers(texts: Iterable[str], column: Amount) -> dict[str, float]:
    """Return the number in each text of which it is one, by the units and the mark of the column."""
    numbers: dict[str, float] = {}
    for text in texts:
        try:
            value = column.read(text)[0]
        except ValueError:
            continue
        assert isinstance(value, float)
        numbers[text] = value
    return numbers


def _unsure_mark(numbers: Mapping[str, float], parts: Mapping[str, WrittenNumber], mark: str) -> list[str]:
    """Return a warning of numbers whose mark may be a decimal mark or group thousands."""
    example = next(text for text, part in parts.items() if "," in part.body or "." in part.body)
    return [
        f"{example!r} is read as {numbers[example]:g}: the column does not show whether its mark is a decimal "
        f"mark or groups thousands; if it is the other: decimal = {'.' if mark == ',' else ','!r}"
    ]


def _differing_units(column: Amount, parts: Mapping[str, WrittenNumber], texts: Counter[str]) -> list[str]:
    """Return a warning of units that differ: whether they are converted, or a feature of their own."""
    if len(column.units) < 2:
        return []
    counts = _counts_of_units(parts, texts)
    listed = ", ".join(f"{unit} {counts[unit]:,}" for unit in column.units)
    is_converted = len(column.features("")) == 1
    return [
        f"units differ ({listed}): "
        + (
            f"all are converted to {column.units[0]}"
            if is_converted
            else "the unit is a feature of its own, for these numbers cannot be compared"
        )
    ]


def _numbers_without_unit(
    numbers: Mapping[str, float],
    units: Sequence[str],
    parts: Mapping[str, WrittenNumber],
    texts: Counter[str],
) -> list[str]:
    """Return a warning of numbers without the unit that the others have."""
    if not units:
        return []
    bare = sum(texts[text] for text, value in numbers.items() if value and not parts[text].unit)
    if all(unit in ("%", "‰") for unit in units):
        return [
            f"{bare:,} numbers have no {units[0]} and are taken as written: 0.5 as 0.5 {units[0]}"
        ] * bool(bare)
    count = _counts_of_units(parts, texts)[UNIT]
    if not count or all(map(is_money, units)):
        return []
    return [f"{count:,} numbers have no unit and are taken as {units[0]}"]


def _counts_of_units(parts: Mapping[str, WrittenNumber], texts: Counter[str]) -> Counter[str]:
    """Return the number of cells of each unit."""
    counts = Counter[str]()
    for text, part in parts.items():
        counts[part.unit] += texts[text]
    return counts


def _bounds(
    numbers: Mapping[str, float], parts: Mapping[str, WrittenNumber], texts: Counter[str]
) -> list[str]:
    """Return a warning of numbers such as <2.5 and 90+, which are read as the number beside their mark."""
    bounds = [text for text in numbers if parts[text].about]
    if not bounds:
        return []
    count = sum(texts[text] for text in bounds)
    listed = ", ".join(map(shown, bounds[:SHOWN_MISFITS]))
    return [
        f"{count:,} of {texts.total():,} numbers are bounds or rounded ({listed}) and are read without their mark"
    ]


def marked_alike(column: Amount, texts: Counter[str]) -> Amount:
    """Return an amount with the decimal mark of another file's column, where its texts show it for sure.

    Examples
    --------
    >>> marked_alike(Amount(decimal=","), Counter(["45.5"])), marked_alike(Amount(decimal=","), Counter(["1.234"]))
    (Amount(units=(), decimal='.', cuts=None), Amount(units=(), decimal=',', cuts=None))
    """
    parts = {text: part for text in texts if (part := written_number(text)) is not None}
    return replace(column, decimal=_mark(parts, texts, column.decimal)[0])


def sure_mark(texts: Counter[str]) -> str | None:
    """Return the decimal mark of a column of numbers, where it has marks that show it for sure; otherwise None."""
    if not any("." in text or "," in text for text in texts):
        return None
    parts = {text: part for text in texts if (part := written_number(text)) is not None}
    if not _enough(parts, texts) or not any("." in part.body or "," in part.body for part in parts.values()):
        return None
    mark, is_sure = _mark(parts, texts, ".")
    return mark if is_sure else None


def _mark(parts: Mapping[str, WrittenNumber], texts: Counter[str], likely: str) -> tuple[str, bool]:
    return decimal_mark(((part.body, texts[text]) for text, part in parts.items()), likely)


def _units(parts: Mapping[str, WrittenNumber], texts: Counter[str]) -> list[str] | None:
    """Return the units of a column, the most frequent first; None if these are no units, but parts of names."""
    counts = _counts_of_units(parts, texts)
    total = counts.total()
    units = [
        unit
        for unit, count in counts.most_common()
        if unit and count >= max(LEAST_UNIT_SHARE * total, 2 if total > 10 else 1)
    ]
    strange = [unit for unit in units if not known_unit(unit) and unit not in ("%", "‰")]
    # 10A, 12B and 7 are names. 23.4 kmpl and 18 kmpl are numbers, and only if all have this unit.
    if strange and (len(units) > 1 or counts[UNIT] > (1 - LEAST_SHARE) * total):
        return None
    return units


def _text(texts: Counter[str]) -> InferredKind | None:
    """Return the kind of a column of running text; None for names."""
    total = texts.total()
    words, parts = _words_a_cell(texts)
    share = LEAST_SHARE_OF_TEXTS if words >= MANY_WORDS else LEAST_DIFFERENT
    if min(words, parts) < WORDS or len(texts) < share * total:
        return None
    frequent = frequent_words(texts)
    if len(frequent) < LEAST_FREQUENT:
        return None
    reason = f"{words:.0f} words on average, {len(texts):,} of {total:,} different"
    return InferredKind("text", Text(frequent), reason, {}, doubt="names?" if _has_capitals(texts) else "")


def _words_a_cell(texts: Counter[str]) -> tuple[float, float]:
    """Return the number of words of a cell, and of its parts between blanks, on average; 0 for few texts."""
    if len(texts) < LEAST_TEXTS:
        return 0.0, 0.0
    words = sum(len(words_of(text)) * count for text, count in texts.items())
    # A code such as 37F-PM-1014-03 and an address of the web have words, but not between blanks.
    parts = sum(_parts(text) * count for text, count in texts.items())
    return words / texts.total(), parts / texts.total()


def _parts(text: str) -> float:
    """Return the number of parts between blanks; no bound for scripts that are written without them."""
    return math.inf if WIDE_LETTER.search(text) else len(text.split())


def _has_capitals(texts: Counter[str]) -> bool:
    """Return True if most words begin with a capital, as those of names and addresses do."""
    initials = [word[0] for text in texts for word in text.split() if word[0].isupper() or word[0].islower()]
    return len(initials) >= LEAST_CASE and sum(map(str.isupper, initials)) * 2 > len(initials)


def _range(texts: Counter[str]) -> InferredKind | None:
    """Return the kind of a column of ranges such as 10-19, whose names are declared in ascending order."""
    order = range_order(texts)
    if not order:
        return None
    column = Nominal(order)
    return InferredKind("range", column, f"{order[0]} < {order[1]} < ... < {order[-1]}", {})


def _category(texts: Counter[str]) -> InferredKind:
    reason = f"not {LEAST_SHARE:.0%} of another kind"
    if _has_codes(texts):
        reason = f"codes with leading zeros, {next(filter(_is_code, texts))}"
    if durations := _long_durations(texts):
        return InferredKind("category", Nominal(), reason, {}, warnings=durations, doubt="durations?")
    warnings = [
        *_unread_units(texts),
        *_mostly_numbers(texts),
        *_numbers_in_text(texts),
        *_padded_or_codes(texts),
    ]
    doubt = "numbers?" if warnings else ""
    is_varied = len(texts) >= LEAST_SHARE_OF_TEXTS * texts.total()
    if not doubt and is_varied and min(_words_a_cell(texts)) >= WORDS and not _has_capitals(texts):
        doubt = "text?"
    width = common_width(texts)
    column = Code(width) if width else Nominal()
    return InferredKind("category", column, reason, {}, warnings=warnings, doubt=doubt)


def _long_durations(texts: Counter[str]) -> list[str]:
    """Return a warning of durations such as 72:15, which are no times of the day."""
    durations = {text: 0 for text in texts if CLOCK.fullmatch(text)}
    if not _enough(durations, texts):
        return []
    longest = max(durations, key=lambda text: int(text.partition(":")[0]))
    return [
        f"{longest} is no time of the day, so each text is a name; write durations as a number of one unit"
    ]


def _numbers_in_text(texts: Counter[str]) -> list[str]:
    """Return a warning of numbers that stay names because the same words, or a share in brackets, stand beside each."""
    numbers: dict[str, set[str]] = {}
    counts = Counter[str]()
    for text, count in texts.items():
        match = [*NUMBER_IN_TEXT.finditer(SHARE_IN_BRACKETS.sub("", text))]
        if len(match) == 1 and any(each.isalpha() or each in "%'′" for each in text):
            around = text[: match[0].start()] + "#" + SHARE_IN_BRACKETS.sub(" (#%)", text[match[0].end() :])
            numbers.setdefault(around, set()).add(match[0][0])
            counts[around] += count
    if not counts:
        return []
    around, count = counts.most_common(1)[0]
    if count < LEAST_SHARE * texts.total() or len(numbers[around]) < LEAST_NUMBERS_IN_TEXT:
        return []
    return [
        f"the texts are numbers in {shown(around)}: each is a name; write the number alone to have it as one"
    ]


def _mostly_numbers(texts: Counter[str]) -> list[str]:
    """Return a warning of numbers that stay names because too many other texts stand among them."""
    numbers = {text for text in texts if _is_amount(text)}
    others = [text for text in texts if text not in numbers]
    count, total = sum(texts[text] for text in numbers), texts.total()
    if not 0.5 * total <= count < LEAST_SHARE * total or _has_codes(texts):
        return []
    # A few numbers among words such as `thirty`; but 1, 2 and 3A are codes.
    if len(numbers) < LEAST_DIFFERENT_NUMBERS and any(map(str.isdigit, "".join(others))):
        return []
    other = others[0]
    return [
        f"{count:,} of {total:,} values are numbers, others are not, such as {shown(other)}, so each is a name; if "
        "those may count as missing, declare it numeric, on the command line by --numeric"
    ]


def _is_number(text: str) -> bool:
    """Return True for the text of a number that is no code."""
    try:
        number(text)
    except ValueError:
        return False
    return not _is_code(text)


def _is_amount(text: str) -> bool:
    """Return True for a number, also with a unit that is known."""
    part = written_number(text)
    return part is not None and (not part.unit or known_unit(part.unit) or part.unit in ("%", "‰"))


def _unread_units(texts: Counter[str]) -> list[str]:
    """Return a warning of numbers that stay names because they have several units, of which some are not converted."""
    parts = {text: part for text in texts if (part := written_number(text)) is not None}
    if not _enough(parts, texts):
        return []
    counts = _counts_of_units(parts, texts)
    is_code = min(map(len, counts)) < LEAST_LETTERS
    if is_code or not 1 < len(counts) <= MOST_UNITS or counts.total() < LEAST_TEXTS:
        return []
    listed = ", ".join(f"{unit} {count:,}" for unit, count in counts.most_common())
    return [
        f"numbers of units that are not converted ({listed}): each text is a name; make one column for each unit"
    ]


def _word(units: Sequence[str]) -> str:
    if units and all(map(is_money, units)):
        return "money"
    if units and all(unit in ("%", "‰") for unit in units):
        return "percent"
    return "duration" if units and all(map(is_time, units)) else "number"


def _is_code(text: str) -> bool:
    text = text.strip()
    return len(text) > 1 and text.startswith("0") and text.isdecimal()


def _has_codes(texts: Mapping[str, object]) -> bool:
    """Return True for digits of which some have leading zeros; 00 beside 5 and 120 is no code, but the number 0."""
    codes = [*filter(_is_code, texts)]
    if any(code.strip("0 ") for code in codes):
        return True
    shortest = min((len(text.strip()) for text in texts if text.strip().isdecimal()), default=0)
    return any(len(code.strip()) <= shortest for code in codes)


def _enough(fitting: Mapping[str, object], texts: Counter[str]) -> bool:
    """Return True if nearly all texts fit, apart from marks such as - or ** that stand for a missing value."""
    count = sum(texts[text] for text in fitting)
    if not count:
        return False
    marks = sum(texts[text] for text in texts if text not in fitting and not any(map(str.isalnum, text)))
    return count >= LEAST_SHARE * (texts.total() - marks)


def _share(fitting: Mapping[str, object], texts: Counter[str], named: str) -> str:
    count, total = sum(texts[text] for text in fitting), texts.total()
    return f"all {named}" if count == total else f"{count:,} of {total:,} {named}"


def _misfits(fitting: Mapping[str, object], texts: Counter[str]) -> tuple[int, Sequence[str]]:
    others = [text for text in texts if text not in fitting]
    return sum(texts[text] for text in others), others[:SHOWN_MISFITS]
