"""The journal of a filter's changes: durable one by one, at any crash, and folded into the snapshot now and then."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import BadState, NotLearned, SnapshotNotWritten
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.store.change_journal import Change
from stream_bayes.mail.store.home import OpenFilter, SpamHome
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.testing.faults import Crash, FaultyFileSystem, Survives

CHANGES = [
    Change("learn", "1", "spam", {"cheap": 1, "pills": 2}),
    Change("learn", "2", "ham", {"lunch": 1, "caf\udce9": 1}),
    Change("learn", "3", "ham", {"lunch": 1, "notes": 1}),
    Change("correct", "1", "ham"),
    Change("forget", "2"),
    Change("learn", "4", "spam", {"pills": 1}),
]


def home_in(directory: Path, files: FileSystem | None = None) -> SpamHome:
    home = SpamHome(directory, files=files)
    if not home.exists():
        with SpamHome(directory).changing(SpamFilter) as model:
            model.learn_one("first words", "ham", id="0")
    return home


def states() -> list[list[Any]]:
    """The filter after each number of changes, made without a journal."""
    model = SpamFilter()
    model.learn_one("first words", "ham", id="0")
    found = [summary(model)]
    for change in CHANGES:
        change.apply(model)
        found.append(summary(model))
    return found


def summary(model: SpamFilter) -> list[Any]:
    return [model.export_counts(), model.ids(), model.clock, model.state()["checksum"]]


def test_changes_are_found_again_and_leave_the_same_bytes(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    opened = OpenFilter(home)
    for change, expected in zip(CHANGES, states()[1:], strict=True):
        opened.change([change])
        assert summary(home.load()) == summary(opened.model) == expected


def test_a_change_is_one_append_and_one_sync(tmp_path: Path) -> None:
    files = FaultyFileSystem()
    opened = OpenFilter(home_in(tmp_path, files))
    opened.change(CHANGES[:1])
    before = len(files.operations)
    opened.change(CHANGES[1:2])
    assert files.operations[before:] == ["open lock", "open changes", "write changes", "sync changes"]


@pytest.mark.parametrize("survives", list(Survives))
def test_no_acknowledged_change_is_lost_at_a_crash(tmp_path: Path, survives: Survives) -> None:
    crash_everywhere(tmp_path, survives, list(Survives).index(survives), 3)


@pytest.mark.soak
@pytest.mark.parametrize("survives", list(Survives))
def test_no_acknowledged_change_is_lost_at_any_crash(tmp_path: Path, survives: Survives) -> None:
    crash_everywhere(tmp_path, survives, 0, 1)


def crash_everywhere(tmp_path: Path, survives: Survives, first: int, step: int) -> None:
    """Crash at every `step`-th operation."""
    expected = states()

    home_in(tmp_path / "first")

    def run(directory: Path, files: FaultyFileSystem) -> Iterator[int]:
        shutil.copytree(tmp_path / "first", directory)
        opened = OpenFilter(home_in(directory, files))
        for number, change in enumerate(CHANGES, 1):
            opened.change([change])
            yield number
            if number in (2, 5):
                assert opened.fold()

    counted = FaultyFileSystem()
    assert list(run(tmp_path / "counted", counted))[-1] == len(CHANGES)
    assert any("rename filter.zip" in done for done in counted.operations) and len(counted.operations) > 30
    for number in range(1 + first, len(counted.operations) + 1, step):
        directory, acknowledged = tmp_path / str(number), 0
        with suppress(Crash):
            for acknowledged in run(directory, FaultyFileSystem(number, survives)):  # noqa: B007  # the last one
                pass
        opened = OpenFilter(SpamHome(directory, files=FaultyFileSystem()))
        done = expected.index(summary(opened.model))
        assert done in (acknowledged, acknowledged + 1), (number, counted.operations[number - 1])
        for change in CHANGES[done:]:  # and it goes on from there
            opened.change([change])
        assert summary(SpamHome(directory).load()) == expected[-1]


def test_a_refused_change_leaves_filter_and_journal_as_they_were(tmp_path: Path) -> None:
    files = FaultyFileSystem()
    home = home_in(tmp_path, files)
    opened = OpenFilter(home)
    opened.change(CHANGES[:2])
    before = home.journal.path.read_bytes()
    files.space = 20
    with pytest.raises(SnapshotNotWritten, match=r"changes cannot be written.*No space"):
        opened.change(CHANGES[2:3])
    files.space = None
    files.refusal = errno.EROFS
    with pytest.raises((SnapshotNotWritten, OSError)):
        opened.change(CHANGES[2:3])
    files.refusal = None
    with pytest.raises(NotLearned):
        opened.change([CHANGES[2], Change("forget", "unknown")])
    opened.catch_up()
    assert home.journal.path.read_bytes() == before
    assert summary(opened.model) == states()[2]
    opened.change(CHANGES[2:])
    assert summary(home.load()) == states()[-1]


def test_two_filters_of_one_home_follow_each_other_and_its_folds(tmp_path: Path) -> None:
    one, other = OpenFilter(home_in(tmp_path)), OpenFilter(home_in(tmp_path))
    for number, change in enumerate(CHANGES):
        (one if number % 2 else other).change([change])
        if number == 3:
            snapshot, version = one.snapshot()
            one.write_folded(snapshot)
            other.change([Change("learn", "x", "spam", {"meanwhile": 1})])
            assert one.adopt_folded(snapshot, version)
            assert not one.adopt_folded(snapshot, version)
            one.change([Change("forget", "x")])
    one.catch_up()
    other.catch_up()
    counts = one.model.export_counts()
    assert counts == other.model.export_counts() == SpamHome(tmp_path).load().export_counts()
    assert counts == states()[-1][0]


def test_training_from_folders_includes_the_changes_and_cuts_the_journal(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    opened = OpenFilter(home)
    opened.change(CHANGES[:4])
    long = home.journal.size()
    with home.changing() as model:
        assert summary(model) == states()[4]
    assert home.journal.size() < long / 4
    opened.change(CHANGES[4:])
    assert summary(home.load()) == states()[-1]


def test_a_forgotten_mail_is_in_no_file_after_a_fold(tmp_path: Path) -> None:
    opened = OpenFilter(home_in(tmp_path))
    opened.change([Change("learn", "1", "spam", {"secretword": 1}), Change("forget", "1")])
    assert opened.holds_forgotten and OpenFilter(SpamHome(tmp_path)).holds_forgotten
    assert any(b"secretword" in path.read_bytes() for path in tmp_path.iterdir())
    assert opened.fold() and not opened.holds_forgotten
    assert not any(b"secretword" in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize("cut", [1, 5, 20, 30])
def test_a_torn_record_at_the_end_is_dropped_and_overwritten(tmp_path: Path, cut: int) -> None:
    home = home_in(tmp_path)
    OpenFilter(home).change(CHANGES[:2])
    whole = home.journal.path.read_bytes()
    home.journal.path.write_bytes(whole[:-cut])
    opened = OpenFilter(home)
    assert summary(opened.model) == states()[1]
    opened.change(CHANGES[1:])
    assert summary(home.load()) == states()[-1]


def test_damage_before_sound_changes_and_missing_changes_are_refused(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    older = home.state.read_bytes()
    opened = OpenFilter(home)
    opened.change(CHANGES[:3])
    journal = home.journal.path
    whole = bytearray(journal.read_bytes())
    whole[whole.index(b"pills")] ^= 1
    sound = journal.read_bytes()
    journal.write_bytes(whole)
    with pytest.raises(BadState, match=r"changes: the record at byte 16 is damaged, and changes follow"):
        home.load()
    journal.write_bytes(sound)
    opened.fold()
    opened.change(CHANGES[3:])
    home.state.write_bytes(older)
    with pytest.raises(BadState, match=r"begins with change 3, the snapshot beside it ends before change 0"):
        home.load()
    journal.write_bytes(b"something else that is long enough")
    with pytest.raises(BadState, match="expected a journal of changes"):
        home.load()
