"""Writing results to a file that can be cut back to the length in a snapshot.

The file holds what was committed, and after a crash perhaps more. A snapshot holds its length. The next start cuts off
what came after, and the events after the snapshot are played again: so each of them has one result in the file.
"""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from stream_bayes.core.events.event import Slice
from stream_bayes.errors import NotSupported, SinkError
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.streams.byte_files.byte_file import BEFORE
from stream_bayes.streams.contracts.continuity_marks import ReadMark
from stream_bayes.streams.contracts.sink import Result

__all__ = ["FileSink"]

REBUILD = ".rebuild"  # end of the name of a rebuilt file
REBUILT = ".rebuilt-"  # before the number of the snapshot that it belongs to


class FileSink(ABC):
    """A file of results. A subclass writes `_encoded`, and `_heading` for a format with a header.

    `commit` hands the batch to the system in one piece: what was committed outlasts the process. `sync` makes it
    outlast a power cut; it is called before each snapshot, because a start cuts off everything after a snapshot. The
    file is readable by its owner only; missing directories are created. `name` is the sink's in snapshots; if not
    given, the file's. `overwrite` is True if a new stream may empty an existing file. `file_system` is the one to write
    through.
    """

    medium = "local"

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        overwrite: bool = False,
        file_system: FileSystem | None = None,
    ) -> None:
        self.path = Path(path)
        self.name = self.path.name if name is None else name
        self.overwrite = overwrite
        self._files = FileSystem() if file_system is None else file_system
        self._descriptor: int | None = None
        self._present: int | None = None  # the present file, locked while another is written beside it
        self._aside: Path | None = None
        self._is_new = False  # created by `open`, and nothing depends on it yet
        self._length = 0
        self._batch = bytearray()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    # -- what a subclass writes ---------------------------------------------------------------------------------------

    @abstractmethod
    def _encoded(self, results: Sequence[Result]) -> bytes:
        """Return the bytes of results, or raise `SinkError`."""

    def _heading(self) -> bytes:
        """Return the bytes before the first result."""
        return b""

    # -- the protocol -------------------------------------------------------------------------------------------------

    @property
    def length(self) -> int | None:
        return self._length

    def open(self, length: int | None) -> None:
        self.close()
        try:
            self._descriptor = self._open_file(self._aside or self.path, length)
            if not self._files.try_lock(self._descriptor):
                raise SinkError(
                    f"{self.path} is being written by another process: end it, or choose another file"
                )
            self._check(self._files.size(self._descriptor), length)
            if length:
                self._check_heading(self._descriptor)
            self._files.truncate(self._descriptor, length or 0)
        except OSError as error:
            self.close()
            raise SinkError(f"{self.path} cannot be written: {error.strerror or error}") from error
        except (SinkError, NotSupported):
            self.close()
            raise
        self._length = length or 0

    def _open_file(self, path: Path, length: int | None) -> int:
        """Open a file, which is created only if a snapshot holds nothing of it."""
        flags = os.O_RDWR | os.O_APPEND  # to append is to write after what was cut off, wherever that was
        self._is_new = False
        with suppress(FileNotFoundError):
            return self._files.open(path, flags)
        if length:
            raise SinkError(
                f"{path} does not exist, and held {length} bytes when the snapshot was taken: bring it back, or start "
                "over without the snapshot"
            )
        self._files.make_directory(path.parent)
        descriptor = self._files.open(path, flags | os.O_CREAT)
        self._files.sync_directory(path.parent)
        self._is_new = self._aside is None
        return descriptor

    def _check_heading(self, descriptor: int) -> None:
        """Refuse to go on below a heading of other results."""
        heading = self._heading()
        begun = bytes(self._files.read(descriptor, 0, len(heading)))
        if begun != heading:
            raise SinkError(
                f"{self.path} does not begin with the columns {heading.decode().strip()}, which results have now: a "
                "setting of the outputs was changed; undo that, or start over with --rebuild"
            )

    def open_aside(self) -> None:
        self.close()
        if self.path.exists():
            self._present = self._files.open(self.path, os.O_RDWR)
            if not self._files.try_lock(self._present):
                self.close()
                raise SinkError(
                    f"{self.path} is being written by another process: end it, or choose another file"
                )
        present, self._present = self._present, None  # `open` closes what is open
        self._aside = self.path.with_name(f"{self.path.name}{REBUILD}")
        self.open(0)
        self._present = present

    def prepare(self, generation: int) -> None:
        if self._aside is not None:
            self.sync()
            prepared = self.path.with_name(f"{self.path.name}{REBUILT}{generation}")
            self._files.rename(self._aside, prepared)
            self._files.sync_directory(self.path.parent)
            self._aside = prepared

    def replace(self) -> None:
        if self._aside is not None:
            self._files.rename(self._aside, self.path)
            self._files.sync_directory(self.path.parent)
            self._aside = None
            self._close_present()

    def finish_replacing(self, generation: int | None) -> None:
        if not self.path.parent.is_dir():
            return
        begun = self.path.name + REBUILT
        for name in self._files.names(self.path.parent):
            number = name.removeprefix(begun)
            if name == self.path.name + REBUILD and self._aside is None:
                self._files.unlink(self.path.parent / name)
            elif name.startswith(begun) and number.isdecimal():
                if generation is not None and int(number) <= generation:
                    self._files.rename(self.path.parent / name, self.path)
                else:
                    self._files.unlink(self.path.parent / name)
                self._files.sync_directory(self.path.parent)

    def begin(self) -> None:
        # Always a new one: of a batch that the disk did not take, the error still holds the bytes.
        self._batch = bytearray()

    def write(self, results: Sequence[Result]) -> None:
        self._batch += self._encoded(results)

    def commit(self, slices: Sequence[Slice]) -> None:
        if not self._batch:
            return
        data = self._batch if self._length else self._heading() + self._batch
        descriptor = self._opened()
        try:
            self._files.write(descriptor, data)
        except OSError as error:
            with suppress(OSError):  # if not even that is possible, the next start does it
                self._files.truncate(descriptor, self._length)
            raise SinkError(
                f"{self.path} did not take {len(data)} bytes: {error.strerror or error}; "
                f"it holds {self._length} bytes, as before"
            ) from error
        self._length += len(data)
        self._batch = bytearray()
        self._is_new = False

    def abort(self) -> None:
        self._batch = bytearray()
        if self._is_new:
            with suppress(OSError):
                self._files.unlink(self.path)
            self._is_new = False

    def sync(self) -> None:
        self._is_new = False  # a snapshot may hold its length from now on
        try:
            self._files.sync(self._opened())
        except OSError as error:
            raise SinkError(
                f"{self.path} may not outlast a power cut: {error.strerror or error}; no snapshot may hold its length"
            ) from error

    def end_mark(self) -> ReadMark:
        size = min(self._length, BEFORE)
        end = bytes(self._files.read(self._opened(), self._length - size, size))
        return ReadMark(self._length, zlib.crc32(end))

    def check_end(self, mark: ReadMark, /) -> None:
        size = min(mark.position, BEFORE)
        try:
            with self.path.open("rb") as file:
                file.seek(mark.position - size)
                end = file.read(size)
        except FileNotFoundError:
            return  # `open` says so
        if len(end) == size and zlib.crc32(end) != mark.checksum:
            raise SinkError(
                f"{self.path}: what stands before byte {mark.position} is not what was written: it was changed or "
                "replaced, and nothing of it is cut off. Bring the file back, or start over without the snapshot"
            )

    def close(self) -> None:
        self._batch = bytearray()
        if self._descriptor is not None:
            self._files.close(self._descriptor)
            self._descriptor = None
        self._close_present()
        if self._aside is not None and self._aside.name.endswith(REBUILD):
            with suppress(OSError):  # the next start does it
                self._files.unlink(self._aside)

    def _close_present(self) -> None:
        present, self._present = self._present, None
        if present is not None:
            self._files.close(present)

    def _check(self, size: int, length: int | None) -> None:
        """Raise `SinkError` if the file does not fit the snapshot."""
        if length is None and size and not self.overwrite:
            raise SinkError(
                f"{self.path} holds {size} bytes already, and the stream begins anew: choose another file, move this "
                "one away, or allow it to be overwritten"
            )
        if length is not None and size < length:
            raise SinkError(
                f"{self.path} holds {size} bytes, but {length} when the snapshot was taken: it was cut or replaced. "
                "Bring it back, or start over without the snapshot"
            )

    def _opened(self) -> int:
        if self._descriptor is None:
            raise SinkError(f"{self.path} is not open; call open() before writing")
        return self._descriptor
