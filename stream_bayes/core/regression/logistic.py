"""Logistic regression as a reading: its saved state, and its coefficients by column."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.readings.state import load_clock
from stream_bayes.core.regression._logistic import MOST_JOINT, WAVES, LogisticReading, block_columns, is_joint
from stream_bayes.core.values.checks import expect

__all__ = ["WAVES", "Coefficients", "DrawUniform", "Logistic", "posterior_bytes"]

Floats = NDArray[np.float64]

# Draws a number of uniform numbers by a seed, which is a list of whole numbers.
DrawUniform = Callable[[list[int], int], Floats]

_KEYS = {
    "joint",
    "columns",
    "units",
    "counts",
    "moments",
    "mean",
    "covariance",
    "tail",
    "clock",
    "turn",
    "settled",
    "inflation",
    "most_joint",
}


class Coefficients(NamedTuple):
    """The posterior of the classes' coefficients, which add up to 0 over the classes."""

    mean: Floats  # [class, column]
    contrasts: (
        Floats  # [class, contrast]: a class is this times the contrasts, whose covariance has the roots
    )
    root: Floats  # of all contrasts and columns, or of the first columns where the contrasts share it
    tail: Floats  # deviations of the other columns
    # The slot of each column's feature and the code of its value, -1 for a number; the first is 1 in all events.
    columns: list[tuple[int, int]]
    units: Floats  # [column]: the number that counts as 0, and the distance that counts as 1, 0.0 until it varies

    @property
    def is_shared(self) -> bool:
        """True if the contrasts share the covariance of their columns."""
        return bool(len(self.root) != self.contrasts.shape[1] * len(self.columns))

    def deviations(self) -> Floats:
        """Return the deviation of each coefficient, [class, column]."""
        if self.is_shared:
            of_columns = np.concatenate([np.sqrt((self.root**2).sum(axis=1)), self.tail])
            return np.outer(np.sqrt((self.contrasts**2).sum(axis=1)), of_columns)
        root = self.root.reshape(self.contrasts.shape[1], len(self.columns), -1)
        return np.sqrt((np.einsum("ya,ajk->yjk", self.contrasts, root) ** 2).sum(axis=2))

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Return coefficients drawn from the posterior, [class, column]."""
        m, n = self.contrasts.shape[1], len(self.columns)
        if self.is_shared:
            dense = rng.normal(size=(m, len(self.root))) @ self.root.T
            drawn = np.concatenate([dense, rng.normal(size=(m, len(self.tail))) * self.tail], axis=1)
        else:
            drawn = (self.root @ rng.normal(size=m * n)).reshape(m, n)
        return self.mean + self.contrasts @ drawn


def posterior_bytes(features: int, columns: int, labels: int, waves: int = 0) -> int:
    """Return the bytes of the posterior over the coefficients of a number of columns, of waves and of the 1."""
    columns, contrasts = 1 + waves + columns, max(labels - 1, 0)
    groups = contrasts if is_joint(columns, contrasts) else 1
    size = block_columns(columns, contrasts) * groups
    return 8 * (size * (size + groups) + columns * (contrasts + 11) + waves * columns)


class Logistic(LogisticReading):
    """The posterior of a logistic regression, normal. Without a seed there are no waves."""

    def __init__(
        self,
        tables: Tables,
        encoder: Encoder,
        strength: float,
        half_life: float,
        seed: int | None,
        uniform: DrawUniform,
    ) -> None:
        self.encoder = encoder

        def frequencies(slot: int, code: int) -> Floats:
            """Return those of a column, which its name alone decides: not the order in which columns come."""
            assert seed is not None
            # Box and Muller's normal numbers, as scipy, which has others, takes long to load.
            drawn = uniform([seed, zlib.crc32(repr(self.name_of(slot, code)).encode())], 2 * WAVES)
            radius: Floats = np.sqrt(-2.0 * np.log(drawn[:WAVES]))
            return radius * np.cos(2.0 * math.pi * drawn[WAVES:])

        phases = np.zeros(0) if seed is None else 2.0 * math.pi * uniform([seed], WAVES)
        super().__init__(tables, encoder.labels, strength, half_life, phases, frequencies)

    def in_order(self, added: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return columns that come with one event by their names."""
        return sorted(added, key=lambda column: repr(self.name_of(*column)))

    def name_of(self, slot: int, code: int) -> Any:
        """Return the name of a number, or that of a nominal feature and the value."""
        if code < 0:
            return self.encoder.numeric[slot].name
        feature = self.encoder.nominal[slot]
        return feature.name, feature.vocabulary.values[code]

    def derived_state(self) -> dict[str, Any]:
        """Return columns, units, means, and the lower triangle of the covariance or its diagonal with their factor."""
        size, n, first = self.groups * self.dense, self.columns, 1 + self.waves
        covariance = np.asarray(self.covariance).reshape(size, size)[np.tril_indices(size)]
        return {
            "joint": bool(self.joint),
            "columns": [[int(self.slot[j]), int(self.code[j])] for j in range(first, n)],
            "units": [[float(self.center[j]), float(self.unit[j])] for j in range(first, n)],
            "moments": [
                [float(self.new_weight[j]), float(self.new_mean[j]), float(self.new_squares[j])]
                for j in range(first, n)
            ],
            "counts": [int(self.count[j]) for j in range(first, n)],
            "mean": np.asarray(self.mean).tolist(),
            "covariance": covariance.tolist(),
            "tail": np.asarray(self.tail).tolist(),
            "inflation": float(self.inflation),
            "most_joint": int(self.most_joint),
            "clock": int(self.faded_at),
            "turn": int(self.turn),
            "settled": np.asarray(self.settled)[: self.columns].tolist(),
        }

    def load_derived(self, saved: Mapping[str, Any]) -> None:
        """Continue from what `derived_state` returned; the counts are loaded already."""
        expect(set(saved) == _KEYS, "it holds no posterior of a logistic regression")
        most_joint = saved["most_joint"]
        expect(type(most_joint) is int and 0 <= most_joint <= MOST_JOINT, "its covariance has another bound")
        self.most_joint = most_joint
        labels = self.labels
        samples = np.asarray(self.tables.class_samples)
        learned = [
            y + 1 for y in range(len(labels)) if samples[y] > 0.0
        ]  # an earlier one may have no samples here
        self.make_room(max([labels.declared, *learned]))
        numbers, layout = int(self.tables.gaussians.features), self.tables.values.layout
        columns: list[tuple[int, int]] = []
        for slot, code in saved["columns"]:
            expect(type(slot) is int and type(code) is int, "a column is no pair of codes")
            is_number = code == -1 and 0 <= slot < numbers
            is_value = 0 <= slot < layout.features and 0 <= code < layout.used[slot]
            expect(is_number or is_value, "a column has no feature")
            columns.append((slot, code))
        expect(len(set(columns)) == len(columns), "two columns are the same")
        self.add_columns(columns)
        n, m, late = self.columns, self.contrasts, len(columns)
        joint = bool(saved["joint"])
        expect(joint <= bool(self.joint), "it has more coefficients than a covariance of all may have")
        units = np.array(saved["units"], float).reshape(-1, 2)
        expect(len(units) == late and len(saved["counts"]) == late, "its units are of other columns")
        expect(bool(np.isfinite(units).all() and (units[:, 1] >= 0.0).all()), "a unit is no number above 0")
        moments = np.array(saved["moments"], float).reshape(-1, 3)
        expect(len(moments) == late and bool(np.isfinite(moments).all()), "its moments are of other columns")
        expect(bool((moments[:, [0, 2]] >= 0.0).all()), "a moment is below 0")
        for j, (center, unit) in enumerate(units.tolist(), 1 + self.waves):
            at = j - 1 - self.waves
            self.center[j], self.unit[j] = center, unit
            self.count[j] = load_clock(saved["counts"][at])
            self.new_weight[j], self.new_mean[j], self.new_squares[j] = moments[at].tolist()
        mean, lower = np.array(saved["mean"], float), np.array(saved["covariance"], float)
        expect(mean.shape == (n * m,) and bool(np.isfinite(mean).all()), "its means are of other columns")
        dense = n if joint else int(self.dense)
        size, tail = dense * (m if joint else 1), np.array(saved["tail"], float)
        is_triangle = lower.shape == (size * (size + 1) // 2,) and np.isfinite(lower).all()
        expect(bool(is_triangle), "its covariance is of other columns")
        is_tail = tail.shape == (n - dense,) and np.isfinite(tail).all() and (tail > 0.0).all()
        expect(bool(is_tail), "its variances are of other columns")
        whole = np.zeros((size, size))
        whole[np.tril_indices(size)] = lower
        whole += np.tril(whole, -1).T
        expect(bool((np.diagonal(whole) >= 0.0).all()), "a variance is below 0")
        turn, clock = saved["turn"], load_clock(saved["clock"])
        expect(type(turn) is int and 0 <= turn < n, "its turn is at no column")
        expect(clock <= int(self.tables.clock), "it has faded more events than were learned")
        settled = [load_clock(each) for each in saved["settled"]]
        expect(len(settled) == n and max(settled) <= clock, "its prior is of other columns, or from later")
        inflation = float(saved["inflation"])
        expect(
            math.isfinite(inflation) and inflation >= 1.0,
            "its covariance has another factor than fading gives",
        )
        self.restore(joint, mean, whole.ravel(), tail, inflation)
        self.turn, self.faded_at = turn, clock
        np.asarray(self.settled)[:n] = settled

    def coefficients(self) -> Coefficients:
        """Return the posterior of the coefficients of each class."""
        n, m = self.columns, self.contrasts
        contrasts = np.zeros((m + 1, m))
        for a in range(m):
            contrasts[: a + 1, a] = -1.0
            contrasts[a + 1, a] = a + 1.0
            contrasts[:, a] /= np.sqrt(2.0 * (a + 1.0) * (a + 2.0))
        mean = contrasts @ np.asarray(self.mean).reshape(m, n)
        size = self.groups * self.dense
        values, directions = np.linalg.eigh(self.inflation * np.asarray(self.covariance).reshape(size, size))
        root = directions * np.sqrt(np.maximum(values, 0.0))
        columns = [(int(self.slot[j]), int(self.code[j])) for j in range(n)]
        units = np.stack([np.asarray(self.center)[:n], np.asarray(self.unit)[:n]], axis=1)
        return Coefficients(
            mean, contrasts, root, np.sqrt(self.inflation * np.asarray(self.tail)), columns, units
        )
