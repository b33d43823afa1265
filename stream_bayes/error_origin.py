"""Bugs of this package, among the errors that models of others may raise."""

from __future__ import annotations

import sys

from stream_bayes.errors import StreamBayesError

__all__ = ["is_bug"]

_PACKAGE = __name__.partition(".")[0]
# Libraries that raise what the code that calls them has done wrong.
_CALLED = frozenset({"numpy", "scipy", *sys.stdlib_module_names})


def is_bug(error: BaseException) -> bool:
    """Return True if code of this package raised an error that is none of its own: it must be seen.

    A model of River, or of a user, may raise anything for an event that it cannot take. That is a fact about the event.
    What counts is the innermost code, libraries such as numpy left out.

    Examples
    --------
    >>> from stream_bayes.errors import BadValue
    >>> is_bug(BadValue("expected a number, got text")), is_bug(KeyError("raised nowhere"))
    (False, False)
    """
    if isinstance(error, StreamBayesError):
        return False
    origin, trace = "", error.__traceback__
    while trace is not None:
        package = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        origin = origin if package in _CALLED else package
        trace = trace.tb_next
    return origin == _PACKAGE
