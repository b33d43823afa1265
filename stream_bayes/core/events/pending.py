"""Late labels and corrections: which sample waits for which label, and what may still be taken back.

A pure state machine. Events go in, actions come out; what the engine did goes back in. For each event::

    for action in pending.advance(event):     # time passes: what is overdue
        do(action)
    for action in pending.arrive(event):      # the event itself
        do(action)

    do(Predict) ->  predict, then do(action) for each of pending.predicted(action, prediction)
    do(Learn)   ->  learn and score, then pending.learned(action, content, clock)

Actions are done in their order, each before the next call. A key is in one of three places, or in none::

                  sample                 label                            known
    nothing  ----------------> waiting --------> Learn, learned -------> |  learned  | -- another label --> Relearn
       |                          |  given up, withdrawn ------------->  |  gone     | -- any label --> Refuse
       |  label                   |                                      forgotten after so long, or so many
       +----------------> early --+ sample --> Learn, learned -------->

An engine whose samples all bring their labels, and that allows no corrections, needs none of this.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, TypeVar

from stream_bayes.core.events.actions import (
    Action,
    Learn,
    Learned,
    Predict,
    Reason,
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
from stream_bayes.core.values.payloads import Payload, plain
from stream_bayes.core.values.values import Value, canonical_label
from stream_bayes.errors import BadLabel, BadValue

__all__ = ["Pending"]

# What happened, beside the reasons for which events were refused.
HAPPENINGS = ("late", "early", "expired", "crowded_out", "repeated", "corrected", "withdrawn", "skipped")

NEGATIVE = False  # the label of what did not happen; as a label the same as 0

Entry = TypeVar("Entry", Waiting, Early, Resolved)


class Pending:
    """Samples that wait for their labels, labels that wait for their samples, and what can still be corrected.

    All of this is decided by the sequence of calls alone: the same calls leave the same state, byte for byte, whether
    or not it was saved and loaded on the way. An event takes two or three microseconds. Memory: at most `most_waiting`
    samples with their predictions, as many labels without features, and `most_correctable` keys with what the engine
    keeps of each.

    Keys and labels are values as in `values`, the same when a Python dict says so. A key may be used again once its
    sample has its label: labels and corrections then mean the newer sample.

    Parameters
    ----------
    time
        What time is: `StreamTime`, the default, or `EventCount` for streams without times. The times below are in
        its unit, seconds or events.
    wait_for
        How long a sample waits for its label, and a label for its sample; what comes later is too late. None: for as
        long as there is room.
    most_waiting
        How many samples wait at most, and how many labels. With one more, the oldest is let go as if overdue.
    on_expiry
        What becomes of a sample whose label does not come: `"drop"` forgets it, `"negative"` learns it as False (or 0,
        which is the same label), `"assume"` as the label `assumed`. Its prediction is scored against that label, too.
    assumed
        The label for `"assume"`.
    correct_within
        For how long after it was learned a sample can be corrected. None: for as long as it is among the newest.
    most_correctable
        How many samples, the newest, can be corrected. A label of what is not remembered any more cannot be told from
        one that came before its sample, and is held as such; so is every repeated label where this is 0.
    on_tombstone
        `"skip"` leaves what was learned; `"unlearn"` takes it back.

    Attributes
    ----------
    counts
        How often what happened: labels that came late (after their sample) or early, samples given up as expired or
        crowded out, labels repeated or corrected, samples withdrawn by a tombstone, tombstones skipped, and events
        refused for each `Reason`.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event, Kind
    >>> pending = Pending(wait_for=60)
    >>> sample = Event({"sky": "grey"}, key="a", time=0.0)
    >>> pending.advance(sample), pending.arrive(sample)
    ([], [Predict(event=Event(x={'sky': 'grey'}, key='a', time=0.0))])
    >>> pending.predicted(Predict(sample), {"rain": 0.7, "sun": 0.3})
    []

    Its label comes half a minute later, and is learned.

    >>> label = Event({}, "rain", key="a", time=30.0, kind=Kind.LABEL)
    >>> pending.advance(label)
    []
    >>> learn, = pending.arrive(label)
    >>> learn.event.x, learn.label, learn.prediction
    ({'sky': 'grey'}, 'rain', {'rain': 0.7, 'sun': 0.3})
    >>> pending.learned(learn, content=(4, 1), clock=12)

    It was the wrong one.

    >>> relearn, = pending.arrive(Event({}, "sun", key="a", time=40.0, kind=Kind.CORRECTION))
    >>> relearn.was.content, relearn.was.label, relearn.was.clock, relearn.label
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
        self.counts = dict.fromkeys((*HAPPENINGS, *(reason.value for reason in Reason)), 0)
        # Nothing is overdue up to this moment. It only saves looking, and so is no part of the state.
        self._due = -math.inf
        # Oldest first. A plain dict would search its front for the oldest through all that were taken from there.
        self._waiting: OrderedDict[Value, Waiting] = OrderedDict()
        self._early: OrderedDict[Value, Early] = OrderedDict()
        self._known: OrderedDict[Value, Resolved] = OrderedDict()

    # -- events in, actions out ---------------------------------------------------------------------------------------

    def advance(self, event: Event) -> list[Action]:
        """Let time pass to an event's: what to do about samples and labels that waited too long."""
        self.time.advance(event)
        now = self.time.now
        if now <= self._due:
            return []
        actions: list[Action] = []
        while self._deadline(self._waiting, self.wait_for) < now:
            actions += self._give_up("expired")
        while self._deadline(self._early, self.wait_for) < now:
            actions.append(self._orphan())
        while self._deadline(self._known, self.correct_within) < now:
            self._known.popitem(last=False)
        self._due = min(
            self._deadline(self._waiting, self.wait_for),
            self._deadline(self._early, self.wait_for),
            self._deadline(self._known, self.correct_within),
        )
        return actions

    def arrive(self, event: Event) -> list[Action]:
        """What to do about an event."""
        sound = admitted(event)
        if isinstance(sound, Reason):
            return [self._refuse(event, sound)]
        if event.kind is SAMPLE:
            return [self._sample(sound)]
        if event.kind is TOMBSTONE:
            return self._tombstone(sound)
        return self._label(sound)

    def predicted(self, action: Predict, prediction: Payload) -> list[Action]:
        """What to do about a sample now that it has been predicted: learn it, or nothing until its label comes.

        Parameters
        ----------
        action
            What the engine was asked to do.
        prediction
            Whatever is to be scored when the label is known. It and the features are kept as they are, and must not
            be changed afterwards.
        """
        event = action.event
        key, label = event.key, event.y
        early = None if key is None else self._early.pop(key, None)
        if label is not None:  # its own; an early one was superseded
            if early is not None:
                self._is_news(label, early.event.y)
            return [Learn(event, label, prediction)]
        if early is not None:
            return [Learn(event, early.event.y, prediction)]
        try:
            waiting = Waiting(keepable(event), plain(prediction), self.time.now)
        except BadValue:
            return [self._refuse(event, Reason.BAD_FEATURES)]
        self._known.pop(key, None)
        self._waiting[key] = waiting
        actions: list[Action] = []
        while len(self._waiting) > self.most_waiting:
            actions += self._give_up("crowded_out")
        return actions

    def learned(self, action: Learn | Relearn, content: Payload, clock: int | None = None) -> None:
        """Note what the engine learned, so that it can be taken back.

        Parameters
        ----------
        action
            What it was asked to do.
        content
            What it needs to unlearn the sample exactly: plain, as in `payloads`.
        clock
            What the learner's clock says now.
        """
        key = action.event.key
        if key is None:  # no label or correction can ever name it
            return
        if isinstance(action, Relearn):
            was = action.was
            self._known[key] = Learned(key, plain(content), action.label, was.weight, clock, was.since)
            return
        self._waiting.pop(key, None)
        if self.most_correctable:
            weight = action.event.weight
            self._remember(Learned(key, plain(content), action.label, weight, clock, self.time.now))

    # -- one step for each kind ---------------------------------------------------------------------------------------

    def _sample(self, event: Event) -> Action:
        if event.key in self._waiting:
            return self._refuse(event, Reason.KEY_IS_WAITING)
        return Predict(event)

    def _label(self, event: Event) -> list[Action]:
        """A label, or a correction, which differs in one thing: it is never the first word about its key."""
        key, label = event.key, event.y
        waiting = self._waiting.get(key)
        if waiting is not None:  # and goes on waiting until `learned`: the learner may refuse this label
            self.counts["late"] += 1
            return [Learn(waiting.event, label, waiting.prediction)]
        known = self._known.get(key)
        early = self._early.get(key)
        if isinstance(known, Dropped):
            is_label = event.kind is LABEL
            return [self._refuse(event, Reason.LABEL_TOO_LATE if is_label else Reason.CORRECTION_TOO_LATE)]
        if known is not None:
            if self._is_news(label, known.label):
                return [Relearn(event, known, label)]
        elif early is not None:
            if self._is_news(label, early.event.y):
                self._early[key] = Early(without_features(event), early.since)
        elif event.kind is LABEL:
            return self._hold(event)
        else:
            return [self._refuse(event, Reason.CORRECTION_TOO_LATE)]
        return []

    def _is_news(self, label: Value, before: Value) -> bool:
        """Whether a second label says something else than the first."""
        self.counts["repeated" if label == before else "corrected"] += 1
        return label != before

    def _hold(self, event: Event) -> list[Action]:
        """Keep a label until its sample comes."""
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
        known = self._known.get(key)
        if isinstance(known, Learned):
            self.counts["withdrawn"] += 1
            self._known[key] = Dropped(key, known.since)
            return [Unlearn(event, known)]
        if self._waiting.pop(key, None) is not None:
            self.counts["withdrawn"] += 1
            self._remember(Dropped(key, self.time.now))
        elif self._early.pop(key, None) is not None:
            self.counts["withdrawn"] += 1
        elif known is None:
            return [self._refuse(event, Reason.TOMBSTONE_TOO_LATE)]
        return []

    # -- letting go ---------------------------------------------------------------------------------------------------

    def _deadline(self, entries: OrderedDict[Value, Entry], within: float | None) -> float:
        """The last moment at which the oldest entry, or if there is none one made now, is not overdue."""
        if within is None:
            return math.inf
        since = next(iter(entries.values())).since if entries else self.time.now
        return max(since, self.time.first) + within

    def _give_up(self, happening: str) -> list[Action]:
        """Let the sample go that has waited longest."""
        key, waiting = self._waiting.popitem(last=False)
        self.counts[happening] += 1
        if self.on_expiry == "drop":
            self._remember(Dropped(key, self.time.now))
            return []
        return [Learn(waiting.event, self.assumed, waiting.prediction)]

    def _orphan(self) -> Action:
        """Let the label go that has waited longest."""
        _, early = self._early.popitem(last=False)
        return self._refuse(early.event, Reason.LABEL_WITHOUT_SAMPLE)

    def _remember(self, entry: Resolved) -> None:
        self._known.pop(entry.key, None)  # an older sample of this key: the newer one goes to the end
        self._known[entry.key] = entry
        while len(self._known) > self.most_correctable:
            self._known.popitem(last=False)

    def _refuse(self, event: Event, reason: Reason) -> Refuse:
        self.counts[reason.value] += 1
        return Refuse(event, reason)

    # -- reading and keeping ------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many samples wait for their labels."""
        return len(self._waiting)

    @property
    def early(self) -> int:
        """How many labels wait for their samples."""
        return len(self._early)

    @property
    def known(self) -> int:
        """How many samples are remembered, so that their labels can be corrected or refused."""
        return len(self._known)

    def content(self) -> PendingSnapshot:
        """Everything it holds, for a snapshot: `content().state()` may be written while this store goes on."""
        # As nothing is ever moved, the dict below an OrderedDict has the same order, and is read 20 times faster.
        return PendingSnapshot(
            self.time.state(),
            list(dict.values(self._waiting)),
            list(dict.values(self._early)),
            list(dict.values(self._known)),
            dict(self.counts),
        )

    def state(self) -> dict[str, Any]:
        """Everything it holds, as JSON values. `load` is the inverse."""
        return self.content().state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Hold what a store of the same settings held; whatever is wrong with the state raises `BadState`.

        Limits may differ: what is past them is let go with the next events of its kind.
        """
        content = load_pending(state, self.time, self.counts)
        self.time.load(content.time)
        self._waiting = OrderedDict((entry.event.key, entry) for entry in content.waiting)
        self._early = OrderedDict((entry.event.key, entry) for entry in content.early)
        self._known = OrderedDict((entry.key, entry) for entry in content.known)
        self.counts = content.counts
        self._due = -math.inf


def _duration(name: str, value: float | None) -> float | None:
    if value is None or (isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= value < math.inf):
        return value
    raise BadValue(f"{name} is a number of at least 0, or None for no limit in time; got {value!r}")


def _number(name: str, value: int, least: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise BadValue(f"{name} is a whole number of at least {least}; got {value!r}")
