"""The progress of a run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Progress"]


@dataclass(frozen=True)
class Progress:
    """Numbers of records and seconds of a run so far.

    Parameters
    ----------
    processed
        Number of records since the pipeline began, in this run or an earlier one.
    processed_in_run
        Number of them in this run, replayed ones included.
    replayed
        Number of replayed records, whose results had been written before.
    seconds
        Duration of this run.
    learned
        Samples learned in this run, less those unlearned.

    Examples
    --------
    >>> Progress(processed=1_000, processed_in_run=200, replayed=0, seconds=2.0, learned=990).processed_in_run
    200
    """

    processed: int
    processed_in_run: int
    replayed: int
    seconds: float
    learned: int
