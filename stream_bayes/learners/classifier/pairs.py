"""What learners over pairs of features share: their tables by name, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from stream_bayes.core.counts.discretizer import MOST_BINS
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._bins import Bins
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.values.values import canonical
from stream_bayes.data.schema import Numeric
from stream_bayes.errors import BadLabel, NotSupported
from stream_bayes.learners.classifier.arguments import check_choice, check_number
from stream_bayes.learners.classifier.base import X
from stream_bayes.learners.classifier.binning import Binning
from stream_bayes.learners.classifier.intervals import Cumulants, log_mean, log_share, log_weight
from stream_bayes.learners.classifier.named_features import NamedFeatures, row_encoder
from stream_bayes.learners.classifier.traits import Traits

__all__ = ["PairClassifier", "SuperParentClassifier"]


class PairClassifier(NamedFeatures):
    """A classifier over a store of pairs."""

    additive: ClassVar[bool] = False
    inputs: ClassVar[frozenset[str]] = frozenset({"nominal", "numeric"})
    order: ClassVar[int] = 2
    _reading: Any  # a reading of pairs; the subclasses say which

    prior: str
    strength: float
    binning: str | Binning | None

    def _begin(self) -> None:
        check_choice("prior", self.prior, ("laplace", "m-estimate"))
        check_number("strength", self.strength)
        super()._begin()

    def _make_store(self, labels: Vocabulary) -> CountStore:
        specs = {} if self.schema is None else self.schema.features
        cuts = {name: spec.cuts for name, spec in specs.items() if isinstance(spec, Numeric) and spec.cuts}
        bins, settings = None, None
        binning = Binning.of(self.binning)
        if binning is not None:
            most = MOST_BINS if binning.bins is None else binning.bins
            bins = Bins(max([most, *(len(known) + 1 for known in cuts.values())]))
            settings = {**binning.to_json(), "declared": cuts}
        encoder = row_encoder(labels, self.schema, self.max_values, None if bins else "nominal", bins)
        return self._store_of(
            encoder, half_life=self.half_life, memory_budget=self.memory_budget, binning=settings
        )

    def _store_of(self, encoder: Encoder, **settings: Any) -> CountStore:
        """An empty store over an encoder."""
        return CountStore(encoder, order=self.order, window=self.kept_events, **settings)

    def _settings(self, class_prior: str) -> dict[str, Any]:
        """What every reading of the store is made with."""
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
        """How many of the newest events are kept, None where none need be."""
        return None

    @property
    def traits(self) -> Traits:
        specs = [Numeric()] if self.schema is None else self.schema.features.values()
        has_open_cuts = any(isinstance(spec, Numeric) and spec.cuts is None for spec in specs)
        has_bins = self.binning is not None
        return super().traits._replace(accepts_numbers=has_bins, learns_cut_points=has_bins and has_open_cuts)

    @property
    def cuts_(self) -> dict[Any, tuple[float, ...]]:
        """Where the bins of each numeric feature begin now, but for the first; a feature without cuts yet is not there.

        Given to the schema of another learner, as `Numeric(cuts=...)`, they make the two learners fit to be merged.
        """
        bins: Any = self._store.encoder.bins
        if bins is None:
            return {}
        features = self._store.encoder.nominal
        return {features[slot].name: cuts for slot, cuts in sorted(bins.cuts.items())}

    # -- how sure it is -----------------------------------------------------------------------------------------------

    def _log_likelihood_cumulants(self, x: X, label: int) -> Cumulants:
        return _product(self._reading.shares(self._store.encoder.lookup(x), label))

    # -- reading the model --------------------------------------------------------------------------------------------

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """P(feature | class), or P(feature | class, another feature's value).

        Parameters
        ----------
        feature
            Its name.
        given
            The class, under the schema's `target` (`"class"` where no schema names it), and the value of one other
            feature, either or both: `{"class": "yes", "sky": "grey"}`. Without the class a table for each class is
            returned.

        Returns
        -------
        `{value: probability}`; empty where it is 0/0.
        """
        self._check_given(given)
        rest = {name: value for name, value in (given or {}).items() if name != self._target}
        if not rest:
            return super().conditional(feature, given)
        label = self._given_label(
            {self._target: given[self._target]} if given and self._target in given else None
        )
        if len(rest) > 1:
            raise NotSupported(
                f"{type(self).__name__} counts pairs of features: it has no table given {list(rest)!r}"
            )
        ((other, value),) = rest.items()
        tables = {
            y: self._given_value(feature, y, other, value)
            for y in self.classes_
            if label is ... or y == label
        }
        return tables if label is ... else tables[label]

    def joint(self, feature: Any = ...) -> dict[Any, Any]:
        """P(y), or P(y, feature) as `{label: {value: probability}}`, smoothed over all its cells together."""
        return super().joint(feature)

    def _given_value(self, feature: Any, label: Any, other: Any, value: Any) -> dict[Any, float]:
        """P(feature | label, other = value)."""
        known, beside = self._feature(feature), self._feature(other)
        if known is beside:
            raise NotSupported(f"{feature!r} cannot be given to itself")
        code = beside.vocabulary.find(canonical(value, feature=other))
        if code < 0:
            raise BadLabel(f"feature {other!r} has the values {beside.vocabulary.values!r}, not {value!r}")
        tables = self._store.tables
        pairs: Any = tables.pairs
        layout, label_code = tables.values.layout, self._store.encoder.labels.find(label)
        place = layout.start[beside.slot] + code
        counts = {}
        for number, held in enumerate(known.vocabulary.values):
            own = layout.start[known.slot] + number
            if tables.values.held[own]:
                cell = layout.pair(max(own, place), min(own, place))
                counts[held] = pairs.weight[cell * layout.classes + label_code] / tables.unit
        add = self.strength / (len(counts) if self._reading.spread and counts else 1)
        total = math.fsum(counts.values()) + add * len(counts)
        return {held: (n + add) / total for held, n in counts.items()} if total > 0 else {}


class SuperParentClassifier(PairClassifier):
    """A classifier that averages over super-parents, each with a joint probability of its own."""

    def _log_joint_cumulants(self, x: X, codes: Mapping[Any, int]) -> dict[Any, Cumulants] | None:
        row = self._store.encoder.lookup(x)
        joint: dict[Any, Cumulants] = {}
        shift = self._prior_shift()
        for label, code in codes.items():
            members = self._reading.members(row, code)
            if not members:
                return None  # naive Bayes answers
            terms = [
                Cumulants(math.log(weight / total)) + log_weight(own) + _product(rest)
                for weight, own, total, rest in members
            ]
            joint[label] = log_mean(terms) + Cumulants(shift[label])
        return joint

    def _prior_shift(self) -> dict[Any, float]:
        """What a given prior adds to log P(y, x), whose P(y) is the counted one."""
        if self.class_prior == "counted":
            return dict.fromkeys(self.classes_, 0.0)
        tables = self._store.tables
        counted = {
            y: tables.class_weight[self._store.encoder.labels.find(y)] / tables.unit for y in self.classes_
        }
        add = self.strength / (len(counted) if self._reading.spread else 1)
        return {
            y: prior - math.log(counted[y] + add) if counted[y] + add > 0.0 else -math.inf
            for y, prior in self._log_prior().items()
        }


def _product(shares: list[tuple[float, float]]) -> Cumulants:
    """Of the logarithm of a product of independent shares; 0/0 says nothing."""
    moments = Cumulants()
    for own, total in shares:
        if total > 0.0:
            moments += log_share(own, total)
    return moments
