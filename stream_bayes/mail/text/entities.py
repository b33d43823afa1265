"""Entities of HTML and XML, decoded."""

from __future__ import annotations

import re
from html import unescape

__all__ = ["unescaped"]

_ZEROS = re.compile(r"(?<=&#)([xX]?)0{8,}")
_LONG_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}")  # of no letter; too long a number raises an error


def unescaped(text: str) -> str:
    """Return a text with its entities decoded; of a number that is too long for a letter, a blank.

    Examples
    --------
    >>> unescaped("caf&eacute; &#0000000000118;ia&#103ra&#9999999999;!")
    'café viagra ;!'
    """
    return unescape(_LONG_NUMBER.sub(" ", _ZEROS.sub(r"\1", text)) if "&#" in text else text)
