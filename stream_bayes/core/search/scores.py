"""How well a structure explains what was counted: a sum over families, of which a larger one is better.

With n_jk the weight of a family's rows in which the parents have their j-th configuration and the child its k-th value,
n_j their sum over k, r values of the child, q configurations of the parents, and W the weight of all rows:

    LogLikelihood   sum n_jk log(n_jk / n_j)
    AIC             that - q (r - 1)
    BIC             that - 1/2 log(W) q (r - 1), the same as minus the description length (MDL)
    BDeu            log P(rows | structure), with a Dirichlet prior of weight s / (q r) a cell
    K2              the same with weight 1 a cell

Logarithms are natural. All but K2 are score-equivalent: structures that no data can tell apart score alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.search import _counting as _search
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue

__all__ = ["AIC", "BIC", "K2", "BDeu", "LogLikelihood", "Score", "check_score"]


class Score:
    """A score that is a sum over families.

    Attributes
    ----------
    equivalent
        Whether equivalent structures score alike.

    Examples
    --------
    >>> [kind.__name__ for kind in Score.__subclasses__() if not kind.equivalent]
    ['K2']
    """

    equivalent: ClassVar[bool] = True

    def penalty(self, parameters: float, weight: float) -> float:
        """What is taken off for so many free parameters, where all rows together weigh so much."""
        return 0.0

    def prior(self, configurations: float, width: int) -> tuple[float, float]:
        """The weight of a prior for each cell, and for each configuration of the parents; 0 for none."""
        return 0.0, 0.0

    def family(self, counts: NDArray[np.float64], configurations: float, weight: float) -> float:
        """The score of one family.

        Parameters
        ----------
        counts
            A row a configuration of the parents, a column a value of the child. Configurations that do not occur may be
            left out.
        configurations
            How many configurations of the parents there are.
        weight
            The weight of all rows, those with something missing in this family included: what is missing counts as if
            it were like the rest, so that a family does not seem better for having fewer rows.

        Examples
        --------
        >>> LogLikelihood().family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)
        -2.249...
        >>> BIC().family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)
        -4.328...
        """
        table = np.ascontiguousarray(counts, np.float64)
        rows, width = table.shape
        cells = table.reshape(-1)
        own = self.explained(cells, 0, rows, width, configurations)
        return self.balanced(own, float(cells.sum()), width, configurations, weight)

    def of_tables(
        self,
        cells: NDArray[np.float64],
        starts: NDArray[np.longlong],
        width: int,
        configurations: Sequence[float],
        weight: float,
    ) -> list[float]:
        """The scores of families of one child, whose tables stand one after the other.

        Parameters
        ----------
        cells, starts, width
            The tables: where each begins, and the end of the last one; and how many values the child has.
        configurations
            Of each family, how many configurations of the parents there are.
        weight
            The weight of all rows.
        """
        cell, row = np.array([self.prior(many, width) for many in configurations]).reshape(-1, 2).T.copy()
        own, counted = np.empty(len(cell)), np.empty(len(cell))
        _search.score_families(cells, starts, width, cell, row, own, counted)
        return [
            self.balanced(one, held, width, many, weight)
            for one, held, many in zip(own.tolist(), counted.tolist(), configurations, strict=True)
        ]

    def explained(
        self, cells: NDArray[np.float64], start: int, rows: int, width: int, configurations: float
    ) -> float:
        """What some rows of a family's table say for it; a sum over the rows."""
        return float(_search.score_family(cells, start, rows, width, *self.prior(configurations, width)))

    def balanced(self, own: float, counted: float, width: int, configurations: float, weight: float) -> float:
        """The score of a family, from what all rows of its table say, and what they weigh."""
        explained = own * (weight / counted) if counted > 0.0 else 0.0
        return explained - self.penalty(configurations * (width - 1), weight)


@dataclass(frozen=True)
class LogLikelihood(Score):
    """Sum n_jk log(n_jk / n_j). It never falls when a parent is added, so a search needs a limit on parents.

    Examples
    --------
    >>> LogLikelihood().family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)  # 3 log(3/4) + log(1/4)
    -2.249...
    """


@dataclass(frozen=True)
class AIC(Score):
    """The log-likelihood minus 1 for each free parameter (Akaike 1974).

    Examples
    --------
    >>> AIC().family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)  # 2 parents' configurations, a parameter each
    -4.249...
    """

    def penalty(self, parameters: float, weight: float) -> float:
        return parameters


@dataclass(frozen=True)
class BIC(Score):
    """The log-likelihood minus 1/2 log(W) for each free parameter (Schwarz 1978); minus the description length, MDL.

    Examples
    --------
    >>> BIC().family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)
    -4.328...
    """

    def penalty(self, parameters: float, weight: float) -> float:
        return 0.5 * math.log(max(weight, 1.0)) * parameters


@dataclass(frozen=True)
class BDeu(Score):
    """The log of the rows' probability under a uniform prior that is worth `sample_size` rows (Heckerman et al. 1995).

    Parameters
    ----------
    sample_size
        The equivalent sample size.

    Examples
    --------
    >>> BDeu(sample_size=2.0).family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)
    -4.539...
    """

    sample_size: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.sample_size < math.inf:
            raise BadValue(f"sample_size: expected a number above 0, got {self.sample_size!r}")

    def prior(self, configurations: float, width: int) -> tuple[float, float]:
        return self.sample_size / (configurations * width), self.sample_size / configurations


@dataclass(frozen=True)
class K2(Score):
    """The log of the rows' probability under a prior of one row a cell (Cooper and Herskovits 1992).

    Examples
    --------
    >>> K2().family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)  # log(3! / 5!) + log(4! / 5!)
    -4.605...
    """

    equivalent: ClassVar[bool] = False

    def prior(self, configurations: float, width: int) -> tuple[float, float]:
        return 1.0, float(width)


def check_score(score: object) -> None:
    """A score itself, and not its name or class."""
    if not isinstance(score, Score):
        kinds = ", ".join(f"{kind.__name__}()" for kind in Score.__subclasses__())
        raise BadValue(f"score: expected one of {kinds}, got {shown(score)}")
