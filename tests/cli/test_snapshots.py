"""`stream-bayes snapshot`: what it says of a directory, and that only rollback changes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_bayes.cli.app import app
from stream_bayes.snapshots.snapshot import Snapshot
from stream_bayes.streams.files.snapshot_store import SnapshotStore


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    store = SnapshotStore(tmp_path / "state")
    store.take_over()
    for seen in (1, 2, 3):
        store.save(Snapshot(learner="Counter", sections={"metrics": {"seen": seen}}, clock=seen))
    return tmp_path / "state"


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_list_shows_each_generation_with_its_events(directory: Path) -> None:
    told = json.loads(run("snapshot", "list", directory, "--json").stdout)
    assert [(row["generation"], row["events"], row["model"]) for row in told] == [
        (1, 1, "Counter"),
        (2, 2, "Counter"),
        (3, 3, "Counter"),
    ]
    assert "Counter" in run("snapshot", "list", directory).stdout


def test_show_describes_one_and_the_newest_unless_told_which(directory: Path) -> None:
    assert json.loads(run("snapshot", "show", directory, 2, "--json").stdout)["clock"] == 2
    assert json.loads(run("snapshot", "show", directory, "--json").stdout)["clock"] == 3
    assert "metrics" in run("snapshot", "show", directory).stdout


@pytest.mark.parametrize("command", ["list", "verify", "show"])
def test_where_nothing_was_kept_there_is_nothing_sound_either(tmp_path: Path, command: str) -> None:
    result = run("snapshot", command, tmp_path)
    assert result.exit_code == 4 and "there are no snapshots in" in result.stderr


def test_verify_names_a_broken_one_and_ends_with_4(directory: Path) -> None:
    assert run("snapshot", "verify", directory).exit_code == 0
    path = SnapshotStore(directory).path(2)
    path.write_bytes(path.read_bytes()[:-1])
    result = run("snapshot", "verify", directory, "--json")
    assert result.exit_code == 4
    assert [row["sound"] for row in json.loads(result.stdout)] == [True, False, True]


def test_a_broken_one_is_listed_with_what_is_wrong(directory: Path) -> None:
    SnapshotStore(directory).path(2).write_bytes(b"")
    told = json.loads(run("snapshot", "list", directory, "--json").stdout)
    assert told[1]["generation"] == 2 and "zip" in told[1]["error"]


def test_rollback_makes_an_older_one_the_newest(directory: Path) -> None:
    assert json.loads(run("snapshot", "rollback", directory, 1, "--json").stdout) == {
        "rolled_back_to": 1,
        "generation": 4,
    }
    found = SnapshotStore(directory).latest()
    assert found is not None and found.snapshot.clock == 1


def test_export_writes_a_snapshot_that_loads(directory: Path, tmp_path: Path) -> None:
    assert run("snapshot", "export", directory, tmp_path / "copy.zip").exit_code == 0
    assert Snapshot.from_bytes((tmp_path / "copy.zip").read_bytes()).clock == 3
    run("snapshot", "export", directory, tmp_path / "copy.zip", "--generation", 2)
    assert Snapshot.from_bytes((tmp_path / "copy.zip").read_bytes()).clock == 2


@pytest.mark.parametrize("command", [("list",), ("show", 2), ("verify",), ("export", "out.zip")])
def test_looking_changes_nothing(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[object, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = contents(directory)
    assert run("snapshot", command[0], directory, *command[1:]).exit_code == 0
    assert contents(directory) == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("list", "nowhere"), 4, "there is no directory nowhere"),
        (("show", "{}", 9), 4, "there is no snapshot"),
        (("rollback", "{}", 9), 4, "there is no snapshot"),
        (("verify", "{}", "--key-env", "NO_SUCH_KEY"), 3, "NO_SUCH_KEY: the environment variable is not set"),
        (("shwo", "{}"), 2, "No such command"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(
    directory: Path, arguments: tuple[object, ...], code: int, said: str
) -> None:
    before = contents(directory)
    result = run("snapshot", *(str(part).format(directory) for part in arguments))
    assert (result.exit_code, said in result.stderr, "Traceback" in result.stderr) == (code, True, False)
    assert contents(directory) == before
