"""A source: dice that are thrown, with the parity of the sum as the label."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from stream_bayes.data.schema import Schema
from stream_bayes.streams.pipelines.config_base import SourceTable
from stream_bayes.streams.sources.iterable import IterableSource

__all__ = ["DiceSource", "throws"]


class DiceSource(SourceTable):
    """The keys of the table: `[source]` with `kind = "dice"`."""

    kind: Literal["dice"]
    throws: int = 100

    def make(self, config: Any, directory: Path, schema: Schema | None) -> IterableSource:
        return IterableSource(throws(self.throws), config.name)


def throws(count: int) -> list[tuple[dict[str, str], str]]:
    """Return so many throws of two dice."""
    pairs = [(n % 6 + 1, n // 6 % 6 + 1) for n in range(count)]
    return [({"one": f"{a}", "other": f"{b}"}, "even" if (a + b) % 2 == 0 else "odd") for a, b in pairs]
