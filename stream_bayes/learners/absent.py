"""What is said of features that a learner's arguments name, and that do not come."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from stream_bayes.core.values import Value
from stream_bayes.errors import NeverMet
from stream_bayes.suggestions import closest

__all__ = ["warn_of_absent"]


def warn_of_absent(what: str, absent: Sequence[Value], events: int, known: Sequence[Value]) -> None:
    """Warn of each name that no feature has had.

    Parameters
    ----------
    what
        What they are to be, as in a sentence.
    absent
        The names.
    events
        How many events there were.
    known
        The features that came.
    """
    there = [str(name) for name in known]
    for name in absent:
        warnings.warn(
            f"{what} {name!r} has not come in {events:,} events, and is left out until it does"
            f"{closest(str(name), there)} There are {', '.join(there)}",
            NeverMet,
            stacklevel=2,
        )
