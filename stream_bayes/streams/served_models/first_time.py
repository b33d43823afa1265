"""The first time of a model that fades or drops by time: one of the future would make all later samples old."""

from __future__ import annotations

import time

from stream_bayes.errors import TooFarAhead

__all__ = ["check_first_time"]


def check_first_time(at: float, max_skew: float | None) -> None:
    """Raise `TooFarAhead` for a first time that lies more than `max_skew` seconds after the present; None: no limit.

    Examples
    --------
    >>> check_first_time(1.7e9, 3600.0)
    >>> check_first_time(8.0e9, None)
    >>> check_first_time(8.0e9, 3600.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    stream_bayes.errors.TooFarAhead: its time, 8000000000 seconds, is more than max_skew=3600 after the present, ...
    """
    if max_skew is not None and at - time.time() > max_skew:
        raise TooFarAhead(
            f"its time, {at:.15g} seconds, is more than max_skew={max_skew:g} after the present, and no sample came "
            "before it: all later ones would count as old. Check the field and its time_unit; for a stream that lies "
            "ahead by design, set a larger max_skew"
        )
