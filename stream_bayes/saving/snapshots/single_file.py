"""A snapshot in a file of its own: written in one step, read whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from stream_bayes.errors import BadSnapshot, BadState, NoSnapshot, SnapshotNotWritten
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.snapshot import Snapshot

__all__ = ["read_snapshot", "write_snapshot"]


def read_snapshot(path: Path, key: bytes | None = None) -> Snapshot:
    """Return the snapshot in a file. With a `key`, an unsigned file is refused; without one, a signed file is.

    Raises
    ------
    NoSnapshot
        If there is no such file.
    BadSnapshot
        If the file is not a snapshot, is broken, or its signature does not match.
    """
    if path.is_dir():
        raise NoSnapshot(
            f"{path} is a directory; `stream-bayes snapshot export {path} FILE` writes its newest snapshot to a file"
        )
    try:
        return Snapshot.from_bytes(path.read_bytes(), key)
    except FileNotFoundError:
        raise NoSnapshot(f"there is no snapshot {path}") from None
    except BadState as error:
        raise BadSnapshot(f"{path}: {error}") from error


def write_snapshot(
    path: Path,
    snapshot: Snapshot,
    key: bytes | None = None,
    files: FileSystem | None = None,
    check: Callable[[Snapshot], None] | None = None,
) -> None:
    """Write a snapshot, readable by its owner only. After a crash the file is the old one or the new one, whole.

    `key` is a secret of at least 16 bytes to sign with; see `Snapshot.pieces`. `files` is the file system to write
    through. `check` is called with the snapshot as it is read back from the disk, before the file takes its place; what
    it raises leaves the old file as it was.

    Raises
    ------
    SnapshotNotWritten
        If the snapshot is too large, or the disk refuses it. The file stays as it was.
    """
    files = FileSystem() if files is None else files
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        descriptor = files.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            for piece in snapshot.pieces(key):
                files.write(descriptor, piece)
            files.sync(descriptor)
        finally:
            files.close(descriptor)
        if check is not None:
            check(read_snapshot(new, key))
        files.rename(new, path)
    except BaseException as error:
        with suppress(OSError):  # on a full disk, half a file is in the way
            files.unlink(new)
        if isinstance(error, OSError) and not isinstance(error, SnapshotNotWritten):
            raise SnapshotNotWritten(f"{path} cannot be written, and stays as it was: {error}") from error
        raise
    files.sync_directory(path.parent)
