"""FourierFeatures: the settings of the waves over numbers that make a linear regression nearly a Gaussian process."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.regression.random_fourier_features import Waves
from stream_bayes.core.values.values import name_order, shown, tagged, untagged
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import check_count, check_number, check_seed

__all__ = ["FOURIER", "FourierFeatures", "uniform_numbers"]

FOURIER = "fourier"  # the name of the features with all settings at their defaults
MOST_WAVES = 512


@dataclass(frozen=True)
class FourierFeatures:
    """Settings of random Fourier features.

    `BayesianRegression` takes one as `features=`; `features="fourier"` is one with all settings at their defaults.

    Parameters
    ----------
    scales
        By feature, the mean and the deviation of its numbers, or about that. None: those of the first events, set after
        8, 16, 32, 64 and 128 of them, and fixed from then on. Only learners with declared scales merge.
    length
        The distance, in deviations, over which the target changes. None: twice the root of the number of features if
        scales are declared, else the one with the largest evidence, set together with the scales.
    count
        The number of waves, at most 512. More are nearer to the Gaussian process; learning costs their square.
    seed
        The seed of their frequencies.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression, FourierFeatures
    >>> model = BayesianRegression(features=FourierFeatures({"wind": (3.0, 2.0)}, length=1.0))
    >>> for k in range(200):
    ...     model.learn_one({"wind": k % 7}, 20.0 - (k % 7 - 3.0) ** 2 + k % 3)
    >>> round(model.predict_one({"wind": 3.0})), round(model.predict_one({"wind": 6.0}))
    (21, 12)
    """

    scales: Mapping[Any, tuple[float, float]] | None = None
    length: float | None = None
    count: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.scales is not None:
            object.__setattr__(self, "scales", _checked(self.scales))
        if self.length is not None:
            check_number("length", self.length, above=True)
        check_count("count", self.count)
        if self.count > MOST_WAVES:
            raise BadValue(
                f"count: at most {MOST_WAVES} waves, as learning costs their square, not {self.count}"
            )
        check_seed(self.seed)

    def waves(self, scales: Mapping[Any, tuple[float, float]], length: float) -> Waves:
        """Return the waves over numbers with these scales."""
        drawn = uniform_numbers(self.seed, self.count * (len(scales) + 1))
        return Waves(scales, length, drawn.reshape(self.count, len(scales) + 1))

    def declared_waves(self) -> Waves | None:
        """Return the waves over declared scales; None where the first events set them."""
        if self.scales is None:
            return None
        length = 2.0 * math.sqrt(len(self.scales)) if self.length is None else float(self.length)
        return self.waves(self.scales, length)

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> Self:
        """Return the settings that a file or a state holds as a table: the inverse of `to_json`."""
        scales = settings.get("scales")
        if isinstance(scales, list):
            scales = {untagged(name): (mean, deviation) for name, mean, deviation in scales}
        return cls(**{**settings, "scales": scales})

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values.

        Examples
        --------
        >>> FourierFeatures({"wind": (3.0, 2.0)}, count=64).to_json()
        {'scales': [['wind', 3.0, 2.0]], 'length': None, 'count': 64, 'seed': 0}
        """
        scales = (
            None if self.scales is None else [[tagged(name), *each] for name, each in self.scales.items()]
        )
        return {"scales": scales, "length": self.length, "count": self.count, "seed": self.seed}


def _checked(scales: object) -> dict[Any, tuple[float, float]]:
    """Return declared scales as plain numbers, in the order of names."""
    if not isinstance(scales, Mapping) or not scales:
        raise BadValue(
            "scales: expected the mean and the deviation of each number, as {'wind': (3.0, 2.0)}, not "
            f"{shown(scales)}"
        )
    checked = {}
    for name, each in sorted(scales.items(), key=lambda entry: name_order(entry[0])):
        is_pair = isinstance(each, (tuple, list)) and len(each) == 2
        if not is_pair or not all(isinstance(one, (int, float)) and math.isfinite(one) for one in each):
            raise BadValue(
                f"scales of {shown(name)}: expected its mean and deviation, as (3.0, 2.0), not {shown(each)}"
            )
        mean, deviation = float(each[0]), float(each[1])
        if not deviation > 0.0:
            raise BadValue(f"scales of {shown(name)}: the deviation must be above 0, not {deviation}")
        checked[name] = (mean, deviation)
    return checked


def uniform_numbers(seed: int | list[int], count: int) -> NDArray[np.float64]:
    """Return numbers between 0 and 1, which are the same in all versions of numpy.

    PCG64's bits are; what its generators make of them need not be.
    """
    bits = np.random.PCG64(seed).random_raw(count)
    return ((bits >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53
