"""Tokens of web addresses and host names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote

from stream_bayes.mail.text._words import host_tokens, hosts_of

__all__ = ["address_of_link", "bare_addresses", "cut_urls", "hosts", "url_tokens"]

# Every repetition is bounded, so a failed match costs a constant.
_REST = re.compile(r"""[^\s"'<>()\[\]{}|\\^`]{3,400}""")
_SPLIT = re.compile(r"[/?&=+._;,~:%#@!-]{1,20}")
# Domains in which a host is an address even without a path; others, which file names may end with, need one.
_DOMAIN = re.compile(
    r"\.(?:(?:com|net|org|info|biz|ru|cn|top|xyz|club|online|site|shop|store|icu|click|link|vip|win|bid|loan|live|space"
    r"|website|tk|ml|ga|cf|gq|pw|cc|ws)(?![\w@-]|\.\w)|[a-zA-Z]{2,3}(?=/\w))",
    re.IGNORECASE,
)
_HOST_BEFORE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,62})\Z")
_SCHEMES = ("https", "http", "ftp")
MAX_ADDRESSES = 100  # of one text
MAX_EXAMINED = 1_000  # places of one text that may begin an address
MAX_PATH_WORDS = 12
MAX_REDIRECTS = 3  # addresses within one another
_INNER = re.compile(r"https?:/{1,2}(?=\w)", re.IGNORECASE)
_REWRITTEN = re.compile(r"[?&]u=([^&]{8,400})")  # by URLDefense, version 2


_BROKEN = str.maketrans("", "", "\t\n\r")
_OTHER_SITE = re.compile(
    r"(?:(https?|ftp):)?[/\\]{2,9}(?=[^/\\])|(https?|ftp):[/\\]?(?=[^/\\])", re.IGNORECASE
)
_ABSOLUTE = re.compile(r"[a-z]{2,6}://|www\.|mailto:", re.IGNORECASE)


def address_of_link(value: str) -> str:
    r"""Return the address to which a link leads as browsers read it, which mend slashes and breaks; "" for a link
    within a site.

    Examples
    --------
    >>> [address_of_link(link) for link in (" //a.example/b", "ht\ntps:\\\\a.example/b", "b/c.html")]
    ['http://a.example/b', 'https://a.example/b', '']
    """
    value = value.strip().translate(_BROKEN)
    match = _OTHER_SITE.match(value)
    if match is not None:
        host, mark, path = value[match.end() :].replace("\\", "/").partition("/")
        return f"{match[1] or match[2] or 'http'}://{host}{mark}{path}"
    return value if _ABSOLUTE.match(value) else ""


def hosts(text: str) -> list[str]:
    """Return host names and IP addresses in lower-case text.

    Examples
    --------
    >>> hosts("from mx.example.com (unknown [10.1.2.3]) by localhost v1.2;")
    ['mx.example.com', '10.1.2.3']
    """
    return hosts_of(text)


def cut_urls(text: str) -> tuple[str, list[str]]:
    """Return a text without its web addresses, and these without repetition.

    Examples
    --------
    >>> cut_urls("See http://example.com/buy now, or www.example.org")
    ('See   now, or  ', ['http://example.com/buy', 'www.example.org'])
    """
    starts: list[int] = []
    start, examined = text.find("://"), 0
    while start >= 0 and len(starts) < MAX_ADDRESSES and examined < MAX_EXAMINED:
        examined += 1
        before = text[max(start - 5, 0) : start].lower()
        scheme = next((scheme for scheme in _SCHEMES if before.endswith(scheme)), None)
        if scheme is not None:
            starts.append(start - len(scheme))
        start = text.find("://", start + 3)
    start = text.find("www.")
    while start >= 0 and len(starts) < 2 * MAX_ADDRESSES:
        starts.append(start)
        start = text.find("www.", start + 4)
    if not starts:
        return text, []
    kept: list[str] = []
    urls: dict[str, None] = {}
    done = 0
    for start in sorted(starts):
        match = _REST.match(text, start) if start >= done else None
        if match is not None:
            kept.append(text[done:start])
            urls[match[0]] = None
            done = match.end()
    kept.append(text[done:])
    return " ".join(kept), list(urls)


def bare_addresses(text: str) -> list[str]:
    """Return web addresses without a scheme in text, without repetition.

    Examples
    --------
    >>> bare_addresses("Buy at shop.example.com/now or pills.biz, not ann@example.com or file.c, foo.de/page")
    ['shop.example.com/now', 'pills.biz', 'foo.de/page']
    """
    addresses: dict[str, None] = {}
    for count, match in enumerate(_DOMAIN.finditer(text)):
        if count == MAX_EXAMINED or len(addresses) == MAX_ADDRESSES:
            break
        before = _HOST_BEFORE.search(text, max(match.start() - 100, 0), match.start())
        start = match.start() if before is None else before.start()
        if start == match.start() or (start and text[start - 1] in "@/:=._-"):
            continue
        rest = _REST.match(text, match.end()) if text.startswith("/", match.end()) else None
        addresses[text[start : match.end() if rest is None else rest.end()]] = None
    return list(addresses)


def url_tokens(addresses: Iterable[str]) -> list[str]:
    """Return tokens of web addresses, with a scheme or without: hosts, domains, words of paths, and tricks.

    Examples
    --------
    >>> url_tokens(["http://www.example.com:81/buy/now?id=7"])
    ['url:www.example.com', 'url:example.com', 'url:com', 'url:port', 'path:buy', 'path:now', 'path:id', 'path:7']
    """
    tokens: list[str] = []
    for address in addresses:
        tokens += _tokens_of(address)
        for _ in range(MAX_REDIRECTS):
            address = inner_address(address)
            if not address:
                break
            tokens += ("url:redirect", *_tokens_of(address))
    return tokens


def inner_address(address: str) -> str:
    """Return the address to which another one leads, if it is written in that one; else "".

    Examples
    --------
    >>> inner_address("https://www.google.com/url?q=https%3A%2F%2Fpills.example%2Fbuy&sa=D")
    'https://pills.example/buy'
    >>> inner_address("https://urldefense.proofpoint.com/v2/url?u=http-3A__pills.example_buy&d=x")
    'http://pills.example/buy'
    """
    rewritten = _REWRITTEN.search(address) if "urldefense" in address[:60].lower() else None
    if rewritten is not None:
        return unquote(rewritten[1].replace("-", "%").replace("_", "/"))
    match = _INNER.search(address, 8)
    if match is None and "%" in address:
        match = _INNER.search(address := unquote(address), 8)
        if match is None and "%" in address:  # quoted twice
            match = _INNER.search(address := unquote(address), 8)
    if match is None:
        return ""
    return address[match.start() :].partition("&")[0].partition("__;")[0]


@lru_cache(maxsize=4096)
def _tokens_of(address: str) -> tuple[str, ...]:
    scheme, mark, rest = address.partition("://")
    if not mark:
        if address[:7].lower() == "mailto:":
            host = address.lower().partition("@")[2].partition("?")[0][:100]
            return ("url:mailto", *(host_tokens("url", host) if host else ()))
        rest = address
    tokens: list[str] = []
    authority, _, path = rest.partition("/")
    if "?" in authority:
        authority, _, query = authority.partition("?")
        path = f"{query}/{path}"
    _, at, host = authority.rpartition("@")
    host, colon, _ = host.partition(":")
    if "%" in host:
        tokens.append("url:escaped")
        host = unquote(host[:300])
    if not host.isascii():  # browsers take other forms of letters and full stops for the plain ones
        host = unicodedata.normalize("NFKC", host[:300]).replace("\u3002", ".")
    host = host.lower().rstrip(".,;:!?")[:100]
    if host:
        tokens += host_tokens("url", host)
        if host.replace(".", "").isdigit():
            tokens.append("url:ip")
    if at:
        tokens.append("url:user")
    if colon:
        tokens.append("url:port")
    if mark and scheme.lower() == "https":
        tokens.append("url:https")
    tokens += [f"path:{word[:24]}" for word in _SPLIT.split(path.lower())[:MAX_PATH_WORDS] if word]
    return tuple(tokens)
