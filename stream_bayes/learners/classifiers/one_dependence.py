"""AODE, A2DE and SPODE: every feature depends on the class and on one super-parent, or two."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.draws.drawn_pairs import AverageTables, PairAverageTables, SuperParentTables
from stream_bayes.core.readings._a2de import PairAverageReading
from stream_bayes.core.readings._aode import AverageReading
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings.aode import WeightedAverage
from stream_bayes.core.readings.spode import SuperParent
from stream_bayes.core.structures.named_features import require_features
from stream_bayes.data.schema import Schema
from stream_bayes.errors import NeverEligible
from stream_bayes.learners.base.arguments import (
    check_choice,
    check_half_life,
    check_name,
    check_number,
    warn_of_absent,
)
from stream_bayes.learners.base.binning import Binning
from stream_bayes.learners.base.pair_classifier import MEMORY_BUDGET, PairClassifier
from stream_bayes.learners.base.traits import Traits

__all__ = ["A2DE", "AODE", "SPODE", "check_average"]


def check_average(min_count: float, half_life: float | str | None, subsumption: float | None = None) -> None:
    """Check the arguments of an average over super-parents."""
    check_number("min_count", min_count)
    if subsumption is not None:
        check_number("subsumption", subsumption)
    check_half_life(half_life)
    if half_life is None or isinstance(half_life, str):
        return
    # Faded weights add up to no more than the sum of a geometric series.
    if min_count * -math.expm1(-math.log(2.0) / half_life) > 1.0:
        warnings.warn(
            f"with half_life={half_life!r} no value can ever hold min_count={min_count!r} samples of weight 1: naive "
            "Bayes will always answer; raise half_life or lower min_count",
            NeverEligible,
            stacklevel=3,
        )


class AODE(PairClassifier):
    """Averaged one-dependence estimators: the mean over all super-parents of a model where every other feature
    depends on the class and on that one (Webb, Boughton and Wang 2005).

    Parameters
    ----------
    min_count
        The weight, in fresh samples, that a value needs to be a super-parent: 30 in Webb et al., 1 in WEKA. If none of
        an event's values has it, naive Bayes answers.
    subsumption
        Leave a value out of a prediction if another value implies it and holds more than this weight (100 is usual);
        None: no value is left out.
    weights
        None: all super-parents weigh alike. `"mutual-information"`: each weighs its mutual information with the class,
        derived whenever the events have grown by a tenth, or by `rederive()`.
    prior
        `"m-estimate"` spreads `strength` over the cells, (n + s / V) / (N + s); `"laplace"` adds it to each.
    strength
        The weight s of the smoothing, in fresh samples; 0 is maximum likelihood.
    class_prior
        `"counted"`, `"uniform"`, or `{label: probability}`, which also declares the classes.
    half_life
        The number of learned events after which a sample weighs half; None never forgets. Or a duration in stream time,
        such as `"7d"`: a sample then weighs by its own time, `at`, and the order of samples changes nothing.
    binning
        How numeric features get their cut points: `"quantile"`, `"equal-width"`, or `"mdl"`, which looks at the
        classes; or `Binning(...)` with further settings. None: numeric features are refused.
    schema
        The features and the classes; without one they are added as they come.
    max_values
        The number of values of a feature after which new ones share one code.
    memory_budget
        The most bytes to take, by default 1 GiB; growth past it raises `BudgetExceeded` and learns nothing. The table
        grows with the square of the values, so a feature like an id, with a new value in every event, fills it; the
        warning `TooManyValues` names such a feature. None: no limit.
    unlabelled
        As in `NaiveBayes`. `weights` are those of the labelled events alone.

    Notes
    -----
    Promises: with nominal features, or numeric ones whose cuts the schema declares, whole weights, no `max_values`
    and no fading, learning online, in batches, in any order, in shards that are merged, and unlearning give equal
    counts, exactly; with fractional weights or fading to 1e-9 of the largest weight held. Cuts found in a stream
    depend on the order of its events, and learners whose cuts differ refuse to be merged. Learning and predicting
    cost time in proportion to the pairs of an event's features; memory is 8 bytes for each class and pair of values
    of different features.

    Examples
    --------
    >>> from stream_bayes import AODE
    >>> model = AODE(min_count=1)
    >>> for _ in range(3):
    ...     model.learn_one({"sky": "grey", "wind": "east"}, "rain")
    ...     model.learn_one({"sky": "grey", "wind": "west"}, "dry")
    ...     model.learn_one({"sky": "blue", "wind": "east"}, "dry")
    >>> model.predict_one({"sky": "grey", "wind": "east"})
    'rain'
    """

    tables_to_draw = AverageTables

    def __init__(
        self,
        min_count: float = 30.0,
        subsumption: float | None = None,
        weights: str | None = None,
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
        self.min_count = min_count
        self.subsumption = subsumption
        self.weights = weights
        check_average(min_count, half_life, subsumption)
        check_choice("weights", weights, (None, "mutual-information"))
        super().__init__(
            prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget, unlabelled
        )

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        settings = self._settings(class_prior) | {
            "min_count": float(self.min_count),
            "generality": -1.0 if self.subsumption is None else float(self.subsumption),
        }
        if self.weights is None:
            return AverageReading(store.tables, store.encoder.labels, encoder=store.encoder, **settings)
        return WeightedAverage(store.tables, store.encoder, **settings)

    @property
    def weights_(self) -> dict[Any, float]:
        """The weight of each super-parent."""
        features = self.store.encoder.nominal
        importance = self.reading.importance
        if importance is None:
            return {feature.name: 1.0 for feature in features}
        return {
            feature.name: float(importance[feature.slot]) if feature.slot < len(importance) else 0.0
            for feature in features
        }


class A2DE(PairClassifier):
    """Averaged two-dependence estimators: the mean over all pairs of super-parents of a model where every other feature
    depends on the class and on both (Webb et al. 2012).

    Parameters
    ----------
    min_count
        The weight, in fresh samples, that a pair of values needs to be eligible; a pair that holds nothing never is. If
        none of an event's pairs is, `AODE` answers, with the same limit.
    subsumption
        As in `AODE`.
    prior, strength, class_prior, half_life, binning, schema, max_values
        As in `AODE`.
    memory_budget
        As in `AODE`. Here the table grows with the cube of the values.
    unlabelled
        As in `NaiveBayes`.

    Notes
    -----
    Promises: as `AODE`. Learning and predicting cost time in proportion to the triples of an event's features; memory
    is 8 bytes for each class and triple of values of different features. Where events lack features, a prediction
    also sums over the values of the third feature.

    Examples
    --------
    >>> from stream_bayes import A2DE
    >>> model = A2DE()
    >>> for _ in range(4):
    ...     for a, b, c in [("x", "x", "x"), ("x", "o", "o"), ("o", "x", "o"), ("o", "o", "x")]:
    ...         model.learn_one({"a": a, "b": b, "c": c, "d": "x"}, "even" if [a, b, c].count("o") % 2 == 0 else "odd")
    ...         model.learn_one({"a": a, "b": b, "c": "x" if c == "o" else "o", "d": "x"}, "odd")
    >>> model.predict_one({"a": "o", "b": "o", "c": "x", "d": "x"})
    'even'
    """

    order = 3
    tables_to_draw = PairAverageTables

    def __init__(
        self,
        min_count: float = 1.0,
        subsumption: float | None = None,
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
        self.min_count = min_count
        self.subsumption = subsumption
        check_average(min_count, half_life, subsumption)
        super().__init__(
            prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget, unlabelled
        )

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        return PairAverageReading(
            store.tables,
            store.encoder.labels,
            min_count=self.min_count,
            generality=-1.0 if self.subsumption is None else float(self.subsumption),
            encoder=store.encoder,
            **self._settings(class_prior),
        )


class SPODE(PairClassifier):
    """A super-parent one-dependence estimator: every other feature depends on the class and on one feature.

    Parameters
    ----------
    parent
        The super-parent's name. None: the feature with the least logarithmic loss so far, each event predicted before
        it was learned. A name that has not come in 1,000 events raises the warning `NeverMet`.
    loss_half_life
        The number of learned events after which a loss counts half in that choice; None: losses do not fade.
    min_count
        The weight, in fresh samples, that the super-parent's value needs. If it has less, or is missing, naive Bayes
        answers.
    prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget
        As in `AODE`.
    unlabelled
        As in `NaiveBayes`. The choice is by the labelled events alone.

    Notes
    -----
    Promises: the counts are those of `AODE`, exactly. A live choice depends on the order of events; merging adds the
    counts and resets the choice. With a named super-parent a prediction costs time in proportion to the features;
    with a live choice learning costs as much as `AODE`'s prediction.

    Examples
    --------
    >>> from stream_bayes import SPODE
    >>> model = SPODE(parent="sky")
    >>> for _ in range(3):
    ...     model.learn_one({"sky": "grey", "wind": "east"}, "rain")
    ...     model.learn_one({"sky": "grey", "wind": "west"}, "dry")
    ...     model.learn_one({"sky": "blue", "wind": "east"}, "dry")
    >>> model.predict_one({"sky": "grey", "wind": "east"}), model.parent_
    ('rain', 'sky')
    """

    reading: SuperParent

    tables_to_draw = SuperParentTables

    def __init__(
        self,
        parent: Any = None,
        loss_half_life: float | None = 1000.0,
        min_count: float = 1.0,
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
        self.parent = parent
        self.loss_half_life = loss_half_life
        self.min_count = min_count
        check_average(min_count, half_life)
        check_name("parent", parent)
        if loss_half_life is not None:
            check_number("loss_half_life", loss_half_life, above=True)
        super().__init__(
            prior, strength, class_prior, half_life, binning, schema, max_values, memory_budget, unlabelled
        )

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        if self.parent is not None:
            require_features(store.encoder, [self.parent], "the super-parent")
        return SuperParent(
            store.tables,
            store.encoder,
            self.parent,
            self.loss_half_life,
            on_absent=partial(warn_of_absent, "the super-parent"),
            min_count=self.min_count,
            **self._settings(class_prior),
        )

    @property
    def traits(self) -> Traits:
        traits = super().traits
        return traits._replace(is_order_dependent=traits.is_order_dependent or self.parent is None)

    @property
    def parent_(self) -> Any:
        """The present super-parent; None before any feature has come."""
        chosen = self.reading.chosen
        return None if chosen < 0 else self.store.encoder.nominal[chosen].name
