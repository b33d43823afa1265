"""Killed while a model follows a drift, and started again: the same state, answers and log, as if nothing had been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from tests.streams.engine.drift_worker import main, model

WORKER = Path(__file__).with_name("drift_worker.py")
ROOT = WORKER.parents[3]
PART = 400


def events() -> list[tuple[dict[str, str], str]]:
    """A class that follows one feature, then the opposite of another, then the first again."""
    rng = random.Random(5)
    made = []
    for number in range(3 * PART):
        x = {name: rng.choice(["on", "off"]) for name in "abc"}
        leading = "b" if PART <= number < 2 * PART else "a"
        y = "yes" if (x[leading] == "on") == (leading == "a") else "no"
        made.append((x, y if rng.random() < 0.9 else "no"))
    return made


@pytest.fixture(scope="module")
def milestones() -> dict[int, str]:
    """After which events the model stands where, found out by running it alone."""
    alone, seen, last = model(), {}, ""
    for number, (x, y) in enumerate(events(), 1):
        alone.learn_one(x, y)
        if alone.state_ != last:
            seen[number] = last = alone.state_
    return seen


def run(directory: Path, kill_at: int, hash_seed: int = 0) -> int:
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(WORKER), str(directory), str(kill_at)]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def files_in(directory: Path) -> dict[str, Any]:
    """Everything that is left but for what the clock on the wall says."""
    found = SnapshotStore(directory / "state").latest()
    assert found is not None
    snapshot = found.snapshot
    sections = {name: dict(section) for name, section in snapshot.sections.items()}
    sections["model"]["model"]["holds"]["_watch"]["log"]["seconds"] = []
    timeless = Snapshot(
        learner=snapshot.learner,
        sections=sections,
        configuration=snapshot.configuration,
        positions=snapshot.positions,
        clock=snapshot.clock,
        outputs=snapshot.outputs,
    )
    files = {name: (directory / name).read_bytes() for name in ("answers.jsonl", "drifts.jsonl")}
    return files | {"state": timeless.to_bytes()}


def prepared(directory: Path) -> Path:
    directory.mkdir()
    lines = [json.dumps({**x, "y": y, "at": number}) for number, (x, y) in enumerate(events())]
    (directory / "events.jsonl").write_text("\n".join(lines) + "\n")
    return directory


def test_killed_around_each_step_of_a_drift_it_leaves_what_an_undisturbed_one_does(
    tmp_path: Path, milestones: dict[int, str]
) -> None:
    whole, killed = prepared(tmp_path / "whole"), prepared(tmp_path / "killed")
    main(whole, 0)
    stops = list(milestones)
    at = next(n for n, stop in enumerate(stops) if milestones[stop] == "trial")
    begun, tried, over = stops[at - 1 : at + 2]  # a search for a renewal comes before it
    assert [milestones[number] for number in (begun, over)] == ["searching", "stable"]
    assert min(tried - begun, over - tried) > 37  # a snapshot is taken in each
    points = ((begun + tried) // 2 + 1, (tried + over) // 2 + 1, over + 1)
    for hash_seed, kill_at in enumerate(points):
        assert run(killed, kill_at, hash_seed) == -signal.SIGKILL
    assert run(killed, 0, hash_seed=77) == 0
    assert files_in(killed) == files_in(whole)
    noted = [json.loads(line) for line in (killed / "drifts.jsonl").read_text().splitlines()]
    assert [entry["details"]["number"] for entry in noted] == list(range(len(noted)))
    assert {"drift", "adopted"} <= {entry["what"] for entry in noted}
