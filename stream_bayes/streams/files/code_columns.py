"""Columns of whole numbers that are, or may be, codes of names, as a region has a number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from stream_bayes.data.codes import Code
from stream_bayes.data.features import Numeric
from stream_bayes.data.kind_inference import InferredKind
from stream_bayes.streams.files.column_profile import YEARS, ColumnProfile

__all__ = ["code_kind", "find_numbered_names", "may_be_codes"]

KEY_NAME = re.compile(
    r"(.*[_\- .])?(?i:[pgtu]?id|idx|uuid|guid|key|code|zcta|cik)|.*(?i:zip|zip_?code|post_?code|fips)|"
    "(.*[a-z](ID|Id|Key|Code|Zip|ZipCode))",
    re.DOTALL,
)
PROCESS_ID = re.compile(r"(?i:[pgtu]id)")
FEW_NUMBERS = 12  # distinct whole numbers; more are not codes
MOST_ALIKE = 8  # columns of names, of as many values, that are compared with one of numbers
MOST_MISTAKES = 0.01  # of rows in which a name has another number
MOST_ROWS_OF_A_GROUP = 20  # on average, of numbers without a gap that are codes


def may_be_codes(profile: ColumnProfile) -> bool:
    """Return True for a numeric column that may be one of names.

    These are a few whole numbers, or two of any kind; one number for each name of another column; numbers from 1 on
    without a gap, of groups of rows; or any under the name of a key.
    """
    is_number = profile.kind.word not in ("flag", "constant") and isinstance(profile.kind.column, Numeric)
    if not is_number or profile.distinct < 2:
        return False
    recur = profile.values >= 5 * profile.distinct
    if not profile.is_whole:
        return recur and profile.distinct == 2
    few = recur and profile.distinct <= FEW_NUMBERS
    return few or profile.numbers_column is not None or _numbers_groups(profile) or _is_key(profile)


def code_kind(profile: ColumnProfile) -> InferredKind | None:
    """Return the kind of codes for a column of whole numbers whose name or whose column of names shows it; else None.

    Years under the name of a key stay numbers, and so do a few numbers without a gap under a name such as PID, which
    may be the answers of a scale.
    """
    if not may_be_codes(profile) or not profile.is_whole or not isinstance(profile.kind.column, Numeric):
        return None
    numbers = {*profile.kind.numbers.values()}
    reason = f"one for each {profile.numbers_column}"
    if profile.numbers_column is None:
        are_years = all(number in YEARS for number in numbers)
        is_scale = len(numbers) == profile.highest - profile.lowest + 1 <= FEW_NUMBERS
        if not _is_key(profile) or are_years or (is_scale and PROCESS_ID.fullmatch(profile.name.strip())):
            return None
        reason = "whole numbers under the name of a key"
    misfits, others = profile.kind.misfits
    said = f", {misfits:,} others, such as {others[0]}" if misfits else ""
    return InferredKind("code", Code(), reason + said, {})


def _is_key(profile: ColumnProfile) -> bool:
    return KEY_NAME.fullmatch(profile.name.strip()) is not None and not profile.is_id


def _numbers_groups(profile: ColumnProfile) -> bool:
    """Return True for 1 to n, or 0 to n, each in two rows or more, and in few: amounts that are so few have gaps."""
    return (
        profile.distinct > FEW_NUMBERS
        and profile.lowest in (0.0, 1.0)
        and profile.highest - profile.lowest + 1 == profile.distinct
        and min(profile.counts.values()) > 1
        and profile.values <= MOST_ROWS_OF_A_GROUP * profile.distinct
    )


def find_numbered_names(profiles: Mapping[str, ColumnProfile], rows: Sequence[Mapping[str, object]]) -> None:
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
