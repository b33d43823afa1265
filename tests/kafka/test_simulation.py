"""Histories of workers over a log, each decided by a seed: every position once, every sample once, or refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from stream_bayes.kafka import recovery
from stream_bayes.kafka.clients.record_marks import Mark
from stream_bayes.kafka.history_check import HistoryCheck
from stream_bayes.kafka.impossible_times import ImpossibleTimes
from stream_bayes.kafka.journal import entries_from
from stream_bayes.kafka.recovery import JournalRecovery
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.model_time import ModelTime
from tests.kafka.simulation import Fault, Violation, plan_of, simulate, smallest

# Of 39 faults planted in delivery and replay 21 showed in the first 260 histories, each of them within 102.
HISTORIES = 250
SOAK_HISTORIES = 50_000
GROUP = 50
MOST_UNMENDED = 1000  # histories until a mend that was taken out must be missed
IN_MEMORY = Path("/dev/shm")  # of the system; where there is none, histories are slower


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory whose files are many and short-lived."""
    if not os.access(IN_MEMORY, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(prefix="stream_bayes-", dir=IN_MEMORY) as name:
        yield Path(name)


def check(seeds: range, directory: Path) -> None:
    for seed in seeds:
        try:
            simulate(seed, directory)
        except Violation:
            plan, violation = smallest(seed, directory)
            raise AssertionError(
                f"seed {seed}: {violation}\nsimulate({seed}, directory, {plan})"
            ) from violation


@pytest.mark.parametrize("first", range(0, HISTORIES, GROUP))
def test_each_record_counts_once_or_the_start_is_refused(first: int, directory: Path) -> None:
    check(range(first, first + GROUP), directory / "history")


@pytest.mark.soak
@pytest.mark.timeout(7200, func_only=True)
@pytest.mark.parametrize("first", range(HISTORIES, SOAK_HISTORIES, 5000))
def test_each_record_counts_once_in_many_histories(first: int, directory: Path) -> None:
    check(range(first, first + 5000), directory / "history")


def test_a_seed_is_a_history(directory: Path) -> None:
    first, again = (simulate(12, directory / name) for name in ("first", "again"))
    assert first.trace == again.trace and first.step == again.step
    assert first.answers() == again.answers() and first.state() == again.state()
    assert simulate(13, directory / "other").trace != first.trace


def test_a_rebuild_that_was_stopped_at_the_last_batch_of_its_replay_is_rebuilt_again(directory: Path) -> None:
    plan = [Fault(2, "pause", 2), Fault(62, "rebuild", 1), Fault(63, "start", 5), Fault(68, "kill", 5)]
    simulate(105_948, directory / "history", [*plan, Fault(188, "stop", 2)])


def test_a_log_that_lost_its_end_between_two_parts_of_a_replay_is_not_replayed_on(directory: Path) -> None:
    plan = [Fault(189, "put", 400), Fault(190, "rebuild", 10), Fault(310, "lose tail", 400)]
    simulate(28_226, directory / "history", plan)


@pytest.mark.parametrize(
    ("seed", "plan"),
    [
        (48_173, [Fault(60, "lose reply", 10), Fault(65, "rebuild", 400), Fault(85, "compact", 2)]),
        (
            47_783,
            [
                Fault(62, "pause", 2),
                Fault(122, "compact", 1),
                Fault(184, "lose reply", 40),
                Fault(186, "rebuild", 40),
            ],
        ),
        (
            35_365,
            [
                Fault(160, "compact", 1),
                Fault(165, "rebuild", 40),
                Fault(191, "fail", 10),
                Fault(382, "rebuild", 40),
            ],
        ),
        (1279, [Fault(120, "rebuild", 150), Fault(125, "compact", 2)]),
        (1609, [Fault(60, "compact", 1), Fault(213, "rebuild", 2), Fault(218, "put", 2)]),
    ],
    ids=[
        "waiting for its label",
        "before the clock started",
        "the journal was pruned meanwhile",
        "at least once, saved meanwhile",
        "at least once, written meanwhile",
    ],
)
def test_a_rebuild_that_lacks_a_sample_is_refused(seed: int, plan: list[Fault], directory: Path) -> None:
    simulate(seed, directory / "history", plan)


def test_a_rebuild_whose_journal_was_pruned_meanwhile_leaves_no_state_that_nothing_starts_from(
    directory: Path,
) -> None:
    plan = [Fault(2, "lose reply", 1), Fault(122, "fail", 40), Fault(127, "rebuild", 400)]
    plan += [Fault(132, "time out", 400), Fault(152, "fail", 150), Fault(154, "rebuild", 5)]
    simulate(16_115, directory / "history", [*plan, Fault(174, "lose reply", 2), Fault(355, "start", 40)])


def test_a_rebuild_of_which_the_disk_takes_no_snapshot_has_committed_nothing_where_there_was_none(
    directory: Path,
) -> None:
    plan = [Fault(2, "pause", 150), Fault(63, "disk full", 5), Fault(123, "rebuild", 150)]
    simulate(200_699, directory / "history", plan)


def test_the_loss_of_one_partition_is_noticed_while_another_lost_its_end_too(directory: Path) -> None:
    plan = [Fault(122, "fail", 5), Fault(123, "lose tail", 1), Fault(130, "lose tail", 40)]
    simulate(38_476, directory / "history", plan)


# -- mends taken out --------------------------------------------------------------------------------------------------


def stops_at_its_own_entry(patch: pytest.MonkeyPatch) -> None:
    """A worker that wakes up looks for its own entry, and not beyond it for another worker's."""

    def end_of(self: Transactions, entry: Any, start: int) -> int | None:
        for written in entries_from(self.cluster, self.journal, start):
            if written is not None and (written.worker, written.number) == (self.worker, entry.number):
                return int(written.offset + 1)
        return None

    patch.setattr(Transactions, "_end_of", end_of)


def rebuilds_whatever_is_left(patch: pytest.MonkeyPatch) -> None:
    """A rebuild after retention makes a smaller model."""
    patch.setattr(recovery, "check_rebuild", lambda state, accept_gap: None)
    patch.setattr(Engine, "_check_not_smaller", lambda *_: None)


def trusts_positions(patch: pytest.MonkeyPatch) -> None:
    """A log that lost its end and grew again is read on."""
    patch.setattr(HistoryCheck, "tails", lambda self, state, reached: {})
    patch.setattr(Mark, "is_of", lambda self, other: True)


def replays_what_is_left(patch: pytest.MonkeyPatch) -> None:
    """A replay of a log that was compacted since makes a smaller model."""
    patch.setattr(JournalRecovery, "_check_count", lambda *_: None)


def commits_without_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A first snapshot that the disk did not take is not waited for."""
    patch.setattr(Engine, "_save_now", lambda self, writer: self._save())


def believes_every_time(patch: pytest.MonkeyPatch) -> None:
    """A time in milliseconds moves the clock of the stream."""
    patch.setattr(ImpossibleTimes, "are_in", lambda self, record, written: False)


def forgets_what_waits_for_the_clock(patch: pytest.MonkeyPatch) -> None:
    """A start loses the samples that are learned once the clock of the model starts."""
    load = ModelTime.load
    patch.setattr(ModelTime, "load", lambda self, state: load(self, {**state, "held": []}))


@pytest.mark.parametrize(
    "unmend",
    [
        forgets_what_waits_for_the_clock,
        stops_at_its_own_entry,
        rebuilds_whatever_is_left,
        trusts_positions,
        believes_every_time,
        replays_what_is_left,
        commits_without_a_snapshot,
    ],
)
def test_a_mend_that_is_taken_out_is_missed(
    unmend: Callable[[pytest.MonkeyPatch], None], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unmend(monkeypatch)
    assert first_violated(directory) is not None


def first_violated(directory: Path) -> int | None:
    """Return the first seed whose history, all faults on, violates a promise; None if none of many does."""
    for seed in range(MOST_UNMENDED):
        try:
            simulate(seed, directory / "history")
        except Violation:
            return seed
    return None


def test_a_history_is_made_smaller(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuilds_whatever_is_left(monkeypatch)
    seed = first_violated(directory)
    assert seed is not None
    plan, _ = smallest(seed, directory / "history")
    assert 1 <= len(plan) < len(plan_of(seed)) and any("expire" in fault.kind for fault in plan)
