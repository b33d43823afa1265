"""A sink: a line of text for each result."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from stream_bayes.streams.pipelines.config_base import SinkTable
from stream_bayes.streams.sinks import CallableSink

__all__ = ["LinesSink"]


class LinesSink(SinkTable):
    """The keys of the table: `[predictions]` with `kind = "lines"`."""

    kind: Literal["lines"]
    path: Path = Field(strict=False)

    def make(self, directory: Path, name: str, of: type[Any]) -> CallableSink:
        def write(results: Any) -> None:
            with (directory / self.path).open("a") as file:
                file.writelines(f"{result.prediction}\n" for result in results)

        return CallableSink(write, name)
