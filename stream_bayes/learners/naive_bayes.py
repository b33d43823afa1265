"""Naive Bayes over named features, nominal and numeric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._naive_bayes import ValueReading
from stream_bayes.core.readings._reading import Reading
from stream_bayes.data.schema import Schema
from stream_bayes.learners.classifier.arguments import check_choice, check_number
from stream_bayes.learners.classifier.base import BayesClassifier, X
from stream_bayes.learners.classifier.feature_tables import FeatureTables
from stream_bayes.learners.classifier.intervals import Cumulants
from stream_bayes.learners.classifier.posteriors import value_cumulants
from stream_bayes.learners.classifier.row_encoder import row_encoder

__all__ = ["GaussianNB", "NaiveBayes"]

SHARED_VARIANCE = {None: 0, "classes": 1, "features": 2, "both": 3}


class _GaussianOrCounted(BayesClassifier):
    """A naive Bayes classifier over named features: nominal ones counted, numeric ones Gaussian.

    Parameters
    ----------
    prior, strength, class_prior, half_life, variance, variance_floor, schema, max_values, memory_budget
        As in `NaiveBayes`.
    """

    only: ClassVar[str | None] = None  # the only kind of features it takes
    _reading: ValueReading

    def __init__(
        self,
        prior: str,
        strength: float,
        class_prior: Any,
        half_life: float | None,
        variance: str | None,
        variance_floor: float,
        schema: Schema | None,
        max_values: int | None,
        memory_budget: int | None,
    ) -> None:
        self.prior = prior
        self.strength = strength
        self.variance = variance
        self.variance_floor = variance_floor
        check_choice("prior", prior, ("laplace", "m-estimate"))
        check_number("strength", strength)
        check_choice("variance", variance, tuple(SHARED_VARIANCE))
        check_number("variance_floor", variance_floor)
        super().__init__(class_prior, half_life, schema, max_values, memory_budget)

    def _make_store(self, labels: Vocabulary) -> CountStore:
        encoder = row_encoder(labels, self.schema, self.max_values, self.only)
        return CountStore(encoder, half_life=self.half_life, memory_budget=self.memory_budget)

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        return ValueReading(
            store.tables,
            store.encoder.labels,
            class_prior=class_prior,
            strength=self.strength,
            prior_strength=self.strength,
            spread=self.prior == "m-estimate",
            shared_variance=SHARED_VARIANCE[self.variance],
            variance_floor=self.variance_floor,
        )

    def conditional(self, feature: Any, given: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
        """Return P(feature | class) as the model has it now.

        Parameters
        ----------
        feature
            The feature's name.
        given
            The class, under the schema's `target` (`"class"` without a schema): `{"class": "yes"}`. Without it the
            tables of all classes are returned, by class.

        Returns
        -------
        `{value: probability}` for a nominal feature; `{"mean": m, "sd": s}` for a numeric one, the standard deviation
        as predictions use it.
        """
        tables = FeatureTables(self._store, self._reading)
        return self._by_class(self._given_label(given), lambda y: tables.given_class(feature, y))

    def joint(self, feature: Any = ...) -> dict[Any, Any]:
        """Return P(y), or P(y, feature) as `{label: {value: probability}}`, smoothed over all its cells together."""
        if feature is ...:
            return self.class_prior_
        return FeatureTables(self._store, self._reading).joint(feature, self.classes_)

    def _log_likelihood_cumulants(self, x: X, label: int) -> Cumulants:
        return value_cumulants(self._store, self._reading, self._store.encoder.lookup(x), label)


class NaiveBayes(_GaussianOrCounted):
    """Naive Bayes over nominal and numeric features in one model.

    Strings, bytes, bools and tuples are nominal and counted; ints and floats are numeric and modelled by a Gaussian for
    each class, unless a schema says otherwise. A missing value, None, NaN or absent, is left out of the counts and of
    the prediction; so is a value that was never learned.

    Parameters
    ----------
    prior
        `"laplace"` adds `strength` to every cell, (n + s) / (N + s V); `"m-estimate"` spreads it over the cells,
        (n + s / V) / (N + s). V counts the values that hold samples now, or were declared.
    strength
        The weight s of the smoothing, in fresh samples; 0 is maximum likelihood.
    class_prior
        `"counted"` (smoothed by the same rule), `"uniform"`, or `{label: probability}`, which also declares the
        classes.
    half_life
        The number of learned events after which a sample weighs half; None never forgets.
    variance
        None keeps a variance for each class and numeric feature; `"classes"` shares it over classes, `"features"` over
        features, `"both"` over both.
    variance_floor
        No variance is below this share of the feature's variance over all classes.
    schema
        The features and the classes; without one they are added as they come.
    max_values
        The number of values of a feature after which new ones share one code.
    memory_budget
        The most bytes to take; growth past it raises `BudgetExceeded` and learns nothing.

    Notes
    -----
    Promises: with nominal features, whole weights, no `max_values` and no fading, learning online, in batches,
    in any order, in shards that are merged, and unlearning give equal counts, exactly; with numeric features,
    fractional weights or fading to 1e-9 of the largest magnitude held. A sample costs time in proportion to its
    features; memory is 8 bytes for each class and value, 32 for each class and numeric feature, and about 40
    for each value's name.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> model.learn_one({"sky": "grey", "wind": 21.5}, "rain")
    >>> model.learn_one({"sky": "grey", "wind": 18.0}, "rain")
    >>> model.learn_one({"sky": "blue", "wind": 4.0}, "sun")
    >>> model.predict_one({"sky": "grey", "wind": 15.0})
    'rain'
    >>> model.conditional("sky")
    {'rain': {'grey': 0.75, 'blue': 0.25}, 'sun': {'grey': 0.333..., 'blue': 0.666...}}
    """

    inputs: ClassVar[frozenset[str]] = frozenset({"nominal", "numeric"})

    def __init__(
        self,
        prior: str = "laplace",
        strength: float = 1.0,
        class_prior: Any = "counted",
        half_life: float | None = None,
        variance: str | None = None,
        variance_floor: float = 1e-9,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        super().__init__(
            prior,
            strength,
            class_prior,
            half_life,
            variance,
            variance_floor,
            schema,
            max_values,
            memory_budget,
        )


class GaussianNB(_GaussianOrCounted):
    """Naive Bayes over numeric features, each a Gaussian for each class.

    The variance is M2 / (W - 1). A class with a weight of 1 or less uses the variance pooled over classes; a
    class that never had the feature, the mean and variance of all classes together. Log-densities are computed
    as such, so a value far in the tail still separates the classes.

    Parameters
    ----------
    prior, strength
        How P(y) is smoothed, as in `NaiveBayes`; by default it is not.
    class_prior
        `"counted"`, `"uniform"`, or `{label: probability}`, which also declares the
        classes.
    half_life
        The number of learned events after which a sample weighs half; None never forgets.
    variance
        None keeps a variance for each class and feature; `"classes"` shares it over classes, `"features"` over
        features, `"both"` over both.
    variance_floor
        No variance is below this share of the feature's variance over all classes.
    schema, memory_budget
        As in `NaiveBayes`.

    Notes
    -----
    Promises: equal to 1e-9 of the largest magnitude held in any order, split, merge, and after unlearning.
    Memory: 32 bytes for each class and feature (40 with fractional weights or fading).

    Examples
    --------
    >>> from stream_bayes import GaussianNB
    >>> model = GaussianNB()
    >>> for x, y in [(1.0, "low"), (2.0, "low"), (8.0, "high"), (9.0, "high")]:
    ...     model.learn_one({"x": x}, y)
    >>> model.predict_one({"x": 1.7})
    'low'
    >>> model.conditional("x", given={"class": "high"})
    {'mean': 8.5, 'sd': 0.707...}
    """

    inputs: ClassVar[frozenset[str]] = frozenset({"numeric"})
    only = "numeric"

    def __init__(
        self,
        prior: str = "laplace",
        strength: float = 0.0,
        class_prior: Any = "counted",
        half_life: float | None = None,
        variance: str | None = None,
        variance_floor: float = 1e-9,
        schema: Schema | None = None,
        memory_budget: int | None = None,
    ) -> None:
        super().__init__(
            prior, strength, class_prior, half_life, variance, variance_floor, schema, None, memory_budget
        )
