"""Rotated log files: the number of a file, the file with a number, and the file that follows another.

A log is rotated when it is renamed, to `app.log.1` or `app.log-20260131`, and another is begun under its name. Each of
the files is a partition of the source. Its number is

    number = number of earlier files << 40 | digest of 40 bits

The digest is made of the file's inode and its first lines, which never change. So positions alone are enough to find a
file again after a restart, even if it was renamed meanwhile; a copy, or a new file with the inode of a deleted one, is
not mistaken for it.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from stream_bayes.errors import SourceError
from stream_bayes.streams.byte_files.byte_file import ByteFile

__all__ = ["after", "found_again", "numbered", "rotations_before"]

DIGEST_BITS = 40
BEGINNING = 4096  # bytes; of a longer first line only these identify the file
ROTATED = re.compile(r"[.-]\d[\d.T:_-]*(\.gz|\.zst)?")  # the suffix of a rotated file


def rotations_before(number: int) -> int:
    """Return the number of files before the one with this partition number."""
    return number >> DIGEST_BITS


def numbered(file: ByteFile, rotations: int, lines: int, complete: bool) -> int | None:
    """Return the partition number of a file; None until its first lines are complete. `rotations` is the number of
    files before it, `lines` that of first lines that identify it. `complete` is True if nothing more will be written to
    it.
    """
    digest = _digest(file, lines, complete)
    return None if digest is None else rotations << DIGEST_BITS | digest


def found_again(path: Path, number: int, lines: int) -> ByteFile:
    """Return the file with this number: the one at the path, or one that was renamed.

    Raises
    ------
    SourceError
        If there is none.
    """
    for candidate in [path, *_rotated(path)]:
        file = ByteFile(candidate)
        for complete in (False, True):
            if _digest(file, lines, complete) == number & ((1 << DIGEST_BITS) - 1):
                return file
        file.close()
    raise SourceError(
        f"the file that was read last is neither {path} nor next to it as {path.name}.1 or the like: it was deleted, "
        "compressed or replaced. Bring it back to read the rest of it, or start over without the snapshot"
    )


def after(path: Path, file: ByteFile) -> ByteFile | None:
    """Return the file begun after this one was renamed; None while this one is the newest, or the next is empty.

    A writer may still append to the old file for a moment after it was renamed. Bytes in the new file show that the
    writer has changed over.
    """
    try:
        status = path.stat()
    except OSError:
        return None  # between the renaming and the first write, there is no file
    if (status.st_dev, status.st_ino) == file.identity or not status.st_size:
        return None
    # Several may have been renamed since the last check; their times of modification give the order.
    renamed = [
        (modified, other) for other in _rotated(path) if (modified := _modified(other)) > file.modified
    ]
    following = ByteFile(min(renamed)[1] if renamed else path)
    if following.identity == file.identity:  # its writer has just added a line to it
        following.close()
        return None
    if following.compressed:
        following.close()
        raise SourceError(
            f"{following.path} comes after {file.path} and is compressed, so it cannot be followed: "
            "decompress it under a name without .gz, or start over without the snapshot"
        )
    return following


def _digest(file: ByteFile, lines: int, complete: bool) -> int | None:
    beginning = file.beginning(BEGINNING)
    parts = beginning.split(b"\n", lines)
    if len(parts) > lines:
        beginning = beginning[: len(beginning) - len(parts[-1])]
    elif len(beginning) < BEGINNING and not complete:
        return None
    content = b"%d " % file.identity[1] + beginning
    return int.from_bytes(hashlib.blake2b(content, digest_size=DIGEST_BITS // 8).digest(), "big")


def _rotated(path: Path) -> list[Path]:
    """Return the rotated files of a path, by their names."""
    try:
        names = sorted(path.parent.iterdir())
    except OSError as error:
        raise SourceError(f"{path.parent} cannot be listed: {error.strerror}") from error
    return [
        other
        for other in names
        if other.name.startswith(path.name)
        and ROTATED.fullmatch(other.name, len(path.name))
        and other.is_file()
    ]


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0  # just deleted, so not the next
