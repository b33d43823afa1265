"""Hill climbing over structures: add, remove or reverse one edge, the best change first, until none improves the score.

    gains[q, c]   the gain of adding q -> c, or of removing it if it exists

A change of c's parents changes column c alone, so each step counts the families of one child, or of two for a reversal.
The gain of a reversal is the sum of two entries: removing the edge, and adding the opposite one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.equivalence import Edge
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search import _climbing
from stream_bayes.core.search.constraints import (
    ROUNDING,
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

MASK = 2**64 - 1
DISTURBED_PART, LEAST_DISTURBED = 5, 4  # variables disturbed by a restart: every fifth, and at least so many
ADD, REMOVE, REVERSE = range(3)  # kinds of changes, as `_climbing` numbers them
KINDS: tuple[Literal["add", "remove", "reverse"], ...] = ("add", "remove", "reverse")

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class HillClimbing:
    """Search for a structure with a high score.

    The result is never worse than the start. Ties go to the first change by kind (add, remove, reverse), then by name,
    and restarts are drawn with `seed`, so the search is deterministic.

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
        The seed of the restarts, if `search` gets no `rng`.
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
            A scorer of this very sample and score, with families counted before.

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
        if scorer is None:
            scorer = FamilyScorer(sample, self.score)
        if scorer.sample is not sample or scorer.how != self.score:
            raise BadValue(
                f"scorer: expected one of this very sample by {self.score}, got one of "
                f"{'this' if scorer.sample is sample else 'another'} sample by {scorer.how}; make one, or let it follow"
            )
        climb = _Climb(self, sample, scorer, start, should_stop, progress)
        draws = _Draws(self.seed if rng is None or not self.restarts else int(rng.integers(2**63)))
        yield from climb.run()
        for _ in range(self.restarts):
            if climb.ended:
                break
            yield from climb.restart(draws)
            yield from climb.run()
        return climb.result()


class _Climb:
    """The state of one search: the present structure, and the best one so far."""

    def __init__(
        self,
        settings: HillClimbing,
        sample: Sample,
        scorer: FamilyScorer,
        start: Structure | None,
        should_stop: Callable[[], bool],
        progress: Callable[[int, float], None],
    ) -> None:
        self.settings, self.sample, self.scorer = settings, sample, scorer
        self.should_stop, self.progress = should_stop, progress
        self.known_before = scorer.families
        size = len(sample.variables)
        self.required = edge_matrix(settings.required, sample.variables, "required").view(np.uint8)
        self.allowed = settings.allowed(sample.variables).view(np.uint8)
        self.start = self._checked_start(start)
        self.most = size if settings.max_parents is None else settings.max_parents
        self.gains = np.zeros((size, size))
        self.reach = np.zeros((size, size), np.uint8)
        self.room = np.empty((2, size), np.longlong)
        self.bits = [1 << place for place in range(size)]
        # By child, the score and the gains with each set of parents: the sum of their bits.
        self.known: list[dict[int, float]] = [{} for _ in range(size)]
        self.columns: list[dict[int, NDArray[np.float64]]] = [{} for _ in range(size)]
        self._stand(edge_matrix(self.start.edges, sample.variables).view(np.uint8))
        self.start_score = self.best = self.now
        self.best_has = self.has.copy()
        self.path: list[Move] = []
        self.best_path: list[Move] = []
        self.no_tabu = np.zeros((size, size), np.uint8)
        # By pair of variables, the step until which a change of their edge is tabu.
        self.tabu_until: dict[tuple[int, int], int] = {}
        self.ended = False
        self.counted = False

    def _checked_start(self, start: Structure | None) -> Structure:
        alone = Structure.from_edges(self.settings.required, self.sample.variables)  # refuses a cycle
        if start is None:
            start = alone
        if start.variables != self.sample.variables:
            raise BadStructure(
                f"the start has the variables {shown(start.variables)}, the sample {shown(self.sample.variables)}"
            )
        edges, most = set(start.edges), self.settings.max_parents
        missing = [edge for edge in self.settings.required if edge not in edges]
        place = {name: k for k, name in enumerate(self.sample.variables)}
        wrong = [(a, b) for a, b in start.edges if not self.allowed[place[a], place[b]]]
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

    def _stand(self, has: Bytes) -> None:
        """Make a structure the present one. The caller updates the gains."""
        self.has = has
        self.many = has.sum(axis=0, dtype=np.longlong)
        self.keys = [0] * len(has)
        for parent, child in np.argwhere(has).tolist():
            self.keys[child] |= self.bits[parent]
        self.reach_holds = False  # reachability is computed when it is needed
        self.scores = [self._score(child) for child in range(len(has))]
        self.now = float(sum(self.scores))

    def _parents(self, child: int) -> list[int]:
        return np.flatnonzero(self.has[:, child]).tolist()

    def _score(self, child: int) -> float:
        known, key = self.known[child], self.keys[child]
        if key not in known:
            known[key] = self.scorer.score(child, self._parents(child))
        return known[key]

    # -- climbing -----------------------------------------------------------------------------------------------------

    def run(self) -> Iterator[None]:
        """Climb to a local maximum; with tabu, continue until `patience` steps bring no improvement.

        Yields after each slice of work.
        """
        if not self.counted:
            for child in range(len(self.sample.variables)):
                if self._must_end():
                    return
                self._count(child)
                yield
            self.counted = True
        idle = step = 0
        while not self._must_end():
            move = self._best_move(step)
            if move is None:
                return
            kind, parent, child, gain = move
            if gain <= self._rounding() and (not self.settings.tabu or idle >= self.settings.patience):
                return
            self._make(kind, parent, child)
            step += 1
            if self.settings.tabu:
                self.tabu_until[min(parent, child), max(parent, child)] = step + self.settings.tabu
            idle = 0 if self._note_best() else idle + 1
            self.progress(self.families, self.best)
            yield

    @property
    def families(self) -> int:
        """The number of families that this search has counted."""
        return self.scorer.families - self.known_before

    def _must_end(self) -> bool:
        most = self.settings.max_families
        if (most is not None and self.families >= most) or self.should_stop():
            self.ended = True
        return self.ended

    def _rounding(self) -> float:
        return ROUNDING * max(abs(self.now), 1.0)

    def _count(self, child: int) -> None:
        """Update the gain of each change of a child's parents."""
        columns, key = self.columns[child], self.keys[child]
        if key not in columns:
            columns[key] = self._column(child)
        self.gains[:, child] = columns[key]

    def _column(self, child: int) -> NDArray[np.float64]:
        """Return the gain of each change of a child's parents."""
        own = self._parents(child)
        now = self.scores[child]
        others = np.flatnonzero(self.allowed[:, child] > self.has[:, child]).tolist()
        column = np.zeros(len(self.has))
        if others:
            column[others] = self.scorer.with_each(child, own, others) - now
        for parent in own:
            rest = [other for other in own if other != parent]
            column[parent] = self.scorer.score(child, rest) - now
        return column

    def _best_move(self, step: int) -> tuple[int, int, int, float] | None:
        """Return the change with the largest gain; the first of equal ones."""
        if not self.reach_holds:
            _climbing.find_reach(self.has, self.reach, *self.room)
            self.reach_holds = True
        found = np.zeros(3, np.longlong)
        # A tabu change is allowed if it leads to a better structure than all before.
        above = self.best - self.now + self._rounding()
        gain = _climbing.best_change(
            self.gains,
            self.has,
            self.reach,
            self.allowed,
            self.required,
            self._tabu(step),
            self.many,
            self.most,
            above,
            self._rounding(),
            found,
        )
        kind, parent, child = found.tolist()
        return None if gain == -np.inf else (kind, parent, child, gain)

    def _tabu(self, step: int) -> Bytes:
        if not self.tabu_until:
            return self.no_tabu
        tabu = np.zeros_like(self.has)
        for (a, b), until in self.tabu_until.items():
            tabu[a, b] = tabu[b, a] = until > step
        return tabu

    def _make(self, kind: int, parent: int, child: int) -> None:
        self._change(kind, parent, child)
        self._count(child)
        if kind == REVERSE:
            self._count(parent)

    def _change(self, kind: int, parent: int, child: int) -> None:
        """Change an edge and record the step; the caller updates the gains."""
        self._set(parent, child, kind == ADD)
        if kind == REVERSE:
            self._set(child, parent, True)
        if kind == ADD and self.reach_holds:
            _climbing.extend_reach(self.reach, parent, child)
        else:
            self.reach_holds = False
        before = self.now
        self.now = float(sum(self.scores))
        names = self.sample.variables
        self.path.append(Move(KINDS[kind], names[parent], names[child], self.now - before))

    def _set(self, parent: int, child: int, joined: bool) -> None:
        """Set whether an edge exists, and update its child's score."""
        self.has[parent, child] = joined
        self.keys[child] ^= self.bits[parent]
        self.many[child] += 1 if joined else -1
        self.scores[child] = self._score(child)

    def _note_best(self) -> bool:
        if self.now <= self.best + self._rounding():
            return False
        self.best, self.best_has, self.best_path = self.now, self.has.copy(), list(self.path)
        return True

    def restart(self, draws: _Draws) -> Iterator[None]:
        """Return to the best structure, turn some edges within its equivalence class, and remove the edges of some
        variables. Yields after each slice of work.
        """
        counted = self.has.copy()
        if self.now < self.best - self._rounding():  # other structures of the best score are as good
            self._stand(self.best_has.copy())
            self.path = list(self.best_path)
        self.tabu_until = {}
        size = len(self.sample.variables)
        disturbance = self.settings.disturbance or max(LEAST_DISTURBED, size // DISTURBED_PART)
        for _ in range(disturbance if self.has.any() else 0):
            self._turn(draws)
        lost = np.zeros(size, bool)
        lost[draws.some(size, disturbance)] = True
        gone = (self.has > self.required) & (lost[:, None] | lost)
        for parent, child in np.argwhere(gone).tolist():
            self._change(REMOVE, parent, child)
        for child in np.flatnonzero((self.has != counted).any(axis=0)).tolist():
            self._count(child)
            yield

    def _turn(self, draws: _Draws) -> None:
        """Reverse a random covered edge: one whose ends have all other parents in common (Chickering, 1995).

        The structure stays in its equivalence class, and every structure of the class can be reached so. Without it,
        ties would lead to the same maximum again.
        """
        found = np.empty((int(self.many.sum()), 2), np.longlong)
        count = _climbing.covered_edges(self.has, self.allowed, self.required, self.many, self.most, found)
        if count:
            self._change(REVERSE, *found[draws.below(count)].tolist())

    # -- the end ------------------------------------------------------------------------------------------------------

    def result(self) -> SearchResult:
        names = self.sample.variables
        edges = [(names[a], names[b]) for a, b in np.argwhere(self.best_has).tolist()]
        structure = Structure.from_edges(edges, names)
        return SearchResult(
            structure,
            self.best,
            self.start_score,
            tuple(self.best_path),
            self.start.difference(structure),
            self.families,
            not self.ended,
        )


class _Draws:
    """Pseudo-random draws from a seed, for restarts: the same on every machine.

    The generator is SplitMix64 (Steele, Lea and Flood 2014).

    Parameters
    ----------
    seed
        A whole number of at least 0.
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & MASK

    def below(self, limit: int) -> int:
        """Draw one of the numbers 0 to limit - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) * limit >> 64

    def some(self, limit: int, number: int) -> list[int]:
        """Draw different ones of the numbers 0 to limit - 1."""
        drawn: dict[int, None] = {}
        while len(drawn) < min(number, limit):
            drawn[self.below(limit)] = None
        return list(drawn)
