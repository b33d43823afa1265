"""Naive Bayes over named features, nominal and numeric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.draws.drawn_tables import CountedTables
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._naive_bayes import ValueReading
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, NotSupported
from stream_bayes.learners.base.arguments import check_choice, check_number, warn_of_moved_numbers
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.binning import Binning, bins_for, cuts_of, has_open_cuts
from stream_bayes.learners.base.evidence import evidence_of_names
from stream_bayes.learners.base.feature_tables import FeatureTables
from stream_bayes.learners.base.row_encoder import row_encoder
from stream_bayes.learners.base.traits import Traits
from stream_bayes.learners.base.unlabelled import LearnsUnlabelled

__all__ = ["GaussianNB", "NaiveBayes"]

PREDICTIVE = ("student-t", "plug-in")
PLUG_IN_HAS_NO_DRAWS = (
    "predictive='plug-in' is certain of means and variances; with 'student-t' they are drawn"
)
SHARED_VARIANCE = {None: 0, "classes": 1, "features": 2, "both": 3}


def _binning_of(numbers: object) -> Binning | None:
    """Return the binning given by an argument `numbers=`; None for Gaussians."""
    if isinstance(numbers, Binning):
        return numbers
    check_choice("numbers", numbers, ("gaussian", "bins"))
    return Binning() if numbers == "bins" else None


class ClassTables(BayesClassifier):
    """A classifier with a table of each feature for each class: of names, or the mean and variance of a number."""

    predictive: str

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
        `{value: probability}` for a nominal feature; `{"mean": m, "sd": s}` for a numeric one, as plug-in predictions
        use them.
        """
        tables = FeatureTables(self.store, self.reading)
        return self._by_class(self._given_label(given), lambda y: tables.given_class(feature, y))

    def counted_tables(self) -> CountedTables:
        if self.predictive == "plug-in" and self.store.tables.gaussians.features:
            raise NotSupported(PLUG_IN_HAS_NO_DRAWS)
        return super().counted_tables()


class _GaussianOrCounted(ClassTables, LearnsUnlabelled):
    """A naive Bayes classifier over named features: nominal ones counted, numeric ones Gaussian. For the arguments see
    `NaiveBayes`.
    """

    only: ClassVar[str | None] = None  # the only kind of features it takes
    tables_to_draw = CountedTables
    reading: ValueReading

    def __init__(
        self,
        prior: str,
        strength: float,
        class_prior: Any,
        half_life: float | str | None,
        predictive: str,
        ddof: float,
        variance: str | None,
        variance_floor: float,
        schema: Schema | None,
        max_values: int | None,
        memory_budget: int | None,
        numbers: str | Binning = "gaussian",
    ) -> None:
        self.prior = prior
        self.strength = strength
        self.predictive = predictive
        self.ddof = ddof
        self._binning = _binning_of(numbers)
        check_choice("predictive", predictive, PREDICTIVE)
        check_number("ddof", ddof)
        if ddof > 1:
            raise BadValue(f"ddof must be at most 1, not {shown(ddof)}")
        self.variance = variance
        self.variance_floor = variance_floor
        check_choice("prior", prior, ("laplace", "m-estimate"))
        check_number("strength", strength)
        check_choice("variance", variance, tuple(SHARED_VARIANCE))
        check_number("variance_floor", variance_floor)
        super().__init__(class_prior, half_life, schema, max_values, memory_budget)

    def _make_store(self, labels: Vocabulary) -> CountStore:
        bins, settings = bins_for(self.schema, self._binning)
        encoder = row_encoder(labels, self.schema, self.max_values, self.only, bins)
        return CountStore(
            encoder,
            half_life=self.half_life,
            memory_budget=self.memory_budget,
            binning=settings,
            on_moved=warn_of_moved_numbers,
        )

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
            ddof=self.ddof,
            student=self.predictive == "student-t",
        )

    def _table_posterior(self, feature: Any, label: Any, rest: Mapping[Any, Any]) -> Any:
        if rest:
            raise self._no_table(rest)
        tables = FeatureTables(self.store, self.reading)
        return self._by_class(label, lambda y: tables.posterior_given_class(feature, y))

    def log_evidence(self) -> float:
        """Return the log-probability of everything learned, tables integrated out.

        It is the sum of log P(y, x) of all events, each before it was learned, in any order; absent features are left
        out. All features and classes are names that the schema declares, weights are whole, and nothing fades.

        Examples
        --------
        >>> from math import exp
        >>> from stream_bayes import NaiveBayes, Nominal, Schema
        >>> model = NaiveBayes(schema=Schema({"sky": Nominal(["grey", "blue"])}, classes=["rain", "dry"]))
        >>> model.learn_one({"sky": "grey"}, "rain")  # 1/2 * 1/2
        >>> model.learn_one({"sky": "grey"}, "rain")  # 2/3 * 2/3
        >>> round(exp(model.log_evidence()), 6), round(1 / 4 * 4 / 9, 6)
        (0.111111, 0.111111)
        """
        return evidence_of_names(self)

    def joint(self, feature: Any = ...) -> dict[Any, Any]:
        """Return P(y), or P(y, feature) as `{label: {value: probability}}`, smoothed over all its cells together."""
        if feature is ...:
            return self.class_prior_
        return FeatureTables(self.store, self.reading).joint(feature, self.classes_)

    @property
    def traits(self) -> Traits:
        learns = self._binning is not None and has_open_cuts(self.schema)
        return super().traits._replace(is_mergeable=not self.store.cuts_move, learns_cut_points=learns)


class NaiveBayes(_GaussianOrCounted):
    """Naive Bayes over nominal and numeric features in one model.

    Strings, bytes, bools and tuples are nominal and counted; ints and floats are numeric and modelled by a Gaussian for
    each class, or counted in bins, unless a schema overrides this. A missing value, None, NaN or absent, is left out of
    the counts and of the prediction; so is a value that was never learned.

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
        The number of learned events after which a sample weighs half; None never forgets. Or a duration in stream time,
        such as `"7d"`: a sample then weighs by its own time, `at`, and the order of samples changes nothing.
    predictive
        The density of a number given its class. `"student-t"` integrates over mean and variance, under a prior from the
        feature's mean and variance over all classes, and expects one sample more from that prior: no number rules out
        a class. `"plug-in"` is the Gaussian of the class's mean and variance.
    ddof
        Plug-in: the divisor of a variance is the weight minus this number: 1 is unbiased, 0 maximum likelihood.
    variance
        None keeps a variance for each class and numeric feature; `"classes"` shares it over classes, `"features"` over
        features, `"both"` over both.
    variance_floor
        Plug-in: no variance is below this share of the feature's variance over all classes.
    schema
        The features and the classes; without one they are added as they come.
    max_values
        The number of values of a feature after which new ones share one code.
    memory_budget
        The most bytes to take; growth past it raises `BudgetExceeded` and learns nothing.
    numbers
        `"gaussian"`, or `"bins"`: numbers are counted in bins, whose cut points are found in the stream, as `AODE` does
        by default. A `Binning(...)` sets how. Bins fit any distribution, Gaussians need fewer samples.
    unlabelled
        The treatment of `learn_one(x, None)`: `"refuse"` raises an error; `"em"` (expectation maximisation) counts the
        newest 3,000 events without a label in every class with its probability, if and as much as that predicts the
        newest labels better. The counts of labelled events stay exact. Not with `half_life`.

    Notes
    -----
    With n, m and M2 the weight, mean and squared deviations of a class, m_0 and v_0 the mean and variance over all
    classes, and k = 0.1 + n, the density of a number x by `"student-t"` is (n t_n(x) + t_0(x)) / (n + 1). t_n has n + 1
    degrees of freedom, location (0.1 m_0 + n m) / k and squared scale (v_0 + M2 + 0.1 n (m - m_0)^2 / k) / (n + 1) *
    (1 + 1 / k); t_0 is the same with n = 0. While a feature has had a single value, its magnitude stands in for the
    deviation, and n is the weight of all classes, so that it does not separate two classes that both have the feature.

    Presence of numbers by `"student-t"`: numbers that less than half of the samples have are taken as a sparse bag. A
    sample with the sparse numbers F has the factor prod_F p_f (n_yf + 1) / (n_y p_f + 1) * exp(-(N_y + L) / (n_y + 1)).
    n_yf is the weight of a class's samples with the number f, n_y that of all its samples, p_f the share of all samples
    with f, N_y the sum of n_yf over sparse f, and L the average of sparse numbers a sample.

    Promises: with nominal features, whole weights, no `max_values` and no fading, learning online, in batches, in any
    order, in shards that are merged, and unlearning give equal counts, exactly. Numeric features
    give moments and probabilities that are equal to 1e-9 of themselves, also after learning and unlearning numbers of
    up to 1e18 times the deviation of the others. Fractional weights and fading give counts equal to 1e-9 of the
    largest weight held. A sample costs time in proportion to its features; by `"student-t"` a prediction also sums
    the weights of all numeric features. Memory is 8 bytes for each class and value, 120 for each class and numeric
    feature, and about 40 for each value's name.

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
        half_life: float | str | None = None,
        predictive: str = "student-t",
        ddof: float = 1.0,
        variance: str | None = None,
        variance_floor: float = 1e-9,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
        numbers: str | Binning = "gaussian",
        unlabelled: str = "refuse",
    ) -> None:
        self.numbers = numbers
        self.unlabelled = unlabelled
        super().__init__(
            prior,
            strength,
            class_prior,
            half_life,
            predictive,
            ddof,
            variance,
            variance_floor,
            schema,
            max_values,
            memory_budget,
            numbers,
        )

    @property
    def binning(self) -> Binning | None:
        """The settings of the bins; None for Gaussians."""
        return self._binning

    @property
    def cuts_(self) -> dict[Any, tuple[float, ...]]:
        """The lower edges of each numeric feature's bins, except the first; empty for Gaussians."""
        return cuts_of(self.store.encoder)


class GaussianNB(_GaussianOrCounted):
    """Naive Bayes over numeric features, each a Gaussian for each class.

    By default the density of a number is a Student's t, as in `NaiveBayes`. With `predictive="plug-in"` it is the
    Gaussian of variance M2 / (W - ddof), as in scikit-learn (`ddof=0`) and River (`ddof=1`): a class with a weight of
    `ddof` or less uses the variance pooled over classes; a class that never had the feature, the mean and variance of
    all classes together. With Student's t, a number that fewer than half of the samples have also counts as a
    feature by being there or not.

    Parameters
    ----------
    prior, strength
        How P(y) is smoothed, as in `NaiveBayes`; by default it is not.
    class_prior
        `"counted"`, `"uniform"`, or `{label: probability}`, which also declares the
        classes.
    half_life
        The number of learned events after which a sample weighs half; None never forgets. Or a duration in stream time,
        such as `"7d"`: a sample then weighs by its own time, `at`, and the order of samples changes nothing.
    predictive, ddof, variance, variance_floor, schema, memory_budget
        As in `NaiveBayes`.

    Notes
    -----
    Promises: moments and probabilities are equal to 1e-9 of themselves in any order, split, merge, and after
    unlearning, also of numbers of up to 1e18 times the deviation of the others.
    Memory: 120 bytes for each class and feature (128 with fractional weights or fading).

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
        half_life: float | str | None = None,
        predictive: str = "student-t",
        ddof: float = 1.0,
        variance: str | None = None,
        variance_floor: float = 1e-9,
        schema: Schema | None = None,
        memory_budget: int | None = None,
    ) -> None:
        super().__init__(
            prior,
            strength,
            class_prior,
            half_life,
            predictive,
            ddof,
            variance,
            variance_floor,
            schema,
            None,
            memory_budget,
        )
