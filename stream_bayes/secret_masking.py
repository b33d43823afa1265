"""Secrets that this process has read, and their masking wherever text leaves it: errors, logs, tracebacks, `repr`.

A client library may put into its error whatever it was given. So a secret is remembered where it is read, and masked in
every error of the package, every record of a log, and every traceback that is printed.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any
from urllib.parse import quote, unquote

__all__ = ["masked", "remember_credentials", "remember_secret"]

MASK = "***"
SHORTEST = 4  # characters; masking less would hide words of ordinary texts
PLAIN = ("true", "false", "none", "null")  # values of settings that are no secrets
CREDENTIALS = re.compile(r"([^\s/:@,]+):([^\s/@,]+)@")  # user:password@host
PARAMETER = re.compile(r"(?i)(?:password|passwd|secret|token|key)=([^\s&;,]+)")

_secrets: set[str] = set()
_pattern: re.Pattern[str] | None = None
_lock = threading.Lock()


def remember_secret(value: str) -> str:
    """Mask a value from now on, also quoted as in a URL or a `repr`. Return it."""
    with _lock:
        new = {value, quote(value, safe=""), unquote(value), repr(value)[1:-1]} - _secrets
        if new := {each for each in new if len(each) >= SHORTEST and each.lower() not in PLAIN}:
            _secrets.update(new)
            _build_pattern()
    return value


def remember_credentials(value: str) -> str:
    """Mask the passwords in an address, such as that of a server, from now on. Return it."""
    for match in CREDENTIALS.finditer(value):
        remember_secret(f"{match[1]}:{match[2]}")
        remember_secret(match[2])
    for match in PARAMETER.finditer(value):
        remember_secret(match[1])
    return value


def masked(text: str) -> str:
    """Return a text with all secrets replaced by `***`.

    Examples
    --------
    >>> _ = remember_credentials("ann:correct-horse@kafka.example.org:9092")
    >>> masked("no answer of ann:correct-horse@kafka.example.org:9092")
    'no answer of ***@kafka.example.org:9092'
    """
    return text if _pattern is None else _pattern.sub(MASK, text)


def _build_pattern() -> None:
    """Compile the pattern of all secrets, the longest first; mask logs and tracebacks once there is one."""
    global _pattern
    is_first = _pattern is None
    _pattern = re.compile("|".join(re.escape(each) for each in sorted(_secrets, key=len, reverse=True)))
    if is_first:
        logging.setLogRecordFactory(_masking_records(logging.getLogRecordFactory()))
        sys.excepthook = _masking_hook(sys.excepthook)
        threading.excepthook = _print_of_thread


def _masking_records(make: Callable[..., logging.LogRecord]) -> Callable[..., logging.LogRecord]:
    def make_masked(*arguments: Any, **named: Any) -> logging.LogRecord:
        record = make(*arguments, **named)
        try:
            text = record.getMessage()
        except Exception:  # a wrong call, which the handler reports
            return record
        if (shown := masked(text)) != text:
            record.msg, record.args = shown, ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = masked("".join(traceback.format_exception(record.exc_info[1])).rstrip("\n"))
        return record

    return make_masked


def _masking_hook(
    before: Callable[[type[BaseException], BaseException, TracebackType | None], Any],
) -> Callable[[type[BaseException], BaseException, TracebackType | None], Any]:
    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        text = "".join(traceback.format_exception(kind, error, trace))
        if masked(text) == text:
            before(kind, error, trace)
        elif sys.stderr is not None:
            sys.stderr.write(masked(text))

    return show


def _print_of_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_type is not SystemExit and sys.stderr is not None:
        text = "".join(
            traceback.format_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
        )
        name = "a thread" if arguments.thread is None else arguments.thread.name
        sys.stderr.write(f"Exception in thread {name}:\n{masked(text)}")
