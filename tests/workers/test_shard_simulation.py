"""Histories of shards that move and change their number: every position once, every sample once, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.workers.pipeline.rescale import _Rescale
from tests.kafka.simulation import Fault, Mode, Violation, smallest
from tests.workers.shard_simulation import shard_plan, simulate_shards

HISTORIES = 30
SOAK_HISTORIES = 5000


def check(seeds: range, directory: Path) -> None:
    for seed in seeds:
        try:
            simulate_shards(seed, directory / str(seed))
        except Violation:
            plan, violation = smallest(seed, directory / "smaller", None, simulate_shards, shard_plan(seed))
            raise AssertionError(
                f"seed {seed}: {violation}\nsimulate_shards({seed}, directory, {plan})"
            ) from violation


def test_each_record_counts_once_in_the_sum_or_the_start_is_refused(tmp_path: Path) -> None:
    check(range(HISTORIES), tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(7200, func_only=True)
@pytest.mark.parametrize("first", range(HISTORIES, SOAK_HISTORIES, 1250))
def test_each_record_counts_once_in_the_sum_of_many_histories(first: int, tmp_path: Path) -> None:
    check(range(first, first + 1250), tmp_path)


def test_a_seed_is_a_history(tmp_path: Path) -> None:
    first, again = (simulate_shards(3, tmp_path / name) for name in ("first", "again"))
    assert first.trace == again.trace and first.step == again.step


def test_a_worker_that_starts_during_a_rescale_to_fewer_shards_gets_one_of_these(tmp_path: Path) -> None:
    plan = [Fault(1, "put", 5), Fault(61, "fail", 10), Fault(66, "rescale", 40), Fault(71, "put", 2)]
    plan += [Fault(73, "kill", 5), Fault(93, "rescale", 150), Fault(94, "lose reply", 5)]
    plan += [Fault(214, "rescale", 1), Fault(219, "start", 150), Fault(224, "start", 1)]
    simulate_shards(401_345, tmp_path, plan)


def test_a_worker_that_slept_through_a_first_start_says_that_another_has_taken_over(tmp_path: Path) -> None:
    """Not that the model is lost: the other's results are there, and its snapshot came after this one looked."""
    plan = [Fault(20, "start", 10), Fault(80, "start", 400), Fault(100, "pause", 1), Fault(101, "pause", 150)]
    simulate_shards(404_197, tmp_path, [*plan, Fault(166, "start", 2)])


def test_a_rescale_that_trusts_every_snapshot_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Rescale, "_is_settled", lambda *_: True)

    def search() -> None:
        for seed in range(100):
            plan = shard_plan(seed, ("rescale", "kill", "start", "put"))
            simulate_shards(seed, tmp_path / str(seed), plan, Mode("exactly-once", False, True))

    with pytest.raises(Violation):
        search()
