r"""Mails from files: a message, an mbox, a Maildir, a dbox, a table, a directory of these, or the standard input.

An mbox begins with "From ". Each such line with a date begins a new message. One without a date does if a header
follows and it has an address alone or comes after a blank line: a text may begin with "From", too. A ">" before a
"From " in a message is removed, as in mboxrd. A byte order mark and blank lines before the first message are skipped;
MMDF boxes and the .emlx files of Apple are read too. Files packed by gzip, bzip2, xz or zstd are unpacked, and the
files in a zip or tar archive read one after the other, all bounded while they expand. In a file without any line feed,
as of old Macs, lines end with a carriage return.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from stream_bayes.errors import BadValue, SourceError
from stream_bayes.mail.store.identity import id_of_mail
from stream_bayes.mail.streams.attached_mails import attached_mails
from stream_bayes.mail.streams.dbox import dbox_mails, is_dbox
from stream_bayes.mail.streams.tables import csv_mails, is_labelled, is_object, json_mails, labelled_texts
from stream_bayes.mail.text.binary import is_binary
from stream_bayes.streams.byte_files.byte_file import ReplayableFile, decompressed_xz, decompressed_zstd

__all__ = [
    "MAX_BYTES",
    "Mail",
    "keyed_mails",
    "mails",
    "mails_attached",
    "refusal_of",
    "refusals",
    "size_of",
    "subfolders_of",
]

SHOWN = 5  # refused files that are named
MAX_BYTES = 1 << 26  # of one message; the rest of a longer one is skipped
MAX_LINE = 1 << 12  # bytes in which a line ends
MAX_GROWTH, MIN_PACKED = 200, 1 << 18  # of a packed file as it expands, once so many bytes of it were read
# Not LZMA, which takes as much memory as the archive asks for.
UNPACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
ZIP, TAR_MARK, MMDF = b"PK\3\4", 257, b"\1\1\1\1"
PACKERS: dict[
    bytes, Callable[[IO[bytes], str], Any]
] = {  # a pipe cannot be wound back, so the first bytes decide
    b"\x1f\x8b": lambda file, name: gzip.GzipFile(fileobj=file),
    b"BZh": lambda file, name: bz2.BZ2File(file),
    b"\xfd7zX": lambda file, name: decompressed_xz(cast("ReplayableFile", file)),
    b"\x28\xb5\x2f\xfd": lambda file, name: decompressed_zstd(name, cast("ReplayableFile", file)),
}
BYTE_ORDER_MARK, BLANK_LINES = b"\xef\xbb\xbf", (b"\n", b"\r\n")
OTHER_KINDS = {
    ZIP: "a zip archive",
    b"\x28\xb5\x2f\xfd": "a file packed by zstd",
    b"\x1f\x8b": "a file packed by gzip",
    b"BZh": "a file packed by bzip2",
    b"\xfd7zX": "a file packed by xz",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a rar archive",
    b"!BDN": "an Outlook store (.pst): export it as mbox, say with readpst",
    b"\xd0\xcf\x11\xe0": "an Outlook message (.msg) or an old Office file: save it as .eml",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x7fELF": "a program",
    b"SQLite format 3": "a database",
}
DELIVERED = ("cur", "new")  # folders of a Maildir that hold mails
TABLE_ENDINGS = (".csv", ".tsv")
MAIL_ENDINGS = (".mbox", ".eml")  # of files that commands write to topics as mails
PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_FIELD = re.compile(rb"(?:>?From [^\n]{0,200}\n)?[\w-]{1,100}[ \t]{0,20}:")  # a header of a mail
_SEPARATOR = re.compile(
    rb"From \S{1,200}[ \t]{1,5}(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[ \t]{1,5}"
    rb"[A-Z][a-z]{2}[ \t]{1,5}\d{1,2}[ \t]{1,5}\d{1,2}:\d\d"
)
_ADDRESSED = re.compile(rb"From (?:-|[^\s@]{1,100}@[^\s@]{1,100})\s*")  # a separator without a date
_SIZE = re.compile(rb"\d{1,10}[ \t]*\r?\n")  # the first line of an .emlx file: the bytes of its mail


class Mail(NamedTuple):
    """A message."""

    raw: bytes
    done: int  # the bytes read so far, as `size_of` counts them
    origin: str  # its file, with its number in an mbox or its name in an archive
    refusal: str = ""  # why it is no mail to learn from; "" for a mail


def mails_attached(path: str | Path, label: str | None = None) -> Iterator[Mail]:
    """Yield the mails attached to those of a path, as `mails` does; one without any is refused."""
    for mail in mails(path, label):
        inner, refusal = ([], mail.refusal) if mail.refusal else attached_mails(mail.raw, label)
        if refusal:
            yield mail._replace(refusal=refusal)
        for raw in inner:
            yield mail._replace(raw=raw)


def mails(path: str | Path, label: str | None = None) -> Iterator[Mail]:
    """Yield the messages of a path in order; in directories, by file name. The path is a file or directory, or `"-"`
    for the standard input. `label` is the one by which they are asked for: a row of a table with another one is
    refused.

    Raises
    ------
    SourceError
        If it cannot be read.
    """
    try:
        if str(path) == "-":
            stdin = io.BufferedReader(_Whole(sys.stdin.buffer))
            yield from _in_file(cast("IO[bytes]", stdin), cast("IO[bytes]", stdin), "-", label)
            return
        done = 0
        for file in _files(Path(path)):
            try:
                opened = file.open("rb")
            except FileNotFoundError:
                if file == Path(path):
                    raise
                continue  # a mail program has moved it since it was listed
            # Mail programs and archives lay lists, rules and notes beside mails; into a Maildir, mails are delivered.
            is_one_of_many = file != Path(path) and file.parent.name not in DELIVERED
            with opened:
                for mail in _in_file(opened, opened, str(file), label):
                    refusal = mail.refusal or (_refusal_among_others(mail.raw) if is_one_of_many else "")
                    yield mail._replace(done=done + mail.done, refusal=refusal)
                done += os.fstat(opened.fileno()).st_size
    except (
        OSError,
        EOFError,
        BadValue,
        zlib.error,
        lzma.LZMAError,
        tarfile.TarError,
        zipfile.BadZipFile,
    ) as error:
        raise SourceError(f"{path}: cannot be read: {error}") from error


def keyed_mails(file: Path, label: str | None = None) -> Iterator[tuple[bytes, bytes | None]] | None:
    """Return the mails of a mailbox or directory with their ids as keys, and None in place of each that is refused;
    None for a file of anything else.
    """
    if not file.is_dir() and not any(suffix.lower() in MAIL_ENDINGS for suffix in file.suffixes):
        return None
    return (
        (mail.origin.encode(), None) if mail.refusal else (id_of_mail(mail.raw).encode(), mail.raw)
        for mail in mails(file, label)
    )


def size_of(paths: Iterable[str | Path]) -> int | None:
    """Return the number of bytes to read; None if it is unknown."""
    total = 0
    for path in paths:
        if str(path) == "-":
            return None
        try:
            total += sum(file.stat().st_size for file in _files(Path(path)))
        except OSError as error:
            raise SourceError(f"{path}: cannot be read: {error}") from error
    return total


def subfolders_of(path: str | Path) -> list[Path]:
    """Return the subfolders of a Maildir (Maildir++: `.Junk`, `.Lists.python`), which `mails` does not read with it."""
    maildir = Path(path)
    if str(path) == "-" or not (maildir / "cur").is_dir():
        return []
    return [
        each for each in sorted(maildir.iterdir()) if each.name.startswith(".") and (each / "cur").is_dir()
    ]


def _files(path: Path) -> Iterator[Path]:
    """Yield the files with messages: of a Maildir, those in cur and new; of another directory, all files in and below
    it that are not hidden. Links to directories are followed, each directory once.
    """
    yield from _files_below(path, set())


def _files_below(path: Path, seen: set[Path]) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    resolved = path.resolve()
    if resolved in seen:
        return
    seen.add(resolved)
    delivered = [path / name for name in DELIVERED] if (path / "cur").is_dir() else []
    for folder in delivered or [path]:
        for one in sorted(folder.iterdir()) if folder.is_dir() else []:
            if one.name.startswith("."):
                continue
            if one.is_file():
                yield one
            elif one.is_dir() and not delivered:
                yield from _files_below(one, seen)


def _in_file(
    stream: IO[bytes], below: IO[bytes], name: str, label: str | None, *, may_unpack: bool = True
) -> Iterator[Mail]:
    """Yield the messages of one file, of a packed one, or of the files in an archive.

    `below` is the file whose position counts. Files in an archive are no archives in turn.
    """
    begin = _peeked(stream, 4)
    packer = next((each for magic, each in PACKERS.items() if begin.startswith(magic)), None)
    if packer is not None and may_unpack:
        unpacked = io.BufferedReader(_Bounded(packer(stream, name), below))
        yield from _in_file(cast("IO[bytes]", unpacked), below, name, label, may_unpack=False)
    elif _peeked(stream, TAR_MARK + 5)[TAR_MARK:] == b"ustar":
        yield from _archived(_in_tar(stream, below, name, label))
    elif begin == ZIP and may_unpack and below.seekable():
        yield from _archived(_in_zip(below, name, label))
    else:
        for mail in _in_stream(stream, below, name, label):
            yield mail._replace(refusal=mail.refusal or refusal_of(mail.raw))


def _in_tar(stream: IO[bytes], below: IO[bytes], name: str, label: str | None) -> Iterator[Mail]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isreg() else None
            if file is not None:
                inner = cast("IO[bytes]", io.BufferedReader(_Whole(file)))
                yield from _in_stream(inner, below, f"{name}:{member.name}", label)


def _in_zip(file: IO[bytes], name: str, label: str | None) -> Iterator[Mail]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            if info.flag_bits & 1 or info.compress_type not in UNPACKED:
                why = "encrypted" if info.flag_bits & 1 else f"packed by {_packing_of(info)}"
                raise SourceError(f"{name}: {info.filename} is {why}; unpack it, or pack it again by zip")
            if info.file_size > MAX_GROWTH * max(info.compress_size, MIN_PACKED):
                raise SourceError(f"{name}: {info.filename} expands without end; it is not read")
            with archive.open(info) as member:
                inner = cast("IO[bytes]", io.BufferedReader(_Whole(member)))
                yield from _in_stream(inner, inner, f"{name}:{info.filename}", label)


def _packing_of(info: zipfile.ZipInfo) -> str:
    return "LZMA" if info.compress_type == zipfile.ZIP_LZMA else f"method {info.compress_type}"


def _archived(messages: Iterator[Mail]) -> Iterator[Mail]:
    """Yield the messages in an archive."""
    for mail in messages:
        yield mail._replace(refusal=mail.refusal or refusal_of(mail.raw) or _refusal_among_others(mail.raw))


def _refusal_among_others(raw: bytes) -> str:
    """Return why one of many files is no mail: there a text without headers is none."""
    return "" if _FIELD.match(raw) else "a text without headers: name its file to learn it"


def _peeked(stream: IO[bytes], size: int) -> bytes:
    """Return the first bytes of a stream, which stay to be read."""
    return cast("io.BufferedReader", stream).peek(size)[:size]


class _Whole(io.RawIOBase):
    """A stream to be read in pieces."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _WithLineFeeds(_Whole):
    """A stream whose lines end with a carriage return, with line feeds in their place."""

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer)
        buffer[:size] = bytes(buffer[:size]).replace(b"\r", b"\n")
        return size


class _Bounded(_Whole):
    """A packed stream, refused while it expands if it grows without end."""

    def __init__(self, stream: IO[bytes], below: IO[bytes]) -> None:
        super().__init__(stream)
        self._packed = below.tell if below.seekable() else lambda: 0
        self._expanded = 0

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer)
        self._expanded += size
        if self._expanded > MAX_GROWTH * max(self._packed(), MIN_PACKED):
            raise OSError(f"it expands without end: {self._expanded:,} bytes so far")
        return size


def _in_stream(stream: IO[bytes], below: IO[bytes], name: str, label: str | None) -> Iterator[Mail]:
    """Yield the messages of one file; `below` is the file under a gzip stream, whose position counts."""
    bytes_read = below.tell if below.seekable() else lambda: 0
    begin = _peeked(stream, MAX_LINE)
    if b"\r" in begin and b"\n" not in begin:
        stream = cast("IO[bytes]", io.BufferedReader(_WithLineFeeds(stream)))
    first = stream.readline(MAX_BYTES).removeprefix(BYTE_ORDER_MARK)
    while first in BLANK_LINES:  # which some programs write before the first message
        first = stream.readline(MAX_BYTES)
    if not first:  # an empty box holds no message
        return
    if first.rstrip(b"\r\n") == MMDF:
        yield from _in_mmdf(stream, bytes_read, name)
        return
    if is_dbox(first):
        for number, raw in enumerate(dbox_mails(stream, name, MAX_BYTES), 1):
            yield Mail(raw, bytes_read(), f"{name}:{number}")
        return
    is_table = _is_table(name)
    if is_table or is_object(first) or is_labelled(first):
        rows_of = csv_mails if is_table else json_mails if is_object(first) else labelled_texts
        for number, row in enumerate(rows_of(first, stream, label), 1):
            yield Mail(row.raw, bytes_read(), f"{name}:{number}", row.refusal)
        return
    if _SIZE.fullmatch(first):
        raw = stream.read(min(int(first), MAX_BYTES))
        rest = stream.read(MAX_BYTES - len(raw))
        yield Mail(raw if _FIELD.match(raw) else first + raw + rest, bytes_read(), name)
        return
    if first.startswith(b"From "):
        yield from _in_mbox(stream, bytes_read, name)
    else:
        yield Mail(first + stream.read(max(MAX_BYTES - len(first), 0)), bytes_read(), name)


def _in_mbox(stream: IO[bytes], bytes_read: Callable[[], int], name: str) -> Iterator[Mail]:
    """Yield the messages of an mbox, after the line that separates the first."""
    lines: list[bytes] = []
    size, blank, number = 0, False, 1
    line = stream.readline(MAX_BYTES)
    while line:
        may_separate = line.startswith(b"From ")
        following = stream.readline(MAX_BYTES) if may_separate else b""
        if may_separate and _begins_message(line, following, is_after_blank=blank):
            yield Mail(_joined(lines), bytes_read(), f"{name}:{number}")
            lines, size, blank, number = [], 0, False, number + 1
            line = following
            continue
        blank = line in BLANK_LINES
        if line.startswith(b">") and line.lstrip(b">").startswith(b"From "):
            line = line[1:]
        if size < MAX_BYTES:
            lines.append(line)
            size += len(line)
        line = following or stream.readline(MAX_BYTES)
    yield Mail(_joined(lines), bytes_read(), f"{name}:{number}")


def _begins_message(line: bytes, following: bytes, *, is_after_blank: bool) -> bool:
    """Return True for a line of an mbox that begins with "From " and separates messages."""
    if _SEPARATOR.match(line):
        return True
    if _FIELD.match(following):
        return is_after_blank or _ADDRESSED.fullmatch(line) is not None
    return is_after_blank and following in (b"", *BLANK_LINES) and len(line.split()) == 2


def _is_table(name: str) -> bool:
    """Return True for the name of a CSV file, perhaps packed."""
    name = name.lower()
    for ending in PACKED_ENDINGS:
        name = name.removesuffix(ending)
    return name.endswith(TABLE_ENDINGS)


def _in_mmdf(stream: IO[bytes], bytes_read: Callable[[], int], name: str) -> Iterator[Mail]:
    """Yield the messages of an MMDF box, each between two lines of four bytes 1; the first line is read."""
    lines: list[bytes] = []
    size, number = 0, 0
    while line := stream.readline(MAX_BYTES):
        if line.rstrip(b"\r\n") != MMDF:
            if size < MAX_BYTES:
                lines.append(line)
                size += len(line)
            continue
        if lines:
            number += 1
            yield Mail(b"".join(lines), bytes_read(), f"{name}:{number}")
        lines, size = [], 0
    if lines:
        yield Mail(b"".join(lines), bytes_read(), f"{name}:{number + 1}")


def refusal_of(raw: bytes) -> str:
    r"""Return why bytes are no mail to learn from; "" for a mail, and for text without headers.

    Examples
    --------
    >>> refusal_of(b"Subject: a\n\nb"), refusal_of(b"PK\3\4..."), refusal_of(bytes(range(256)))
    ('', 'a zip archive', 'binary data')
    """
    kind = next((kind for magic, kind in OTHER_KINDS.items() if raw.startswith(magic)), "")
    if kind:
        return kind
    if _FIELD.match(raw):
        return ""
    if raw[:1_000].lstrip()[:1] in (b"{", b"[") and _is_json(raw):
        return "JSON that is no object a line"
    return "binary data" if is_binary(raw) else ""


def refusals(refused: dict[str, str]) -> str:
    """Return a line about files that hold no mail."""
    shown = ", ".join(f"{where} ({kind})" for where, kind in list(refused.items())[:SHOWN])
    more = f" and {len(refused) - SHOWN:,} more" if len(refused) > SHOWN else ""
    return f"{len(refused):,} refused, nothing was learned from them: they hold no mail, but {shown}{more}"


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _joined(lines: list[bytes]) -> bytes:
    """Return a message of an mbox without the blank line before the next one."""
    return b"".join(lines[:-1] if lines and lines[-1] in (b"\n", b"\r\n") else lines)
