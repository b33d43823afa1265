"""Numbers as departures from their recent mean: the loops over an event's features."""

from __future__ import annotations

import sys

import cython
from cython.cimports.libc.math import copysign, fabs, sqrt

from stream_bayes.core.values.values import is_missing

FARTHEST = cython.declare(cython.double, 1e9)  # standard deviations: a number that never changed before
LARGEST = cython.declare(cython.double, sys.float_info.max)
TREND = "(trend) "


@cython.ccall
def is_number(value: object) -> cython.bint:
    """Return True for a finite int or float; a bool is nominal, and an int beyond all floats is no number."""
    if type(value) is float:
        return fabs(value) <= LARGEST
    return type(value) is int and -LARGEST <= value <= LARGEST


def add_numbers(moments: dict, x, left: cython.double):
    """Add an event's numbers to fading means and variances by name; `left` of a number's weight stays."""
    number: cython.double
    mean: cython.double
    variance: cython.double
    step: cython.double
    for name, value in x.items():
        if not is_number(value):
            continue
        number = value
        mean, variance = moments.get(name) or (number, 0.0)
        step = number - mean
        moments[name] = [
            mean + (1.0 - left) * step,
            left * (variance + (1.0 - left) * step * step),
        ]


def trend_name(name: object) -> str:
    """Return the name of a number's departures."""
    return f"{TREND}{name!r}"


def departures(moments: dict, x, names: dict) -> dict:
    """Return an event's features, each number in standard deviations above its mean, under another name.

    `names` keeps what `trend_name` has made of strings.
    """
    shown: dict = {}
    number: cython.double
    mean: cython.double
    variance: cython.double
    step: cython.double
    scale: cython.double
    for name, value in x.items():
        if not is_number(value):
            if not is_missing(value):
                shown[name] = value
            continue
        number = value
        mean, variance = moments.get(name) or (number, 0.0)
        step = number - mean
        scale = sqrt(variance)
        if scale > fabs(step) / FARTHEST:
            step = step / scale
        elif step != 0.0:
            step = copysign(FARTHEST, step)
        shown_name = names.get(name) if type(name) is str else trend_name(name)
        if shown_name is None:
            shown_name = names[name] = trend_name(name)
        shown[shown_name] = step
    return shown
