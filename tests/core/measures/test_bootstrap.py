"""Intervals by bootstrap over blocks have their nominal coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.measures.bootstrap import MOST_BLOCKS, Blocks, Resampling
from stream_bayes.core.measures.losses import Losses
from stream_bayes.errors import BadValue
from tests.core.measures.scored_streams import random_events, scored
from tests.oracles import losses as oracle


def blocks_of(events, length: int) -> Blocks:
    found = scored(events, blocks=Blocks(length)).blocks
    assert found is not None
    return found


def streaky(rng: np.random.Generator, events: int) -> np.ndarray:
    """Right or wrong, in runs of ten that are easy or hard: right in 70 % of cases."""
    chance = np.where(rng.random(events // 10) < 0.5, 0.95, 0.45).repeat(10)
    return rng.random(events) < chance


def sums_of(right: np.ndarray, length: int = 50) -> np.ndarray:
    by_block = right.reshape(-1, length).sum(axis=1)
    return np.column_stack([np.full(len(by_block), length), by_block, 0 * by_block, 0 * by_block]).astype(
        float
    )


def oracle_sums(events: list[oracle.Event]) -> list[float]:
    """Weight, right predictions, log-loss and Brier score, summed over the events."""
    if not events:
        return [0.0] * 4
    found = oracle.measures(events, [event[3] for event in events], 1e-15)
    return [found["weight"] * part for part in (1.0, found["accuracy"], found["log_loss"], found["brier"])]


@given(st.integers(0, 70), st.integers(1, 30))
def test_a_block_holds_the_sums_over_its_events(n, length):
    events = random_events(n, 3, seed=n, weighted=True)
    found = blocks_of(events, length).sums
    assert len(found) == math.ceil(n / length)
    for number, row in enumerate(found):
        stop = min((number + 1) * length, n)
        whole, before = (oracle_sums(events[:place]) for place in (stop, number * length))
        assert row.tolist() == pytest.approx([a - b for a, b in zip(whole, before, strict=True)], abs=1e-9)


def test_neighbours_are_joined_where_blocks_would_be_too_many_whatever_the_portions():
    events = random_events(3 * MOST_BLOCKS, 3, weighted=True)
    blocks = blocks_of(events, 1)
    assert blocks.length == 4
    assert len(blocks.sums) == 3 * MOST_BLOCKS // 4
    in_pieces = Losses(blocks=Blocks(1))
    for place, event in enumerate(events):
        in_pieces.update(*event)
        if place % 37 == 0:
            in_pieces.cumulative  # noqa: B018  # works out what waits
    assert in_pieces.blocks is not None
    assert in_pieces.blocks.sums.tobytes() == blocks.sums.tobytes()
    assert blocks.sums[:, 0].sum() == pytest.approx(sum(event[3] for event in events))


def test_an_interval_holds_the_truth_as_often_as_it_says_though_mistakes_come_in_runs():
    rng = np.random.default_rng(5)
    for events, level in ((1500, 0.95), (600, 0.95), (1500, 0.8)):
        held = 0
        for _ in range(200):
            found = Resampling(events // 50, rng, 600).mean(sums_of(streaky(rng, events)), "accuracy", level)
            held += found.low <= 0.7 <= found.high
        # Two standard errors, for the seed that is given.
        assert held / 200 == pytest.approx(level, abs=0.035)


def test_single_events_drawn_again_would_say_too_much():
    rng = np.random.default_rng(6)
    right = streaky(rng, 5000)
    narrow = Resampling(5000, np.random.default_rng(1), 300).mean(sums_of(right, 1), "accuracy")
    honest = Resampling(100, np.random.default_rng(1), 300).mean(sums_of(right), "accuracy")
    assert honest.high - honest.low > 1.3 * (narrow.high - narrow.low)


def test_a_difference_over_the_same_events_is_known_better_than_either_mean():
    rng = np.random.default_rng(7)
    right = streaky(rng, 5000)
    better = right | (rng.random(5000) < 0.05)
    drawn = Resampling(100, rng)
    one, other = sums_of(better), sums_of(right)
    found = drawn.difference(one, other, "accuracy")
    assert found.value == pytest.approx(better.mean() - right.mean())
    assert 0 < found.low < found.value < found.high
    assert found.high - found.low < 0.5 * np.subtract(*drawn.mean(one, "accuracy")[:0:-1])
    reverse = drawn.difference(other, one, "accuracy")
    assert reverse == pytest.approx((-found.value, -found.high, -found.low))


def test_the_same_generator_draws_the_same_interval():
    sums = sums_of(streaky(np.random.default_rng(8), 1000))
    first, second = (Resampling(20, np.random.default_rng(3)).mean(sums, "accuracy") for _ in range(2))
    assert first == second


def test_nothing_is_said_of_few_blocks():
    sums = sums_of(streaky(np.random.default_rng(9), 350))
    found = Resampling(7, np.random.default_rng(3)).mean(sums, "accuracy")
    assert found.value > 0 and math.isnan(found.low) and math.isnan(found.high)
    nothing = Resampling(0, np.random.default_rng(3)).mean(sums[:0], "accuracy")
    assert all(map(math.isnan, nothing))


def test_what_is_no_interval_is_refused():
    drawn = Resampling(20, np.random.default_rng(3))
    sums = sums_of(np.ones(1000, bool))
    with pytest.raises(BadValue, match="one of"):
        drawn.mean(sums, "kappa")
    with pytest.raises(BadValue, match="20 blocks"):
        drawn.mean(sums[:19], "accuracy")
    with pytest.raises(BadValue, match="level"):
        drawn.mean(sums, "accuracy", 1.0)
    with pytest.raises(BadValue, match="at least 1"):
        Blocks(0)


def test_a_state_holds_no_blocks_and_loading_one_keeps_those_there():
    events = random_events(60, 2)
    losses = scored(events, blocks=Blocks(20))
    blocks = losses.blocks
    assert losses.state().keys() == scored(events).state().keys()
    losses.load(scored(events[:30]).state())
    assert blocks is not None and losses.blocks is blocks and len(blocks.sums) == 3
