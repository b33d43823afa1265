"""Tokens of headers, with the header's name before each."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from stream_bayes.mail.text._fields import cut_addresses
from stream_bayes.mail.text._words import host_tokens, words_of
from stream_bayes.mail.text.web import hosts

__all__ = ["header_tokens", "is_verdict"]

# Headers written by other filters, or this one: a filter that learned from them would only learn to agree.
_VERDICT: Final = re.compile(
    r"x-stream-bayes|.*spam|.*bogosity|status$|x-(?:status|keywords|uidl?|mozilla-|evolution|gmail-labels|label)"
    r"|x-(?:dspam|crm114|pop-?file|text-class|bayes|sa-|rspamd|pmx|cmae|virus-?scan|amavis|mailscanner)"
    r"|x-(?:microsoft-anti|ms-exchange-organization-scl|forefront|exchange-anti|barracuda|ironport|proofpoint|cloudmark)"
    r"|x-(?:junk|scl|bulk-score|antivirus|perlmx|vade|mimedefang)|authentication-results|arc-authentication",
    re.IGNORECASE,
)
_ZONE = re.compile(r"[+-]\d{4}\b|\b(?:GMT|UTC|[ECMP][SD]T)\b")
_RUN = re.compile(r"[A-Za-z]{1,60}|[0-9]{1,60}")
_DIGITS = str.maketrans("0123456789", "0000000000")

_SIGNED: Final = frozenset(
    "dkim-signature domainkey-signature x-google-dkim-signature arc-seal arc-message-signature x-face thread-index"
    " x-gm-message-state x-google-smtp-source openpgp autocrypt face".split()
)
_IDS: Final = frozenset("message-id in-reply-to references resent-message-id content-id x-message-id".split())
_PEOPLE: Final = frozenset(
    "from to cc bcc reply-to sender return-path delivered-to envelope-to x-original-to resent-from"
    " resent-to mail-followup-to disposition-notification-to x-envelope-from x-sender apparently-to".split()
)
_ROUTES: Final = frozenset("received x-received x-originating-ip received-spf".split())
_READ_AS_STRUCTURE: Final = frozenset({"content-type", "content-transfer-encoding", "content-disposition"})
# Each repeats List-Id and Sender; a list would count a dozen times.
_REPEATING: Final = frozenset(
    "list-help list-post list-subscribe list-unsubscribe list-archive list-owner errors-to x-beenthere"
    " x-mailman-version".split()
)
_TIMES: Final = frozenset(
    {"date", "delivery-date", "resent-date", "x-original-date", "x-originalarrivaltime"}
)
_HOP_MARKS: Final = (
    *("helo", "unknown", "may be forged", "localhost", "esmtp"),
    *("smtpd", "smtpsvc", "with http", "dsl", "dial"),
)
MAX_WORDS: Final = 16  # of a header without a rule of its own


def is_verdict(name: str) -> bool:
    """Return True for a header in which filters write their verdicts."""
    return _rule_of(name) is None


def header_tokens(name: str, text: str, longest: int) -> list[str]:
    """Return the tokens of a header; none for a verdict. `name` is as it was written, `text` its value, decoded.
    `longest` is the most letters of a word.

    Examples
    --------
    >>> header_tokens("To", "Ann <ann@example.com>", 24)[1:]
    ['to:ann@example.com', 'to:example.com', 'to:com', 'to:ann@', 'to:Ann']
    """
    rule = _rule_of(name)
    if rule is None:
        return []
    mark, prefix, read = rule
    return [mark, *read(prefix, text, longest)]


ReadHeader = Callable[[str, str, int], list[str]]


@lru_cache(maxsize=1024)
def _rule_of(name: str) -> tuple[str, str, ReadHeader] | None:
    """Return a header's own token, its name in lower case, and what reads its text; None for a verdict."""
    if _VERDICT.match(name) is not None:
        return None
    lower = name.lower()
    return f"header:{name[:40]}", lower[:30], _reader_of(lower)


def _reader_of(name: str) -> ReadHeader:
    if name == "subject":
        return _subject
    if name in _PEOPLE:
        return _people
    if name in _ROUTES:
        return _route
    if name in _IDS:
        return _ids
    if name in _TIMES:
        return _time
    if name in _READ_AS_STRUCTURE or name in _REPEATING:
        return _nothing
    if name in _SIGNED:
        return _signature
    return _words


def _subject(name: str, text: str, longest: int) -> list[str]:
    return words_of(text, "subject:", longest, 200)


def _words(name: str, text: str, longest: int) -> list[str]:
    return words_of(text, f"{name}:", longest, MAX_WORDS)


def _nothing(name: str, text: str, longest: int) -> list[str]:
    return []


def _time(name: str, text: str, longest: int) -> list[str]:
    """Return a token of the zone: the time itself would only be memorised."""
    zone = _ZONE.search(text)
    return [f"{name}:{zone[0] if zone else 'no-zone'}"]


def _signature(name: str, text: str, longest: int) -> list[str]:
    return [f"{name}:{host}" for host in hosts(text.lower())[:3]]


def _people(name: str, text: str, longest: int) -> list[str]:
    """Return tokens of addresses, their domains, and names."""
    addresses, rest = cut_addresses(text)
    tokens: list[str] = []
    for user, host in addresses[:10]:
        user, host = user.lower(), host.lower()
        tokens.append(f"{name}:{user}@{host}")
        tokens += host_tokens(name, host)
        tokens.append(f"{name}:{user.translate(_DIGITS)[:24]}@")
    if not addresses:
        tokens.append(f"{name}:no-address")
    elif len(addresses) > 1:
        tokens.append(f"{name}:*{min(len(addresses), 8)}")
    tokens += words_of(rest, f"{name}:", longest, MAX_WORDS)
    return tokens


def _route(name: str, text: str, longest: int) -> list[str]:
    """Return tokens of the hosts and networks of a hop, and of its protocol."""
    text = text.lower()
    tokens: list[str] = []
    for host in dict.fromkeys(hosts(text)[:8]):
        tokens += host_tokens("received", host)
    return tokens + [f"received:{mark}" for mark in _HOP_MARKS if mark in text]


def _ids(name: str, text: str, longest: int) -> list[str]:
    """Return tokens of the hosts of message ids, and of an id's shape; the rest of an id never recurs."""
    addresses, _ = cut_addresses(text)
    if not addresses:
        return [f"{name}:no-host"]
    tokens: list[str] = []
    for host in dict.fromkeys(host.lower() for _, host in addresses[:8]):
        tokens += host_tokens(name, host)
    if name == "message-id":
        tokens.append("message-id:" + _RUN.sub(_shape_of_run, addresses[0][0])[:24])
    return tokens


def _shape_of_run(run: re.Match[str]) -> str:
    return ("0" if run[0][0].isdigit() else "a") + str(min(len(run[0]), 20))
