"""Logistic regression as a reading: its saved state, and its coefficients by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings.state import load_clock
from stream_bayes.core.regression._logistic import LogisticReading, is_joint
from stream_bayes.core.values.checks import expect

__all__ = ["Coefficients", "Logistic", "posterior_bytes"]

Array = NDArray[np.float64]

_KEYS = {"joint", "columns", "units", "counts", "moments", "mean", "covariance", "clock", "turn"}


class Coefficients(NamedTuple):
    """The posterior of the classes' coefficients, which add up to 0 over the classes."""

    mean: Array  # [class, column]
    factor: Array  # a row for each class and column, so that factor @ factor.T is their covariance
    # The slot of each column's feature and the code of its value, -1 for a number; the first is 1 in all events.
    columns: list[tuple[int, int]]
    units: (
        Array  # [column]: the number that counts as 0, and the distance that counts as 1, 0.0 until it varies
    )


def posterior_bytes(features: int, columns: int, labels: int) -> int:
    """Return the bytes of the posterior over the coefficients of a number of columns, and of the one that is 1."""
    columns, contrasts = columns + 1, max(labels - 1, 0)
    size = columns * contrasts
    joint = is_joint(columns, contrasts)
    return 8 * (size * (size + contrasts + 1 if joint else 3) + 8 * columns)


class Logistic(LogisticReading):
    """The posterior of a logistic regression, normal, with a covariance of all coefficients or of each."""

    def __init__(self, tables: Tables, encoder: Encoder, strength: float, half_life: float) -> None:
        super().__init__(tables, encoder.labels, strength, half_life)
        self.encoder = encoder

    def arrange_columns(self) -> None:
        """Write to `order` the columns by the names of features and values; the one that is 1 comes first."""
        names = [repr(self.name_of(int(self.slot[j]), int(self.code[j]))) for j in range(1, self.columns)]
        ranked = sorted(range(1, self.columns), key=lambda j: names[j - 1])
        self.order = np.array([0, *ranked], np.longlong)

    def name_of(self, slot: int, code: int) -> Any:
        """Return the name of a number, or that of a nominal feature and the value."""
        if code < 0:
            return self.encoder.numeric[slot].name
        feature = self.encoder.nominal[slot]
        return feature.name, feature.vocabulary.values[code]

    def derived_state(self) -> dict[str, Any]:
        """Return columns, units, means, and the lower triangle of the covariance or its diagonal."""
        covariance = np.asarray(self.covariance)
        size, n = len(self.mean), self.columns
        if self.joint:
            covariance = covariance.reshape(size, size)[np.tril_indices(size)]
        return {
            "joint": bool(self.joint),
            "columns": [[int(self.slot[j]), int(self.code[j])] for j in range(1, n)],
            "units": [[float(self.center[j]), float(self.unit[j])] for j in range(1, n)],
            "moments": [
                [float(self.new_weight[j]), float(self.new_mean[j]), float(self.new_squares[j])]
                for j in range(1, n)
            ],
            "counts": [int(self.count[j]) for j in range(1, n)],
            "mean": np.asarray(self.mean).tolist(),
            "covariance": covariance.tolist(),
            "clock": int(self.faded_at),
            "turn": int(self.turn),
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        """Continue from what `derived_state` returned; the counts are loaded already."""
        expect(set(saved) == _KEYS, "it holds no posterior of a logistic regression")
        labels = self.labels
        samples = np.asarray(self.tables.class_samples)
        self.make_room(max(labels.declared, sum(bool(samples[y] > 0.0) for y in range(len(labels)))))
        numbers, layout = int(self.tables.gaussians.features), self.tables.values.layout
        for slot, code in saved["columns"]:
            expect(type(slot) is int and type(code) is int, "a column is no pair of codes")
            is_number = code == -1 and 0 <= slot < numbers
            is_value = 0 <= slot < layout.features and 0 <= code < layout.used[slot]
            expect(is_number or is_value, "a column has no feature")
            expect((slot, code) not in self.column_of, "two columns are the same")
            self.add_column_of(slot, code)
        self.arrange_columns()
        n, size = self.columns, self.columns * self.contrasts
        joint = bool(saved["joint"])
        expect(joint <= bool(self.joint), "it has more coefficients than a covariance of all may have")
        units = np.array(saved["units"], float).reshape(-1, 2)
        expect(len(units) == n - 1 and len(saved["counts"]) == n - 1, "its units are of other columns")
        expect(bool(np.isfinite(units).all() and (units[:, 1] >= 0.0).all()), "a unit is no number above 0")
        moments = np.array(saved["moments"], float).reshape(-1, 3)
        expect(len(moments) == n - 1 and bool(np.isfinite(moments).all()), "its moments are of other columns")
        expect(bool((moments[:, [0, 2]] >= 0.0).all()), "a moment is below 0")
        for j, (center, unit) in enumerate(units.tolist(), 1):
            self.center[j], self.unit[j] = center, unit
            self.count[j] = load_clock(saved["counts"][j - 1])
            self.new_weight[j], self.new_mean[j], self.new_squares[j] = moments[j - 1].tolist()
        mean, covariance = np.array(saved["mean"], float), np.array(saved["covariance"], float)
        expect(mean.shape == (size,) and bool(np.isfinite(mean).all()), "its means are of other columns")
        length = size * (size + 1) // 2 if joint else size
        expect(
            covariance.shape == (length,) and bool(np.isfinite(covariance).all()),
            "its covariance is of other columns",
        )
        if joint:
            whole = np.zeros((size, size))
            whole[np.tril_indices(size)] = covariance
            whole += np.tril(whole, -1).T
            variances, covariance = np.diagonal(whole), whole.ravel()
        else:
            variances = covariance
        expect(bool((variances >= 0.0).all()), "a variance is below 0")
        turn, clock = saved["turn"], load_clock(saved["clock"])
        expect(type(turn) is int and 0 <= turn < n, "its turn is at no column")
        expect(clock <= int(self.tables.clock), "it has faded more events than were learned")
        self.restore(joint, mean, covariance)
        self.turn, self.faded_at = turn, clock

    def coefficients(self) -> Coefficients:
        """Return the posterior of the coefficients of each class."""
        n, m = self.columns, self.contrasts
        contrasts = np.zeros((m + 1, m))
        for a in range(m):
            contrasts[: a + 1, a] = -1.0
            contrasts[a + 1, a] = a + 1.0
            contrasts[:, a] /= np.sqrt(2.0 * (a + 1.0) * (a + 2.0))
        mean = contrasts @ np.asarray(self.mean).reshape(m, n)
        covariance = np.asarray(self.covariance)
        if self.joint:
            values, directions = np.linalg.eigh(covariance.reshape(n * m, n * m))
            root = directions * np.sqrt(np.maximum(values, 0.0))
        else:
            root = np.diag(np.sqrt(covariance))
        factor = np.einsum("ya,ajk->yjk", contrasts, root.reshape(m, n, -1)).reshape((m + 1) * n, -1)
        columns = [(int(self.slot[j]), int(self.code[j])) for j in range(n)]
        units = np.stack([np.asarray(self.center)[:n], np.asarray(self.unit)[:n]], axis=1)
        return Coefficients(mean, factor, columns, units)
