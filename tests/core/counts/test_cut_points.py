"""Where numbers are cut, by definitions written out: every possible cut is tried."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stream_bayes.core.counts.cut_points import METHODS, bin_names, outer_edges
from tests.builds import examples

numbers = st.one_of(
    st.integers(-6, 6).map(float),
    st.floats(-1e3, 1e3, allow_subnormal=False),
)
samples = st.lists(
    st.tuples(numbers, st.sampled_from([1.0, 1.0, 2.0, 0.5]), st.integers(0, 2)), min_size=1, max_size=40
)


def cuts_of(method: str, many: list[tuple[float, float, int]], bins: int) -> list[float]:
    ascending = sorted(many, key=lambda one: one[0])
    values, weights, labels = (np.array(column) for column in zip(*ascending, strict=True))
    return METHODS[method](values, weights, labels.astype(np.int32), bins)


def gaps(many: list[tuple[float, float, int]]) -> list[float]:
    """The middle of each two neighbouring values."""
    distinct = sorted({value for value, _, _ in many})
    return [low / 2 + high / 2 for low, high in itertools.pairwise(distinct)]


@given(st.sampled_from(list(METHODS)), samples, st.integers(1, 9))
def test_cuts_ascend_lie_among_the_values_and_leave_at_most_so_many_bins(method, many, bins):
    cuts = cuts_of(method, many, bins)
    values = [value for value, _, _ in many]
    assert len(cuts) < bins
    assert all(low < high for low, high in itertools.pairwise(cuts))
    assert all(min(values) < cut <= max(values) for cut in cuts)


@given(st.sampled_from(["quantile", "equal-width"]), samples)
def test_few_values_get_a_bin_each(method, many):
    distinct = len({value for value, _, _ in many})
    assert cuts_of(method, many, distinct) == cuts_of(method, many, distinct + 3) == gaps(many)


@given(samples, st.integers(2, 6))
def test_each_quantile_cut_is_in_the_gap_that_leaves_the_weight_nearest_to_its_share(many, bins):
    assume(len({value for value, _, _ in many}) > bins)
    total = math.fsum(weight for _, weight, _ in many)
    below = {gap: math.fsum(weight for value, weight, _ in many if value < gap) for gap in gaps(many)}
    nearest = {
        min(below, key=lambda gap, share=share: (abs(below[gap] - total * share / bins), gap))  # type: ignore[misc]  # its share, as it is now
        for share in range(1, bins)
    }
    assert cuts_of("quantile", many, bins) == sorted(nearest)


@given(samples, st.integers(2, 6))
def test_widths_are_equal(many, bins):
    values = sorted({value for value, _, _ in many})
    assume(len(values) > bins)
    step = (values[-1] - values[0]) / bins
    wanted = [values[0] + step * number for number in range(1, bins)]
    assert cuts_of("equal-width", many, bins) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def entropy(part: list[tuple[float, float, int]]) -> float:
    total = math.fsum(weight for _, weight, _ in part)
    shares = defaultdict[int, float](float)
    for _, weight, label in part:
        shares[label] += weight / total
    return -math.fsum(share * math.log2(share) for share in shares.values())


def splits(part: list[tuple[float, float, int]]) -> list[tuple[float, float]]:
    """What Fayyad and Irani's criterion (1993) accepts, (gain times weight, cut) of this part and all below it."""
    best: tuple[float, float, Any, Any] | None = None
    total = math.fsum(weight for _, weight, _ in part)
    for gap in gaps(part):
        left, right = [one for one in part if one[0] < gap], [one for one in part if one[0] >= gap]
        inside = math.fsum(math.fsum(w for _, w, _ in side) / total * entropy(side) for side in (left, right))
        if best is None or inside < best[0] - 1e-12:
            best = inside, gap, left, right
    if best is None or total < 2:
        return []
    inside, gap, left, right = best
    gain = entropy(part) - inside
    k, k_left, k_right = (len({label for _, _, label in side}) for side in (part, left, right))
    delta = math.log2(3**k - 2) - (k * entropy(part) - k_left * entropy(left) - k_right * entropy(right))
    cost = (math.log2(total - 1) + delta) / total
    assume(abs(gain - cost) > 1e-9)  # rounding decides of a tie
    if gain <= cost:
        return []
    return [(gain * total, gap), *splits(left), *splits(right)]


classed = st.lists(
    st.tuples(st.integers(0, 12).map(float), st.just(1.0), st.integers(0, 5)), min_size=4, max_size=40
).map(lambda many: [(value, w, int((value + (noise == 0) * 4) // 5)) for value, w, noise in many])


@settings(max_examples=examples(100))
@given(classed, st.integers(2, 6))
def test_supervised_cuts_are_the_best_of_those_that_pay_their_description(many, bins):
    accepted = sorted(splits(many), reverse=True)
    gains = [gain for gain, _ in accepted]
    assume(all(high - low > 1e-9 for high, low in itertools.pairwise(gains)))
    assert cuts_of("mdl", many, bins) == sorted(cut for _, cut in accepted[: bins - 1])


def test_supervised_cuts_do_find_classes_that_lie_apart():
    many = [(float(value), 1.0, value // 10) for value in range(30)]
    assert cuts_of("mdl", many, 8) == [9.5, 19.5]
    assert cuts_of("mdl", many, 2) in ([9.5], [19.5])


def test_where_the_class_does_not_depend_on_the_number_there_is_no_supervised_cut():
    many = [(float(value), 1.0, label) for value in range(20) for label in (0, 1)]
    assert cuts_of("mdl", many, 8) == []


@pytest.mark.parametrize("method", ["quantile", "equal-width"])
def test_neighbouring_floats_are_told_apart(method):
    low, high = 1.0, math.nextafter(1.0, 2.0)
    (cut,) = cuts_of(method, [(low, 1.0, 0), (high, 1.0, 1)], 5)
    assert low < cut <= high


def test_end_bins_end_as_far_beyond_their_medians_as_these_are_from_the_cut():
    values = np.array([0.0, 1.0, 3.0, 5.0, 6.0, 9.0])
    assert outer_edges(values, np.ones(len(values)), [2.0, 5.5]) == (2 * 0.5 - 2.0, 2 * 7.5 - 5.5)
    assert outer_edges(values, np.ones(len(values)), []) == (0.0, 9.0)


def test_bins_are_called_by_where_they_begin_and_end():
    assert bin_names([]) == ["(-inf, inf)"]
    assert bin_names([-1.0, 2.5]) == ["(-inf, -1.0)", "[-1.0, 2.5)", "[2.5, inf)"]


@pytest.mark.parametrize("method", [*METHODS])
def test_numbers_need_not_lie_side_by_side(method: str) -> None:
    table = np.arange(400.0).reshape(100, 4)
    values, weights = table[:, 1], np.ones((100, 3))[:, 0]
    labels = (np.arange(100) > 40).astype(np.int32)
    expected = METHODS[method](values.copy(), weights.copy(), labels, 4)
    assert METHODS[method](values, weights, labels, 4) == expected
    assert outer_edges(values, weights, expected) == outer_edges(values.copy(), weights.copy(), expected)
