"""PC: a structure from tests of independence (Spirtes and Glymour, 1991), in its stable variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are first asked for
from numpy.typing import NDArray

from stream_bayes.core.networks.equivalence import Edge, EquivalenceClass
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.networks.structure_input import read_edges
from stream_bayes.core.search.pair_tables import pair_tables
from stream_bayes.core.search.pdag import PDAG
from stream_bayes.core.search.sample import Sample, check_sample
from stream_bayes.core.values.values import Value, name_order, shown
from stream_bayes.errors import BadStructure, BadValue, UnknownFeature

__all__ = ["PC", "ConstraintResult", "GTest", "g_test"]

# How likely two variables are to look as dependent as they do, given others, if they are not; all by their numbers.
Test: TypeAlias = Callable[[int, int, tuple[int, ...]], float]


@dataclass(frozen=True)
class GTest:
    """What a G-test found.

    Parameters
    ----------
    statistic
        G, twice the information that the variables have of one another, over all rows.
    freedom
        Its degrees of freedom.
    p_value
        How likely G is to be so large where the variables are independent; 1 without a degree of freedom.
    """

    statistic: float
    freedom: int
    p_value: float


def g_test(sample: Sample, one: Value, other: Value, given: Sequence[Value] = ()) -> GTest:
    """Test whether two variables are independent given others, by the likelihood ratio.

    Rows count that have all of them. Degrees of freedom are counted for each configuration of what is given, over the
    values that occur in it: what never occurs can neither add to G nor to them. G is near its distribution where cells
    hold some five rows or more; with fewer, an independence may seem to be none.

    Examples
    --------
    >>> sample = Sample({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5, "c": [0, 0, 1, 1] * 5}, dict.fromkeys("abc", 2))
    >>> g_test(sample, "a", "b")
    GTest(statistic=0.0, freedom=1, p_value=1.0)
    >>> round(g_test(sample, "a", "c").statistic, 3)
    27.726
    """
    return _g_test(sample, sample.place(one), sample.place(other), [sample.place(name) for name in given])


def _g_test(sample: Sample, one: int, other: int, given: Sequence[int]) -> GTest:
    table = next(iter(pair_tables(sample, one, [other], given)))
    statistic, freedom = 2.0 * table.information(), table.degrees_of_freedom()
    return GTest(statistic, freedom, float(scipy.special.chdtrc(freedom, statistic)) if freedom else 1.0)


@dataclass(frozen=True)
class ConstraintResult:
    """What tests of independence say of a structure.

    Parameters
    ----------
    pattern
        The edges, with an arrow where the tests, or the required and forbidden edges, leave one direction.
    structure
        One with these edges that points as the pattern does where it does.
    consistent
        Whether the structure has no collider (a -> c <- b, a and b not joined) that the pattern lacks. It has where
        tests contradicted one another.
    separations
        For each pair that was found independent, by name, given what.
    tests
        How many tests were made.
    finished
        Whether it ended by itself, and not because it was stopped.

    Examples
    --------
    >>> sample = Sample({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5, "c": [0, 0, 1, 1] * 5}, dict.fromkeys("abc", 2))
    >>> found = PC().search(sample)
    >>> print(found.pattern)
    'a' -- 'c'
    >>> found.separations, found.tests
    ({('a', 'b'): (), ('b', 'c'): ()}, 3)
    """

    pattern: EquivalenceClass
    structure: Structure
    consistent: bool
    separations: dict[Edge, tuple[Value, ...]]
    tests: int
    finished: bool


@dataclass(frozen=True, kw_only=True)
class PC:
    """Search of a structure by tests of independence.

    All variables are joined at first. An edge goes when its two variables are independent given some of the neighbours
    of one of them, of which more and more are taken; who is a neighbour is settled before each round, so that the order
    of the tests does not matter for which edges go. Where a and b are joined to c but not to each other, and were
    independent without c, arrows lead from both into c; of such findings that contradict one another the first by name
    holds. Meek's rules set all arrows that follow.

    Nothing is left to chance. The number of tests grows exponentially with the number of neighbours, which `max_given`
    bounds.

    Parameters
    ----------
    significance
        How unlikely a dependence must be by chance for an edge to stay.
    max_given
        How many variables may be given in a test.
    required, forbidden
        Edges, `(parent, child)`, that the structure has, or has not. An edge that may point one way only, and would
        close a cycle so, is left out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sky, wind = rng.integers(0, 2, (2, 2_000))
    >>> sample = Sample({"sky": sky, "wind": wind, "rain": sky & wind}, dict.fromkeys(["sky", "wind", "rain"], 2))
    >>> result = PC(significance=0.01).search(sample)
    >>> print(result.pattern)
    'sky' -> 'rain', 'wind' -> 'rain'
    """

    significance: float = 0.05
    max_given: int | None = None
    required: Iterable[Edge] = ()
    forbidden: Iterable[Edge] = ()

    def __post_init__(self) -> None:
        if not 0.0 < self.significance < 1.0:
            raise BadValue(f"significance: expected a number between 0 and 1, got {self.significance!r}")
        if self.max_given is not None and (type(self.max_given) is not int or self.max_given < 0):
            raise BadValue(f"max_given: expected a whole number from 0 on, or None, got {self.max_given!r}")
        for name in ("required", "forbidden"):
            object.__setattr__(self, name, read_edges(getattr(self, name), name))
        both = [edge for edge in self.required if edge in self.forbidden]
        if both:
            raise BadStructure(
                f"edges cannot be both required and forbidden: {shown(both)}; take them from one"
            )

    def search(
        self,
        sample: Sample,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] = lambda tests, edges: None,
    ) -> ConstraintResult:
        """Find a structure by G-tests of a sample.

        Parameters
        ----------
        sample
            The rows. Collapsed ones are tested faster.
        should_stop
            Asked before every test; True ends the search with the edges that are left.
        progress
            Told after every test how many there were, and how many edges are left.

        Raises
        ------
        BadStructure
            If the required edges make a cycle.
        """
        check_sample(sample)

        def test(one: int, other: int, given: tuple[int, ...]) -> float:
            return _g_test(sample, one, other, given).p_value

        return self.search_by(sample.variables, test, should_stop=should_stop, progress=progress)

    def search_by(
        self,
        variables: Iterable[Value],
        test: Test,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] = lambda tests, edges: None,
    ) -> ConstraintResult:
        """Find a structure by any test.

        Parameters
        ----------
        variables
            All variables.
        test
            Says how likely two variables are to look as dependent as they do if they are not, given others:
            `test(one, other, given)`, places among the variables in the order of their names.
        should_stop, progress
            As for `search`.
        """
        names = tuple(sorted(variables, key=name_order))
        required, forbidden = self._edges(names, self.required), self._edges(names, self.forbidden)
        Structure.from_edges(self.required, names)  # refuses a cycle
        allowed = ~forbidden & ~required.T & ~np.eye(len(names), dtype=bool)
        skeleton = _Skeleton(allowed | allowed.T, required | required.T, self, test, should_stop, progress)
        skeleton.thin()
        pattern = self._directed(skeleton, required, allowed)
        return ConstraintResult(
            _named(pattern, names),
            structure := Structure.from_edges(
                [(names[a], names[b]) for b, parents in enumerate(pattern.parents()) for a in parents], names
            ),
            _colliders(structure) == {(names[a], names[c], names[b]) for a, c, b in _collisions(pattern)},
            {
                (names[a], names[b]): tuple([names[v] for v in given])
                for (a, b), given in skeleton.separations.items()
            },
            skeleton.tests,
            not skeleton.ended,
        )

    @staticmethod
    def _edges(names: tuple[Value, ...], edges: Iterable[Edge]) -> NDArray[np.bool_]:
        answer = np.zeros((len(names), len(names)), bool)
        for edge in edges:
            for name in edge:
                if name not in names:
                    raise UnknownFeature(f"there is no variable {shown(name)}; there are {shown(names)}")
            answer[names.index(edge[0]), names.index(edge[1])] = True
        return answer

    @staticmethod
    def _directed(skeleton: _Skeleton, required: NDArray[np.bool_], allowed: NDArray[np.bool_]) -> PDAG:
        pattern = PDAG(skeleton.joined, allowed)
        pattern.point([(a, b) for a, b in np.argwhere(required).tolist()])
        for a, b in np.argwhere(skeleton.joined & allowed & ~allowed.T).tolist():
            if not pattern.point([(a, b)]):
                pattern.joined[a, b] = pattern.joined[b, a] = False
        for a, c, b in list(pattern.unshielded()):
            if c not in skeleton.separations.get((a, b), (c,)):
                pattern.point([(a, c), (b, c)])
        pattern.complete()
        return pattern


class _Skeleton:
    """The edges that are left, and why the others are gone."""

    def __init__(
        self,
        joined: NDArray[np.bool_],
        kept: NDArray[np.bool_],
        settings: PC,
        test: Test,
        should_stop: Callable[[], bool],
        progress: Callable[[int, int], None],
    ) -> None:
        self.joined = joined.copy()
        # Pairs that may not be joined are looked at too: given what they are independent says where arrows meet.
        self.open = ~kept & ~np.eye(len(joined), dtype=bool)
        self.settings, self.test = settings, test
        self.should_stop, self.progress = should_stop, progress
        self.separations: dict[tuple[int, int], tuple[int, ...]] = {}
        self.tests = 0
        self.ended = False

    def thin(self) -> None:
        """Take out edges, with more and more variables given."""
        size = 0
        most = self.settings.max_given
        while (most is None or size <= most) and not self.ended:
            neighbours = [np.flatnonzero(row).tolist() for row in self.joined]  # settled for the round
            if max(map(len, neighbours), default=0) < size:
                return
            for a, b in np.argwhere(np.triu(self.open)).tolist():
                given = self._separating(a, b, neighbours, size)
                if given is not None:
                    self.joined[a, b] = self.joined[b, a] = self.open[a, b] = False
                    self.separations[a, b] = given
                if self.ended:
                    return
            size += 1

    def _separating(self, a: int, b: int, neighbours: list[list[int]], size: int) -> tuple[int, ...] | None:
        """The first variables given which two are independent: neighbours of the one, or of the other."""
        tested = set()
        for one, other in ((a, b), (b, a)):
            for given in combinations([v for v in neighbours[one] if v != other], size):
                if given in tested:
                    continue
                if self.should_stop():
                    self.ended = True
                    return None
                tested.add(given)
                self.tests += 1
                independent = self.test(a, b, given) > self.settings.significance
                self.progress(
                    self.tests, int(self.joined.sum()) // 2 - (independent and bool(self.joined[a, b]))
                )
                if independent:
                    return given
        return None


def _named(pattern: PDAG, names: tuple[Value, ...]) -> EquivalenceClass:
    lines = np.triu(pattern.joined & ~pattern.arrows & ~pattern.arrows.T)
    return EquivalenceClass(
        names,
        tuple([(names[a], names[b]) for a, b in np.argwhere(pattern.arrows).tolist()]),
        tuple([(names[a], names[b]) for a, b in np.argwhere(lines).tolist()]),
    )


def _collisions(pattern: PDAG) -> list[tuple[int, int, int]]:
    """Where arrows from two vertices that are not joined meet in a third."""
    return [(a, c, b) for a, c, b in pattern.unshielded() if pattern.arrows[a, c] and pattern.arrows[b, c]]


def _colliders(structure: Structure) -> set[tuple[Value, Value, Value]]:
    edges = set(structure.edges)
    return {
        (a, c, b)
        for c in structure.variables
        for a, b in combinations(structure.parents(c), 2)
        if (a, b) not in edges and (b, a) not in edges
    }
