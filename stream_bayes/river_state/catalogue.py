"""River's transformers by the short names that pipeline files know them by: all of them can be saved.

A name here is all that such a file can say: it never holds a path to import.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from river import base, compose, feature_extraction, preprocessing

from stream_bayes.errors import BadValue
from stream_bayes.learners.catalogue import closest

__all__ = ["TRANSFORMERS", "make_transformer"]

TRANSFORMERS: dict[str, type[base.Transformer]] = {
    "standard-scaler": preprocessing.StandardScaler,
    "min-max-scaler": preprocessing.MinMaxScaler,
    "one-hot-encoder": preprocessing.OneHotEncoder,
    "bag-of-words": feature_extraction.BagOfWords,
    "tfidf": feature_extraction.TFIDF,
    "select": compose.Select,
    "discard": compose.Discard,
    "prefixer": compose.Prefixer,
}


def make_transformer(name: str, arguments: Mapping[str, Any] | None = None) -> base.Transformer:
    """The transformer of a name, with arguments by name: for `select` and `discard`, `keys`.

    Raises
    ------
    BadValue
        If the name or an argument is none; it says which there are.

    Examples
    --------
    >>> make_transformer("select", {"keys": ["wind"]}).transform_one({"wind": 3, "sky": 1, "day": 7})
    {'wind': 3}
    >>> make_transformer("standard-scalar")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: there is no transformer 'standard-scalar'; did you mean 'standard-scaler'? ...
    """
    if name not in TRANSFORMERS:
        hint = closest(name, TRANSFORMERS)
        raise BadValue(f"there is no transformer {name!r}{hint} There are {', '.join(TRANSFORMERS)}")
    made, given = TRANSFORMERS[name], dict(arguments or {})
    known = inspect.signature(made).parameters
    for argument in given:
        if argument not in known:
            hint = closest(argument, known)
            raise BadValue(f"{name} has no argument {argument!r}{hint} It takes {', '.join(known) or 'none'}")
    several: list[Any] = []
    for argument, parameter in known.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            several = given.pop(argument, [])
            if not isinstance(several, list) or not several:
                raise BadValue(f"{name}: {argument} is a list of at least one name, not {several!r}")
    try:
        transformer: base.Transformer = made(*several, **given)
    except (TypeError, ValueError) as error:
        raise BadValue(f"{name} cannot be made with {arguments!r}: {error}") from error
    return transformer
