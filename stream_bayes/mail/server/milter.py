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
from collections import Counter
from collections.abc import Callable
from typing import Final

from stream_bayes.door.input_budget import MemoryBudget, MemoryFull, Reservation
from stream_bayes.door.refusals import Refusals
from stream_bayes.door.request_reading import RequestReader
from stream_bayes.errors import StreamBayesError
from stream_bayes.mail.filter.verdict import Judgement
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.start import MOST_TO_SERVER, OWN, own_fields

__all__ = ["ON_SPAM", "answer_milter"]

logger = logging.getLogger(__name__)

ON_SPAM = ("mark", "quarantine", "reject")

VERSION: Final = 6
MAX_PACKET: Final = 1 << 20
MAX_HEADERS: Final = 10_000  # that are read, and MAX_HEADER_BYTES of them; the rest is passed unread
MAX_HEADER_BYTES: Final = 1 << 20
HEADER_COST: Final = 160  # bytes of memory that a header takes besides its text
MAX_FORGED: Final = 1_000  # headers of this filter that are removed
MAX_NAME: Final = 1_000  # bytes of a header's name
IDLE_SECONDS: Final = 600.0  # between two mails, as long as mail servers keep a connection for a client
PACKET_SECONDS: Final = 30.0  # for a packet that has begun
SMALL_PACKET: Final = 8_192  # bytes that are not counted as memory in flight
MAIL_SECONDS: Final = 300.0  # for a mail to arrive
WRITE_SECONDS: Final = 30.0  # for an answer to be read
PATIENCE: Final = 5.0  # seconds that a mail waits for memory
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
FORGED = "forged"
REJECTION_OF_FORGED = b"550 5.6.0 This message has too many X-Stream-Bayes headers\0"
REJECTION = b"550 5.7.1 This message was recognised as spam\0"


class _TooManyForged(Exception):
    """A mail with more headers of this filter than can be removed."""


class _Mail:
    """The mail that is being received: as much of it as is read, and all headers that have to be removed. `reservation`
    is the part of the budget of memory that it takes.
    """

    def __init__(self, reservation: Reservation) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: list[bytes] = []
        self.size = 0
        self.left_out = 0  # bytes
        self.recipients: set[str | None] = set()  # as users
        self.forged: list[tuple[int, bytes]] = []  # own headers, each with its number among those of its name
        self._counts: Counter[bytes] = Counter()  # of own names
        self.failure: str | None = None
        self._reservation = reservation

    def add_recipient(self, user: str | None) -> None:
        if len(self.recipients) < 2:  # several are all that is asked
            self.recipients.add(user)

    def add_header(self, name: bytes, value: bytes) -> None:
        if name[: len(OWN)].lower() == OWN:
            if len(self.forged) == MAX_FORGED:
                raise _TooManyForged
            self._counts[name[:MAX_NAME].lower()] += 1
            self.forged.append((self._counts[name[:MAX_NAME].lower()], name[:MAX_NAME]))
        size = len(name) + len(value)
        is_within = len(self.headers) < MAX_HEADERS and self.size + size <= MAX_HEADER_BYTES
        if is_within and self._grow(size + HEADER_COST):
            self.headers.append((name, value))
            self.size += size
        else:
            self.left_out += size

    def add_body(self, data: bytes) -> None:
        part = data[: max(0, MOST_TO_SERVER - self.size)]
        if part and self._grow(len(part)):
            self.body.append(part)
            self.size += len(part)
            self.left_out += len(data) - len(part)
        else:
            self.left_out += len(data)

    def _grow(self, size: int) -> bool:
        if self.failure is None:
            try:
                self._reservation.grow(size)
            except MemoryFull as error:
                self.fail(str(error))
        return self.failure is None

    def fail(self, reason: str) -> None:
        """Let the mail pass without a verdict, and give back its memory."""
        self.failure = self.failure or reason
        self.headers.clear()
        self.body.clear()
        self._reservation.close()

    @property
    def user(self) -> str | None:
        """The only user that the mail is for; None for several."""
        return next(iter(self.recipients)) if len(self.recipients) == 1 else None

    def raw(self) -> bytes:
        head = b"".join(name + b":" + value.replace(b"\r\n", b"\n") + b"\n" for name, value in self.headers)
        return head + b"\n" + b"".join(self.body).replace(b"\r\n", b"\n")


def answer_milter(
    reader: RequestReader,
    service: FilterService,
    memory: MemoryBudget,
    refusals: Refusals,
    *,
    on_spam: str,
    user_of: Callable[[str], str | None] | None = None,
) -> None:
    """Serve one connection of a mail server, which may send several mails. `memory` is the budget for mails in flight.
    `refusals` counts what is refused, and mails that pass without a verdict. `on_spam` is one of `ON_SPAM`. `user_of`
    returns the user with an address, or None. Without it, the site's filter judges all mails.
    """
    with memory.open(reader.address, PATIENCE) as reservation:
        arriving = memory.open(reader.address, PATIENCE)
        _Conversation(reader, service, refusals, reservation, arriving, on_spam, user_of).run()


class _Conversation:
    """A connection of a mail server."""

    def __init__(
        self,
        reader: RequestReader,
        service: FilterService,
        refusals: Refusals,
        reservation: Reservation,
        arriving: Reservation,
        on_spam: str,
        user_of: Callable[[str], str | None] | None,
    ) -> None:
        self._reader = reader
        self._service = service
        self._refusals = refusals
        self._reservation = reservation
        self._arriving = arriving  # of the packet that is being read
        self._on_spam = on_spam
        self._user_of = user_of
        self._steps = self._actions = 0
        self._mail = _Mail(reservation)
        self._is_receiving = False

    def run(self) -> None:
        """Answer the packets of the mail server until it ends."""
        while packet := self._next_packet():
            command, data = packet[:1], packet[1:]
            if command == b"Q":
                return
            if not self._is_receiving:
                # From its first packet a mail has a deadline as a whole; before that, the mail server waits for its own
                # client.
                self._is_receiving = command in (b"R", b"L", b"B")
                self._reader.begin(MAIL_SECONDS if self._is_receiving else IDLE_SECONDS)
            self._answer(command, data)

    def _answer(self, command: bytes, data: bytes) -> None:
        mail, steps = self._mail, self._steps
        if command == b"O":
            self._negotiate(data)
        elif command == b"R":
            if self._user_of is not None:
                mail.add_recipient(self._user_of(data.partition(b"\0")[0].decode("utf-8", "replace")))
            self._continue_unless(steps & NO_ANSWER_TO_RECIPIENT)
        elif command == b"L":
            name, _, value = data.removesuffix(b"\0").partition(b"\0")
            try:
                mail.add_header(name, value if steps & LEADING_SPACE else b" " + value)
            except _TooManyForged:
                self._refusals.add(
                    "forged", self._reader.address, f"more than {MAX_FORGED} headers of the filter"
                )
                mail.fail(FORGED)
            self._continue_unless(steps & NO_ANSWER_TO_HEADER)
        elif command == b"B":
            mail.add_body(data)
            self._continue_unless(steps & NO_ANSWER_TO_BODY)
        elif command == b"E":
            mail.add_body(data)
            self._finish(mail)
            self._begin_mail()
        elif command in (b"A", b"K", b"M"):  # aborted, another connection follows, or another mail
            self._begin_mail()
            if command == b"M":
                self._send(CONTINUE)
        elif command != b"D":  # macros have no answer
            self._send(CONTINUE)

    def _negotiate(self, data: bytes) -> None:
        version, offered, declinable = OFFER.unpack_from(data)
        wanted = DECLINED if self._user_of is None else DECLINED & ~NO_RECIPIENT
        self._steps = wanted & declinable
        quarantine = QUARANTINE if self._on_spam == "quarantine" else 0
        self._actions = (ADD_HEADERS | CHANGE_HEADERS | quarantine) & offered
        self._send(b"O", OFFER.pack(min(version, VERSION), self._actions, self._steps))

    def _begin_mail(self) -> None:
        self._reservation.close()
        self._mail = _Mail(self._reservation)
        self._is_receiving = False
        self._reader.begin(IDLE_SECONDS)

    def _send(self, command: bytes, data: bytes = b"") -> None:
        self._reader.write(struct.pack(">I", len(data) + 1) + command + data, WRITE_SECONDS)

    def _continue_unless(self, is_silent: int) -> None:
        if not is_silent:
            self._send(CONTINUE)

    def _finish(self, mail: _Mail) -> None:
        """Judge a mail, send what is to be changed in it, and accept or reject it."""
        if mail.failure == FORGED:
            self._send(REPLY, REJECTION_OF_FORGED)
            return
        judgement = self._judged(mail)
        self._remove_forged(mail)
        if judgement is None:
            self._send(ACCEPT)
            return
        if judgement.is_spam and self._on_spam == "reject":
            self._send(REPLY, REJECTION)
            return
        self._insert_headers(judgement)
        if judgement.is_spam and self._actions & QUARANTINE:
            self._send(b"q", b"spam\0")
        self._send(ACCEPT)

    def _judged(self, mail: _Mail) -> Judgement | None:
        """Return the verdict; None for a mail that passes without one."""
        if mail.failure is not None:
            self._refusals.add(
                "busy", self._reader.address, f"a mail was accepted without a verdict: {mail.failure}"
            )
            return None
        if mail.left_out:
            self._refusals.add(
                "left-out",
                self._reader.address,
                f"{mail.left_out:,} bytes of a mail were not read; its verdict is of the rest",
            )
        try:
            return self._service.judge(mail.raw(), mail.user)
        except (StreamBayesError, OSError, ValueError) as error:
            logger.warning("a mail was accepted without a verdict: %s", error)
            return None

    def _remove_forged(self, mail: _Mail) -> None:
        """Delete headers that only this filter may write, also of a mail that gets none."""
        if not self._actions & CHANGE_HEADERS:
            return
        for number, name in reversed(mail.forged):  # deleting one would renumber those after it
            self._send(b"m", struct.pack(">I", number) + name + b"\0\0")

    def _insert_headers(self, judgement: Judgement) -> None:
        """Insert the filter's headers before all others.

        A mail server that sends the space after a header's colon adds none of its own, so it is written here.
        """
        space = b" " if self._steps & LEADING_SPACE else b""
        for number, field in enumerate(own_fields(judgement.texts())):
            name, _, value = field.partition(": ")
            self._send(
                b"i", struct.pack(">I", number) + name.encode() + b"\0" + space + value.encode() + b"\0"
            )

    def _next_packet(self) -> bytes:
        try:
            return self._packet()
        finally:
            self._arriving.close()

    def _packet(self) -> bytes:
        """Return the next packet; nothing at the end of the connection."""
        reader = self._reader
        head = reader.read(4)
        if len(head) < 4:
            return b""
        size = int.from_bytes(head, "big")
        if not 0 < size <= MAX_PACKET:
            raise ValueError(f"a packet of {size:,} bytes; expected at most {MAX_PACKET:,}")
        if size > SMALL_PACKET:
            try:
                self._arriving.grow(size)
            except MemoryFull as error:
                self._mail.fail(str(error))  # which gives back what the mail has taken
                self._arriving.grow(size)
        with reader.within(PACKET_SECONDS):
            packet = reader.read(size)
        return packet if len(packet) == size else b""
