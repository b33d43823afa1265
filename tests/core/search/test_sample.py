"""Samples: what they hold, what is refused, and equal rows as one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from stream_bayes.core.search.sample import Sample
from stream_bayes.errors import BadValue, UnknownFeature
from tests.core.search.drawn_samples import Drawn, drawn_samples


def weighed(sample: Sample) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for row, weight in zip(sample.codes.tolist(), sample.weights.tolist(), strict=True):
        found[tuple(row)] += weight
    return found


@given(drawn_samples(missing=True))
def test_collapsed_rows_differ_and_weigh_the_same(drawn: Drawn) -> None:
    sample = drawn.sample
    small = sample.collapsed()
    assert weighed(small) == weighed(sample)
    assert len(small) == len({tuple(row) for row in sample.codes.tolist()})
    assert (small.variables, small.weight) == (sample.variables, sample.weight)
    assert small.sizes.tolist() == sample.sizes.tolist()


def test_variables_stand_by_name_and_missing_is_the_largest_code() -> None:
    sample = Sample({"b": [1, -1], "a": [0, -7]}, {"b": 2, "a": 1})
    assert sample.variables == ("a", "b")
    assert sample.codes.tolist() == [[0, 1], [255, 255]]
    assert sample.sizes.tolist() == [1, 2]
    assert [sample.place("a"), sample.place("b")] == [0, 1]


@pytest.mark.parametrize(("size", "kind"), [(255, np.uint8), (256, np.uint16), (65_534, np.uint16)])
def test_a_code_takes_no_more_room_than_it_needs(size: int, kind: Any) -> None:
    sample = Sample({"a": [size - 1, -1]}, {"a": size})
    assert sample.codes.dtype == kind
    assert sample.codes[0, 0] == size - 1
    assert sample.codes[1, 0] == np.iinfo(kind).max > size - 1


def test_nothing_is_a_sample_too() -> None:
    for empty in (Sample({}, {}), Sample({"a": []}, {"a": 2})):
        assert len(empty.collapsed()) == len(empty) == 0
        assert empty.weight == 0.0


def test_the_callers_arrays_are_not_kept() -> None:
    column, weights = np.array([0, 1]), np.array([1.0, 2.0])
    sample = Sample({"a": column}, {"a": 2}, weights)
    column[0], weights[0] = 1, 9.0
    assert sample.codes.tolist() == [[0], [1]]
    assert sample.weights.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("columns", "sizes", "weights", "complaint"),
    [
        ({"a": [0]}, {"b": 2}, None, "sizes: expected one for each of"),
        ({"a": [0]}, {"a": 0}, None, "from 1 to 65,534 values"),
        ({"a": [0]}, {"a": 65_535}, None, "from 1 to 65,534 values"),
        ({"a": [0], "b": [0, 1]}, {"a": 1, "b": 2}, None, "the same length"),
        ({"a": [0.5]}, {"a": 2}, None, "'a': expected whole numbers"),
        ({"a": [2]}, {"a": 2}, None, "'a': expected codes below 2, got 2"),
        ({"a": [0]}, {"a": 2}, [1.0, 2.0], "expected 1 finite numbers"),
        ({"a": [0]}, {"a": 2}, [-1.0], "finite numbers from 0"),
        ({"a": [0]}, {"a": 2}, [np.nan], "finite numbers from 0"),
    ],
)
def test_what_is_no_sample_is_refused(columns: Any, sizes: Any, weights: Any, complaint: str) -> None:
    with pytest.raises(BadValue, match=complaint):
        Sample(columns, sizes, weights)


def test_an_unknown_variable_is_named() -> None:
    with pytest.raises(UnknownFeature, match="'c'"):
        Sample({"a": [0]}, {"a": 1}).place("c")


@pytest.mark.parametrize("values", [2, 300])  # a byte for each code, or two
def test_equal_rows_are_one_in_the_order_in_which_they_first_come(values: int) -> None:
    rng = np.random.default_rng(values)
    rows = rng.choice([-1, 0, 1, values - 1], (3_000, 5))
    weights = rng.integers(0, 9, 3_000).astype(float)
    sample = Sample(dict(enumerate(rows.T)), dict.fromkeys(range(5), values), weights)
    expected: dict[tuple[int, ...], float] = {}
    for row, weight in zip(map(tuple, sample.codes.tolist()), weights.tolist(), strict=True):
        expected[row] = expected.get(row, 0.0) + weight
    small = sample.collapsed()
    assert len(small) < len(sample)
    assert list(map(tuple, small.codes.tolist())) == list(expected)
    assert small.weights.tolist() == list(expected.values())
