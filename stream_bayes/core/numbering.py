"""Numbers for the joint values of several variables of a sample.

While there is room, a configuration's number follows from the values alone, first variable first, so that other rows
give the same configuration the same number. Where there would be many more numbers than rows, those that occur are
numbered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core import _search
from stream_bayes.core.sample import Sample

__all__ = ["MOST_SPARE", "Numbers", "configurations_of", "joined", "numbered"]

MOST_SPARE = 4  # numbers for each row, beyond which only the configurations that occur are numbered

Numbers: TypeAlias = NDArray[np.int32]


def configurations_of(sample: Sample, members: Sequence[int]) -> Numbers:
    """The configuration of some variables in each row, by their values alone; -1 where one is missing.

    Parameters
    ----------
    sample
        The rows.
    members
        The variables' columns, with fewer than 2^31 configurations together.
    """
    places = np.array(members, np.longlong)
    numbers = np.zeros(len(sample), np.int32)
    _search.number_configurations(sample.codes, places, sample.sizes[places], numbers)
    return numbers


def numbered(sample: Sample, members: Sequence[int]) -> tuple[Numbers, int]:
    """The configuration of some variables in each row, -1 where one is missing; and how many numbers there are.

    Examples
    --------
    >>> sample = Sample({"a": [0, 1, 1], "b": [2, 0, -1]}, {"a": 2, "b": 3})
    >>> numbers, count = numbered(sample, [0, 1])
    >>> numbers.tolist(), count
    ([2, 3, -1], 6)
    """
    numbers = np.zeros(len(sample), np.int32)
    count = 1
    ahead: list[int] = []  # as many at a time as can be numbered directly
    for member in members:
        if ahead and count * _product(sample, (*ahead, member)) > _room(sample):
            numbers, count = joined(sample, numbers, count, ahead)
            ahead = []
        ahead.append(member)
    return joined(sample, numbers, count, ahead) if ahead else (numbers, count)


def joined(sample: Sample, before: Numbers, count: int, members: Sequence[int]) -> tuple[Numbers, int]:
    """Configurations so far, of which there are `count`, joined with more variables."""
    numbers = configurations_of(sample, members)
    size = _product(sample, members)
    joint = np.where((before < 0) | (numbers < 0), -1, before.astype(np.int64) * size + numbers)
    if count * size <= _room(sample):
        return joint.astype(np.int32), count * size
    found, group = np.unique(joint, return_inverse=True)
    missing = int(len(found) > 0 and found[0] < 0)
    return (group - missing).astype(np.int32), max(len(found) - missing, 1)


def _room(sample: Sample) -> int:
    return MOST_SPARE * max(len(sample), 1)


def _product(sample: Sample, members: Sequence[int]) -> int:
    return math.prod(int(sample.sizes[member]) for member in members)
