"""Numbers of configurations: the same for the same values, different for different ones, and few."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.search.sample import MOST_SPARE, Sample, numbered
from tests.core.search.drawn_samples import Drawn, drawn_samples


@given(drawn_samples(most=6, rows=12, missing=True), st.data())
def test_rows_have_the_same_number_where_they_have_the_same_values(drawn: Drawn, data: st.DataObject) -> None:
    sample = drawn.sample
    members = data.draw(st.permutations(range(len(sample.variables))))
    numbers, count = numbered(sample, members)
    assert count <= MOST_SPARE * max(len(sample), 1)
    seen: dict[int, tuple[int, ...]] = {}
    for row, number in zip(sample.codes[:, members].tolist(), numbers.tolist(), strict=True):
        if 255 in row:
            assert number == -1
        else:
            assert 0 <= number < count
            assert seen.setdefault(number, tuple(row)) == tuple(row)
    assert len(set(seen.values())) == len(seen)


def test_numbers_past_what_an_integer_holds_do_not_meet() -> None:
    # 60,000 x 60,000 configurations are more than 2^31, and each variable alone has room.
    size, rows = 60_000, 20_000
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, size, rows), "b": rng.integers(0, size, rows)}
    columns["a"][:2] = size - 1
    columns["b"][:2] = size - 1, size - 2
    numbers, _ = numbered(Sample(columns, {"a": size, "b": size}), (0, 1))
    pairs = set(zip(columns["a"].tolist(), columns["b"].tolist(), strict=True))
    assert numbers.min() >= 0
    assert len(set(numbers.tolist())) == len(pairs)


def test_of_no_variables_there_is_one_configuration() -> None:
    numbers, count = numbered(Sample({"a": [0, -1]}, {"a": 1}), ())
    assert (numbers.tolist(), count) == ([0, 0], 1)
