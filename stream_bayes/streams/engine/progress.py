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
        Number of records since the pipeline began, in this run or an earlier one.
    processed_in_run
        Number of them in this run, replayed ones included.
    replayed
        Number of replayed records, whose results had been written before.
    seconds
        How long this run has lasted.
    learned
        Samples learned in this run, less those unlearned.
    """

    processed: int
    processed_in_run: int
    replayed: int
    seconds: float
    learned: int
