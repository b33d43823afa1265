"""Text as pictures and pages show it: harmless, on one line, and as wide as its place."""

from __future__ import annotations

import unicodedata
from html import escape

from stream_bayes.core.values.values import shown

__all__ = ["escaped", "number_text", "shortened", "text_of", "visible", "width_of"]

# Categories without a shape of their own: controls, formats (direction marks among them), halves of pairs, separators.
SHAPELESS = frozenset(("Cc", "Cf", "Cs", "Cn", "Zl", "Zp"))
JOINERS = "\u200c\u200d"  # formats that scripts and emoji need, and which hide nothing
WIDE, NARROW = 1.05, 0.6  # of the font's size; a little more than common fonts take
THIN = frozenset(" !'(),-./:;I[\\]fijlrt|`")


def visible(text: str) -> str:
    r"""Return the text with characters that have no shape as escapes: they break XML, or turn the text around.

    Examples
    --------
    >>> visible("a\u202eb\x00")
    'a\\u202eb\\x00'
    """
    return "".join(
        character
        if character in JOINERS or unicodedata.category(character) not in SHAPELESS
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def text_of(value: object) -> str:
    """Return a name or label as text for people: a string itself, anything else as its `repr`.

    Examples
    --------
    >>> text_of("rain"), text_of(("a", 1)), text_of(2.5)
    ('rain', "('a', 1)", '2.5')
    """
    return visible(value if isinstance(value, str) else shown(value))


def escaped(value: object) -> str:
    """Return a name or label as text in HTML or XML, in elements and in quoted attributes.

    Examples
    --------
    >>> escaped('<img src="x">')
    '&lt;img src=&quot;x&quot;&gt;'
    """
    return escape(text_of(value))


def width_of(text: str, size: float) -> float:
    """Return the width that a text takes at most, about, in a font without serifs of this size."""
    units = 0.0
    for character in text:
        if unicodedata.east_asian_width(character) in "WF":
            units += WIDE
        elif character in THIN:
            units += 0.4
        else:
            units += NARROW if not character.isupper() and character not in "mwMW@%" else 0.8
    return size * units


def shortened(text: str, width: float, size: float) -> str:
    """Return the text, cut with an ellipsis if it is wider.

    Examples
    --------
    >>> shortened("temperature", 40, 10)
    'temper…'
    """
    if width_of(text, size) <= width:
        return text
    end = len(text)
    while end and width_of(text[:end] + "…", size) > width:
        end -= 1
    return text[:end].rstrip() + "…"


def number_text(number: float) -> str:
    """Return a coordinate with at most two decimals, for files that are short and equal everywhere.

    Examples
    --------
    >>> number_text(2.0), number_text(0.125), number_text(-0.001)
    ('2', '0.12', '0')
    """
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
