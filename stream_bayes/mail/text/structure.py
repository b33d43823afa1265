r"""The structure of a message, from one pass over its bytes.

Headers are split from bodies and bodies into parts, with everything counted and capped, so a message of 50,000 nested
parts or a header of a megabyte costs no more than an ordinary one. The defects of a message are found here too, and so
do not depend on the parser that decodes it.

    b"From: a@b\nContent-Type: multipart/mixed; boundary=x\n\n--x\n...\n--x--\n"
      -> Outline(headers=[("From", b"a@b"), ...], leaves=[Leaf, ...], media="multipart/mixed", defects={...})
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from urllib.parse import unquote_to_bytes

from stream_bayes.mail.text._fields import fields_of
from stream_bayes.mail.text.charsets import decode_text, decoded_header
from stream_bayes.mail.text.limits import Limits

__all__ = ["Header", "Outline", "PartLeaf", "head_and_body", "outline"]

Header = tuple[str, bytes]  # its name as it was written, and the value, unfolded and capped

_TYPE = re.compile(rb"[ \t]*([\w!#$&^.+-]{1,60})/([\w!#$&^.+-]{1,80})")
# Some programs forget the semicolon, or the second quotation mark.
_PARAMETER = re.compile(
    rb'[;\s][ \t]*([\w*-]{1,30})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.){0,1000})"|"?([^\s;"]{1,1000}))'
)
_QUOTED = re.compile(rb'\\(["\\])')
_ENCODING = re.compile(rb"[\s\"']*([\w-]{1,30})")
# The first line that may begin a part, of a multipart whose boundary is missing or wrong.
_BOUNDARY_LINE = re.compile(rb"\n--([^\n]{1,200}?)[ \t]*\nContent-[A-Za-z]")
_BOUNDARIES = re.compile(
    rb'boundary[*0]{0,3}[ \t]*=[ \t]*(?:"([^"\n]{1,300})"|([^\s;"]{1,300}))', re.IGNORECASE
)
MOST_BOUNDARIES = 1_000  # that are looked up
MAX_NAME_WORDS = 20  # encoded words in the name of a file

MAX_DECODED = 16  # the bytes of a part, in limits of its text: so much may be skipped before the text
LAST_PARTS = 10  # that are read beside the first ones, of a multipart with too many
PREAMBLE_BYTES = 200  # that a sender's software may write before the first boundary, or after the last
_ONCE = frozenset(
    "from subject date message-id to content-type mime-version content-transfer-encoding".split()
)
_MESSAGES = frozenset({"message/rfc822", "message/global", "message/news", "message/partial"})
_TRANSPARENT = frozenset({"7bit", "8bit", "binary", ""})
_ENCODINGS = {
    **{name: name for name in ("base64", "quoted-printable")},
    **dict.fromkeys(("uuencode", "x-uuencode", "x-uue", "x-uu"), "uuencode"),
}
_KNOWN = _TRANSPARENT | _ENCODINGS.keys()


@dataclass(slots=True)
class PartLeaf:
    """A part that holds no others."""

    media: str  # "text/html", in lower case
    body: bytes  # as it was sent
    encoding: str = ""  # "base64", "quoted-printable", "uuencode" or "": as it is
    charset: str = ""
    joins_lines: bool = False  # soft line ends stand within words
    name: str = ""  # of the attached file, decoded
    depth: int = 0
    disposition: str = ""
    # Each multipart/alternative around it, the outermost first: its number, and that of the form it belongs to.
    forms: tuple[tuple[int, int], ...] = ()
    is_cut: bool = False  # the middle of its body is left out
    # Its own, and those of a message within the message, or of a multipart, that begins with it.
    headers: list[Header] = field(default_factory=list)

    @property
    def is_attached(self) -> bool:
        """True for a file that the sender attached, of which readers show the name alone."""
        return self.disposition == "attachment"


@dataclass(slots=True)
class Outline:
    """The structure of a message, before anything is decoded."""

    headers: list[Header]
    leaves: list[PartLeaf]
    media: str  # of the whole message
    containers: list[str]  # the multiparts and messages within it
    boundary: str  # of the outermost multipart
    defects: dict[str, None]  # in the order in which they were found


@dataclass(slots=True)
class _Entity:
    """A part with headers and a body, still to be scanned."""

    start: int
    stop: int
    depth: int
    default: str  # its type, where it states none
    forms: tuple[tuple[int, int], ...] = ()  # as of a `PartLeaf`
    title: list[Header] = field(default_factory=list)  # the headers of what begins with it


@dataclass(slots=True)
class _PartContent:
    """The description of an entity's body by its headers."""

    media: str
    encoding: str
    charset: str
    joins_lines: bool
    boundary: bytes
    name: str
    disposition: str


def head_and_body(raw: bytes) -> tuple[bytes, bytes]:
    r"""Return the headers of a message and the rest, whether or not a blank line is between them. `raw` has line ends
    of one byte, and not the separator line of an mbox.

    Examples
    --------
    >>> head_and_body(b"Subject: a\n folded\n\nb\n"), head_and_body(b"no header\n")
    ((b'Subject: a\n folded', b'\nb\n'), (b'', b'no header\n'))
    """
    _, end, _ = fields_of(raw, 0, len(raw), 1, 0)
    return (raw[:end], raw[end + 1 :]) if end else (b"", raw)


def outline(raw: bytes, limits: Limits) -> Outline:
    """Find headers, parts and defects. Takes time in proportion to the bytes read, and never raises."""
    return _Scan(raw, limits).result


class _Scan:
    """One pass over one message."""

    def __init__(self, raw: bytes, limits: Limits) -> None:
        self.limits = limits
        self.defects: dict[str, None] = {}
        self.boundaries = self.lines_of_others = self.alternatives = 0
        if len(raw) > limits.message:
            tail = limits.message // 4
            raw = raw[: limits.message - tail] + raw[len(raw) - tail :]
            self.defects["oversize"] = None
        if b"\r" in raw:
            raw = raw.replace(b"\r\n", b"\n")
            if b"\r" in raw:
                self.defects["bare-cr"] = None
                raw = raw.replace(b"\r", b"\n")
        if b"\0" in raw:
            self.defects["nul"] = None
        raw = raw.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
        self.raw = raw
        start = raw.find(b"\n") + 1 if raw.startswith((b"From ", b">From ")) else 0
        self.leaves: list[PartLeaf] = []
        self.containers: list[str] = []
        root = _Entity(start, len(raw), 0, "text/plain")
        headers, content, body = self._headers(root)
        self._check_headers(headers)
        waiting: list[_Entity] = []  # a stack, the next entity last
        self._open(root, headers, content, body, waiting)
        while waiting:
            entity = waiting.pop()
            inner_headers, description, begin = self._headers(entity)
            self._open(entity, inner_headers, description, begin, waiting)
        if not any(leaf.body and not leaf.body.isspace() for leaf in self.leaves):
            self.defects["empty"] = None
        boundary = content.boundary.decode("latin-1") if content.media.startswith("multipart/") else ""
        self.result = Outline(headers, self.leaves, content.media, self.containers, boundary, self.defects)

    def _headers(self, entity: _Entity) -> tuple[list[Header], _PartContent, int]:
        """Return the header fields of an entity, their description of its body, and the body's start."""
        raw, limits = self.raw, self.limits
        start, stop = entity.start, entity.stop
        if start < stop and raw[start] == 10:  # no headers at all
            return [], self._content({}, entity.default), start + 1
        headers, end, defects = fields_of(raw, start, stop, limits.headers, limits.header)
        if not headers:
            # Text from the first line on. The body of a part without headers must still be seen.
            if end < stop:
                self.defects["no-headers"] = None
            return [], self._content({}, entity.default), start
        self.defects.update(dict.fromkeys(defects))
        body = end + 1
        if raw.startswith(b"\n", body) and body < stop:
            body += 1
        elif body < stop:
            self.defects["header-line"] = None
        else:
            body = stop
            self.defects["no-body"] = None
        values: dict[str, bytes] = {}
        for name, value in headers:
            lower = name.lower()
            if lower in values:
                if lower in _ONCE:
                    self.defects[f"twice-{lower}"] = None
            else:
                values[lower] = value
        return headers, self._content(values, entity.default), body

    def _content(self, headers: dict[str, bytes], default: str) -> _PartContent:
        media, charset, boundary, name, disposition = default, b"", b"", b"", ""
        joins_lines = False
        value = headers.get("content-type")
        if value is not None:
            match = _TYPE.match(value)
            if match:
                media = (match[1] + b"/" + match[2]).decode("latin-1").lower()
            else:
                self.defects["bad-type"] = None
            parameters = _parameters(value)
            charset = parameters.get(b"charset", b"")
            boundary = parameters.get(b"boundary", b"")
            name = parameters.get(b"name", b"")
            joins_lines = (
                parameters.get(b"format", b"").lower() == b"flowed"
                and parameters.get(b"delsp", b"").lower() == b"yes"
            )
        value = headers.get("content-disposition")
        if value is not None:
            disposition = value.partition(b";")[0].strip()[:20].decode("latin-1").lower()
            name = _parameters(value).get(b"filename", name)
        encoding = ""
        value = headers.get("content-transfer-encoding")
        if value is not None:
            match = _ENCODING.match(value)  # readers ignore what surrounds the word
            encoding = "" if match is None else match[1].decode("latin-1").lower()
            if encoding not in _KNOWN or len(encoding) != len(value.strip()):
                self.defects["bad-encoding"] = None
            encoding = _ENCODINGS.get(encoding, "")
        file = decoded_header(name, MAX_NAME_WORDS)[0].rstrip(" .") if name else ""
        return _PartContent(
            media,
            encoding,
            charset.decode("latin-1").lower(),
            joins_lines,
            boundary.rstrip(),
            file,
            disposition,
        )

    def _check_headers(self, headers: list[Header]) -> None:
        for name, value in headers:
            if not value.isascii():
                self.defects["raw-header"] = None
            if not value and name.lower() in _ONCE:
                self.defects[f"blank-{name.lower()}"] = None

    def _open(
        self, entity: _Entity, headers: list[Header], content: _PartContent, body: int, waiting: list[_Entity]
    ) -> None:
        """Push the parts of an entity on the stack, or make it a leaf."""
        media, inside = content.media, entity.depth + 1
        title = entity.title + headers if entity.depth else []
        # An encoded message is no container before it is decoded.
        is_message = media in _MESSAGES and not content.encoding
        if media.startswith("multipart/") or is_message:
            if inside > self.limits.depth:
                self.defects["deep"] = None
            elif is_message:
                self.containers.append(media)
                waiting.append(_Entity(body, entity.stop, inside, "text/plain", entity.forms, title))
                return
            else:
                parts = self._parts_of(content.boundary, body, entity.stop)
                if parts:
                    self.containers.append(media)
                    default = "message/rfc822" if media == "multipart/digest" else "text/plain"
                    is_choice = media == "multipart/alternative"
                    self.alternatives += is_choice
                    for number, (start, stop) in reversed(list(enumerate(parts))):
                        forms = (*entity.forms, (self.alternatives, number)) if is_choice else entity.forms
                        waiting.append(_Entity(start, stop, inside, default, forms, [] if number else title))
                    return
            media = "text/plain"  # any other type is read as plain text
        content_of_part, is_cut = self._body(body, entity.stop)
        leaf = PartLeaf(
            media,
            content_of_part,
            content.encoding,
            content.charset,
            content.joins_lines,
            content.name,
            entity.depth,
            content.disposition,
            entity.forms,
            is_cut,
            title,
        )
        self.leaves.append(leaf)

    def _body(self, start: int, stop: int) -> tuple[bytes, bool]:
        """Return the body of a part, and True if it is too long and its middle is left out."""
        most = MAX_DECODED * self.limits.text
        if stop - start <= most:
            return self.raw[start:stop], False
        tail = most // 4 // 4 * 4  # whole groups of base64
        return self.raw[start : start + most - tail] + self.raw[stop - tail : stop], True

    def _parts_of(self, boundary: bytes, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the start and end of each part of a multipart, by the boundary that it states, or else by the first
        line that looks like one.
        """
        if boundary:
            parts = self._parts(boundary, start, stop)
            if parts:
                return parts
            self.defects["no-parts"] = None
        else:
            self.defects["no-boundary"] = None
        line = _BOUNDARY_LINE.search(self.raw, max(start - 1, 0), stop)
        return self._parts(line[1], start, stop) if line is not None else []

    @cached_property
    def _stated_boundaries(self) -> frozenset[bytes]:
        """The boundaries that are stated anywhere in the message."""
        matches = islice(_BOUNDARIES.finditer(self.raw), MOST_BOUNDARIES)
        return frozenset([match[1] or match[2] for match in matches])

    def _is_of_another(self, boundary: bytes, start: int, stop: int) -> bool:
        """Return True if a line that begins as a boundary is one of another multipart, which goes on after that."""
        end = self.raw.find(b"\n", start, min(start + 302, stop))
        line = self.raw[start : end if end >= 0 else min(start + 302, stop)].rstrip()
        names = {line, line.removesuffix(b"--")} - {boundary}
        if self.lines_of_others > self.limits.parts or not self._stated_boundaries.intersection(names):
            return False
        self.lines_of_others += 1
        return True

    def _parts(self, boundary: bytes, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the start and end of each part of a multipart, by its boundary lines."""
        raw, line = self.raw, b"\n--" + boundary
        parts: list[tuple[int, int]] = []
        begin, closed = -1, False
        boundary_at = raw.find(line, max(start - 1, 0), stop)
        if boundary_at - start > PREAMBLE_BYTES:
            self.defects["preamble"] = None
        while boundary_at >= 0:
            after = boundary_at + len(line)
            if after < stop and raw[after] != 10 and self._is_of_another(boundary, boundary_at + 3, stop):
                boundary_at = raw.find(line, after, stop)
                continue
            self.boundaries += 1
            if self.boundaries > self.limits.parts:
                self.defects["many-parts"] = None
                last = self._last_parts(line, boundary_at, stop, min(LAST_PARTS, len(parts) // 2))
                return parts[: len(parts) - len(last)] + last
            if begin >= 0:
                parts.append((begin, max(boundary_at, begin)))
                begin = -1
            if raw.startswith(b"--", after):
                closed = True
                if stop - after > PREAMBLE_BYTES:
                    self.defects["epilogue"] = None
                break
            end = raw.find(b"\n", after, stop)
            if end < 0:
                break
            begin = end + 1
            boundary_at = raw.find(line, end, stop)
        if begin >= 0 and begin < stop:
            parts.append((begin, stop))
        if not closed:
            self.defects["unclosed"] = None
        return parts

    def _last_parts(self, line: bytes, start: int, stop: int, most: int) -> list[tuple[int, int]]:
        """Return the start and end of the last parts from a byte on, in order."""
        raw = self.raw
        parts: list[tuple[int, int]] = []
        end = stop
        while len(parts) < most:
            boundary_at = raw.rfind(line, start, end)
            if boundary_at < 0:
                break
            begin = raw.find(b"\n", boundary_at + len(line), end) + 1
            if begin and not raw.startswith(b"--", boundary_at + len(line)):
                parts.append((begin, end))
            end = boundary_at
        return parts[::-1]


def _parameters(value: bytes) -> dict[bytes, bytes]:
    r"""Return the parameters of a header; of two with one name, the first. One in sections (RFC 2231) is put together.

    Examples
    --------
    >>> _parameters(b"attachment; filename*0*=utf-8''caf%C3%A9; filename*1=.html")
    {b'filename': b'caf\xc3\xa9.html'}
    """
    parameters: dict[bytes, bytes] = {}
    sections: dict[bytes, dict[int, tuple[bytes, bool]]] = {}
    for match in _PARAMETER.finditer(value):
        name, mark, section = match[1].lower().partition(b"*")
        if match[2] is not None:
            content = _QUOTED.sub(rb"\1", match[2])
        else:
            content = match[3]
            rest = value[match.end() :].partition(b";")[0]
            if name.endswith(b"name") and b"=" not in rest and b'"' not in rest:
                content += rest.rstrip()  # a name with blanks
        if mark:
            number = section.rstrip(b"*")[:3]
            index = int(number) if number.isdigit() else 0
            sections.setdefault(name, {}).setdefault(index, (content, section[-1:] in (b"", b"*")))
        else:
            parameters.setdefault(name, content)
    for name, parts in sections.items():
        parameters.setdefault(name, _joined([parts[index] for index in sorted(parts)]))
    return parameters


def _joined(parts: list[tuple[bytes, bool]]) -> bytes:
    """Return the value of a parameter in sections, as UTF-8 if it names its charset; of each, whether it is escaped."""
    value = b"".join([unquote_to_bytes(content) if is_escaped else content for content, is_escaped in parts])
    if parts[0][1] and value.count(b"'") >= 2:
        charset, _, value = value.split(b"'", 2)
        if charset:
            value = decode_text(value, charset.decode("latin-1").lower())[0].encode("utf-8", "replace")
    return value
