"""Dead letters of a step: the records that it could not use, counted by reason.

A record that cannot be used changes nothing but these counters. If too many of the last records are such, the stream is
stopped: rather a wrong setting than wrong records. The engine writes them to a sink, with the answers of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stream_bayes.core.events.actions import RefusalReason
from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.payloads import plain, tagged_payload
from stream_bayes.errors import BadValue, TooManyDeadLetters
from stream_bayes.streams.contracts.sink import DeadLetter
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.json_sink import json_bytes
from stream_bayes.streams.records.undecodable import DecodeReason as UndecodableReason

__all__ = ["DETAILS", "NOT_UNLEARNED", "NO_PENDING", "REASONS", "REFUSED", "DeadLetters", "event_json"]

HALF_LIFE = 1000.0  # records after which a dead letter weighs half in their share
MIN_RECORDS = 100  # before the share of dead letters is checked
MOST_REMEMBERED = 10_000  # positions of refused events
MAX_RAW_BYTES = 65_536  # of a record, in its dead letter

DETAILS = {
    RefusalReason.NO_KEY: "it has no key, and it is a label or lacks one: nothing can be joined to it",
    RefusalReason.BAD_KEY: "its key is of a type that cannot be one",
    RefusalReason.BAD_LABEL: "its label is missing, or of a type that cannot be one",
    RefusalReason.BAD_WEIGHT: "its weight is not a number from 0 to 2**53",
    RefusalReason.BAD_FEATURES: "its features are of types that cannot be stored until its label comes",
    RefusalReason.KEY_IS_WAITING: "another sample with this key waits for its label",
    RefusalReason.LABEL_TOO_LATE: "the sample with this key has expired or was withdrawn",
    RefusalReason.LABEL_WITHOUT_SAMPLE: "no sample with this key came in time",
    RefusalReason.CORRECTION_TOO_LATE: "the sample with this key is no longer stored, or never came",
    RefusalReason.TOMBSTONE_TOO_LATE: "the sample with this key is no longer stored, or never came",
}

NO_PENDING = "no_pending"  # a label or correction in a pipeline that holds no samples
REFUSED = "refused"  # by the learner
NOT_UNLEARNED = "not_unlearned"  # a command that would have left the state other than without the samples


# All reasons of dead letters, so that a counter of each can begin at 0.
REASONS = (
    *(reason.value for reason in UndecodableReason),
    *(reason.value for reason in RefusalReason),
    NO_PENDING,
    REFUSED,
    NOT_UNLEARNED,
)


class DeadLetters:
    """The dead letters of a step. `TooManyDeadLetters` is raised if their share among about the last thousand records
    is above `max_share`; 1 for no limit.

    Attributes
    ----------
    letters
        Those since `clear`.
    counts
        Their number by reason.
    last
        Position and detail of the last one by reason, in this run.
    refused
        The positions of decoded events among them, with True for a label that no sample came for; None once there were
        more than are kept.
    undecoded
        The positions of the records among them that could not be decoded; None once there were more than are kept.

    Examples
    --------
    >>> dead = DeadLetters()
    >>> dead.add(Event({"sky": 1j}, "rain", position=7), 8, REFUSED, "expected a number or a text", b"")
    >>> dead.counts, dead.letters[0].position
    ({'refused': 1}, 7)
    """

    def __init__(self, max_share: float = 1.0) -> None:
        if not 0.0 < max_share <= 1.0:
            raise BadValue(f"max_dead_share: expected a share above 0 and at most 1, got {max_share!r}")
        self.max_share = max_share
        self.letters: list[DeadLetter] = []
        self.counts: dict[str, int] = {}
        self.last: dict[str, tuple[Position, str]] = {}
        self.refused: dict[tuple[str, int, Position], bool] | None = {}
        self.undecoded: set[tuple[str, int, Position]] | None = set()
        self._weight = 0.0  # of the letters so far, each fading
        self._at = 0  # number of records when it was computed

    def add(self, record: Record, processed: int, reason: str, detail: str, raw: bytes) -> None:
        """Add the letter of a record, given the number of records processed so far.

        Raises
        ------
        TooManyDeadLetters
            If the share of dead letters is above the limit.
        """
        source, partition = record.partition
        origin = (record.key, source, partition, record.position, record.time)
        self.letters.append(DeadLetter(*origin, reason, detail, raw[:MAX_RAW_BYTES]))
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self.last[reason] = (record.position, detail)
        if self.refused is not None and isinstance(record, Event):
            is_unused = reason == RefusalReason.LABEL_WITHOUT_SAMPLE.value
            self.refused[source, partition, record.position] = is_unused
            if len(self.refused) > MOST_REMEMBERED:
                self.refused = None
        elif self.undecoded is not None and not isinstance(record, Event):
            self.undecoded.add((source, partition, record.position))
            if len(self.undecoded) > MOST_REMEMBERED:
                self.undecoded = None
        if self.max_share < 1.0:
            self._check_share(record, processed, detail)

    def holds(self, event: Event) -> bool:
        """Return True if an event is among those that were refused. Call it only while `refused` is not None."""
        return self.refused is not None and (*event.partition, event.position) in self.refused

    def holds_unused(self, event: Event) -> bool:
        """Return True if an event is a label without a sample."""
        return self.refused is not None and self.refused.get((*event.partition, event.position), False)

    def take_positions(self) -> dict[Partition, list[Position]] | None:
        """Forget the positions of all dead letters, and return them in order; None if there were more than are kept."""
        if self.refused is None or self.undecoded is None:
            return None
        positions: dict[Partition, list[Position]] = {}
        for source, partition, position in sorted({*self.refused, *self.undecoded}):
            positions.setdefault(Partition(source, partition), []).append(position)
        self.refused, self.undecoded = {}, set()
        return positions

    def clear(self) -> None:
        """Drop the letters, once they have been written."""
        self.letters.clear()

    def _check_share(self, record: Record, processed: int, detail: str) -> None:
        fade = 0.5 ** (1.0 / HALF_LIFE)
        self._weight = self._weight * fade ** (processed - self._at) + 1.0
        self._at = processed
        share = self._weight * (1.0 - fade) / (1.0 - fade**processed)
        if processed >= MIN_RECORDS and share > self.max_share:
            source, number = record.partition
            raise TooManyDeadLetters(
                f"{share:.0%} of the last records could not be used, more than "
                f"max_dead_share={self.max_share:g}; the last of {sum(self.counts.values()):,}, at "
                f"position {record.position} of {source}[{number}]: {detail}"
            )

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return counters and share as JSON values; `load` is the inverse."""
        refused = (
            None
            if self.refused is None
            else sorted([*origin, is_unused] for origin, is_unused in self.refused.items())
        )
        return {
            "counts": dict(sorted(self.counts.items())),
            "weight": self._weight,
            "at": self._at,
            "places": refused,
            "undecoded": None if self.undecoded is None else sorted(map(list, self.undecoded)),
        }

    @staticmethod
    def check(state: Mapping[str, Any]) -> None:
        """Raise an error for a state that `state` did not make."""
        weight, at, refused = state["weight"], state["at"], state["places"]
        expect(len(state) == 5, f"dead letters hold {sorted(state)}")
        for source, partition, position in state["undecoded"] or ():
            sound = isinstance(source, str) and type(partition) is type(position) is int
            expect(sound, f"dead letters are of {(source, partition, position)!r}")
        for source, partition, position, is_unused in refused or ():
            sound = isinstance(source, str) and type(partition) is type(position) is int
            expect(
                sound and type(is_unused) is bool, f"dead letters are of {(source, partition, position)!r}"
            )
        expect(type(at) is int and 0 <= at < 2**62, f"dead letters are at {at!r}")
        expect(type(weight) is float and 0.0 <= weight < math.inf, f"dead letters weigh {weight!r}")
        for reason, count in state["counts"].items():
            sound = isinstance(reason, str) and type(count) is int and count > 0
            expect(sound, f"it counts {count!r} dead letters of {reason!r}")

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state that was checked."""
        self.counts, self._weight, self._at = dict(state["counts"]), state["weight"], state["at"]
        refused = state["places"]
        undecoded = state["undecoded"]
        self.undecoded = None if undecoded is None else set(map(tuple, undecoded))
        self.refused = None if refused is None else {tuple(row[:3]): row[3] for row in refused}


def event_json(event: Event) -> bytes:
    """Return an event as JSON, for people to read."""
    try:
        return json_bytes({"y": tagged_payload(plain(event.y)), "x": tagged_payload(plain(event.x))})
    except BadValue:
        return b""  # it holds objects that JSON cannot
