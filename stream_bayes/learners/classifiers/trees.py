"""ODE and TAN: every feature depends on the class and on a parent of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.draws.drawn_pairs import ParentTables
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings.one_parent import GivenParents, SpanningTree
from stream_bayes.core.structures.named_features import require_features
from stream_bayes.core.values.values import canonical
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import check_count, check_name, warn_of_absent
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.pair_classifier import MEMORY_BUDGET, PairClassifier

__all__ = ["ODE", "TAN"]


class ODE(PairClassifier):
    """A given one-dependence structure: each feature depends on the class and on the parent given for it.

    Parameters
    ----------
    parents
        `{feature: its parent}`, for example `TAN.parents_` or `KDB.parents_`. A feature without an entry, or with
        None, depends on the class alone. A name that has not come in 1,000 events raises the warning `NeverMet`.
    prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget
        As in `AODE`.
    unlabelled
        As in `NaiveBayes`.

    Notes
    -----
    Promises: the counts are those of `AODE`, exactly. If a parent's value is missing in an event, its children
    depend on the class alone. A prediction costs time in proportion to the features.

    Examples
    --------
    >>> from stream_bayes import ODE
    >>> model = ODE(parents={"wind": "sky"})
    >>> for _ in range(3):
    ...     model.learn_one({"sky": "grey", "wind": "east"}, "rain")
    ...     model.learn_one({"sky": "blue", "wind": "east"}, "dry")
    >>> model.predict_one({"sky": "grey", "wind": "east"}), model.parents_
    ('rain', {'sky': None, 'wind': 'sky'})
    """

    reading: GivenParents

    tables_to_draw = ParentTables

    def __init__(
        self,
        parents: Any = None,
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
        self.parents = parents
        _check_acyclic(parents)
        super().__init__(
            prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget, unlabelled
        )

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        parents = {child: parent for child, parent in (self.parents or {}).items() if parent is not None}
        require_features(store.encoder, [*parents, *parents.values()], "the feature")
        missed = partial(warn_of_absent, "the feature")
        return GivenParents(store.tables, store.encoder, parents, missed, **self._settings(class_prior))

    @property
    def parents_(self) -> dict[Any, Any]:
        """Each feature's present parent, None if it depends on the class alone; in the order of names."""
        return dict(self.reading.parents_by_name())


def _check_acyclic(parents: object) -> None:
    """Refuse a structure in which a feature depends on itself."""
    if parents is None:
        return
    if not isinstance(parents, Mapping):
        raise BadValue(f"parents must be {{feature: its parent}}, not {parents!r}")
    for child in parents:
        chain = [canonical(child)]
        while parents.get(chain[-1]) is not None:
            chain.append(canonical(parents[chain[-1]]))
            if chain[-1] in chain[:-1]:
                raise BadValue(f"the parents go in a circle: {' -> '.join(map(repr, chain))}")


class TAN(PairClassifier):
    """Tree-augmented naive Bayes: the most informative tree over the features, given the class (Friedman et al. 1997).

    The tree is the maximum spanning tree of I(a; b | class), computed from the live counts in about a millisecond,
    with no pass over data.

    Parameters
    ----------
    root
        The feature that edges lead away from; None: the first by name. A name that has not come in 1,000 events or so
        raises the warning `NeverMet`.
    every
        The number of events after which the tree is derived again. None: whenever the order in which its edges were
        chosen no longer holds, checked when the events have grown by a tenth, and whenever the events have doubled.
        `rederive()` derives it at once.
    prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget
        As in `AODE`.
    unlabelled
        As in `NaiveBayes`. The tree is that of the labelled events alone.

    Notes
    -----
    Promises: the counts are those of `AODE`, exactly; after `rederive()` the tree is a function of the counts alone,
    ties broken by name. A prediction costs time in proportion to the features.

    Examples
    --------
    >>> from stream_bayes import TAN
    >>> model = TAN()
    >>> for sky, wind in [("grey", "west"), ("grey", "west"), ("blue", "east"), ("blue", "east")]:
    ...     model.learn_one({"sky": sky, "wind": wind, "moon": "new"}, "dry")
    ...     model.learn_one({"sky": sky, "wind": wind, "moon": "full"}, "rain")
    >>> model.rederive()
    >>> model.parents_
    {'moon': None, 'sky': 'moon', 'wind': 'sky'}
    """

    reading: SpanningTree

    tables_to_draw = ParentTables

    def __init__(
        self,
        root: Any = None,
        every: int | None = None,
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
        self.root = root
        self.every = every
        check_name("root", root)
        if every is not None:
            check_count("every", every)
        super().__init__(
            prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget, unlabelled
        )

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        if self.root is not None:
            require_features(store.encoder, [self.root], "the root")
        return SpanningTree(
            store.tables,
            store.encoder,
            self.every,
            self.root,
            partial(warn_of_absent, "the root"),
            **self._settings(class_prior),
        )

    @property
    def parents_(self) -> dict[Any, Any]:
        """Each feature's present parent, None if it depends on the class alone; in the order of names."""
        return dict(self.reading.parents_by_name())

    @property
    def edges_(self) -> tuple[tuple[Any, Any], ...]:
        """The tree's edges, the strongest first."""
        return tuple(self.reading.edges)
