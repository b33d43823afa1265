"""Logs as JSON lines: time in UTC, level, logger and message."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from traceback import extract_tb
from typing import IO, Any

import msgspec

__all__ = ["JSONFormatter", "logging_json"]

WARNINGS = "py.warnings"  # as `logging.captureWarnings` names it


class JSONFormatter(logging.Formatter):
    """A formatter of log records as lines of JSON. They hold no data of events: only places, counts and reasons.

    Of an exception a line holds the class and the places in the code, not the text, which may hold data.

    Examples
    --------
    >>> record = logging.LogRecord("stream_bayes", logging.WARNING, "", 0, "%d failed", (3,), None)
    >>> record.created = 0.0
    >>> JSONFormatter().format(record)
    '{"time":"1970-01-01T00:00:00.000000Z","level":"warning","logger":"stream_bayes","message":"3 failed"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        line: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info is not None and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["traceback"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}" for frame in extract_tb(record.exc_info[2])
            ]
        return msgspec.json.encode(line).decode()


@contextmanager
def logging_json(stream: IO[str]) -> Iterator[None]:
    """Write the logs of the package and Python's warnings to a stream, and nowhere else, inside a `with` block."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JSONFormatter())
    with ExitStack() as restored:
        for name in ("stream_bayes", WARNINGS):
            restored.enter_context(_logging_to(handler, logging.getLogger(name)))
        restored.callback(setattr, warnings, "showwarning", warnings.showwarning)
        warnings.showwarning = _log_warning  # type: ignore[assignment]  # it ignores the place in the code
        yield


@contextmanager
def _logging_to(handler: logging.Handler, logger: logging.Logger) -> Iterator[None]:
    level, passing = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = passing


def _log_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    logging.getLogger(WARNINGS).warning("%s: %s", category.__name__, message)
