"""Results of runs, kept as lines of JSON: what is kept is not run again, so a comparison can be stopped at any time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["KeptResults"]

Row = dict[str, Any]


class KeptResults:
    """The results in a file, one a line; none if there is no file. A row is known by its model, stream and limit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._rows = {self._key(row): row for row in map(json.loads, lines)}

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def find(self, model: str, stream: str, limit: int) -> Row | None:
        """Return the result of a model on so many events of a stream; None if there is none."""
        return self._rows.get((model, stream, limit))

    def keep(self, row: Row) -> None:
        """Write a result, in place of an earlier one of the same model, stream and limit."""
        key = self._key(row)
        if key in self._rows:
            self.drop(lambda other: self._key(other) == key)
        self._rows[key] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def drop(self, is_dropped: Callable[[Row], bool]) -> None:
        """Remove the results that a function picks."""
        self._rows = {key: row for key, row in self._rows.items() if not is_dropped(row)}
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self), encoding="utf-8")

    @staticmethod
    def _key(row: Row) -> tuple[str, str, int]:
        return row["model"], row["stream"], row["limit"]
