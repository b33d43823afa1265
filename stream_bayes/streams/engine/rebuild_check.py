"""The account of a state, what it was made of, so that a rebuild is refused from which records are missing."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stream_bayes.core.events.actions import RefusalReason
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.core.events.pending_state import is_saved_sample
from stream_bayes.errors import CannotResume
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.contracts.source import Record

__all__ = ["Account", "ReplacedState", "account_in", "check_not_smaller"]


class Account(NamedTuple):
    """The make-up of a state: records, those learned, and samples and labels with what has become of each.

    A sample was learned, waits, or was given up; so was a label.
    """

    records: int
    learned: int
    samples: int
    labels: int


def account_in(sections: Mapping[str, Mapping[str, Any]]) -> Account:
    """Return the account of a state's sections: `step`, and `pending` and `time` if they are there.

    Examples
    --------
    >>> account_in({"step": {"processed": 12, "learned": 10}})
    Account(records=12, learned=10, samples=10, labels=10)
    """
    step = sections["step"]
    samples = labels = learned = step["learned"]
    pending = sections.get("pending")
    if pending is not None:
        counts = pending["counts"]
        samples += len(pending["waiting"]) + counts["expired"] + counts["crowded_out"]
        labels += len(pending["early"]) + counts[RefusalReason.LABEL_WITHOUT_SAMPLE.value]
    for event, _ in sections.get("time", {}).get("held", ()):
        is_sample = is_saved_sample(event)
        samples, labels = samples + is_sample, labels + (not is_sample)
    return Account(step["processed"], learned, samples, labels)


class ReplacedState:
    """The state that a rebuild replaces, and the positions beyond it that the rebuild has read.

    `generation` is that of its snapshot, `present`; both are None without one.
    """

    def __init__(self, generation: int | None, present: Snapshot | None) -> None:
        self.generation = generation
        self.positions: Mapping[Partition, Position] = {}
        self.account: Account | None = None
        self._beyond: dict[Partition, array[int]] = {}
        if present is not None:
            self.replace(generation, present)

    def replace(self, generation: int | None, present: Snapshot) -> None:
        """Take a later state: another worker has saved it while the rebuild ran."""
        self.generation, self.positions = generation, dict(present.positions)
        self.account = account_in(present.sections) if "step" in present.sections else None

    def add(self, records: Sequence[Record]) -> None:
        """Add records that the rebuild has processed."""
        for record in records:
            if record.position >= self.positions.get(record.partition, 0):
                self._beyond.setdefault(record.partition, array("q")).append(record.position)

    @property
    def records_beyond(self) -> int:
        """The number of records added that this state does not have."""
        return sum(
            position >= self.positions.get(partition, 0)
            for partition, positions in self._beyond.items()
            for position in positions
        )


def check_not_smaller(rebuilt: Account, present: Account, records_beyond: int) -> None:
    """Refuse a rebuilt state that lacks what the present one was made of.

    `records_beyond` of the rebuilt records are not in the present state. Without any, records do not count: after a
    redrive fewer of them may hold the same samples.

    Raises
    ------
    CannotResume
        If records are missing.
    """
    present = present._replace(records=present.records + records_beyond)
    if records_beyond:
        is_whole = rebuilt.records >= present.records and rebuilt.learned >= present.learned
    else:
        is_whole = all(mine >= theirs for mine, theirs in zip(rebuilt[1:], present[1:], strict=True))
    if is_whole:
        return
    raise CannotResume(
        f"the rebuilt state has {_text(rebuilt)}, and the present one has {_text(present)}: records that it was made "
        "of are gone. Nothing was changed. Start without --rebuild to keep the present state, or add --accept-gap to "
        "rebuild from what is left"
    )


def _text(account: Account) -> str:
    waiting = account.samples - account.learned, account.labels - account.learned
    others = f" and {waiting[0]:,} samples and {waiting[1]:,} labels that are not" if any(waiting) else ""
    return f"{account.records:,} records, {account.learned:,} of them learned{others}"
