"""Tokens of web addresses and host names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from stream_bayes.mail.text._words import dotted_runs

__all__ = ["cut_urls", "host_tokens", "hosts", "url_tokens"]

# Every repetition is bounded, so a failed match costs a constant.
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_REST = re.compile(r"""[^\s"'<>()\[\]{}|\\^`]{3,400}""")
_SPLIT = re.compile(r"[/?&=+._;,~:%#@!-]{1,20}")
_SCHEMES = ("https", "http", "ftp")
MAX_ADDRESSES = 100  # of one text
MAX_PATH_WORDS = 12


def hosts(text: str) -> list[str]:
    """Return host names and IP addresses in lower-case text.

    Examples
    --------
    >>> hosts("from mx.example.com (unknown [10.1.2.3]) by localhost v1.2;")
    ['mx.example.com', '10.1.2.3']
    """
    found = []
    for run in dotted_runs(text):
        last = run[run.rindex(".") + 1 :]
        if (last.isalpha() and len(last) > 1) or (run.count(".") == 3 and run.replace(".", "").isdigit()):
            found.append(run)
    return found


def cut_urls(text: str) -> tuple[str, list[str]]:
    """Return a text without its web addresses, and these without repetition.

    Examples
    --------
    >>> cut_urls("See http://example.com/buy now, or www.example.org")
    ('See   now, or  ', ['http://example.com/buy', 'www.example.org'])
    """
    starts: list[int] = []
    place = text.find("://")
    while place >= 0 and len(starts) < MAX_ADDRESSES:
        before = text[max(place - 5, 0) : place].lower()
        scheme = next((scheme for scheme in _SCHEMES if before.endswith(scheme)), None)
        if scheme is not None:
            starts.append(place - len(scheme))
        place = text.find("://", place + 3)
    place = text.find("www.")
    while place >= 0 and len(starts) < 2 * MAX_ADDRESSES:
        starts.append(place)
        place = text.find("www.", place + 4)
    if not starts:
        return text, []
    kept: list[str] = []
    found: dict[str, None] = {}
    done = 0
    for start in sorted(starts):
        match = _REST.match(text, start) if start >= done else None
        if match is not None:
            kept.append(text[done:start])
            found[match[0]] = None
            done = match.end()
    kept.append(text[done:])
    return " ".join(kept), list(found)


@lru_cache(maxsize=4096)
def host_tokens(prefix: str, host: str) -> tuple[str, ...]:
    """Return tokens of a host and of its domains or networks.

    Examples
    --------
    >>> host_tokens("url", "mail.shop.example.com")
    ('url:mail.shop.example.com', 'url:shop.example.com', 'url:example.com', 'url:com')
    >>> host_tokens("url", "10.1.2.3")
    ('url:10.1.2.3', 'url:10.1.2', 'url:10.1')
    """
    parts = host.split(".")
    if parts[-1].isdigit():
        return tuple([f"{prefix}:{'.'.join(parts[:kept])}" for kept in range(len(parts), 1, -1)])
    return tuple([f"{prefix}:{'.'.join(parts[skip:])}" for skip in range(max(0, len(parts) - 4), len(parts))])


def url_tokens(addresses: Iterable[str]) -> list[str]:
    """Return tokens of web addresses: hosts and domains, words of paths, and tricks that hide a host.

    Examples
    --------
    >>> url_tokens(["http://www.example.com:81/buy/now?id=7"])
    ['url:www.example.com', 'url:example.com', 'url:com', 'url:port', 'path:buy', 'path:now', 'path:id', 'path:7']
    """
    return [token for address in addresses for token in _tokens_of(address)]


@lru_cache(maxsize=4096)
def _tokens_of(address: str) -> tuple[str, ...]:
    scheme, mark, rest = address.partition("://")
    if not mark:
        if address[:7].lower() == "mailto:":
            host = address.lower().partition("@")[2].partition("?")[0][:100]
            return ("url:mailto", *(host_tokens("url", host) if host else ()))
        if address[:4].lower() != "www.":
            return ()
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
        host = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), host)
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
