"""EmailTokens: a transformer for River's pipelines, from messages to bags of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from river import base

from stream_bayes.errors import BadValue
from stream_bayes.mail.text.correspondents import Correspondents
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.tokens import Bag, bag_of_message, bag_of_text
from stream_bayes.mail.text.transfer_encodings import decoder

__all__ = ["EmailTokens", "MailOrFields"]

MailOrFields = bytes | str | Mapping[str, Any]


class EmailTokens(base.Transformer):
    r"""Transforms a message to its tokens and their counts, `{token: count}`.

    No bytes raise an error. Time and memory are proportional to what `limits` allow to read. The tokens are the same
    with every parser.

    Parameters
    ----------
    on
        For messages that are dicts: the key of the message. None: the whole of `x` is the message.
    parser
        What decodes base64 and quoted-printable: `"fast"` is fast-mail-parser, `"standard"` the standard library,
        `"auto"` the fast one where it is installed.
    pairs
        True to add pairs of neighbouring words as tokens. They help with short messages, and triple the vocabulary.
    limits
        Limits on what is read of a message; None for the defaults.
    authserv_id
        The name that your mail server writes into `Authentication-Results`. Its results for SPF, DKIM and DMARC become
        tokens. The server must remove such headers with its name from mail that it receives. None: no such header is
        read, as anybody can write one.
    characters
        True to add one more token, of the characters with which headers and text begin, for a filter with
        `second_opinion`.

    Examples
    --------
    >>> from stream_bayes.mail import EmailTokens
    >>> EmailTokens().transform_one("Call 08712 NOW!")
    {'Call': 1, '08712': 1, 'shape:00000': 1, 'NOW!': 1}
    >>> mail = b"From: Ann <ann@example.com>\nSubject: =?utf-8?q?caf=C3=A9?=\n\nsee <http://example.org/x>"
    >>> list(EmailTokens().transform_one(mail))[-5:]
    ['url:example.org', 'url:org', 'path:x', 'see', 'mime:text/plain']

    In a pipeline:

    >>> from stream_bayes import BernoulliNB
    >>> model = EmailTokens(on="body") | BernoulliNB()
    >>> model.learn_one({"body": "free pills"}, "spam")
    >>> model.learn_one({"body": "lunch notes"}, "ham")
    >>> model.predict_one({"body": "free lunch, free pills"})
    'spam'
    """

    def __init__(
        self,
        on: str | None = None,
        parser: str = "auto",
        pairs: bool = False,
        limits: Limits | None = None,
        authserv_id: str | None = None,
        characters: bool = False,
    ) -> None:
        self.on = on
        self.parser = parser
        self.pairs = pairs
        self.limits = limits
        self.authserv_id = authserv_id
        self.characters = characters
        self._decode = decoder(parser)
        self._limits = Limits() if limits is None else limits
        self.correspondents: Correspondents | None = None  # of the filter that reads by it

    @property
    def _tags(self) -> set[str]:
        return {base.tags.TEXT_INPUT} if self.on is None else set()

    def transform_one(self, x: MailOrFields) -> Bag:  # type: ignore[override]  # River's are dicts; a message is one value
        """Return the tokens of a message and their counts.

        Parameters
        ----------
        x
            Bytes: a message with headers, as it came. Text: words without headers, such as a short message. A dict:
            one of the two under the key `on`.
        """
        message: Any = x
        if isinstance(x, Mapping):
            if self.on is None or self.on not in x:
                wanted = (
                    "set on= to the key of the message"
                    if self.on is None
                    else f"expected the key {self.on!r}"
                )
                raise BadValue(f"the message is a dict with the keys {list(x)!r}: {wanted}")
            message = x[self.on]
        if isinstance(message, str):
            return bag_of_text(message, self._limits, pairs=self.pairs, characters=self.characters)
        if isinstance(message, (bytes, bytearray, memoryview)):
            return bag_of_message(
                bytes(message),
                self._limits,
                self._decode,
                pairs=self.pairs,
                characters=self.characters,
                authserv_id=self.authserv_id,
                correspondents=self.correspondents,
            )
        raise BadValue(f"a message is bytes or text; got {type(message).__name__}")
