"""What was probably meant by a name that is none.

Classes of other packages by the names they go by here, imported when they are asked for: some load for a second.

Checks of what files and commands make by name, from arguments by name: every catalogue says alike what is wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from stream_bayes.errors import BadValue, StreamBayesError

__all__ = ["Imported", "being_made", "check_arguments", "check_there_is", "closest"]


def closest(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean ...?" for a misspelt name, or a full stop if nothing is close.

    Examples
    --------
    >>> closest("aodee", ["nb", "aode"]), closest("AODE", ["nb", "aode"]), closest("x", ["nb", "aode"])
    ("; did you mean 'aode'?", "; did you mean 'aode'?", '.')
    """
    known = list(names)
    near = difflib.get_close_matches(name, known, 1)
    if not near:  # "GaussianNB" for "gaussian-nb", "AODE" for "aode"
        bare = {_bare(each): each for each in known}
        near = [bare[each] for each in difflib.get_close_matches(_bare(name), bare, 1)]
    return f"; did you mean {near[0]!r}?" if near else "."


def _bare(name: str) -> str:
    """Return a name without capitals, hyphens and underscores, which are easily mistaken."""
    return name.casefold().replace("-", "").replace("_", "")


class Imported(Mapping[str, Any]):
    """A mapping from names to classes, which knows the names without importing anything.

    Parameters
    ----------
    paths
        Where each is: `{name: "module.Class"}`.

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
    """Add the name and the arguments to an error that is raised while something is made; errors of this package pass.

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
