"""The part of CSS by which senders hide text: display, visibility, opacity, size, colour, clipping and position.

"color: #FEFEFE; font-size: 0"  ->  Style(removed="", size=0.0, invisible=None, color=0xFEFEFE, background=None)
"""

from __future__ import annotations

import re
from colorsys import hls_to_rgb
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = [
    "PLAIN",
    "UNKNOWN",
    "Declarations",
    "Style",
    "clean_css",
    "color_of",
    "declarations_of",
    "declare",
    "is_evident",
    "style_of_declared",
]

Declarations = dict[str, str]  # values by property, the last one written last

UNKNOWN: Final = -1  # the colour of a picture, or one that is computed
MAX_DECLARATIONS: Final = 60  # of a rule
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
MIN_BEYOND: Final = 3_000.0  # dots to the right or below, of what is placed there
PLAIN_SIZE: Final = 16.0  # dots, of letters
# Dots of a unit, and the scales of those that are relative to the size around.
DOTS: Final = {"": 1.0, "px": 1.0, "pt": 4 / 3, "mm": 3.78, "rem": PLAIN_SIZE, "vw": 10.0, "vh": 8.0}
SCALES: Final = {"em": 1.0, "%": 0.01, "ex": 0.5}
NAMED_SIZES: Final = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "initial": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
}
MIN_SPACING: Final = {
    "": -8.0,
    "px": -8.0,
    "pt": -6.0,
    "em": -0.5,
    "rem": -0.5,
}  # at which letters lie on one another
MAX_OPACITY: Final = 0.1
_EVIDENT: Final = frozenset(
    "display content-visibility opacity filter left top right bottom text-indent margin-left margin-top margin inset"
    " position transform scale translate zoom letter-spacing line-height clip clip-path overflow overflow-x overflow-y"
    " height max-height width max-width font font-size visibility color background background-color background-image"
    " background-clip -webkit-background-clip -webkit-text-fill-color".split()
)
_OFFSETS: Final = ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top")
_CUTTING: Final = frozenset({"hidden", "clip", "auto", "scroll"})

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_LENGTH = re.compile(r"(-?)(\d{0,6}\.?\d{1,6})\s?(px|pt|em|rem|ex|mm|vw|vh|%)?")
_FONT_SIZE = re.compile(r"(?:^|\s)(\d{0,6}\.?\d{1,6}(?:px|pt|em|rem|ex|mm|vw|%)?)(?=[/\s])")
_HEX = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{6})(?:[0-9a-f]{1,2})?")
_RGB = re.compile(
    r"rgba?\(\s?(\d{1,3}%?)[\s,]{1,3}(\d{1,3}%?)[\s,]{1,3}(\d{1,3}%?)(?:[\s,/]{1,3}([\d.]{1,5})(%?))?"
)
_HSL = re.compile(
    r"hsla?\(\s?([\d.]{1,6})(?:deg)?[\s,]{1,3}([\d.]{1,5})%[\s,]{1,3}([\d.]{1,5})%(?:[\s,/]{1,3}([\d.]{1,5})(%?))?"
)
_SHRUNK = re.compile(
    r"(?:scale(?:3d|[xy])?\(|^)\s?(?:0+|0*\.0\d{0,9})\s?(?:[,)]|$)|rotate[xy]\(\s?-?90|translate[xy]?\([^)]{0,20}-\d{3}"
)
_COLOR_WORD = re.compile(r"#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^()]{0,60}\)|\b[a-z]{3,20}\b")
# Functions whose colours are not computed here.
_COMPUTED = re.compile(r"\b(?:var|env|color|color-mix|light-dark|lab|lch|oklab|oklch|hwb)\(")
_CALCULATION = re.compile(r"(?:-webkit-)?calc\(([^()]{0,60})\)")
_FADED = re.compile(r"opacity=0|opacity\(\s?(?:0?\.0\d*|0|\d%|0?\.\d{1,3}%)\s?\)")
_CUT = re.compile(r"rect\(\s?[01](?:px)?[\s,]{1,3}[01](?:px)?|inset\(\s?(?:50|[6-9]\d|100)%|circle\(\s?0")

_NAMED_COLORS: Final = """
aliceblue:f0f8ff antiquewhite:faebd7 aqua:00ffff aquamarine:7fffd4 azure:f0ffff beige:f5f5dc bisque:ffe4c4
black:000000 blanchedalmond:ffebcd blue:0000ff blueviolet:8a2be2 brown:a52a2a burlywood:deb887
cadetblue:5f9ea0 chartreuse:7fff00 chocolate:d2691e coral:ff7f50 cornflowerblue:6495ed cornsilk:fff8dc
crimson:dc143c cyan:00ffff darkblue:00008b darkcyan:008b8b darkgoldenrod:b8860b darkgray:a9a9a9
darkgreen:006400 darkgrey:a9a9a9 darkkhaki:bdb76b darkmagenta:8b008b darkolivegreen:556b2f darkorange:ff8c00
darkorchid:9932cc darkred:8b0000 darksalmon:e9967a darkseagreen:8fbc8f darkslateblue:483d8b
darkslategray:2f4f4f darkslategrey:2f4f4f darkturquoise:00ced1 darkviolet:9400d3 deeppink:ff1493
deepskyblue:00bfff dimgray:696969 dimgrey:696969 dodgerblue:1e90ff firebrick:b22222 floralwhite:fffaf0
forestgreen:228b22 fuchsia:ff00ff gainsboro:dcdcdc ghostwhite:f8f8ff gold:ffd700 goldenrod:daa520
gray:808080 green:008000 greenyellow:adff2f grey:808080 honeydew:f0fff0 hotpink:ff69b4 indianred:cd5c5c
indigo:4b0082 ivory:fffff0 khaki:f0e68c lavender:e6e6fa lavenderblush:fff0f5 lawngreen:7cfc00
lemonchiffon:fffacd lightblue:add8e6 lightcoral:f08080 lightcyan:e0ffff lightgoldenrodyellow:fafad2
lightgray:d3d3d3 lightgreen:90ee90 lightgrey:d3d3d3 lightpink:ffb6c1 lightsalmon:ffa07a lightseagreen:20b2aa
lightskyblue:87cefa lightslategray:778899 lightslategrey:778899 lightsteelblue:b0c4de lightyellow:ffffe0
lime:00ff00 limegreen:32cd32 linen:faf0e6 magenta:ff00ff maroon:800000 mediumaquamarine:66cdaa
mediumblue:0000cd mediumorchid:ba55d3 mediumpurple:9370db mediumseagreen:3cb371 mediumslateblue:7b68ee
mediumspringgreen:00fa9a mediumturquoise:48d1cc mediumvioletred:c71585 midnightblue:191970 mintcream:f5fffa
mistyrose:ffe4e1 moccasin:ffe4b5 navajowhite:ffdead navy:000080 oldlace:fdf5e6 olive:808000 olivedrab:6b8e23
orange:ffa500 orangered:ff4500 orchid:da70d6 palegoldenrod:eee8aa palegreen:98fb98 paleturquoise:afeeee
palevioletred:db7093 papayawhip:ffefd5 peachpuff:ffdab9 peru:cd853f pink:ffc0cb plum:dda0dd
powderblue:b0e0e6 purple:800080 rebeccapurple:663399 red:ff0000 rosybrown:bc8f8f royalblue:4169e1
saddlebrown:8b4513 salmon:fa8072 sandybrown:f4a460 seagreen:2e8b57 seashell:fff5ee sienna:a0522d
silver:c0c0c0 skyblue:87ceeb slateblue:6a5acd slategray:708090 slategrey:708090 snow:fffafa
springgreen:00ff7f steelblue:4682b4 tan:d2b48c teal:008080 thistle:d8bfd8 tomato:ff6347 turquoise:40e0d0
violet:ee82ee wheat:f5deb3 white:ffffff whitesmoke:f5f5f5 yellow:ffff00 yellowgreen:9acd32
"""  # of CSS Color 4
_COLORS: Final = {
    name: int(digits, 16) for name, _, digits in (each.partition(":") for each in _NAMED_COLORS.split())
}


class Style(NamedTuple):
    """The declarations of one rule that decide if text is seen; None for a property that is not declared."""

    removed: str = ""  # the reason why neither the element nor anything in it is seen
    size: float | None = None  # of letters, in dots
    invisible: bool | None = None
    color: int | None = None
    background: int | None = None
    scale: float = 1.0  # of the size around, without a size

    def under(self, other: Style) -> Style:
        """Return this style overridden by another one."""
        if other is PLAIN or self is PLAIN:
            return self if other is PLAIN else other
        return Style(
            other.removed or self.removed,
            other.size if other.size is not None or self.size is None else self.size * other.scale,
            self.invisible if other.invisible is None else other.invisible,
            self.color if other.color is None else other.color,
            self.background if other.background is None else other.background,
            self.scale * other.scale if other.size is None else 1.0,
        )


PLAIN: Final = Style()


@lru_cache(maxsize=4096)
def declarations_of(text: str) -> tuple[Declarations, Declarations]:
    """Return the declarations of a block, and the important ones. They are cached: do not change them.

    Examples
    --------
    >>> declarations_of("Display : none !important; left:0")
    ({'left': '0'}, {'display': 'none'})
    """
    declared: Declarations = {}
    important: Declarations = {}
    for part in clean_css(text).split(";", MAX_DECLARATIONS)[:MAX_DECLARATIONS]:
        name, _, value = part.partition(":")
        value, mark, _ = value.partition("!")
        if "calc(" in value:
            value = _CALCULATION.sub(r"\1", value)
        declare(important if mark else declared, {name.strip(): value.strip()})
    return declared, important


def declare(css: Declarations, more: Declarations) -> None:
    """Add declarations that override those before."""
    for name, value in more.items():
        if name == "background":
            css.pop("background-color", None)
            css.pop("background-image", None)
        elif name == "background-color" and not _is_picture(css.get("background", "")):
            css.pop("background", None)
        css[name] = value


def is_evident(declared: Declarations) -> bool:
    """Return True for declarations that may hide or show text."""
    return not _EVIDENT.isdisjoint(declared)


def style_of_declared(css: Declarations) -> Style:
    """Return the style of declarations.

    Examples
    --------
    >>> style_of_declared({"left": "-9999px"}).removed, style_of_declared({"font-size": "0"}).size
    ('off-screen', 0.0)
    """
    removed = _removal(css)
    size, scale = _size_of(css["font-size"]) if "font-size" in css else (None, 1.0)
    if size is None and scale == 1.0 and "font" in css:
        match = _FONT_SIZE.search(css["font"])
        size, scale = (None, 1.0) if match is None else _size_of(match[1])
    invisible = {"hidden": True, "collapse": True, "visible": False}.get(css.get("visibility", ""))
    ink = css.get("-webkit-text-fill-color", css.get("color", ""))
    color = color_of(ink) if ink else None
    background = color_of(css["background-color"]) if "background-color" in css else None
    if "background" in css:
        words = css["background"]
        background = _color_of_picture(words) if _is_picture(words) else _first_color(words)
    if background is None and any(
        _COMPUTED.search(css.get(name, "")) for name in ("background", "background-color")
    ):
        background = UNKNOWN
    if "background-image" in css and css["background-image"] != "none":
        background = _color_of_picture(css["background-image"])
    # Through clear letters a picture behind them is seen.
    if ink and "text" not in css.get("background-clip", css.get("-webkit-background-clip", "")):
        removed = removed or ("color" if ink == "transparent" or _alpha(ink) < MAX_OPACITY else "")
    style = Style(removed, size, invisible, color, background, scale)
    return PLAIN if style == PLAIN else style


def _color_of_picture(words: str) -> int:
    """Return the colour of a gradient of one colour, or UNKNOWN."""
    if "url(" in words:
        return UNKNOWN
    colors = {color_of(word) for word in _COLOR_WORD.findall(words[:1_000])} - {None}
    return colors.pop() or 0 if len(colors) == 1 else UNKNOWN


def _is_picture(background: str) -> bool:
    return "url(" in background or "gradient(" in background


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
        red, green, blue = (_part_of_color(part) for part in match.group(1, 2, 3))
        return red << 16 | green << 8 | blue
    match = _HSL.match(value)
    if match and _alpha(value) >= MAX_OPACITY:
        hue, saturation, lightness = (
            min(_plain_number(match[group]) / most, 1.0) for group, most in ((1, 360), (2, 100), (3, 100))
        )
        red, green, blue = (round(255 * part) for part in hls_to_rgb(hue, lightness, saturation))
        return red << 16 | green << 8 | blue
    return None


def _part_of_color(text: str) -> int:
    """Return a part of a colour, a number or a percentage, from 0 to 255."""
    return min(round(255 * int(text[:-1]) / 100) if text.endswith("%") else int(text), 255)


def clean_css(text: str) -> str:
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


def _removal(css: dict[str, str]) -> str:
    """Return the property that takes an element out of sight, or ""."""
    if css.get("display") == "none" or css.get("content-visibility") == "hidden":
        return "display"
    opacity = css.get("opacity", "1")
    if _number(opacity) * (0.01 if opacity.endswith("%") else 1.0) < MAX_OPACITY or _FADED.search(
        css.get("filter", "")
    ):
        return "opacity"
    if _is_off_screen(css):
        return "off-screen"
    if "zoom" in css and 0.0 < _dots(css["zoom"]) * (0.01 if "%" in css["zoom"] else 1.0) < MAX_OPACITY:
        return "size"
    spacing = _LENGTH.match(css.get("letter-spacing", ""))
    if spacing is not None and spacing[1] and -float(spacing[2]) <= MIN_SPACING.get(spacing[3] or "", -8.0):
        return "spacing"
    return "clipped" if _is_clipped(css) else ""


def _is_off_screen(css: dict[str, str]) -> bool:
    """Return True for an element that is moved out of the page, or shrunk to nothing."""
    if any(_is_far(css[name]) for name in _OFFSETS if name in css):
        return True
    if any(_is_far(side) for name in ("margin", "inset") if name in css for side in css[name].split()[:4]):
        return True
    is_placed = css.get("position", "static") != "static"
    beyond = ("left", "top", "right", "bottom") if is_placed else ("text-indent", "margin-left")
    return (
        any(_dots(css[name]) >= MIN_BEYOND for name in beyond if name in css)
        or any(_SHRUNK.search(css[name]) for name in ("transform", "scale") if name in css)
        or ("translate" in css and _is_far(css["translate"]))
    )


def _is_clipped(css: dict[str, str]) -> bool:
    """Return True for an element of which nothing is left in its frame."""
    # Of elements in the flow, `clip` cuts nothing.
    is_free = css.get("position", "static") in ("absolute", "fixed")
    if _CUT.search((css.get("clip", "") if is_free else "") + css.get("clip-path", "")):
        return True
    sides = ("height", "max-height", "width", "max-width")
    if all(css.get(name, "visible") not in _CUTTING for name in ("overflow", "overflow-x", "overflow-y")):
        return False
    is_flat = "line-height" in css and _dots(css["line-height"]) == 0.0
    return is_flat or any(_is_zero(css[side]) for side in sides if side in css)


def _number(text: str) -> float:
    match = _LENGTH.match(text)
    return 1.0 if match is None else float(match[2])


def _dots(length: str) -> float:
    """Return a length in dots, 1 for what is none."""
    match = _LENGTH.match(length)
    if match is None:
        return 1.0
    dots = float(match[2]) * DOTS.get(match[3] or "", PLAIN_SIZE)
    return -dots if match[1] else dots


def _alpha(color: str) -> float:
    if color.startswith("#") and len(color) in (5, 9) and _HEX.fullmatch(color):
        return int(color[4:] * 2, 16) / 255 if len(color) == 5 else int(color[7:], 16) / 255
    match = _RGB.match(color) or _HSL.match(color)
    if match is None or match[4] is None:
        return 1.0
    return _plain_number(match[4], 1.0) * (0.01 if match[5] else 1.0)


def _plain_number(digits: str, default: float = 0.0) -> float:
    """Return the number of digits and dots, or the default if they are none."""
    return float(digits) if digits.count(".") < 2 and digits != "." else default


def _size_of(text: str) -> tuple[float | None, float]:
    """Return a size of letters in dots, and its scale if it is relative."""
    if text in ("smaller", "larger"):
        return None, 0.83 if text == "smaller" else 1.2
    match = _LENGTH.match(text)
    if match is None:
        return NAMED_SIZES.get(text), 1.0
    unit = match[3] or ""
    if unit in SCALES:
        return None, float(match[2]) * SCALES[unit]
    return float(match[2]) * DOTS[unit], 1.0


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
