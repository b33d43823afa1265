"""A view: the model as it was after some event, and the answers it gives.

A learner's scratch space serves one call at a time. So a view holds two copies of it: one for the event loop, which
answers what takes microseconds, and one for a worker, made when it is first needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from stream_bayes.serve.model_answers import ModelAnswers

__all__ = ["View"]


class View:
    """The model after some event. `make` makes a copy of it. `generation` is the number of times that it was replaced.
    `positions` are the next ones to read of each partition, as `[source, partition, position]`. `processed` is the
    number of records processed by then. `moment` is when it was taken, in seconds since 1970.
    """

    def __init__(
        self,
        make: Callable[[], ModelAnswers],
        generation: int = 0,
        positions: Sequence[Sequence[Any]] = (),
        processed: int = 0,
        moment: float | None = None,
    ) -> None:
        self._make = make
        self.loop_copy = make()
        self.generation = generation
        self.positions = [list(part) for part in positions]
        self.processed = processed
        self.moment = time.time() if moment is None else moment
        self._worker_copy: ModelAnswers | None = None
        self._described: dict[str, Any] | None = None

    @property
    def worker_copy(self) -> ModelAnswers:
        """The copy for the worker thread."""
        if self._worker_copy is None:
            self._worker_copy = self._make()
        return self._worker_copy

    @property
    def described(self) -> dict[str, Any] | None:
        """The description of the model, if it was made."""
        return self._described

    @property
    def age(self) -> float:
        """Seconds since it was taken."""
        return max(0.0, time.time() - self.moment)

    def describe(self) -> dict[str, Any]:
        """Return the description of the model; made once."""
        if self._described is None:
            self._described = self.worker_copy.describe()
        return self._described

    def stamp(self) -> dict[str, Any]:
        """Return the generation and position that an answer is of."""
        return {
            "generation": self.generation,
            "processed": self.processed,
            "positions": self.positions,
            "age_seconds": round(self.age, 3),
        }
