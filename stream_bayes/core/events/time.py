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
ENOUGH = 3  # times that start a clock whatever they are: of three, one may be wrong


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

    Events without a finite time do not move it. Before it starts, `first` and `now` are minus infinity; whatever
    happened then counts as having happened at the first time.

    With `max_skew` no single time starts it: it starts with the second one, if the first two are at most `max_skew`
    apart, and else with the third, at the middle of the three. So a first record of 1970 or 2099 starts no clock.

    Parameters
    ----------
    max_skew
        The most seconds by which one event may advance the clock, so that a single record from the year 2099 does not
        make everything overdue. After a gap in the stream the clock catches up in steps of this size. None for no
        limit: any time starts the clock.

    Attributes
    ----------
    seen
        The times of events before the clock started; empty once it has.
    report
        Called with an event, a time and the clock's time if they are more than `max_skew` apart. The time is the
        event's, or that of one of the two events before it when the clock starts.

    Examples
    --------
    >>> time = StreamTime(max_skew=60)
    >>> for seconds in (1000.0, 1030.0, 1010.0, 4070908800.0):
    ...     time.advance(Event({}, time=seconds))
    >>> time.first, time.now
    (1000.0, 1090.0)
    """

    def __init__(self, max_skew: float | None = None) -> None:
        if max_skew is not None and not 0.0 < max_skew < math.inf:
            raise BadValue(f"max_skew is a number of seconds above 0, or None; got {max_skew!r}")
        self.max_skew = max_skew
        self.first = -math.inf
        self.now = -math.inf
        self.seen: list[float] = []
        self.report: Callable[[Event, float, float], None] | None = None

    @property
    def has_started(self) -> bool:
        """True once there is a first time."""
        return self.now > -math.inf

    def advance(self, event: Event) -> None:
        time = event.time
        if time is None or not -math.inf < time < math.inf:
            return
        skew = math.inf if self.max_skew is None else self.max_skew
        if self.now == -math.inf:
            self._start(event, float(time), skew)
            return
        ahead = time - self.now
        if abs(ahead) > skew and self.report is not None:
            self.report(event, time, self.now)
        if ahead > 0.0:
            self.now = float(time if ahead <= skew else self.now + skew)

    def _start(self, event: Event, time: float, skew: float) -> None:
        seen = self.seen = [*self.seen, time]
        middle = sorted(seen)[len(seen) // 2]
        near = [each for each in seen if abs(each - middle) <= skew]
        if len(seen) < ENOUGH and len(near) == 1 and skew < math.inf:
            return
        self.first, self.now, self.seen = min(near), max(near), []
        if self.report is not None:
            for each in seen:
                if each not in near:
                    self.report(event, each, self.now)

    def bounded(self, time: float | None) -> float | None:
        """Return the time that an event counts at: its own, but not after now."""
        is_ahead = time is not None and self.has_started and self.now < time < math.inf
        return self.now if is_ahead else time

    def state(self) -> dict[str, JSONValue]:
        first, now = (self.first, self.now) if self.has_started else (None, None)
        return {"kind": "time", "first": first, "now": now, "seen": list(self.seen)}

    def load(self, state: Mapping[str, Any]) -> None:
        first, now, seen = _of_kind("time", state, "first", "now", "seen")
        moments = [first, now] if isinstance(seen, list) and not seen and first is not None else seen
        if not isinstance(moments, list) or not all(
            type(moment) is float and -math.inf < moment < math.inf for moment in moments
        ):
            raise BadState(f"not the saved time of a stream: first {shown(first)}, now {shown(now)}")
        if moments is seen:
            if not first is now is None or len(seen) >= ENOUGH:
                raise BadState(f"not the saved time of a stream that has not started: {shown(seen)}")
            self.first = self.now = -math.inf
        elif first > now:
            raise BadState(f"not the saved time of a stream: first {shown(first)}, now {shown(now)}")
        else:
            self.first, self.now = first, now
        self.seen = list(seen)


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
