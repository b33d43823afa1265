"""Visibility of the text of a page: what its reader sees, by the styles of the elements around it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from stream_bayes.mail.text._pages import attributes_of
from stream_bayes.mail.text.sheets import Sheet
from stream_bayes.mail.text.styles import PLAIN_SIZE, UNKNOWN, Style

__all__ = ["PAPER", "Look", "look_within", "may_hide", "style_of"]

_NEVER_SEEN: Final = frozenset(
    "template datalist iframe noembed noframes defs desc metadata annotation mphantom".split()
)
# Without any of these no text is hidden, and the tags need not be followed.
_MAY_HIDE = re.compile(
    r"style|display|hidden|color|opacity|font|template|datalist|iframe|noembed|noframes|<svg|<math",
    re.IGNORECASE,
)
_SIZED: Final = frozenset({"img", "svg"})  # elements that show nothing with a side of 2 dots or less
_NO_SIZE = re.compile(r"0{0,3}[0-2](?:\.\d{0,3})?(?:px|pt|%)?")
MAX_TINY: Final = 2.7  # dots of letters that nobody can read
NEAR: Final = 24  # between the red, green and blue of two colours that look the same


def may_hide(source: str) -> bool:
    """Return False for a page that hides no text, whose tags need not be followed."""
    return _MAY_HIDE.search(source) is not None


class Look(NamedTuple):
    """The style of an element with all that it inherits, and the reason why its text is hidden."""

    style: Style
    hidden: str


PAPER: Final = Look(Style(size=PLAIN_SIZE, color=0x000000, background=0xFFFFFF), "")


def style_of(name: str, attributes: str, sheet: Sheet, around: list[tuple[str, str]]) -> Style:
    """Return the style of an element, by its tag and a style sheet. `around` are the names and attributes of the
    elements around it, the outermost first.
    """
    style = sheet.style_of(name, attributes, around) if sheet.rules else _own_style(name, attributes)
    if name in _NEVER_SEEN:
        style = style.under(Style(removed="element"))
    elif name in _SIZED and any(_NO_SIZE.fullmatch(value) for value in _sizes(attributes)):
        style = style.under(Style(removed="size"))
    return style


@lru_cache(maxsize=8192)
def _own_style(name: str, attributes: str) -> Style:
    """Return the style of an element without a style sheet."""
    return Sheet().style_of(name, attributes, [])


@lru_cache(maxsize=4096)
def look_within(outer: Look, inner: Style) -> Look:
    """Return the look of an element within another one."""
    style = outer.style.under(inner)
    hidden = style.removed or (
        "size"
        if style.size is not None and style.size <= MAX_TINY
        else "visibility"
        if style.invisible
        else ""
    )
    ink, paper = style.color, style.background
    if not hidden and ink is not None and paper is not None and UNKNOWN not in (ink, paper):
        apart = max(abs((ink >> shift & 255) - (paper >> shift & 255)) for shift in (0, 8, 16))
        hidden = "color" if apart <= NEAR else ""
    return Look(style, hidden)


def _sizes(attributes: str) -> list[str]:
    """Return the width and height of a tag's attributes."""
    return [value.strip() for name, value in attributes_of(attributes, 0) if name in ("width", "height")]
