"""Hill climbing over structures: add, remove or reverse one edge, the best change first, as long as the score rises."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.equivalence import Edge
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.climb import Climb, ClimbLimits, Draws
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
from stream_bayes.core.search.scores import BIC, Score, check_score
from stream_bayes.core.search.search_result import Move, SearchResult
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import Value, shown, tagged, untagged
from stream_bayes.errors import BadStructure, BadValue

__all__ = ["HillClimbing", "Move", "SearchResult"]


@dataclass(frozen=True, kw_only=True)
class HillClimbing:
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
    >>> columns = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
    >>> sample = Sample(columns, {"rain": 2, "wet": 2, "day": 2})
    >>> result = HillClimbing().search(sample)
    >>> result.structure
    Structure({'day': (), 'rain': (), 'wet': ('rain',)})
    """

    score: Score = field(default_factory=BIC)
    max_parents: int | None = None
    required: Iterable[Edge] = ()
    forbidden: Iterable[Edge] = ()
    tiers: Iterable[Iterable[Value]] = ()
    tabu: int = 0
    patience: int = 20
    restarts: int = 40
    disturbance: int | None = None
    seed: int = 0
    max_families: int | None = None

    def __post_init__(self) -> None:
        required, forbidden = read_constraints(self.required, self.forbidden)
        object.__setattr__(self, "required", required)
        object.__setattr__(self, "forbidden", forbidden)
        object.__setattr__(self, "tiers", read_tiers(self.tiers, required))
        for name, least in (("tabu", 0), ("patience", 1), ("restarts", 0), ("disturbance", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is None and name == "disturbance":
                continue
            if type(value) is not int or value < least:
                raise BadValue(f"{name}: expected a whole number of at least {least}, got {value!r}")
        for name in ("max_parents", "max_families"):
            check_limit(name, getattr(self, name))
        check_score(self.score)

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
        """Return the settings as JSON values; `from_json` is the inverse.

        Examples
        --------
        >>> search = HillClimbing(max_parents=3, tiers=[["season"], ["rain"]])
        >>> HillClimbing.from_json(search.to_json()) == search
        True
        """
        saved: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("required", "forbidden", "tiers"):
            saved[name] = [[tagged(value) for value in group] for group in saved[name]]
        return saved | {"score": [type(self.score).__name__, dict(self.score.__dict__)]}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Return the search that `to_json` saved."""
        groups = {
            name: tuple(tuple(untagged(value) for value in group) for group in saved[name])
            for name in ("required", "forbidden", "tiers")
        }
        name, arguments = saved["score"]
        kinds = {kind.__name__: kind for kind in Score.__subclasses__()}
        expect(name in kinds, f"{name!r} is no score")
        return cls(**{**saved, **groups, "score": kinds[name](**arguments)})

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
        """Climb from a structure, or from the one with only the required edges.

        Parameters
        ----------
        sample
            The rows.
        start
            The structure to start from.
        rng
            The source of the seed of restarts; None: `seed` is it.
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
        while True:
            try:
                next(slices)
            except StopIteration as end:
                result: SearchResult = end.value
                return result

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
            self.tabu,
            self.patience,
            self.disturbance,
            self.max_families,
        )
        begin = self._checked_start(start, sample.variables, limits.allowed)
        climb = Climb(scorer, begin, limits, should_stop, progress)
        draws = Draws(self.seed if rng is None or not self.restarts else int(rng.integers(2**63)))
        yield from climb.run()
        for _ in range(self.restarts):
            if climb.ended:
                break
            yield from climb.restart(draws)
            yield from climb.run()
        return without_unsure(climb.result(), begin, scorer, self.required)

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
        place = {name: k for k, name in enumerate(variables)}
        wrong = [(a, b) for a, b in start.edges if not allowed[place[a], place[b]]]
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
