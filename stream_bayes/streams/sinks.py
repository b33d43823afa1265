"""Sinks that call a function, or discard the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stream_bayes.core.events.event import Slice
from stream_bayes.streams.contracts.sink import Result

__all__ = ["CallableSink", "NoSink"]


class CallableSink:
    """Calls a function with the results of each batch. Results come at least once.

    The function is called when the batch is committed. After a crash the events since the last snapshot are replayed,
    and the function gets their results again. It can deduplicate them by source, partition and position.

    Parameters
    ----------
    function
        Called with a list of results, in order. An exception stops the stream.
    name
        The sink's name in snapshots.

    Examples
    --------
    >>> results = []
    >>> sink = CallableSink(results.extend)
    >>> sink.begin()
    >>> sink.write(["an output"])
    >>> sink.commit([])
    >>> results
    ['an output']
    """

    medium = "outside"

    def __init__(self, function: Callable[[list[Result]], object], name: str = "function") -> None:
        self.function = function
        self.name = name
        self._batch: list[Result] = []

    def __repr__(self) -> str:
        return f"CallableSink({self.function!r}, name={self.name!r})"

    @property
    def length(self) -> int | None:
        return None

    def open(self, length: int | None) -> None:
        self._batch = []

    def begin(self) -> None:
        self._batch = []

    def write(self, results: Sequence[Result]) -> None:
        self._batch += results

    def commit(self, slices: Sequence[Slice]) -> None:
        batch, self._batch = self._batch, []
        if batch:
            self.function(batch)

    def abort(self) -> None:
        self._batch = []

    def sync(self) -> None:
        """Do nothing: the function is responsible for its results."""

    def close(self) -> None:
        self._batch = []


class NoSink:
    """Discards all results.

    Parameters
    ----------
    name
        The sink's name in snapshots.

    Examples
    --------
    >>> NoSink().medium
    'none'
    """

    medium = "none"

    def __init__(self, name: str = "nowhere") -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"NoSink({self.name!r})"

    @property
    def length(self) -> int | None:
        return None

    def open(self, length: int | None) -> None:
        """Do nothing."""

    def begin(self) -> None:
        """Do nothing."""

    def write(self, results: Sequence[Result]) -> None:
        """Do nothing."""

    def commit(self, slices: Sequence[Slice]) -> None:
        """Do nothing."""

    def abort(self) -> None:
        """Do nothing."""

    def sync(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
