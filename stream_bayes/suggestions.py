"""What was probably meant by a name that is none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["closest"]


def closest(name: str, names: Iterable[str]) -> str:
    """A question after a name that may have been meant, or a full stop.

    Examples
    --------
    >>> closest("aodee", ["nb", "aode"]), closest("x", ["nb", "aode"])
    ("; did you mean 'aode'?", '.')
    """
    near = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]!r}?" if near else "."
