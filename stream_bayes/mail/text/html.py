"""The visible text of HTML, and its tags as tokens.

The text comes from selectolax if it is installed, and otherwise from regular expressions. Both get the same source, in
which tags that begin a line have a blank before them: words of two cells do not run together, while `Via<b></b>gra`
stays one word. Tags, links and tricks that hide text are read from the source itself, so they are the same with both.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

try:
    from selectolax.lexbor import LexborHTMLParser
except ImportError:  # the extra `mail` is not installed
    LexborHTMLParser = None  # type: ignore[assignment,misc]  # a class, otherwise

__all__ = [
    "Markup",
    "markup_of",
    "selectolax_is_installed",
    "text_by_expressions",
    "text_by_selectolax",
    "visible_text",
]

_BREAK = re.compile(
    r"<(?=/?(?:p|br|div|td|th|tr|table|li|ul|ol|h[1-6]|hr|center|blockquote|pre|option|dd|dt|title|img|input)\b)",
    re.IGNORECASE,
)
_TAG = re.compile(r"<([a-zA-Z][^<>]{0,600})")
_NAME = re.compile(r"[a-zA-Z0-9]{1,16}")
_ATTRIBUTE = re.compile(
    r"""([a-zA-Z]{1,20})\s{0,5}=\s{0,5}(?:"([^"<>]{0,400})|'([^'<>]{0,400})|([^\s"'<>]{1,400}))"""
)
_HIDING = re.compile(
    r"display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?[01](?:px|pt)?\b|\bcolor\s?:\s?(?:#f{3,6}|white)\b"
)
_MARK_UP = re.compile(r"</?[a-zA-Z][^<>]*>?|<[!?][^<>]*>?")

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


def selectolax_is_installed() -> bool:
    """Return True if selectolax is installed."""
    return LexborHTMLParser is not None


def visible_text(source: str) -> str:
    """Return the text between the tags.

    Examples
    --------
    >>> visible_text("<style>p {}</style><p>Che<b></b>ap</p><p>&euro;5<!-- no -->0</p>").split()
    ['Cheap', '€50']
    """
    return text_by_expressions(source) if LexborHTMLParser is None else text_by_selectolax(source)


def text_by_selectolax(source: str) -> str:
    """Return the text by selectolax."""
    tree = LexborHTMLParser(_BREAK.sub(" <", source))
    tree.strip_tags(["script", "style", "title"])
    root = tree.root
    return "" if root is None else root.text(deep=True, separator="")


def text_by_expressions(source: str) -> str:
    """Return the text by regular expressions: the same on valid HTML."""
    source = _without(source, "<!--", "-->")
    for name in ("script", "style", "title"):
        source = _without_element(source, name)
    return unescape(_MARK_UP.sub("", _BREAK.sub(" <", source)))


def _without(source: str, opening: str, closing: str) -> str:
    """Return a text without all between two marks; up to its end if the second is missing."""
    begin = source.find(opening)
    if begin < 0:
        return source
    kept, done = [], 0
    while begin >= 0:
        kept.append(source[done:begin])
        end = source.find(closing, begin + len(opening))
        if end < 0:
            return "".join(kept)
        done = end + len(closing)
        begin = source.find(opening, done)
    kept.append(source[done:])
    return "".join(kept)


def _without_element(source: str, name: str) -> str:
    """Return a text without the elements of a name and their content."""
    lower = source.lower()
    if len(lower) != len(source):  # a letter whose lower case has another length; positions would not match
        lower = source
    opening, closing = f"<{name}", f"</{name}"
    begin = lower.find(opening)
    kept, done = [], 0
    while begin >= 0:
        kept.append(source[done:begin])
        end = lower.find(closing, begin)
        close = lower.find(">", end) if end >= 0 else -1
        if close < 0:
            return "".join(kept)
        done = close + 1
        begin = lower.find(opening, done)
    kept.append(source[done:])
    return "".join(kept)


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
    for attribute, double, single, bare in _ATTRIBUTE.findall(tag):
        attribute, value = attribute.lower(), double or single or bare
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
