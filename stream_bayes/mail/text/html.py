"""A page of HTML: the text that is seen, the text that is hidden, and its tags as tokens.

One pass over the tags, without a tree, so time and memory are bounded by counts. Tags that begin a line leave a blank:
words of two cells do not run together, while `Via<b></b>gra` stays one word. Hidden text is no content: it becomes a
few tokens of its own, so that a spam cannot dilute itself with invisible words.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from stream_bayes.mail.text._pages import attributes_of, walk_page
from stream_bayes.mail.text.styles import PLAIN, UNKNOWN, Style, color_of, parse_sheet, parse_style

__all__ = ["Markup", "Page", "markup_of", "read_page"]

# Elements without content for a reader, and comments. A comment may hold a tag, and a style sheet a comment.
_UNREAD = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|title)\b[^>]{0,500}>(.*?)(?:</\1\b[^>]{0,200}>?|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_RUN = re.compile(r"<{2,}")
_ANY_TAG = re.compile(r"</?[a-zA-Z][^<>]*>?|<[!?][^<>]*>?")
_LONG_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}")  # of no letter; too long a number raises an error
_BREAK = re.compile(
    r"<(?=/?(?:p|br|div|td|th|tr|table|li|ul|ol|h[1-6]|hr|center|blockquote|pre|option|dd|dt|title|img|input)\b)",
    re.IGNORECASE,
)
_NEVER_SEEN: Final = frozenset("template datalist iframe noembed noframes".split())
# Without any of these no text is hidden, and the tags need not be followed.
_MAY_HIDE = re.compile(
    r"style|display|hidden|color|opacity|font|template|datalist|iframe|noembed|noframes", re.IGNORECASE
)
MAX_FOLLOWED: Final = 2_000  # tags whose styles are read; the style after the last one holds for the rest
MAX_ENTITIES: Final = 5_000  # that are decoded
MAX_OPEN: Final = 100  # elements within one another
MAX_HIDDEN_WORDS: Final = 20  # that become tokens
NEAR: Final = 24  # between the red, green and blue of two colours that look the same
_WORD = re.compile(r"\w{3,24}")

_TAG = re.compile(r"<([a-zA-Z][^<>]{0,600})")
_NAME = re.compile(r"[a-zA-Z0-9]{1,16}")
_HIDING = re.compile(
    r"display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?[01](?:px|pt)?\b|\bcolor\s?:\s?(?:#f{3,6}|white)\b"
)

_EVIDENT_TAGS: Final = frozenset(
    "a area b base big body button center embed font form frame h1 h2 h3 head html iframe img input link marquee meta"
    " object script select span strong style table td textarea title u".split()
)
_KNOWN_TAGS: Final = _EVIDENT_TAGS | frozenset(
    "abbr acronym address article aside audio bdo blink blockquote br canvas caption cite code col colgroup dd del dfn"
    " dir div dl doctype dt em fieldset footer frameset h4 h5 h6 header hr i ins kbd label legend li map menu nav nobr"
    " noframes noscript o ol optgroup option p param pre q s samp section small source strike sub sup svg tbody tfoot"
    " th thead tr tt ul v var video w wbr xml bgsound layer ilayer multicol spacer".split()
)
_LINK_ATTRIBUTES: Final = frozenset({"href", "src", "action", "background"})
_LOOK_ATTRIBUTES: Final = frozenset({"color", "bgcolor", "size", "face"})
MAX_TAGS = 3_000


class Markup(NamedTuple):
    """The tokens of a page's tags, and its links."""

    tokens: list[str]
    links: list[str]


class Page(NamedTuple):
    """The text of a page, and tokens of what it hides."""

    text: str
    hidden: list[str]


def read_page(source: str) -> Page:
    """Return the visible text, and tokens of hidden text.

    Examples
    --------
    >>> read_page("<style>p {}</style><p>Che<b></b>ap</p><p>&euro;5<!-- no -->0</p>").text.split()
    ['Cheap', '€50']
    >>> read_page("<p>Cheap</p><p style='display:none'>Dear Ann,</p>")
    Page(text=' Cheap   ', hidden=['hidden:display', 'hidden:*2', 'hidden:Dear', 'hidden:Ann'])
    """
    sheets: list[str] = []
    if "<<" in source:
        source = _RUN.sub("<", source)

    def cut(match: re.Match[str]) -> str:
        if match[2] and match[1].lower() == "style":
            sheets.append(match[2])
        return " " if match[1] and match[1].lower() == "title" else ""

    source = _UNREAD.sub(cut, source)
    if not sheets and not _MAY_HIDE.search(source):
        return Page(_text(_ANY_TAG.sub("", _BREAK.sub(" <", source))), [])
    return _walk(source, parse_sheet("\n".join(sheets)) if sheets else {})


def _text(source: str) -> str:
    """Return a text with its entities decoded."""
    if "&" not in source:
        return source
    parts = source.split("&", MAX_ENTITIES)
    rest = f"&{parts.pop()}" if len(parts) > MAX_ENTITIES else ""
    return unescape(_LONG_NUMBER.sub(" ", "&".join(parts))) + rest


class _Look(NamedTuple):
    """The style of an element with all that it inherits, and the reason why its text is hidden."""

    style: Style
    hidden: str


_PAPER: Final = _Look(Style(color=0x000000, background=0xFFFFFF), "")


def _walk(source: str, sheet: dict[str, Style]) -> Page:
    """Return the visible text of a page, and tokens of the hidden text."""

    def style_of(name: str, attributes: str) -> Style:
        style = sheet.get(name, PLAIN)
        if attributes and not attributes.isspace():
            own, inline, selectors = _read_attributes(attributes)
            for selector in selectors if sheet else ():
                own = own.under(sheet.get(selector, PLAIN))
            style = style.under(own.under(inline))
        elif name in _NEVER_SEEN:
            style = style.under(Style(removed="element"))
        return PLAIN if style == PLAIN else style

    shown, concealed, reasons, look, rest = walk_page(
        source, _PAPER, style_of, PLAIN, _seen_through, MAX_FOLLOWED, MAX_OPEN
    )
    if rest >= 0:
        reasons["many-tags"] = None
        text = _ANY_TAG.sub("", _BREAK.sub(" <", source[rest:]))
        if not look.hidden:
            shown.append(text)
        elif not text.isspace():
            concealed.append(text)
            reasons[look.hidden] = None
    return Page(_text("".join(shown)), _tokens_of_hidden(concealed, reasons))


def _tokens_of_hidden(concealed: list[str], reasons: dict[str, None]) -> list[str]:
    """Return the tokens of hidden text: the means, its size, and its first words."""
    tokens = [f"hidden:{reason}" for reason in reasons]
    if concealed:
        words = _WORD.findall(_text(" ".join(concealed))[:65_536])
        tokens.append(f"hidden:*{_size(max(len(words), 1))}")
        tokens += [f"hidden:{word}" for word in list(dict.fromkeys(words))[:MAX_HIDDEN_WORDS]]
    return tokens


@lru_cache(maxsize=4096)
def _seen_through(outer: _Look, own: Style) -> _Look:
    """Return the look of an element within another one."""
    style = outer.style.under(own)
    hidden = style.removed or ("size" if style.tiny else "visibility" if style.invisible else "")
    ink, paper = style.color, style.background
    if not hidden and ink is not None and paper is not None and UNKNOWN not in (ink, paper):
        apart = max(abs((ink >> shift & 255) - (paper >> shift & 255)) for shift in (0, 8, 16))
        hidden = "color" if apart <= NEAR else ""
    return _Look(style, hidden)


@lru_cache(maxsize=8192)
def _read_attributes(attributes: str) -> tuple[Style, Style, tuple[str, ...]]:
    """Return the style of presentational attributes, that of the attribute `style`, and selectors to look up."""
    style, inline = PLAIN, PLAIN
    selectors: list[str] = []
    for name, value in attributes_of(attributes, 0):
        if name == "style":
            inline = parse_style(unescape(_LONG_NUMBER.sub(" ", value)))
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


def markup_of(source: str) -> Markup:
    """Return tokens of tags, comments and tricks that hide text; and the targets of links.

    Examples
    --------
    >>> markup_of('<p>a<font color="#ffffff" size=1>b</font><a href=http://x.de/>c<!-- d -->').tokens
    ['html:font', 'html:color=#ffffff', 'html:size=1', 'html:a', 'html:comment']
    """
    tags = Counter(_TAG.findall(source)[:MAX_TAGS])
    names: dict[str, int] = {}
    tokens: dict[str, None] = {}
    found: dict[str, None] = {}
    for tag, count in tags.items():
        name, evidence, links = _read_tag(tag)
        names[name] = names.get(name, 0) + count
        for token in evidence:
            tokens[token] = None
        for link in links:
            found[link] = None
    for name, count in names.items():
        if count > 3 and name in _EVIDENT_TAGS:
            tokens[f"html:{name}*{_size(count)}"] = None
    comments = source.count("<!--")
    if comments:
        tokens["html:comment"] = None
        if comments > 3:
            tokens[f"html:comment*{_size(comments)}"] = None
    if source.count("&#") > 20:
        tokens["html:entities"] = None
    return Markup(list(tokens), list(found))


@lru_cache(maxsize=8192)
def _read_tag(tag: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the name of a tag, its tokens and its links."""
    match = _NAME.match(tag)
    name = match[0].lower() if match else ""
    tokens = [f"html:{name}"] if name in _EVIDENT_TAGS else [] if name in _KNOWN_TAGS else ["html:unknown"]
    links: list[str] = []
    for attribute, value in attributes_of(tag, len(name)):
        if attribute in _LINK_ATTRIBUTES:
            value = unescape(value.strip())
            links.append(value)
            if value[:4].lower() == "cid:":
                tokens.append("html:cid")
            elif value[:11].lower() == "javascript:":
                tokens.append("html:javascript")
        elif attribute in _LOOK_ATTRIBUTES:
            tokens.append(f"html:{attribute}={value[:20].lower()}")
        elif attribute == "style":
            tokens += ["html:" + "".join(found.split()) for found in _HIDING.findall(value.lower())]
        elif attribute in ("width", "height"):
            if value in ("0", "1"):
                tokens.append(f"html:{attribute}={value}")
        elif attribute[:2] == "on":
            tokens.append(f"html:{attribute}")
    return name, tuple(tokens), tuple(links)


def _size(count: int) -> int:
    """Return the largest power of two up to a count."""
    return 1 << (count.bit_length() - 1)
