"""Exit codes: one for each kind of error, and one clear line in place of a traceback.

0    success; also after SIGTERM or Ctrl-C, once the current batch is committed and saved
1    a bug in this package
2    wrong usage: an unknown command, option or value
3    wrong settings or data: a pipeline file, a schema, a model's argument, a missing column
4    a snapshot that is missing, broken, taken with other settings, or does not match the log
5    a source or sink that cannot be read or written
6    another process has taken over; a supervisor should not restart this one
7    more dead letters than the pipeline allows
130  a second Ctrl-C, which does not wait
141  nobody reads the output any more, as behind `| head`; nothing is said then
"""

from __future__ import annotations

import logging
import os
import select
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from stream_bayes.cli.output import console
from stream_bayes.errors import (
    BadState,
    BrokerError,
    CannotResume,
    Fenced,
    NoSnapshot,
    NotOwner,
    NumbersMoved,
    SinkError,
    SnapshotNotWritten,
    SourceError,
    StreamBayesError,
    TooManyDeadLetters,
    TooManyValues,
)
from stream_bayes.secret_masking import masked

__all__ = ["exit_code", "exit_on_error", "exit_with_json_log", "print_error"]

logger = logging.getLogger(__name__)

BUG, WRONG_USAGE, WRONG_SETTINGS, WRONG_SNAPSHOT, WRONG_MEDIUM, TAKEN_OVER, TOO_MANY_DEAD = range(1, 8)
NOBODY_READS = 141  # that of a program which SIGPIPE ends

CODES: tuple[tuple[type[Exception], int], ...] = (
    (NotOwner, TAKEN_OVER),
    (Fenced, TAKEN_OVER),
    (TooManyDeadLetters, TOO_MANY_DEAD),
    (BadState, WRONG_SNAPSHOT),
    (NoSnapshot, WRONG_SNAPSHOT),
    (CannotResume, WRONG_SNAPSHOT),
    (SnapshotNotWritten, WRONG_MEDIUM),
    (SourceError, WRONG_MEDIUM),
    (SinkError, WRONG_MEDIUM),
    (BrokerError, WRONG_MEDIUM),
    (StreamBayesError, WRONG_SETTINGS),
    (OSError, WRONG_MEDIUM),
)
WARNINGS = (NumbersMoved, TooManyValues)
LESS = "Leave features out, or choose a model without a table for each pair of features, such as nb"


def exit_code(error: Exception) -> int:
    """Return the exit code of an error.

    Examples
    --------
    >>> exit_code(NotOwner("another process has taken over"))
    6
    """
    return next((code for kind, code in CODES if isinstance(error, kind)), BUG)


def print_error(text: str) -> None:
    """Print an error as one line on stderr."""
    from rich.text import Text

    line = Text.assemble(("error:", "red"), " ", text)
    console(stderr=True).print(line, soft_wrap=True)


def print_warning(text: str) -> None:
    """Print a warning as one line on stderr."""
    typer.echo(f"warning: {text}", err=True)


@contextmanager
def exit_on_error(
    report: Callable[[str], None] = print_error, warn: Callable[[str], None] = print_warning
) -> Iterator[None]:
    """Turn errors that a user can fix into one line and an exit code, and warnings of learners into a line each.

    Anything else is a bug in this package: its traceback is shown. `report` writes the line of an error, `warn` that of
    a warning.
    """
    try:
        with _reported_warnings(warn):
            yield
    except (StreamBayesError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            raise typer.Exit(NOBODY_READS) from None
        report(masked(str(error)))
        raise typer.Exit(exit_code(error)) from None
    except MemoryError as error:  # usually thousands of features, whose tables of pairs do not fit
        what = str(error) or "the system refused more"
        report(f"there is not enough memory for this model and these features: {what}. {LESS}")
        raise typer.Exit(WRONG_SETTINGS) from None


def _nobody_reads() -> bool:
    """Return True if what reads stdout has ended. What is left to write there goes nowhere then."""
    output = sys.stdout.fileno()
    state = select.poll()
    state.register(output, 0)
    if not state.poll(0):
        return False
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output)
    os.close(nowhere)
    return True


@contextmanager
def _reported_warnings(warn: Callable[[str], None]) -> Iterator[None]:
    """Write the warnings of learners with `warn`, each once; those of others stay as they are."""
    with warnings.catch_warnings():
        show_others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, WARNINGS):
                warn(masked(str(message)))
            else:
                show_others(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        for kind in WARNINGS:
            warnings.simplefilter("default", kind)
        yield


@contextmanager
def exit_with_json_log() -> Iterator[None]:
    """Log to stderr as JSON lines; the error that ends the command too, and a bug's traceback without its text."""
    from stream_bayes.streams.service.logs import logging_json

    with logging_json(sys.stderr):
        try:
            with exit_on_error(logger.critical, logger.warning):
                yield
        except typer.Exit:
            raise
        except Exception:
            logger.critical("ended by a bug", exc_info=True)
            raise typer.Exit(BUG) from None
