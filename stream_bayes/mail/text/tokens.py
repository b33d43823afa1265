"""The tokens of a message, as a bag `{token: count}`.

Words of the text are tokens as they stand. Every other token has a prefix with a colon, which no word holds:

    shape: long:                       a number or a long word by its shape
    from: to: subject: received: ...   words, addresses and hosts of a header
    sender: auth: arc:                 senders compared, and known ones; the results of a trusted server
    hops:                              the number of servers on its way
    header:                            the name of a header, as written
    url: path:                         hosts and paths of links
    html:                              tags, and styles that may hide text
    hidden:                            hidden text: its means, size, and first words
    text:                              letters that are not what they look like
    mime: charset: file: boundary:     the structure
    part:                              the beginning of a further part that is shown
    unread:                            attached files that may hold text and were not read
    defect:                            defects of the message
    characters:                        those with which headers and text begin, if they are asked for; always the last
"""

from __future__ import annotations

import binascii
import re
from itertools import pairwise

from stream_bayes.mail.text._pages import attributes_of
from stream_bayes.mail.text._words import add_tokens, words_of
from stream_bayes.mail.text.armour import cut_armour, cut_uuencoded, decoded_uuencode
from stream_bayes.mail.text.attachments import FURTHER_PAGES, KINDS, OCTETS, kind_of, read_attachment
from stream_bayes.mail.text.binary import is_binary
from stream_bayes.mail.text.charsets import charset_of_page, decode_text, decoded_header
from stream_bayes.mail.text.correspondents import Correspondents
from stream_bayes.mail.text.headers import header_tokens, is_verdict
from stream_bayes.mail.text.html import (
    hidden_tokens,
    read_page,
    shortened,
    text_of_enriched,
    with_frames,
    with_plain_tags,
)
from stream_bayes.mail.text.letters import as_seen, spaced_words
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.senders import authentication_tokens, sender_tokens
from stream_bayes.mail.text.sheets import Sheet
from stream_bayes.mail.text.structure import MAX_DECODED, Header, Outline, PartLeaf, outline
from stream_bayes.mail.text.tags import markup_of
from stream_bayes.mail.text.transfer_encodings import DecodeParts, Encoded, canonical_base64, canonical_quoted
from stream_bayes.mail.text.visibility import PAPER, look_within, style_of
from stream_bayes.mail.text.web import address_of_link, bare_addresses, cut_urls, url_tokens

__all__ = [
    "CHARACTERS",
    "UNREAD",
    "Bag",
    "bag_of_message",
    "bag_of_text",
    "without_borders",
    "without_characters",
]

Bag = dict[str, int]

_RUN = re.compile(r"[A-Za-z]{1,60}|[0-9]{1,60}")
_DIGITS = str.maketrans("0123456789", "0000000000")
_PICTURE = re.compile(r"<(img|input)\b([^<>]{1,1500})>", re.IGNORECASE)
_TURNED = re.compile(r"<bdo\b[^<>]{0,60}\brtl\b[^<>]{0,60}>|</bdo\b[^<>]{0,20}>", re.IGNORECASE)
_TURNED_BY_STYLE = re.compile(  # text without tags in it
    r"(<([a-z]{1,10})\b(?=[^<>]{0,500}-override\b)(?=[^<>]{0,500}\brtl\b)[^<>]{1,1000}>)([^<>]{1,1000})(?=</\2\b)",
    re.IGNORECASE,
)
_SHOWN_INPUTS = frozenset({"text", "submit", "button", "reset", "search", "email", "url", "tel"})
MAX_ALT_LETTERS = 300  # of the text of a picture
MAX_ALT = 1_000  # pictures of a page whose texts are read
MAX_ARMOURED = 1 << 19  # bytes of files in a text as uuencode
MAX_INNER = 3  # encoded messages within one another
MAX_BORDERS = 100  # of parts
MAX_HOPS = 8  # that are counted
MAX_FULL_PARTS = 4  # the text of all parts together, in limits of one part
# Tokens of messages that were not read whole: what is not read is no reason to call a message ham.
UNREAD = (
    *(f"unread:{kind}" for kind in sorted(KINDS)),
    *(
        f"defect:{defect}"
        for defect in ("long-text", "oversize", "many-parts", "many-tokens", "deep", "empty", "no-text")
    ),
    "hidden:unfollowed",
    "hidden:content",
)
# Tokens between headers and text, and between the texts of two parts: no passage crosses them. That a message has parts
# is told by its structure, so those of parts are no evidence.
_PARTS = frozenset(f"part:{number}" for number in range(2, MAX_BORDERS + 1))
_BORDERS = _PARTS.union(f"hops:{number}" for number in range(MAX_HOPS + 1))
_BLANKS = re.compile(r"\s{3,}")
_SOFT_LINE_END = re.compile(r"(?<!\n--)(?<!^--) \r?\n>{0,20} ?")  # not the line before a signature
MAX_BEGIN = 1_200  # bytes of a body that tell what it holds
CHARACTERS = "characters:"
MAX_CHARACTERS = 1_500  # of the headers, and of the text
MAX_OF_HEADER = 200


def without_borders(bag: Bag) -> tuple[Bag, tuple[int, ...]]:
    """Return a bag without its marks of parts, and the places in it at which a part begins, in rising order.

    Examples
    --------
    >>> without_borders({"subject:hi": 1, "hops:1": 1, "pills": 1, "part:2": 1, "notes": 1})
    ({'subject:hi': 1, 'hops:1': 1, 'pills': 1, 'notes': 1}, (1, 3))
    """
    tokens = list(bag)
    starts = sorted([tokens.index(token) for token in _BORDERS.intersection(bag)])  # few: no loop over all
    gone: list[str] = []
    borders: list[int] = []
    for start in starts:
        borders.append(start - len(gone))
        if tokens[start] in _PARTS:
            gone.append(tokens[start])
    if gone:
        bag = dict(bag)
        for token in gone:
            del bag[token]
    return bag, tuple(borders)


def without_characters(bag: Bag) -> tuple[Bag, str]:
    """Return a bag without the token of its characters, and these; those of its sorted tokens, if it has none.

    Examples
    --------
    >>> without_characters({"cheap": 1, "pills": 1, "characters:cheap, cheap pills": 1})
    ({'cheap': 1, 'pills': 1}, 'cheap, cheap pills')
    >>> without_characters({"cheap": 1, "pills": 1})
    ({'cheap': 1, 'pills': 1}, ' cheap pills ')
    """
    last = next(reversed(bag), "")
    if not last.startswith(CHARACTERS):
        return bag, f" {' '.join(sorted(bag))} "
    tokens = dict(bag)
    del tokens[last]
    return tokens, last.removeprefix(CHARACTERS)


def bag_of_text(text: str, limits: Limits, *, pairs: bool, characters: bool = False) -> Bag:
    """Return the tokens of a text without headers, such as a short message."""
    reader = _Reader(limits, pairs, characters)
    reader.read_text(reader.cut(text))
    reader.check_room()
    for defect in reader.defects:
        reader.bag[f"defect:{defect}"] = 1
    reader.add_characters()
    return reader.bag


def bag_of_message(
    raw: bytes,
    limits: Limits,
    decode: DecodeParts,
    *,
    pairs: bool,
    characters: bool = False,
    authserv_id: str | None = None,
    correspondents: Correspondents | None = None,
) -> Bag:
    """Return the tokens of a message; with the results of the server of this name, if any, and those of its senders."""
    reader = _Reader(limits, pairs, characters)
    message = outline(raw, limits)
    reader.read_headers(message, authserv_id)
    if correspondents is not None:
        reader.add(correspondents.tokens(message.headers, authserv_id))
    reader.read_parts(message.leaves, decode, 0)
    is_no_mail = not message.headers and is_binary(raw)
    if is_no_mail or (not reader.has_text and "empty" not in message.defects):
        reader.defects["no-text"] = None
    reader.read_structure(message)
    reader.add_characters()
    return reader.bag


class _Beginning:
    """The first characters of texts that come one after the other, a line end between them."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, text: str) -> None:
        """Add a text, as far as there is room."""
        if len(self.text) < MAX_CHARACTERS:
            self.text = f"{self.text}\n{text[: MAX_CHARACTERS - len(self.text)]}"


class _Reader:
    """Counts the tokens of one message."""

    def __init__(self, limits: Limits, pairs: bool, characters: bool) -> None:
        self.limits = limits
        self.pairs = pairs
        self.characters = (_Beginning(), _Beginning()) if characters else None  # of headers and text
        self.encoded_words = limits.encoded_words
        self.bag: Bag = {}
        self.left = MAX_FULL_PARTS * limits.text  # letters that may be read
        self.defects: dict[str, None] = {}
        self.has_text = False  # in what the message shows
        self.parts = 1  # that are shown

    def add(self, tokens: list[str]) -> None:
        """Count tokens."""
        add_tokens(self.bag, tokens, self.limits.tokens)

    def add_characters(self) -> None:
        """Count the token of the characters with which headers and text begin, if it is asked for."""
        if self.characters is not None:
            headers, text = self.characters
            self.bag[f"{CHARACTERS}{headers.text}\n{text.text}".lower()] = 1

    def check_room(self) -> None:
        """Note a defect if the bag is full: later words are not counted."""
        if len(self.bag) >= self.limits.tokens:
            self.defects["many-tokens"] = None

    def read_headers(self, message: Outline, authserv_id: str | None) -> None:
        """Count the tokens of the message's headers."""
        tokens: list[str] = []
        routes = 0
        for name, value in message.headers:
            if b"=?" not in value and value.isascii():
                text = value.decode("ascii")
                if not text.isprintable():
                    text = self.as_seen(text)
            elif is_verdict(name):
                continue
            else:
                text, charsets = self.decoded(value)
                tokens += charsets
            of_header = header_tokens(name, text, self.limits.word)
            tokens += of_header
            if self.characters is not None and of_header:
                self.characters[0].add(f"{name}: {text[:MAX_OF_HEADER]}")
            if name in ("Received", "received", "RECEIVED"):
                routes += 1
        tokens += sender_tokens(message.headers)
        if authserv_id is not None:
            tokens += authentication_tokens(message.headers, authserv_id)
        tokens.append(f"hops:{min(routes, MAX_HOPS)}")
        self.add(tokens)

    def decoded(self, value: bytes) -> tuple[str, list[str]]:
        """Return a header's value as text, and tokens of the charsets in it."""
        text, charsets, used = decoded_header(value, self.encoded_words)
        self.encoded_words -= used
        return self.as_seen(text), [f"charset:{charset[:20]}" for charset in charsets]

    def as_seen(self, text: str) -> str:
        """Return a text as it looks, and count the tricks in it."""
        text, tricks = as_seen(text)
        self.add(tricks)
        return text

    def read_parts(self, leaves: list[PartLeaf], decode: DecodeParts, depth: int) -> None:
        """Count the words of every part that holds text, by the number of encoded messages around it."""
        readable = self.readable_parts(leaves, decode)
        # Of several forms of a text, the reader sees the last one with a page, neither attached nor blank.
        pages = {
            form
            for leaf, kind, body in readable
            if kind == "page" and not leaf.is_attached and leaf.media not in _NO_FORMS and body.strip()
            for form in leaf.forms
        }
        last = dict(sorted(pages))
        # Words count where they first occur: those of a short part must not be taken for those of a long one.
        for leaf, kind, body in sorted(readable, key=lambda one: len(one[2])):
            is_form = kind in _FORMS and not leaf.is_attached and leaf.media not in _NO_FORMS
            is_seen = not is_form or all(last.get(choice, form) == form for choice, form in leaf.forms)
            if is_seen:
                self.begin_part()
            if kind == "message":
                self.read_message(body, decode, depth + 1)
            elif kind in _READ_AS_TEXT:
                self.read_part(leaf, body, kind, is_seen=is_seen)
            else:
                self.read_attached(kind, body, is_seen=is_seen)

    def readable_parts(
        self, leaves: list[PartLeaf], decode: DecodeParts
    ) -> list[tuple[PartLeaf, str, bytes]]:
        """Return the parts that may hold text, with their kinds and decoded bodies."""
        readable: list[tuple[PartLeaf, str, bytes]] = []
        encoded: list[Encoded] = []
        rows: list[int] = []
        left = MAX_FULL_PARTS * MAX_DECODED * self.limits.text
        for leaf in leaves:
            kind = kind_of(leaf.media, leaf.name, _begin_of(leaf))
            if not kind:
                continue
            if kind not in _READ_AS_TEXT and (leaf.is_cut or len(leaf.body) > left):
                self.add([f"unread:{kind}"])
                continue
            body = self.canonical_body(leaf, left)
            left -= len(body)
            if leaf.encoding == "uuencode":
                body = decoded_uuencode(body)
            elif leaf.encoding and body:
                rows.append(len(readable))
                encoded.append((leaf.encoding, body))
            readable.append((leaf, kind, body))
        if encoded:
            for row, content in zip(rows, decode(encoded), strict=True):
                readable[row] = (*readable[row][:2], content)
        return readable

    def begin_part(self) -> None:
        """Mark the beginning of a part, if one before has shown a text."""
        if self.has_text:
            self.parts = min(self.parts + 1, MAX_BORDERS)
            self.add([f"part:{self.parts}"])

    def read_message(self, raw: bytes, decode: DecodeParts, depth: int) -> None:
        """Count the words of a message that came encoded, as of one within the message."""
        if depth > MAX_INNER:
            self.add(["unread:message"])
            return
        message = outline(raw, self.limits)
        self.defects.update({defect: None for defect in message.defects if f"defect:{defect}" in UNREAD})
        self.read_title(message.headers)
        self.read_parts(message.leaves, decode, depth)
        self.add(self.tokens_of_leaves(message.leaves))

    def read_attached(self, kind: str, data: bytes, *, is_seen: bool = True) -> None:
        """Count the words, links and names of files of an attached file; of an unseen one a few, as hidden ones."""
        attached = read_attachment(kind, data, self.limits.text)
        if not attached.is_whole:
            self.add([f"unread:{kind}"])
        if not is_seen:
            self.add(hidden_tokens("alternative", attached.text))
            return
        self.add(url_tokens(attached.links))
        for name in attached.names:
            self.add(_tokens_of_file(self.as_seen(name)))
        if attached.text:
            self.read_text(self.cut(attached.text))

    def canonical_body(self, leaf: PartLeaf, limit: int) -> bytes:
        """Return the body of a part, cut to the limit, and valid if it is encoded."""
        body = leaf.body
        if leaf.is_cut or len(body) > limit:
            self.defects["long-text"] = None
            body = body[:limit]
        if leaf.encoding in ("", "uuencode"):
            return body
        canonical = canonical_base64 if leaf.encoding == "base64" else canonical_quoted
        body, wrong = canonical(body)
        if wrong:
            self.defects[f"bad-{leaf.encoding}"] = None
        return body

    def read_title(self, headers: list[Header]) -> None:
        """Count the words of subject and sender of a message within the message."""
        for name, value in headers:
            if name.lower() in ("subject", "from"):
                self.read_words(self.decoded(value)[0])

    def read_part(self, leaf: PartLeaf, body: bytes, kind: str, *, is_seen: bool) -> None:
        """Count the words of a part of text; of one that is shown to nobody only a few, as hidden ones."""
        self.read_title(leaf.headers)
        charset = leaf.charset or (charset_of_page(body) if kind == "page" else "")
        text, defect = decode_text(body, charset)
        if defect:
            self.defects[defect] = None
        if kind == "page":
            text = self.cut(shortened(with_plain_tags(with_frames(text)), self.limits.text))
            markup = markup_of(text)
            self.add(markup.tokens)
            self.add(
                url_tokens([address for link in markup.links[:100] if (address := address_of_link(link))])
            )
            page = read_page(with_marks_of_direction(with_texts_of_pictures(text)))
            self.add(page.hidden)
            text = page.text
        elif kind == "enriched":
            text = self.cut(text_of_enriched(text))
        else:
            text = self.cut(self.without_armour(_SOFT_LINE_END.sub("", text) if leaf.joins_lines else text))
        if is_seen:
            self.read_text(text)
        else:
            self.add(hidden_tokens("alternative", text))

    def without_armour(self, text: str) -> str:
        """Return a text without the files in it as uuencode, which are read, and without OpenPGP's base64."""
        if "\nbegin " in text or text.startswith("begin "):
            text, files = cut_uuencoded(text, MAX_ARMOURED)
            for name, data in files:
                self.add(_tokens_of_file(self.as_seen(name)))
                kind = kind_of("", name, data)
                if kind == "message":
                    self.add(["unread:message"])
                elif kind in _READ_AS_TEXT:
                    self.read_text(self.cut(decode_text(data, "")[0]))
                elif kind:
                    self.read_attached(kind, data)
        if "-----BEGIN PGP " in text:
            text, is_encrypted = cut_armour(text)
            if is_encrypted:
                self.add(["unread:pgp"])
        return text

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
        if self.characters is not None:
            self.characters[1].add(text)
        self.has_text = self.has_text or bool(text.strip())
        if "://" in text or "www." in text:
            text, addresses = cut_urls(text)
            self.add(url_tokens(addresses))
        self.add(url_tokens(bare_addresses(text)))
        self.read_words(text)
        spaced = spaced_words(text)
        if spaced:
            self.add(["text:spaced"])
            self.read_words(" ".join(spaced))

    def read_words(self, text: str) -> None:
        """Count words, and pairs of neighbours."""
        words = words_of(text, "", self.limits.word, self.limits.text)
        self.add(words)
        if self.pairs:
            self.add([f"{one} {two}" for one, two in pairwise(words)])

    def read_structure(self, message: Outline) -> None:
        """Count types, encodings, charsets, names of files and defects."""
        tokens = {f"mime:{message.media}": None}
        for media in message.containers:
            tokens[f"mime:{media}"] = None
        tokens.update(dict.fromkeys(self.tokens_of_leaves(message.leaves)))
        if message.boundary:
            tokens["boundary:" + _RUN.sub(_shape_of_run, message.boundary)[:24]] = None
        self.add(list(tokens))
        self.check_room()
        # Defects are rare and strong evidence: they count even in a full bag.
        for defect in (*message.defects, *self.defects):
            self.bag[f"defect:{defect}"] = 1

    def tokens_of_leaves(self, leaves: list[PartLeaf]) -> list[str]:
        """Return tokens of the types, encodings, charsets and names of parts."""
        tokens: dict[str, None] = {}
        for leaf in leaves:
            tokens[f"mime:{leaf.media}"] = None
            if leaf.encoding:
                tokens[f"mime:{leaf.encoding}"] = None
            if leaf.charset:
                tokens[f"charset:{leaf.charset[:20]}"] = None
            if leaf.disposition:
                tokens[f"mime:{leaf.disposition}"] = None
            if leaf.name:
                tokens.update(dict.fromkeys(_tokens_of_file(self.as_seen(leaf.name))))
        return list(tokens)


_READ_AS_TEXT = frozenset({"text", "enriched", "page", "message"})
_FORMS = frozenset({"text", "enriched", "page", "rtf"})  # of a text, of which a reader sees one


_NO_FORMS = frozenset({OCTETS, *FURTHER_PAGES})  # types of parts that are shown whatever is beside them


def _begin_of(leaf: PartLeaf) -> bytes:
    """Return the first bytes of a part, decoded; none of a text, whose type tells what it is."""
    if leaf.media.startswith(("text/", "message/")):
        return b""
    begin = leaf.body[:MAX_BEGIN]
    if leaf.encoding == "base64":
        return binascii.a2b_base64(canonical_base64(begin)[0])
    if leaf.encoding == "quoted-printable":
        return binascii.a2b_qp(begin)
    return decoded_uuencode(begin) if leaf.encoding else begin


def _tokens_of_file(name: str) -> list[str]:
    name = name.lower()
    return [f"file:{name.translate(_DIGITS)[:40]}", f"file:.{name.rpartition('.')[2][:8]}"]


def with_texts_of_pictures(source: str) -> str:
    """Return a page with the texts of its pictures and its buttons, hidden for one that is not seen.

    Examples
    --------
    >>> with_texts_of_pictures("<img alt='cheap pills'><img width=1 alt='Dear Ann'>")
    "<img alt='cheap pills'> cheap pills <img width=1 alt='Dear Ann'><span hidden> Dear Ann</span>"
    """
    lower = source.lower()
    return _PICTURE.sub(_with_text, source, MAX_ALT) if "alt" in lower or "<input" in lower else source


def _with_text(match: re.Match[str]) -> str:
    name, attributes = match[1].lower(), dict(attributes_of(match[2], 0))
    is_button = name == "input" and attributes.get("type", "text").lower() in _SHOWN_INPUTS
    if is_button:
        text = attributes.get("value") or attributes.get("placeholder", "")
    else:
        text = attributes.get("alt", "")
    text = text[:MAX_ALT_LETTERS]
    if not text or text.isspace():
        return match[0]
    is_hidden = look_within(PAPER, style_of(name, match[2], Sheet(), [])).hidden
    return f"{match[0]}<span hidden> {text}</span>" if is_hidden else f"{match[0]} {text} "


def with_marks_of_direction(source: str) -> str:
    r"""Return a page with the characters that begin and end text from right to left, where tags or styles turn it.

    Examples
    --------
    >>> with_marks_of_direction("cheap <bdo dir=rtl>sllip</bdo>").encode("unicode-escape")
    b'cheap \\u202esllip\\u202c'
    """
    lower = source.lower()
    if "-override" in lower:
        source = _TURNED_BY_STYLE.sub("\\1\u202e\\3\u202c", source)
    return _TURNED.sub(_as_mark, source) if "<bdo" in lower else source


def _as_mark(match: re.Match[str]) -> str:
    """Return the character that begins or ends text from right to left, in place of a tag."""
    return "\u202c" if match[0].startswith("</") else "\u202e"


def _shape_of_run(run: re.Match[str]) -> str:
    """Return a run of digits as 0; of letters as its first four, or "a" for a short one."""
    text = run[0]
    if text[0].isdigit():
        return "0"
    return text[:4] if len(text) > 3 else "a"
