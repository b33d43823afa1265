"""The newest answers of a step, a bounded number of them, for the service and its page."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from stream_bayes.core.events.event import Event
from stream_bayes.streams.contracts.sink import ModelVersion
from stream_bayes.streams.served_models.answers import BatchAnswers

__all__ = ["Answered", "NewestAnswers"]


class Answered(NamedTuple):
    """Events that were answered together, with their answers and the model's version."""

    events: list[Event]
    answers: BatchAnswers
    version: ModelVersion


class NewestAnswers:
    """The newest answers since the last `collect`. Adding takes a fraction of a microsecond an event. Whole batches are
    held, and the oldest dropped while the others have `most` events.

    Examples
    --------
    >>> from stream_bayes.streams.served_models.answers import AnswerDicts
    >>> newest = NewestAnswers(most=2)
    >>> for sky in ("grey", "blue", "red"):
    ...     newest.add([Event({"sky": sky})], AnswerDicts([{}]), ModelVersion("days", 0, ""))
    >>> answered, dropped = newest.collect()
    >>> [batch.events[0].x["sky"] for batch in answered], dropped
    (['blue', 'red'], 1)
    """

    def __init__(self, most: int = 100) -> None:
        self.most = most
        self._batches: deque[Answered] = deque()
        self._event_count = 0
        self._dropped = 0

    def add(self, events: list[Event], answers: BatchAnswers, version: ModelVersion) -> None:
        """Add a batch."""
        batches = self._batches
        batches.append(Answered(events, answers, version))
        self._event_count += len(events)
        while self._event_count - len(batches[0].events) >= self.most:
            oldest = len(batches.popleft().events)
            self._event_count -= oldest
            self._dropped += oldest

    def collect(self) -> tuple[list[Answered], int]:
        """Return the batches, oldest first, and the number of events dropped before them; hold none of them now."""
        batches, dropped = list(self._batches), self._dropped
        self._batches.clear()
        self._event_count = self._dropped = 0
        return batches, dropped
