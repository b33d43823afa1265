"""PC: search for a structure by tests of independence (Spirtes and Glymour, 1991), in its stable variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.networks.equivalence import Edge, EquivalenceClass
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.constraints import check_limit, edge_matrix, read_constraints
from stream_bayes.core.search.pair_tables import pair_tables
from stream_bayes.core.search.pdag import PDAG
from stream_bayes.core.search.sample import Sample, check_sample
from stream_bayes.core.values.values import Value, name_order
from stream_bayes.errors import BadValue

__all__ = ["PC", "ConstraintResult", "GTest", "g_test"]

# Returns the p-value of the independence of two variables given others, all by their numbers.
Test: TypeAlias = Callable[[int, int, tuple[int, ...]], float]


@dataclass(frozen=True)
class GTest:
    """The result of a G-test of conditional independence.

    Parameters
    ----------
    statistic
        G: twice the conditional mutual information, summed over all rows.
    freedom
        The degrees of freedom.
    p_value
        The probability of a G at least this large if the variables are independent; 1 without a degree of freedom.

    Examples
    --------
    >>> from stream_bayes.networks import g_test, sample_of
    >>> rows = [{"a": a, "b": b} for a, b in [("x", "x"), ("y", "y"), ("x", "x"), ("y", "y")]] * 10
    >>> g_test(sample_of(rows), "a", "b").p_value < 0.01
    True
    """

    statistic: float
    freedom: int
    p_value: float


def g_test(sample: Sample, one: Value, other: Value, given: Sequence[Value] = ()) -> GTest:
    """Test whether two variables are independent given others, by the likelihood ratio.

    Only rows that have all variables count. Degrees of freedom are summed over the configurations of the given
    variables, over the values that occur in each. G is close to its distribution if cells hold about five rows or more;
    with fewer, the test may miss an independence.

    Examples
    --------
    >>> sample = Sample({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5, "c": [0, 0, 1, 1] * 5}, dict.fromkeys("abc", 2))
    >>> g_test(sample, "a", "b")
    GTest(statistic=0.0, freedom=1, p_value=1.0)
    >>> round(g_test(sample, "a", "c").statistic, 3)
    27.726
    """
    return _g_test(sample, sample.place(one), sample.place(other), [sample.place(name) for name in given])


def _g_test(sample: Sample, one: int, other: int, conditioning: Sequence[int]) -> GTest:
    table = next(iter(pair_tables(sample, one, [other], conditioning)))
    statistic, freedom = 2.0 * table.information(), table.degrees_of_freedom()
    return GTest(statistic, freedom, float(scipy.special.chdtrc(freedom, statistic)) if freedom else 1.0)


@dataclass(frozen=True)
class ConstraintResult:
    """The structure found by tests of independence.

    Parameters
    ----------
    cpdag
        The edges, with an arrow where the tests, or required and forbidden edges, leave one direction.
    structure
        A structure with these edges and arrows.
    consistent
        True if the structure has no collider (a -> c <- b, a and b not joined) that `cpdag` lacks. Contradictory tests
        can make it False.
    separations
        For each pair found independent, the variables given in that test, by name.
    tests
        The number of tests made.
    finished
        True if the search ended by itself; False if it was stopped.

    Examples
    --------
    >>> sample = Sample({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5, "c": [0, 0, 1, 1] * 5}, dict.fromkeys("abc", 2))
    >>> found = PC().search(sample)
    >>> print(found.cpdag)
    'a' -- 'c'
    >>> found.separations, found.tests
    ({('a', 'b'): (), ('b', 'c'): ()}, 3)
    """

    cpdag: EquivalenceClass
    structure: Structure
    consistent: bool
    separations: dict[Edge, tuple[Value, ...]]
    tests: int
    finished: bool


@dataclass(frozen=True, kw_only=True)
class PC:
    """Search for a structure by tests of independence.

    The search starts with all variables joined. It removes an edge if its two variables are independent given some of
    the neighbours of one of them, for sets of growing size. Neighbours are fixed before each round, so the edges
    removed do not depend on the order of the tests. If a and b are joined to c but not to each other, and were
    independent without c given, arrows point from both into c; of contradictory findings the first by name holds.
    Meek's rules then set all arrows that follow.

    Each test counts the rows that have all its variables: values have to be missing whatever the values of any variable
    are.

    The search is deterministic. The number of tests grows exponentially with the number of neighbours; `max_given`
    bounds it.

    Parameters
    ----------
    significance
        The level of the tests: an edge stays if the p-value is at most this.
    max_given
        The most variables given in a test.
    required, forbidden
        Edges, `(parent, child)`, that the structure must have, or must not have. An edge with only one allowed
        direction is left out if it would close a cycle.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sky, wind = rng.integers(0, 2, (2, 2_000))
    >>> sample = Sample({"sky": sky, "wind": wind, "rain": sky & wind}, dict.fromkeys(["sky", "wind", "rain"], 2))
    >>> result = PC(significance=0.01).search(sample)
    >>> print(result.cpdag)
    'sky' -> 'rain', 'wind' -> 'rain'
    """

    significance: float = 0.05
    max_given: int | None = None
    required: Iterable[Edge] = ()
    forbidden: Iterable[Edge] = ()

    def __post_init__(self) -> None:
        if not 0.0 < self.significance < 1.0:
            raise BadValue(f"significance: expected a number between 0 and 1, got {self.significance!r}")
        check_limit("max_given", self.max_given)
        required, forbidden = read_constraints(self.required, self.forbidden)
        object.__setattr__(self, "required", required)
        object.__setattr__(self, "forbidden", forbidden)

    def search(
        self,
        sample: Sample,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] = lambda tests, edges: None,
    ) -> ConstraintResult:
        """Search for a structure by G-tests on a sample.

        Parameters
        ----------
        sample
            The rows. Tests are faster on `sample.collapsed()`.
        should_stop
            Called before every test; True ends the search with the edges that are left.
        progress
            Called after every test with the number of tests made and of edges left.

        Raises
        ------
        BadStructure
            If the required edges make a cycle.
        """
        check_sample(sample)

        def test(one: int, other: int, conditioning: tuple[int, ...]) -> float:
            return _g_test(sample, one, other, conditioning).p_value

        return self.search_by(sample.variables, test, should_stop=should_stop, progress=progress)

    def search_by(
        self,
        variables: Iterable[Value],
        test: Test,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] = lambda tests, edges: None,
    ) -> ConstraintResult:
        """Search for a structure by any test of independence.

        Parameters
        ----------
        variables
            All variables.
        test
            `test(one, other, given)` returns the p-value of the independence of two variables given others, all as
            positions among the variables in the order of their names.
        should_stop, progress
            As for `search`.
        """
        names = tuple(sorted(variables, key=name_order))
        required = edge_matrix(self.required, names, "required")
        forbidden = edge_matrix(self.forbidden, names, "forbidden")
        Structure.from_edges(self.required, names)  # refuses a cycle
        allowed = ~forbidden & ~required.T & ~np.eye(len(names), dtype=bool)
        skeleton = _Skeleton(allowed | allowed.T, required | required.T, self, test, should_stop, progress)
        skeleton.thin()
        graph = self._directed(skeleton, required, allowed)
        return ConstraintResult(
            _named(graph, names),
            structure := Structure.from_edges(
                [(names[a], names[b]) for b, parents in enumerate(graph.parents()) for a in parents], names
            ),
            _colliders(structure) == {(names[a], names[c], names[b]) for a, c, b in _collisions(graph)},
            {
                (names[a], names[b]): tuple([names[v] for v in separator])
                for (a, b), separator in skeleton.separations.items()
            },
            skeleton.tests,
            not skeleton.ended,
        )

    @staticmethod
    def _directed(skeleton: _Skeleton, required: NDArray[np.bool_], allowed: NDArray[np.bool_]) -> PDAG:
        graph = PDAG(skeleton.joined, allowed)
        graph.point([(a, b) for a, b in np.argwhere(required).tolist()])
        for a, b in np.argwhere(skeleton.joined & allowed & ~allowed.T).tolist():
            if not graph.point([(a, b)]):
                graph.joined[a, b] = graph.joined[b, a] = False
        for a, c, b in list(graph.unshielded()):
            if c not in skeleton.separations.get((a, b), (c,)):
                graph.point([(a, c), (b, c)])
        graph.complete()
        return graph


class _Skeleton:
    """The edges that are left, and the separating sets of the others."""

    def __init__(
        self,
        joined: NDArray[np.bool_],
        required: NDArray[np.bool_],
        settings: PC,
        test: Test,
        should_stop: Callable[[], bool],
        progress: Callable[[int, int], None],
    ) -> None:
        self.joined = joined.copy()
        # Pairs that may not be joined are tested too: their separating sets direct arrows.
        self.open = ~required & ~np.eye(len(joined), dtype=bool)
        self.settings, self.test = settings, test
        self.should_stop, self.progress = should_stop, progress
        self.separations: dict[tuple[int, int], tuple[int, ...]] = {}
        self.tests = 0
        self.ended = False

    def thin(self) -> None:
        """Remove edges by tests with more and more variables given."""
        size = 0
        most = self.settings.max_given
        while (most is None or size <= most) and not self.ended:
            neighbours = [np.flatnonzero(row).tolist() for row in self.joined]  # fixed for the round
            if max(map(len, neighbours), default=0) < size:
                return
            for a, b in np.argwhere(np.triu(self.open)).tolist():
                separator = self._separating(a, b, neighbours, size)
                if separator is not None:
                    self.joined[a, b] = self.joined[b, a] = self.open[a, b] = False
                    self.separations[a, b] = separator
                if self.ended:
                    return
            size += 1

    def _separating(self, a: int, b: int, neighbours: list[list[int]], size: int) -> tuple[int, ...] | None:
        """Return the first set of neighbours, of either variable, that makes two variables independent; None if none
        does.
        """
        tested = set()
        for one, other in ((a, b), (b, a)):
            for separator in combinations([v for v in neighbours[one] if v != other], size):
                if separator in tested:
                    continue
                if self.should_stop():
                    self.ended = True
                    return None
                tested.add(separator)
                self.tests += 1
                independent = self.test(a, b, separator) > self.settings.significance
                self.progress(
                    self.tests, int(self.joined.sum()) // 2 - (independent and bool(self.joined[a, b]))
                )
                if independent:
                    return separator
        return None


def _named(graph: PDAG, names: tuple[Value, ...]) -> EquivalenceClass:
    lines = np.triu(graph.joined & ~graph.arrows & ~graph.arrows.T)
    return EquivalenceClass(
        names,
        tuple([(names[a], names[b]) for a, b in np.argwhere(graph.arrows).tolist()]),
        tuple([(names[a], names[b]) for a, b in np.argwhere(lines).tolist()]),
    )


def _collisions(graph: PDAG) -> list[tuple[int, int, int]]:
    """Return the colliders a, c, b: arrows from a and b, which are not joined, into c."""
    return [(a, c, b) for a, c, b in graph.unshielded() if graph.arrows[a, c] and graph.arrows[b, c]]


def _colliders(structure: Structure) -> set[tuple[Value, Value, Value]]:
    edges = set(structure.edges)
    return {
        (a, c, b)
        for c in structure.variables
        for a, b in combinations(structure.parents(c), 2)
        if (a, b) not in edges and (b, a) not in edges
    }
