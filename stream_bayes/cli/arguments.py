"""Arguments on the command line, written as NAME=VALUE."""

from __future__ import annotations

import json
from typing import Any

from stream_bayes.errors import BadValue

__all__ = ["learner_arguments"]


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
