"""What was probably meant by a name that is none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["closest"]


def closest(name: str, names: Iterable[str]) -> str:
    """A question after a name that may have been meant, or a full stop.

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
    """A name without what is easily written otherwise: capitals, and what stands between words."""
    return name.casefold().replace("-", "").replace("_", "")
