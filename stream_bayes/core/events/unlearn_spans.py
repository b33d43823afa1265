"""Unlearning a span of time: the command, and the samples that were learned in the span, joined again from the log.

A sample belongs to the span by the time of the record that brought its present label. The pending store remembers the
newest samples as they were learned. `Rejoin` finds the others: it reads the log again and joins samples with their
labels by key, without any limit of time, for it is given which events were refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from stream_bayes.core.events.actions import admitted
from stream_bayes.core.events.event import (
    COMMAND,
    CORRECTION,
    LABEL,
    ONE,
    SAMPLE,
    TOMBSTONE,
    Event,
    Partition,
    Position,
)
from stream_bayes.core.values.spellings import is_spelling
from stream_bayes.core.values.values import Value

__all__ = ["Rejoin", "Rejoined", "Span", "Unlearned", "span_of", "unlearn_command"]

UNLEARN = "unlearn"  # name of the span among the content of a command


class Span(msgspec.Struct, frozen=True):
    """A span of time, and which of its labels are meant.

    Examples
    --------
    >>> span = Span(10.0, 20.0, labels=("rain",))
    >>> span.holds(10.0, "a", "rain"), span.holds(20.0, "a", "rain"), span.holds(10.0, "a", "sun")
    (True, False, False)
    >>> Span(10.0, 20.0, labels=("12",)).holds(10.0, "a", 12.0)
    True
    """

    start: float  # seconds since 1970
    stop: float  # the first time after the span, in seconds since 1970
    keys: tuple[str, ...] = ()  # keys as texts that stand for them, see `is_spelling`; empty for all
    labels: tuple[str, ...] = ()  # as `keys`

    def holds(self, time: float | None, key: Value | None, label: Value) -> bool:
        """Return True for a label of this time, for a sample of this key."""
        if time is None or not self.start <= time < self.stop:
            return False
        if self.keys and (key is None or not _is_among(self.keys, key)):
            return False
        return not self.labels or _is_among(self.labels, label)


def _is_among(texts: Sequence[str], value: Value) -> bool:
    return value in texts if isinstance(value, str) else any(is_spelling(text, value) for text in texts)


def unlearn_command(
    span: Span, position: Position, partition: Partition, length: int = 1, time: float | None = None
) -> Event:
    """Return the event of a command that takes back the labels of a span. It does not move stream time.

    Examples
    --------
    >>> command = unlearn_command(Span(10.0, 20.0), 0, Partition("commands"))
    >>> command.kind.value, span_of(command).stop
    ('command', 20.0)
    """
    return Event({UNLEARN: span}, None, None, time, position, ONE, COMMAND, partition, length)


def span_of(command: Event) -> Span | None:
    """Return the span that a command takes back; None for another command."""
    return command.x.get(UNLEARN)


class Unlearned(NamedTuple):
    """A span that was unlearned, and the positions up to which the log had been processed then."""

    span: Span
    positions: Mapping[Partition, Position]


class Rejoined(NamedTuple):
    """A sample with its present label, as the log has them."""

    event: Event
    label: Value


class _Joined:
    """A sample with a key, and its label so far."""

    __slots__ = ("event", "has_expired", "is_doubtful", "label", "labels", "record", "time")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.label: Value | None = None
        self.time: float | None = None  # of the record that brought the label
        self.record: tuple[Partition, Position] = (event.partition, event.position)  # of that record
        self.labels = 0  # that came for its key, without corrections
        self.is_doubtful = False
        self.has_expired = False  # without a label


class Rejoin:
    """Samples joined with their labels again, in the order in which the log is read.

    `was_refused` returns True for an event that became a dead letter, `was_unused` for a label that no sample came for,
    or that still waits for one. `done` are spans that were unlearned before. `joins` is False for a stream whose
    samples bring their labels: there is nothing to join. `unlearns_withdrawn` is True if a tombstone unlearned its
    sample.

    `is_in_order` is True if the log is read in the order in which it was processed. Otherwise a key that was used again
    is doubtful: which of its samples a label belongs to depends on the order. `is_whole` is True if the log is read
    from its beginning. Otherwise a label can be that of an earlier sample.

    Attributes
    ----------
    doubtful
        The number of samples in the span whose label is not certain.

    Examples
    --------
    >>> rejoin = Rejoin(Span(0.0, 10.0), lambda event: False)
    >>> rejoin.add([Event({"sky": "grey"}, "rain", time=1.0), Event({"sky": "blue"}, "sun", time=11.0)])
    >>> [(sample.event.x, sample.label) for sample in rejoin.samples()]
    [({'sky': 'grey'}, 'rain')]
    """

    def __init__(
        self,
        span: Span,
        was_refused: Callable[[Event], bool],
        was_unused: Callable[[Event], bool] = lambda event: False,
        done: Sequence[Unlearned] = (),
        *,
        joins: bool = False,
        unlearns_withdrawn: bool = False,
        is_in_order: bool = True,
        is_whole: bool = True,
    ) -> None:
        self.doubtful = 0
        self._span = span
        self._was_refused = was_refused
        self._was_unused = was_unused
        self._done = done
        self._joins = joins
        self._unlearns_withdrawn = unlearns_withdrawn
        self._is_in_order = is_in_order
        self._is_whole = is_whole
        self._rejoined: list[Rejoined] = []
        self._joined: dict[Value, _Joined] = {}
        self._early: dict[Value, tuple[Value, float | None, tuple[Partition, Position]]] = {}
        self._now: float | None = None

    def add(self, records: Iterable[Any]) -> None:
        """Add the next records of the log."""
        for event in records:
            if not isinstance(event, Event) or event.kind is COMMAND:
                continue
            if event.time is not None and (self._now is None or event.time > self._now):
                self._now = event.time
            if self._was_unused(event):
                self._leave_out(event)
                continue
            if self._was_refused(event):
                continue
            if not self._joins:
                if event.kind is SAMPLE and event.y is not None:
                    self._add_labelled(event)
                continue
            sound = admitted(event)
            if isinstance(sound, Event):
                self._join(sound)

    def samples(self, is_remembered: Callable[[Value], bool] = lambda key: False) -> list[Rejoined]:
        """Return the samples in the span. Of a key that is remembered elsewhere, the newest sample is left out."""
        for key, joined in self._joined.items():
            if not is_remembered(key):
                self._close(joined)
        self._joined.clear()
        return self._rejoined

    def _add_labelled(self, event: Event) -> None:
        record = (event.partition, event.position)
        if self._span.holds(event.time, event.key, event.y) and not self._was_done(
            event.time, event.key, event.y, record
        ):
            self._rejoined.append(Rejoined(event, event.y))

    def _join(self, event: Event) -> None:
        key, record = event.key, (event.partition, event.position)
        if event.kind is SAMPLE:
            early = None if key is None else self._early.pop(key, None)
            if key is None:
                self._add_labelled(event)
                return
            before = self._joined.get(key)
            if before is not None:
                is_tie = before.time == event.time and before.record[0] != event.partition
                # A second label corrects the sample if it was still remembered, else it waits for the next one.
                if not self._is_in_order or is_tie or before.labels > 1:
                    before.is_doubtful = True
                self._close(before)
            joined = self._joined[key] = _Joined(event)
            joined.is_doubtful = before is not None and before.is_doubtful
            if event.y is not None:
                joined.label, joined.time, joined.labels = event.y, self._time_of(event), 1
            elif early is not None:
                joined.label, joined.time, joined.record = early
                joined.labels = 1
                # Of a part of the log, a label before the span can be that of a sample before the part.
                joined.is_doubtful |= not self._is_whole and (joined.time or 0.0) < self._span.start
        elif event.kind is TOMBSTONE:
            if self._unlearns_withdrawn:
                self._joined.pop(key, None)
                self._early.pop(key, None)
        elif (candidate := self._joined.get(key)) is None:
            if key not in self._early or self._early[key][0] != event.y:
                self._early[key] = (event.y, self._time_of(event), record)
        elif not candidate.has_expired:
            candidate.labels += event.kind is LABEL  # a correction never waits for the next sample
            if candidate.label != event.y:
                candidate.label, candidate.time, candidate.record = event.y, self._time_of(event), record

    def _leave_out(self, event: Event) -> None:
        """Leave out a label that was not used, and those that it replaced while they waited for a sample."""
        sound = admitted(event)
        candidate = self._joined.get(sound.key) if isinstance(sound, Event) else None
        if not isinstance(sound, Event) or candidate is None or candidate.label == sound.y:
            return
        if candidate.label is None:
            candidate.has_expired = True
        elif sound.kind is CORRECTION and candidate.labels == 1 and candidate.event.y is None:
            # A correction waits only in the place of a label, and there was no other.
            candidate.label, candidate.has_expired = None, True
        else:
            candidate.is_doubtful = True

    def _time_of(self, event: Event) -> float | None:
        """Return an event's time; of one without, that of the stream."""
        return self._now if event.time is None else event.time

    def _close(self, joined: _Joined) -> None:
        label, key = joined.label, joined.event.key
        if label is None or not self._span.holds(joined.time, key, label):
            return
        if self._was_done(joined.time, key, label, joined.record):
            return
        self.doubtful += joined.is_doubtful
        self._rejoined.append(Rejoined(joined.event, label))

    def _was_done(
        self, time: float | None, key: Value | None, label: Value, record: tuple[Partition, Position]
    ) -> bool:
        partition, position = record
        return any(
            position < before.positions.get(partition, 0) and before.span.holds(time, key, label)
            for before in self._done
        )
