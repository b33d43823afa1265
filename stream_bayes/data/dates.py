"""Dates and times of columns: written in any usual way, read as calendar features."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import pairwise
from typing import ClassVar

from stream_bayes.core.values.values import JSONValue, Value, is_missing, shown
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import Nominal, Numeric, Spec
from stream_bayes.errors import SchemaError

__all__ = [
    *("DATES_BY_TYPE", "LEAST_GAP", "PARTS", "Date", "Moment", "century_pivot", "date_order", "short_years"),
    *("widest_gap", "written_moment"),
]

ORDERS = ("ymd", "dmy", "mdy", "hm")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
LONG_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
EPOCH = date(1970, 1, 1).toordinal()
LEAST_GAP = 10  # years of two digits that none has, before they show where a century begins
PIVOT = 69  # years of two digits from here on are of the last century; POSIX has the same

CLOCK = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:[.,:]\d+)?))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
NAMED_ZONE = r"UTC|GMT|UT|[ECMP][SD]T|[CEW]ES?T|BST|IST|MSK|JST|AE[SD]T"
ZONE = rf"\s*(?:Z|{NAMED_ZONE}|[+-]\d{{2}}:?\d{{2}}|[+-]\d{{2}})?"
AFTER = rf"(?:(?:T|,?\s+(?:at\s+)?){CLOCK}{ZONE})?"
WEEKDAY = r"(?:(?i:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
MONTH = r"(?P<name>[A-Za-z]{3,9})\.?"
SHORT_MONTH = rf"{MONTH}(?:-|[-\s]+['\u2019])(?P<y>\d{{2}})"  # Sep-63
FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?P<y>\d{{4}})(?P<mark>[-/.])(?P<m>\d{{1,2}})(?P=mark)(?P<d>\d{{1,2}}){AFTER}",
        rf"(?P<a>\d{{1,2}})(?P<mark>[-/.])(?P<b>\d{{1,2}})(?P=mark)(?P<y>\d{{4}}|\d{{2}}){AFTER}",
        rf"{WEEKDAY}{MONTH}\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+|,)(?P<y>\d{{4}}){AFTER}",
        rf"{WEEKDAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[-\s]?{MONTH}[-,\s]+(?P<y>\d{{4}}|\d{{2}}){AFTER}",
        rf"{MONTH}[-,\s]+(?P<y>\d{{4}})",
        r"(?P<y>\d{4})-(?P<m>\d{2})",
        r"(?P<y>(?:19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})",
        rf"(?:T|)(?P<clock>){CLOCK}(?:\s*(?:Z|{NAMED_ZONE})|\s*[+-]\d{{4}})?",  # 12:30-13:30 are hours
        rf"{CLOCK},?\s+{WEEKDAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[-\s]?{MONTH}[-,\s]+(?P<y>\d{{4}})",
        rf"{CLOCK},?\s+(?P<y>\d{{4}})(?P<mark>[-/.])(?P<m>\d{{1,2}})(?P=mark)(?P<d>\d{{1,2}})",
        rf"(?P<y>\d{{4}}),?\s+{MONTH}",
        # Months and quarters. Not "2011/12", which is a season, nor "12-Sep", which may be a day.
        SHORT_MONTH,
        r"(?P<m>\d{1,2})[-/](?P<y>(?:1[6-9]|2[01])\d{2})",
        r"(?P<y>\d{4})[-\s]?M(?P<m>\d{2})",
        r"(?P<y>\d{4})[-:\s]?Q(?P<q>[1-4])",
        r"Q(?P<q>[1-4])[-\s/]*(?P<y>\d{4})",
        # Those of logs: of C, of web servers, without marks, of DB2.
        rf"{WEEKDAY}{MONTH}\s+(?P<d>\d{{1,2}})\s+{CLOCK}{ZONE}\s+(?P<y>\d{{4}})",
        rf"\[?(?P<d>\d{{1,2}})/{MONTH}/(?P<y>\d{{4}})[:\s]{CLOCK}{ZONE}\]?",
        rf"(?P<y>(?:19|20)\d{{2}})(?P<m>\d{{2}})(?P<d>\d{{2}})[-T_\s]{CLOCK}{ZONE}",
        rf"(?P<y>(?:19|20)\d{{2}})(?P<m>\d{{2}})(?P<d>\d{{2}})[-T_](?P<H>\d{{2}})(?P<M>\d{{2}})(?P<S>\d{{2}}){ZONE}",
        r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})-(?P<H>\d{2})\.(?P<M>\d{2})\.(?P<S>\d{2}(?:\.\d+)?)",
    )
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a time of day, or both, as written; offsets from UTC do not change them."""

    day: date | None  # None for a time alone
    hours: float | None  # since midnight; None for a date alone


def written_moment(text: str, order: str = "ymd", pivot: int = PIVOT) -> Moment | None:
    """Return the moment that a text means; None if it is none. `order` is `"dmy"` or `"mdy"` for dates such as
    3/4/2021; without one of these, such a text is none. With `"hm"`, up to four digits are hours and minutes. `pivot`
    is the first year of two digits that is of the last century.

    Examples
    --------
    >>> written_moment("2021-03-04T12:30Z"), written_moment("3/4/2021", "dmy"), written_moment("3/4/2021")
    (Moment(day=datetime.date(2021, 3, 4), hours=12.5), Moment(day=datetime.date(2021, 4, 3), hours=None), None)
    >>> written_moment("4 March 2021"), written_moment("31.2.2021", "dmy"), written_moment("3:45 PM").hours
    (Moment(day=datetime.date(2021, 3, 4), hours=None), None, 15.75)
    >>> written_moment("0930", "hm").hours, written_moment("0930")
    (9.5, None)
    """
    text = text.strip()
    if order == "hm" and text.isdecimal() and len(text) <= 4:
        text = f"{text.zfill(4)[:2]}:{text[-2:].zfill(2)}"
    for form in FORMS:
        match = form.fullmatch(text)
        if match is None:
            continue
        parts = match.groupdict()
        try:
            return Moment(_day(parts, order, pivot), _hours(parts))
        except ValueError:
            return None
    return None


def _day(parts: dict[str, str | None], order: str, pivot: int) -> date | None:
    if parts.get("clock") is not None:
        return None
    year = int(parts["y"] or 0)
    if len(parts["y"] or "") == 2:
        year += 1900 if year >= pivot else 2000
    if parts.get("a"):
        if order == "ymd":
            raise ValueError("the order is not known")
        first, second = int(parts["a"] or 0), int(parts["b"] or 0)
        return date(year, second, first) if order == "dmy" else date(year, first, second)
    name = parts.get("name")
    quarter = int(parts.get("q") or 0)
    if quarter:
        return date(year, 3 * quarter - 2, 1)
    month = int(parts.get("m") or 0) if name is None else _month(name)
    return date(year, month, int(parts.get("d") or 1))


def _month(name: str) -> int:
    low = name.lower()
    for number, month in enumerate(LONG_MONTHS, 1):
        if low == month or low == month[:3] or (low == "sept" and number == 9):
            return number
    raise ValueError("not a month")


def _hours(parts: dict[str, str | None]) -> float | None:
    if not parts.get("H"):
        return None
    hour, minute, second = int(parts["H"] or 0), int(parts["M"] or 0), _seconds(parts["S"] or "0")
    half = (parts.get("half") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("not an hour")
        hour = hour % 12 + 12 * half.startswith("p")
    if hour > 24 or minute > 59 or second >= 61 or (hour == 24 and minute):
        raise ValueError("not a time")
    return hour % 24 + minute / 60 + second / 3600


def _seconds(text: str) -> float:
    """Return seconds, whatever stands before their fraction."""
    return float(text.replace(",", ".").replace(":", "."))


def short_years(texts: Sequence[str]) -> list[int]:
    """Return the years of two digits in a column, ascending."""
    forms = (*FORMS[1:4:2], re.compile(SHORT_MONTH))
    matches = [match for text in texts for form in forms if (match := form.fullmatch(text.strip()))]
    return sorted({int(match["y"]) for match in matches if len(match["y"]) == 2})


def century_pivot(texts: Sequence[str]) -> int:
    """Return the first year of two digits in a column that is of the last century.

    It lies in the widest gap between its years: 69 if that is in the gap or no gap is wide, otherwise its middle.

    Examples
    --------
    >>> century_pivot(["6/17/47", "7/1/72", "7/1/99", "6/30/16"]), century_pivot(["1/1/98", "1/1/21"])
    (32, 69)
    """
    years = short_years(texts)
    if not years:
        return PIVOT
    gap, before, after = widest_gap(years)
    if gap < LEAST_GAP or before < PIVOT <= after or before < PIVOT + 100 <= after:
        return PIVOT
    return (before + after + 1) // 2 % 100


def widest_gap(years: Sequence[int]) -> tuple[int, int, int]:
    """Return the length and the ends of the widest gap between years of two digits, around the century."""
    return max((after - before, before, after) for before, after in pairwise([*years, years[0] + 100]))


def date_order(texts: Sequence[str]) -> tuple[str, str]:
    """Return the order of day, month and year in a column, and what cannot be known or is mixed; empty if nothing.
    `texts` are the cells, in the order of the rows.

    Examples
    --------
    >>> date_order(["13/1/2021", "2/1/2021"]), date_order(["2021-01-02"])
    (('dmy', ''), ('ymd', ''))
    >>> date_order(["Sep-12", "Oct-12"])[1]
    'no number is above 31, so whether a month and a year or a month and a day cannot be known; read as a year'
    >>> date_order(["1/2/2021"])
    ('mdy', 'no day is above 12, so whether day or month comes first cannot be known; read as month first')
    """
    pairs, mark = [], ""
    for text in texts:
        match = FORMS[1].fullmatch(text.strip())
        if match is not None:
            pairs.append((int(match["a"]), int(match["b"])))
            mark = mark or match["mark"]
    if not pairs:
        short = [int(match["y"]) for text in texts if (match := re.fullmatch(SHORT_MONTH, text.strip()))]
        if short and max(short) <= 31:
            return (
                "ymd",
                "no number is above 31, so whether a month and a year or a month and a day cannot be known; "
                "read as a year",
            )
        return "ymd", ""
    day_first = sum(first > 12 for first, _ in pairs)
    month_first = sum(second > 12 for _, second in pairs)
    if day_first and month_first:
        order = "dmy" if day_first > month_first else "mdy"
        others = min(day_first, month_first)
        read = "day" if order == "dmy" else "month"
        return order, f"dates of mixed order: {others:,} cannot have the {read} first, as the others have"
    if day_first or month_first:
        return ("dmy" if day_first else "mdy"), ""
    order = "mdy" if mark == "/" else "dmy"
    read = "day" if order == "dmy" else "month"
    return (
        order,
        f"no day is above 12, so whether day or month comes first cannot be known; read as {read} first",
    )


def _cycle(
    position: Callable[[Moment], float | None], length: float
) -> Callable[[Moment], tuple[Value | None, ...]]:
    def values(moment: Moment) -> tuple[Value | None, ...]:
        at = position(moment)
        if at is None:
            return None, None
        angle = 2 * math.pi * at / length
        return math.sin(angle), math.cos(angle)

    return values


def _month_of(moment: Moment) -> float | None:
    return None if moment.day is None else moment.day.month - 1.0


def _weekday_of(moment: Moment) -> float | None:
    return None if moment.day is None else float(moment.day.weekday())


def _date_of(moment: Moment) -> tuple[Value | None, ...]:
    return (None if moment.day is None else moment.day.toordinal() - EPOCH + (moment.hours or 0.0) / 24,)


def _named(
    position: Callable[[Moment], float | None], names: Sequence[str]
) -> Callable[[Moment], tuple[Value | None]]:
    def value(moment: Moment) -> tuple[Value | None]:
        at = position(moment)
        return (None if at is None else names[int(at)],)

    return value


CYCLE: dict[str, Spec] = {" sin": Numeric(), " cos": Numeric()}
# The features of each part, by what follows the column's name, and their values.
PARTS: dict[str, tuple[dict[str, Spec], Callable[[Moment], tuple[Value | None, ...]]]] = {
    "date": ({"": Numeric()}, _date_of),
    "month": ({" month": Nominal(MONTHS)}, _named(_month_of, MONTHS)),
    "day": ({" day": Numeric()}, lambda moment: (None if moment.day is None else float(moment.day.day),)),
    "weekday": ({" weekday": Nominal(WEEKDAYS)}, _named(_weekday_of, WEEKDAYS)),
    "hour": ({" hour": Numeric()}, lambda moment: (moment.hours,)),
    "month cycle": ({f" month{end}": spec for end, spec in CYCLE.items()}, _cycle(_month_of, 12)),
    "weekday cycle": ({f" weekday{end}": spec for end, spec in CYCLE.items()}, _cycle(_weekday_of, 7)),
    "hour cycle": (
        {f" hour{end}": spec for end, spec in CYCLE.items()},
        _cycle(lambda moment: moment.hours, 24),
    ),
}
USUAL = ("date", "month", "day", "weekday", "hour")


@dataclass(frozen=True, slots=True)
class Date(ColumnKind):
    """A column of dates, times of day, or both, in any usual writing; also `datetime` objects. It becomes features.

    They are as written: an offset from UTC does not change the hour.

    Parameters
    ----------
    order
        Order in dates such as 3/4/2021: `"dmy"` or `"mdy"`; with `"ymd"` the year comes first, or a month has its name.
        `"hm"` is for times of the day such as 0930.
    parts
        The features: `"date"` (days since 1970, under the column's name), `"month"` and `"weekday"` (names), `"day"`,
        `"hour"` (numbers), and `"month cycle"`, `"weekday cycle"`, `"hour cycle"`: sine and cosine, in which December
        is next to January.
    pivot
        First year of two digits that is of the last century: by default 69 is 1969, and 68 is 2068.

    Examples
    --------
    >>> joined = Date("dmy", ["date", "month", "weekday"])
    >>> joined.features("joined").keys()
    dict_keys(['joined', 'joined month', 'joined weekday'])
    >>> joined.read("31.12.2021")
    (18992.0, 'Dec', 'Fri')
    """

    word: ClassVar[str] = "date"

    order: str = "ymd"
    parts: Sequence[str] = USUAL
    pivot: int = PIVOT

    def __post_init__(self) -> None:
        if type(self.pivot) is not int or not 0 <= self.pivot <= 100:
            raise SchemaError(f"pivot: expected a year of two digits, got {shown(self.pivot)}")
        if self.order not in ORDERS:
            raise SchemaError(f"order: expected {', '.join(ORDERS)}, got {shown(self.order)}")
        if isinstance(self.parts, str) or not self.parts or not all(part in PARTS for part in self.parts):
            raise SchemaError(f"parts: expected a list of {', '.join(PARTS)}, got {shown(self.parts)}")
        object.__setattr__(self, "parts", tuple(dict.fromkeys(self.parts)))

    def features(self, column: str) -> dict[str, Spec]:
        return {column + end: spec for part in self.parts for end, spec in PARTS[part][0].items()}

    def read(self, cell: object) -> tuple[Value | None, ...]:
        moment = self._moment(cell)
        if moment is None:
            order = {"dmy": " with the day first", "mdy": " with the month first"}.get(self.order, "")
            raise ValueError(f"a date or time{order}")
        return tuple(value for part in self.parts for value in PARTS[part][1](moment))

    def _moment(self, cell: object) -> Moment | None:
        if isinstance(cell, str):
            return written_moment(cell, self.order, self.pivot)
        if isinstance(cell, datetime):
            return Moment(cell.date(), _hours_of(cell.time()))
        if isinstance(cell, date):
            return Moment(cell, None)
        return Moment(None, _hours_of(cell)) if isinstance(cell, time) else None

    def text(self, values: Sequence[object]) -> str:
        """Return the moment that `read` made these values of, as far as they tell.

        Examples
        --------
        >>> date = Date("dmy")
        >>> date.text(date.read("31.12.2021 9:30")), date.text(date.read("31.12.2021"))
        ('2021-12-31 09:30', '2021-12-31')
        >>> Date(parts=["weekday", "hour"]).text(["Fri", 9.5])
        'Fri 09:30'
        """
        ends = [(part, end) for part in self.parts for end in PARTS[part][0]]
        told = {end: value for (_, end), value in zip(ends, values, strict=True) if not is_missing(value)}
        days, hours = told.pop("", None), told.pop(" hour", None)
        words = [str(value) for value in told.values()]
        if isinstance(days, (int, float)):
            words = [date.fromordinal(EPOCH + math.floor(days)).isoformat()]
            hours = 24.0 * (days % 1.0) if hours is None and days % 1.0 else hours
        if isinstance(hours, (int, float)):
            minutes = round(60.0 * hours)
            words.append(f"{minutes // 60 % 24:02}:{minutes % 60:02}")
        return " ".join(words)

    def options(self) -> dict[str, JSONValue]:
        options: dict[str, JSONValue] = {} if self.order == "ymd" else {"order": self.order}
        if self.parts != USUAL:
            options["parts"] = list(self.parts)
        if self.pivot != PIVOT:
            options["pivot"] = self.pivot
        return options


# Values that are moments by their type, as features.
DATES_BY_TYPE: Mapping[type, Date] = {
    datetime: Date(),
    date: Date(parts=["date", "month", "day", "weekday"]),
    time: Date(parts=["hour"]),
}


def _hours_of(clock: time) -> float:
    return clock.hour + clock.minute / 60 + (clock.second + clock.microsecond / 1e6) / 3600
