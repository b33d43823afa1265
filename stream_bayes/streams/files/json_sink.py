"""Results as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from stream_bayes.core.values.values import canonical
from stream_bayes.errors import BadValue, SinkError
from stream_bayes.streams.contracts.sink import Result
from stream_bayes.streams.files.sink import FileSink

__all__ = ["JSONLinesSink", "json_bytes"]


class JSONLinesSink(FileSink):
    """A file with one JSON object a line: an `Output` or a `DeadLetter`, field by field.

    Bytes, as in a dead letter's `raw`, are written as base64, and tuples as arrays. With a source that can be read
    again, each event has exactly one line, after any crash.

    Parameters
    ----------
    path, name, overwrite, file_system
        As of a `FileSink`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes.streams.contracts.sink import DeadLetter
    >>> with TemporaryDirectory() as directory:
    ...     sink = JSONLinesSink(Path(directory, "dead.jsonl"))
    ...     sink.open(None)
    ...     sink.begin()
    ...     sink.write([DeadLetter(None, "days", 0, 7, None, "not_json", "expected a JSON object", b"{")])
    ...     sink.commit([])
    ...     sink.close()
    ...     print(Path(directory, "dead.jsonl").read_text(), end="")
    {"key":null,"source":"days",...,"reason":"not_json","detail":"expected a JSON object","raw":"ew==","version":1}
    """

    def _encoded(self, results: Sequence[Result]) -> bytes:
        try:
            return ENCODER.encode_lines(results)
        except UnicodeEncodeError:
            return "".join(_escaped(result) + "\n" for result in results).encode()


def json_bytes(value: object) -> bytes:
    """Encode a result, or a key or label of one, as JSON."""
    try:
        return ENCODER.encode(value)
    except UnicodeEncodeError:
        return _escaped(value).encode()


def _escaped(value: object) -> str:
    """Encode as ASCII JSON, which can hold lone surrogates; UTF-8 cannot."""
    plain = msgspec.to_builtins(value, enc_hook=_plain, str_keys=True)
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=True)


def _plain(value: object) -> Any:
    """Convert a key or label that JSON has no type for: numpy's scalars, enums and the like become Python's."""
    try:
        return canonical(value)
    except BadValue:
        kind = type(value)
        raise SinkError(
            f"a key or label of the type {kind.__module__}.{kind.__qualname__} cannot be written as JSON: "
            "make it text or a number"
        ) from None


ENCODER = msgspec.json.Encoder(enc_hook=_plain)
