"""A format of data files: lines whose columns have fixed widths, of which the first line is the widths with names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from stream_bayes.streams.files.typed import TEXT, TypedFile

__all__ = ["FixedWidthSource"]


class FixedWidthSource(TypedFile):
    """Lines such as `grey  yes` under the heading `sky:6 rain:4`."""

    def _open(self) -> Mapping[str, str]:
        heading, *self._lines = self.path.read_text().splitlines()
        widths = [part.split(":") for part in heading.split()]
        starts = [sum(int(width) for _, width in widths[:n]) for n in range(len(widths))]
        self._slices = {
            name: slice(start, start + int(width))
            for (name, width), start in zip(widths, starts, strict=True)
        }
        return dict.fromkeys(self._slices, TEXT)

    def _read(self, position: Any) -> Iterator[str]:
        return islice(self._lines, position, None)

    def _row(self, record: str) -> dict[str, Any]:
        return {name: record[part].strip() for name, part in self._slices.items()}

    def close(self) -> None:
        """Do nothing: the file is closed already."""
