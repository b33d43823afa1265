"""`stream-bayes snapshot`: what it says of a directory, and that only rollback changes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stream_bayes import AODE, NaiveBayes, load, save
from stream_bayes.cli.app import app
from stream_bayes.core.events.event import Partition
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from tests.conftest import ROWS


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
    listed = json.loads(run("snapshot", "list", directory, "--json").stdout)
    assert [(row["generation"], row["events"], row["model"]) for row in listed] == [
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
    listed = json.loads(run("snapshot", "list", directory, "--json").stdout)
    assert listed[1]["generation"] == 2 and "zip" in listed[1]["error"]


def test_rollback_makes_an_older_one_the_newest(directory: Path) -> None:
    assert json.loads(run("snapshot", "rollback", directory, "--to", 1, "--json").stdout) == {
        "rolled_back_to": 1,
        "generation": 4,
        "skips": False,
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
    ("arguments", "code", "message"),
    [
        (("list", "nowhere"), 4, "there is no directory nowhere"),
        (("show", "{}", 9), 4, "there is no snapshot"),
        (("rollback", "{}", "--to", 9), 4, "there is no snapshot"),
        (("verify", "{}", "--key-env", "NO_SUCH_KEY"), 3, "NO_SUCH_KEY: the environment variable is not set"),
        (("rollback", "{}", "--to", 1, "--replay", "--and-skip-to", "now"), 3, "exclude each other"),
        (("shwo", "{}"), 2, "No such command"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(
    directory: Path, arguments: tuple[object, ...], code: int, message: str
) -> None:
    before = contents(directory)
    result = run("snapshot", *(str(part).format(directory) for part in arguments))
    assert (result.exit_code, message in result.stderr, "Traceback" in result.stderr) == (code, True, False)
    assert contents(directory) == before


def learned_of(store: SnapshotStore) -> int:
    found = store.latest()
    assert found is not None
    return int(found.snapshot.sections["step"]["learned"])


def test_a_rollback_that_skips_to_now_stays_rolled_back(pipeline: Path) -> None:
    """The next run processes what is new, and not again what came between the snapshot and now."""
    state, answers = pipeline.parent / "state", pipeline.parent / "answers.jsonl"
    assert run("run", pipeline, "--limit", ROWS - 10).exit_code == 0
    store = SnapshotStore(state)
    early = store.list()[-1]
    assert run("run", pipeline).exit_code == 0
    written = answers.read_bytes()
    assert run("snapshot", "rollback", state, "--to", early, "--and-skip-to", "now").exit_code == 0
    assert learned_of(store) == ROWS - 10
    with (pipeline.parent / "weather.csv").open("a") as file:
        file.write("601,60.1,blue,0.5,no\n")
    assert run("run", pipeline).exit_code == 0
    assert learned_of(store) == ROWS - 9
    assert answers.read_bytes().startswith(written) and answers.read_bytes().count(b"\n") == ROWS + 1


def test_a_rollback_under_a_journal_needs_a_choice(tmp_path: Path) -> None:
    """Without one, the next start would replay the journal, and undo the rollback."""
    store = SnapshotStore(tmp_path / "state")
    store.take_over()
    topic = Partition("days")
    for seen in (1, 2):
        sections: dict[str, dict[str, Any]] = {"metrics": {"seen": seen}, "log": {"cluster": f"id-{seen}"}}
        store.save(
            Snapshot(
                learner="Counter",
                sections=sections,
                clock=seen,
                positions={topic: seen},
                outputs={"journal": seen},
            )
        )
    result = run("snapshot", "rollback", tmp_path / "state", "--to", 1)
    assert result.exit_code == 3 and "--and-skip-to now" in result.stderr and store.list() == [1, 2]
    assert run("snapshot", "rollback", tmp_path / "state", "--to", 1, "--and-skip-to", "now").exit_code == 0
    skipped = store.load(3)
    assert (skipped.sections["metrics"]["seen"], skipped.sections["log"]["cluster"]) == (1, "id-2")
    assert (skipped.positions, skipped.outputs) == ({topic: 2}, {"journal": 2})
    assert run("snapshot", "rollback", tmp_path / "state", "--to", 1, "--replay").exit_code == 0
    assert store.load(4).positions == {topic: 1}


def test_merge_adds_up_two_models(tmp_path: Path) -> None:
    models = [NaiveBayes() for _ in range(3)]
    for number in range(40):
        x, y = {"sky": ("grey", "blue")[number % 2]}, ("rain", "sun")[number % 3 == 0]
        models[number % 2].learn_one(x, y)
        models[2].learn_one(x, y)
    for number in (0, 1):
        save(models[number], tmp_path / f"{number}.zip")
    paths = [tmp_path / name for name in ("0.zip", "1.zip", "both.zip")]
    result = run("snapshot", "merge", *paths)
    assert result.exit_code == 0 and "NaiveBayes with the counts of both" in result.stdout, result.stderr
    merged = load(paths[2])
    assert merged.predict_proba_one({"sky": "grey"}) == models[2].predict_proba_one({"sky": "grey"})
    assert run("snapshot", "merge", *paths).exit_code == 3  # the file exists
    save(AODE(), tmp_path / "other.zip")
    refused = run("snapshot", "merge", paths[0], tmp_path / "other.zip", tmp_path / "none.zip")
    assert refused.exit_code == 3 and not (tmp_path / "none.zip").exists()
