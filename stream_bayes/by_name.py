"""Checks of what files and commands make by name, from arguments by name: every catalogue says alike what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.suggestions import closest

__all__ = ["being_made", "check_arguments", "check_there_is"]


def check_there_is(kind: str, name: str, known: Iterable[str]) -> None:
    """Refuse the name of a thing of this kind that there is not.

    Examples
    --------
    >>> check_there_is("model", "aodee", ["nb", "aode"])
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: there is no model 'aodee'; did you mean 'aode'? There are nb, aode
    """
    names = list(known)
    if name not in names:
        raise BadValue(f"there is no {kind} {name!r}{closest(name, names)} There are {', '.join(names)}")


def check_arguments(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse an argument that what is called `name` does not take.

    Examples
    --------
    >>> check_arguments("nb", {"strenght": 2}, ["prior", "strength"])
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: nb has no argument 'strenght'; did you mean 'strength'? It takes prior, strength
    """
    names = list(known)
    for argument in given:
        if argument not in names:
            hint = closest(argument, names)
            raise BadValue(f"{name} has no argument {argument!r}{hint} It takes {', '.join(names) or 'none'}")


@contextmanager
def being_made(name: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Say which arguments something is made from, if they are refused; an error of this package says it itself.

    Examples
    --------
    >>> with being_made("number", {"text": "x"}):
    ...     int("x")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: number cannot be made with {'text': 'x'}: invalid literal for int() ...
    """
    try:
        yield
    except StreamBayesError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise BadValue(f"{name} cannot be made with {dict(arguments)!r}: {error}") from error
