"""The records behind dead letters of a pipeline of files are processed again once their cause is mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from stream_bayes.cli.app import app
from stream_bayes.saving.snapshots.store import SnapshotStore

PIPELINE = """
name = "days"
max_dead_share = 1.0
[source]
kind = "jsonl"
path = "events.jsonl"
target = "y"
max_record_bytes = {most}
[model]
kind = "nb"
[snapshots]
directory = "state"
[predictions]
kind = "jsonl"
path = "answers.jsonl"
[dead_letters]
kind = "jsonl"
path = "dead.jsonl"
"""


def call(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    reply: dict[str, Any] = json.loads(result.stdout)
    return reply


def learned_in(directory: Path) -> int:
    found = SnapshotStore(directory / "state").latest()
    assert found is not None
    return int(found.snapshot.sections["step"]["learned"])


def test_each_letter_is_processed_again_once_and_a_rebuild_learns_each_record_once(tmp_path: Path) -> None:
    rows = [{"sky": "grey" * (20 if n % 5 == 0 else 1), "y": "wet" if n % 2 else "dry"} for n in range(50)]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "events.jsonl").write_text("".join(line + "\n" for line in [*lines, "{"]))
    file = tmp_path / "days.toml"
    file.write_text(PIPELINE.format(most=60))
    call("run", str(file))
    assert learned_in(tmp_path) == 40
    assert call("redrive", str(file), "--dry-run")["records"] == 11
    assert call("redrive", str(file)) == {"records": 11, "learned": 0, "dead_letters": 11}  # not mended yet
    file.write_text(PIPELINE.format(most=1000))
    assert call("redrive", str(file)) == {"records": 11, "learned": 10, "dead_letters": 1}
    assert call("redrive", str(file)) == {"records": 1, "learned": 0, "dead_letters": 1}
    assert learned_in(tmp_path) == 50
    answers = [json.loads(line)["position"] for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert len(answers) == len(set(answers)) == 50
    call("run", str(file), "--rebuild")
    assert learned_in(tmp_path) == 50
