"""Stream time: it follows the times of events, never a wall clock.

Two runs over the same events see the same times, whenever and however fast they run. Code elsewhere records a time as
the value of `now` when something happened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from stream_bayes.core.events.event import Event
from stream_bayes.core.values.values import JSONValue, shown
from stream_bayes.errors import BadState, BadValue

__all__ = ["MAX_SKEW", "EventCount", "StreamClock", "StreamTime"]

MAX_SKEW = 604_800.0  # seconds that a pipeline allows by default: a week, so that no weekend counts as a gap


class StreamClock(Protocol):
    """A clock that only events move."""

    first: float
    now: float

    def advance(self, event: Event) -> None:
        """Set now to the event's time, unless now is later already."""
        ...

    def state(self) -> dict[str, JSONValue]:
        """Return the state as JSON values."""
        ...

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a saved state; raise `BadState` if it is not valid."""
        ...


class StreamTime:
    """A clock that shows the highest event time seen.

    Events without a finite time do not move it. Before any time is seen, `first` and `now` are minus infinity; whatever
    happened then counts as having happened at the first time.

    Parameters
    ----------
    max_skew
        The most seconds by which one event may advance the clock, so that a single record from the year 2099 does not
        make everything overdue. After a gap in the stream the clock catches up in steps of this size. None for no
        limit.
    present
        Returns the time of today: a time more than `max_skew` after it does not start the clock, as all that came
        later would be early for good. Asked until a time has started it. None: any time starts it.

    Examples
    --------
    >>> time = StreamTime(max_skew=60)
    >>> for seconds in (1000.0, 1030.0, 1010.0, 4070908800.0):
    ...     time.advance(Event({}, time=seconds))
    >>> time.first, time.now
    (1000.0, 1090.0)
    """

    def __init__(self, max_skew: float | None = None, present: Callable[[], float] | None = None) -> None:
        if max_skew is not None and not 0.0 < max_skew < math.inf:
            raise BadValue(f"max_skew is a number of seconds above 0, or None; got {max_skew!r}")
        self.max_skew = max_skew
        self._present = present
        self.first = -math.inf
        self.now = -math.inf

    def advance(self, event: Event) -> None:
        time = event.time
        if time is None or not self.now < time < math.inf:
            return
        if self.now == -math.inf:
            if (
                self.max_skew is not None
                and self._present is not None
                and time - self._present() > self.max_skew
            ):
                return
            self.first = float(time)
        elif self.max_skew is not None and time - self.now > self.max_skew:
            time = self.now + self.max_skew
        self.now = float(time)

    def state(self) -> dict[str, JSONValue]:
        if self.now == -math.inf:
            return {"kind": "time", "first": None, "now": None}
        return {"kind": "time", "first": self.first, "now": self.now}

    def load(self, state: Mapping[str, Any]) -> None:
        first, now = _of_kind("time", state, "first", "now")
        if first is None and now is None:
            self.first = self.now = -math.inf
            return
        if type(first) is not float or type(now) is not float or not -math.inf < first <= now < math.inf:
            raise BadState(f"not the saved time of a stream: first {shown(first)}, now {shown(now)}")
        self.first, self.now = first, now


class EventCount:
    """A clock that counts events, for streams whose events have no time.

    Examples
    --------
    >>> time = EventCount()
    >>> for _ in range(5):
    ...     time.advance(Event({}))
    >>> time.now
    5
    """

    def __init__(self) -> None:
        self.first: float = 0
        self.now: float = 0  # whole numbers, both

    def advance(self, event: Event) -> None:
        self.now += 1

    def state(self) -> dict[str, JSONValue]:
        return {"kind": "events", "now": self.now}

    def load(self, state: Mapping[str, Any]) -> None:
        (now,) = _of_kind("events", state, "now")
        if type(now) is not int or not 0 <= now < 2**62:
            raise BadState(f"not a number of events: {shown(now)}")
        self.now = now


def _of_kind(kind: str, state: object, *names: str) -> list[Any]:
    """Return the named entries of a saved clock of this kind; raise `BadState` for any other state."""
    if not isinstance(state, Mapping) or "kind" not in state:
        raise BadState(f"not a saved time: {shown(state)}")
    if state["kind"] != kind:
        raise BadState(f"the saved time counts in {shown(state['kind'])}, this stream's in {kind!r}")
    if set(state) != {"kind", *names}:
        raise BadState(f"not a saved time: {shown(state)}")
    return [state[name] for name in names]
