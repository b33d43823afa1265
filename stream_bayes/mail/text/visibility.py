"""Visibility of the text of a page: what its reader sees, by the styles of the elements around it."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from stream_bayes.mail.text._pages import attributes_of
from stream_bayes.mail.text.styles import PLAIN, UNKNOWN, Style, color_of, parse_style

__all__ = ["LONG_NUMBER", "PAPER", "Look", "look_within", "may_hide", "style_of"]

LONG_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}")  # of no letter; too long a number raises an error
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
NEAR: Final = 24  # between the red, green and blue of two colours that look the same


def may_hide(source: str) -> bool:
    """Return False for a page that hides no text, whose tags need not be followed."""
    return _MAY_HIDE.search(source) is not None


class Look(NamedTuple):
    """The style of an element with all that it inherits, and the reason why its text is hidden."""

    style: Style
    hidden: str


PAPER: Final = Look(Style(color=0x000000, background=0xFFFFFF), "")


def style_of(name: str, attributes: str, sheet: dict[str, Style]) -> Style:
    """Return the style of an element, by its tag and a style sheet."""
    style = sheet.get(name, PLAIN)
    if name in _NEVER_SEEN:
        style = style.under(Style(removed="element"))
    if attributes and not attributes.isspace():
        own, inline, selectors = _read_attributes(attributes)
        for selector in selectors if sheet else ():
            own = own.under(sheet.get(selector, PLAIN))
        style = style.under(own.under(inline))
        if name in _SIZED and any(_NO_SIZE.fullmatch(value) for value in _sizes(attributes)):
            style = style.under(Style(removed="size"))
    return PLAIN if style == PLAIN else style


@lru_cache(maxsize=4096)
def look_within(outer: Look, own: Style) -> Look:
    """Return the look of an element within another one."""
    style = outer.style.under(own)
    hidden = style.removed or ("size" if style.tiny else "visibility" if style.invisible else "")
    ink, paper = style.color, style.background
    if not hidden and ink is not None and paper is not None and UNKNOWN not in (ink, paper):
        apart = max(abs((ink >> shift & 255) - (paper >> shift & 255)) for shift in (0, 8, 16))
        hidden = "color" if apart <= NEAR else ""
    return Look(style, hidden)


def _sizes(attributes: str) -> list[str]:
    """Return the width and height of a tag's attributes."""
    return [value.strip() for name, value in attributes_of(attributes, 0) if name in ("width", "height")]


@lru_cache(maxsize=8192)
def _read_attributes(attributes: str) -> tuple[Style, Style, tuple[str, ...]]:
    """Return the style of presentational attributes, that of the attribute `style`, and selectors to look up."""
    style, inline = PLAIN, PLAIN
    selectors: list[str] = []
    for name, value in attributes_of(attributes, 0):
        if name == "style":
            inline = parse_style(unescape(LONG_NUMBER.sub(" ", value)))
        elif name == "class":
            selectors += [f".{word}" for word in value.lower().split()[:10]]
        elif name == "id":
            selectors.append(f"#{value.lower().strip()}")
        elif name in ("color", "text"):
            style = style.under(Style(color=color_of(value)))
        elif name == "bgcolor":
            style = style.under(Style(background=color_of(value)))
        elif name == "background":
            style = style.under(Style(background=UNKNOWN))
        elif name == "hidden":
            style = style.under(Style(removed="display"))
    return style, inline, tuple(selectors)
