"""Calls to the file system, one per method, so that a test can count them and make each one fail."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np

from stream_bayes.errors import NotSupported
from stream_bayes.private_files import FOR_THE_OWNER

__all__ = ["FileSystem"]


class FileSystem:
    """The file system as it is. A subclass may put faults in between.

    Descriptors are those of the system. Every method raises `OSError` as the system does.
    """

    def make_directory(self, path: Path) -> None:
        """Make a directory, and those above it, so that they outlast a power cut."""
        if path.is_dir():
            return
        self.make_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        self.sync_directory(path.parent)

    def names(self, directory: Path) -> list[str]:
        """Return the names in a directory, sorted."""
        return sorted(os.listdir(directory))  # noqa: PTH208  # names are wanted, not paths

    def open(self, path: Path, flags: int) -> int:
        """Open a regular file; one that is created is for its owner only."""
        # Without O_NONBLOCK a pipe in a file's place would block for ever.
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, FOR_THE_OWNER)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(f"{path} is not a regular file")
        return descriptor

    def close(self, descriptor: int) -> None:
        """Close a file."""
        os.close(descriptor)

    def size(self, descriptor: int) -> int:
        """Return the size of a file in bytes."""
        return os.fstat(descriptor).st_size

    def read(self, descriptor: int, start: int, size: int) -> memoryview:
        """Read `size` bytes of a file from `start` on, or fewer at its end."""
        # numpy allocates large pages, so reading 100 MB is three times as fast as into a bytearray.
        view = np.empty(size, np.uint8).data
        done = 0
        while done < size and (count := os.preadv(descriptor, [view[done:]], start + done)):
            done += count
        return view[:done]

    def write(self, descriptor: int, contents: bytes | bytearray | memoryview) -> None:
        """Write all of the bytes where the file stands."""
        view = memoryview(contents)
        while len(view):
            view = view[os.write(descriptor, view) :]

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file to a length in bytes."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Return once what was written to a file outlasts a power cut."""
        os.fsync(descriptor)

    def sync_directory(self, path: Path) -> None:
        """Return once the names in a directory outlast a power cut."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, in place of the file that had it, in one step."""
        old.replace(new)

    def unlink(self, path: Path) -> None:
        """Delete a file."""
        path.unlink()

    def try_lock(self, descriptor: int) -> bool:
        """Lock a file for this descriptor alone, unless another holds it. Closing the descriptor unlocks it."""
        try:
            import fcntl
        except ModuleNotFoundError as error:
            raise NotSupported(
                "a directory of snapshots is shared by flock, which this system lacks"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
