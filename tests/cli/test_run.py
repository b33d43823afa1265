"""`run` from the command line: what it says, what it leaves, and what may change between two runs."""

from __future__ import annotations

import csv
import json
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import stream_bayes
from stream_bayes import NaiveBayes
from stream_bayes.cli.commands.run import MAY_CHANGE
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from tests.cli.test_snapshots import run
from tests.conftest import ROWS
from tests.waiting import PATIENCE, until

EXAMPLES = Path(__file__).parents[2] / "examples"


def answers(pipeline: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (pipeline.parent / "answers.jsonl").read_text().splitlines()]


def test_run_answers_each_event_once_with_its_key_and_time(pipeline: Path) -> None:
    result = run("run", pipeline, "--json")
    assert result.exit_code == 0, result.stderr
    written = answers(pipeline)
    assert [answer["key"] for answer in written] == [str(number) for number in range(ROWS)]
    assert (written[7]["time"], written[7]["model"]["name"]) == (0.7, "weather")
    assert run("run", pipeline, "--json").exit_code == 0
    assert len(answers(pipeline)) == ROWS


def test_answers_and_dead_letters_may_be_csv(pipeline: Path, weather: Path) -> None:
    in_csv = (
        '[predictions]\nkind = "csv"\npath = "answers.csv"\n[dead_letters]\nkind = "csv"\npath = "dead.csv"\n'
    )
    text = pipeline.read_text()
    begin, end = text.index("[predictions]"), text.index("[snapshots]")
    pipeline.write_text(text[:begin] + in_csv + text[end:])
    with weather.open("a") as file:
        file.write("600,60.0,blue\n")
    assert run("run", pipeline).exit_code == 0
    with weather.open("a") as file:
        file.write("601,60.1,blue,0.5,no\n")
    assert run("run", pipeline).exit_code == 0
    with (pipeline.parent / "answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["key"] for row in rows] == [*map(str, range(ROWS)), "601"]
    assert rows[-1]["prediction"] == "no" and set(json.loads(rows[-1]["probabilities"])) == {"yes", "no"}
    with (pipeline.parent / "dead.csv").open(newline="") as file:
        assert [row["reason"] for row in csv.DictReader(file)] == ["ragged"]


def test_labels_among_the_samples_of_a_file_are_joined_as_the_docs_say(tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs" / "pipelines.md").read_text("utf-8").split("## Late labels")[1]
    file, events = (page.split(f"```{kind}\n")[1].split("```")[0] for kind in ("toml", "json"))
    (tmp_path / "late.toml").write_text(file)
    (tmp_path / "events.jsonl").write_text(events + '{"id": 1, "at": 90000, "type": "label", "rain": "no"}\n')
    result = json.loads(run("run", tmp_path / "late.toml", "--json").stdout)
    assert (result["records"], result["learned"], result["waiting"], result["dead_letters"]) == (6, 2, 0, {})
    assert [row["key"] for row in answers(tmp_path / "late.toml")] == [1, 2]
    assert result["cumulative"]["accuracy"] is None  # both were predicted before anything was learned


def test_a_second_run_says_what_it_took_itself(pipeline: Path) -> None:
    run("run", pipeline, "--limit", 400)
    printed = " ".join(run("run", pipeline).stdout.split())
    assert "weather: 200 records, 200 learned" in printed
    assert "including earlier runs 600 records, 600 learned" in printed
    assert "weather: 0 records, 0 learned by NaiveBayes; including earlier" in " ".join(
        run("run", pipeline).stdout.split()
    )


def test_a_dry_run_says_where_it_would_start_and_changes_nothing(pipeline: Path) -> None:
    report = json.loads(run("run", pipeline, "--dry-run", "--json").stdout)
    assert (report["snapshot"], report["records"], report["delivery"]) == (None, 0, "exactly once")
    assert sorted(path.name for path in pipeline.parent.iterdir()) == ["weather.csv", "weather.toml"]
    run("run", pipeline, "--limit", 100)
    assert json.loads(run("run", pipeline, "--dry-run", "--json").stdout)["records"] == 100


def test_the_pipeline_of_the_examples_runs_as_it_stands_and_then_has_nothing_left_to_do(
    tmp_path: Path,
) -> None:
    for name in ("weather.toml", "weather.csv"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    report = json.loads(run("run", tmp_path / "weather.toml", "--json").stdout)
    assert report["learned"] == 200 and report["cumulative"]["accuracy"] > 0.7 and not report["dead_letters"]
    assert json.loads(run("run", tmp_path / "weather.toml", "--json").stdout)["records_in_this_run"] == 0
    answered = run("explain", tmp_path / "weather-state", '{"sky": "grey", "wind": 6.5}')
    assert answered.exit_code == 0 and "no such feature" not in answered.stdout


def test_a_run_until_the_end_takes_what_was_there_and_does_not_wait_for_more(pipeline: Path) -> None:
    pipeline.write_text(pipeline.read_text().replace('kind = "csv"', 'kind = "csv"\nfollow = true'))
    with (pipeline.parent / "weather.csv").open("a") as file:
        file.write("600,60.0,gr")  # half a line: there is none yet
    report = json.loads(run("run", pipeline, "--until-end", "--json").stdout)
    assert report["records"] == ROWS == len(answers(pipeline))
    with (pipeline.parent / "weather.csv").open("a") as file:
        file.write("ey,0.5,yes\n")
    assert json.loads(run("run", pipeline, "--until-end", "--json").stdout)["records_in_this_run"] == 1


def test_a_run_without_a_schema_is_the_replay_of_its_file(pipeline: Path, weather: Path) -> None:
    """Numbers are numbers in both, and so is what is learned of them."""
    pipeline.write_text(
        pipeline.read_text()
        .replace("[schema.features]\n", "")
        .replace('sky = "nominal"\n', "")
        .replace('wind = "numeric"\n', "")
    )
    report = json.loads(run("run", pipeline, "--json").stdout)
    rest = ("--target", "rain", "--ignore", "id", "--time", "at", "--model", "nb", "--json")
    assert report["cumulative"] == json.loads(run("replay", weather, *rest).stdout)["cumulative"]


def test_what_columns_were_taken_for_is_kept_whatever_the_file_becomes(pipeline: Path, weather: Path) -> None:
    text = pipeline.read_text().replace("[schema.features]\n", "").replace('sky = "nominal"\n', "")
    pipeline.write_text(
        text.replace('wind = "numeric"\n', "").replace('kind = "csv"', 'kind = "csv"\nfollow = true')
    )
    whole = weather.read_text().splitlines(keepends=True)
    weather.write_text(whole[0])
    refused = run("run", pipeline, "--until-end")
    assert refused.exit_code == 3 and "[schema.features]" in refused.stderr
    weather.write_text("".join(whole[:51]))
    assert run("run", pipeline, "--until-end").exit_code == 0
    words = ("calm", "breezy", "gusty")  # one or two of them would stand for numbers that are not there
    named = [
        re.sub(r",[\d.]+,(yes|no)", rf",{words[row % 3]},\1", line) for row, line in enumerate(whole[51:])
    ]
    weather.write_text("".join([*whole[:51], *named]))
    report = json.loads(run("run", pipeline, "--until-end", "--json").stdout)
    assert (report["learned"], report["dead_letters"]) == (ROWS, {})
    assert report["misfits"] == {"wind": ROWS - 50}  # no word is a number
    assert run("run", pipeline, "--until-end", "--rebuild", "--json").exit_code == 0
    found = SnapshotStore(pipeline.parent / "state").latest()
    assert found is not None
    guessed = dict(found.snapshot.sections["settings"]["guessed"]["schema"]["features"])
    assert guessed["wind"]["kind"] == "nominal"


def test_a_signed_state_is_read_with_its_key_by_every_command(
    pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHT", "k" * 16)
    monkeypatch.setenv("WRONG", "w" * 16)
    pipeline.write_text(pipeline.read_text().rstrip() + '\nkey = "${RIGHT}"\n')
    assert run("run", pipeline, "--limit", 200).exit_code == 0
    state, x = tmp_path / "state", '{"sky": "grey"}'
    newest = max(SnapshotStore(state).list())
    for command in (
        ("snapshot", "verify", state),
        ("snapshot", "export", state, tmp_path / "model.zip"),
        ("explain", state, x),
        ("snapshot", "rollback", state, "--to", newest),
    ):
        assert run(*command, "--key-env", "WRONG").exit_code == 4, command
        assert run(*command, "--key-env", "RIGHT").exit_code == 0, command
    assert run("explain", tmp_path / "model.zip", x).exit_code == 0
    assert json.loads(run("run", pipeline, "--json").stdout)["records"] == ROWS


def test_rebuild_begins_anew(pipeline: Path) -> None:
    run("run", pipeline)
    assert json.loads(run("run", pipeline, "--rebuild", "--json").stdout)["records_in_this_run"] == ROWS
    assert len(answers(pipeline)) == ROWS


def test_a_warm_start_takes_the_model_and_nothing_else(pipeline: Path, weather: Path, tmp_path: Path) -> None:
    run("run", pipeline)
    exported = tmp_path / "warm.zip"
    assert run("snapshot", "export", tmp_path / "state", exported).exit_code == 0
    report = json.loads(run("run", pipeline, "--warm-start", exported, "--rebuild", "--json").stdout)
    assert (report["records"], report["learned"]) == (ROWS, ROWS)
    assert answers(pipeline)[0]["prediction"] in ("yes", "no")  # it had learned before
    assert run("run", pipeline, "--warm-start", exported).exit_code == 3


def test_a_warm_start_that_does_not_fit_says_what_would(pipeline: Path, tmp_path: Path) -> None:
    # Without [schema] the columns are taken for what the first rows show; this model was made without any.
    pipeline.write_text(re.sub(r"\n *\[schema.features\]\n.*\n.*\n", "\n", pipeline.read_text()))
    model = NaiveBayes()
    model.learn_one({"sky": "grey", "wind": 0.5}, "yes")
    saved = tmp_path / "model.zip"
    saved.write_bytes(Snapshot(learner="NaiveBayes", sections={"model": model.state()}).to_bytes())
    result = run("run", pipeline, "--warm-start", saved)
    needed = "Schema({'sky': Nominal(), 'wind': Numeric()}, target='rain')"
    assert (result.exit_code, len(result.stderr.strip().splitlines())) == (4, 1)
    assert (
        f"with other arguments: schema=None, not {needed}. Give the two the same arguments" in result.stderr
    )
    model = NaiveBayes(
        schema=eval(needed, {name: getattr(stream_bayes, name) for name in ("Schema", "Nominal", "Numeric")})
    )
    model.learn_one({"sky": "grey", "wind": 0.5}, "yes")
    saved.write_bytes(Snapshot(learner="NaiveBayes", sections={"model": model.state()}).to_bytes())
    assert run("run", pipeline, "--warm-start", saved).exit_code == 0
    assert answers(pipeline)[0]["prediction"] == "yes"
    result = run("run", pipeline, "--warm-start", tmp_path / "state", "--rebuild")
    assert (
        result.exit_code == 4 and f"`stream-bayes snapshot export {tmp_path / 'state'} FILE`" in result.stderr
    )


def test_a_changed_setting_is_named_and_refused(pipeline: Path) -> None:
    run("run", pipeline, "--limit", 100)
    pipeline.write_text(pipeline.read_text().replace('kind = "nb"', 'kind = "aode"'))
    result = run("run", pipeline)
    assert result.exit_code == 4
    assert "model.kind was 'nb', is 'aode'" in result.stderr
    for shown in (result.stdout, run("run", pipeline, "--dry-run").stdout):
        rows = [line.split() for line in shown.splitlines()]
        assert ["model.kind", "'nb'", "'aode'", "refused"] in rows
        assert ["batch", "may", "change"] in rows


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (
            'labels = { wait_for = "24h" }',
            'labels = { wait_for = "1h" }',
            "wait_for was 86400.0, is 3600.0. Start",
        ),
        ('labels = { wait_for = "24h" }', "", "labels was given, is not given. Start"),
        ("", 'labels = { wait_for = "24h" }', "labels was not given, is given. Start"),
    ],
    ids=["waiting for longer", "labels turned off", "labels turned on"],
)
def test_labels_that_are_changed_are_refused_and_a_rebuild_that_loses_some_too(
    tmp_path: Path, before: str, now: str, said: str
) -> None:
    rows: list[dict[str, Any]] = []
    for number in range(20):
        rows += [{"id": number, "at": 60.0 * number, "sky": "grey"}]
        rows += [{"type": "label", "id": number, "at": 60.0 * number + 1.0, "y": "rain"}]
    (tmp_path / "days.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pipeline = tmp_path / "days.toml"
    text = """
name = "days"
source = { kind = "jsonl", path = "days.jsonl", target = "y", key = "id", time = "at", type = "type" }
model = { kind = "nb" }
max_dead_share = 1.0
snapshots = { directory = "state" }
predictions = { kind = "jsonl", path = "answers.jsonl" }
"""
    pipeline.write_text(text + before)
    assert run("run", pipeline, "--limit", "30").exit_code == 0
    written = answers(pipeline)
    pipeline.write_text(text + now)
    result = run("run", pipeline)
    assert result.exit_code == 4 and said in result.stderr
    assert answers(pipeline) == written
    rebuilt = run("run", pipeline, "--rebuild")
    assert rebuilt.exit_code == (0 if now else 4), rebuilt.stderr
    assert len(answers(pipeline)) == (20 if now else len(written))


def test_what_no_state_depends_on_may_change(pipeline: Path) -> None:
    run("run", pipeline, "--limit", 100)
    text = pipeline.read_text().replace("batch = 50", 'batch = 7\nmax_dead_share = 0.4\nmax_skew = "3d"')
    text = text.replace("every_events = 100", "every_events = 30\nevery_seconds = 5.0\nkeep = 2")
    text = (
        text.replace('path = "weather.csv"', 'path = "moved.csv"\nfollow = true')
        + "\n[ops]\nport = 0\n[serve]\nport = 0\n"
    )
    (pipeline.parent / "weather.csv").rename(pipeline.parent / "moved.csv")
    pipeline.write_text(text)
    table = tomllib.loads(text)
    for path in MAY_CHANGE:  # each of them is changed here
        part = table
        for key in path.split("."):
            part = part[key]
    assert json.loads(run("run", pipeline, "--until-end", "--json").stdout)["records"] == ROWS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_run_with_a_snapshot_and_0(pipeline: Path, number: int) -> None:
    text = pipeline.read_text().replace('kind = "csv"', 'kind = "csv"\nfollow = true')
    pipeline.write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "stream_bayes", "run", str(pipeline), "--json"], stdout=-1
    )
    try:
        written = pipeline.parent / "answers.jsonl"
        until("all answers", lambda: written.exists() and written.read_bytes().count(b"\n") == ROWS)
        process.send_signal(number)
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert json.loads(out)["records"] == ROWS
    found = SnapshotStore(pipeline.parent / "state").latest()
    assert found is not None and found.snapshot.clock == ROWS


@pytest.mark.filterwarnings("default::stream_bayes.errors.BrokenSnapshotWarning")
def test_with_log_json_fatal_errors_and_warnings_are_json_lines_too(pipeline: Path) -> None:
    assert run("run", pipeline).exit_code == 0
    store = SnapshotStore(pipeline.parent / "state")
    store.path(store.list()[-1]).write_bytes(b"broken")
    pipeline.write_text(pipeline.read_text().replace("weather.csv", "nowhere.csv"))
    result = run("run", pipeline, "--log-json")
    assert result.exit_code == 5
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert lines[-1]["level"] == "critical" and "nowhere.csv" in lines[-1]["message"]
    pipeline.write_text(pipeline.read_text().replace("nowhere.csv", "weather.csv"))
    result = run("run", pipeline, "--log-json")
    assert result.exit_code == 0, result.stderr
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert any(line["level"] == "warning" and "BrokenSnapshotWarning" in line["message"] for line in lines)


def test_with_log_json_a_wrong_pipeline_file_and_a_bug_are_json_lines_too(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (wrong := pipeline.parent / "wrong.toml").write_text("name = ")
    result = run("run", wrong, "--log-json")
    (line,) = map(json.loads, result.stderr.splitlines())
    assert (result.exit_code, line["level"]) == (3, "critical") and "not TOML" in line["message"]

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a value of a record")

    monkeypatch.setattr("stream_bayes.cli.commands.run.build", fail)
    result = run("run", pipeline, "--log-json")
    (line,) = map(json.loads, result.stderr.splitlines())
    assert (result.exit_code, line["error"]) == (1, "RuntimeError")
    assert "test_run.py" in line["traceback"][-1] and "a value" not in result.stderr
