r"""Mails from files: a message, an mbox, a Maildir, a directory of these, or the standard input.

An mbox begins with "From ". Each such line after a blank one begins a new message; a ">" before a "From " in a message
is removed, as in mboxrd. Files compressed by gzip are decompressed.
"""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

from stream_bayes.errors import SourceError

__all__ = ["MAX_BYTES", "Mail", "mails", "size_of", "subfolders_of"]

MAX_BYTES = 1 << 26  # of one message; the rest of a longer one is skipped
GZIP = b"\x1f\x8b"


class Mail(NamedTuple):
    """A message.

    Parameters
    ----------
    raw
        Its bytes.
    done
        The bytes read so far, as `size_of` counts them.
    place
        Its file, with its number in an mbox.
    """

    raw: bytes
    done: int
    place: str


def mails(path: str | Path) -> Iterator[Mail]:
    """Yield the messages of a path in order; in directories, by file name.

    Parameters
    ----------
    path
        A file or directory, or `"-"` for the standard input.

    Raises
    ------
    SourceError
        If it cannot be read.
    """
    try:
        if str(path) == "-":
            yield from _in_stream(sys.stdin.buffer, sys.stdin.buffer, "-")
            return
        done = 0
        for file in _files(Path(path)):
            try:
                opened = file.open("rb")
            except FileNotFoundError:
                if file == Path(path):
                    raise
                continue  # a mail program has moved it since it was listed
            with opened:
                packed = opened.peek(2)[:2] == GZIP  # a pipe cannot be wound back
                stream = cast("IO[bytes]", gzip.GzipFile(fileobj=opened)) if packed else opened
                for mail in _in_stream(stream, opened, str(file)):
                    yield mail._replace(done=done + mail.done)
                done += os.fstat(opened.fileno()).st_size
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path}: cannot be read: {error}") from error


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
    own = Path(path)
    if str(path) == "-" or not (own / "cur").is_dir():
        return []
    return [each for each in sorted(own.iterdir()) if each.name.startswith(".") and (each / "cur").is_dir()]


def _files(path: Path) -> Iterator[Path]:
    """Yield the files with messages: of a Maildir, those in cur and new; of another directory, all files in and below
    it that are not hidden. Links to directories may form cycles, and are not followed.
    """
    if not path.is_dir():
        yield path
        return
    delivered = [path / "cur", path / "new"] if (path / "cur").is_dir() else []
    for folder in delivered or [path]:
        for one in sorted(folder.iterdir()) if folder.is_dir() else []:
            if one.name.startswith("."):
                continue
            if one.is_file():
                yield one
            elif one.is_dir() and not one.is_symlink() and not delivered:
                yield from _files(one)


def _in_stream(stream: IO[bytes], below: IO[bytes], name: str) -> Iterator[Mail]:
    """Yield the messages of one file; `below` is the file under a gzip stream, whose position counts."""
    place = below.tell if below.seekable() else lambda: 0
    first = stream.readline(MAX_BYTES)
    if not first:  # an empty box holds no message
        return
    if not first.startswith(b"From "):
        yield Mail(first + stream.read(max(MAX_BYTES - len(first), 0)), place(), name)
        return
    lines: list[bytes] = []
    size, blank, number = 0, False, 1
    while line := stream.readline(MAX_BYTES):
        if blank and line.startswith(b"From "):
            yield Mail(_joined(lines), place(), f"{name}:{number}")
            lines, size, blank, number = [], 0, False, number + 1
            continue
        blank = line in (b"\n", b"\r\n")
        if line.startswith(b">") and line.lstrip(b">").startswith(b"From "):
            line = line[1:]
        if size < MAX_BYTES:
            lines.append(line)
            size += len(line)
    yield Mail(_joined(lines), place(), f"{name}:{number}")


def _joined(lines: list[bytes]) -> bytes:
    """Return a message of an mbox without the blank line before the next one."""
    return b"".join(lines[:-1] if lines and lines[-1] in (b"\n", b"\r\n") else lines)
