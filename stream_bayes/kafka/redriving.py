"""Redrive: the records behind dead letters, written again to their topics once the cause is mended.

Each letter names the topic, partition and offset of its record. The record is read again from there and appended to the
same partition, in a transaction with the position reached in the topic of letters: so each letter is redriven once,
whatever happens in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

import msgspec

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerError
from stream_bayes.kafka.clients.client import TRANSACTION_SECONDS, Message, Reader, Send
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_reader, make_writer
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.kafka.sink import TOO_LARGE

__all__ = ["Redriven", "redrive"]

FETCH_MAX_BYTES = 2**22
POLL_LIMIT = 500  # letters of one transaction, at most
POLL_SECONDS = 0.2
MAX_SILENT_POLLS = 100
MAX_GAP = 2000  # offsets that are read through, rather than sought


class Redriven(NamedTuple):
    """The result of `redrive`."""

    sent: Mapping[str, int]  # records written again, by the reason in their letters
    gone: int  # records that their topics no longer hold
    # letters that are not of unused records: of outputs that were too large, or no letters at all
    skipped: int


class Letter(msgspec.Struct):
    """The fields of a dead letter that name its record."""

    source: str
    partition: int
    position: int
    reason: str


def redrive(
    connection: Connection,
    name: str,
    letters: str,
    topics: Sequence[str],
    *,
    max_message_bytes: int,
    dry_run: bool = False,
) -> Redriven:
    """Write the records behind a pipeline's dead letters again, those up to the present end that were not yet. `name`
    is the pipeline's, `letters` the topic of its dead letters and `topics` those that it reads. With `dry_run` they are
    counted, and nothing is written.

    Raises
    ------
    BrokerError
        If a topic does not exist, or no broker answers.
    """
    group = f"{name}.redrive"
    sent: Counter[str] = Counter()
    gone = skipped = 0
    with ExitStack() as opened:
        cluster = opened.enter_context(closing(Cluster(connection)))
        by_name = cluster.require_topics([letters, *topics])
        partitions = [Partition(letters, number) for number in range(by_name[letters].partitions)]
        writer = None
        if not dry_run:
            writer = make_writer(connection, group, TRANSACTION_SECONDS, max_message_bytes)
            opened.callback(writer.close)
            writer.fence()  # ends a transaction that an earlier redrive left open
        reached = cluster.committed_offsets(group)
        starts = {
            part: max(at, reached.get(part, 0)) for part, at in cluster.beginning_offsets(partitions).items()
        }
        read = [Partition(topic, number) for topic in topics for number in range(by_name[topic].partitions)]
        firsts = cluster.beginning_offsets(read)
        originals = opened.enter_context(closing(make_reader(connection, FETCH_MAX_BYTES)))
        reader = opened.enter_context(closing(make_reader(connection, FETCH_MAX_BYTES)))
        for messages in _messages(reader, starts, cluster.end_offsets(partitions)):
            decoded = [_letter(message) for message in messages]
            chosen = [letter for letter in decoded if letter is not None and letter.source in topics]
            skipped += len(decoded) - len(chosen)
            records = _records(originals, chosen, firsts)
            sends: list[Send] = []
            for letter in chosen:
                record = records.get((Partition(letter.source, letter.partition), letter.position))
                if record is None:
                    gone += 1
                    continue
                sent[letter.reason] += 1
                sends.append((letter.source, letter.partition, record.key, record.value, []))
            if writer is not None:
                writer.begin()
                writer.send_all(sends)
                writer.send_offsets(group, {message.partition: message.offset + 1 for message in messages})
                writer.commit()
    return Redriven(dict(sorted(sent.items())), gone, skipped)


def _messages(
    reader: Reader, starts: Mapping[Partition, Position], ends: Mapping[Partition, Position]
) -> Iterator[list[Message]]:
    """Yield the messages between two positions of each partition, those of one partition in order."""
    left = {part: at for part, at in starts.items() if at < ends[part]}
    if not left:
        return
    reader.assign(left)
    silent = 0
    while any(reader.position(part) < ends[part] for part in left):
        messages = reader.poll(POLL_LIMIT, POLL_SECONDS)
        silent = 0 if messages else silent + 1
        if silent > MAX_SILENT_POLLS:
            raise BrokerError(
                "records that the cluster holds were not returned; redrive again: it goes on where it was"
            )
        if wanted := [message for message in messages if message.offset < ends[message.partition]]:
            yield wanted


def _letter(message: Message) -> Letter | None:
    """Return the letter in a message; None if it is of no unused record."""
    try:
        letter = msgspec.json.decode(message.value or b"", type=Letter)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return None if letter.reason == TOO_LARGE else letter


def _records(
    reader: Reader, letters: Iterable[Letter], firsts: Mapping[Partition, Position]
) -> dict[tuple[Partition, Position], Message]:
    """Return the records of letters, as far as their topics hold them."""
    wanted: dict[Partition, set[Position]] = {}
    for letter in letters:
        part = Partition(letter.source, letter.partition)
        if letter.position >= firsts.get(part, letter.position + 1):
            wanted.setdefault(part, set()).add(letter.position)
    records: dict[tuple[Partition, Position], Message] = {}
    for part, offsets in wanted.items():
        for run in _runs(sorted(offsets)):
            for messages in _messages(reader, {part: run[0]}, {part: run[-1] + 1}):
                records |= {(part, each.offset): each for each in messages if each.offset in offsets}
    return records


def _runs(offsets: Sequence[Position]) -> Iterator[list[Position]]:
    """Yield ascending offsets in runs without large gaps.

    Examples
    --------
    >>> list(_runs([3, 5, 9000, 9001]))
    [[3, 5], [9000, 9001]]
    """
    run: list[Any] = []
    for offset in offsets:
        if run and offset - run[-1] > MAX_GAP:
            yield run
            run = []
        run.append(offset)
    if run:
        yield run
