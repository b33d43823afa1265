"""Late labels and corrections: samples that wait for labels, and learned samples that can still be corrected.

A pure state machine: events go in, actions come out, and the engine reports what it did. For each event::

    for action in pending.advance(event):     # time passes: overdue samples and labels
        do(action)
    for action in pending.arrive(event):      # the event itself
        do(action)

    do(Predict) ->  predict, then do(action) for each of pending.predicted(action, prediction)
    do(Learn)   ->  learn and score, then pending.learned(action, encoded, clock)

Execute actions in their order, each before the next call. A key is in one of three states, or in none::

                               sample                 label                            resolved
                  none     ----------------> waiting --------> Learn, learned -------> |  learned  | -- another label
                  --> Relearn
                     |                          |  expired, withdrawn -------------->  |  dropped  | -- any label -->
                     Refuse |  label                   |                                      evicted by age or number
       +----------------> early --+ sample --> Learn, learned -------->

An engine does not need this if all samples bring their labels and no corrections are allowed.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, Literal, TypeVar

from stream_bayes.core.events.actions import (
    Action,
    Learn,
    Learned,
    Predict,
    RefusalReason,
    Refuse,
    Relearn,
    Unlearn,
    admitted,
    keepable,
    without_features,
)
from stream_bayes.core.events.event import LABEL, SAMPLE, TOMBSTONE, Event
from stream_bayes.core.events.pending_state import (
    Dropped,
    Early,
    PendingSnapshot,
    Resolved,
    Waiting,
    load_pending,
)
from stream_bayes.core.events.time import StreamClock, StreamTime
from stream_bayes.core.events.unlearn_spans import Span
from stream_bayes.core.values.payloads import Payload, plain
from stream_bayes.core.values.values import Value, canonical_label
from stream_bayes.errors import BadLabel, BadValue

__all__ = ["Pending"]

# Names of counters, besides the reasons for which events are refused.
OUTCOMES = ("late", "early", "expired", "crowded_out", "repeated", "corrected", "withdrawn", "skipped")

NEGATIVE = False  # the label of an event that did not happen; as a label the same as 0

Entry = TypeVar("Entry", Waiting, Early, Resolved)


class Pending:
    """Samples that wait for labels, labels that wait for samples, and learned samples that can be corrected.

    The state depends on the sequence of calls alone: the same calls give the same state, byte for byte, even if it was
    saved and loaded in between. An event takes two or three microseconds. Memory: at most `most_waiting` samples with
    their predictions, as many labels without features, and `most_correctable` keys with the encoded sample of each.

    Keys and labels are values as in `core.values`, and equal if a Python dict treats them as equal. A key may be used
    again once its sample has its label: later labels and corrections then refer to the newer sample.

    Parameters
    ----------
    time
        The clock: `StreamTime`, the default, or `EventCount` for streams without times. The durations below are in its
        unit, seconds or events.
    wait_for
        The longest time that a sample waits for its label, or a label for its sample. None: as long as there is room.
    most_waiting
        The most samples that wait, and the most labels. With one more, the oldest is treated as overdue.
    on_expiry
        The treatment of a sample whose label does not come: `"drop"` forgets it, `"negative"` learns it as False (or 0,
        which is the same label), `"assume"` learns it as `assumed`. Its prediction is scored against that label, too.
    assumed
        The label for `"assume"`.
    correct_within
        The time after learning in which a sample can be corrected. None: while it is among the newest.
    most_correctable
        The number of newest samples that can be corrected. A label for a sample that is no longer remembered looks like
        a label before its sample and is buffered as such. With 0 that is so for every repeated label.
    on_tombstone
        `"skip"` keeps what was learned; `"unlearn"` unlearns it.

    Attributes
    ----------
    counts
        Counters: labels that came late (after their sample) or early, samples that expired or were crowded out, labels
        repeated or corrected, samples withdrawn by a tombstone, tombstones skipped, and events refused for each
        `RefusalReason`.
    forgotten
        The latest label of a learned sample that is no longer remembered, or never was; None if there is none.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event, Kind
    >>> pending = Pending(wait_for=60)
    >>> sample = Event({"sky": "grey"}, key="a", time=0.0)
    >>> pending.advance(sample), pending.arrive(sample)
    ([], [Predict(event=Event(x={'sky': 'grey'}, key='a', time=0.0))])
    >>> pending.predicted(Predict(sample), {"rain": 0.7, "sun": 0.3})
    []

    Its label arrives half a minute later and is learned.

    >>> label = Event({}, "rain", key="a", time=30.0, kind=Kind.LABEL)
    >>> pending.advance(label)
    []
    >>> learn, = pending.arrive(label)
    >>> learn.event.x, learn.label, learn.prediction
    ({'sky': 'grey'}, 'rain', {'rain': 0.7, 'sun': 0.3})
    >>> pending.learned(learn, encoded=(4, 1), clock=12)

    A correction follows.

    >>> relearn, = pending.arrive(Event({}, "sun", key="a", time=40.0, kind=Kind.CORRECTION))
    >>> relearn.was.encoded, relearn.was.label, relearn.was.clock, relearn.label
    ((4, 1), 'rain', 12, 'sun')
    """

    def __init__(
        self,
        *,
        time: StreamClock | None = None,
        wait_for: float | None = None,
        most_waiting: int = 100_000,
        on_expiry: Literal["drop", "negative", "assume"] = "drop",
        assumed: object = None,
        correct_within: float | None = None,
        most_correctable: int = 100_000,
        on_tombstone: Literal["skip", "unlearn"] = "skip",
    ) -> None:
        self.time = StreamTime() if time is None else time
        self.wait_for = _duration("wait_for", wait_for)
        self.most_waiting = _number("most_waiting", most_waiting, least=1)
        self.correct_within = _duration("correct_within", correct_within)
        self.most_correctable = _number("most_correctable", most_correctable, least=0)
        if on_expiry not in ("drop", "negative", "assume"):
            raise BadValue(f'on_expiry is "drop", "negative" or "assume", not {on_expiry!r}')
        if (on_expiry == "assume") is (assumed is None):
            raise BadLabel(
                f'assumed is the label for on_expiry="assume", and for that alone; got {assumed!r}'
            )
        if on_tombstone not in ("skip", "unlearn"):
            raise BadValue(f'on_tombstone is "skip" or "unlearn", not {on_tombstone!r}')
        self.on_expiry = on_expiry
        self.assumed = canonical_label(assumed) if on_expiry == "assume" else NEGATIVE
        self.on_tombstone = on_tombstone
        self.counts = dict.fromkeys((*OUTCOMES, *(reason.value for reason in RefusalReason)), 0)
        self.forgotten: float | None = None
        # Nothing is overdue up to this time. A cache, and so not part of the state.
        self._due = -math.inf
        # Oldest first. A plain dict scans all removed entries at its front to find the oldest.
        self._waiting: OrderedDict[Value, Waiting] = OrderedDict()
        self._early: OrderedDict[Value, Early] = OrderedDict()
        self._resolved: OrderedDict[Value, Resolved] = OrderedDict()

    # -- events in, actions out ---------------------------------------------------------------------------------------

    def advance(self, event: Event) -> list[Action]:
        """Advance the clock to an event's time; return the actions for samples and labels that are overdue."""
        self.time.advance(event)
        now = self.time.now
        if now <= self._due:
            return []
        actions: list[Action] = []
        while self._deadline(self._waiting, self.wait_for) < now:
            actions += self._expire("expired")
        while self._deadline(self._early, self.wait_for) < now:
            actions.append(self._orphan())
        while self._deadline(self._resolved, self.correct_within) < now:
            self._forget(self._resolved.popitem(last=False)[1])
        self._due = min(
            self._deadline(self._waiting, self.wait_for),
            self._deadline(self._early, self.wait_for),
            self._deadline(self._resolved, self.correct_within),
        )
        return actions

    def arrive(self, event: Event) -> list[Action]:
        """Return the actions for an event."""
        sound = admitted(event)
        if isinstance(sound, RefusalReason):
            return [self._refuse(event, sound)]
        if event.kind is SAMPLE:
            return [self._sample(sound)]
        if event.kind is TOMBSTONE:
            return self._tombstone(sound)
        return self._label(sound)

    def predicted(self, action: Predict, prediction: Payload) -> list[Action]:
        """Return the actions for a sample that has been predicted: learn it, or none until its label comes.

        Parameters
        ----------
        action
            The action that was executed.
        prediction
            The prediction to score when the label is known. It and the features are stored without a copy, so do not
            change them afterwards.
        """
        event = action.event
        key, label = event.key, event.y
        early = None if key is None else self._early.pop(key, None)
        if label is not None:  # the sample's own label supersedes an early one
            if early is not None:
                self._count_second(label, early.event.y)
            return [Learn(event, label, prediction, self._time_of(event))]
        if early is not None:
            return [Learn(event, early.event.y, prediction, self._time_of(early.event))]
        try:
            waiting = Waiting(keepable(event), plain(prediction), self.time.now)
        except BadValue:
            return [self._refuse(event, RefusalReason.BAD_FEATURES)]
        self._forget(self._resolved.pop(key, None))
        self._waiting[key] = waiting
        actions: list[Action] = []
        while len(self._waiting) > self.most_waiting:
            actions += self._expire("crowded_out")
        return actions

    def learned(self, action: Learn | Relearn, encoded: Payload, clock: int | None = None) -> None:
        """Record a learned sample, so that it can be unlearned.

        Parameters
        ----------
        action
            The action that was executed.
        encoded
            The data that the engine needs to unlearn the sample exactly: plain, as in `payloads`.
        clock
            The learner's clock now.
        """
        key = action.event.key
        if isinstance(action, Relearn):
            was, time = action.was, self._time_of(action.event)
            self._resolved[key] = Learned(
                key, plain(encoded), action.label, was.weight, clock, was.since, time, was.partition
            )
            return
        if key is None:  # no label or correction can refer to it
            self._forget_time(action.time)
            return
        self._waiting.pop(key, None)
        if self.most_correctable:
            weight, number = action.event.weight, action.event.partition.partition
            learned = Learned(
                key, plain(encoded), action.label, weight, clock, self.time.now, action.time, number
            )
            self._remember(learned)
        else:
            self._forget_time(action.time)

    # -- one step for each kind of event ------------------------------------------------------------------------------

    def _sample(self, event: Event) -> Action:
        if event.key in self._waiting:
            return self._refuse(event, RefusalReason.KEY_IS_WAITING)
        return Predict(event)

    def _label(self, event: Event) -> list[Action]:
        """Process a label, or a correction: a correction is refused if its key is not known."""
        key, label = event.key, event.y
        waiting = self._waiting.get(key)
        if waiting is not None:  # the sample waits on until `learned`, as the learner may refuse this label
            self.counts["late"] += 1
            return [Learn(waiting.event, label, waiting.prediction, self._time_of(event))]
        resolved = self._resolved.get(key)
        early = self._early.get(key)
        if isinstance(resolved, Dropped):
            is_label = event.kind is LABEL
            return [
                self._refuse(
                    event, RefusalReason.LABEL_TOO_LATE if is_label else RefusalReason.CORRECTION_TOO_LATE
                )
            ]
        if resolved is not None:
            if self._count_second(label, resolved.label):
                return [Relearn(event, resolved, label)]
        elif early is not None:
            if self._count_second(label, early.event.y):
                self._early[key] = Early(without_features(event), early.since)
        elif event.kind is LABEL:
            return self._buffer(event)
        else:
            return [self._refuse(event, RefusalReason.CORRECTION_TOO_LATE)]
        return []

    def _count_second(self, label: Value, before: Value) -> bool:
        """Count a second label as repeated or corrected; return True if it differs from the first."""
        self.counts["repeated" if label == before else "corrected"] += 1
        return label != before

    def _buffer(self, event: Event) -> list[Action]:
        """Buffer a label until its sample comes."""
        self.counts["early"] += 1
        self._early[event.key] = Early(without_features(event), self.time.now)
        actions: list[Action] = []
        while len(self._early) > self.most_waiting:
            actions.append(self._orphan())
        return actions

    def _tombstone(self, event: Event) -> list[Action]:
        key = event.key
        if self.on_tombstone == "skip":
            self.counts["skipped"] += 1
            return []
        resolved = self._resolved.get(key)
        if isinstance(resolved, Learned):
            self.counts["withdrawn"] += 1
            self._resolved[key] = Dropped(key, resolved.since, resolved.partition)
            return [Unlearn(event, resolved)]
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            self.counts["withdrawn"] += 1
            self._remember(Dropped(key, self.time.now, waiting.event.partition.partition))
        elif self._early.pop(key, None) is not None:
            self.counts["withdrawn"] += 1
        elif resolved is None:
            return [self._refuse(event, RefusalReason.TOMBSTONE_TOO_LATE)]
        return []

    # -- eviction -----------------------------------------------------------------------------------------------------

    def _deadline(self, entries: OrderedDict[Value, Entry], within: float | None) -> float:
        """Return the last time at which the oldest entry, or one made now if there is none, is not overdue."""
        if within is None:
            return math.inf
        since = next(iter(entries.values())).since if entries else self.time.now
        return max(since, self.time.first) + within

    def _expire(self, outcome: str) -> list[Action]:
        """Evict the sample that has waited longest."""
        key, waiting = self._waiting.popitem(last=False)
        self.counts[outcome] += 1
        if self.on_expiry == "drop":
            self._remember(Dropped(key, self.time.now, waiting.event.partition.partition))
            return []
        return [Learn(waiting.event, self.assumed, waiting.prediction, self._moment())]

    def _orphan(self) -> Action:
        """Evict the label that has waited longest."""
        _, early = self._early.popitem(last=False)
        return self._refuse(early.event, RefusalReason.LABEL_WITHOUT_SAMPLE)

    def _remember(self, entry: Resolved) -> None:
        self._forget(self._resolved.pop(entry.key, None))  # an older sample of this key
        self._resolved[entry.key] = entry
        while len(self._resolved) > self.most_correctable:
            self._forget(self._resolved.popitem(last=False)[1])

    def _forget(self, entry: Resolved | None) -> None:
        """Record that a learned sample is no longer remembered."""
        if isinstance(entry, Learned):
            self._forget_time(entry.time)

    def _forget_time(self, time: float | None) -> None:
        if time is not None and (self.forgotten is None or time > self.forgotten):
            self.forgotten = time

    def _time_of(self, event: Event) -> float | None:
        """Return the time of an event; stream time if it has none."""
        time = event.time
        return float(time) if time is not None and -math.inf < time < math.inf else self._moment()

    def _moment(self) -> float | None:
        """Return stream time; None before the first time, and for a clock that counts events."""
        now = self.time.now
        return now if type(now) is float and now > -math.inf else None

    def _refuse(self, event: Event, reason: RefusalReason) -> Refuse:
        self.counts[reason.value] += 1
        return Refuse(event, reason)

    # -- unlearning a span ---------------------------------------------------------------------------------------------

    def learned_in(self, span: Span) -> list[Learned]:
        """Return the remembered samples that were learned with a label of this span."""
        return [
            entry
            for entry in self._resolved.values()
            if isinstance(entry, Learned) and span.holds(entry.time, entry.key, entry.label)
        ]

    def withdraw(self, entries: Iterable[Learned]) -> None:
        """Record that remembered samples were unlearned: further labels for them are refused."""
        for entry in entries:
            self._resolved[entry.key] = Dropped(entry.key, entry.since, entry.partition)
            self.counts["withdrawn"] += 1

    def is_held(self, key: Value) -> bool:
        """Return True if the newest sample of a key waits for its label, or is remembered."""
        return key in self._waiting or key in self._resolved

    def is_early(self, event: Event) -> bool:
        """Return True if an event is a label that still waits for its sample."""
        early = self._early.get(event.key)
        return (
            early is not None
            and early.event.position == event.position
            and early.event.partition == event.partition
        )

    # -- state --------------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """The number of samples that wait for their labels."""
        return len(self._waiting)

    @property
    def early(self) -> int:
        """The number of labels that wait for their samples."""
        return len(self._early)

    @property
    def resolved(self) -> int:
        """The number of resolved samples that are remembered, so that further labels can be corrected or refused."""
        return len(self._resolved)

    def content(self) -> PendingSnapshot:
        """Return everything held, for a snapshot: `content().state()` may be written while this store goes on."""
        # No entry is ever moved, so the dict below the OrderedDict has the same order, and is read 20 times faster.
        return PendingSnapshot(
            self.time.state(),
            list(dict.values(self._waiting)),
            list(dict.values(self._early)),
            list(dict.values(self._resolved)),
            dict(self.counts),
            self.forgotten,
        )

    def state(self) -> dict[str, Any]:
        """Return everything held, as JSON values. `load` is the inverse."""
        return self.content().state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Load the state of a store of the same settings; raise `BadState` if it is not valid.

        Limits may differ: entries beyond them are evicted with the next events of their kind.
        """
        content = load_pending(state, self.time, self.counts)
        self.time.load(content.time)
        self._waiting = OrderedDict((entry.event.key, entry) for entry in content.waiting)
        self._early = OrderedDict((entry.event.key, entry) for entry in content.early)
        self._resolved = OrderedDict((entry.key, entry) for entry in content.resolved)
        self.counts, self.forgotten = content.counts, content.forgotten
        self._due = -math.inf


def _duration(name: str, value: float | None) -> float | None:
    if value is None or (isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= value < math.inf):
        return value
    raise BadValue(f"{name} is a number of at least 0, or None for no limit in time; got {value!r}")


def _number(name: str, value: int, least: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise BadValue(f"{name} is a whole number of at least {least}; got {value!r}")
