"""Classifiers over the counts of pairs of features: bins for numbers, tables by name, posteriors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._reading import Reading
from stream_bayes.data.schema import Schema
from stream_bayes.errors import NotSupported
from stream_bayes.learners.base.arguments import (
    check_choice,
    check_number,
    warn_of_many_values,
    warn_of_moved_numbers,
)
from stream_bayes.learners.base.binning import Binning, bins_for, cuts_of, has_open_cuts
from stream_bayes.learners.base.feature_tables import FeatureTables
from stream_bayes.learners.base.row_encoder import row_encoder
from stream_bayes.learners.base.traits import Traits
from stream_bayes.learners.base.unlabelled import LearnsUnlabelled

__all__ = ["MEMORY_BUDGET", "PairClassifier"]

MEMORY_BUDGET = 2**30  # bytes: a feature like an id must not take all memory before anybody notices


class PairClassifier(LearnsUnlabelled):
    """A classifier over a store of pairs of values, with numeric features in bins. `prior`, `strength` and `binning`,
    which every such classifier has, are stored and checked here.
    """

    additive: ClassVar[bool] = False
    inputs: ClassVar[frozenset[str]] = frozenset({"nominal", "numeric"})
    order: ClassVar[int] = 2
    reading: Any  # a reading of pairs; each subclass has its own

    def __init__(
        self,
        prior: str,
        strength: float,
        class_prior: Any,
        half_life: float | str | None,
        binning: str | Binning | None,
        schema: Schema | None,
        max_values: int | None,
        memory_budget: int | None,
        unlabelled: str = "refuse",
    ) -> None:
        self.prior = prior
        self.strength = strength
        self.binning = binning
        self.unlabelled = unlabelled
        check_choice("prior", prior, ("laplace", "m-estimate"))
        check_number("strength", strength)
        super().__init__(class_prior, half_life, schema, max_values, memory_budget)

    def _make_store(self, labels: Vocabulary) -> CountStore:
        bins, settings = bins_for(self.schema, Binning.of(self.binning))
        encoder = row_encoder(labels, self.schema, self.max_values, None if bins else "nominal", bins)
        return self._store_of(
            encoder, half_life=self.half_life, memory_budget=self.memory_budget, binning=settings
        )

    def _store_of(self, encoder: Encoder, **settings: Any) -> CountStore:
        """Return an empty store over an encoder."""
        return CountStore(
            encoder,
            order=self.order,
            window=self.kept_events,
            on_many_values=warn_of_many_values,
            on_moved=warn_of_moved_numbers,
            **settings,
        )

    def _settings(self, class_prior: str) -> dict[str, Any]:
        """Return the arguments of every reading of the store."""
        return {
            "strength": self.strength,
            "prior_strength": self.strength,
            "spread": self.prior == "m-estimate",
            "class_prior": class_prior,
        }

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        raise NotImplementedError

    @property
    def kept_events(self) -> int | None:
        """The number of newest events that are kept; None if none need be."""
        return None

    @property
    def traits(self) -> Traits:
        has_bins = self.binning is not None
        learns = has_bins and has_open_cuts(self.schema)
        traits = super().traits
        return traits._replace(
            is_mergeable=traits.is_mergeable and not self.store.cuts_move,
            accepts_numbers=has_bins,
            learns_cut_points=learns,
        )

    @property
    def cuts_(self) -> dict[Any, tuple[float, ...]]:
        """The lower edges of each numeric feature's bins, except the first; features without cuts yet are left out.

        Given to the schema of another learner, as `Numeric(cuts=...)`, they make the two learners fit to be merged.
        """
        return cuts_of(self.store.encoder)

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """Return P(feature | class), or P(feature | class, another feature's value).

        Parameters
        ----------
        feature
            The feature's name.
        given
            The class, under the schema's `target` (`"class"` without a schema), and the value of one other feature,
            either or both: `{"class": "yes", "sky": "grey"}`. Without the class, a table per class is returned.

        Returns
        -------
        `{value: probability}`; empty where it is 0/0.
        """
        label, rest = self._split_given(given)
        tables = self._tables
        if not rest:
            return self._by_class(label, lambda y: tables.given_class(feature, y))
        ((other, value),) = self._only_pair(rest)
        return self._by_class(label, lambda y: tables.given_value(feature, y, other, value))

    def _table_posterior(self, feature: Any, label: Any, rest: Mapping[Any, Any]) -> Any:
        tables = self._tables
        if not rest:
            return self._by_class(label, lambda y: tables.posterior_given_class(feature, y))
        ((other, value),) = self._only_pair(rest)
        return self._by_class(label, lambda y: tables.posterior_given_value(feature, y, other, value))

    def _only_pair(self, rest: Mapping[Any, Any]) -> Iterable[tuple[Any, Any]]:
        """Return the one feature that is given, with its value."""
        if len(rest) > 1:
            raise NotSupported(
                f"{type(self).__name__} counts pairs of features: it has no table given {list(rest)!r}"
            )
        return rest.items()

    def joint(self, feature: Any = ...) -> dict[Any, Any]:
        """Return P(y), or P(y, feature) as `{label: {value: probability}}`, smoothed over all its cells together."""
        return self.class_prior_ if feature is ... else self._tables.joint(feature, self.classes_)

    @property
    def _tables(self) -> FeatureTables:
        return FeatureTables(self.store, self.reading)
