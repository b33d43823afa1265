"""The time that a model fades or drops samples by, and what comes before it has started."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.events.actions import admitted, keepable, without_features
from stream_bayes.core.events.event import SAMPLE, Event
from stream_bayes.core.events.pending_state import event_state, loaded_event
from stream_bayes.core.events.time import StreamTime
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.payloads import Payload, plain, tagged_payload, untagged_payload

__all__ = ["ModelTime"]

# Samples and labels before the clock starts; further labels do not wait for it.
MOST_HELD = 1_000


class ModelTime:
    """The clock of a model, with the samples and labels that wait until it starts.

    A time of a sample that is learned before the clock has started would be taken for the first of the stream, however
    wrong it is. The clock may be that of waiting labels. `takes_labels` says that labels come apart from their samples,
    and wait here too.
    """

    def __init__(self, clock: StreamTime, *, takes_labels: bool) -> None:
        self.clock = clock
        self._takes_labels = takes_labels
        self._waiting: list[tuple[Event, Payload]] = []  # with the prediction of a sample

    @property
    def held(self) -> int:
        """The number of samples and labels that wait."""
        return len(self._waiting)

    def advance(self, events: Sequence[Event]) -> list[float | None]:
        """Advance the clock by samples; return the times that they count at."""
        times = []
        for event in events:
            self.clock.advance(event)
            times.append(self.clock.bounded(event.time))
        return times

    def awaits_start(self, event: Event) -> bool:
        """Return True for an event with a time, before the clock has started."""
        return not self.clock.has_started and event.time is not None and math.isfinite(event.time)

    def hold(self, event: Event, prediction: Any) -> None:
        """Hold a sample with its label and its prediction."""
        self._waiting.append((keepable(event), plain(prediction)))

    def holds_label(self, event: Event) -> bool:
        """Hold a label or a correction if samples with times came before it; return False if it need not wait."""
        waits = event.kind is not SAMPLE and self.clock.seen and not self.clock.has_started
        if not waits or len(self._waiting) >= MOST_HELD or not isinstance(sound := admitted(event), Event):
            return False
        self._waiting.append((without_features(sound), None))
        return True

    def release(self) -> list[tuple[Event, Payload]]:
        """Return what waited, in its order, if the clock has started: nothing of it counts before its first time."""
        if not self._waiting or not self.clock.has_started:
            return []
        waiting, self._waiting = self._waiting, []
        return waiting

    def state(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        waiting = [[event_state(event), tagged_payload(prediction)] for event, prediction in self._waiting]
        return {"clock": self.clock.state(), "held": waiting}

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a saved state; raise `BadState` if it is not valid."""
        with refusing_bad_state():
            waiting = [
                (loaded_event(event), untagged_payload(prediction)) for event, prediction in state["held"]
            ]
            for event, _ in waiting:
                is_sample = event.kind is SAMPLE
                expect(event.y is not None if is_sample else self._takes_labels, "it holds what is no sample")
            self.clock.load(state["clock"])
        self._waiting = waiting
