"""The tags of a page of HTML as tokens, and its links."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from stream_bayes.mail.text._pages import attributes_of
from stream_bayes.mail.text.entities import unescaped

__all__ = ["Markup", "markup_of", "rounded"]

_TAG = re.compile(r"<([a-zA-Z][^<>]{0,2000})")
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
_LINK_ATTRIBUTES: Final = frozenset(
    {"href", "xlink:href", "src", "action", "formaction", "background", "data", "poster"}
)
_STYLE_LINK = re.compile(r"url\(\s{0,5}[\"']?\s{0,5}([^\s\"'()]{1,500})", re.IGNORECASE)
_SHEET_LINK = re.compile(
    r"(?:\burl\(\s{0,5}[\"']?|@import\s{1,5}[\"'])\s{0,5}([^\s\"'()<>]{1,500})", re.IGNORECASE
)
MAX_SHEET_LINKS = 50
_REFRESH = re.compile(r"\s{0,9}\d{0,9}[\s;,]{1,9}(?:url\s{0,9}=)?\s{0,9}[\"']?(.{1,500})", re.IGNORECASE)
_LOOK_ATTRIBUTES: Final = frozenset({"color", "bgcolor", "size", "face"})
MAX_TAGS = 3_000


class Markup(NamedTuple):
    """The tokens of a page's tags, and its links."""

    tokens: list[str]
    links: list[str]


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
    targets: dict[str, None] = {}
    for tag, count in tags.items():
        name, evidence, links = _read_tag(tag)
        names[name] = names.get(name, 0) + count
        for token in evidence:
            tokens[token] = None
        for link in links:
            targets[link] = None
    for name, count in names.items():
        if count > 3 and name in _EVIDENT_TAGS:
            tokens[f"html:{name}*{rounded(count)}"] = None
    if "url(" in source.lower() or "@import" in source:
        targets.update(
            dict.fromkeys(match[1] for match in islice(_SHEET_LINK.finditer(source), MAX_SHEET_LINKS))
        )
    comments = source.count("<!--")
    if comments:
        tokens["html:comment"] = None
        if comments > 3:
            tokens[f"html:comment*{rounded(comments)}"] = None
    if source.count("&#") > 20:
        tokens["html:entities"] = None
    return Markup(list(tokens), list(targets))


@lru_cache(maxsize=8192)
def _read_tag(tag: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the name of a tag, its tokens and its links."""
    match = _NAME.match(tag)
    name = match[0].lower() if match else ""
    tokens = [f"html:{name}"] if name in _EVIDENT_TAGS else [] if name in _KNOWN_TAGS else ["html:unknown"]
    links: list[str] = []
    for attribute, value in attributes_of(tag, len(name)):
        if attribute in _LINK_ATTRIBUTES:
            value = unescaped(value.strip())
            links.append(value)
            if value[:4].lower() == "cid:":
                tokens.append("html:cid")
            elif value[:11].lower() == "javascript:":
                tokens.append("html:javascript")
        elif attribute in _LOOK_ATTRIBUTES:
            tokens.append(f"html:{attribute}={value[:20].lower()}")
        elif attribute == "content" and name == "meta":
            refresh = _REFRESH.match(unescaped(value))
            if refresh is not None:
                links.append(refresh[1])
        elif attribute == "style":
            links += _STYLE_LINK.findall(unescaped(value)) if "url(" in value.lower() else ()
            tokens += ["html:" + "".join(hiding.split()) for hiding in _HIDING.findall(value.lower())]
        elif attribute in ("width", "height"):
            if value in ("0", "1"):
                tokens.append(f"html:{attribute}={value}")
        elif attribute[:2] == "on":
            tokens.append(f"html:{attribute}")
    return name, tuple(tokens), tuple(links)


def rounded(count: int) -> int:
    """Return the largest power of two up to a count, as tokens have it."""
    return 1 << (count.bit_length() - 1)
