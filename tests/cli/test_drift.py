"""Drift from the command line: a replay and a comparison that follow it, and what `drift show` says of it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import DriftAdaptive, NaiveBayes, plots
from stream_bayes.drift.log import DriftLog
from stream_bayes.saving.river.model_state import model_state
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from tests.cli.test_snapshots import run

EVENTS, CHANGES = 1000, 500


@pytest.fixture
def lights(tmp_path: Path) -> Path:
    """A class that follows a feature, and from one event on its opposite."""
    path = tmp_path / "lights.jsonl"
    with path.open("w") as file:
        for n in range(EVENTS):
            light = "on" if n % 3 else "off"
            day = "yes" if (light == "on") == (n < CHANGES) else "no"
            file.write(json.dumps({"light": light, "day": day, "at": n / 10}) + "\n")
    return path


def replayed(lights: Path, *more: object) -> dict[str, float]:
    result = run("replay", lights, "--target", "day", "--time", "at", *more, "--json")
    assert result.exit_code == 0, result.stderr
    report: dict[str, float] = json.loads(result.stdout)["cumulative"]
    return report


def shown(source: Path) -> list[dict[str, Any]]:
    result = run("drift", "show", source, "--json")
    assert result.exit_code == 0, result.stderr
    report: list[dict[str, Any]] = json.loads(result.stdout)
    return report


def test_a_replay_that_follows_drift_is_right_more_often(lights: Path) -> None:
    assert (
        replayed(lights, "--drift", "adwin")["accuracy"] > replayed(lights, "--model", "nb")["accuracy"] + 0.1
    )


def test_what_each_reading_of_a_choice_changed_is_shown_by_its_name(tmp_path: Path) -> None:
    log, entries = tmp_path / "drifts.jsonl", DriftLog()
    tree = {"added": [["sky", "wind"]], "removed": [["wind", "sky"]]}
    members = {
        "tan": tree,
        "kdb": {"added": [], "removed": []},
        "spode": {"added": [["sun", "sky"]], "removed": []},
    }
    union = {"added": [["sky", "wind"], ["sun", "sky"]], "removed": [["wind", "sky"]]}
    entries.add("adopted", 120, candidate="both", structure={**union, "members": members})
    log.write_text(entries.json_lines())
    result = run("drift", "show", log, "--picture", tmp_path / "swap.dot")
    assert result.exit_code == 0, result.stderr
    assert "tan: +sky>wind -wind>sky" in result.stdout
    assert "spode: +sun>sky" in result.stdout
    assert "kdb" not in result.stdout
    assert '"sun" -> "sky"' in (tmp_path / "swap.dot").read_text()


def test_a_log_is_shown_the_same_from_a_file_a_directory_and_a_snapshot(lights: Path, tmp_path: Path) -> None:
    log, state = tmp_path / "drifts.jsonl", tmp_path / "state"
    replayed(lights, "--drift", "page-hinkley", "--drift-log", log, "--snapshots", state)
    entries = shown(log)
    assert [entry["what"] for entry in entries][:1] == ["drift"] and "adopted" in {e["what"] for e in entries}
    for entry in entries:
        number = int(str(entry["event"])) - 1
        assert entry["time"] == number / 10
        assert (entry["source"], entry["partition"]) == ("replay", 0)
    assert shown(state) == shown(sorted(state.glob("*.zip"))[-1]) == entries


def test_the_log_in_a_sealed_snapshot_is_shown_to_who_has_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = DriftAdaptive(NaiveBayes())
    model.log.add("drift", 5)
    sealed = SnapshotStore(tmp_path / "state", key=b"o" * 16)
    sealed.take_over()
    sealed.save(Snapshot(learner="DriftAdaptive", sections={"model": model_state(model)}))
    monkeypatch.setenv("OURS", "o" * 16)
    monkeypatch.setenv("THEIRS", "t" * 16)
    for source in (tmp_path / "state", *(tmp_path / "state").glob("*.zip")):
        result = run("drift", "show", source, "--key-env", "OURS", "--json")
        assert result.exit_code == 0, result.stderr
        assert [entry["event"] for entry in json.loads(result.stdout)] == [5]
        assert run("drift", "show", source, "--key-env", "THEIRS").exit_code == 4
        assert run("drift", "show", source).exit_code == 4
    assert len(list((tmp_path / "state").glob("*.zip"))) == 1


def test_a_table_tells_when_and_what(lights: Path, tmp_path: Path) -> None:
    replayed(lights, "--drift", "adwin", "--drift-log", tmp_path / "drifts.jsonl")
    entries = shown(tmp_path / "drifts.jsonl")
    report = run("drift", "show", tmp_path / "drifts.jsonl").stdout
    for entry in entries:
        line = next(line for line in report.splitlines() if line.split()[:1] == [str(entry["event"])])
        assert str(entry["what"]) in line


def test_in_eighty_columns_no_number_and_no_word_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    log = DriftLog()
    score = {"before": 0.123456, "after": 12.3456}
    edges = {"added": [["sprinkler", "pavement"]], "removed": [["rain", "pavement"]]}
    log.add("drift", 12_345_678, since=12_345_600, score=score, detector={"families": ["pavement"]})
    log.add("refused", 12_345_700, candidate="retired 12", score=score, why="the world has changed again")
    log.add("adopted", 12_345_800, candidate="both", score=score, structure=edges, seconds=0.5)
    for entry in log.entries:
        entry.update(source="events", partition=0, position=entry["event"] - 1, time=1_789_000_000.5)
    (tmp_path / "drifts.jsonl").write_text(log.json_lines())
    report = run("drift", "show", tmp_path / "drifts.jsonl").stdout
    lines = report.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [next(line for line in lines if line.split()[:1] == [f"{e['event']:,}"]) for e in log.entries]
    assert all("0.1235 -> 12.35" in row for row in rows) and "12,345,600" in rows[0]
    words = " ".join(line for line in lines[3:]).split()
    expected = [
        "refused",
        "retired",
        "12",
        "adopted",
        "both",
        "+sprinkler>pavement",
        "-rain>pavement",
        "pavement",
    ]
    expected += ["events[0]=12,345,677", "at", "1789000000.5", "took", "0.5", "changed", "again"]
    assert [word for word in expected if word not in words] == []


def test_the_arguments_of_following_reach_it(lights: Path, tmp_path: Path) -> None:
    for judge_after in (25, 60):
        log = tmp_path / f"{judge_after}.jsonl"
        replayed(lights, "--drift", "adwin", "--drift-arg", f"judge_after={judge_after}", "--drift-log", log)
        drift, adopted = (next(e for e in shown(log) if e["what"] == what) for what in ("drift", "adopted"))
        assert int(str(adopted["event"])) - int(str(drift["event"])) >= judge_after


def test_where_nothing_was_noted_it_says_so(lights: Path, tmp_path: Path) -> None:
    replayed(lights, "--drift", "adwin", "--limit", 100, "--snapshots", tmp_path / "state")
    assert shown(tmp_path / "state") == []
    assert "no drift was found" in run("drift", "show", tmp_path / "state").stdout


def test_what_the_last_swap_changed_in_a_structure_is_drawn(tmp_path: Path) -> None:
    path, log, picture = tmp_path / "pairs.jsonl", tmp_path / "drifts.jsonl", tmp_path / "swap.dot"
    rng = random.Random(1)
    with path.open("w") as file:
        for n in range(3000):
            a, b, c = (rng.choice(["x", "y"]) for _ in "abc")
            b, c = (
                (a, c) if n < 1500 else (b, a)
            )  # which feature follows which changes, and so does what they say
            day = "yes" if (b == "x") == (n < 1500) and c == "x" else "no"
            file.write(json.dumps({"a": a, "b": b, "c": c, "day": day}) + "\n")
    given = ("--target", "day", "--model", "tan", "--drift", "adwin", "--drift-log", log, "--json")
    assert run("replay", path, *given).exit_code == 0
    assert run("drift", "show", log, "--picture", picture).exit_code == 0
    (changed,) = [entry["structure"] for entry in shown(log) if entry["what"] == "adopted"][-1:]
    drawn = picture.read_text()
    for one, other in changed["added"]:
        assert f'"{one}" -> "{other}" [color=' in drawn
    assert run("drift", "show", log, "--picture", tmp_path / "swap.dot.txt").exit_code == 3


def test_a_comparison_sets_one_that_follows_drift_beside_one_that_does_not(
    lights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    draw = plots.evaluation

    def watched(*given: Any, marks: Any) -> None:
        drawn.append(marks)
        draw(*given, marks=marks)

    monkeypatch.setattr(plots, "evaluation", watched)
    models = [word for name in ("nb", "nb+adwin") for word in ("--model", name)]
    picture = tmp_path / "p.svg"
    result = run(
        "compare", lights, "--target", "day", "--ignore", "at", *models, "--picture", picture, "--json"
    )
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)["learners"]
    right = [report[name]["cumulative"]["accuracy"] for name in ("nb", "nb+adwin")]
    assert right[1] > right[0] + 0.1
    (marks,) = drawn
    assert [what for _, what in marks] == ["drift", "adopted"]
    assert CHANGES < marks[0][0] < marks[1][0] < CHANGES + 100
    assert picture.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("replay", "{}", "--target", "day", "--drift", "adwim"), 3, "did you mean 'adwin'"),
        (("replay", "{}", "--target", "day", "--drift-arg", "window=5"), 3, "need --drift"),
        (("compare", "{}", "--target", "day", "--drift", "adwin"), 3, "--model tan+adwin"),
        (
            ("replay", "{}", "--target", "day", "--drift", "adwin", "--drift-arg", "window"),
            3,
            "--drift-arg window",
        ),
        (("replay", "{}", "--target", "day", "--drift", "adwin", "--drift-arg", "windw=5"), 3, "'window'"),
        (("compare", "{}", "--target", "day", "--model", "nb+adwim"), 3, "did you mean 'adwin'"),
        (("drift", "show", "{}"), 3, "line 1: not an entry"),
        (("drift", "show", "{}-not-there"), 4, "there is no directory"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(
    lights: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = run(*(part.format(lights) for part in arguments))
    assert (result.exit_code, "Traceback" in result.stderr) == (code, False), result.stderr
    assert message in result.stderr.replace("\n", " ")


def test_a_snapshot_of_a_model_that_follows_no_drift_says_so(lights: Path, tmp_path: Path) -> None:
    replayed(lights, "--snapshots", tmp_path / "state")
    result = run("drift", "show", tmp_path / "state")
    assert result.exit_code == 4 and "does not adapt to drift" in result.stderr
    (tmp_path / "other.zip").write_bytes(
        Snapshot(learner="Counter", sections={"metrics": {"seen": 1}}).to_bytes()
    )
    assert run("drift", "show", tmp_path / "other.zip").exit_code == 4
