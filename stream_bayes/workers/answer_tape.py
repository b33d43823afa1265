"""Tapes: the answers of a batch, which a replay repeats.

A shard's answers depend on how far it had read the other shards, and held predictions, losses and dead letters depend
on its answers. So a batch's journal entry holds them, and a replay takes them from there.

A tape is a list of `Rows`, one for each call of the model that answers or learns, compressed.
"""

from __future__ import annotations

import zlib
from collections import deque
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_bayes import errors
from stream_bayes.core.readings._reading import AnswerTable
from stream_bayes.core.values.values import tagged_many, untagged_many
from stream_bayes.decompression import unpacked
from stream_bayes.errors import BadValue, CannotResume, StreamBayesError
from stream_bayes.streams.served_models.answers import AnswerColumns, LabelProbabilities

__all__ = ["Rows", "Tape", "rows_of", "tape_of"]

MOST_BYTES = 1 << 28  # of a tape once it is decompressed


class Rows(msgspec.Struct, frozen=True, tag="rows"):
    """Answers to samples: a table with a row for each, and a column for each label. NaN: the class was not live."""

    labels: list[Any]  # tagged
    samples: int
    table: bytes
    refused: tuple[str, str] | None = None  # the type and text of the error of the sample after them

    @property
    def values(self) -> list[Any]:
        """The labels."""
        return list(untagged_many(self.labels))

    def array(self) -> NDArray[np.float64]:
        """Return the table."""
        return np.frombuffer(self.table, "<f8").reshape(self.samples, len(self.labels)).copy()

    def answers(self) -> AnswerColumns:
        """Return the answers as the model gave them."""
        return AnswerColumns(self._table(), self.values)

    def first(self) -> LabelProbabilities:
        """Return the answer to the only sample."""
        return self._table().by_name(self.values)[0]

    def _table(self) -> AnswerTable:
        answers = AnswerTable(self.array() if self.labels else np.full((self.samples, 1), np.nan))
        answers.rows = self.samples
        return answers

    def error(self) -> StreamBayesError | None:
        """Return the error of the refused sample."""
        if self.refused is None:
            return None
        kind = getattr(errors, self.refused[0], StreamBayesError)
        return kind(self.refused[1])


def rows_of(answers: NDArray[np.float64], labels: list[Any], refused: StreamBayesError | None = None) -> Rows:
    """Return the answers of a table, and the error of the sample after them."""
    live = answers[:, : len(labels)]
    error = None if refused is None else (type(refused).__name__, _text_of(refused))
    return Rows(tagged_many(labels), len(live), np.ascontiguousarray(live, "<f8").tobytes(), error)


def _text_of(error: StreamBayesError) -> str:
    # A KeyError shows its argument's repr.
    return str(error.args[0]) if error.args else str(error)


def tape_of(calls: list[Rows]) -> bytes:
    """Return the calls of a batch as bytes."""
    return zlib.compress(msgspec.msgpack.encode(calls), 1) if calls else b""


class Tape:
    """The answers of a batch that is replayed, in the order in which they were given. `tape_of` made `recorded`.

    Raises
    ------
    CannotResume
        If this package did not write it.
    """

    def __init__(self, recorded: bytes) -> None:
        try:
            calls = (
                msgspec.msgpack.decode(unpacked(recorded, MOST_BYTES), type=list[Rows]) if recorded else []
            )
        except (BadValue, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CannotResume(f"the journal holds answers that cannot be read: {error}") from error
        self._calls = deque(calls)

    def next(self) -> Rows:
        """Return the next answers.

        Raises
        ------
        CannotResume
            If there are none: the batch that is replayed is not the one that was recorded.
        """
        if not self._calls:
            raise CannotResume(
                "the journal lacks the answers of a batch that is to be replayed: it was written without [workers], or "
                "the topics hold other records than then"
            )
        return self._calls.popleft()

    def check_end(self) -> None:
        """Raise `CannotResume` if answers are left."""
        if self._calls:
            raise CannotResume(
                f"the journal holds {len(self._calls)} answers more than its batch has samples: the topics hold other "
                "records than then"
            )
