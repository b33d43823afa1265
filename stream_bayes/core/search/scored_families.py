"""Scores of families as searches read them, whatever the rows hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.values import Value

__all__ = ["ScoredFamilies"]


class NamedRows(Protocol):
    """Rows that families are scored over."""

    @property
    def variables(self) -> tuple[Value, ...]:
        """The variables, by column."""


class ScoredFamilies(Protocol):
    """Scores of families, by columns; `families` counts those that were computed."""

    @property
    def sample(self) -> NamedRows:
        """The rows."""

    @property
    def families(self) -> int:
        """The number of families scored."""

    def score(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of a child with these parents."""

    def with_each(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> NDArray[np.float64]:
        """Return the scores of a child with these parents and each candidate in turn."""

    def total(self, parents: Sequence[Sequence[int]]) -> float:
        """Return the score of a whole structure: each variable's parents."""
