"""What searches by score answer: the structure, and the steps that led to it."""

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
        What was done with the edge.
    parent, child
        The edge, as it was before the step where it was there.
    gain
        By how much the score rose.

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
    """What a search found.

    Parameters
    ----------
    structure
        The best structure it saw.
    score
        Its score.
    start_score
        That of the structure it started from.
    path
        The steps that led there, from the start; with restarts, those of the run that found it.
    difference
        What changed from the start.
    families
        How many families were counted.
    finished
        Whether it ended because nothing helped any more, and not because it was stopped or its budget was spent.

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
