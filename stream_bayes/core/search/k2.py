"""K2: greedy search for a structure with a given order of the variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.completions import completed, without_unsure
from stream_bayes.core.search.constraints import ROUNDING, check_limit
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.sample import Sample, check_sample
from stream_bayes.core.search.scores import K2, Score, check_score
from stream_bayes.core.search.search_result import Move, SearchResult
from stream_bayes.core.values.unknown_names import check_variables
from stream_bayes.core.values.values import Value, name_order, shown
from stream_bayes.errors import BadStructure

__all__ = ["K2Search"]


@dataclass(frozen=True)
class K2Search:
    """The search of Cooper and Herskovits (1992): each variable gets parents from those before it while the score
    rises.

    Each step adds the parent with the largest gain; ties go to the first by name. Missing values are filled in as for
    `HillClimbing`.

    Parameters
    ----------
    order
        All variables; parents come before their children.
    score
        The score to maximise.
    max_parents
        The most parents of a variable.
    max_families
        The number of families after which the search takes no further step. It finishes counting the present step.

    Examples
    --------
    >>> columns = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
    >>> sample = Sample(columns, {"rain": 2, "wet": 2, "day": 2})
    >>> K2Search(["wet", "day", "rain"]).search(sample).structure
    Structure({'day': (), 'rain': ('wet',), 'wet': ()})
    """

    order: Iterable[Value]
    score: Score = field(default_factory=K2)
    max_parents: int | None = None
    max_families: int | None = None

    def __post_init__(self) -> None:
        check_score(self.score)
        order = tuple(self.order)
        object.__setattr__(self, "order", order)
        twice = [name for k, name in enumerate(order) if name in order[:k]]
        if twice:
            raise BadStructure(f"order: expected each variable once, got {shown(twice)} again")
        for name in ("max_parents", "max_families"):
            check_limit(name, getattr(self, name))

    def search(
        self,
        sample: Sample,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, float], None] = lambda families, score: None,
    ) -> SearchResult:
        """Find the parents of each variable.

        Parameters
        ----------
        sample
            The rows.
        should_stop
            Called before every step; True ends the search with the structure so far.
        progress
            Called after every step with the number of families counted and the score reached.

        Raises
        ------
        UnknownFeature
            If the order has a variable that the sample lacks.
        BadStructure
            If the order lacks a variable.
        """
        check_sample(sample)
        order = tuple(self.order)
        if set(order) != set(sample.variables):
            check_variables(order, sample.variables, "order", whole="the sample")
            missing = min(set(sample.variables) - set(order), key=name_order)
            raise BadStructure(
                f"order: expected each of {shown(sample.variables)} once; {shown(missing)} is missing"
            )
        scorer = FamilyScorer(completed(sample), self.score)
        names = sample.variables
        start = Structure.from_edges((), names)
        start_score = now = scorer.total([()] * len(names))
        path: list[Move] = []
        columns = [sample.place(name) for name in order]
        ended = False
        for k, child in enumerate(columns):
            parents: list[int] = []
            family_score = scorer.score(child, ())
            most = k if self.max_parents is None else min(k, self.max_parents)
            while len(parents) < most and not ended:
                ended = should_stop() or (
                    self.max_families is not None and scorer.families >= self.max_families
                )
                others = [column for column in sorted(columns[:k]) if column not in parents]
                gains = scorer.with_each(child, parents, others) - family_score if not ended else None
                if gains is None:
                    break
                rounding = ROUNDING * max(abs(family_score), 1.0)
                best = int((gains >= gains.max() - rounding).argmax())
                if gains[best] <= rounding:
                    break
                parents.append(others[best])
                gain = float(gains[best])
                family_score, now = family_score + gain, now + gain
                path.append(Move("add", names[others[best]], names[child], gain))
                progress(scorer.families, now)
        structure = Structure.from_edges([(move.parent, move.child) for move in path], names)
        result = SearchResult(
            structure, now, start_score, tuple(path), start.difference(structure), scorer.families, not ended
        )
        return without_unsure(result, start, scorer)
