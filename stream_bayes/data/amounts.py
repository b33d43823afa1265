"""Amounts: numbers as people write them, with currencies, percent signs, units, groups of thousands and parentheses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import ClassVar

from stream_bayes.core.values.values import JSONValue, Value, shown
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import Nominal, Numeric, Spec
from stream_bayes.errors import SchemaError

__all__ = [
    *("Amount", "WrittenNumber", "decimal_mark", "is_money", "is_number", "is_time", "known_unit", "number"),
    "written_number",
]

SYMBOLS = "$€£¥₹₽₩₺₪₫฿₴₦"
CODES = (
    *("USD", "EUR", "GBP", "JPY", "CNY", "RMB", "INR", "BRL", "RUB", "AUD", "CAD", "NZD", "HKD", "SGD"),
    *("CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "MXN", "ZAR", "KRW", "TRY", "ILS", "THB", "IDR"),
    *("US$", "A$", "AU$", "C$", "CA$", "NZ$", "HK$", "S$", "R$", "Rs", "kr", "zł", "Kč", "Fr"),
)
CURRENCIES = frozenset({*SYMBOLS, *(code.casefold() for code in CODES)})
SCALES = {
    "k": 1e3,
    "thousand": 1e3,
    "mn": 1e6,
    "mio": 1e6,
    "million": 1e6,
    "bn": 1e9,
    "billion": 1e9,
    "trillion": 1e12,
}
CAPITAL_SCALES = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
MONEY_SCALES = {"m": 1e6, "b": 1e9, "t": 1e12}  # behind a currency only: otherwise metres, bytes and tonnes

DAY = 86_400.0
# Units of one quantity, by their size in a common one. Months and years have their mean length.
QUANTITIES: tuple[Mapping[str, float], ...] = (
    {
        "mm": 1e-3,
        "cm": 1e-2,
        "m": 1.0,
        "km": 1e3,
        "mi": 1609.344,
        "mile": 1609.344,
        "miles": 1609.344,
        "in": 0.0254,
        "inch": 0.0254,
        "inches": 0.0254,
        '"': 0.0254,
        "ft": 0.3048,
        "feet": 0.3048,
        "foot": 0.3048,
        "yd": 0.9144,
    },
    {
        "mg": 1e-6,
        "g": 1e-3,
        "kg": 1.0,
        "kgs": 1.0,
        "t": 1e3,
        "lb": 0.45359237,
        "lbs": 0.45359237,
        "oz": 0.028349523125,
    },
    {
        "ms": 1e-3,
        "s": 1.0,
        "sec": 1.0,
        "secs": 1.0,
        "second": 1.0,
        "seconds": 1.0,
        "min": 60.0,
        "mins": 60.0,
        "minute": 60.0,
        "minutes": 60.0,
        "h": 3600.0,
        "hr": 3600.0,
        "hrs": 3600.0,
        "hour": 3600.0,
        "hours": 3600.0,
        "day": DAY,
        "days": DAY,
        "week": 7 * DAY,
        "weeks": 7 * DAY,
        "month": 30.436875 * DAY,
        "months": 30.436875 * DAY,
        "year": 365.2425 * DAY,
        "years": 365.2425 * DAY,
        "yr": 365.2425 * DAY,
        "yrs": 365.2425 * DAY,
    },
    {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    {"ml": 1e-3, "cl": 1e-2, "l": 1.0, "gal": 3.785411784},
    {
        "km/h": 1.0,
        "kmh": 1.0,
        "kph": 1.0,
        "mph": 1.609344,
        "m/s": 3.6,
        "ft/s": 1.09728,
        "knots": 1.852,
        "kt": 1.852,
        "kn": 1.852,
    },
    {
        "cm²": 1e-4,
        "m²": 1.0,
        "km²": 1e6,
        "ft²": 0.09290304,
        "ha": 1e4,
        "acre": 4046.8564224,
        "acres": 4046.8564224,
    },
)
DEGREES = ("°", "°c", "°f")  # no multiples of each other: their zeros differ
TIME = QUANTITIES[2]

PLAIN_LETTERS = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2007": " ", "\u2212": "-", "\u2013": "-", "’": "'"}
)
BEFORE = "|".join(re.escape(code) for code in sorted([*CODES, *SYMBOLS], key=len, reverse=True))
FORM = re.compile(
    rf"""
    (?P<about>[<>≤≥~≈]=?)?\s*
    (?P<sign>[+-]?)\s*
    (?P<before>(?i:(?:{BEFORE})\.?)?)\s*
    (?P<inner>[+-]?)
    (?P<open>\(?)\s*
    (?P<body>\d+(?:[ '.,]\d+)*|[.,]\d+)(?P<exponent>[eE][+-]?\d+)?
    (?P<more>\+?)(?P<close>\)?)(?P<last>-?)
    \s*
    (?P<after>(?:%|‰|"|[{SYMBOLS}]|°?[^\W\d_]{{1,12}}[.²³$]?(?:/[^\W\d_]{{1,8}}[²³]?)?|°|/[^\W\d_]{{1,8}})?)
    """,
    re.VERBOSE,
)
# A foot, a pound or an hour, and what is left of it: 6'3", 5 lb 3 oz, 2h 30m, 1 h 5 min 10 s.
HEIGHT = re.compile(
    r"(?P<feet>[1-9])\s*(?:'|′)\s*(?P<inches>\d|1[01])(?P<part>[.,]\d+)?\s*(?:\"|''|″|”|in\.?)?"
)
PART = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[^\W\d_]{1,7})\.?")
PARTS = re.compile(
    rf"(?:{PART.pattern.replace('?P<number>', '?:').replace('?P<unit>', '?:')}(?:\s*,?\s*(?:and\s+)?)){{2,4}}"
)
GROUPED = re.compile(r"[1-9]\d{0,2}(?:[ '.,]\d{2,3})*[ '.,]\d{3}")


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """The parts of a written number."""

    sign: float  # 1.0 or -1.0
    body: str  # the digits, with their marks
    exponent: str  # as in `e5`; empty if there is none
    scale: float  # 1000.0 of `5K`, 1.0 of most
    unit: str  # what stands around it, such as `$`, `%` or `kg`, without case; empty if nothing does
    about: str = ""  # mark of a bound or of a rounded number, as in `<2.5`, `~7` and `90+`

    def value(self, decimal: str) -> float:
        """Return the number by its decimal mark. Raise `ValueError` if its marks do not fit."""
        whole, mark, fraction = self.body.partition(decimal)
        if not whole.isdigit() and whole:
            marks = set(whole) - set("0123456789")
            if len(marks) > 1 or not GROUPED.fullmatch(whole):
                raise ValueError("not a number")
            whole = whole.replace(marks.pop(), "")
        if mark and not fraction.isdigit():
            raise ValueError("not a number")
        value = self.sign * self.scale * float(f"{whole or 0}.{fraction or 0}{self.exponent}")
        if not math.isfinite(value):
            raise ValueError("not a finite number")
        return value


def written_number(text: str) -> WrittenNumber | None:
    """Return the parts of a written number; None for any other text.

    Examples
    --------
    >>> written_number("($1,037.50)")
    WrittenNumber(sign=-1.0, body='1,037.50', exponent='', scale=1.0, unit='$', about='')
    >>> written_number("12 kg").unit, written_number("$2.5M").scale, written_number("12 Main St")
    ('kg', 1000000.0, None)
    >>> written_number("6'3").body, written_number("2h 30m").body, written_number("2h 30m").unit
    ('75', '150', 'min')
    """
    text = text.translate(PLAIN_LETTERS).strip()
    if text[:1].isdecimal() and (compound := _compound(text)) is not None:
        return compound
    in_parentheses = text.startswith("(") and text.endswith(")")
    match = FORM.fullmatch(text[1:-1].strip() if in_parentheses else text)
    if match is None or (match["open"] == "") is not (match["close"] == ""):
        return None
    negative = [bool(match["open"]) or in_parentheses, match["sign"] == "-", match["inner"] == "-"]
    negative.append(match["last"] == "-")
    if sum(negative) > 1 or (match["sign"] and match["inner"]) or _is_letter_code(match):
        return None
    before, after, scale = match["before"].casefold().rstrip("."), match["after"].rstrip("."), 1.0
    by_word = SCALES.get(after.casefold() if len(after) > 1 else after) or CAPITAL_SCALES.get(after)
    if before and by_word is None:
        by_word = MONEY_SCALES.get(after)
    if by_word is not None:
        scale, after = by_word, ""
    after = after.casefold()
    if before and after and not after.startswith("/"):
        if after not in CURRENCIES:
            return None
        after = ""  # as in $5 USD
    return WrittenNumber(
        -1.0 if any(negative) else 1.0,
        match["body"],
        match["exponent"] or "",
        scale,
        before + after,
        match["about"] or match["more"],
    )


def _is_letter_code(match: re.Match[str]) -> bool:
    """Return True for the digits of a code behind letters that are a currency's, too: FR-75, CHF01."""
    if not match["before"][-1:].isalpha() or not match["body"].isdecimal():
        return False
    is_joined = match.end("before") == match.start("inner") < match.end("inner") == match.start("body")
    return is_joined or match["body"][:1] == "0" != match["body"]


def _compound(text: str) -> WrittenNumber | None:
    """Return an amount of a unit and of parts of it, in the smallest one; None for any other text."""
    height = HEIGHT.fullmatch(text)
    if height is not None:
        inches = 12 * int(height["feet"]) + int(height["inches"])
        return WrittenNumber(1.0, f"{inches}{height['part'] or ''}", "", 1.0, '"')
    if PARTS.fullmatch(text) is None:
        return None
    parts = [(float(match["number"]), match["unit"].casefold()) for match in PART.finditer(text)]
    units = [unit for _, unit in parts]
    if any(unit in ("h", "hr", "hrs", "hour", "hours", "d", "day", "days") for unit in units):
        units = [{"m": "min", "d": "day"}.get(unit, unit) for unit in units]
    sizes = next(
        (
            [quantity[unit] for unit in units]
            for quantity in QUANTITIES
            if all(unit in quantity for unit in units)
        ),
        [],
    )
    if not sizes or any(before <= after for before, after in pairwise(sizes)):
        return None
    total = sum(number * size for (number, _), size in zip(parts, sizes, strict=True)) / sizes[-1]
    return WrittenNumber(1.0, f"{total:.12g}", "", 1.0, units[-1])


def number(text: str) -> float:
    """Return the number in a text, or raise `ValueError`.

    Examples
    --------
    >>> number("-1.5e3")
    -1500.0
    >>> number("1_000")  # a literal of Python, but of no other program
    Traceback (most recent call last):
    ValueError: not a number
    """
    if "_" not in text and text.isascii() and math.isfinite(value := float(text)):
        return value
    raise ValueError("not a number")


def is_number(text: str) -> bool:
    """Return True if a text is a finite number."""
    try:
        number(text)
    except ValueError:
        return False
    return True


def decimal_mark(bodies: Iterable[tuple[str, int]], likely: str = ".") -> tuple[str, bool]:
    """Return the decimal mark of numbers in a column, and whether it is sure. `bodies` are the digits with their marks,
    and the number of cells of each. `likely` is the mark if the column alone does not show it, as in 1,234.

    Examples
    --------
    >>> decimal_mark([("1,037.50", 1), ("12", 5)]), decimal_mark([("3,5", 1)]), decimal_mark([("1,234", 9)])
    (('.', True), (',', True), ('.', False))
    """
    votes = {".": 0, ",": 0}
    bare: list[str] = []
    ambiguous: set[str] = set()  # marks
    for body, count in bodies:
        if "." not in body and "," not in body:
            bare.append(body)
            continue
        whole, _, rest = body.partition(".")
        if (
            whole.isdecimal() and rest.isdecimal() and len(rest) != 3
        ):  # most numbers: the point groups no thousands
            votes["."] += count
            continue
        fitting = [mark for mark in votes if _fits(body, mark)]
        if len(fitting) == 1:
            votes[fitting[0]] += count
        elif fitting:
            ambiguous |= {mark for mark in votes if mark in body}
    if votes["."] != votes[","]:
        return max(votes, key=lambda mark: votes[mark]), True
    if votes["."]:
        return likely, False
    # 1,234 beside 950: numbers beyond 999 that have a decimal mark would also come without one.
    are_thousands = likely == "." and ambiguous == {","} and bare != [] and max(map(len, bare)) <= 3
    return likely, are_thousands or not ambiguous


def _fits(body: str, decimal: str) -> bool:
    try:
        WrittenNumber(1.0, body, "", 1.0, "").value(decimal)
    except ValueError:
        return False
    return True


def is_money(unit: str) -> bool:
    """Return True for a currency, or an amount of one for each of something."""
    return unit.partition("/")[0] in CURRENCIES


def is_time(unit: str) -> bool:
    """Return True for a unit of time."""
    return unit in TIME


def known_unit(unit: str) -> bool:
    """Return True for a currency, or a unit of a quantity that is converted."""
    return is_money(unit) or unit in DEGREES or any(unit in quantity for quantity in QUANTITIES)


def _factors(units: Sequence[str]) -> Mapping[str, float] | None:
    """Return the size of each unit in the first one; None if they are not of one quantity."""
    if len(units) < 2:
        return dict.fromkeys(units, 1.0)
    for quantity in QUANTITIES:
        if all(unit in quantity for unit in units):
            return {unit: quantity[unit] / quantity[units[0]] for unit in units}
    return None


@dataclass(frozen=True, slots=True)
class Amount(ColumnKind):
    """A column of numbers as people write them: `$1,037.50`, `5%`, `(11)`, `12 kg`, `1.234,5`, `2.5M`.

    With a unit of time it also reads `timedelta` objects.

    It becomes a numeric feature of its name. Percents stay as written: `5%` is 5. Parentheses and a minus at the end
    mean a negative number. A number without a unit has the first one. Units of one quantity, as kg and lb, are
    converted to the first, also those that are not listed; others, as two currencies, make a second feature,
    `NAME unit`, for the numbers cannot be compared without it.

    Parameters
    ----------
    units
        The units that may stand with a number. None at all: bare numbers.
    decimal
        Decimal mark, `"."` or `","`. The other one may group thousands, as blanks and `'` may.
    cuts
        As of a `Numeric`.

    Examples
    --------
    >>> Amount(["$"]).read("($1,037.50)"), Amount(["kg", "g"]).read("500 g"), Amount(decimal=",").read("1.234,5")
    ((-1037.5,), (0.5,), (1234.5,))
    >>> Amount(["$", "€"]).features("price")
    {'price': Numeric(), 'price unit': Nominal(('$', '€'))}
    """

    word: ClassVar[str] = "amount"

    units: Sequence[str] = ()
    decimal: str = "."
    cuts: Sequence[float] | None = None
    _factors: Mapping[str, float] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.units, str) or not all(isinstance(unit, str) and unit for unit in self.units):
            raise SchemaError(f'units: expected a list of texts such as ["kg"], got {shown(self.units)}')
        units = tuple(unit.casefold() for unit in self.units)
        if len(set(units)) < len(units):
            raise SchemaError(f"units: one is given twice, apart from case: {shown(self.units)}")
        if self.decimal not in (".", ","):
            raise SchemaError(f"decimal: expected '.' or ',', got {shown(self.decimal)}")
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "cuts", Numeric(self.cuts).cuts)
        object.__setattr__(self, "_factors", _factors(units))

    def features(self, column: str) -> dict[str, Spec]:
        made: dict[str, Spec] = {column: Numeric(self.cuts)}
        if self._factors is None:
            made[f"{column} unit"] = Nominal(self.units)
        return made

    def read(self, cell: object) -> tuple[Value | None, ...]:
        factors = self._factors
        if isinstance(cell, timedelta) and self.units and is_time(self.units[0]):
            return (cell.total_seconds() / TIME[self.units[0]],)
        if isinstance(cell, (int, float)) and not isinstance(cell, bool) and math.isfinite(cell):
            return (float(cell),) if factors is not None else (float(cell), None)
        parts = written_number(cell) if isinstance(cell, str) else None
        if parts is None:
            raise ValueError(self._expected())
        factor = 1.0
        if parts.unit and parts.unit not in self.units:
            converted = _factors((self.units[0], parts.unit)) if self.units and factors is not None else None
            if converted is None:
                raise ValueError(self._expected())
            factor = converted[parts.unit]
        try:
            value = parts.value(self.decimal)
        except ValueError:
            raise ValueError(self._expected()) from None
        if factors is None:
            return value, parts.unit or None
        return (value * factors.get(parts.unit, factor),)

    def _expected(self) -> str:
        units = f" in {' or '.join(self.units)}" if self.units else ""
        return f"a number{units}{' with a decimal comma' * (self.decimal == ',')}"

    def options(self) -> dict[str, JSONValue]:
        options: dict[str, JSONValue] = {}
        if self.units:
            options["units"] = list(self.units)
        if self.decimal != ".":
            options["decimal"] = self.decimal
        if self.cuts is not None:
            options["cuts"] = list(self.cuts)
        return options
