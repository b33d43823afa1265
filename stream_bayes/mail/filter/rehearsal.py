"""Rehearsal: learning earlier messages again, so that their order makes no difference.

People train all ham first and then all spam, or a folder at a time. A linear model that learns from each message then
drifts to the label of the day, and the calibration sees scores of one label only. Three things are done about it.

- A replay learns all messages with a receipt again, in the order of a hash of their ids: margin and calibration are
  then those of a mixed stream, in whatever order the messages came. While a filter is young, it is replayed each time
  it has grown by a tenth, and after each correction. A filter that learned hardly any messages of one label at first
  stays young until it has learned 200: the scores that it gave at first are not those that it gives later.
- While some labels are held to be wrong, all messages with a receipt are learned again each time their number has
  doubled. A wrong label that was believed when it came is then contradicted by what was learned since, and counts
  little. The calibration keeps the scores that were given.
- During a run of one label each message is followed by earlier ones of the other label, which are taken back, scored
  and learned as if they came now. When that has been done often enough, a replay follows.

Mail that comes as it is received is not rehearsed: there a long run is a drift, which the model should follow. The
labels before the run decide: mixed as by chance, or in runs themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from stream_bayes.core.values.checks import expect

__all__ = ["Rehearsal", "review_is_due"]

CHANCE: Final = math.log(
    1e9
)  # a run is less likely than 1 in so many, given the share of its label before it
MIXED: Final = 0.25  # of the changes of label that chance would make
MEMORY: Final = 300.0  # messages over which shares and changes are averaged
MAX_REHEARSED: Final = 4.0  # messages for each message of a run
REPLAY_SHARE: Final = 0.2  # of the receipts; after this share of messages in such runs, all are replayed
MIN_REPLAY: Final = 30  # messages
YOUNG: Final = 600  # messages; a filter that has learned no more is replayed as it grows
RARE: Final = 60  # messages; a label with fewer among the first 600 is rare
GROWN: Final = 200  # messages; a filter with a rare label is young until it has learned more of it
FIRST_REPLAY: Final = 10  # messages
GROWTH: Final = math.log(1.1)  # of the messages between two replays of a young filter


class Rehearsal:
    """The run of labels that is going on, the labels before it, and the messages rehearsed last.

    Examples
    --------
    >>> rehearsal = Rehearsal()
    >>> [rehearsal.observe(label, (100.0, 50.0)) for label in [0] * 100 + [1] * 6][100:]
    [0, 0, 0, 0, 2, 2]
    """

    def __init__(self) -> None:
        self.label = 0
        self.length = 0.0  # of the run
        self.seen = 1.0  # messages, up to `MEMORY`
        self.share = 0.5  # of label 1
        self.changes = 0.0  # the share of messages whose label is not that of the message before
        self.before = (0.5, 0.0)  # share and changes at the beginning of the run
        self.due = 0.0  # messages to rehearse
        self.cursors = ["", ""]  # the id rehearsed last, by label
        self.since_replay = 0.0  # messages of such runs
        self.has_rare = False  # a label was rare at first

    def observe(self, label: int, messages: tuple[float, float]) -> int:
        """Count a message. Return the number of earlier ones of the other label to rehearse. Labels are 0 or 1.
        `messages` are the ones learned of each label: in their proportion they are rehearsed.
        """
        changed = label != self.label
        if changed:
            self.before = (self.share, self.changes)
            self.label, self.length, self.due = label, 0.0, 0.0
        self.length += 1.0
        self.seen = min(self.seen + 1.0, MEMORY)
        self.share += (label - self.share) / (self.seen + 1.0)
        self.changes += (changed - self.changes) / (self.seen + 1.0)
        share, changes = self.before
        expected = 2.0 * share * (1.0 - share)
        is_drift = changes > MIXED * expected + 1.0 / MEMORY
        if is_drift or messages[1 - label] == 0.0:
            return 0
        share_of_label = (share if label else 1.0 - share) * MEMORY
        if self.length * -math.log((share_of_label + 1.0) / (MEMORY + 2.0)) < CHANCE:
            return 0
        self.since_replay += 1.0
        self.due += min(messages[1 - label] / max(messages[label], 1.0), MAX_REHEARSED)
        count = int(self.due)
        self.due -= count
        return count

    def replay_is_due(self, of_each: tuple[int, int], label: int, clock: int) -> bool:
        """Return True if it is time to replay all receipts. `of_each` has the receipts of each label, with that of the
        newest message, whose label and number `label` and `clock` are.

        Examples
        --------
        >>> [clock for clock in range(1, 30) if Rehearsal().replay_is_due((clock, 0), 0, clock)]
        [10, 11, 12, 14, 15, 16, 18, 20, 22, 24, 26, 29]
        >>> rehearsal = Rehearsal()
        >>> [ham for ham in range(1, 20) if rehearsal.replay_is_due((ham, 595), 0, 595 + ham)]
        [10, 11, 12, 14, 15, 16, 18]
        """
        if self.since_replay >= max(REPLAY_SHARE * sum(of_each), MIN_REPLAY):
            return True
        if clock <= YOUNG:
            self.has_rare = min(of_each) < RARE
        if not self.is_young(of_each, clock):
            return False
        if clock <= YOUNG:
            return _has_grown(clock - 1, clock)
        return _has_grown(min(of_each[label] - 1, of_each[1 - label]), min(of_each))

    def is_young(self, of_each: tuple[int, int], clock: int) -> bool:
        """Return True for a filter of few messages, or few of a label, of which it can replay the most. `of_each` has
        the receipts of each label; `clock` is the number of messages learned.
        """
        is_small = clock <= YOUNG or (self.has_rare and min(of_each) <= GROWN)
        return is_small and 2 * sum(of_each) >= clock

    def state(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "label": self.label,
            "length": self.length,
            "seen": self.seen,
            "share": self.share,
            "changes": self.changes,
            "before": list(self.before),
            "due": self.due,
            "since_replay": self.since_replay,
            "has_rare": self.has_rare,
            "cursors": list(self.cursors),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Load what `state` returned, with everything checked."""
        numbers = {
            name: state[name] for name in ("length", "seen", "share", "changes", "due", "since_replay")
        }
        share, changes = state["before"]
        every = [*numbers.values(), share, changes]
        expect(
            all(type(number) is float and 0.0 <= number < 2.0**53 for number in every),
            "a number of its rehearsal is out of range",
        )
        expect(max(numbers["share"], numbers["changes"], share, changes) <= 1.0, "a share is above 1")
        expect(
            state["label"] in (0, 1) and type(state["label"]) is int,
            "the label of its run is neither 0 nor 1",
        )
        cursors = state["cursors"]
        expect(
            len(cursors) == 2 and all(type(key) is str for key in cursors),
            "the ids of its rehearsal are no texts",
        )
        expect(type(state["has_rare"]) is bool, "its rehearsal does not say whether a label was rare")
        self.has_rare = state["has_rare"]
        self.label, self.before, self.cursors = state["label"], (share, changes), list(cursors)
        for name, number in numbers.items():
            setattr(self, name, number)


def review_is_due(clock: int) -> bool:
    """Return True if the messages of a filter have doubled once more, past its youth.

    Examples
    --------
    >>> [clock for clock in range(10_000) if review_is_due(clock)]
    [1200, 2400, 4800, 9600]
    """
    return clock > YOUNG and math.log2(clock / YOUNG).is_integer()


def _has_grown(before: int, now: int) -> bool:
    """Return True if a number has grown past a power of 1.1, from 10 on."""
    return now >= FIRST_REPLAY and int(math.log(now) / GROWTH) > int(math.log(max(before, 1)) / GROWTH)
