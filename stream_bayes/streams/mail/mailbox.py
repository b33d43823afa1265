r"""Mails from files: a message, an mbox, a Maildir, a directory of these, or the standard input.

An mbox is told by its first five bytes, "From ". A new message begins with each such line that follows a blank one; a
">" before a "From " in a message is taken away, as mboxrd has it. What is compressed by gzip is read as what is in it.
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

__all__ = ["MOST_BYTES", "Mail", "mails", "size_of"]

MOST_BYTES = 1 << 26  # of one message; what is longer is cut, and nothing of it is held
GZIP = b"\x1f\x8b"


class Mail(NamedTuple):
    """A message.

    Parameters
    ----------
    raw
        Its bytes.
    done
        How far reading has come, in the bytes that `size_of` counts.
    place
        Where it is: its file, with its number where that is an mbox.
    """

    raw: bytes
    done: int
    place: str


def mails(path: str | Path) -> Iterator[Mail]:
    """The messages that a path stands for, in its order; of directories in the order of names.

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
    """How many bytes there are to read; None where that is not known."""
    total = 0
    for path in paths:
        if str(path) == "-":
            return None
        try:
            total += sum(file.stat().st_size for file in _files(Path(path)))
        except OSError as error:
            raise SourceError(f"{path}: cannot be read: {error}") from error
    return total


def _files(path: Path) -> Iterator[Path]:
    """The files with messages: of a Maildir those that were delivered, of another directory all in and below it that
    are not hidden. Links to directories may lead in circles, and are not followed.
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
    """The messages of one file; `below` says how far it was read."""
    place = below.tell if below.seekable() else lambda: 0
    first = stream.readline(MOST_BYTES)
    if not first:  # an empty box holds no message
        return
    if not first.startswith(b"From "):
        yield Mail(first + stream.read(max(MOST_BYTES - len(first), 0)), place(), name)
        return
    lines: list[bytes] = []
    size, blank, number = 0, False, 1
    while line := stream.readline(MOST_BYTES):
        if blank and line.startswith(b"From "):
            yield Mail(_joined(lines), place(), f"{name}:{number}")
            lines, size, blank, number = [], 0, False, number + 1
            continue
        blank = line in (b"\n", b"\r\n")
        if line.startswith(b">") and line.lstrip(b">").startswith(b"From "):
            line = line[1:]
        if size < MOST_BYTES:
            lines.append(line)
            size += len(line)
    yield Mail(_joined(lines), place(), f"{name}:{number}")


def _joined(lines: list[bytes]) -> bytes:
    """A message of an mbox without the blank line that parts it from the next."""
    return b"".join(lines[:-1] if lines and lines[-1] in (b"\n", b"\r\n") else lines)
