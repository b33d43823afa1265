"""Scores of structures: sums over families, maximised by search.

n_jk is the weight of the rows with the parents' j-th configuration and the child's k-th value, n_j its sum over k. The
child has r values, the parents have q configurations, and W is the weight of all rows.

    LogLikelihood   sum n_jk log(n_jk / n_j)
    AIC             that - q (r - 1)
    BIC             that - 1/2 log(W) q (r - 1), the same as minus the description length (MDL)
    BDeu            log P(rows | structure), with a Dirichlet prior of weight s / (q r) a cell
    K2              the same with weight 1 a cell

Logarithms are natural. All scores but K2 are score-equivalent: equivalent structures have equal scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.search import _counting
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue

__all__ = ["AIC", "BIC", "K2", "BDeu", "LogLikelihood", "Score", "check_score"]


Amount = TypeVar("Amount", float, NDArray[np.float64])  # of one family, or of each of several


class Score:
    """A score that is a sum over families.

    Attributes
    ----------
    equivalent
        True if equivalent structures have equal scores.

    Examples
    --------
    >>> [kind.__name__ for kind in Score.__subclasses__() if not kind.equivalent]
    ['K2']
    """

    equivalent: ClassVar[bool] = True

    def penalty(self, parameters: Amount, weight: float) -> Amount:
        """Return the penalty for a number of free parameters, given the weight of all rows."""
        return 0.0 * parameters

    def prior(self, configurations: Amount, width: Amount) -> tuple[Amount, Amount]:
        """Return the prior's weight for each cell and for each configuration of the parents; 0 without a prior."""
        return 0.0 * configurations, 0.0 * configurations

    def family(self, counts: NDArray[np.float64], configurations: float, weight: float) -> float:
        """Return the score of one family.

        Parameters
        ----------
        counts
            A row for each configuration of the parents, a column for each value of the child. Configurations that do
            not occur may be left out.
        configurations
            The number of configurations of the parents.
        weight
            The weight of all rows.

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
        explained = self.explained(cells, 0, rows, width, configurations)
        return float(explained - self.penalty(configurations * (width - 1), weight))

    def of_tables(
        self,
        cells: NDArray[np.float64],
        starts: NDArray[np.longlong],
        widths: NDArray[np.longlong],
        configurations: NDArray[np.float64],
        weight: float,
    ) -> NDArray[np.float64]:
        """Return the scores of families whose tables are laid end to end.

        Parameters
        ----------
        cells, starts, widths
            The tables: the first cell of each, followed by the end of the last; and the number of each child's values.
        configurations
            The number of the parents' configurations of each family.
        weight
            The weight of all rows.
        """
        values = widths.astype(np.float64)
        explained = np.empty(len(widths))
        _counting.score_families(cells, starts, widths, *self.prior(configurations, values), explained)
        return explained - self.penalty(configurations * (values - 1.0), weight)

    def explained(
        self, cells: NDArray[np.float64], start: int, rows: int, width: int, configurations: float
    ) -> float:
        """Return the score of some rows of a family's table without the penalty; a sum over the rows."""
        return float(_counting.score_family(cells, start, rows, width, *self.prior(configurations, width)))


@dataclass(frozen=True)
class LogLikelihood(Score):
    """The sum of n_jk log(n_jk / n_j). Adding a parent never lowers it, so a search needs a limit on parents.

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

    def penalty(self, parameters: Amount, weight: float) -> Amount:
        return parameters


@dataclass(frozen=True)
class BIC(Score):
    """The log-likelihood minus 1/2 log(W) for each free parameter (Schwarz 1978); minus the description length, MDL.

    Examples
    --------
    >>> BIC().family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)
    -4.328...
    """

    def penalty(self, parameters: Amount, weight: float) -> Amount:
        return 0.5 * math.log(max(weight, 1.0)) * parameters


@dataclass(frozen=True)
class BDeu(Score):
    """The log marginal likelihood under a uniform Dirichlet prior worth `sample_size` rows (Heckerman et al. 1995).

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

    def prior(self, configurations: Amount, width: Amount) -> tuple[Amount, Amount]:
        return self.sample_size / (configurations * width), self.sample_size / configurations


@dataclass(frozen=True)
class K2(Score):
    """The log marginal likelihood under a Dirichlet prior of one row a cell (Cooper and Herskovits 1992).

    Examples
    --------
    >>> K2().family(np.array([[3.0, 1.0], [0.0, 4.0]]), 2, 8.0)  # log(3! / 5!) + log(4! / 5!)
    -4.605...
    """

    equivalent: ClassVar[bool] = False

    def prior(self, configurations: Amount, width: Amount) -> tuple[Amount, Amount]:
        one = 0.0 * configurations + 1.0
        return one, one * width


def check_score(score: object) -> None:
    """Raise `BadValue` unless this is a score, and not a score's name or class."""
    if not isinstance(score, Score):
        kinds = ", ".join(f"{kind.__name__}()" for kind in Score.__subclasses__())
        raise BadValue(f"score: expected one of {kinds}, got {shown(score)}")
