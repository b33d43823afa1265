"""The conditional table of one variable of a learned network, with credible intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.pictures.html import plain_table
from stream_bayes.core.pictures.text import text_of
from stream_bayes.core.values.unknown_names import check_variables
from stream_bayes.core.values.values import Value, shown
from stream_bayes.data.frames import Library, Native, frame_of
from stream_bayes.errors import BadValue, UnknownRow
from stream_bayes.learners.base.credible_intervals import beta_interval

__all__ = ["ConditionalTable", "checked_level"]

RowCodes = tuple[Any, ...]  # the values of the parents
Floats = NDArray[np.float64]

MOST_SHOWN = 100  # rows of a table
PROBABILITY = "probability"  # a column of frames


class ConditionalTable(Mapping[RowCodes, dict[Any, float]]):
    """P(variable | parents) as a mapping from the parents' values to the probability of each value.

    It takes 16 bytes a cell. Rows are made on access.

    Parameters
    ----------
    variable, parents
        The variable and its parents. The key of a row has the parents' values in this order.
    states
        The values of each parent, then those of the variable.
    shares
        The probabilities, with an axis for each of `states`.
    weights
        The parameters of each row's Dirichlet posterior, with the same axes.

    Examples
    --------
    >>> shares, weights = np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([[3.0, 1.0], [1.0, 1.0]])
    >>> table = ConditionalTable("lawn", ("rain",), [("yes", "no"), ("wet", "dry")], shares, weights)
    >>> table["yes",]["wet"], table.interval({"rain": "yes"}, level=0.9)["dry"]
    (0.75, (0.0169..., 0.6315...))
    >>> table["yes"]
    Traceback (most recent call last):
        ...
    stream_bayes.errors.UnknownRow: 'yes' is not a row of P('lawn' | ...); a row is a tuple of values of ('rain',), ...
    """

    __slots__ = ("_codes", "_shares", "_states", "_weights", "parents", "variable")

    def __init__(
        self,
        variable: Value,
        parents: tuple[Value, ...],
        states: Sequence[tuple[Any, ...]],
        shares: Floats,
        weights: Floats,
    ) -> None:
        self.variable = variable
        self.parents = parents
        self._states = tuple(states)
        self._codes = [{value: code for code, value in enumerate(values)} for values in self._states[:-1]]
        self._shares = shares
        self._weights = weights

    def __getitem__(self, values: RowCodes) -> dict[Any, float]:
        index = self._index_of(values)
        if index is None:
            raise UnknownRow(
                f"{shown(values)} is not a row of P({shown(self.variable)} | ...); a row is a tuple of values of "
                f"{shown(self.parents)}, as {shown(next(iter(self)))}"
            )
        return dict(zip(self._states[-1], self._shares[index].tolist(), strict=True))

    def __contains__(self, values: object) -> bool:
        return self._index_of(values) is not None

    def __iter__(self) -> Iterator[RowCodes]:
        return product(*self._states[:-1])

    def __len__(self) -> int:
        return math.prod(map(len, self._codes))

    def _index_of(self, values: object) -> tuple[int, ...] | None:
        """Return the position of a row; None if there is no such row."""
        if not isinstance(values, tuple) or len(values) != len(self.parents):
            return None
        try:
            return tuple([codes[value] for codes, value in zip(self._codes, values, strict=True)])
        except (KeyError, TypeError):  # TypeError: a list, say
            return None

    def interval(
        self, given: Mapping[Any, Any] | None = None, level: float = 0.95
    ) -> dict[Any, tuple[float, float]]:
        """Return the central credible interval of each probability of a row, from its Beta distribution.

        Parameters
        ----------
        given
            The value of each parent.
        level
            The posterior probability of the interval.
        """
        condition = dict(given or {})
        check_variables(condition, self.parents, "given", whole=f"the condition of {shown(self.variable)}")
        missing = [parent for parent in self.parents if parent not in condition]
        index = self._index_of(tuple(condition[parent] for parent in self.parents if parent in condition))
        if missing or index is None:
            raise BadValue(
                f"given: expected a known value of each of {shown(list(self.parents))}, got {shown(condition)}"
            )
        return self._intervals_at(index, checked_level(level))

    def intervals(self, level: float = 0.95) -> dict[RowCodes, dict[Any, tuple[float, float]]]:
        """Return the intervals of every row."""
        level = checked_level(level)
        indices = np.ndindex(*self._shares.shape[:-1])
        return {row: self._intervals_at(index, level) for row, index in zip(self, indices, strict=True)}

    def to_frame(self, library: Library = "pandas") -> Native:
        """Return the table as a data frame: a column for each parent and the variable, and one of probabilities.

        It has a line for each cell.

        Parameters
        ----------
        library
            `"pandas"`, `"polars"` or `"pyarrow"`, which has to be installed.

        Examples
        --------
        >>> from stream_bayes import BayesNet
        >>> model = BayesNet([("rain", "lawn")], strength=0)
        >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "wet")]:
        ...     model.learn_one({"rain": rain, "lawn": lawn})
        >>> model.cpt("lawn").to_frame()
          rain lawn  probability
        0  yes  wet          1.0
        1  yes  dry          0.0
        2   no  wet          0.5
        3   no  dry          0.5

        Raises
        ------
        BadValue
            If a variable has the name of the column of probabilities, or two have the same name as text.
        """
        names = [*map(str, self.parents), str(self.variable), PROBABILITY]
        if len(set(names)) < len(names):
            raise BadValue(
                f"columns: expected names that differ as text, got {shown(names)}; the last holds the probabilities: "
                "rename a variable, or read the rows, {row: {value: probability}}"
            )
        cells = [(*row, value, share) for row, shares in self.items() for value, share in shares.items()]
        columns = dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))
        return frame_of(columns, library)

    def _intervals_at(self, index: tuple[int, ...], level: float) -> dict[Any, tuple[float, float]]:
        weights = self._weights[index].tolist()
        total = math.fsum(weights)
        return {
            value: beta_interval(weight, total - weight, level) if total > 0.0 else (0.0, 1.0)
            for value, weight in zip(self._states[-1], weights, strict=True)
        }

    def _repr_html_(self) -> str:
        condition = ", ".join(map(text_of, self.parents))
        caption = f"P({text_of(self.variable)}{' | ' if condition else ''}{condition})"
        rows = ((*row, *shares.values()) for row, shares in self.items())
        return plain_table(caption, (*self.parents, *self._states[-1]), rows)

    def __repr__(self) -> str:
        rows = dict(islice(self.items(), MOST_SHOWN))
        more = f", {len(self) - len(rows):,} more rows" if len(self) > len(rows) else ""
        return f"ConditionalTable({self.variable!r}, {self.parents!r}, {rows!r}{more})"


def checked_level(level: float) -> float:
    """Return the probability of an interval; raise `BadValue` unless it lies between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
        raise BadValue(f"level lies between 0 and 1, not {level!r}")
    return level
