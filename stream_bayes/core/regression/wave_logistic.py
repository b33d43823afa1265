"""Logistic regression on waves as a reading: its saved state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_bayes.core.readings.state import load_clock
from stream_bayes.core.regression._wave_logistic import MOST_COLUMN_COUNT, WAVES, WaveLogisticReading
from stream_bayes.core.values.checks import expect

__all__ = ["WAVES", "WaveLogistic", "wave_posterior_bytes"]

_KEYS = {"columns", "moments", "mean", "covariance", "classes", "clock"}


def wave_posterior_bytes(features: int, columns: int, labels: int) -> int:
    """Return the bytes of the posterior over the coefficients of a number of columns, and of the waves."""
    columns = min(columns, MOST_COLUMN_COUNT)
    size = 1 + WAVES + 2 * columns  # room is doubled
    return 8 * (size * (size + labels) + 2 * columns * (WAVES + 6))


class WaveLogistic(WaveLogisticReading):
    """The posterior of a logistic regression on numbers, values and waves: normal, with one covariance for all."""

    def derived_state(self) -> dict[str, Any]:
        """Return columns, moments of numbers, means, and the lower triangle of the covariance."""
        size = self.size
        covariance = np.asarray(self.covariance)[:size, :size]
        return {
            "columns": [[int(self.slot[j]), int(self.code[j])] for j in range(self.columns)],
            "moments": [
                [float(self.count[j]), float(self.center[j]), float(self.variance[j])]
                for j in range(self.columns)
            ],
            "mean": np.asarray(self.mean)[:, :size].tolist(),
            "covariance": covariance[np.tril_indices(size)].tolist(),
            "classes": int(self.classes),
            "clock": int(self.faded_at),
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        """Continue from what `derived_state` returned; the counts are loaded already."""
        expect(set(saved) == _KEYS, "it holds no posterior of a logistic regression on waves")
        numbers, layout = int(self.tables.gaussians.features), self.tables.values.layout
        expect(len(saved["columns"]) <= MOST_COLUMN_COUNT, "it has more columns than there may be")
        for slot, code in saved["columns"]:
            expect(type(slot) is int and type(code) is int, "a column is no pair of codes")
            is_number = code == -1 and 0 <= slot < numbers
            is_value = 0 <= slot < layout.features and 0 <= code < layout.used[slot]
            expect(is_number or is_value, "a column has no feature")
            expect((slot, code) not in self.column_of, "two columns are the same")
            self.add_column(slot, code)
        size = self.size
        moments = np.array(saved["moments"], float).reshape(-1, 3)
        expect(len(moments) == self.columns, "its moments are of other columns")
        is_moment = np.isfinite(moments).all() and (moments[:, [0, 2]] >= 0.0).all()
        expect(bool(is_moment), "the moments of a number are none")
        classes = saved["classes"]
        expect(
            type(classes) is int and 0 <= classes <= len(self.labels), "it has more classes than were named"
        )
        mean, lower = np.array(saved["mean"], float).reshape(-1, size), np.array(saved["covariance"], float)
        expect(len(mean) == classes and bool(np.isfinite(mean).all()), "its means are of other columns")
        is_triangle = lower.shape == (size * (size + 1) // 2,) and np.isfinite(lower).all()
        expect(bool(is_triangle), "its covariance is of other columns")
        whole = np.zeros((size, size))
        whole[np.tril_indices(size)] = lower
        whole += np.tril(whole, -1).T
        expect(bool((np.diagonal(whole) >= 0.0).all()), "a variance is below 0")
        clock = load_clock(saved["clock"])
        expect(clock <= int(self.tables.clock), "it has faded more events than were learned")
        self.make_room(classes)
        np.asarray(self.mean)[:, :size], np.asarray(self.covariance)[:size, :size] = mean, whole
        self.faded_at = clock
        for j, (count, center, variance) in enumerate(moments.tolist()):
            self.count[j], self.center[j], self.variance[j] = count, center, variance
