"""The directory of a spam filter: whole states only, and no training lost when two processes train at once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stream_bayes
from stream_bayes.errors import BadLabel, BadState, NoSnapshot, SnapshotNotWritten
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.snapshot import Snapshot

ROOT = Path(__file__).parents[3]
TRAINER = """
import sys
from pathlib import Path
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.store.home import SpamHome
home, name, rounds = SpamHome(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(rounds):
    with home.changing(SpamFilter) as model:
        model.learn_one(f"{name} wrote {number}", "spam" if number % 2 else "ham", id=f"{name} {number}")
"""
ROUNDS = 15


def test_two_processes_that_train_at_once_lose_nothing(tmp_path: Path) -> None:
    trainers = [
        subprocess.Popen(
            [sys.executable, "-c", TRAINER, str(tmp_path / "home"), name, str(ROUNDS)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in ("ann", "bob")
    ]
    for trainer in trainers:
        assert trainer.stdout is not None and trainer.stdout.readline() == b"ready\n"
    for trainer in trainers:
        trainer.communicate(b"go\n", timeout=120)
        assert trainer.returncode == 0
    model = SpamHome(tmp_path / "home").load()
    assert sorted(model.ids()) == sorted(
        f"{name} {number}" for name in ("ann", "bob") for number in range(ROUNDS)
    )
    assert sum(model.messages.values()) == model.clock == 2 * ROUNDS


def _learn_both(model: SpamFilter) -> None:
    model.learn_one("b", "spam")
    model.learn_one("c", "neither")


def test_a_change_that_raises_is_not_written(tmp_path: Path) -> None:
    home = SpamHome(tmp_path)
    with home.changing(SpamFilter) as model:
        model.learn_one("a", "ham")
    before = home.version()
    with pytest.raises(BadLabel), home.changing() as model:
        _learn_both(model)
    assert home.version() == before
    assert home.load().clock == 1


def test_the_state_loads_as_any_saved_model(tmp_path: Path) -> None:
    with SpamHome(tmp_path).changing(SpamFilter) as model:
        model.learn_one("cheap pills", "spam", id="1")
    assert stream_bayes.load(tmp_path / "filter.zip").label_of("1") == "spam"


def test_waiting_for_the_lock_is_reported(tmp_path: Path) -> None:
    home, reported = SpamHome(tmp_path), []

    class Hurried(Exception):
        pass

    def waiting() -> None:
        reported.append("waiting")
        raise Hurried

    with home.changing(SpamFilter), pytest.raises(Hurried), home.changing(SpamFilter, waiting):
        pass
    assert reported == ["waiting"]
    with home.changing(waiting=waiting) as model:
        model.learn_one("a", "ham")
    assert reported == ["waiting"]


def test_changing_a_missing_filter_creates_nothing(tmp_path: Path) -> None:
    home = SpamHome(tmp_path / "none")
    with pytest.raises(NoSnapshot, match="spam train"), home.changing():
        pass
    assert not home.exists() and not home.directory.exists()
    assert home.version() == (0, 0, 0)


def test_another_snapshot_is_no_filter(tmp_path: Path) -> None:
    home = SpamHome(tmp_path)
    home.state.write_bytes(Snapshot(learner="NaiveBayes", sections={}).to_bytes())
    with pytest.raises(BadState, match="NaiveBayes"):
        home.load()
    home.state.write_bytes(b"PK")
    with pytest.raises(BadState, match=r"filter\.zip: this is not a snapshot"):
        home.load()
    home.state.unlink()
    with home.changing(SpamFilter):
        pass
    with pytest.raises(BadState, match=r"filter\.zip: .*hashed"):
        SpamHome(tmp_path, b"k" * 16).load()


@pytest.mark.parametrize("fails", ["open", "write", "sync", "rename"])
def test_on_a_full_disk_the_old_state_stays_and_nothing_beside_it(tmp_path: Path, fails: str) -> None:
    with SpamHome(tmp_path).changing(SpamFilter) as model:
        model.learn_one("a", "ham")

    class Full(FileSystem):
        def stop(self) -> None:
            raise OSError(errno.ENOSPC, "no space")

        def open(self, path: Path, flags: int) -> int:
            if fails == "open" and path.name.endswith(".new"):
                self.stop()
            return super().open(path, flags)

        def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
            super().write(descriptor, data[: len(data) // 2] if fails == "write" else data)
            if fails == "write":
                self.stop()

        def sync(self, descriptor: int) -> None:
            super().sync(descriptor) if fails != "sync" else self.stop()

        def rename(self, old: Path, new: Path) -> None:
            super().rename(old, new) if fails != "rename" else self.stop()

    with (
        pytest.raises(SnapshotNotWritten, match=r"filter\.zip cannot be written.*no space"),
        SpamHome(tmp_path, files=Full()).changing() as model,
    ):
        model.learn_one("b", "ham")
    assert SpamHome(tmp_path).load().clock == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["filter.zip", "id-key", "lock"]


def test_an_interrupted_write_leaves_the_old_state(tmp_path: Path) -> None:
    home = SpamHome(tmp_path)
    with home.changing(SpamFilter) as model:
        model.learn_one("a", "ham")
    (tmp_path / ".filter.zip.123.new").write_bytes(b"half a sta")
    assert home.load().clock == 1
    with home.changing() as model:
        model.learn_one("b", "ham")
    assert home.load().clock == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["filter.zip", "id-key", "lock"]


def test_a_state_is_on_the_disk_before_it_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    done: list[str] = []

    class Watched(FileSystem):
        def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
            done.append("write")
            super().write(descriptor, data)

        def sync(self, descriptor: int) -> None:
            done.append("sync")
            super().sync(descriptor)

        def rename(self, old: Path, new: Path) -> None:
            done.append("rename")
            super().rename(old, new)

        def sync_directory(self, path: Path) -> None:
            done.append("sync directory")
            super().sync_directory(path)

    with SpamHome(tmp_path, files=Watched()).changing(SpamFilter):
        pass
    assert done[-4:] == ["write", "sync", "rename", "sync directory"]
