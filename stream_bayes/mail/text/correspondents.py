"""Correspondents: whom one has written to, as evidence about mail that comes.

    sender:written-to             the only address in From is one that was written to, and the sender is proved
    sender:written-to-unproved    it is, but the server that receives mail did not find it proved
    sender:answer                 the mail answers one that was sent: it names its Message-ID

From can be forged by anybody. So the first token needs the results of a trusted server, and without its name there is
neither of the first two. A Message-ID is known to those alone who got the mail. What a token is worth is learned from
labels, as of any other. Addresses and ids are held as hashes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.checks import expect
from stream_bayes.mail.text._fields import cut_addresses
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.senders import is_aligned
from stream_bayes.mail.text.structure import Header, outline

__all__ = ["Correspondents"]

MOST: Final = 100_000  # hashes; past it, those written to longest ago are dropped
MOST_IDS: Final = 50  # of a mail's References that are looked up
RECIPIENTS: Final = ("to", "cc", "bcc")
ANSWERED: Final = ("in-reply-to", "references")
_ID: Final = re.compile(r"<[^<>\s]{1,300}>")


class Correspondents:
    r"""Hashes of addresses that were written to, and of the ids of those mails. `key` is that of the hashes.

    Examples
    --------
    >>> people = Correspondents()
    >>> people.add(b"To: Ann <Ann@example.com>\nMessage-ID: <1@example.org>\n\nlunch?")
    1
    >>> people.tokens([("From", b"bob@example.net"), ("In-Reply-To", b"<1@example.org>")], None)
    ['sender:answer']
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or b""
        self._hashes: dict[int, None] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, raw: bytes) -> int:
        """Add the recipients and the id of a mail that was sent. Return the number of addresses that were new."""
        headers = outline(raw, Limits()).headers
        before = len(self._hashes)
        for name in RECIPIENTS:
            for address in _addresses_in(headers, name):
                self._put(address)
        new = len(self._hashes) - before
        for name in _ids_in(headers, ("message-id",)):
            self._put(name)
        self._drop_oldest()
        return new

    def _drop_oldest(self) -> None:
        while len(self._hashes) > MOST:
            del self._hashes[next(iter(self._hashes))]

    def _put(self, text: str) -> None:
        number = self._hash(text)
        self._hashes.pop(number, None)
        self._hashes[number] = None

    def _hash(self, text: str) -> int:
        digest = hashlib.blake2b(
            text.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key, person=b"written-to"
        )
        return int.from_bytes(digest.digest(), "little", signed=True)

    def tokens(self, headers: list[Header], server: str | None) -> list[str]:
        """Return the tokens of a mail. `server` is the name of the one whose results are trusted."""
        if not self._hashes:
            return []
        tokens: list[str] = []
        senders = set(_addresses_in(headers, "from"))
        if server is not None and len(senders) == 1 and self._hash(senders.pop()) in self._hashes:
            tokens.append(f"sender:written-to{'' if is_aligned(headers, server) else '-unproved'}")
        if any(self._hash(name) in self._hashes for name in _ids_in(headers, ANSWERED)):
            tokens.append("sender:answer")
        return tokens

    def merge(self, other: Correspondents) -> None:
        """Add those of another one with the same key, as newer ones."""
        for number in other._hashes:
            self._hashes.pop(number, None)
            self._hashes[number] = None
        self._drop_oldest()

    def array(self) -> NDArray[np.int64]:
        """Return the hashes, oldest first."""
        return np.fromiter(self._hashes, np.int64, len(self._hashes))

    def load(self, array: Any) -> None:
        """Load what `array` returned, checked."""
        is_sound = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 1
        expect(is_sound and len(array) <= MOST, "its correspondents are no hashes")
        self._hashes = dict.fromkeys(array.tolist())
        expect(len(self._hashes) == len(array), "it names a correspondent twice")


def _addresses_in(headers: list[Header], wanted: str) -> list[str]:
    """Return the addresses in all headers of a name, in small letters."""
    texts = [value.decode("latin-1") for name, value in headers if name.lower() == wanted]
    return [f"{user}@{host}".lower() for user, host in cut_addresses(" ".join(texts))[0]]


def _ids_in(headers: list[Header], wanted: Iterable[str]) -> list[str]:
    """Return the ids of mails in headers."""
    texts = [value.decode("latin-1") for name, value in headers if name.lower() in wanted]
    return _ID.findall(" ".join(texts))[-MOST_IDS:]
