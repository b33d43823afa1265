"""The distance that the benchmark of recovery states is that of equivalence classes."""

from __future__ import annotations

from benchmarks.networks.recovery import distances
from stream_bayes.networks import Structure


def test_a_direction_that_no_data_can_decide_is_no_distance() -> None:
    truth = Structure.from_edges([("a", "b"), ("b", "c")])
    assert distances(Structure.from_edges([("c", "b"), ("b", "a")]), truth) == (0, 2)
    assert distances(Structure.from_edges([("a", "b"), ("c", "b")]), truth) == (2, 1)
