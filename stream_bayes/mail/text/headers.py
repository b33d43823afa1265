"""Tokens of headers, with the header's name before each."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from stream_bayes.mail.text._words import words_of
from stream_bayes.mail.text.charsets import decode_text
from stream_bayes.mail.text.web import host_tokens, hosts

__all__ = ["field_tokens", "header_tokens", "is_verdict"]

# Headers written by other filters, or this one: a filter that learned from them would only learn to agree.
_VERDICT: Final = re.compile(
    r"x-stream-bayes|.*spam|.*bogosity|status$|x-(?:status|keywords|uidl?|mozilla-|evolution|gmail-labels|label)"
    r"|x-(?:dspam|crm114|pop-?file|text-class|bayes|sa-|rspamd|pmx|cmae|virus-?scan|amavis|mailscanner)"
    r"|x-(?:microsoft-anti|ms-exchange-organization-scl|forefront|exchange-anti|barracuda|ironport|proofpoint|cloudmark)"
    r"|x-(?:junk|scl|bulk-score|antivirus|perlmx|vade|mimedefang)|authentication-results|arc-authentication",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"([\w.+=&'*/-]{1,64})@((?:[\w-]{1,63}\.){0,8}[\w-]{1,63})")
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


@lru_cache(maxsize=1024)
def is_verdict(name: str) -> bool:
    """Return True for a header in which filters write their verdicts."""
    return _VERDICT.match(name) is not None


@lru_cache(maxsize=4096)
def field_tokens(name: str, value: bytes, longest: int) -> tuple[str, ...]:
    """Return the tokens of a header without encoded words; none for a verdict. Cached: many headers recur."""
    return () if is_verdict(name) else header_tokens(name, decode_text(value, "")[0], longest)


def header_tokens(name: str, text: str, longest: int) -> tuple[str, ...]:
    """Return the tokens of a header.

    Parameters
    ----------
    name
        As it was written.
    text
        Its value, decoded.
    longest
        The most letters of a word.

    Examples
    --------
    >>> header_tokens("To", "Ann <ann@example.com>", 24)[1:]
    ('to:ann@example.com', 'to:example.com', 'to:com', 'to:ann@', 'to:Ann')
    """
    lower = name.lower()
    mark = f"header:{name[:40]}"
    if lower == "subject":
        return (mark, *words_of(text, "subject:", longest, 200))
    if lower in _PEOPLE:
        return (mark, *_people(lower, text, longest))
    if lower in _ROUTES:
        return (mark, *_route(text.lower()))
    if lower in _IDS:
        return (mark, *_ids(lower, text))
    if lower in _TIMES:
        # The time itself would only be memorised.
        zone = _ZONE.search(text)
        return (mark, f"{lower}:{zone[0] if zone else 'no-zone'}")
    if lower in _READ_AS_STRUCTURE or lower in _REPEATING:
        return (mark,)
    if lower in _SIGNED:
        return (mark, *[f"{lower}:{host}" for host in hosts(text.lower())[:3]])
    return (mark, *words_of(text, f"{lower[:30]}:", longest, MAX_WORDS))


def _people(name: str, text: str, longest: int) -> list[str]:
    """Return tokens of addresses, their domains, and names."""
    addresses = _ADDRESS.findall(text) if "@" in text else []
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
    rest = _ADDRESS.sub(" ", text) if addresses else text
    tokens += words_of(rest, f"{name}:", longest, MAX_WORDS)
    return tokens


def _route(text: str) -> list[str]:
    """Return tokens of the hosts and networks of a hop, and of its protocol."""
    tokens: list[str] = []
    for host in dict.fromkeys(hosts(text)[:8]):
        tokens += host_tokens("received", host)
    return tokens + [f"received:{mark}" for mark in _HOP_MARKS if mark in text]


def _ids(name: str, text: str) -> list[str]:
    """Return tokens of the hosts of message ids, and of an id's shape; the rest of an id never recurs."""
    found = _ADDRESS.findall(text) if "@" in text else []
    if not found:
        return [f"{name}:no-host"]
    tokens: list[str] = []
    for host in dict.fromkeys(host.lower() for _, host in found[:8]):
        tokens += host_tokens(name, host)
    if name == "message-id":
        tokens.append("message-id:" + _RUN.sub(_shape_of_run, found[0][0])[:24])
    return tokens


def _shape_of_run(run: re.Match[str]) -> str:
    return ("0" if run[0][0].isdigit() else "a") + str(min(len(run[0]), 20))
