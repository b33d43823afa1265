"""The tokens of a message, as a bag `{token: count}`.

Words of the text are tokens as they stand. Every other token has a prefix with a colon, which no word holds:

    shape: long:                       a number or a long word by its shape
    from: to: subject: received: ...   words, addresses and hosts of a header
    hops:                              the number of servers on its way
    header:                            the name of a header, as written
    url: path:                         hosts and paths of links
    html:                              tags, and styles that may hide text
    hidden:                            hidden text: its means, size, and first words
    text:                              letters that are not what they look like
    mime: charset: file: boundary:     the structure
    defect:                            defects of the message
"""

from __future__ import annotations

import re
from itertools import pairwise

from stream_bayes.mail.text._words import add_tokens, words_of
from stream_bayes.mail.text.charsets import decode_text, decoded_header
from stream_bayes.mail.text.headers import header_tokens, is_verdict
from stream_bayes.mail.text.html import hidden_tokens, read_page, shortened
from stream_bayes.mail.text.letters import as_seen
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.structure import MAX_DECODED, Outline, PartLeaf, outline
from stream_bayes.mail.text.tags import markup_of
from stream_bayes.mail.text.transfer_encodings import Decoder, Encoded, canonical_base64, canonical_quoted
from stream_bayes.mail.text.web import bare_addresses, cut_urls, url_tokens

__all__ = ["UNREAD", "Bag", "bag_of_message", "bag_of_text"]

Bag = dict[str, int]

_RUN = re.compile(r"[A-Za-z]{1,60}|[0-9]{1,60}")
_DIGITS = str.maketrans("0123456789", "0000000000")
_ABSOLUTE = re.compile(r"[a-z]{2,6}://|www\.|mailto:", re.IGNORECASE)
_HTML_FILE = re.compile(rb"\.x?html?$", re.IGNORECASE)
_TEXT_TYPES = ("text/", "message/")
MAX_FULL_PARTS = 4  # the text of all parts together, in limits of one part
# Tokens of messages that were not read whole: what is not read is no reason to call a message ham.
UNREAD = ("defect:long-text", "defect:oversize", "defect:many-parts", "defect:empty")
_BLANKS = re.compile(r"\s{3,}")


def bag_of_text(text: str, limits: Limits, *, pairs: bool) -> Bag:
    """Return the tokens of a text without headers, such as a short message."""
    reader = _Reader(limits, pairs)
    reader.read_text(reader.cut(text))
    for defect in reader.defects:
        reader.bag[f"defect:{defect}"] = 1
    return reader.bag


def bag_of_message(raw: bytes, limits: Limits, decode: Decoder, *, pairs: bool) -> Bag:
    """Return the tokens of a message."""
    reader = _Reader(limits, pairs)
    found = outline(raw, limits)
    reader.read_headers(found)
    reader.read_parts(found.leaves, decode)
    reader.read_structure(found)
    return reader.bag


class _Reader:
    """Counts the tokens of one message."""

    def __init__(self, limits: Limits, pairs: bool) -> None:
        self.limits = limits
        self.pairs = pairs
        self.encoded_words = limits.encoded_words
        self.bag: Bag = {}
        self.left = MAX_FULL_PARTS * limits.text  # letters that may be read
        self.defects: dict[str, None] = {}

    def add(self, tokens: list[str]) -> None:
        """Count tokens."""
        add_tokens(self.bag, tokens, self.limits.tokens)

    def read_headers(self, found: Outline) -> None:
        """Count the tokens of the message's headers."""
        tokens: list[str] = []
        routes = 0
        for name, value in found.headers:
            if b"=?" not in value and value.isascii():
                tokens += header_tokens(name, value.decode("ascii"), self.limits.word)
            elif not is_verdict(name):
                text, charsets = self.decoded(value)
                tokens += charsets
                tokens += header_tokens(name, text, self.limits.word)
            if name in ("Received", "received", "RECEIVED"):
                routes += 1
        tokens.append(f"hops:{min(routes, 8)}")
        self.add(tokens)

    def decoded(self, value: bytes) -> tuple[str, list[str]]:
        """Return a header's value as text, and tokens of the charsets in it."""
        text, charsets, used = decoded_header(value, self.encoded_words)
        self.encoded_words -= used
        return self.as_seen(text), [f"charset:{charset[:20]}" for charset in charsets]

    def as_seen(self, text: str) -> str:
        """Return a text as it looks, and count the tricks in it."""
        if text.isascii():
            return text
        text, tricks = as_seen(text)
        self.add(tricks)
        return text

    def read_parts(self, leaves: list[PartLeaf], decode: Decoder) -> None:
        """Count the words of every part that is text."""
        readable: list[tuple[PartLeaf, bytes]] = []
        encoded: list[Encoded] = []
        places: list[int] = []
        left = MAX_FULL_PARTS * MAX_DECODED * self.limits.text
        for leaf in leaves:
            if not _is_page(leaf) and (
                not leaf.media.startswith(_TEXT_TYPES) or leaf.disposition == "attachment"
            ):
                continue
            body = self.canonical_body(leaf, left)
            left -= len(body)
            if leaf.encoding and body:
                places.append(len(readable))
                encoded.append((leaf.encoding, body))
            readable.append((leaf, body))
        if encoded:
            for place, content in zip(places, decode(encoded), strict=True):
                readable[place] = (readable[place][0], content)
        with_page = {leaf.alternative for leaf, _ in readable if _is_page(leaf)} - {0}
        for leaf, body in readable:
            self.read_part(leaf, body, is_seen=_is_page(leaf) or leaf.alternative not in with_page)

    def canonical_body(self, leaf: PartLeaf, limit: int) -> bytes:
        """Return the body of a part, cut to the limit, and valid if it is encoded."""
        body = leaf.body
        if leaf.is_cut or len(body) > limit:
            self.defects["long-text"] = None
            body = body[:limit]
        if not leaf.encoding:
            return body
        canonical = canonical_base64 if leaf.encoding == "base64" else canonical_quoted
        body, wrong = canonical(body)
        if wrong:
            self.defects[f"bad-{leaf.encoding}"] = None
        return body

    def read_part(self, leaf: PartLeaf, body: bytes, *, is_seen: bool) -> None:
        """Count the words of a part of text; of one that is shown to nobody only a few, as hidden ones."""
        for name, value in leaf.headers:
            if name.lower() in ("subject", "from"):  # of a message within the message
                self.read_words(self.decoded(value)[0])
        text, defect = decode_text(body, leaf.charset)
        if defect:
            self.defects[defect] = None
        if _is_page(leaf):
            text = self.cut(shortened(text, self.limits.text))
            markup = markup_of(text)
            self.add(markup.tokens)
            self.add(url_tokens([link for link in markup.links[:100] if _ABSOLUTE.match(link)]))
            page = read_page(text)
            self.add(page.hidden)
            text = page.text
        else:
            text = self.cut(text)
        if is_seen:
            self.read_text(text)
        else:
            self.add(hidden_tokens("alternative", text))

    def cut(self, text: str) -> str:
        """Return a text within what may be read of a part and of the message: its beginning and its end."""
        limit = min(self.limits.text, self.left)
        if len(text) > limit:  # first without what nobody sees
            text = _BLANKS.sub(" ", self.as_seen(text))
        if len(text) > limit:
            self.defects["long-text"] = None
            tail = limit // 4
            text = f"{text[: limit - tail]} {text[len(text) - tail :]}"
        self.left = max(self.left - len(text), 0)
        return text

    def read_text(self, text: str) -> None:
        """Count the words and links of plain text."""
        text = self.as_seen(text)
        if "://" in text or "www." in text:
            text, addresses = cut_urls(text)
            self.add(url_tokens(addresses))
        self.add(url_tokens(bare_addresses(text)))
        self.read_words(text)

    def read_words(self, text: str) -> None:
        """Count words, and pairs of neighbours."""
        found = words_of(text, "", self.limits.word, self.limits.text)
        self.add(found)
        if self.pairs:
            self.add([f"{one} {two}" for one, two in pairwise(found)])

    def read_structure(self, found: Outline) -> None:
        """Count types, encodings, charsets, names of files and defects."""
        tokens = {f"mime:{found.media}": None}
        for media in found.containers:
            tokens[f"mime:{media}"] = None
        for leaf in found.leaves:
            tokens[f"mime:{leaf.media}"] = None
            if leaf.encoding:
                tokens[f"mime:{leaf.encoding}"] = None
            if leaf.charset:
                tokens[f"charset:{leaf.charset[:20]}"] = None
            if leaf.disposition:
                tokens[f"mime:{leaf.disposition}"] = None
            if leaf.name:
                name = self.decoded(leaf.name)[0].lower()
                tokens[f"file:{name.translate(_DIGITS)[:40]}"] = None
                tokens[f"file:.{name.rpartition('.')[2][:8]}"] = None
        if found.boundary:
            tokens["boundary:" + _RUN.sub(_shape_of_run, found.boundary)[:24]] = None
        self.add(list(tokens))
        # Defects are rare and strong evidence: they count even in a full bag.
        for defect in (*found.defects, *self.defects):
            self.bag[f"defect:{defect}"] = 1


def _is_page(leaf: PartLeaf) -> bool:
    return leaf.media == "text/html" or _HTML_FILE.search(leaf.name) is not None


def _shape_of_run(run: re.Match[str]) -> str:
    """Return a run of digits as 0; of letters as its first four, or "a" for a short one."""
    text = run[0]
    if text[0].isdigit():
        return "0"
    return text[:4] if len(text) > 3 else "a"
