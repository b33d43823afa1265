"""Drawn tables of discriminant analysis: names by class, and all numbers together."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_bayes.core.draws.drawn_numbers import PRIOR_MEANS, JointNumbers, Numbers
from stream_bayes.core.draws.drawn_tables import CountedTables

__all__ = ["DiscriminantTables"]


class DiscriminantTables(CountedTables):
    """The tables of names, and the posteriors of all numbers together."""

    def numbers_of(self, reading: Any) -> Numbers | None:
        slots, groups = np.asarray(reading.slots), int(reading.groups)
        if len(slots) == 0:
            return None
        posteriors = reading.number_posteriors()[:, slots][:, :, self.columns]
        deviation = np.asarray(reading.deviation).reshape(groups, len(slots))
        scale = np.asarray(reading.correlation).reshape(groups, len(slots), len(slots))
        scale = scale * deviation[:, :, None] * deviation[:, None, :]
        first = 1.0
        if not reading.shares_covariance:
            scale, first = scale[np.minimum(self.live, groups - 1)], float(len(slots))
        index = np.full(int(reading.tables.gaussians.features), -1)
        index[slots] = np.arange(len(slots))
        return JointNumbers(posteriors[0], PRIOR_MEANS + posteriors[7], scale, first, index)
