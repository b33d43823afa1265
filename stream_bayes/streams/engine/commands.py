"""Commands in their place in the stream: unlearning a span, and processing dead letters again.

The samples to unlearn are found first, and the state changes only if all are.

The pending store remembers the newest samples. The others are read again from the source, as far as the rows of the
history say. The result depends on the log and the state alone, so a replay gives the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from stream_bayes.core.events.actions import Learned
from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.time import StreamTime
from stream_bayes.core.events.unlearn_spans import Rejoin, Rejoined, Span, Unlearned, span_of
from stream_bayes.errors import NotSupported, SourceError, StreamBayesError
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.challengers import Challengers
from stream_bayes.streams.engine.history import History, Ranges
from stream_bayes.streams.engine.step import Step

__all__ = ["SpanSamples", "find_samples", "obey"]

logger = logging.getLogger(__name__)

ReadAgain = Callable[[Ranges], Iterable[Record]]


class SpanSamples(NamedTuple):
    """The samples of a span."""

    remembered: list[Learned]  # by the pending store
    read_again: list[Rejoined]

    @property
    def total(self) -> int:
        """The number of samples."""
        return len(self.remembered) + len(self.read_again)


def obey(
    command: Event,
    positions: Mapping[Partition, Position],
    step: Step,
    challengers: Challengers,
    history: History,
    read_again: ReadAgain,
) -> None:
    """Perform a command. If it is refused, it becomes a dead letter, and nothing else changes. `positions` are the next
    ones to read of each partition, before the command. `read_again` returns the records in ranges.
    """
    step.processed += 1
    span = span_of(command)
    if span is None:
        _redrive(command, step, read_again)
        for challenger in challengers.by_name.values():
            challenger.redrive(lambda each: _redrive(command, each, read_again))
        return
    try:
        samples = find_samples(step, span, history, read_again)
    except (NotSupported, SourceError) as error:
        _refuse(step, command, str(error))
        return
    try:
        step.unlearn(*samples)
    except StreamBayesError as error:
        _refuse(step, command, f"a sample of the span is not held as the log has it: {error}")
        return
    logger.info(
        "unlearned %d samples, %d of them read again, at position %d of %s",
        samples.total,
        len(samples.read_again),
        command.position,
        command.partition.source,
    )
    challengers.unlearn(lambda each: find_samples(each, span, history, read_again))
    history.unlearned.append(Unlearned(span, dict(positions)))


def _redrive(command: Event, step: Step, read_again: ReadAgain) -> None:
    """Process the records behind the dead letters of a step again; some may become letters again."""
    letters = step.dead_letters.take_positions()
    if letters is None:
        _refuse(step, command, "there were more dead letters than are remembered; rebuild instead")
        return
    others = {part: at for part, at in letters.items() if part != command.partition}
    ranges = Ranges({part: [(at, at + 1, 1) for at in positions] for part, positions in others.items()})
    records = list(read_again(ranges)) if ranges else []
    logger.info("%d records behind dead letters are processed again", len(records))
    if len(records) < ranges.records:
        logger.warning("%d records behind dead letters are gone, and left out", ranges.records - len(records))
    step.process(records)


def _refuse(step: Step, command: Event, detail: str) -> None:
    logger.warning(
        "the command at position %d of %s is refused, and nothing has changed: %s",
        command.position,
        command.partition.source,
        detail,
    )
    step.refuse_command(command, detail)


def find_samples(step: Step, span: Span, history: History, read_again: ReadAgain) -> SpanSamples:
    """Return the samples of a span that a step has learned. Change nothing.

    Raises
    ------
    NotSupported
        If the model cannot unlearn, or the samples cannot be found exactly any more.
    """
    _raise_if(step.model.unlearning_fault(is_read_again=False))
    if step.held:
        raise NotSupported(
            f"{step.held} samples or labels are learned once the time of the stream has started, with the next "
            "records; send the command again then"
        )
    pending = step.pending
    remembered = [] if pending is None else pending.learned_in(span)
    if pending is not None and (pending.forgotten is None or pending.forgotten < span.start):
        return SpanSamples(remembered, [])
    reach = None if pending is None else _reach(pending, span)
    ranges = history.within(span.start, span.stop) if pending is None else history.since(reach)
    if not ranges:
        return SpanSamples(remembered, [])
    _raise_if(step.model.unlearning_fault(is_read_again=True))
    if step.dead_letters.refused is None:
        raise NotSupported(
            "more events became dead letters than are remembered, so that those that were learned are not certain"
        )
    if pending is not None and pending.on_expiry != "drop":
        raise NotSupported(
            f"labels.on_expiry is {pending.on_expiry!r}: labels that were assumed have no record to be read again, and "
            "some are no longer remembered; raise labels.most_correctable and correct_within"
        )
    rejoin = Rejoin(
        span,
        step.dead_letters.holds,
        lambda event: (
            step.dead_letters.holds_unused(event) or (pending is not None and pending.is_early(event))
        ),
        history.unlearned,
        joins=pending is not None,
        unlearns_withdrawn=pending is not None and pending.on_tombstone == "unlearn",
        is_in_order=history.is_in_order or history.partitions == 1,
        is_whole=reach is None,
    )
    rejoin.add(map(step.with_read_label, _all_of(ranges, read_again)))
    rejoined = rejoin.samples(lambda key: pending is not None and pending.is_held(key))
    if rejoin.doubtful:
        raise NotSupported(
            f"{rejoin.doubtful:,} samples of the span have a key that was used more than once, and are no longer "
            "remembered: which sample a label belonged to is not certain; raise labels.most_correctable"
        )
    return SpanSamples(remembered, rejoined)


def _reach(pending: Pending, span: Span) -> float | None:
    """Return the earliest time of a sample that a label of the span can belong to; None if there is no limit."""
    if pending.wait_for is None or pending.correct_within is None or not isinstance(pending.time, StreamTime):
        return None
    return span.start - pending.wait_for - pending.correct_within


def _all_of(ranges: Ranges, read_again: ReadAgain) -> Iterable[Record]:
    """Yield the records of ranges.

    Raises
    ------
    NotSupported
        If some are gone.
    """
    count = 0
    for record in read_again(ranges):
        count += 1
        yield record
    if count != ranges.records:
        raise NotSupported(
            f"the source had {ranges.records:,} records where samples of the span are no longer remembered, and holds "
            f"{count:,} of them now: the others expired or were compacted away"
        )


def _raise_if(fault: str | None) -> None:
    if fault is not None:
        raise NotSupported(fault)
