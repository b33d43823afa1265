"""Results as CSV."""

from __future__ import annotations

import base64
import csv
import io
import os
from collections.abc import Sequence
from typing import Any

from stream_bayes.errors import SinkError
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.streams.contracts.sink import (
    DeadLetter,
    IntervalOutput,
    IntervalSetOutput,
    NumberOutput,
    Output,
    Result,
    ScoredOutput,
    SetOutput,
    TargetsOutput,
)
from stream_bayes.streams.files.json_sink import json_bytes
from stream_bayes.streams.files.sink import FileSink

__all__ = ["CSVSink"]

PLACE = ("key", "source", "partition", "position", "time")
ANSWER = ("prediction", "probabilities", "model", "generation", "configuration", "version")
COLUMNS = {
    Output: (*PLACE, *ANSWER),
    ScoredOutput: (*PLACE, *ANSWER, "score", "novel", "p_value"),
    IntervalOutput: (*PLACE, *ANSWER, "intervals"),
    SetOutput: (*PLACE, *ANSWER, "sets"),
    IntervalSetOutput: (*PLACE, *ANSWER, "sets", "intervals"),
    NumberOutput: (*PLACE, "prediction", "low", "high", "model", "generation", "configuration", "version"),
    TargetsOutput: (*PLACE, "predictions", "intervals", "model", "generation", "configuration", "version"),
    DeadLetter: (*PLACE, "reason", "detail", "raw", "version"),
}


class CSVSink(FileSink):
    """A file with one row a result, below a line with the columns' names.

    Text and numbers are written as they are, None as an empty cell, probabilities and the predictions of several
    targets as a JSON object, bytes are base64. So `1` and `"1"` look alike: where that matters, write JSON lines. With
    a source that can be read again, each event has exactly one row, after any crash.

    Parameters
    ----------
    path, name, overwrite, file_system
        As of a `FileSink`.
    of
        Of which results: `Output` or a class derived from it, `NumberOutput`, `TargetsOutput` or `DeadLetter`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     sink = CSVSink(Path(directory, "dead.csv"), of=DeadLetter)
    ...     sink.open(None)
    ...     sink.begin()
    ...     sink.write([DeadLetter(None, "days", 0, 7, None, "not_json", "expected a JSON object", b"{")])
    ...     sink.commit([])
    ...     sink.close()
    ...     print(Path(directory, "dead.csv").read_text(), end="")
    key,source,partition,position,time,reason,detail,raw,version
    ,days,0,7,,not_json,expected a JSON object,ew==,1
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        of: type[Output] | type[NumberOutput] | type[TargetsOutput] | type[DeadLetter] = Output,
        name: str | None = None,
        overwrite: bool = False,
        file_system: FileSystem | None = None,
    ) -> None:
        super().__init__(path, name, overwrite, file_system)
        self.of = of

    def _heading(self) -> bytes:
        return (",".join(COLUMNS[self.of]) + "\n").encode()

    def _encoded(self, results: Sequence[Result]) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(map(self._row, results))
        return text.getvalue().encode("utf-8", "backslashreplace")  # half of a character, as Python writes it

    def _row(self, result: Result) -> tuple[Any, ...]:
        if type(result) is not self.of:
            raise SinkError(
                f"{self.path} has the columns of {self.of.__name__}, got a {type(result).__name__}: "
                "write them to a file of their own, or as JSON lines"
            )
        origin = (_cell(result.key), result.source, result.partition, result.position, result.time)
        if isinstance(result, Output):
            model = result.model
            answer = (_cell(result.prediction), json_bytes(result.probabilities).decode())
            cells = (*origin, *answer, model.name, model.generation, model.configuration, result.version)
            if isinstance(result, ScoredOutput):
                return (*cells, result.score, json_bytes(result.novel).decode(), result.p_value)
            further = COLUMNS[self.of][len(cells) :]
            return (*cells, *(json_bytes(getattr(result, name)).decode() for name in further))
        if isinstance(result, NumberOutput):
            model, numbers = result.model, (result.prediction, result.low, result.high)
            return (*origin, *numbers, model.name, model.generation, model.configuration, result.version)
        if isinstance(result, TargetsOutput):
            model = result.model
            answer = (json_bytes(result.predictions).decode(), json_bytes(result.intervals).decode())
            return (*origin, *answer, model.name, model.generation, model.configuration, result.version)
        assert isinstance(result, DeadLetter)
        return (*origin, result.reason, result.detail, _cell(result.raw), result.version)


def _cell(value: Any) -> Any:
    """Return a key, label or prediction as a cell."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return json_bytes(value).decode() if isinstance(value, (tuple, dict)) else value
