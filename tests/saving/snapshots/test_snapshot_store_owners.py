"""Only the last owner of a directory can change it, whatever its predecessors still do."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from stream_bayes.errors import (
    BadState,
    NotOwner,
    SnapshotNotWritten,
)
from stream_bayes.saving.snapshots import store as store_module
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.testing.faults import FaultyStore
from tests.saving.snapshots.numbered_snapshots import (
    counted,
    names_in,
    newest,
    number_of,
    owned,
    stored_numbers,
)


def test_a_store_that_took_nothing_over_changes_nothing(tmp_path: Path) -> None:
    owned(tmp_path).save(counted(1))
    before = names_in(tmp_path)
    store = SnapshotStore(tmp_path)
    for change in (lambda: store.save(counted(2)), lambda: store.rollback(1)):
        with pytest.raises(NotOwner, match="take_over"):
            change()
    assert names_in(tmp_path) == before


def test_a_predecessor_cannot_publish_or_prune_anything(tmp_path: Path) -> None:
    old = owned(tmp_path, keep=1)
    old.save(counted(1))
    new = owned(tmp_path, keep=3)
    new.save(counted(2))
    before = names_in(tmp_path)
    for change in (lambda: old.save(counted(3)), lambda: old.rollback(1), lambda: old.save(counted(4))):
        with pytest.raises(NotOwner, match="is owner 2, this one was owner 1"):
            change()
    assert names_in(tmp_path) == before
    assert stored_numbers(new) == [1, 2]
    old.take_over()
    old.save(counted(5))
    with pytest.raises(NotOwner):
        new.save(counted(6))
    assert stored_numbers(old) == [5]


class Interrupted(FileSystem):
    """Runs something just before the n-th call that could change the disk while no lock is held."""

    def __init__(self, at: int, what: Callable[[], None]) -> None:
        self.at = at
        self.what = what
        self.count = 0
        self.locks: set[int] = set()

    def _step(self) -> None:
        if not self.locks:
            self.count += 1
            if self.count == self.at:
                self.what()

    def open(self, path: Path, flags: int) -> int:
        self._step()
        return super().open(path, flags)

    def write(self, descriptor: int, data: Any) -> None:
        self._step()
        super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self._step()
        super().sync(descriptor)

    def try_lock(self, descriptor: int) -> bool:
        self._step()
        locked = super().try_lock(descriptor)
        if locked:
            self.locks.add(descriptor)
        return locked

    def close(self, descriptor: int) -> None:
        self.locks.discard(descriptor)
        super().close(descriptor)


def test_whenever_a_predecessor_loses_the_directory_it_changes_nothing_any_more(tmp_path: Path) -> None:
    published, at = [], 0
    while True:
        at += 1
        directory = tmp_path / str(at)
        owned(directory, keep=5).save(counted(1))
        new = SnapshotStore(directory, keep=5)

        def take_over(new: SnapshotStore = new) -> None:
            new.take_over()
            new.save(counted(2))

        files = Interrupted(10**9, take_over)
        old = SnapshotStore(directory, keep=1, file_system=files)
        old.take_over()
        files.count, files.at = 0, at
        try:
            old.save(counted(9))
        except NotOwner:
            # It lost the directory before its snapshot had a name, or before it deleted the older ones.
            assert stored_numbers(new) in ([1, 2], [1, 9, 2])
            published.append(9 in stored_numbers(new))
            new.save(counted(3))
            assert stored_numbers(new)[-2:] == [2, 3] and stored_numbers(new)[0] == 1
            assert not [name for name in names_in(directory) if name.startswith("writing")]
        else:
            assert files.count < at  # the save was over before it was to be interrupted
            break
    assert published == sorted(published) and {False, True} == set(published)
    assert at > 10


def test_a_successor_clears_away_what_its_predecessor_was_writing(tmp_path: Path) -> None:
    old = owned(tmp_path)
    old.save(counted(1))
    (tmp_path / "writing-1-7").write_bytes(b"half")
    new = owned(tmp_path)
    assert "writing-1-7" not in names_in(tmp_path)
    (tmp_path / "writing-1-8").write_bytes(b"it had not noticed yet")
    new.save(counted(2))
    assert "writing-1-8" not in names_in(tmp_path)


def test_what_the_owner_itself_is_writing_is_not_cleared_away(tmp_path: Path) -> None:
    store = owned(tmp_path)
    (tmp_path / "writing-1-99").write_bytes(b"in another thread")
    store.save(counted(1))
    assert "writing-1-99" in names_in(tmp_path)


def test_an_epoch_outlasts_a_power_cut_before_anything_is_written_under_it(tmp_path: Path) -> None:
    # Otherwise the next owner could get the same number, and meet files of that name.
    store = FaultyStore(tmp_path)
    store.take_over()
    store.save(counted(1))
    done = store.faults.operations
    synced = done.index(f"sync {tmp_path.name}")
    assert done.index("sync epoch.new") < done.index("rename epoch") < synced < done.index("open writing-1-1")


def test_an_epoch_that_was_altered_is_refused(tmp_path: Path) -> None:
    store = owned(tmp_path)
    for text in (b"", b"x", b"-1\n", b"1", b"1\n\n", b"9" * 30 + b"\n"):
        (tmp_path / "epoch").write_bytes(text)
        for change in (store.take_over, lambda: store.save(counted(1))):
            with pytest.raises(BadState, match="epoch: expected a number"):
                change()


def test_a_lock_that_is_held_too_long_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "LOCK_SECONDS", 0.05)
    store = owned(tmp_path)
    with store._locked():
        with pytest.raises(SnapshotNotWritten, match="lock has been locked by another process"):
            SnapshotStore(tmp_path).take_over()
        with pytest.raises(SnapshotNotWritten, match="lock has been locked by another process"):
            store.save(counted(1))
    assert store.save(counted(1)) == 1


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    store = owned(tmp_path)
    holding, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store._locked():
            holding.set()
            done.wait(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    holding.wait()
    waiting = owned(tmp_path)
    holder.join()
    assert waiting.save(counted(1)) == 1


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom stream_bayes.saving.snapshots.store import SnapshotStore\n"
        "store = SnapshotStore(sys.argv[1])\nstore.take_over()\n"
        "with store._locked():\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    store = owned(tmp_path)
    store.save(counted(1))
    assert (tmp_path / "epoch").read_text() == "2\n"


# -- against a model ------------------------------------------------------------------------------------------------


class Directory(RuleBasedStateMachine):
    """Two stores on one directory, in any order, against a list of numbers."""

    stores = Bundle("stores")

    @initialize(keep=st.integers(1, 3))
    def begin(self, keep: int) -> None:
        self.folder = TemporaryDirectory()
        self.keep = keep
        self.pair = [SnapshotStore(self.folder.name, keep=keep) for _ in range(2)]
        self.owner: int | None = None
        self.expected: dict[int, int] = {}
        self.number = 0

    @rule(who=st.integers(0, 1))
    def take_over(self, who: int) -> None:
        self.pair[who].take_over()
        self.owner = who

    @rule(who=st.integers(0, 1))
    def save(self, who: int) -> None:
        self.number += 1
        if who != self.owner:
            with pytest.raises(NotOwner):
                self.pair[who].save(counted(self.number))
            return
        generation = self.pair[who].save(counted(self.number))
        assert generation == max(self.expected, default=0) + 1
        self.expected[generation] = self.number
        self.expected = dict(sorted(self.expected.items())[-self.keep :])

    @rule(who=st.integers(0, 1), back=st.integers(0, 2))
    def roll_back(self, who: int, back: int) -> None:
        if not self.expected or who != self.owner:
            return
        generation = sorted(self.expected)[-1 - min(back, len(self.expected) - 1)]
        made = self.pair[who].rollback(generation)
        self.expected[made] = self.expected[generation]

    @invariant()
    def everybody_reads_the_same(self) -> None:
        for store in getattr(self, "pair", []):
            assert {
                generation: number_of(store.load(generation)) for generation in store.list()
            } == self.expected
            latest = self.expected[max(self.expected)] if self.expected else None
            assert newest(store) == latest

    def teardown(self) -> None:
        self.folder.cleanup()


TestDirectory = Directory.TestCase
TestDirectory.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
