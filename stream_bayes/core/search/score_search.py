"""The base of searches by score: the score, the constraints, and the way from a sample to a result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.equivalence import Edge
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.climb import ClimbLimits, finished
from stream_bayes.core.search.completions import completing, without_unsure
from stream_bayes.core.search.constraints import (
    against_tiers,
    check_limit,
    edge_matrix,
    read_constraints,
    read_tiers,
)
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.sample import Sample, check_sample
from stream_bayes.core.search.scored_families import ScoredFamilies
from stream_bayes.core.search.scores import BIC, Score, check_score
from stream_bayes.core.search.search_result import SearchResult
from stream_bayes.core.values.values import Value, shown, tagged
from stream_bayes.errors import BadStructure, BadValue

__all__ = ["ScoreSearch", "Watching"]


@dataclass(frozen=True)
class Watching:
    """The two functions by which the caller of a search watches it, as `ScoreSearch.search` takes them."""

    should_stop: Callable[[], bool]
    progress: Callable[[int, float], None]


@dataclass(frozen=True, kw_only=True)
class ScoreSearch(ABC):
    """A search for a structure with a high score. A subclass writes `search_in_slices`, which looks for it."""

    score: Score = field(default_factory=BIC)
    max_parents: int | None = None
    required: Iterable[Edge] = ()
    forbidden: Iterable[Edge] = ()
    tiers: Iterable[Iterable[Value]] = ()
    seed: int = 0
    max_families: int | None = None

    def __post_init__(self) -> None:
        required, forbidden = read_constraints(self.required, self.forbidden)
        object.__setattr__(self, "required", required)
        object.__setattr__(self, "forbidden", forbidden)
        object.__setattr__(self, "tiers", read_tiers(self.tiers, required))
        self._check_whole("seed", 0)
        for name in ("max_parents", "max_families"):
            check_limit(name, getattr(self, name))
        check_score(self.score)

    def _check_whole(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if type(value) is not int or value < least:
            raise BadValue(f"{name}: expected a whole number of at least {least}, got {value!r}")

    @property
    def names(self) -> tuple[Value, ...]:
        """The variables that the required and forbidden edges and the tiers name, each once."""
        groups: Iterable[Iterable[Value]] = (*self.required, *self.forbidden, *self.tiers)
        return tuple(dict.fromkeys(name for group in groups for name in group))

    def allowed(self, variables: Sequence[Value]) -> NDArray[np.bool_]:
        """Return a matrix that is True at [parent, child] if the forbidden edges and the tiers allow that edge.

        Raises
        ------
        UnknownFeature
            If they name another variable.
        """
        tiers: Any = self.tiers
        excluded = edge_matrix(self.forbidden, variables, "forbidden") | against_tiers(tiers, variables)
        return ~excluded & ~np.eye(len(variables), dtype=bool)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values; `search_from_json` is the inverse."""
        saved: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("required", "forbidden", "tiers"):
            saved[name] = [[tagged(value) for value in group] for group in saved[name]]
        return saved | {
            "kind": type(self).__name__,
            "score": [type(self.score).__name__, dict(self.score.__dict__)],
        }

    def search(
        self,
        sample: Sample,
        start: Structure | None = None,
        *,
        rng: np.random.Generator | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, float], None] = lambda families, score: None,
        scorer: FamilyScorer | None = None,
    ) -> SearchResult:
        """Search from a structure, or from the one with only the required edges.

        Parameters
        ----------
        sample
            The rows.
        start
            The structure to start from.
        rng
            The source of the seed of random steps; None: `seed` is it.
        should_stop
            Called before every step; True ends the search with the best structure so far.
        progress
            Called after every step with the number of families counted and the score reached.
        scorer
            A scorer of this very sample, completed if it has gaps, and score, with families counted before.

        Raises
        ------
        BadStructure
            If the start lacks a required edge, has a forbidden edge or too many parents, or the required edges form a
            cycle.
        UnknownFeature
            If an edge or a tier names a variable that the sample lacks.
        """
        slices = self.slices(
            sample, start, rng=rng, should_stop=should_stop, progress=progress, scorer=scorer
        )
        return finished(slices)

    def slices(
        self,
        sample: Sample,
        start: Structure | None = None,
        *,
        rng: np.random.Generator | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, float], None] = lambda families, score: None,
        scorer: FamilyScorer | None = None,
    ) -> Generator[None, None, SearchResult]:
        """Search as `search` does, in slices of work: yield after the families of each child that were counted.

        The result is the value of the generator. It does not depend on the time between slices.

        Examples
        --------
        >>> columns = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
        >>> from stream_bayes.networks import HillClimbing, Sample
        >>> slices = HillClimbing().slices(Sample(columns, {"rain": 2, "wet": 2, "day": 2}))
        >>> next(slices)  # and other work in between
        >>> try:
        ...     while True:
        ...         next(slices)
        ... except StopIteration as end:
        ...     end.value.structure
        Structure({'day': (), 'rain': (), 'wet': ('rain',)})
        """
        check_sample(sample)
        complete = scorer.sample if scorer is not None else (yield from completing(sample, self.seed))
        if scorer is None:
            scorer = FamilyScorer(complete, self.score)
        if not complete.completes(sample) or scorer.how != self.score:
            which = "this" if complete.completes(sample) else "another"
            raise BadValue(
                f"scorer: expected one of this very sample by {self.score}, got one of {which} sample by {scorer.how}; "
                "make one, or let it follow"
            )
        limits = ClimbLimits(
            self.allowed(sample.variables),
            edge_matrix(self.required, sample.variables, "required"),
            self.max_parents,
            max_families=self.max_families,
        )
        begin = self._checked_start(start, sample.variables, limits.allowed)
        result = yield from self.search_in_slices(scorer, begin, limits, Watching(should_stop, progress), rng)
        return without_unsure(result, begin, scorer, self.required)

    def search_families(
        self,
        scorer: ScoredFamilies,
        start: Structure | None = None,
        later: NDArray[np.bool_] | None = None,
    ) -> SearchResult:
        """Search over other scores than `search` has, such as those of names and numbers; `score` is not used.

        Parameters
        ----------
        scorer
            The scores of families.
        start
            Where the search begins. Default: the structure with only the required edges.
        later
            True at [parent, child] of edges that are not added unless they are required.
        """
        names = scorer.sample.variables
        required = edge_matrix(self.required, names, "required")
        allowed = self.allowed(names) if later is None else self.allowed(names) & (~later | required)
        limits = ClimbLimits(allowed, required, self.max_parents, max_families=self.max_families)
        start = Structure.from_edges(self.required, names) if start is None else start
        return finished(self.search_in_slices(scorer, start, limits, Watching(_never, _unheard), None))

    @abstractmethod
    def search_in_slices(
        self,
        scorer: Any,
        start: Structure,
        limits: ClimbLimits,
        watching: Watching,
        rng: np.random.Generator | None,
    ) -> Generator[None, None, SearchResult]:
        """Look for a structure, in slices of work. The scorer is a `FamilyScorer`, or any where the search says so."""

    @abstractmethod
    def single_climb(self) -> ScoreSearch:
        """Return a search with the same constraints that climbs once from its start, to the next local maximum."""

    def _checked_start(
        self, start: Structure | None, variables: tuple[Value, ...], allowed: NDArray[np.bool_]
    ) -> Structure:
        alone = Structure.from_edges(self.required, variables)  # refuses a cycle
        if start is None:
            start = alone
        if start.variables != variables:
            raise BadStructure(
                f"the start has the variables {shown(start.variables)}, the sample {shown(variables)}"
            )
        edges, most = set(start.edges), self.max_parents
        missing = [edge for edge in self.required if edge not in edges]
        position = {name: k for k, name in enumerate(variables)}
        wrong = [(a, b) for a, b in start.edges if not allowed[position[a], position[b]]]
        if missing or wrong:
            what = f"lacks the required {shown(missing)}" if missing else f"has the forbidden {shown(wrong)}"
            raise BadStructure(f"the structure to start from {what}")
        for variable in start.variables:
            if most is not None and len(start.parents(variable)) > most:
                raise BadStructure(
                    f"{shown(variable)} has {len(start.parents(variable))} parents in the structure to start from, "
                    f"which are more than max_parents={most}"
                )
        return start


def _never() -> bool:
    return False


def _unheard(families: int, score: float) -> None:
    """Ignore the progress of a search."""
