"""Columns packed several to a byte, and families counted through them: the same tables as from the rows themselves."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.search import family_scorer
from stream_bayes.core.search.family_scorer import count_families
from stream_bayes.core.search.sample import MOST_JOINT, MOST_SINGLE, PackedColumns, Sample, numbered

SIZES = st.lists(st.sampled_from([1, 2, 3, 4, 9, 40, 255, 300]), min_size=2, max_size=7)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Rows in which some values are missing, with whole weights."""
    sizes = draw(SIZES)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.integers(0, 60))
    lowest = [draw(st.sampled_from([0, -1])) for _ in sizes]
    columns = {
        k: rng.integers(low, size, rows) for k, (low, size) in enumerate(zip(lowest, sizes, strict=True))
    }
    return Sample(columns, dict(enumerate(sizes)), rng.integers(0, 5, rows).astype(float))


@given(samples())
def test_every_code_can_be_read_out_of_its_byte(sample: Sample) -> None:
    packed = PackedColumns.of(sample.codes, sample.sizes)
    for place, group in enumerate(packed.group.tolist()):
        if group < 0:
            assert packed.slots[place] > MOST_SINGLE
            continue
        found = packed.codes[:, group] // packed.inner[place] % packed.slots[place]
        assert found.tolist() == np.minimum(sample.codes[:, place], packed.slots[place] - 1).tolist()


@given(samples())
def test_what_is_packed_together_is_small(sample: Sample) -> None:
    packed = sample.packed
    for group, width in enumerate(packed.widths.tolist()):
        members = np.flatnonzero(packed.group == group)
        assert width == packed.slots[members].prod()
        assert width <= (MOST_JOINT if len(members) > 1 else MOST_SINGLE)


def by_hand(
    sample: Sample, child: int, parents: list[int], candidates: list[int]
) -> list[dict[tuple, float]]:
    """For each candidate, what the rows weigh that have a configuration, a value of it and one of the child."""
    found: list[dict[tuple, float]] = [{} for _ in candidates]
    for row, weight in zip(sample.codes.tolist(), sample.weights.tolist(), strict=True):
        for table, candidate in zip(found, candidates, strict=True):
            seen = [*parents, candidate, child]
            if all(row[place] < sample.sizes[place] for place in seen) and weight:
                key = tuple(row[place] for place in seen)
                table[key] = table.get(key, 0.0) + weight
    return found


WAYS: dict[str, dict[str, Any]] = {
    "as it chooses": {},
    "packed": {"_worth": lambda size, many, rows: many > 0},
    "packed, in parts": {"_worth": lambda size, many, rows: many > 0, "JOINT_CELLS": 1},
    "plain": {"_worth": lambda size, many, rows: many < 0},
}


@pytest.mark.parametrize("way", WAYS)
@given(samples(), st.data())
def test_tables_hold_what_the_rows_say_whichever_way_they_are_counted(
    way: str, sample: Sample, data: st.DataObject
) -> None:
    places = data.draw(st.permutations(range(len(sample.sizes))))
    child, *rest = places
    above = data.draw(st.integers(0, min(2, len(rest) - 1)))
    parents, candidates = rest[:above], rest[above:]
    numbers, configurations = numbered(sample, parents)
    whole = np.prod(sample.sizes[parents], dtype=int)
    if configurations != whole:  # numbered by what occurs: which number is whose is not said
        return
    width = int(sample.sizes[child])
    lengths = [configurations * int(sample.sizes[candidate]) * width for candidate in candidates]
    if sum(lengths) > 10**6:
        return
    starts = np.cumsum([0, *lengths], dtype=np.longlong)
    cells = np.zeros(int(starts[-1]))
    with pytest.MonkeyPatch.context() as patch:
        for name, other in WAYS[way].items():
            patch.setattr(family_scorer, name, other)
        count_families(sample, sample.weights, numbers, configurations, child, candidates, starts[:-1], cells)
    for place, (candidate, table) in enumerate(
        zip(candidates, by_hand(sample, child, parents, candidates), strict=True)
    ):
        shape = (*sample.sizes[parents].tolist(), int(sample.sizes[candidate]), width)
        found = cells[starts[place] : starts[place + 1]].reshape(shape)
        assert {
            key: found[key] for key in zip(*(axis.tolist() for axis in np.nonzero(found)), strict=True)
        } == table


def test_many_rows_are_counted_packed_and_few_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[str] = []

    def count_calls(name: str) -> None:
        real = getattr(family_scorer._Rows, name)

        def count(*args: Any) -> None:
            ways.append(name)
            real(*args)

        monkeypatch.setattr(family_scorer._Rows, name, count)

    count_calls("packed")
    count_calls("plain")
    for rows in (10, 50_000):
        values = np.array(
            list(itertools.islice(itertools.cycle(itertools.product(range(3), repeat=4)), rows))
        )
        sample = Sample(dict(enumerate(values.T)), dict.fromkeys(range(4), 3))
        starts = np.array([0, 9, 18], np.longlong)
        count_families(
            sample, sample.weights, np.zeros(rows, np.int32), 1, 3, [0, 1, 2], starts, np.zeros(27)
        )
    assert ways == ["plain", "packed"]
