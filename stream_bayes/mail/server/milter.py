"""The milter protocol, by which Postfix and Sendmail pass each mail to a filter before they accept it.

    packet    size of what follows (4 bytes, big-endian) | command (1 byte) | data

The filter adds X-Stream-Bayes headers, removes those that came with the mail, and can quarantine or reject spam. After
any error the mail is accepted unchanged. With users, a mail to one of them is judged by that user's filter, a mail to
several by the site's. Version 6 of the protocol; steps that the filter does not need are declined,
as far as the mail server offers it.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from typing import IO, Final

from stream_bayes.errors import StreamBayesError
from stream_bayes.mail.filter.verdict import Judgement
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.start import OWN, own_fields

__all__ = ["ON_SPAM", "answer_milter"]

logger = logging.getLogger(__name__)

ON_SPAM = ("mark", "quarantine", "reject")

VERSION: Final = 6
MAX_PACKET: Final = 1 << 20
MAX_BYTES: Final = 1 << 26  # of a mail that are read; the rest is passed unread
ADD_HEADERS, CHANGE_HEADERS, QUARANTINE = 0x01, 0x10, 0x20
# Steps that need not be sent, and steps that need no answer.
NO_CONNECT, NO_HELO, NO_MAIL, NO_RECIPIENT, NO_END_OF_HEADERS = 0x01, 0x02, 0x04, 0x08, 0x40
NO_UNKNOWN, NO_DATA = 0x100, 0x200
NO_ANSWER_TO_HEADER, NO_ANSWER_TO_BODY, LEADING_SPACE = 0x80, 0x80000, 0x100000
NO_ANSWER_TO_RECIPIENT = 0x8000
DECLINED: Final = (
    NO_CONNECT
    | NO_HELO
    | NO_MAIL
    | NO_RECIPIENT
    | NO_END_OF_HEADERS
    | NO_UNKNOWN
    | NO_DATA
    | NO_ANSWER_TO_HEADER
    | NO_ANSWER_TO_BODY
    | NO_ANSWER_TO_RECIPIENT
    | LEADING_SPACE
)
OFFER = struct.Struct(">III")
CONTINUE, ACCEPT, REPLY = b"c", b"a", b"y"
REJECTION = b"550 5.7.1 This message was recognised as spam\0"


class _Mail:
    """The mail that is being received."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: list[bytes] = []
        self.size = 0
        self.recipients: set[str | None] = set()  # as users

    def add_body(self, data: bytes) -> None:
        if self.size < MAX_BYTES:
            self.body.append(data)
            self.size += len(data)

    @property
    def user(self) -> str | None:
        """The only user that the mail is for; None for several."""
        return next(iter(self.recipients)) if len(self.recipients) == 1 else None

    def raw(self) -> bytes:
        head = b"".join(name + b":" + value.replace(b"\r\n", b"\n") + b"\n" for name, value in self.headers)
        return head + b"\n" + b"".join(self.body).replace(b"\r\n", b"\n")


def answer_milter(
    reader: IO[bytes],
    write: Callable[[bytes], object],
    service: FilterService,
    *,
    on_spam: str,
    user_of: Callable[[str], str | None] | None = None,
) -> None:
    """Serve one connection of a mail server, which may send several mails.

    Parameters
    ----------
    reader, write
        The connection.
    service
        The filter.
    on_spam
        One of `ON_SPAM`.
    user_of
        Returns the user with an address, or None. Without it, the site's filter judges all mails.
    """
    steps, actions, mail = 0, 0, _Mail()

    def send(command: bytes, data: bytes = b"") -> None:
        write(struct.pack(">I", len(data) + 1) + command + data)

    while packet := _packet(reader):
        command, data = packet[:1], packet[1:]
        if command == b"O":
            version, offered, declinable = OFFER.unpack_from(data)
            steps = (DECLINED if user_of is None else DECLINED & ~NO_RECIPIENT) & declinable
            actions = (
                ADD_HEADERS | CHANGE_HEADERS | (QUARANTINE if on_spam == "quarantine" else 0)
            ) & offered
            send(b"O", OFFER.pack(min(version, VERSION), actions, steps))
        elif command == b"R":
            if user_of is not None:
                mail.recipients.add(user_of(data.partition(b"\0")[0].decode("utf-8", "replace")))
            if not steps & NO_ANSWER_TO_RECIPIENT:
                send(CONTINUE)
        elif command == b"L":
            name, _, value = data.removesuffix(b"\0").partition(b"\0")
            mail.headers.append((name, value if steps & LEADING_SPACE else b" " + value))
            if not steps & NO_ANSWER_TO_HEADER:
                send(CONTINUE)
        elif command == b"B":
            mail.add_body(data)
            if not steps & NO_ANSWER_TO_BODY:
                send(CONTINUE)
        elif command == b"E":
            mail.add_body(data)
            _finish(mail, service, send, on_spam, actions, b" " if steps & LEADING_SPACE else b"")
            mail = _Mail()
        elif command in (b"A", b"K", b"M"):  # aborted, another connection follows, or another mail
            mail = _Mail()
            if command == b"M":
                send(CONTINUE)
        elif command == b"Q":
            return
        elif command != b"D":  # macros have no answer
            send(CONTINUE)


def _finish(
    mail: _Mail,
    service: FilterService,
    send: Callable[[bytes, bytes], None],
    on_spam: str,
    actions: int,
    space: bytes,
) -> None:
    """Judge a mail, send what is to be changed in it, and accept or reject it."""
    try:
        judgement = service.judge(mail.raw(), mail.user)
    except (StreamBayesError, OSError, ValueError) as error:
        logger.warning("a mail was accepted without a verdict: %s", error)
        send(ACCEPT, b"")
        return
    is_spam = judgement.verdict == "spam"
    if is_spam and on_spam == "reject":
        send(REPLY, REJECTION)
        return
    _send_headers(mail, judgement, send, space)
    if is_spam and actions & QUARANTINE:
        send(b"q", b"spam\0")
    send(ACCEPT, b"")


def _send_headers(
    mail: _Mail, judgement: Judgement, send: Callable[[bytes, bytes], None], space: bytes
) -> None:
    """Delete headers that only this filter may write, and insert its own before all others.

    A mail server that sends the space after a header's colon adds none of its own: `space` is what to write there.
    """
    counts: dict[bytes, int] = {}
    forged: list[tuple[int, bytes]] = []
    for name, _ in mail.headers:
        lower = name.lower()
        counts[lower] = counts.get(lower, 0) + 1
        if lower.startswith(OWN):
            forged.append((counts[lower], name))
    for number, name in reversed(forged):  # deleting one would renumber those after it
        send(b"m", struct.pack(">I", number) + name + b"\0\0")
    for place, field in enumerate(own_fields(judgement.texts())):
        name_, _, value = field.partition(": ")
        send(b"i", struct.pack(">I", place) + name_.encode() + b"\0" + space + value.encode() + b"\0")


def _packet(reader: IO[bytes]) -> bytes:
    """Return the next packet; nothing at the end of the connection."""
    head = reader.read(4)
    if len(head) < 4:
        return b""
    size = int.from_bytes(head, "big")
    if not 0 < size <= MAX_PACKET:
        raise ValueError(f"a packet of {size:,} bytes; expected at most {MAX_PACKET:,}")
    packet = reader.read(size)
    return packet if len(packet) == size else b""
