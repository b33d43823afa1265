"""Unlearning of a sample: its counts are subtracted, or refused where no such sample is held."""

from __future__ import annotations

from typing import Any

from stream_bayes.core.counts._tables import Missing, Tables
from stream_bayes.core.counts.names import name_of_failed
from stream_bayes.core.counts.window import Window
from stream_bayes.errors import NotLearned

__all__ = ["forget_row"]


def forget_row(
    tables: Tables, encoder: Any, window: Window | None, row: Any, at: int | None, *, slides: bool
) -> None:
    """Subtract an encoded row from the tables and mark its event in the window; with nothing changed if refused. `at`
    is the clock right after it was learned, or its time; None for a sample that has not faded. `window` has the newest
    events if they are kept. `slides` is True where events that leave the window are taken back.

    Raises
    ------
    NotLearned
        If no such sample is held.
    """
    _check_moment(tables, at)
    observed = -1
    if row.numbers and tables.observer is not None:
        observed = tables.observer.find(row, at)
    learned, index = int(tables.clock) if at is None else at, -1
    if window is not None and row.weight > 0.0:
        index = _index_in(window, row, at, slides=slides)
        learned = window.clock_of(index) if index >= 0 else learned
    failed = tables.forget(row, tables.unit if at is None else tables.unit_at(at), learned)
    if failed != Missing.NOTHING:
        faded = (
            "; with half_life samples have faded, and what was added when the clock stood at clock is taken back "
            "with unlearn_one(x, y, at=clock)"
        )
        raise NotLearned(
            f"cannot unlearn {name_of_failed(encoder, row, failed)}: no such sample is held"
            f"{faded if tables.half_life and at is None else ''}"
        )
    if observed >= 0 and tables.observer is not None:
        tables.observer.drop(observed)
    if window is not None and index >= 0:
        window.mark_unlearned(index)


def _check_moment(tables: Tables, at: Any) -> None:
    """Refuse a moment at which nothing can have been learned."""
    if tables.timed:
        if at is None:
            raise NotLearned(
                "half_life is in stream time: unlearn a sample with its time, at=SECONDS since 1970"
            )
        if not tables.has_time or at > tables.time:
            raise NotLearned(f"nothing was learned at {at!r}: the newest sample is earlier")
    elif at is not None and (isinstance(at, bool) or not isinstance(at, int) or not 0 <= at <= tables.clock):
        raise NotLearned(f"nothing was learned at {at!r}: the clock stands at {tables.clock}")


def _index_in(window: Window, row: Any, at: int | None, *, slides: bool) -> int:
    """Return the index in the window of an event to be unlearned, -1 if it is older."""
    index = window.find(row, at)
    if index < 0 and (at is None or slides):
        older = (
            "those before them were taken back as they left"
            if slides
            else "for an older one say when it was learned, at=what `clock` said right after"
        )
        raise NotLearned(
            f"cannot unlearn this sample: it is not among the {len(window)} recent events; {older}"
        )
    return index
