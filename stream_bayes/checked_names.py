"""Names given in files and commands: suggestions for misspelt ones, checks with the same messages in every catalogue,
and classes that are imported on first use.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import takewhile
from typing import Any, TypeVar

from stream_bayes.errors import BadStructure, BadValue, StreamBayesError, UnknownFeature

__all__ = [
    "Imported",
    "check_arguments",
    "check_known",
    "closest",
    "construct",
    "construction_errors",
    "nearest",
]

Made = TypeVar("Made")


def closest(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean ...?" for a misspelt name, or a full stop if nothing is close.

    Examples
    --------
    >>> closest("aodee", ["nb", "aode"]), closest("AODE", ["nb", "aode"]), closest("x", ["nb", "aode"])
    ("; did you mean 'aode'?", "; did you mean 'aode'?", '.')
    """
    near = nearest(name, names)
    return "." if near is None else f"; did you mean {near!r}?"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is nearest to a misspelt one; None if nothing is close."""
    candidates = list(names)
    near = difflib.get_close_matches(name, candidates, 1)
    if not near:  # "GaussianNB" for "gaussian-nb", "AODE" for "aode"
        bare = {_bare(each): each for each in candidates}
        near = [bare[each] for each in difflib.get_close_matches(_bare(name), bare, 1)]
    return near[0] if near else None


def _bare(name: str) -> str:
    """Return a name without capitals, hyphens and underscores, which are easily mistaken."""
    return name.casefold().replace("-", "").replace("_", "")


class Imported(Mapping[str, Any]):
    """A mapping from names to classes, each imported when it is first used; some load for a second. `paths` is `{name:
    "module.Class"}`.

    Examples
    --------
    >>> peers = Imported({"river-knn": "river.neighbors.KNNClassifier"})
    >>> list(peers), peers["river-knn"].__name__
    (['river-knn'], 'KNNClassifier')
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self._paths[name].rpartition(".")
        return getattr(import_module(module), attribute)

    def __contains__(self, name: object) -> bool:  # a mapping's own would import it
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def check_known(kind: str, name: str, choices: Iterable[str]) -> None:
    """Raise `BadValue` for an unknown name, with the nearest one.

    Examples
    --------
    >>> check_known("model", "aodee", ["nb", "aode"])
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: there is no model 'aodee'; did you mean 'aode'? There are nb, aode
    """
    names = list(choices)
    if name not in names:
        raise BadValue(f"there is no {kind} {name!r}{closest(name, names)} There are {', '.join(names)}")


def check_arguments(name: str, given: Iterable[str], choices: Iterable[str]) -> None:
    """Raise `BadValue` for an argument that `name` does not have, with the nearest one.

    Examples
    --------
    >>> check_arguments("nb", {"strenght": 2}, ["prior", "strength"])
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: nb has no argument 'strenght'; did you mean 'strength'? It takes prior, strength
    """
    names = list(choices)
    for argument in given:
        if argument not in names:
            hint = closest(argument, names)
            raise BadValue(f"{name} has no argument {argument!r}{hint} It takes {', '.join(names) or 'none'}")


def construct(name: str, made: type[Made], arguments: Mapping[str, Any]) -> Made:
    """Make an object of a class, with arguments by name.

    Raises
    ------
    BadValue
        If a required argument is missing; the message has the first sentence of its documentation. Or as of
        `construction_errors`.

    Examples
    --------
    >>> from stream_bayes import MarkovChain
    >>> construct("markov-chain", MarkovChain, {"order": 2})
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: markov-chain needs variable: the feature whose values follow one another
    """
    missing = [
        parameter.name
        for parameter in [*inspect.signature(made.__init__).parameters.values()][1:]
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and parameter.name not in arguments
    ]
    if missing:
        raise BadValue(
            f"{name} needs {'; and '.join(argument + _purpose(made, argument) for argument in missing)}"
        )
    with construction_errors(name, arguments):
        return made(**arguments)


def _purpose(made: type[Any], argument: str) -> str:
    """Return a colon and the first sentence that the documentation of a class has of an argument; or nothing."""
    lines = inspect.cleandoc(made.__doc__ or "").splitlines()
    if argument not in lines:
        return ""
    rest = takewhile(lambda line: line.startswith("    "), lines[lines.index(argument) + 1 :])
    sentence = " ".join(map(str.strip, rest)).partition(". ")[0].rstrip(".")
    return f": {sentence[:1].lower()}{sentence[1:]}"


@contextmanager
def construction_errors(name: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Add the name and the arguments to an error that is raised while something is made, unless it is one of this
    package that names an argument, or is not about one.

    Examples
    --------
    >>> with construction_errors("number", {"text": "x"}):
    ...     int("x")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: number cannot be made with {'text': 'x'}: invalid literal for int() ...
    """
    try:
        yield
    except (BadStructure, BadValue, UnknownFeature) as error:
        if not arguments or any(argument in str(error) for argument in arguments):
            raise
        raise type(error)(f"{name} cannot be made with {_listed(arguments)}: {error}") from error
    except StreamBayesError:
        raise
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise BadValue(f"{name} cannot be made with {_listed(arguments)}: {error}") from error


def _listed(arguments: Mapping[str, Any]) -> str:
    """Return arguments for a message: on one line, at most 200 characters of them."""
    text = " ".join(repr(dict(arguments)).split())
    return text if len(text) <= 200 else text[:197] + "..."
