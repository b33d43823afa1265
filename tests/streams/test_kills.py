"""Killed at any sample, and started again: the same state and the same files, byte for byte, as if nothing had been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stream_bayes.streams.store import SnapshotStore

WORKER = Path(__file__).with_name("killed_worker.py")
ROOT = WORKER.parents[2]
SAMPLES = 400


def write_events(path: Path, seed: int = 11) -> None:
    """Samples whose labels come with them, later, twice, or never, and lines that are none."""
    rng = random.Random(seed)
    lines: list[str] = []
    late: list[tuple[int, dict[str, object]]] = []
    for number in range(SAMPLES):
        sky, wind = rng.choice(["grey", "blue", "röt"]), rng.choice([True, False])
        rain = "yes" if rng.random() < (0.8 if sky == "grey" else 0.2) else "no"
        sample: dict[str, object] = {"id": f"k{number}", "at": number, "sky": sky, "wind": wind}
        if rng.random() < 0.5:
            sample["rain"] = rain
        else:
            when = number + rng.randrange(1, 40)
            late.append((when, {"id": f"k{number}", "at": when, "kind": "label", "rain": rain}))
        lines.append(json.dumps(sample))
        if rng.random() < 0.05:
            late.append(
                (number + 9, {"id": f"k{number}", "at": number + 9, "kind": "correction", "rain": "no"})
            )
        if rng.random() < 0.02:
            lines.append('{"id": "k')
        lines += [json.dumps(label) for when, label in late if when == number]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def run(directory: Path, kill_at: int, hash_seed: int, how: str) -> int:
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(WORKER), str(directory), str(kill_at), how]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def left(directory: Path) -> dict[str, bytes]:
    found = SnapshotStore(directory / "state").latest()
    assert found is not None
    files = {name: (directory / name).read_bytes() for name in ("answers.jsonl", "dead.jsonl")}
    return files | {"state": found.snapshot.to_bytes()}


def check_kills(tmp_path: Path, kills: int, seed: int, how: str) -> None:
    rng = random.Random(seed)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        write_events(tmp_path / name / "events.jsonl")
    assert run(tmp_path / "whole", 0, hash_seed=0, how=how) == 0
    killed = 0
    while killed < kills:  # a start takes up where the snapshot was, so every kill is somewhere else
        killed += run(tmp_path / "killed", rng.randrange(1, 60), rng.randrange(1000), how) != 0
        if left(tmp_path / "killed")["state"] == left(tmp_path / "whole")["state"]:
            for path in [*(tmp_path / "killed").glob("*.jsonl"), *(tmp_path / "killed" / "state").iterdir()]:
                if path.name != "events.jsonl":
                    path.unlink()
    run(tmp_path / "killed", 0, rng.randrange(1000), how)
    assert left(tmp_path / "killed") == left(tmp_path / "whole"), f"with seed {seed}"
    answers = [json.loads(line) for line in left(tmp_path / "whole")["answers.jsonl"].splitlines()]
    assert [answer["key"] for answer in answers] == [f"k{number}" for number in range(SAMPLES)]


@pytest.mark.parametrize(("how", "kills"), [("held", 10), ("together", 4)])
def test_a_worker_killed_many_times_leaves_what_an_undisturbed_one_does(
    tmp_path: Path, how: str, kills: int
) -> None:
    check_kills(tmp_path, kills, seed=20, how=how)


@pytest.mark.soak
@pytest.mark.parametrize("how", ["held", "together"])
@pytest.mark.parametrize("seed", range(10))
def test_workers_killed_a_hundred_times_leave_what_undisturbed_ones_do(
    tmp_path: Path, seed: int, how: str
) -> None:
    check_kills(tmp_path, 10, seed=1000 + seed, how=how)
