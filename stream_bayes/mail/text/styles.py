"""The part of CSS by which senders hide text: display, visibility, opacity, size, colour, clipping and position.

    "color: #FEFEFE; font-size: 0"  ->  Style(removed="", tiny=True, invisible=None, color=0xFEFEFE, background=None)

A style sheet is read as far as such tricks need: rules of tags, classes and ids, without those inside conditions such
as `@media (max-width: 480px)`, which ordinary newsletters use to hide text from small screens.
"""

from __future__ import annotations

import re
from colorsys import hls_to_rgb
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["PLAIN", "UNKNOWN", "Style", "color_of", "parse_sheet", "parse_style"]

UNKNOWN: Final = -1  # the colour of a picture
MAX_DECLARATIONS: Final = 60  # of a rule
MAX_RULES: Final = 500  # of a sheet
MIN_OFFSET: Final = {
    "": 300.0,
    "px": 300.0,
    "pt": 300.0,
    "em": 20.0,
    "rem": 20.0,
    "%": 100.0,
    "vw": 100.0,
    "vh": 100.0,
}
MAX_TINY: Final = {
    "": 2.0,
    "px": 2.0,
    "pt": 2.0,
    "em": 0.15,
    "rem": 0.15,
    "%": 15.0,
    "vw": 0.1,
    "ex": 0.3,
    "mm": 0.5,
}
MAX_OPACITY: Final = 0.1

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_LENGTH = re.compile(r"(-?)(\d{0,6}\.?\d{1,6})\s?(px|pt|em|rem|ex|mm|vw|vh|%)?")
_FONT_SIZE = re.compile(r"(?:^|\s)(\d{0,6}\.?\d{1,6}(?:px|pt|em|rem|ex|mm|vw|%)?)(?=[/\s])")
_HEX = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{6})(?:[0-9a-f]{1,2})?")
_RGB = re.compile(
    r"rgba?\(\s?(\d{1,3})[\s,]{1,3}(\d{1,3})[\s,]{1,3}(\d{1,3})(?:[\s,/]{1,3}([\d.]{1,5})(%?))?"
)
_HSL = re.compile(
    r"hsla?\(\s?([\d.]{1,6})(?:deg)?[\s,]{1,3}([\d.]{1,5})%[\s,]{1,3}([\d.]{1,5})%(?:[\s,/]{1,3}([\d.]{1,5})(%?))?"
)
_SELECTOR = re.compile(r"(?:[a-z][a-z0-9]{0,15}[\s>]{1,3}){0,5}([a-z][a-z0-9]{0,15})?([.#][\w-]{1,60})?")
_SHRUNK = re.compile(r"scale[xy]?\(\s?0*\.?0*\s?[,)]|translate[xy]?\([^)]{0,20}-\d{3}")
_FADED = re.compile(r"opacity=0|opacity\(\s?(?:0?\.0\d*|0|\d%|0?\.\d{1,3}%)\s?\)")
_CUT = re.compile(r"rect\(\s?[01](?:px)?[\s,]{1,3}[01](?:px)?|inset\(\s?(?:50|[6-9]\d|100)%|circle\(\s?0")

_COLORS: Final = {
    "white": 0xFFFFFF, "snow": 0xFFFAFA, "ivory": 0xFFFFF0, "ghostwhite": 0xF8F8FF, "whitesmoke": 0xF5F5F5,
    "floralwhite": 0xFFFAF0, "mintcream": 0xF5FFFA, "azure": 0xF0FFFF, "black": 0x000000, "red": 0xFF0000,
    "green": 0x008000, "lime": 0x00FF00, "blue": 0x0000FF, "yellow": 0xFFFF00, "navy": 0x000080, "gray": 0x808080,
    "grey": 0x808080, "silver": 0xC0C0C0, "maroon": 0x800000, "purple": 0x800080, "fuchsia": 0xFF00FF,
    "magenta": 0xFF00FF, "teal": 0x008080, "aqua": 0x00FFFF, "cyan": 0x00FFFF, "olive": 0x808000, "orange": 0xFFA500,
}  # fmt: skip


class Style(NamedTuple):
    """The declarations of one rule that decide if text is seen; None for a property that is not declared."""

    removed: str = ""  # the reason why neither the element nor anything in it is seen
    tiny: bool | None = None  # the size of letters
    invisible: bool | None = None
    color: int | None = None
    background: int | None = None

    def under(self, other: Style) -> Style:
        """Return this style overridden by another one."""
        if other is PLAIN or self is PLAIN:
            return self if other is PLAIN else other
        return Style(
            other.removed or self.removed,
            self.tiny if other.tiny is None else other.tiny,
            self.invisible if other.invisible is None else other.invisible,
            self.color if other.color is None else other.color,
            self.background if other.background is None else other.background,
        )


PLAIN: Final = Style()


@lru_cache(maxsize=4096)
def parse_style(text: str) -> Style:
    """Return the style of a block of declarations.

    Examples
    --------
    >>> parse_style("left: -9999px").removed, parse_style("FONT-SIZE:0").tiny, parse_style("display:block").removed
    ('off-screen', True, '')
    """
    found: dict[str, str] = {}
    for part in _clean(text).split(";", MAX_DECLARATIONS)[:MAX_DECLARATIONS]:
        name, _, value = part.partition(":")
        found[name.strip()] = value.partition("!")[0].strip()
    removed = _removal(found)
    tiny = _is_tiny(found["font-size"]) if "font-size" in found else None
    if tiny is None and "font" in found:
        size = _FONT_SIZE.search(found["font"])
        tiny = None if size is None else _is_tiny(size[1])
    invisible = {"hidden": True, "collapse": True, "visible": False}.get(found.get("visibility", ""))
    color = color_of(found["color"]) if "color" in found else None
    background = color_of(found["background-color"]) if "background-color" in found else None
    if "background" in found:
        words = found["background"]
        background = UNKNOWN if "url(" in words or "gradient(" in words else _first_color(words)
    if "background-image" in found and found["background-image"] != "none":
        background = UNKNOWN
    if "color" in found and (found["color"] == "transparent" or _alpha(found["color"]) < MAX_OPACITY):
        removed = removed or "color"
    style = Style(removed, tiny, invisible, color, background)
    return PLAIN if style == PLAIN else style


def parse_sheet(text: str) -> dict[str, Style]:
    """Return the styles of a sheet by tag (`"p"`), class (`".note"`) and id (`"#top"`).

    Examples
    --------
    >>> sheet = parse_sheet("td.a, #b {display:none} @media (max-width:9px) { .c {display:none} }")
    >>> {selector: style.removed for selector, style in sheet.items()}
    {'.a': 'display', '#b': 'display'}
    """
    text = _clean(text).replace("<!--", " ").replace("-->", " ")
    found: dict[str, Style] = {}
    blocks: list[str] = []  # the preludes of the blocks that are open
    start = rules = 0
    for match in _BRACE.finditer(text):
        inner, start = text[start : match.start()], match.end()
        if match[0] == "{":
            blocks.append(inner.rpartition(";")[2].strip())
            continue
        prelude = blocks.pop() if blocks else "@"
        if prelude.startswith("@") or any("(" in block or not block.startswith("@") for block in blocks):
            continue
        rules += 1
        if rules > MAX_RULES:
            break
        style = parse_style(inner)
        if style != PLAIN:
            for selector in prelude.split(",", 20)[:20]:
                whole = _SELECTOR.fullmatch(selector.strip())
                if whole is not None and (name := whole[2] or whole[1]):
                    found[name] = found.get(name, PLAIN).under(style)
    return found


@lru_cache(maxsize=4096)
def color_of(value: str) -> int | None:
    """Return a colour as 0xRRGGBB; None for one that is unknown or transparent.

    Examples
    --------
    >>> [color_of(value) for value in ("white", "#fff", "ffffff", "rgb(255, 255, 255)", "hsl(9,0%,100%)", "inherit")]
    [16777215, 16777215, 16777215, 16777215, 16777215, None]
    """
    value = value.strip().lower()
    named = _COLORS.get(value)
    if named is not None:
        return named
    match = _HEX.fullmatch(value)
    if match:
        digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
        return int(digits, 16)
    match = _RGB.match(value)
    if match and _alpha(value) >= MAX_OPACITY:
        red, green, blue = (min(int(part), 255) for part in match.group(1, 2, 3))
        return red << 16 | green << 8 | blue
    match = _HSL.match(value)
    if match and _alpha(value) >= MAX_OPACITY:
        hue, saturation, lightness = (
            min(_plain_number(match[group]) / most, 1.0) for group, most in ((1, 360), (2, 100), (3, 100))
        )
        red, green, blue = (round(255 * part) for part in hls_to_rgb(hue, lightness, saturation))
        return red << 16 | green << 8 | blue
    return None


def _clean(text: str) -> str:
    """Return CSS in lower case without comments and escapes."""
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    return text.lower()


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0xD800 else " "


def _removal(found: dict[str, str]) -> str:
    """Return the property that takes an element out of sight, or ""."""
    if found.get("display") == "none" or found.get("content-visibility") == "hidden":
        return "display"
    opacity = found.get("opacity", "1")
    if _number(opacity) * (0.01 if opacity.endswith("%") else 1.0) < MAX_OPACITY or _FADED.search(
        found.get("filter", "")
    ):
        return "opacity"
    if any(
        _is_far(found[name])
        for name in ("left", "top", "text-indent", "margin-left", "margin-top")
        if name in found
    ):
        return "off-screen"
    if "transform" in found and _SHRUNK.search(found["transform"]):
        return "off-screen"
    if _CUT.search(found.get("clip", "") + found.get("clip-path", "")):
        return "clipped"
    sides = ("height", "max-height", "width", "max-width")
    if found.get("overflow") in ("hidden", "clip") and any(
        _is_zero(found[side]) for side in sides if side in found
    ):
        return "clipped"
    return ""


def _number(text: str) -> float:
    match = _LENGTH.match(text)
    return 1.0 if match is None else float(match[2])


def _alpha(color: str) -> float:
    match = _RGB.match(color) or _HSL.match(color)
    if match is None or match[4] is None:
        return 1.0
    return _plain_number(match[4], 1.0) * (0.01 if match[5] else 1.0)


def _plain_number(digits: str, default: float = 0.0) -> float:
    """Return the number of digits and dots, or the default if they are none."""
    return float(digits) if digits.count(".") < 2 and digits != "." else default


def _is_tiny(size: str) -> bool | None:
    match = _LENGTH.match(size)
    return None if match is None else float(match[2]) <= MAX_TINY.get(match[3] or "", 0.0)


def _is_zero(length: str) -> bool:
    match = _LENGTH.match(length)
    return match is not None and float(match[2]) <= 1.0 and match[3] in (None, "px", "pt")


def _is_far(offset: str) -> bool:
    match = _LENGTH.match(offset)
    return match is not None and match[1] == "-" and float(match[2]) >= MIN_OFFSET.get(match[3] or "", 300.0)


def _first_color(words: str) -> int | None:
    """Return the colour in a shorthand of the background."""
    if words.startswith(("rgb", "hsl")):
        return color_of(words)
    return next((color for word in words.split()[:8] if (color := color_of(word)) is not None), None)
