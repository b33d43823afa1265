"""Arguments on the command line: those written as NAME=VALUE, and times."""

from __future__ import annotations

import json
from typing import Any

from stream_bayes.errors import BadValue, Undecodable
from stream_bayes.streams.records.fields import Fields, seconds_from

__all__ = ["learner_arguments", "moment_from"]


def learner_arguments(given: list[str], option: str = "--arg") -> dict[str, Any]:
    """Return arguments by name, parsed from NAME=VALUE. A value is JSON; anything else is text.

    Examples
    --------
    >>> learner_arguments(["min_count=1", "prior=laplace", "schema_free=true"])
    {'min_count': 1, 'prior': 'laplace', 'schema_free': True}
    """
    arguments = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadValue(f"{option} {text}: expected name=value")
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments


def moment_from(text: str, option: str, others: str = "") -> float:
    """Return a time in seconds since 1970.

    Examples
    --------
    >>> moment_from("1970-01-02T00:00:00Z", "--from"), moment_from("86400", "--from")
    (86400.0, 86400.0)
    """
    try:
        seconds = seconds_from(_number(text), Fields(time=option))
    except Undecodable:
        seconds = None
    if seconds is None or seconds < 0:
        raise BadValue(
            f"{option} {text}: expected {others}seconds since 1970, or a time such as 2026-01-31T12:00:00Z"
        )
    return seconds


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
