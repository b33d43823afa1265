"""Raw mails as events. A mail becomes tokens on arrival, so samples that wait for labels hold no attachments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from stream_bayes.core.events.event import ONE, SAMPLE, Event, Partition, Position
from stream_bayes.data.schema import Schema
from stream_bayes.mail.filter.arguments import FILTER
from stream_bayes.mail.filter.messages import digest_of
from stream_bayes.mail.streams.subject_and_sender import headings_of
from stream_bayes.mail.text.transformer import EmailTokens
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES, RawDecoder
from stream_bayes.streams.records.fields import Fields

__all__ = ["MailDecoder"]


class MailDecoder(RawDecoder):
    r"""Decodes a mail (RFC 822) to an event whose `x` is `{"id": ..., "tokens": {token: count}}`, for a `SpamFilter`.

    The id is the record's key or, without a key, the SHA-256 of the mail; never a header of the sender's. Only a mail
    that is too long is a bad record: other defects become tokens. A mail has neither fields nor label: `fields` and
    `schema` are as of a `RawDecoder`. `headings` are those of `"subject"` and `"sender"` that are added to `x`, for
    people to read. The tokens are those of `EmailTokens()`, if nothing else is given.

    Examples
    --------
    >>> MailDecoder().decode(b"Subject: lunch\n\nnotes", key="mail-1").x["tokens"]["notes"]
    1
    """

    name = "mail"
    model = FILTER

    def __init__(
        self,
        fields: Fields | None = None,
        schema: Schema | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        tokens: EmailTokens | None = None,
        headings: Collection[str] = (),
    ) -> None:
        super().__init__(fields, schema, max_record_bytes)
        self.headings = headings
        self.tokens = EmailTokens() if tokens is None else tokens

    def _made(
        self,
        raw: bytes,
        position: Position,
        partition: Partition,
        length: int,
        key: Any,
        time: float | None,
    ) -> Event:
        name = key if isinstance(key, str) else digest_of(raw)
        x = {"id": name, "tokens": self.tokens.transform_one(raw)}
        if self.headings:
            x |= headings_of(raw, self.headings)
        return Event(x, None, key, time, position, ONE, SAMPLE, partition, length)
