"""The table of one variable of a learned network: what it says, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from stream_bayes.core.values import Value, shown
from stream_bayes.errors import BadValue, UnknownRow
from stream_bayes.learners.intervals import beta_interval

__all__ = ["ConditionalTable"]

Row = tuple[Any, ...]  # the values of the parents


class ConditionalTable(Mapping[Row, dict[Any, float]]):
    """P(variable | parents): a mapping from the parents' values to the probability of each value.

    Parameters
    ----------
    variable, parents
        Whose it is; the values of a row stand in the order of the parents.
    rows
        The probabilities, row by row.
    weights
        The parameters of each row's Dirichlet posterior, in the order of its values.

    Examples
    --------
    >>> table = ConditionalTable("lawn", ("rain",), {("yes",): {"wet": 0.75, "dry": 0.25}}, {("yes",): (3.0, 1.0)})
    >>> table["yes",]["wet"], table.interval({"rain": "yes"}, level=0.9)["dry"]
    (0.75, (0.0169..., 0.6315...))
    >>> table["yes"]
    Traceback (most recent call last):
        ...
    stream_bayes.errors.UnknownRow: 'yes' is no row of P('lawn' | ...); a row is a tuple of values of ('rain',), ...
    """

    __slots__ = ("_rows", "_weights", "parents", "variable")

    def __init__(
        self,
        variable: Value,
        parents: tuple[Value, ...],
        rows: Mapping[Row, dict[Any, float]],
        weights: Mapping[Row, tuple[float, ...]],
    ) -> None:
        self.variable = variable
        self.parents = parents
        self._rows = rows
        self._weights = weights

    def __getitem__(self, values: Row) -> dict[Any, float]:
        try:
            return self._rows[values]
        except (KeyError, TypeError):
            raise UnknownRow(
                f"{shown(values)} is no row of P({shown(self.variable)} | ...); a row is a tuple of values of "
                f"{shown(self.parents)}, as {shown(next(iter(self._rows)))}"
            ) from None

    def __contains__(self, values: object) -> bool:
        return isinstance(values, tuple) and values in self._rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def interval(
        self, given: Mapping[Any, Any] | None = None, level: float = 0.95
    ) -> dict[Any, tuple[float, float]]:
        """The central credible interval of each probability of a row: that of its Beta distribution.

        Parameters
        ----------
        given
            The value of each parent.
        level
            How much of the posterior lies within.
        """
        known = dict(given or {})
        missing = [parent for parent in self.parents if parent not in known]
        row = tuple(known[parent] for parent in self.parents if parent in known)
        if missing or row not in self._rows:
            raise BadValue(
                f"given: expected a known value of each of {shown(list(self.parents))}, got {shown(known)}"
            )
        return self.intervals(level)[row]

    def intervals(self, level: float = 0.95) -> dict[Row, dict[Any, tuple[float, float]]]:
        """The same of every row."""
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise BadValue(f"level lies between 0 and 1, not {level!r}")
        found = {}
        for row, shares in self._rows.items():
            own = self._weights[row]
            total = math.fsum(own)
            found[row] = {
                value: beta_interval(weight, total - weight, level) if total > 0.0 else (0.0, 1.0)
                for value, weight in zip(shares, own, strict=True)
            }
        return found

    def __repr__(self) -> str:
        return f"ConditionalTable({self.variable!r}, {self.parents!r}, {self._rows!r})"
