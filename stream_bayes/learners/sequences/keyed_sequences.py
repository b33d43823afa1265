"""The sequences of a stream by key: a bounded number of memories, each until a pause or a reset."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.durations import microseconds_of, seconds_of
from stream_bayes.core.values.inputs import no_features
from stream_bayes.core.values.values import Value, canonical, is_missing, shown, tagged, untagged
from stream_bayes.data.frames import Native, events_in
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import check_count, check_name, check_number

__all__ = ["KeyedSequences", "check_key", "name_in", "timed_events"]

Memory = TypeVar("Memory")


def name_in(x: Mapping[Any, Any], feature: Any) -> Value | None:
    """Return an event's value of a feature, None if it is missing. Raise `BadValue` for what is no name."""
    if not isinstance(x, Mapping):
        raise no_features(x)
    value = x.get(feature)
    if is_missing(value):
        return None
    name = canonical(value, feature=feature)
    if isinstance(name, float):
        raise BadValue(
            f"feature {shown(feature)}: a sequence is of names and whole numbers, not {name!r}; cut it into bins first"
        )
    return name


def timed_events(X: Native, at: Iterable[float] | None) -> list[tuple[Mapping[Any, Any], float | None]]:
    """Return dicts, or the rows of a data frame, with their times. Raise `BadValue` for another number of times."""
    events = [*events_in(X)]
    times: list[float | None] = [None] * len(events) if at is None else [*at]
    if len(times) != len(events):
        raise BadValue(f"{len(events)} events, but {len(times)} times")
    return list(zip(events, times, strict=True))


MOST_MISSED = 100  # events between two of a sequence; after more it starts anew


class Last(NamedTuple, Generic[Memory]):
    """The memory of a sequence, and the latest time of its events in microseconds."""

    memory: Memory
    at: int | None


class KeyedSequences(Generic[Memory]):
    """The memory of each sequence, the one that moved last at the end.

    `key` is the feature whose value names an event's sequence; None: all events are one sequence. A sequence starts
    anew after a `pause` without events, in seconds or as a duration such as `"30min"`. `step` is the time from an event
    to the next, as `pause`; None: events come one after another, at any time. Of `max_sequences` that are remembered,
    the one that has not moved for longest starts anew. `fresh` makes the memory of a sequence without events; `on_end`
    is called with the memory of one that ended, or was dropped. `dropped` counts sequences that started anew because
    there were too many, `missed` the events that were missing by `step` between two that came.
    """

    def __init__(
        self,
        key: Any,
        pause: float | str | None,
        step: float | str | None,
        max_sequences: int,
        fresh: Callable[[], Memory],
        on_end: Callable[[Memory], None] = lambda memory: None,
    ) -> None:
        check_name("key", key)
        check_count("max_sequences", max_sequences)
        self.key = key
        self.pause, self.step = _microseconds("pause", pause), _microseconds("step", step)
        if self.pause <= self.step < math.inf:
            raise BadValue(
                f"pause={pause!r} is no longer than step={step!r}: each event would start a sequence"
            )
        self.max_sequences = max_sequences
        self.dropped = self.missed = 0
        self._fresh = fresh
        self._on_end = on_end
        self._last: dict[Value | None, Last[Memory]] = {}

    def __len__(self) -> int:
        return len(self._last)

    def name_of(self, x: Mapping[Any, Any] | None) -> Value | None:
        """Return the sequence that an event belongs to. Raise `BadValue` if it lacks the key."""
        if x is not None and not isinstance(x, Mapping):
            raise no_features(x)
        if self.key is None:
            return None
        value = None if x is None else x.get(self.key)
        if is_missing(value):
            raise BadValue(
                f"an event needs {shown(self.key)}, the key of its sequence; it has {shown([*(x or ())])}"
            )
        return canonical(value, feature=self.key)

    def moment(self, at: float | None) -> int | None:
        """Return an event's time in microseconds. Raise `BadValue` if it is needed and there is none."""
        if at is None:
            if min(self.pause, self.step) < math.inf:
                name = "pause" if self.pause < math.inf else "step"
                raise BadValue(f"{name}= needs the time of each event: give at=, in seconds since 1970")
            return None
        return microseconds_of("at", at)

    def due(self, name: Value | None) -> float | None:
        """Return when the next event of a sequence is due, in seconds: by `step`, without one at the time of the last.

        None if times do not matter.
        """
        if min(self.pause, self.step) == math.inf:
            return None
        last = self._last.get(name)
        after = self.step if self.step < math.inf else 0.0
        return 0.0 if last is None or last.at is None else (last.at + after) / 1e6

    def memory(self, name: Value | None, moment: int | None) -> Memory:
        """Return what is remembered of a sequence at a time: nothing yet after a pause."""
        last = self._last.get(name)
        return self._fresh() if last is None or self._is_over(last, moment) else last.memory

    def missed_before(self, name: Value | None, moment: int | None) -> int:
        """Return how many events of a sequence are missing before one at a time, by `step`; none after a pause."""
        last = self._last.get(name)
        return 0 if last is None or self._is_over(last, moment) else self._missing(last, moment)

    def _missing(self, last: Last[Memory], moment: int | None) -> int:
        if moment is None or last.at is None or self.step == math.inf:
            return 0
        return max(0, round((moment - last.at) / self.step) - 1)

    def _is_over(self, last: Last[Memory], moment: int | None) -> bool:
        if moment is None or last.at is None:
            return False
        return moment - last.at > self.pause or self._missing(last, moment) > MOST_MISSED

    def remember(self, name: Value | None, memory: Memory, moment: int | None) -> None:
        """Put the memory of a sequence that moved. An event that comes late does not set its time back."""
        self.missed += self.missed_before(name, moment)
        last = self._last.pop(name, None)
        if last is not None and self._is_over(last, moment):
            self._on_end(last.memory)
        if last is not None and last.at is not None:
            moment = last.at if moment is None else max(moment, last.at)
        self._last[name] = Last(memory, moment)
        if len(self._last) > self.max_sequences:
            self._on_end(self._last.pop(next(iter(self._last))).memory)
            self.dropped += 1

    def reset(self, *names: Any) -> None:
        """End the sequences of these keys; without any, all of them."""
        if names and self.key is None:
            raise BadValue("without key= there is one sequence: reset() ends it")
        ended = [canonical(name, feature=self.key) for name in names] if names else [*self._last]
        for name in ended:
            if name in self._last:
                self._on_end(self._last.pop(name).memory)

    def join(self, other: KeyedSequences[Memory]) -> None:
        """Take over the sequences of another one that are not remembered here, or moved later there."""
        for name, last in other._last.items():
            mine = self._last.get(name)
            if mine is None or (last.at is not None and (mine.at is None or last.at > mine.at)):
                self._last.pop(name, None)
                self.remember(name, last.memory, last.at)
        self.dropped += other.dropped
        self.missed += other.missed

    def state(self, saved: Callable[[Memory], Any]) -> dict[str, Any]:
        """Return it as JSON values."""
        rows = [
            [None if name is None else tagged(name), saved(last.memory), last.at]
            for name, last in self._last.items()
        ]
        return {"sequences": rows, "dropped": self.dropped, "missed": self.missed}

    def load(self, state: Mapping[str, Any], loaded: Callable[[Any], Memory]) -> None:
        """Fill an empty one from a state."""
        expect(set(state) == {"sequences", "dropped", "missed"}, "it remembers no sequences")
        for name in ("dropped", "missed"):
            expect(type(state[name]) is int and state[name] >= 0, f"{name} is {state[name]!r}")
        for name, memory, at in state["sequences"]:
            expect((name is None) == (self.key is None), "its sequences have other keys")
            expect(at is None or type(at) is int, "a sequence has no time")
            sequence = None if name is None else untagged(name)
            expect(sequence not in self._last, "it remembers a sequence twice")
            self._last[sequence] = Last(loaded(memory), at)
        expect(len(self._last) <= self.max_sequences, "it remembers more than max_sequences")
        self.dropped, self.missed = state["dropped"], state["missed"]


def check_key(key: Any, names: Collection[Any], argument: str) -> None:
    """Raise `BadValue` unless `key` is None, or the name of a feature that is none of those of another argument."""
    check_name("key", key)
    if key is not None and key in names:
        raise BadValue(f"{shown(key)} is the key of sequences, and cannot be one of {argument}")


def _microseconds(name: str, given: float | str | None) -> float:
    """Read an argument that is a time; None is an infinite one."""
    seconds = seconds_of(name, given) if isinstance(given, str) else given
    if seconds is None:
        return math.inf
    check_number(name, seconds, above=True)
    return seconds * 1e6
