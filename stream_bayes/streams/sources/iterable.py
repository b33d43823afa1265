"""Iterables as a source: lists, River's data sets and generators, functions that return iterators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice, repeat
from numbers import Real
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from stream_bayes.core.events.event import ONE, SAMPLE, Event, Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, Exhausted, SourceError, Undecodable
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.records.fields import Assembler, Fields
from stream_bayes.streams.records.undecodable import DecodeReason, bad_record, described, undecodable

__all__ = ["Item", "IterableSource"]

Item: TypeAlias = tuple[Mapping[Any, Any] | str | bytes, Any] | Mapping[Any, Any] | Event


class IterableSource:
    """Events from an iterable. Positions are numbers of items.

    To seek back, the iterable is iterated again, so it must yield the same items each time. Lists, data sets and seeded
    generators do. An iterator can be read once, so it cannot seek back. With a sink that can be cut back, each event
    counts exactly once.

    Parameters
    ----------
    items
        Pairs `(x, y)`, dicts, or events, whose positions are replaced; or a function that returns an iterator of these.
        An `x` may also be text or bytes, for a learner of messages.
    name
        The source's name.
    limit
        Maximum number of items to read, for endless iterables.
    fields
        Roles of the fields of a dict.

    Examples
    --------
    >>> source = IterableSource([({"sky": "grey"}, "rain"), {"sky": "blue"}], name="days")
    >>> source.poll(1)
    [Event(x={'sky': 'grey'}, y='rain', partition=Partition(source='days', partition=0))]
    >>> source.positions
    {Partition(source='days', partition=0): 1}
    """

    medium = "local"
    may_skip = False
    connected = True

    def __init__(
        self,
        items: Iterable[Item] | Callable[[], Iterator[Item]],
        name: str = "items",
        limit: int | None = None,
        fields: Fields | None = None,
    ) -> None:
        if not callable(items) and not isinstance(items, Iterable):
            raise BadValue(
                f"items: expected an iterable, or a function that makes an iterator, got {shown(items)}"
            )
        if limit is not None and (type(limit) is not int or limit < 0):
            raise BadValue(
                f"limit: expected a whole number of items of at least 0, or None, got {shown(limit)}"
            )
        self.items = items
        self.name = name
        self.limit = limit
        self._partition = Partition(name)
        self._event = Assembler(Fields() if fields is None else fields).event
        self._iterator: Iterator[Item] | None = None
        self._position: Position = 0

    def __repr__(self) -> str:
        return f"IterableSource({self.name!r})"

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return {self._partition: self._position}

    @property
    def position_units(self) -> Mapping[str, str]:
        """A position is a number of items."""
        return {self.name: "items"}

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The number of items; empty for an iterable without a length."""
        if not isinstance(self.items, Sized):
            return {}
        return {self._partition: len(self.items) if self.limit is None else min(len(self.items), self.limit)}

    def poll(self, limit: int) -> list[Record]:
        if self._iterator is None:
            self._iterator = self._begin()
        if self.limit is not None:
            limit = min(limit, self.limit - self._position)
        items = list(islice(self._iterator, limit))
        if not items:
            raise Exhausted(f"{self.name} has been read to its end, after {self._position} items")
        positions = range(self._position, self._position + len(items))
        self._position += len(items)
        if not _are_pairs(items):
            return list(map(self._record, items, positions))
        xs, ys = zip(*cast("list[tuple[Mapping[Any, Any], Any]]", items), strict=True)
        nothing, one, here = repeat(None), repeat(ONE), repeat(self._partition)
        return list(map(Event, xs, ys, nothing, nothing, positions, one, repeat(SAMPLE), here))

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        if unknown := [partition for partition in positions if partition != self._partition]:
            raise SourceError(
                f"expected positions of {self._partition}, got those of {shown(unknown)}: give the source its old "
                "name, or start over without the snapshot"
            )
        position = positions.get(self._partition, 0)
        if self._iterator is None or position < self._position:
            self._iterator = self._begin()
            self._position = 0
        end = position if self.limit is None else min(position, self.limit)
        for _ in islice(self._iterator, max(0, end - self._position)):
            self._position += 1
        if self._position < position:
            raise SourceError(
                f"{self.name} ends after {self._position} items, but was read to item {position} before: give the same "
                "items again, or start over without the snapshot"
            )

    def close(self) -> None:
        self._iterator = None

    def _begin(self) -> Iterator[Item]:
        """Return an iterator over the items from the first one on."""
        iterator = iter(self.items() if callable(self.items) else self.items)
        if iterator is self.items and self._position:
            raise SourceError(
                f"{self.name} is an iterator and can only be read forward, and {self._position} items have been read: "
                "give a list, or a function that makes the iterator, to be able to go back"
            )
        return iterator

    def _record(self, item: Item, position: Position) -> Record:
        if _are_pairs([item]):
            x, y = cast("tuple[Mapping[Any, Any], Any]", item)
            return Event(x, y, position=position, partition=self._partition)
        try:
            if isinstance(item, Event):
                _check_moment(item.time)
                return replace(item, position=position, partition=self._partition, length=1)
            if isinstance(item, Mapping):
                return self._event(dict(item), position, self._partition, 1)
            raise undecodable(
                DecodeReason.WRONG_TYPE, f"expected (x, y), a dict or an Event, got {described(item)}"
            )
        except Undecodable as error:
            return bad_record(error, b"", position, self._partition, 1)


def _check_moment(time: object) -> None:
    """Raise `Undecodable` for a time that is no number; `Event` itself checks nothing."""
    if time is None or type(time) is float:
        return
    try:
        if isinstance(time, Real) and not isinstance(time, bool):
            float(time)
            return
    except OverflowError:
        pass
    raise undecodable(
        DecodeReason.WRONG_TYPE,
        f"time: expected seconds since 1970 as a number, or None, got {described(time)}",
    )


def _are_pairs(items: Sequence[Any]) -> bool:
    """Return True if all items are pairs `(x, y)`; an `x` may also be a message, as text or bytes."""
    if set(map(type, items)) != {tuple} or set(map(len, items)) != {2}:
        return False
    return all(issubclass(kind, (Mapping, str, bytes)) for kind in {type(x) for x, _ in items})
