"""LDA and QDA: Gaussians of all numeric features together, with their correlations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.draws.drawn_tables import DiscriminantTables
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.readings._reading import Reading
from stream_bayes.core.readings.discriminant import Discriminant
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, NotSupported
from stream_bayes.learners.base.arguments import check_choice, check_number
from stream_bayes.learners.base.base import X
from stream_bayes.learners.base.feature_tables import FeatureTables
from stream_bayes.learners.base.posteriors import NumberPosterior
from stream_bayes.learners.base.row_encoder import row_encoder
from stream_bayes.learners.classifiers.naive_bayes import PREDICTIVE, ClassTables

__all__ = ["LDA", "QDA"]


class _DiscriminantAnalysis(ClassTables):
    """A classifier by a multivariate Gaussian for each class; nominal features as in naive Bayes. For the arguments see
    `LDA`.
    """

    additive: ClassVar[bool] = False
    inputs: ClassVar[frozenset[str]] = frozenset({"nominal", "numeric"})
    tables_to_draw = DiscriminantTables
    shares_covariance: ClassVar[bool]
    reading: Discriminant

    def __init__(
        self,
        shrinkage: str | float = "oas",
        ddof: float = 0.0,
        prior: str = "laplace",
        strength: float = 1.0,
        class_prior: Any = "counted",
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
        predictive: str = "student-t",
    ) -> None:
        self.shrinkage = shrinkage
        self.predictive = predictive
        self.ddof = ddof
        self.prior = prior
        self.strength = strength
        is_share = isinstance(shrinkage, (int, float)) and not isinstance(shrinkage, bool)
        if shrinkage != "oas" and not (is_share and 0.0 <= float(shrinkage) <= 1.0):
            raise BadValue(f"shrinkage must be 'oas' or a number from 0 to 1, not {shown(shrinkage)}")
        check_choice("predictive", predictive, PREDICTIVE)
        check_number("ddof", ddof)
        if ddof > 1:
            raise BadValue(f"ddof must be at most 1, not {shown(ddof)}")
        check_choice("prior", prior, ("laplace", "m-estimate"))
        check_number("strength", strength)
        super().__init__(class_prior, half_life, schema, max_values, memory_budget)

    def _make_store(self, labels: Vocabulary) -> CountStore:
        encoder = row_encoder(labels, self.schema, self.max_values)
        encoder.refuses_bags = True
        return CountStore(
            encoder, half_life=self.half_life, memory_budget=self.memory_budget, co_moments=True
        )

    def _make_reading(self, store: CountStore, class_prior: str) -> Reading:
        return Discriminant(
            store.tables,
            store.encoder.labels,
            self.shares_covariance,
            -1.0 if self.shrinkage == "oas" else float(self.shrinkage),
            class_prior=class_prior,
            strength=self.strength,
            prior_strength=self.strength,
            spread=self.prior == "m-estimate",
            ddof=self.ddof,
            student=self.predictive == "student-t",
        )

    def _table_posterior(self, feature: Any, label: Any, rest: Mapping[Any, Any]) -> Any:
        if rest:
            raise self._no_table(rest)
        tables = FeatureTables(self.store, self.reading)
        if not tables.feature(feature).numeric:
            return self._by_class(label, lambda y: tables.posterior_given_class(feature, y))
        posterior = self.counted_tables()
        slot, labels = tables.feature(feature).slot, self.store.encoder.labels
        if posterior.numbers is None or not posterior.numbers.has(slot):
            raise NotSupported(f"no event with {shown(feature)} has been learned: it has no posterior yet")
        numbers = posterior.numbers
        return self._by_class(
            label, lambda y: NumberPosterior(*numbers.of_one(slot, posterior.live.index(labels.find(y))))
        )


class LDA(_DiscriminantAnalysis):
    """Linear discriminant analysis: a multivariate Gaussian for each class, with one covariance for all classes.

    Numbers may depend on one another, as they do not in `NaiveBayes`; the boundaries between classes are linear. A
    missing number is integrated out. Strings, bytes, bools and tuples are nominal, and independent of all other
    features given the class.

    Parameters
    ----------
    shrinkage
        The share of the correlations that is replaced by none: a number from 0 to 1, or `"oas"`, the oracle
        approximating shrinkage (Chen, Wiesel, Eldar and Hero, 2010), which falls as more is learned.
        Singular correlations are shrunk until they are regular, with any setting.
    ddof
        Plug-in: the divisor of a covariance is the weight minus this number for each class: 0 is maximum likelihood,
        1 unbiased.
    prior, strength
        Smoothing of P(y) and of nominal features, as in `NaiveBayes`.
    class_prior
        `"counted"`, `"uniform"`, or `{label: probability}`, which also declares the classes.
    half_life
        The number of learned events after which a sample weighs half; None never forgets. Or a duration in stream time,
        such as `"7d"`: a sample then weighs by its own time, `at`, and the order of samples changes nothing.
    schema, max_values, memory_budget
        As in `NaiveBayes`.
    predictive
        `"student-t"`: the density of the numbers is a multivariate Student's t, which integrates over means and
        covariance under a normal-inverse-Wishart prior, so that few events are no certainty. `"plug-in"`: the Gaussian
        of the estimates.

    Notes
    -----
    Means are read from the counts at each prediction. The covariance is derived from the running moments whenever the
    events have grown by a hundredth, or by `rederive()`. The prior has the mean, of a weight of 0.1, and the variances
    over all classes, worth one sample. `LDA(predictive="plug-in", shrinkage=0.0)` has the probabilities of
    scikit-learn's `LinearDiscriminantAnalysis` over the same samples.

    Promises: moments and probabilities are equal to 1e-9 of themselves in any order, split, merge, and after
    unlearning, also of numbers of up to 1e18 times the deviation of the others, once rederived. With d numeric
    features, learning and predicting cost d^2, a derivation d^3; memory is 24 bytes for each class and pair of numeric
    features, 96 where samples lack numbers.

    Examples
    --------
    >>> from stream_bayes import LDA
    >>> model = LDA(shrinkage=0.0)
    >>> for k in range(8):
    ...     model.learn_one({"a": k, "b": k + 0.6 + 0.1 * (k % 3)}, "up")
    ...     model.learn_one({"a": k, "b": k - 0.6 - 0.1 * (k % 3)}, "down")
    >>> model.predict_one({"a": 9, "b": 9.5}), model.predict_one({"a": 9, "b": 8.5})
    ('up', 'down')
    """

    shares_covariance = True

    def transform_one(self, x: X) -> dict[str, float]:
        """Return the coordinates of an event on the discriminant axes, `{"LD1": ..., "LD2": ...}`.

        The axes are the directions in which the classes differ most, one less than classes at most; a unit is the
        deviation within the classes. Nominal features are left out, and an absent number counts as its mean.
        """
        row = self.store.encoder.lookup(x)
        numbers = {int(row.numeric_feature[k]): float(row.number[k]) for k in range(row.numbers)}
        mean, axes = self.reading.axes()
        slots = np.asarray(self.reading.slots).tolist()
        away = np.array([numbers.get(slot, m) - m for slot, m in zip(slots, mean, strict=True)])
        return {f"LD{number}": float(value) for number, value in enumerate(away @ axes, 1)}


class QDA(_DiscriminantAnalysis):
    """Quadratic discriminant analysis: a multivariate Gaussian for each class, each with a covariance of its own.

    The boundaries between classes are quadratic. Plug-in, a class with a weight of 1 or
    less has the covariance of all classes.

    Parameters
    ----------
    shrinkage
        The share of the correlations pooled over classes that is replaced by none: a number from 0 to 1, or `"oas"`.
        Plug-in: the share of each class's correlations, and with `"oas"` a class's variances also count one sample of
        the variance pooled over classes.
    ddof, prior, strength, class_prior, half_life, schema, max_values, memory_budget, predictive
        As in `LDA`.

    Notes
    -----
    As for `LDA`, with d^2 for each class where `LDA` predicts. The prior of a class's covariance is that of `LDA`,
    worth d samples. `QDA(predictive="plug-in", shrinkage=0.0)` has the probabilities of scikit-learn's
    `QuadraticDiscriminantAnalysis` over the same samples.

    Examples
    --------
    >>> from stream_bayes import QDA
    >>> model = QDA()
    >>> for k in range(20):
    ...     model.learn_one({"x": k % 5 - 2.0}, "near")
    ...     model.learn_one({"x": 4.0 * (k % 5 - 2.0) + 0.5}, "far")
    >>> model.predict_one({"x": 0.0}), model.predict_one({"x": -8.0})
    ('near', 'far')
    """

    shares_covariance = False
