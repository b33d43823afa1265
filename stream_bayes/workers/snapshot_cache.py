"""A local copy of a shard's newest snapshot in `NAME.state`, so that a restart on the same machine reads no topic.

    NAME.shard-3    the end record of the snapshot's publication, its length first, then the bytes of the snapshot

The copy is used only if its end record is the newest one in the topic, byte for byte, and the bytes have the digests in
it. So it may be old, damaged, deleted or of another pipeline: then the topic is read.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from stream_bayes.private_files import open_private
from stream_bayes.workers.publication import End, digest_of
from stream_bayes.workers.state_parts import pieces

__all__ = ["SnapshotCache"]

logger = logging.getLogger(__name__)

LENGTH_BYTES = 8


class SnapshotCache:
    """The copy of one shard's snapshot in a directory. The first write makes the directory. `part_bytes` is the size of
    a record of the topic.
    """

    def __init__(self, directory: Path, name: str, shard: int, part_bytes: int) -> None:
        self.path = directory / f"{name}.shard-{shard}"
        self._part_bytes = part_bytes
        self._has_failed = False

    def write(self, end: bytes, snapshot: bytes) -> None:
        """Replace the copy. A failure is logged, once, and leaves none: the topic holds the snapshot too."""
        writing = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(open_private(writing), "wb") as file:
                file.writelines([len(end).to_bytes(LENGTH_BYTES, "big"), end, snapshot])
            writing.replace(self.path)
            self._has_failed = False
        except OSError as error:
            with suppress(OSError):
                writing.unlink(missing_ok=True)
            if not self._has_failed:
                logger.warning(
                    "%s cannot be written, and a restart will read the topic: %s", self.path, error
                )
            self._has_failed = True

    def read(self, end: bytes) -> bytes | None:
        """Return the bytes of the snapshot that an end record closes; None if the copy is of another, or damaged."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.warning("%s cannot be read, and the topic is read instead: %s", self.path, error)
            return None
        start = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big")
        if data[LENGTH_BYTES:start] != end:
            return None
        snapshot = data[start:]
        digests = {
            name: digest_of(part) for name, part in pieces("snapshot", snapshot, self._part_bytes).items()
        }
        if digests != msgspec.json.decode(end, type=End).parts:
            logger.warning("%s is damaged, and the topic is read instead", self.path)
            return None
        return snapshot
