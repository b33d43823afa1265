"""A stream as steps for every learner: predict this sample, learn that one.

    stream  ->  arrivals  ->  delayed  ->  portions
                pairs, or events            as many as fit before the next checkpoint
                and their labels

Steps do not depend on a learner, so they are made once for all learners. A delay is River's: the label of an event
comes right before the first event that is `delay` later is predicted. So 0 and 1 events are no delay. Samples that
still wait at the end of the stream are scored then.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from enum import Enum
from itertools import chain, count, islice
from typing import Any, TypeAlias, cast

import msgspec

from stream_bayes.core.events.actions import Action, Learn, Predict, Refuse
from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.time import MAX_SKEW, StreamTime
from stream_bayes.errors import BadValue, Exhausted
from stream_bayes.streams.contracts.source import EndlessSource, Source

__all__ = [
    *("FORGET", "LEARN", "PREDICT", "PREDICT_AND_LEARN"),
    *("Arrivals", "EvaluationStep", "Pair", "StepKind", "Stream", "check_delay", "delayed", "portions"),
]

Pair: TypeAlias = tuple[Mapping[Any, Any], Any] | tuple[Mapping[Any, Any], Any, float]
Stream: TypeAlias = Iterable[Pair | Event | BadRecord] | Source

PORTION = 100  # steps that one learner processes before the next one; also samples polled at once


class StepKind(Enum):
    """The action on a sample."""

    PREDICT_AND_LEARN = "predict and learn"
    PREDICT = "predict"
    LEARN = "learn"  # and score the prediction
    FORGET = "forget"  # its label will not come


# Looking a member up in its class takes longer than comparing it.
PREDICT_AND_LEARN, PREDICT, LEARN, FORGET = StepKind


class EvaluationStep(msgspec.Struct, frozen=True, gc=False):
    """One action on one sample."""

    kind: StepKind
    # of the sample in the stream, from 0; prediction and learning of a sample have the same number
    number: int
    x: Mapping[Any, Any]
    y: Any  # None until the label comes
    weight: float = 1.0
    event: Event | None = None  # of the sample; None in a stream of pairs


class Arrivals:
    """The steps of a stream whose labels may come later. The stream is pairs (x, y), or (x, y, weight); events; or a
    source that is polled for them. One that grows, such as a topic, is read to the end that it has at the start. At
    most `limit` records are read. Past `most_waiting` samples that wait for labels, the oldest is evicted.

    Attributes
    ----------
    skipped
        Number of skipped records by reason; `"crowded_out"` are samples that waited too long.
    """

    def __init__(self, stream: Stream, limit: int | None = None, most_waiting: int = 100_000) -> None:
        self._stream = stream
        self._limit = math.inf if limit is None else limit
        self._numbers = count()
        # Corrections are ignored: most learners cannot unlearn. With on_expiry="negative" an evicted sample comes out
        # as an action, so that it can be counted.
        self._pending = Pending(most_waiting=most_waiting, on_expiry="negative", most_correctable=0)
        self.skipped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[EvaluationStep | None]:
        """Iterate over the steps; None is a pause."""
        if hasattr(self._stream, "poll"):
            return self._polled(cast(Source, self._stream))
        records = self._stream
        if self._limit != math.inf:
            records = islice(records, int(self._limit))
        return chain.from_iterable(map(self._steps_of, records))

    def _polled(self, source: Source) -> Iterator[EvaluationStep | None]:
        left = self._limit
        log = source if isinstance(source, EndlessSource) else None
        end = {} if log is None else log.fetch_end()
        while left > 0:
            try:
                records = source.poll(int(min(PORTION, left)))
            except Exhausted:
                return
            left -= len(records)
            for record in records:
                yield from self._steps_of(record)
            yield None
            if log is not None and log.has_reached(end):
                return

    def _steps_of(self, record: Pair | Event | BadRecord) -> Iterable[EvaluationStep]:
        if isinstance(record, tuple) and 2 <= len(record) <= 3:
            return (EvaluationStep(PREDICT_AND_LEARN, next(self._numbers), *record),)
        if isinstance(record, Event):
            if isinstance(record.y, Mapping):  # several targets: as a value, which waits like any label
                record = msgspec.structs.replace(record, y=tuple(record.y.items()))
            actions = [*self._pending.advance(record), *self._pending.arrive(record)]
            return [step for action in actions for step in self._do(action)]
        if isinstance(record, BadRecord):
            self.skipped[record.reason] += 1
            return ()
        raise BadValue(
            f"expected pairs (x, y), triples (x, y, weight) or Events in the stream, got {record!r:.200}"
        )

    def _do(self, action: Action) -> Iterator[EvaluationStep]:
        """Yield the steps of an action, and of the actions that follow from it."""
        if isinstance(action, Refuse):
            self.skipped[action.reason.value] += 1
        elif isinstance(action, Learn):
            yield self._learn(LEARN, action)
        elif isinstance(action, Predict):
            yield from self._predict(action)

    def _predict(self, action: Predict) -> Iterator[EvaluationStep]:
        """Yield the steps of a sample, and of one that it evicts."""
        event, number = action.event, next(self._numbers)
        following = self._pending.predicted(action, number)
        for other in following:
            if isinstance(other, Learn) and other.event is event:
                yield self._learn(PREDICT_AND_LEARN, other)
                return
            if isinstance(other, Refuse):
                self.skipped[other.reason.value] += 1
                return
        yield EvaluationStep(PREDICT, number, event.x, None, event.weight, event)
        for other in following:
            if isinstance(other, Learn):
                self.skipped["crowded_out"] += 1
                yield msgspec.structs.replace(self._learn(FORGET, other), y=None)

    def _learn(self, kind: StepKind, action: Learn) -> EvaluationStep:
        event = action.event
        self._pending.learned(action, encoded=None)
        return EvaluationStep(kind, action.prediction, event.x, action.label, event.weight, event)


def check_delay(delay: object) -> None:
    """Raise `BadValue` for an invalid delay."""
    whole = isinstance(delay, int) and not isinstance(delay, bool) and delay >= 0
    if not whole and not (isinstance(delay, timedelta) and delay >= timedelta(0)):
        raise BadValue(
            f"delay: expected a number of events or a timedelta of stream time, at least 0, got {delay!r}"
        )


def delayed(
    steps: Iterable[EvaluationStep | None], delay: int | timedelta
) -> Iterator[EvaluationStep | None]:
    """Return the same steps with delayed labels.

    Labels that the source already sent late are not delayed further.
    """
    if isinstance(delay, int) and delay <= 1:
        return iter(steps)
    return _held_back(steps, delay)


def _held_back(
    steps: Iterable[EvaluationStep | None], delay: int | timedelta
) -> Iterator[EvaluationStep | None]:
    length = float(delay) if isinstance(delay, int) else delay.total_seconds()
    # One time that cannot be must not end the delay of all labels, or hold all later ones back.
    clock = StreamTime(max(MAX_SKEW, length)) if isinstance(delay, timedelta) else None
    waiting: deque[tuple[float, EvaluationStep]] = deque()  # no label comes before that of an older sample
    for step in steps:
        if step is None or step.kind is LEARN or step.kind is FORGET:
            yield step
            continue
        if clock is None:
            now = float(step.number)
        else:
            had_started = clock.has_started
            now = _moment(clock, step)
            if clock.has_started and not had_started:
                waiting = deque((min(max(moment, clock.first), now), each) for moment, each in waiting)
        while waiting and waiting[0][0] + length <= now and (clock is None or clock.has_started):
            yield waiting.popleft()[1]
        if step.kind is PREDICT:
            yield step
            continue
        yield msgspec.structs.replace(step, kind=PREDICT, y=None)
        waiting.append((now, msgspec.structs.replace(step, kind=LEARN)))
    for _, step in waiting:
        yield step


def _moment(clock: StreamTime, step: EvaluationStep) -> float:
    """Return the stream time at a step; before the clock starts, the newest time."""
    if step.event is not None:
        clock.advance(step.event)
    if clock.has_started:
        return clock.now
    if not clock.seen:
        raise BadValue(
            f"a delay in stream time needs Events with a time, and sample {step.number} has none: give the delay as a "
            "number of events, or a stream of Events"
        )
    return clock.seen[-1]


def portions(steps: Iterable[EvaluationStep | None], every: int) -> Iterator[list[EvaluationStep]]:
    """Yield steps in portions that end at each multiple of `every` scored samples; empty ones at a pause."""
    portion: list[EvaluationStep] = []
    scored = 0
    for step in steps:
        if step is None:
            yield portion
            portion = []
            continue
        portion.append(step)
        scores = step.kind is LEARN or step.kind is PREDICT_AND_LEARN
        scored += scores
        if len(portion) >= PORTION or (scores and scored % every == 0):
            yield portion
            portion = []
    if portion:
        yield portion
