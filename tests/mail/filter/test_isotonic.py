"""Monotone steps, beside the formula of the best monotone fit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.mail.filter._isotonic import step_starts

values = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12)


def best_fit(values: list[float]) -> list[Fraction]:
    """The best monotone fit of each value: the largest, over starts, of the least mean over ends (Robertson 1988)."""
    whole = [Fraction(value) for value in values]

    def mean(start: int, stop: int) -> Fraction:
        return sum(whole[start:stop], Fraction(0)) / (stop - start)

    return [
        max(min(mean(start, stop) for stop in range(place + 1, len(whole) + 1)) for start in range(place + 1))
        for place in range(len(whole))
    ]


@given(values)
def test_the_means_of_the_steps_are_the_best_monotone_fit(values: list[float]) -> None:
    starts = step_starts(np.array(values)).tolist()
    fit = best_fit(values)
    for start, stop in zip(starts, [*starts[1:], len(values)], strict=True):
        mean = sum(map(Fraction, values[start:stop]), Fraction(0)) / (stop - start)
        assert fit[start:stop] == [mean] * (stop - start)


@given(values)
def test_a_step_begins_where_the_fit_rises_and_nowhere_else(values: list[float]) -> None:
    fit = best_fit(values)
    rises = [place for place in range(len(values)) if place == 0 or fit[place] > fit[place - 1]]
    assert step_starts(np.array(values)).tolist() == rises
