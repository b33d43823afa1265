"""Made-up mails: ham and spam, with headers, HTML and parts as real ones have.

The mails of a topic share its words, and a mail repeats the few words of its subject. HTML is often sent
as base64 or quoted-printable, spam more often than ham. Spammers change their campaign every few hundred mails,
and some ham looks like spam: newsletters, receipts. Use them to show the filter at work, not to measure it.
"""

from __future__ import annotations

import base64
import quopri
from collections.abc import Iterator
from typing import Final

import numpy as np

__all__ = ["made_up_mails"]

TOPICS: Final = tuple(
    words.split()
    for words in (
        "meeting agenda minutes thursday room slides project plan review deadline budget draft",
        "compiler patch kernel thread branch merge failing test build release branch pointer",
        "dinner weekend train tickets kids photos grandma birthday lake walk recipe garden",
        "invoice order receipt delivery parcel tracking number customer account thanks payment",
        "newsletter edition articles read online subscribers editor opinion this week unsubscribe",
    )
)
CAMPAIGNS: Final = tuple(
    words.split()
    for words in (
        "cheap pills pharmacy discount prescription overnight shipping guarantee men order now",
        "winner lottery prize claim transfer million beneficiary urgent confidential bank reply",
        "mortgage refinance rates approved credit apply today lowest offer limited debt free",
        "casino bonus spins jackpot deposit play instantly cash exclusive players free",
        "account suspended verify password security alert click immediately login confirm payment",
    )
)
ENDINGS: Final = (
    "",
    *"s ed ing er est ly al ish ful less ness ment able like wise ward hood ship dom ism ist".split(),
)
COMMON: Final = (
    "the and for you that with this have from your are not was will can all has more one our out about please"
    " would there their which when time been how some also into than them only new other could what here"
).split()
MAILERS: Final = {  # the X-Mailer header; spammers claim to use common programs
    False: ("Mutt/2.2", "Thunderbird 115", "Evolution 3.50", "Outlook 16.0"),
    True: ("Outlook 16.0", "Outlook 16.0", "Thunderbird 115", "Bulk Sender 3"),
}
PEOPLE: Final = "ann bob carla dan eva finn greta hugo ida jon karla lars".split()
CAMPAIGN: Final = 300  # mails between two campaigns


def made_up_mails(number: int, seed: int = 0) -> Iterator[tuple[bytes, str]]:
    """Yield made-up mails with their labels, `"ham"` or `"spam"`; the same ones for the same seed.

    Examples
    --------
    >>> raw, label = next(made_up_mails(1))
    >>> raw.splitlines()[0][:9], label
    (b'Received:', 'ham')
    """
    rng = np.random.default_rng(seed)
    for number_of_mail in range(number):
        spam = bool(rng.random() < 0.4)
        if spam:
            campaign = (number_of_mail // CAMPAIGN + int(rng.random() < 0.3)) % len(CAMPAIGNS)
            own = CAMPAIGNS[campaign]
        else:
            own = TOPICS[int(rng.integers(len(TOPICS)))]
        yield _mail(rng, number_of_mail, spam, own), "spam" if spam else "ham"


def _words(rng: np.random.Generator, own: list[str], number: int) -> list[str]:
    pools = rng.choice(3, number, p=[0.35, 0.5, 0.15])
    strange = [*TOPICS[int(rng.integers(len(TOPICS)))], *CAMPAIGNS[int(rng.integers(len(CAMPAIGNS)))]]
    endings = np.minimum(rng.zipf(1.5, number), len(ENDINGS)) - 1  # most words are rare, as in any language
    # The words of a mail's topic are repeated.
    about = (rng.choice(own, 6).tolist(), COMMON, rng.choice(strange, 3).tolist())
    drawn = [str(rng.choice(about[pool])) for pool in pools]
    return [
        word if pool == 1 else word + ENDINGS[end]
        for word, pool, end in zip(drawn, pools.tolist(), endings.tolist(), strict=True)
    ]


def _encoded(rng: np.random.Generator, text: str) -> tuple[str, str]:
    """Return a text in a transfer encoding, and the encoding's name."""
    if rng.random() < 0.25:
        return base64.encodebytes(text.encode()).decode(), "base64"
    return quopri.encodestring(text.encode(), quotetabs=False).decode(), "quoted-printable"


def _mail(rng: np.random.Generator, number: int, spam: bool, own: list[str]) -> bytes:
    name = str(rng.choice(PEOPLE))
    # A third of the spam comes through the hosts of honest people.
    hidden = not spam or rng.random() < 0.35
    host = (
        f"{rng.choice(PEOPLE[:6])}.example.net"
        if hidden
        else f"{rng.choice(own)}{rng.integers(40)}.example.net"
    )
    relay = f"mx.{host}" if hidden or rng.random() < 0.5 else f"dsl-{rng.integers(200)}.example.net"
    subject = " ".join(_words(rng, own, int(rng.integers(2, 7))))
    if spam and rng.random() < 0.4:
        subject = subject.upper() + "!"
    text = " ".join(_words(rng, own, int(rng.integers(20, 120))))
    lines = [
        f"Received: from {relay} ([192.0.2.{rng.integers(250)}]) by in.example.com with ESMTP",
        f"From: {name.title()} <{name}@{host}>",
        "To: you@example.com",
        f"Subject: {subject}",
        f"Date: Mon, 5 Feb 2024 {number // 60 % 24:02}:{number % 60:02}:00 +0100",
        f"X-Mailer: {rng.choice(MAILERS[spam])}",
        f"Message-ID: <{number}.{rng.integers(10**6)}@{host}>",
    ]
    if (spam and rng.random() < 0.6) or (not spam and rng.random() < 0.15):
        link = f'<a href="http://{host}/{rng.choice(own)}">{rng.choice(own)}</a>'
        text = f'<html><body><p>{text}</p><font color="#{"ff0000" if spam else "336699"}">{link}</font></body></html>'
        lines.append("Content-Type: text/html; charset=utf-8")
        if rng.random() < (0.5 if spam else 0.25):
            text, encoding = _encoded(rng, text)
            lines.append(f"Content-Transfer-Encoding: {encoding}")
    elif not spam and rng.random() < 0.1:
        lines.append('Content-Type: multipart/mixed; boundary="=_parts"')
        notes = base64.b64encode(" ".join(_words(rng, own, 30)).encode()).decode()
        part = "--=_parts\nContent-Type: text/plain; charset=utf-8\n"
        text = f"{part}\n{text}\n{part}Content-Transfer-Encoding: base64\n\n{notes}\n--=_parts--"
    return "\n".join([*lines, "MIME-Version: 1.0", "", text, ""]).encode()
