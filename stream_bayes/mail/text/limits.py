"""Limits on what is read of a message. The rest is skipped, and a token marks that."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from stream_bayes.errors import BadValue

__all__ = ["MAX_EXPANDED", "MAX_LINKS", "MAX_MEMBERS", "MAX_NAMES", "MAX_READ", "MAX_STREAMS", "Limits"]

# Of one attached file, whatever the message may hold.
MAX_MEMBERS: Final = 2_000  # of an archive that is opened
MAX_NAMES: Final = 40  # of files in an archive
MAX_STREAMS: Final = 300  # of a PDF
MAX_EXPANDED: Final = 1 << 18  # bytes of a member or stream as it expands
MAX_READ: Final = 1 << 19  # bytes of all of them
MAX_LINKS: Final = 100


@dataclass(frozen=True)
class Limits:
    """The most to read of one message, so that no message takes long or much memory.

    Parameters
    ----------
    message
        Bytes of the whole message, parts that are not read included.
    headers
        Header fields of the message, and of each part.
    header
        Bytes of one header's value.
    encoded_words
        Encoded words (`=?utf-8?q?...?=`) decoded in one message.
    parts
        Boundary lines, and so parts, at all depths together.
    depth
        Multiparts and messages within one another.
    text
        Letters of a part that are read, of a longer one those at the beginning and at the end; the parts of a message
        may have four times that together. Sixteen times as many bytes are decoded, to skip what is not read.
    word
        Letters of a token; a longer word counts only as a long word.
    tokens
        Different tokens of a message.

    Examples
    --------
    >>> from stream_bayes.mail import EmailTokens
    >>> EmailTokens(limits=Limits(tokens=2)).transform_one("free pills, free offer")
    {'free': 2, 'pills': 1, 'defect:many-tokens': 1}
    """

    message: int = 1 << 23
    headers: int = 120
    header: int = 1_000
    encoded_words: int = 64
    parts: int = 100
    depth: int = 10
    text: int = 1 << 16
    word: int = 24
    tokens: int = 5_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise BadValue(
                    f"the limit {field.name!r} must be a whole number of at least 1; got {value!r}"
                )
