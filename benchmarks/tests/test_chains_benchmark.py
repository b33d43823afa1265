"""The chains of the benchmark of networks in time: what is drawn, what the truth loses, and what a change leaves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.drift.chains import (
    WORLDS,
    drawn_chain,
    events_of,
    graph_of,
    is_same,
    network_of,
    with_new_tables,
)


@pytest.mark.parametrize("is_mixed", [False, True])
def test_the_true_graph_comes_near_to_what_the_truth_loses(is_mixed: bool) -> None:
    chain = drawn_chain(3, is_mixed)
    model = network_of(is_mixed, graph_of(chain))
    gaps = [model.score_learn_one(x) - truth for x, truth in events_of([(chain, 1500)], 5)]
    assert -0.05 < np.mean(gaps[900:]) < 0.15
    assert all(
        np.isfinite(value)
        for x, _ in events_of([(chain, 50)], 5)
        for value in x.values()
        if not isinstance(value, str)
    )


def test_values_last_where_they_are_to_last() -> None:
    stays = [
        np.mean([x["x0"] == y["x0"] for (x, _), (y, _) in itertools.pairwise(rows)])
        for rows in ([*events_of([(drawn_chain(1, False, lasts), 400)], 1)] for lasts in (False, True))
    ]
    assert stays[1] > 0.85 > stays[0]


def test_a_change_of_one_table_leaves_the_others_and_a_return_leaves_nothing() -> None:
    chain = drawn_chain(2)
    changed = with_new_tables(chain, [4], 9)
    assert [is_same(*pair) for pair in zip(chain, changed, strict=True)] == [True] * 4 + [False]
    assert WORLDS["one table, and back"](chain, 4, False)[-1] is chain
