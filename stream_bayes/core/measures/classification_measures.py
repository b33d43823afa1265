"""Accuracy, kappa, log-loss and further measures, computed from the sums of a tally.

With p the accuracy, the three kappas are the shares of a simple predictor's mistakes that were avoided:

    kappa    (p - p_c) / (1 - p_c)   p_c: chance, which predicts each label as often as it was predicted here
    kappa-M  (p - p_m) / (1 - p_m)   p_m: the majority class so far
    kappa-T  (p - p_e) / (1 - p_e)   p_e: no change, the previous label

after Cohen (1960), Bifet et al. (2015) and Zliobaite et al. (2015).
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from numpy.typing import NDArray

from stream_bayes.core.measures.calibration import Reliability
from stream_bayes.core.measures.ranking import AnyRanking
from stream_bayes.core.measures.tally import SUMS, Tally
from stream_bayes.core.values.values import OTHER
from stream_bayes.errors import BadValue

__all__ = ["Measures"]

Interval = tuple[float, float]

ROUNDING = 1e-12  # a smaller share of mistakes is due to rounding


class Measures:
    """The measures of a predictor over the events of a tally.

    A measure that is undefined is NaN: all of them before any event, a kappa if the simple predictor makes no mistakes,
    the area under a curve if there is only one label. Weights are repeat counts; if they differ or fade, intervals use
    the effective number of events, (sum of w)^2 / sum of w^2. `tally` has the sums, which are read when a measure is
    computed. `labels` are in the order of their codes. `ranking` has the areas under the ROC curves. `unit` is the
    weight of a fresh event of weight 1 in the sums.
    """

    def __init__(self, tally: Tally, labels: list[Any], ranking: AnyRanking, unit: float = 1.0) -> None:
        self._tally = tally
        self._labels = labels
        self._ranking = ranking
        self._unit = unit
        self._sums = dict(zip(SUMS, tally.sums.tolist(), strict=True))

    # -- weight -------------------------------------------------------------------------------------------------------

    @property
    def weight(self) -> float:
        """The weight of the events, in fresh events."""
        return self._sums["weight"] / self._unit

    @property
    def effective_events(self) -> float:
        """The number of events of equal weight with the same information (Kish, 1965)."""
        squared = self._sums["weight_squared"]
        return self._sums["weight"] ** 2 / squared if squared else 0.0

    # -- predicted labels ---------------------------------------------------------------------------------------------

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return self._mean("right")

    def accuracy_interval(self, level: float = 0.95) -> Interval:
        """Return Wilson's interval (1927) of the accuracy."""
        p, n, z = self.accuracy, self.effective_events, _quantile(level)
        if not n:
            return math.nan, math.nan
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def majority_accuracy(self) -> float:
        """The accuracy of predicting the most frequent label so far; ties go to the one seen first."""
        return self._mean("majority")

    @property
    def no_change_accuracy(self) -> float:
        """The accuracy of predicting the previous label."""
        return self._mean("no_change")

    @property
    def undecided(self) -> float:
        """The share of answers that are no label, such as "unsure"; they are no correct predictions."""
        return self._mean("undecided")

    @property
    def kappa(self) -> float:
        """Cohen's kappa: the share of the mistakes of chance that was avoided.

        Chance is not right about labels past the limit, which share a row of the tables.
        """
        codes = [code for code, label in enumerate(self._labels) if label is not OTHER]
        actual, predicted, _ = self._tally.by_label[:, codes]
        total = self._sums["weight"]
        chance = float((actual * predicted).sum()) / total / total if total else math.nan
        return self._better_than(chance)

    @property
    def kappa_m(self) -> float:
        """Kappa-M: the share of the mistakes of the majority class that was avoided."""
        return self._better_than(self.majority_accuracy)

    @property
    def kappa_t(self) -> float:
        """Kappa-T: the share of the mistakes of predicting the previous label that was avoided."""
        return self._better_than(self.no_change_accuracy)

    @property
    def weight_by_label(self) -> dict[Any, float]:
        """The weight of the events of each label, in fresh events; the most frequent label first."""
        weights = zip(self._labels, (self._tally.by_label[0] / self._unit).tolist(), strict=True)
        return dict(sorted(weights, key=lambda pair: -pair[1]))

    @property
    def precision(self) -> dict[Any, float]:
        """The share of correct predictions of each label, among its predictions; without any it has none."""
        _, predicted, right = self._tally.by_label.tolist()
        return {label: r / p for label, p, r in zip(self._labels, predicted, right, strict=True) if p > 0}

    @property
    def recall(self) -> dict[Any, float]:
        """The share of correct predictions of each label, among its events; of a label that never came it has none."""
        actual, _, right = self._tally.by_label.tolist()
        return {label: r / a for label, a, r in zip(self._labels, actual, right, strict=True) if a > 0}

    @property
    def f1(self) -> dict[Any, float]:
        """F1 of each label that occurred or was predicted: the harmonic mean of precision and recall.

        Labels past the limit share a row, `<other>`.
        """
        actual, predicted, right = self._tally.by_label.tolist()
        return {
            label: 2 * r / (a + p)
            for label, a, p, r in zip(self._labels, actual, predicted, right, strict=True)
            if a + p > 0
        }

    @property
    def macro_f1(self) -> float:
        """The mean of `f1` over its labels."""
        return _mean(list(self.f1.values()))

    # -- predicted probabilities --------------------------------------------------------------------------------------

    @property
    def log_loss(self) -> float:
        """The mean of -log P(true label), in natural units."""
        return self._mean("log_loss")

    def log_loss_interval(self, level: float = 0.95) -> Interval:
        """Return the normal interval of the log-loss; NaN for fewer than two events."""
        n, mean, z = self.effective_events, self.log_loss, _quantile(level)
        if n <= 1:
            return math.nan, math.nan
        variance = max(0.0, self._mean("log_loss_squared") - mean * mean) * n / (n - 1)
        half = z * math.sqrt(variance / n)
        return mean - half, mean + half

    @property
    def brier(self) -> float:
        """The mean Brier score: squared distances between probabilities and truth, summed over all labels (0 to 2)."""
        return self._mean("brier")

    @property
    def roc_auc(self) -> float:
        """The mean of `roc_auc_by_label`. With two labels whose probabilities add up to 1, both areas are equal."""
        return _mean(list(self.roc_auc_by_label.values()))

    @property
    def roc_auc_by_label(self) -> dict[Any, float]:
        """The area under the ROC curve of each label against the rest, if both occurred."""
        areas, _ = self._ranking.areas()
        return self._defined(areas)

    @property
    def roc_auc_error(self) -> float:
        """The largest error of `roc_auc` due to counting scores in bins."""
        _, errors = self._ranking.areas()
        return _mean(list(self._defined(errors).values()))

    @property
    def calibration_error(self) -> float:
        """The expected calibration error of the probability of the predicted label, over ten bins."""
        return self._tally.calibration.error()

    @property
    def reliability(self) -> list[Reliability]:
        """The bins of the calibration error, for a reliability diagram."""
        return self._tally.calibration.diagram()

    # -- all measures -------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, float | None]:
        """Return every scalar measure by name; None, for JSON, if it is undefined."""
        names = (
            "accuracy",
            "kappa",
            "kappa_m",
            "kappa_t",
            "log_loss",
            "brier",
            "roc_auc",
            "macro_f1",
            "calibration_error",
        )
        values = {name: getattr(self, name) for name in names}
        return {name: None if math.isnan(value) else value for name, value in values.items()}

    def _mean(self, of: str) -> float:
        total = self._sums["weight"]
        return self._sums[of] / total if total else math.nan

    def _better_than(self, simple: float) -> float:
        """Return the share of a simple predictor's mistakes that was avoided."""
        mistakes = 1.0 - simple
        return (self.accuracy - simple) / mistakes if mistakes > ROUNDING else math.nan

    def _defined(self, values: NDArray[Any]) -> dict[Any, float]:
        named = zip(self._labels, values.tolist(), strict=True)
        return {label: value for label, value in named if not math.isnan(value)}


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _quantile(level: float) -> float:
    """Return the half-width, in standard deviations, of an interval of this level."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
        raise BadValue(f"level lies between 0 and 1, not {level!r}")
    return NormalDist().inv_cdf((1.0 + level) / 2.0)
