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
    """

    processed: int
    processed_in_run: int
    replayed: int
    seconds: float
    learned: int
