"""Drift of a pipeline whose labels are numbers: its log names the record, whatever batches it came in."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from stream_bayes import BayesianRegression, DriftAdaptiveRegression
from stream_bayes.saving.river.drift_logs import drift_logs
from stream_bayes.saving.snapshots.store import SnapshotStore
from tests.cli.test_snapshots import run

EVENTS, CHANGE = 900, 500


def pipeline(folder: Path, batch: int) -> Path:
    rng = random.Random(3)
    folder.mkdir()
    winds = [rng.random() for _ in range(EVENTS)]
    powers = [(5.0 if k < CHANGE else -5.0) * wind + rng.gauss(0.0, 0.2) for k, wind in enumerate(winds)]
    rows = [f"{k},{wind},{power}" for k, (wind, power) in enumerate(zip(winds, powers, strict=True))]
    (folder / "in.csv").write_text("\n".join(["t,wind,power", *rows, ""]))
    file = folder / "p.toml"
    file.write_text(
        f'name = "power"\nbatch = {batch}\n'
        'source = { kind = "csv", path = "in.csv", target = "power", time = "t" }\n'
        'model = { kind = "drift-regression", arguments = { learner = "bayesian-regression" } }\n'
        'predictions = { kind = "jsonl", path = "out.jsonl" }\nsnapshots = { directory = "state" }\n'
    )
    return file


def outcome(file: Path) -> tuple[Any, list[Any], list[Any]]:
    done = run("run", file)
    assert done.exit_code == 0, done.output
    newest = SnapshotStore(file.parent / "state").latest()
    assert newest is not None
    model = newest.snapshot.sections["model"]
    shown = run("drift", "show", file.parent / "state", "--json")
    answers = [json.loads(line) for line in (file.parent / "out.jsonl").read_text().splitlines()]
    return model["reading"], json.loads(shown.stdout), [each["model"]["generation"] for each in answers]


def test_a_drift_of_numbers_is_in_the_log_with_its_record_in_batches_of_any_size(tmp_path: Path) -> None:
    reading, entries, generations = outcome(pipeline(tmp_path / "a", 1000))
    assert [entry["what"] for entry in entries] == ["drift", "adopted"]
    assert abs(entries[0]["since"] - CHANGE) < 20
    for entry in entries:  # the record after which it was found, not the last one of its batch
        assert entry["time"] == entry["event"] - 1
        assert (entry["source"], entry["partition"]) == ("power", 0)
    adopted = entries[1]["event"]
    assert generations == [0] * adopted + [1] * (EVENTS - adopted)
    for number, batch in enumerate((1, 70)):
        assert outcome(pipeline(tmp_path / f"b{number}", batch)) == (reading, entries, generations)
    table = run("drift", "show", tmp_path / "a" / "state")
    assert "adopted" in table.stdout and f"at {adopted - 1}" in table.stdout


def test_the_log_is_read_without_making_the_model() -> None:
    rng, model = random.Random(1), DriftAdaptiveRegression(BayesianRegression())
    assert drift_logs(model.state()) == [[]] and model.state_ == "stable"
    states = set()
    for k in range(600):
        wind = rng.uniform(0.0, 7.0)
        model.learn_one({"wind": wind}, (2.0 if k < 400 else -1.0) * wind + rng.gauss(0.0, 1.0))
        states.add(model.state_)
    assert states == {"stable", "trial"}
    assert drift_logs(model.state()) == [[dict(entry) for entry in model.log.entries]]
    assert drift_logs(BayesianRegression().state()) == []
