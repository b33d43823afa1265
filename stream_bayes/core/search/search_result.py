"""Results of searches by score: the structure, and the steps that led to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stream_bayes.core.networks.equivalence import Difference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value

__all__ = ["Move", "SearchResult"]


@dataclass(frozen=True)
class Move:
    """One step of a search.

    Parameters
    ----------
    kind
        The change of the edge.
    parent, child
        The edge, with the direction before the step for a removal or reversal.
    gain
        The increase of the score.

    Examples
    --------
    >>> Move("add", "rain", "lawn", 12.5).kind
    'add'
    """

    kind: Literal["add", "remove", "reverse"]
    parent: Value
    child: Value
    gain: float


@dataclass(frozen=True)
class SearchResult:
    """The result of a search by score.

    Parameters
    ----------
    structure
        The best structure seen.
    score
        Its score.
    start_score
        The score of the structure that the search started from.
    path
        The steps from the start to the structure; with restarts, those of the climb that found it.
    difference
        The changes from the start.
    families
        The number of families counted.
    finished
        True if no change improved the score any more; False if the search was stopped or its budget was spent.
    is_optimal
        True if no structure within the constraints has a higher score, as `ExactSearch` finds it.

    Examples
    --------
    >>> from stream_bayes.networks import HillClimbing, sample_of
    >>> found = HillClimbing().search(sample_of({"rain": [0, 1] * 50, "wet": ["no", "yes"] * 50}))
    >>> [(move.kind, move.parent, move.child) for move in found.path], found.score > found.start_score, found.finished
    ([('add', 'rain', 'wet')], True, True)
    """

    structure: Structure
    score: float
    start_score: float
    path: tuple[Move, ...]
    difference: Difference
    families: int
    finished: bool
    is_optimal: bool = False
