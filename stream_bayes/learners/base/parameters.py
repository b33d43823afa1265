"""Explanations of the arguments of a class, read from its docstring, where each stands once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Parameter", "parameters_of"]

ELSEWHERE = re.compile(r"[Aa]s in `(\w+)`\.")  # where a class leaves the explanation to another one


class Parameter(NamedTuple):
    """An argument."""

    name: str
    default: str  # as Python writes it
    meaning: str


def parameters_of(made: type[Any], others: Mapping[str, type[Any]]) -> list[Parameter]:
    """Return the arguments of a class, in their order. `others` are the classes that its documentation may point to, by
    name.

    Examples
    --------
    >>> from stream_bayes import AODE, TAN
    >>> parameters_of(TAN, {"AODE": AODE})[3]
    Parameter(name='strength', default='1.0', meaning='The weight s of the smoothing, in fresh samples; ...')
    """
    meanings = _meanings(made, others)
    return [
        Parameter(name, repr(parameter.default), meanings.get(name, ""))
        for name, parameter in inspect.signature(made).parameters.items()
    ]


def _meanings(made: type[Any], others: Mapping[str, type[Any]]) -> dict[str, str]:
    """Return the explanation of each argument, from this class's docstring or the one it points to."""
    explanations: dict[str, list[str]] = {}
    names: list[str] = []
    section = inspect.cleandoc(made.__doc__ or "").partition("Parameters\n----------\n")[2]
    for line in filter(None, re.split(r"\n\n(?=\S)", section)[0].splitlines()):
        if not line.startswith(" "):
            names = [name.strip() for name in line.split(",")]
            explanations |= {name: [] for name in names}
        else:
            for name in names:
                explanations[name].append(line.strip())
    meanings = {name: " ".join(lines) for name, lines in explanations.items()}
    for name, meaning in meanings.items():
        pointed = ELSEWHERE.match(meaning)
        if pointed is not None and pointed[1] in others:
            addition = meaning[pointed.end() :]
            meanings[name] = _meanings(others[pointed[1]], others).get(name, "") + addition
    return meanings
