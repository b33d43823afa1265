"""Results of searches by score: the structure, and the steps that led to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stream_bayes.core.networks.equivalence import Difference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.scored_families import ScoredFamilies
from stream_bayes.core.values.values import Value

__all__ = ["Move", "SearchResult", "columns_of", "steps_between", "structure_of"]


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


def steps_between(
    scorer: ScoredFamilies,
    start: Structure,
    parents: Sequence[Sequence[int]],
    families: int,
    *,
    finished: bool,
    is_optimal: bool = False,
) -> SearchResult:
    """Return a structure, given by the parents of each column, as the result of a search from a start.

    Its path removes the edges that are too many, and then adds.
    """
    names = scorer.sample.variables
    begin = columns_of(start, scorer)
    present = [list(each) for each in begin]
    path: list[Move] = []

    def change(kind: Literal["add", "remove"], parent: int, child: int) -> None:
        before = scorer.score(child, present[child])
        if kind == "add":
            present[child].append(parent)
        else:
            present[child].remove(parent)
        gain = scorer.score(child, present[child]) - before
        path.append(Move(kind, names[parent], names[child], gain))

    for child, wanted in enumerate(parents):
        for parent in begin[child]:
            if parent not in wanted:
                change("remove", parent, child)
    for child, wanted in enumerate(parents):
        for parent in wanted:
            if parent not in begin[child]:
                change("add", parent, child)
    structure = structure_of(present, scorer)
    return SearchResult(
        structure,
        scorer.total(present),
        scorer.total(begin),
        tuple(path),
        start.difference(structure),
        families,
        finished,
        is_optimal,
    )


def columns_of(structure: Structure, scorer: ScoredFamilies) -> list[list[int]]:
    """Return the parents of each variable of a scorer's sample, as columns."""
    names = scorer.sample.variables
    column = {name: k for k, name in enumerate(names)}
    return [[column[parent] for parent in structure.parents(name)] for name in names]


def structure_of(parents: Sequence[Sequence[int]], scorer: ScoredFamilies) -> Structure:
    """Return the structure in which the columns of a scorer's sample have these parents."""
    names = scorer.sample.variables
    return Structure({names[c]: [names[p] for p in above] for c, above in enumerate(parents)})
