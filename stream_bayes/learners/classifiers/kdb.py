"""KDB: every feature depends on the class and on up to k other features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.draws.drawn_families import DependenceTables
from stream_bayes.core.draws.drawn_pairs import ParentTables
from stream_bayes.core.draws.drawn_tables import CountedTables
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings.kdb import FamilyDependences
from stream_bayes.core.readings.one_parent import Dependences
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, CannotMerge, NotSupported
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.pair_classifier import MEMORY_BUDGET, PairClassifier
from stream_bayes.learners.base.traits import Traits

__all__ = ["KDB"]


class KDB(PairClassifier):
    """K-dependence Bayes: each feature depends on the class and on k features (Sahami 1996).

    Its parents are those with the most information about it, given the class, among the features with more information
    about the class than it has.

    Parameters
    ----------
    k
        The number of parents: 0 is naive Bayes, 1 reads the counts of pairs, from 2 on each feature is counted with
        its parents.
    every
        The number of events after which the structure is derived again. None: whenever the events have grown by a
        tenth; with two or more parents only if the order it was derived from has changed, or the events have doubled.
        `rederive()` derives it at once.
    window
        With two or more parents: the number of newest events that are kept, to count a feature with new parents.
    prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget
        As in `AODE`.
    unlabelled
        As in `NaiveBayes`. Only with `k` of at most 1. The structure is that of the labelled events alone.

    Notes
    -----
    Promises: the counts of values and pairs are those of `AODE`, exactly; after `rederive()` the structure is a
    function of these counts alone, ties broken by name. A prediction costs time in proportion to the features, and to
    their parents.

    With two or more parents a probability backs off; the parent with least information is dropped first. With n of N
    samples under the parents' values it is (n + s P) / (N + s), where P is the probability without the last parent and
    s the strength, down to the class alone. If a parent's value is missing, it and those after it are dropped; if the
    first is missing, the next one present takes its place, alone.

    The counts under several parents begin with the window, so they depend on the order of events. The same events from
    the same state give the same bytes, but learners cannot be merged: their parents may differ. `unlearn_one` removes
    an event of the window from all tables that counted it; for an older event give `at`, the clock at which it was
    learned.

    New cut points of numbers have these tables counted again from the window, too. With a `memory_budget` the families
    get at most half of what it leaves when they are chosen; features with least information about the class get fewer
    parents.

    Examples
    --------
    >>> from stream_bayes import KDB
    >>> model = KDB(k=1)
    >>> for sky, wind in [("grey", "west"), ("grey", "west"), ("blue", "east"), ("blue", "west")]:
    ...     model.learn_one({"sky": sky, "wind": wind}, "dry" if sky == "blue" else "rain")
    >>> model.rederive()
    >>> model.parents_
    {'sky': None, 'wind': 'sky'}

    Of three switches two decide the light, and the third is on when one of them is:

    >>> model = KDB(k=2)
    >>> for a in (False, True):
    ...     for b in (False, True):
    ...         for _ in range(5):
    ...             model.learn_one({"a": a, "b": b, "either": a != b}, "light" if a and b else "dark")
    >>> model.rederive()
    >>> model.parents_
    {'a': (), 'b': ('a',), 'either': ('a', 'b')}
    """

    reading: Dependences | FamilyDependences

    def __init__(
        self,
        k: int = 1,
        every: int | None = None,
        window: int = 10_000,
        prior: str = "m-estimate",
        strength: float = 1.0,
        class_prior: Any = "counted",
        half_life: float | str | None = None,
        binning: str | Binning | None = "quantile",
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = MEMORY_BUDGET,
        unlabelled: str = "refuse",
    ) -> None:
        self.k = k
        self.every = every
        self.window = window
        if isinstance(k, bool) or not isinstance(k, int) or k < 0:
            raise BadValue(f"k must be a whole number of parents of at least 0, not {k!r}")
        if every is not None:
            check_count("every", every)
        check_count("window", window)
        if k >= 2 and unlabelled == "em":
            raise BadValue(
                f"unlabelled='em' needs tables of all labelled events, and those under {k} parents begin "
                "with the window; take k of at most 1"
            )
        super().__init__(
            prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget, unlabelled
        )

    @property
    def kept_events(self) -> int | None:
        return self.window if self.k >= 2 else None

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        settings = self._settings(class_prior)
        if self.k >= 2:
            return FamilyDependences(store, self.every, self.k, **settings)
        return Dependences(store.tables, store.encoder, self.every, self.k, **settings)

    def counted_tables(self) -> CountedTables:
        return DependenceTables(self.reading) if self.k >= 2 else ParentTables(self.reading)

    @property
    def traits(self) -> Traits:
        traits = super().traits
        is_mergeable = traits.is_mergeable and self.k < 2
        return traits._replace(
            is_order_dependent=traits.is_order_dependent or self.k >= 2, is_mergeable=is_mergeable
        )

    def merge(self, other: Self) -> Self:
        """Add the counts of another learner of the same class and settings, which stays unchanged.

        Raises `CannotMerge` with two or more parents.
        """
        if self.k >= 2:
            raise CannotMerge(
                f"KDB(k={self.k}) cannot be merged: what it counts beside {self.k} parents depends on the order of its "
                "events; KDB(k=1), TAN and AODE can"
            )
        return super().merge(other)

    # -- reading the model --------------------------------------------------------------------------------------------

    @property
    def parents_(self) -> dict[Any, Any]:
        """Each feature's parents now, in the order of names: for k of at most 1 its only one, None where it depends on
        the class alone; for more a tuple of them, the one with most information first.
        """
        return dict(self.reading.parents_by_name())

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """Return P(feature | class, ...) as the model has it now.

        Parameters
        ----------
        feature
            Its name.
        given
            The known values: the class, under the schema's `target` (`"class"` where no schema names it), and values of
            the feature's parents, or, as in `AODE`, of any one other feature. Without the class a table for each
            class is returned.

        Returns
        -------
        `{value: probability}`; empty where it is 0/0.
        """
        label, rest = self._split_given(given)
        if not isinstance(self.reading, FamilyDependences):
            return super().conditional(feature, given)
        parents = self.reading.parents_by_name().get(self._tables.feature(feature).name, ())
        if not rest or not set(rest) <= set(parents):
            if len(rest) > 1:
                raise NotSupported(
                    f"the parents of {feature!r} are {list(parents)!r}: there is no table given {list(rest)!r}"
                )
            return super().conditional(feature, given)
        reading, tables = self.reading, self._tables
        entries = [(int(tables.feature(name).slot), tables.code(name, value)) for name, value in rest.items()]
        return self._by_class(label, lambda y: self._given_parents(reading, feature, y, entries))

    def _given_parents(
        self, reading: FamilyDependences, feature: Any, label: Any, parents: list[tuple[int, int]]
    ) -> dict[Any, float]:
        """Return P(feature | label, parents), for the slots and codes of parents."""
        child, y = self._tables.feature(feature), self.store.encoder.labels.find(label)
        table = {}
        for code, value in enumerate(child.vocabulary.values):
            entries = sorted([*parents, (int(child.slot), code)])
            row = Row()
            row.reserve(len(entries), 0)
            row.entries = len(entries)
            for k, (slot, member_code) in enumerate(entries):
                row.feature[k], row.code[k] = slot, member_code
            chance = reading.chance(row, child.slot, y)
            if chance is not None:
                table[value] = chance
        return table
