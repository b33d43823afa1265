"""The writing of files: for their owner only, whatever the umask, and after a crash the old one or the new one."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["FOR_THE_OWNER", "open_private", "write_private"]

FOR_THE_OWNER = 0o600


def open_private(path: Path) -> int:
    """Return the descriptor of a new or emptied file that only its owner may read: it holds data."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FOR_THE_OWNER)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe or /dev/stdout keeps its permissions
        os.fchmod(descriptor, FOR_THE_OWNER)
    return descriptor


def write_private(path: Path, contents: bytes) -> None:
    """Create or replace a file that only its owner may read, in one step; write to a pipe as it is.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "answers.json")
    ...     write_private(path, b"{}")
    ...     oct(path.stat().st_mode & 0o777), [each.name for each in path.parent.iterdir()]
    ('0o600', ['answers.json'])
    """
    if path.exists() and not path.is_file():
        with os.fdopen(open_private(path), "wb") as stream:
            stream.write(contents)
        return
    path = Path(os.path.realpath(path))  # of a link, the file that it names
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with os.fdopen(open_private(new), "wb") as stream:
            stream.write(contents)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except BaseException:
        with suppress(OSError):  # on a full disk, half a file is in the way
            new.unlink()
        raise
