"""Logs as JSON lines: time in UTC, level, logger and message."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO

import msgspec

__all__ = ["JSONFormatter", "logging_json"]


class JSONFormatter(logging.Formatter):
    """A formatter of log records as lines of JSON. They hold no data of events: only places, counts and reasons.

    Examples
    --------
    >>> record = logging.LogRecord("stream_bayes", logging.WARNING, "", 0, "%d failed", (3,), None)
    >>> record.created = 0.0
    >>> JSONFormatter().format(record)
    '{"time":"1970-01-01T00:00:00.000000Z","level":"warning","logger":"stream_bayes","message":"3 failed"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        told = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info is not None and record.exc_info[0] is not None:
            told["error"] = record.exc_info[0].__name__  # its text might hold what stood in a record
        return msgspec.json.encode(told).decode()


@contextmanager
def logging_json(stream: IO[str]) -> Iterator[None]:
    """Write the logs of the package to a stream, and nowhere else, inside a `with` block."""
    logger = logging.getLogger("stream_bayes")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JSONFormatter())
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
