"""How far a run has come."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Progress"]


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Parameters
    ----------
    processed
        How many records were taken since the pipeline began, this run or an earlier one.
    processed_in_run
        How many of them in this run, replayed ones included.
    replayed
        How many were only replayed: their results had been written before.
    seconds
        How long this run has lasted.
    learned
        How many more samples are learned than were when it began; fewer, where more was taken back.
    """

    processed: int
    processed_in_run: int
    replayed: int
    seconds: float
    learned: int
