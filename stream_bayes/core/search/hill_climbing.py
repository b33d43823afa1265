"""Hill climbing over structures: add, remove or reverse one edge, the best change first, as long as the score rises."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, fields, replace

import numpy as np

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.climb import Climb, ClimbLimits, Draws
from stream_bayes.core.search.score_search import ScoreSearch, Watching
from stream_bayes.core.search.scored_families import ScoredFamilies
from stream_bayes.core.search.search_result import Move, SearchResult

__all__ = ["HillClimbing", "Move", "SearchResult"]


@dataclass(frozen=True, kw_only=True)
class HillClimbing(ScoreSearch):
    """Search for a structure with a high score.

    The result is never worse than the start. Ties go to the first change by kind (add, remove, reverse), then by name,
    and restarts are drawn with `seed`, so the search is deterministic.

    Missing values are filled in first, several times, by draws given the values that a row has (`Sample.completed`), so
    that all families are compared over the same rows. They have to be missing at random: a value whose absence depends
    on itself is not handled.

    Parameters
    ----------
    score
        The score to maximise.
    max_parents
        The most parents of a variable. The start and the required edges must keep to it.
    required, forbidden
        Edges, `(parent, child)`, that every structure must have, or must not have.
    tiers
        Groups of variables, the earliest first: no edge leads from a later group to an earlier one. Variables in no
        group may be joined to any.
    tabu
        The number of steps for which a change may not be undone, when the search continues past a local maximum. 0
        stops at the first local maximum.
    patience
        With `tabu`, the number of steps in a row without improvement before the search stops.
    restarts
        The number of further climbs. Each begins at the best structure with some edges turned within its equivalence
        class, and some variables without their edges. This escapes local maxima that a few changes do not, at a small
        cost, as the families counted are kept: the default. 0 climbs once.
    disturbance
        The number of edges, and of variables, drawn at random for a restart; None: a fifth of the variables, and 4 at
        least.
    seed
        The seed of the restarts, if `search` gets no `rng`, and of the values that are filled in.
    max_families
        The number of families after which the search takes no further step. It finishes counting the present step.

    Examples
    --------
    >>> from stream_bayes.core.search.sample import Sample
    >>> columns = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
    >>> sample = Sample(columns, {"rain": 2, "wet": 2, "day": 2})
    >>> result = HillClimbing().search(sample)
    >>> result.structure
    Structure({'day': (), 'rain': (), 'wet': ('rain',)})
    """

    tabu: int = 0
    patience: int = 20
    restarts: int = 40
    disturbance: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("tabu", 0), ("patience", 1), ("restarts", 0)):
            self._check_whole(name, least)
        if self.disturbance is not None:
            self._check_whole("disturbance", 1)

    @classmethod
    def within(cls, search: ScoreSearch) -> HillClimbing:
        """Return hill climbing by the score, the constraints and the budget of another search."""
        return cls(**{each.name: getattr(search, each.name) for each in fields(ScoreSearch)})

    def single_climb(self) -> HillClimbing:
        return replace(self, restarts=0)

    def search_in_slices(
        self,
        scorer: ScoredFamilies,
        start: Structure,
        limits: ClimbLimits,
        watching: Watching,
        rng: np.random.Generator | None,
    ) -> Generator[None, None, SearchResult]:
        limits = replace(limits, tabu=self.tabu, patience=self.patience, disturbance=self.disturbance)
        climb = Climb(scorer, start, limits, watching.should_stop, watching.progress)
        draws = Draws(self.seed if rng is None or not self.restarts else int(rng.integers(2**63)))
        yield from climb.run()
        for _ in range(self.restarts):
            if climb.ended:
                break
            yield from climb.restart(draws)
            yield from climb.run()
        return climb.result()
