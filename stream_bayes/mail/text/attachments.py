"""The text, links and names of attached files: calendars, RTF, zip archives, Office files and PDFs.

All is read from bytes in memory, by counts: members, bytes of each as it expands, and all of them together. Nothing is
executed, and no file makes an error. What may hold text and was not read is a token, `unread:pdf`.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

from stream_bayes.mail.text.binary import is_binary
from stream_bayes.mail.text.charsets import decode_text
from stream_bayes.mail.text.entities import unescaped
from stream_bayes.mail.text.limits import (
    MAX_EXPANDED,
    MAX_LINKS,
    MAX_MEMBERS,
    MAX_NAMES,
    MAX_READ,
    MAX_STREAMS,
)

__all__ = ["FURTHER_PAGES", "KINDS", "OCTETS", "AttachedText", "kind_of", "read_attachment"]

OCTETS: Final = "application/octet-stream"
FURTHER_PAGES: Final = (
    "text/x-amp-html",
    "text/watch-html",
)  # beside a page, which some readers show in its place
OFFICE_PACKS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# By the ending of the name; the type stated is often application/octet-stream.
_BY_NAME: Final = {
    **dict.fromkeys(("txt", "csv", "md", "log", "asc"), "text"),
    **dict.fromkeys(("htm", "html", "xhtml", "xht", "shtml", "svg"), "page"),
    **dict.fromkeys(("ics", "vcs", "vcf"), "calendar"),
    **dict.fromkeys(("docx", "docm", "xlsx", "xlsm", "pptx", "pptm", "odt", "ods", "odp"), "office"),
    **dict.fromkeys(("doc", "xls", "ppt", "one"), "old-office"),
    **dict.fromkeys(("zip", "jar"), "zip"),
    **dict.fromkeys(("rar", "7z", "iso", "img", "gz", "tgz", "cab", "ace", "arj"), "archive"),
    **dict.fromkeys(("eml", "mht", "mhtml"), "message"),
    "rtf": "rtf",
    "pdf": "pdf",
    "p7m": "smime",
    "dat": "tnef",
}
_BY_TYPE: Final = {
    **dict.fromkeys(("message/rfc822", "message/global", "message/news"), "message"),
    "image/svg+xml": "page",
    "application/xhtml+xml": "page",
    "text/html": "page",
    **dict.fromkeys(FURTHER_PAGES, "page"),
    "text/enriched": "enriched",
    "text/richtext": "enriched",
    "text/calendar": "calendar",
    "text/rtf": "rtf",
    "application/rtf": "rtf",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/x-zip-compressed": "zip",
    "application/ms-tnef": "tnef",
    "application/vnd.ms-tnef": "tnef",
    "application/pkcs7-mime": "smime",
    "application/x-pkcs7-mime": "smime",
    "application/msword": "old-office",
    "application/vnd.ms-excel": "old-office",
    "application/pgp-encrypted": "pgp",
}
KINDS: Final = frozenset(_BY_NAME.values()) | frozenset(_BY_TYPE.values())
_OFFICE_TYPES: Final = ("application/vnd.openxmlformats-", "application/vnd.oasis.opendocument.")
_ENDING: Final = re.compile(r"\.([a-z0-9]{1,5})[\"'\s]{0,3}\Z")

_OFFICE_TEXT: Final = re.compile(
    r"word/(?:document|header\d|footer\d|footnotes)\.xml|xl/sharedStrings\.xml|xl/worksheets/sheet\d\.xml"
    r"|ppt/slides/slide\d{1,2}\.xml|content\.xml|(?:word|xl/worksheets|ppt/slides)/_rels/[\w.]{1,40}\.rels"
)
_PARAGRAPH: Final = re.compile(r"</?(?:\w{1,10}:)?(?:p|br|tab|row|c|si|tr|h|table-cell)\b[^<>]{0,500}>")
_XML_TAG: Final = re.compile(r"<[^<>]{0,2000}>")
_TARGET: Final = re.compile(r"(?:Target|xlink:href)=\"((?:https?|ftp)://[^\"<>\s]{1,500})\"", re.IGNORECASE)

_RTF_MARK: Final = re.compile(r"[{}]|\\\*|\\[a-z]{3,20}")
_RTF_UNSEEN: Final = frozenset(
    "\\* \\fonttbl \\colortbl \\stylesheet \\info \\pict \\object \\themedata".split()
)
_RTF_LETTER: Final = re.compile(r"\\'([0-9a-fA-F]{2})|\\u(-?\d{1,5}) ?\??")
_RTF_WORD: Final = re.compile(r"\\(?:par|line|tab|cell|row)\b ?")
_RTF_CONTROL: Final = re.compile(r"\\[a-zA-Z]{1,32}-?\d{0,10} ?|\\\n|\\[^a-zA-Z]|[{}]")

_STREAM: Final = re.compile(rb"stream\r?\n")
_URI: Final = re.compile(rb"/URI\s{0,5}\(((?:[^()\\]|\\.){4,500})\)", re.DOTALL)
_SHOWN: Final = re.compile(
    rb"\(((?:[^()\\]|\\.){0,2000})\)\s{0,5}(?:Tj|'|\")|\[([^\[\]]{0,5000})\]\s{0,5}TJ", re.DOTALL
)
_PIECE: Final = re.compile(rb"\(((?:[^()\\]|\\.){0,500})\)|(-\d{3,5})", re.DOTALL)
_ESCAPED: Final = re.compile(rb"\\([0-7]{1,3}|[\r\n]|.)", re.DOTALL)


class AttachedText(NamedTuple):
    """The text, links and names that were read of an attached file."""

    text: str = ""
    links: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of the files in it
    is_whole: bool = True  # False if it may hold text that was not read


UNREAD: Final = AttachedText(is_whole=False)


def kind_of(media: str, name: str, begin: bytes) -> str:
    """Return the kind of a part by its name, type and first bytes, decoded; "" for one without text, such as a picture.

    Examples
    --------
    >>> kind_of("application/octet-stream", "Invoice.PDF", b""), kind_of("image/png", "a.png", b"")
    ('pdf', '')
    """
    ending = _ENDING.search(name.lower())
    kind = _BY_NAME.get(ending[1], "") if ending else ""
    if kind == "tnef" and name.lower().strip("\"' ") != "winmail.dat":
        kind = ""
    if kind:
        return kind
    if media.startswith(_OFFICE_TYPES):
        return "office"
    if media in _BY_TYPE:
        return _BY_TYPE[media]
    if media.startswith(("text/", "message/")):
        return "text"
    if begin.startswith(b"%PDF"):
        return "pdf"
    if media == OCTETS and not name and not is_binary(begin):
        return "page" if begin.lstrip().startswith(b"<") else "text"
    return ""


def read_attachment(kind: str, data: bytes, longest: int) -> AttachedText:
    """Return the text, links and names of a file. `kind` is as `kind_of` returns it; `data` is decoded. At most
    `longest` letters are returned.
    """
    reader = _READERS.get(kind)
    if reader is None:
        return UNREAD
    try:
        return reader(data, longest)
    # A damaged file makes zipfile and zlib raise nearly anything.
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, EOFError, OSError):
        return UNREAD
    except (IndexError, KeyError, OverflowError):
        return UNREAD


def _calendar(data: bytes, longest: int) -> AttachedText:
    """Read an iCalendar or vCard file: its lines are folded, and its commas escaped."""
    text = decode_text(data, "utf-8")[0].replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "")
    return AttachedText(text.replace("\\n", " ").replace("\\,", ",").replace("\\;", ";")[:longest])


def _rtf(data: bytes, longest: int) -> AttachedText:
    r"""Read RTF.

    Examples
    --------
    >>> _rtf(rb"{\rtf1{\fonttbl{\f0 Arial;}}\b cheap\b0  pills\par caf\'e9}", 100).text.split()
    ['cheap', 'pills', 'café']
    """
    source = _RTF_LETTER.sub(
        lambda match: chr(int(match[1], 16) if match[1] else int(match[2]) % 65_536),
        _seen_of_rtf(data[: 4 * longest].decode("latin-1")),
    )
    text = _RTF_CONTROL.sub("", _RTF_WORD.sub(" ", source))
    return AttachedText(text[:longest], is_whole=len(data) <= 4 * longest)


def _seen_of_rtf(source: str) -> str:
    """Return RTF without the groups that are not shown, such as tables of fonts."""
    kept: list[str] = []
    depth = start = hidden_from = 0
    for match in _RTF_MARK.finditer(source):
        if not hidden_from:
            kept.append(source[start : match.start()])
        start = match.start()
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            if depth == hidden_from:
                hidden_from = 0
            depth -= 1
        elif not hidden_from and match[0] in _RTF_UNSEEN:
            hidden_from = depth
    if not hidden_from:
        kept.append(source[start:])
    return "".join(kept)


def _opened(data: bytes) -> zipfile.ZipFile:
    """Open an archive.

    Raises
    ------
    ValueError
        If it lists too many files.
    """
    end = data.rfind(b"PK\5\6")
    if end < 0 or int.from_bytes(data[end + 10 : end + 12], "little") > MAX_MEMBERS:
        raise ValueError("no archive, or one of too many files")
    return zipfile.ZipFile(io.BytesIO(data))


def _zip(data: bytes, longest: int) -> AttachedText:
    """Read the names of the files in an archive."""
    with _opened(data) as archive:
        return AttachedText(names=tuple(info.filename[-80:] for info in archive.infolist()[:MAX_NAMES]))


def _office(data: bytes, longest: int) -> AttachedText:
    """Read the text of a document, sheet or presentation, and the targets of its links."""
    texts: list[str] = []
    links: dict[str, None] = {}
    left, is_whole = MAX_READ, True
    with _opened(data) as archive:
        for info in archive.infolist():
            if _OFFICE_TEXT.fullmatch(info.filename) is None:
                continue
            # Encrypted, or enough; or packed as no office program does, some of it with any memory that it asks for.
            if info.flag_bits & 1 or left <= 0 or info.compress_type not in OFFICE_PACKS:
                is_whole = False
                continue
            with archive.open(info) as member:
                content = member.read(min(MAX_EXPANDED, left))
            left -= len(content)
            is_whole &= len(content) >= info.file_size
            source = content.decode("utf-8", "replace")
            links.update(dict.fromkeys(_TARGET.findall(source)[:MAX_LINKS]))
            if not info.filename.endswith(".rels"):
                texts.append(unescaped(_XML_TAG.sub("", _PARAGRAPH.sub(" ", source))))
    text = " ".join(texts)
    return AttachedText(text[:longest], tuple(links)[:MAX_LINKS], (), is_whole and len(text) <= longest)


def _pdf(data: bytes, longest: int) -> AttachedText:
    """Read the links of a PDF, and the text that is shown in letters of a byte each.

    Text in other fonts needs their tables, and is not read; nor is what is encrypted.
    """
    chunks = [data]
    left, is_whole = MAX_READ, b"/Encrypt" not in data
    for number, match in enumerate(_STREAM.finditer(data)):
        about = data[max(match.start() - 400, 0) : match.start()].rpartition(b"obj")[2]
        if b"/Image" in about or b"/FontFile" in about or b"/Length1" in about:
            continue
        if number >= MAX_STREAMS or left <= 0:
            is_whole = False
            break
        if b"/FlateDecode" in about or b"/Fl " in about:
            try:
                chunk = zlib.decompressobj().decompress(data[match.end() :], min(MAX_EXPANDED, left))
            except zlib.error:
                is_whole = False
                continue
            left -= len(chunk)
            chunks.append(chunk)
    links = [_unescaped(uri) for chunk in chunks for uri in _URI.findall(chunk)[:MAX_LINKS]]
    text = " ".join(_shown(chunk) for chunk in chunks if b"BT" in chunk)[:longest]
    return AttachedText(text, tuple(dict.fromkeys(links))[:MAX_LINKS], (), is_whole and bool(text.strip()))


def _shown(content: bytes) -> str:
    """Return the text that the operators of a page show."""
    lines: list[str] = []
    for match in _SHOWN.finditer(content):
        if match[2] is None:
            lines.append(_unescaped(match[1]))
        else:  # pieces of a line, with wide gaps between words
            pieces = _PIECE.finditer(match[2])
            lines.append("".join(" " if piece[2] else _unescaped(piece[1]) for piece in pieces))
    return " ".join(lines)


def _unescaped(string: bytes) -> str:
    """Return a string of a PDF as text."""

    def letter(match: re.Match[bytes]) -> bytes:
        code = match[1]
        if code[0] in b"01234567":
            return bytes([int(code, 8) % 256])
        return b"" if code in b"\r\n" else b" " if code in b"nrtbf" else code

    return _ESCAPED.sub(letter, string).decode("cp1252", "replace")


_READERS: Final[dict[str, Callable[[bytes, int], AttachedText]]] = {
    "calendar": _calendar,
    "rtf": _rtf,
    "zip": _zip,
    "office": _office,
    "pdf": _pdf,
}
