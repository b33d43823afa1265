"""Shards that come while a sum is taken are in the next one, together; a failure concerns only who caused it."""

from __future__ import annotations

import threading

import pytest

from stream_bayes.errors import BudgetExceeded
from stream_bayes.workers.sum_updates import SumUpdates
from tests.waiting import until


def test_shards_that_come_at_a_time_are_summed_once() -> None:
    lock, applied = threading.RLock(), list[dict[int, str]]()
    updates: SumUpdates[str] = SumUpdates(lock, applied.append)
    threads = [threading.Thread(target=updates.replace, args=({n: f"shard {n}"},)) for n in range(8)]
    with lock:
        for thread in threads:
            thread.start()
        until("all to wait", lambda: len(updates._waiting) == 8)
    for thread in threads:
        thread.join(60)
    assert applied == [{n: f"shard {n}" for n in range(8)}]
    updates.replace({3: "newer"})
    assert applied[1:] == [{3: "newer"}]


def test_a_sum_that_fails_leaves_the_shards_of_others_waiting() -> None:
    applied: list[dict[int, str]] = []

    def apply(shards: dict[int, str]) -> None:
        if "too large" in shards.values():
            raise BudgetExceeded("too large")
        applied.append(shards)

    updates: SumUpdates[str] = SumUpdates(threading.RLock(), apply)
    updates._waiting = {1: "of another thread"}
    with pytest.raises(BudgetExceeded):
        updates.replace({0: "too large"})
    updates.replace({})
    assert applied == [{1: "of another thread"}]
