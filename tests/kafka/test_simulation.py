"""Histories of workers over a log, each decided by a seed: every position once, every sample once, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.kafka import recovery
from stream_bayes.kafka.clients.marks import Mark
from stream_bayes.kafka.history_check import HistoryCheck
from stream_bayes.kafka.journal import entries_from
from stream_bayes.kafka.recovery import JournalRecovery
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.streams.engine.engine import Engine
from tests.kafka.simulation import Mode, Violation, plan_of, simulate, smallest

HISTORIES = 200
SOAK_HISTORIES = 50_000
GROUP = 40


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
def test_each_record_counts_once_or_the_start_is_refused(first: int, tmp_path: Path) -> None:
    check(range(first, first + GROUP), tmp_path / "history")


@pytest.mark.soak
@pytest.mark.timeout(7200, func_only=True)
@pytest.mark.parametrize("first", range(HISTORIES, SOAK_HISTORIES, 5000))
def test_each_record_counts_once_in_many_histories(first: int, tmp_path: Path) -> None:
    check(range(first, first + 5000), tmp_path / "history")


def test_a_seed_is_a_history(tmp_path: Path) -> None:
    first, again = (simulate(12, tmp_path / name) for name in ("first", "again"))
    assert first.trace == again.trace and first.step == again.step
    assert first.answers() == again.answers() and first.state() == again.state()
    assert simulate(13, tmp_path / "other").trace != first.trace


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
    plain = KafkaSource.__init__

    def lenient(self: KafkaSource, *arguments: Any, **named: Any) -> None:
        plain(self, *arguments, **named)
        self.max_skew = float("inf")

    patch.setattr(KafkaSource, "__init__", lenient)


@pytest.mark.parametrize(
    ("unmend", "kinds", "mode"),
    [
        (stops_at_its_own_entry, ("lose reply", "start", "pause"), Mode("exactly-once", False, True)),
        (rebuilds_whatever_is_left, ("expire read", "rebuild", "put"), Mode("exactly-once", False, True)),
        (trusts_positions, ("lose tail", "kill", "put"), Mode("exactly-once", False, False)),
        (believes_every_time, ("bad time", "put"), Mode("exactly-once", True, True)),
        (replays_what_is_left, ("compact", "kill", "put"), Mode("exactly-once", False, True)),
        (commits_without_a_snapshot, ("disk full", "kill"), Mode("exactly-once", False, True)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_mend_that_is_taken_out_is_missed(
    unmend: Callable[[pytest.MonkeyPatch], None],
    kinds: tuple[str, ...],
    mode: Mode,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unmend(monkeypatch)

    def search() -> None:
        for seed in range(1000):
            simulate(seed, tmp_path / "history", plan_of(seed, kinds), mode)

    with pytest.raises(Violation):
        search()


def test_a_history_is_made_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuilds_whatever_is_left(monkeypatch)
    for seed in range(1000):
        try:
            simulate(seed, tmp_path / "history")
        except Violation:
            break
    plan, _ = smallest(seed, tmp_path / "history")
    assert 1 <= len(plan) < len(plan_of(seed)) and any("expire" in fault.kind for fault in plan)
