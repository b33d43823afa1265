"""What the process ends with: an exit code for each kind of trouble, and one clear line in place of a traceback.

0    done; also after SIGTERM or Ctrl-C, once the batch at hand was committed and saved
2    wrong usage: a command, option or value that there is not
3    wrong settings or data: a pipeline file, a schema, a model's argument, a column that is not there
4    a snapshot that is broken, of other settings, not there, or that does not fit the log to go on with
5    a source or sink that cannot be read or written
6    another process has taken over; a supervisor should not start this one again
7    more dead letters than the pipeline allows
130  a second Ctrl-C, which does not wait
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from stream_bayes.errors import (
    BadState,
    BrokerError,
    CannotResume,
    Fenced,
    NoSnapshot,
    NotOwner,
    SinkError,
    SnapshotNotWritten,
    SourceError,
    StreamBayesError,
    TooManyDeadLetters,
)

__all__ = ["exit_code", "telling_errors"]

WRONG_USAGE, WRONG_SETTINGS, WRONG_SNAPSHOT, WRONG_MEDIUM, TAKEN_OVER, TOO_MANY_DEAD = range(2, 8)

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
LESS = "Leave features out, or choose a model that holds no table for every two of them, such as nb"


def exit_code(error: Exception) -> int:
    """The exit code of what went wrong.

    Examples
    --------
    >>> exit_code(NotOwner("another process has taken over"))
    6
    """
    return next((code for kind, code in CODES if isinstance(error, kind)), 1)


@contextmanager
def telling_errors() -> Iterator[None]:
    """End the process with one line and a code where something is wrong that a user can mend.

    Anything else is a fault of this package, and its traceback is shown.
    """
    try:
        yield
    except (StreamBayesError, OSError) as error:
        _tell(str(error))
        raise typer.Exit(exit_code(error)) from None
    except MemoryError as error:  # of thousands of features, as a rule: the tables of pairs alone may not fit
        what = str(error) or "no more can be had"
        _tell(f"there is not enough memory for this model and these features: {what}. {LESS}")
        raise typer.Exit(WRONG_SETTINGS) from None


def _tell(text: str) -> None:
    escaped = text.replace("[", "\\[")
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[red]error:[/red] {escaped}")
