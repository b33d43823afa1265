"""The surprise of an event: the unexpected values, and the share of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from stream_bayes.core.pictures.html import evidence_table

__all__ = ["Surprise"]


class Surprise(Mapping[Any, float]):
    """The surprise of each value of an event in nats: minus log P(value | the values before it), parents first.

    The sum is minus the log-likelihood of the event. `nats` has the surprise of each variable's value. `expected` has
    the mean surprise of the variable's values there, the entropy: of a new value, 0; of soft evidence, the surprise if
    its likeliest value were certain. `novel` are the variables whose value was never learned.

    Examples
    --------
    >>> odd = Surprise({"user": 0.7, "country": 6.9}, {"user": 0.7, "country": 0.01}, ())
    >>> odd.oddest, round(odd.total, 1), odd["country"]
    (('country', 'user'), 7.6, 6.9)
    """

    __slots__ = ("_nats", "expected", "novel")

    def __init__(self, nats: dict[Any, float], expected: dict[Any, float], novel: tuple[Any, ...]) -> None:
        self._nats = nats
        self.expected = expected
        self.novel = novel

    @property
    def total(self) -> float:
        """The surprise of the whole event: minus its log-likelihood."""
        return math.fsum(self._nats.values())

    @property
    def excess(self) -> dict[Any, float]:
        """The surprise of each value beyond the mean of its variable there."""
        return {variable: nats - self.expected[variable] for variable, nats in self._nats.items()}

    @property
    def oddest(self) -> tuple[Any, ...]:
        """The variables by their excess, the oddest first."""
        excess = self.excess
        return tuple(sorted(excess, key=lambda variable: -excess[variable]))

    def __getitem__(self, variable: Any) -> float:
        return self._nats[variable]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._nats)

    def __len__(self) -> int:
        return len(self._nats)

    def _repr_html_(self) -> str:
        excess = self.excess
        caption = f"surprise beyond the expected, in nats; {self.total:.3f} in all"
        return evidence_table(caption, ((variable, excess[variable]) for variable in self.oddest))

    def __repr__(self) -> str:
        rounded = {variable: round(self._nats[variable], 3) for variable in self.oddest}
        return f"Surprise({rounded!r}, total={self.total:.3f}, novel={self.novel!r})"
