"""Senders of a mail compared with one another, and what the receiving server found out about them.

    From: Bank <service@bank.example>          sender:dkim-other       signed by another domain
    Reply-To: x@mail.example                   sender:reply-other      answers go to another domain
    DKIM-Signature: ... d=bulk.example

`Authentication-Results` can be written by anybody. It counts only if it names the server whose results are trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from stream_bayes.mail.text._fields import cut_addresses
from stream_bayes.mail.text.structure import Header

__all__ = ["authentication_tokens", "is_aligned", "sender_tokens"]

_SIGNER: Final = re.compile(rb"(?:^|;)\s{0,20}d\s{0,5}=\s{0,5}([\w.-]{3,100})")
_RESULT: Final = re.compile(
    r"(?:^|;)\s{0,20}(spf|dkim|dmarc|arc|iprev|auth|bimi|compauth)\s{0,3}=\s{0,3}([a-z]{2,12})([^;]{0,400})"
)
_SIGNED_BY: Final = re.compile(r"header\.(?:d|i)\s{0,3}=\s{0,3}(?:[^\s;@]{0,60}@)?([\w.-]{3,100})")
_COMMENT: Final = re.compile(r"\([^()]{0,300}\)")
_INSTANCE: Final = re.compile(r"\s{0,5}i\s{0,3}=\s{0,3}\d{1,3}\s{0,3};")
# Of a domain of two letters, those below which others register: co.uk, com.br.
_SECOND_LEVEL: Final = frozenset(
    {"co", "com", "org", "net", "gov", "edu", "ac", "or", "ne", "go", "gob", "mil"}
)
RESULTS: Final = ("authentication-results", "arc-authentication-results")


def sender_tokens(headers: list[Header]) -> list[str]:
    """Return tokens of whether answers go, and signatures belong, to the domain of the sender.

    Examples
    --------
    >>> sender_tokens([("From", b"a@mail.bank.example"), ("Reply-To", b"b@bank.example"),
    ...     ("DKIM-Signature", b"v=1; d=bulk.example; s=x")])
    ['sender:reply-same', 'sender:dkim-other']
    """
    domain = _domain_in(headers, "from")
    if not domain:
        return []
    tokens: list[str] = []
    for name, prefix in (("reply-to", "reply"), ("return-path", "return"), ("sender", "sender")):
        other = _domain_in(headers, name)
        if other:
            tokens.append(f"sender:{prefix}-{'same' if other == domain else 'other'}")
    signers = [
        organisation(match[1].decode("ascii", "replace").lower())
        for name, value in headers
        if name.lower() == "dkim-signature" and (match := _SIGNER.search(value))
    ]
    if signers:
        tokens.append(f"sender:dkim-{'same' if domain in signers else 'other'}")
    return tokens


def authentication_tokens(headers: list[Header], server: str) -> list[str]:
    """Return tokens of the results of a trusted server: the topmost header of each kind that names it. `server` is its
    name in the headers (`authserv-id`).

    Examples
    --------
    >>> value = b"mx.example.org; spf=pass smtp.mailfrom=a.example; dkim=pass header.d=bulk.example"
    >>> mail = [("From", b"ann@a.example"), ("Authentication-Results", value)]
    >>> authentication_tokens(mail, "mx.example.org"), authentication_tokens(mail, "mx.example.net")
    (['auth:spf=pass', 'auth:dkim=pass', 'auth:dkim-other'], [])
    """
    domain = _domain_in(headers, "from")
    tokens: dict[str, None] = {}
    for prefix, method, result, signer in _results_of(headers, server):
        tokens[f"{prefix}:{method}={result}"] = None
        if signer:
            tokens[f"{prefix}:dkim-{'same' if signer == domain else 'other'}"] = None
    return list(tokens)


def is_aligned(headers: list[Header], server: str) -> bool:
    """Return True if a trusted server has found that a mail comes from its sender's domain: by DMARC, or by a valid
    signature of that domain.

    Examples
    --------
    >>> value = b"mx.example.org; dkim=fail header.d=a.example; dkim=pass header.d=bulk.example"
    >>> is_aligned([("From", b"ann@a.example"), ("Authentication-Results", value)], "mx.example.org")
    False
    """
    domain = _domain_in(headers, "from")
    return any(
        prefix == "auth" and result == "pass" and (method == "dmarc" or (bool(domain) and signer == domain))
        for prefix, method, result, signer in _results_of(headers, server)
    )


class _Result(NamedTuple):
    """A result of a trusted server."""

    prefix: str  # of its tokens, by the header that it is in
    method: str
    result: str
    signer: str  # the organisation that signed, of DKIM; "" without one


def _results_of(headers: list[Header], server: str) -> Iterator[_Result]:
    """Yield the results of a trusted server: in the topmost header of each kind that names it."""
    waiting = list(RESULTS)
    for name, value in headers:
        if name.lower() not in waiting:
            continue
        text = _COMMENT.sub(" ", value.decode("latin-1").lower())
        text = _INSTANCE.sub("", text, count=1)
        identity, _, results = text.partition(";")
        if not identity.split() or identity.split()[0] != server.lower():
            continue
        waiting.remove(name.lower())
        prefix = "auth" if name.lower() == RESULTS[0] else "arc"
        for match in _RESULT.finditer(f";{results}"):
            signer = _SIGNED_BY.search(match[3]) if match[1] == "dkim" else None
            yield _Result(prefix, match[1], match[2], "" if signer is None else organisation(signer[1]))


def organisation(host: str) -> str:
    """Return the domain that an organisation registered, as far as its form tells.

    Examples
    --------
    >>> organisation("mail.shop.example.com"), organisation("mx.shop.co.uk")
    ('example.com', 'shop.co.uk')
    """
    labels = host.strip(".").split(".")
    size = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return ".".join(labels[-size:])


def _domain_in(headers: list[Header], wanted: str) -> str:
    """Return the domain of the first address in a header; "" without one."""
    for name, value in headers:
        if name.lower() == wanted:
            addresses, _ = cut_addresses(value.decode("latin-1"))
            return organisation(addresses[-1][1].lower()) if addresses else ""
    return ""
