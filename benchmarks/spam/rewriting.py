"""Spam rewritten to get past a filter: hidden words of ham, letters that only look alike, links and pages elsewhere.

A filter learns a corpus, but for the last third; then spams of that third are judged as they came and rewritten, each
rewriting with nothing learned in between. So are the same mails with few headers, where the text decides. A rewriting
is a function from the mail's page of HTML to another page.
"""

from __future__ import annotations

import email
import re
from collections.abc import Callable, Sequence
from email.message import Message as Mail
from html import escape
from typing import NamedTuple

import numpy as np
from rich.table import Table

from benchmarks.spam.filters import Filter, Message
from stream_bayes.mail import EmailTokens

__all__ = [
    "REWRITINGS",
    "SPAMS",
    "Judged",
    "caught",
    "ham_words",
    "rewritten",
    "split",
    "table_of_rewritings",
    "with_few_headers",
]

SPAMS = 150  # that are rewritten
LEARNED = 2 / 3  # of the stream

LOOKALIKES = str.maketrans("aeopciyx", "\u0430\u0435\u043e\u0440\u0441\u0456\u0443\u0445")
FULL_WIDTH = {
    code: code + 0xFEE0 for first, last in ("az", "AZ") for code in range(ord(first), ord(last) + 1)
}
_TEXT = re.compile(r"(<[^<>]*>|&[^;\s]{1,10};)")
_SCHEME = re.compile(r"https?://", re.IGNORECASE)

Rewriting = Callable[[str, Sequence[str]], str]


def _hiding(style: str, number: int) -> Rewriting:
    def rewrite(page: str, words: Sequence[str]) -> str:
        return f'{page}<div style="{style}">{" ".join(words[:number])}</div>'

    return rewrite


def _outside_tags(change: Callable[[str], str]) -> Rewriting:
    """Return a rewriting of the text of a page, its tags and entities aside."""

    def rewrite(page: str, words: Sequence[str]) -> str:
        parts = _TEXT.split(page)
        return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))

    return rewrite


REWRITINGS: dict[str, Rewriting] = {
    "as a page": lambda page, words: page,
    "display:none, 200 words": _hiding("display:none", 200),
    "font-size:0, 1,000 words": _hiding("font-size:0", 1_000),
    "off the screen, 1,000 words": _hiding("position:absolute;left:-9999px", 1_000),
    "opacity:0, 1,000 words": _hiding("opacity:0", 1_000),
    "white on white, 1,000 words": _hiding("color:#ffffff;background:#fff", 1_000),
    "class of a style sheet, 1,000 words": lambda page, words: (
        f'<style>.note {{ display: none }}</style>{page}<p class="note">{" ".join(words[:1_000])}</p>'
    ),
    "zero-width characters": _outside_tags(lambda text: re.sub(r"(?<=\w)(?=\w)", "\u200b", text)),
    "look-alike letters": _outside_tags(lambda text: text.translate(LOOKALIKES)),
    "full-width letters": _outside_tags(lambda text: text.translate(FULL_WIDTH)),
    "addresses without scheme": lambda page, words: _SCHEME.sub("", page),
    "70 KB of style sheet first": lambda page, words: f"<style>{'.a { color: red } ' * 4_000}</style>{page}",
    "comment of 12,000 words first": lambda page, words: f"<!-- {' '.join(words) * 12} -->{page}",
    "70 KB of picture first": lambda page, words: (
        f'<img src="data:image/png;base64,{"iVBORw0KGgo" * 7_000}">{page}'
    ),
    "70 KB of blanks first": lambda page, words: "&nbsp; \n" + " \n" * 35_000 + page,
    "50 words in sight": lambda page, words: f"{page}<p>{' '.join(words[:50])}</p>",
    "200 words in sight": lambda page, words: f"{page}<p>{' '.join(words[:200])}</p>",
    "200 words in sight first": lambda page, words: f"<p>{' '.join(words[:200])}</p>{page}",
    "long attribute, 1,000 words": lambda page, words: (
        f'{page}<div title="{"x" * 700}" style="{"margin: 0; " * 70}display: none">{" ".join(words)}</div>'
    ),
}
KEPT = ("from", "to", "subject")
# Those that change more than the page.
ATTACHED = "page attached"
PICTURE = "1.5 MB of picture part first"
ALTERNATIVE = "200 words in the plain alternative"
CARRIER = "attached to a mail of 200 words"
WHOLE = (ATTACHED, PICTURE, ALTERNATIVE, CARRIER)


def rewritten(raw: bytes, name: str, words: Sequence[str]) -> bytes:
    """Return a mail with one rewriting.

    Parameters
    ----------
    raw
        The mail.
    name
        Of `REWRITINGS` or `WHOLE`.
    words
        Words of ham, for those that hide some.
    """
    mail = email.message_from_bytes(raw)  # the compat32 policy keeps headers as they came
    page = _page_of(mail)
    made = Mail()
    for field, value in mail.raw_items():
        if not field.lower().startswith(("content-", "mime-version")):
            made[field] = str(value)
    made["MIME-Version"] = "1.0"
    head = b"".join(
        f"{field}: {value}\n".encode("utf-8", "surrogateescape") for field, value in made.raw_items()
    )
    if name == ATTACHED:
        return (
            head
            + b'Content-Type: multipart/mixed; boundary="=_page"\n\n--=_page\nContent-Type: text/plain\n\n'
            + b"Please see the attached page.\n--=_page\nContent-Type: application/octet-stream\n"
            + b'Content-Disposition: attachment; filename="page.html"\n\n'
            + page.encode("utf-8", "replace")
            + b"\n--=_page--\n"
        )
    if name == CARRIER:
        return (
            head
            + b'Content-Type: multipart/mixed; boundary="=_mail"\n\n--=_mail\nContent-Type: text/plain\n\n'
            + " ".join(words[:200]).encode()
            + b"\n--=_mail\nContent-Type: message/rfc822\n\n"
            + raw
            + b"\n--=_mail--\n"
        )
    if name in WHOLE:
        first = f"Content-Type: text/plain\n\n{' '.join(words[:200])}\n".encode()
        if name == PICTURE:
            first = (
                b"Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n" + b"iVBORw0KGgo\n" * 130_000
            )
        kind = b"alternative" if name == ALTERNATIVE else b"mixed"
        return (
            head
            + b'Content-Type: multipart/%b; boundary="=_page"\n\n--=_page\n' % kind
            + first
            + b"--=_page\nContent-Type: text/html; charset=utf-8\n\n"
            + page.encode("utf-8", "replace")
            + b"\n--=_page--\n"
        )
    changed = REWRITINGS[name](page, words)
    content = b"Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
    return head + content + changed.encode("utf-8", "replace") + b"\n"


def _page_of(mail: Mail) -> str:
    """Return the text of a mail as a page of HTML."""
    found = {}
    for part in mail.walk():
        if part.get_content_maintype() == "text" and part.get_content_subtype() not in found:
            data = part.get_payload(decode=True)
            assert isinstance(data, bytes)
            found[part.get_content_subtype()] = data.decode("latin-1")
    if "html" in found:
        return found["html"]
    return f"<html><body><pre>{escape(found.get('plain', ''))}</pre></body></html>"


def ham_words(stream: Sequence[Message], number: int, seed: int = 0) -> list[str]:
    """Return words of the stream's ham, the more often used ones more often."""
    tokens = EmailTokens(on="body")
    words = [
        word
        for message, spam in stream
        if not spam
        for word in tokens.transform_one(message)
        if word.isalpha() and len(word) > 2
    ]
    drawn: list[str] = np.random.default_rng(seed).choice(words, number).tolist()
    return drawn


def with_few_headers(raw: bytes) -> bytes:
    """Return a mail with its sender, receiver and subject alone, so that its text decides."""
    mail = email.message_from_bytes(raw)
    for field in {name for name, _ in mail.raw_items()}:
        if not field.lower().startswith(("content-", "mime-version")) and field.lower() not in KEPT:
            del mail[field]
    head = b"".join(
        f"{name}: {value}\n".encode("utf-8", "surrogateescape") for name, value in mail.raw_items()
    )
    return head + b"\n" + raw.replace(b"\r\n", b"\n").partition(b"\n\n")[2]


def split(stream: Sequence[Message]) -> tuple[Sequence[Message], list[bytes]]:
    """Return the part of a stream that is learned, and spams of the rest."""
    end = int(LEARNED * len(stream))
    spams = [message for message, spam in stream[end:] if spam and isinstance(message, bytes)]
    return stream[:end], spams[:SPAMS]


class Judged(NamedTuple):
    """The number of spams that are called spam, and that of those called ham."""

    spam: int
    ham: int


def caught(one: Filter, learned: Sequence[Message], spams: Sequence[bytes]) -> dict[str, Judged]:
    """Learn messages, and count the verdicts on spams, as they came and in each rewriting."""
    for message, spam in learned:
        one.learn(message, spam)
    words = ham_words(learned, 1_000)
    mails = {"as they came": list(spams)}
    for name in (*REWRITINGS, *WHOLE):
        mails[name] = [rewritten(raw, name, words) for raw in spams]
    found = {}
    for name, each in mails.items():
        verdicts = [one.judge(raw)[2] for raw in each]
        found[name] = Judged(verdicts.count("spam"), verdicts.count("ham"))
    return found


def table_of_rewritings(found: dict[str, dict[str, Judged]], many: int, title: str) -> Table:
    """Return a table of the spams that each filter calls spam, and ham, with a row for each rewriting."""
    table = Table(title=f"{title}: called spam, and ham, of {many}", title_justify="left")
    table.add_column("")
    for name in found:
        table.add_column(f"{name}: spam", justify="right")
        table.add_column("ham", justify="right")
    for name in next(iter(found.values())):
        table.add_row(name, *(str(number) for one in found.values() for number in one[name]))
    return table
