"""LDA and QDA as readings: saving what is derived, and the discriminant axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.readings._discriminant import DiscriminantReading
from stream_bayes.core.readings.state import load_clock, load_slot
from stream_bayes.errors import BadState

__all__ = ["Discriminant"]

Floats = NDArray[np.float64]


class Discriminant(DiscriminantReading):
    """A multivariate Gaussian for each class: one covariance for all classes, or one for each."""

    def derived_state(self) -> dict[str, Any]:
        """Return the deviations and the lower triangles of the correlations, group by group."""
        features = len(self.slots)
        deviation = np.asarray(self.deviation).reshape(self.groups, features)
        correlation = np.asarray(self.correlation).reshape(self.groups, features, features)
        below = np.tril_indices(features, -1)
        return {
            "due": self.due,
            "slots": np.asarray(self.slots).tolist(),
            "deviations": deviation.tolist(),
            "correlations": [matrix[below].tolist() for matrix in correlation],
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        """Continue from what `derived_state` returned; the factors are computed from it."""
        due = load_clock(saved["due"])
        measured = int(self.tables.gaussians.features)
        slots = [load_slot(slot, measured) for slot in saved["slots"]]
        if slots != sorted(set(slots)):
            raise BadState("the state does not fit: the derived features are not in their order")
        groups, features = len(saved["deviations"]), len(slots)
        most = min(1, self.tables.labels) if self.shares_covariance else int(self.tables.labels)
        if groups > max(most, 1) or len(saved["correlations"]) != groups:
            raise BadState(f"the state does not fit: it has {groups} covariances for {most} classes")
        deviation = _numbers(saved["deviations"], (groups, features))
        below = _numbers(saved["correlations"], (groups, features * (features - 1) // 2))
        if not (deviation > 0.0).all() or not (np.abs(below) <= 1.0).all():
            raise BadState("the state does not fit: a matrix is not a covariance")
        correlation = np.zeros((groups, features, features))
        correlation[:, *np.tril_indices(features, -1)] = below
        correlation += correlation.transpose(0, 2, 1)
        correlation[:, range(features), range(features)] = 1.0
        self.restore(np.array(slots, np.longlong), groups, deviation.reshape(-1), correlation.reshape(-1))
        self.due = due

    def after_merge(self) -> None:
        self.derive()

    def axes(self) -> tuple[Floats, Floats]:
        """Return the mean of each derived feature over all classes, and the discriminant axes, a column each.

        The axes are the directions in which the classes' means differ most, in units of the deviation within classes,
        by falling difference. The largest component of an axis is positive.
        """
        tables = self.tables
        slots, features = np.asarray(self.slots), len(self.slots)
        classes = np.flatnonzero(np.asarray(tables.class_samples)[: tables.labels] > 0.0)
        moments = tables.gaussians
        weight = np.asarray(moments.weight).reshape(-1, moments.classes)[np.ix_(slots, classes)]
        moments.settle_all()
        mean, rest = (
            np.asarray(table).reshape(-1, moments.classes)[np.ix_(slots, classes)]
            for table in (moments.mean, moments.mean_rest)
        )
        center = np.take_along_axis(mean, weight.argmax(axis=1)[:, None], axis=1)
        away = (mean - center) + rest
        overall = (weight * away).sum(axis=1) / weight.sum(axis=1)
        away = np.where(weight > 0.0, away - overall[:, None], 0.0)
        overall += center[:, 0]
        deviation = np.asarray(self.deviation)[:features]
        factor = np.linalg.cholesky(np.asarray(self.correlation)[: features**2].reshape(features, features))
        prior = np.asarray(tables.class_weight)[classes]
        whitened = np.linalg.solve(factor, away / deviation[:, None]) * np.sqrt(prior / prior.sum())
        directions, size, _ = np.linalg.svd(whitened, full_matrices=False)
        chosen = size > 1e-9 * max(float(size[0]), 1e-300) if len(size) else size > 0.0
        chosen[len(classes) - 1 :] = False  # the means of c classes lie in c - 1 dimensions
        axes = np.linalg.solve(factor.T, directions[:, chosen]) / deviation[:, None]
        largest = np.argmax(np.abs(axes * deviation[:, None]), axis=0)
        return overall, axes * np.sign(axes[largest, range(axes.shape[1])])


def _numbers(saved: Any, shape: tuple[int, int]) -> Floats:
    """Return rows of finite numbers out of a state, or raise `BadState`."""
    array = np.array(saved, np.float64).reshape(shape) if shape[0] and shape[1] else np.zeros(shape)
    if len(saved) != shape[0] or any(len(row) != shape[1] for row in saved) or not np.isfinite(array).all():
        raise BadState("the state does not fit: what was derived has other features")
    return array
