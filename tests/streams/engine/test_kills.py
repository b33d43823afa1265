"""Killed at any sample, and started again: the same state and the same files, byte for byte, as if nothing had been."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from stream_bayes.saving.snapshots.store import SnapshotStore

WORKER = Path(__file__).with_name("killed_worker.py")
ROOT = WORKER.parents[3]
SAMPLES = 400
FILES = ("answers", "dead")


def write_events(path: Path, seed: int = 11, *, is_numeric: bool = False) -> None:
    """Samples whose labels come with them, later, twice, or never, and lines that are none; labels may be numbers."""
    rng = random.Random(seed)
    lines: list[str] = []
    late: list[tuple[int, dict[str, object]]] = []
    for number in range(SAMPLES):
        sky, wind = rng.choice(["grey", "blue", "röt"]), rng.choice([True, False])
        rain: object = "yes" if rng.random() < (0.8 if sky == "grey" else 0.2) else "no"
        sample: dict[str, object] = {"id": f"k{number}", "at": number, "sky": sky, "wind": wind}
        if is_numeric:
            rain, sample["heat"] = rng.gauss(3.0 * (sky == "grey"), 1.0), rng.gauss(0.0, 1.0)
        if rng.random() < 0.5:
            sample["rain"] = rain
        else:
            when = number + rng.randrange(1, 40)
            late.append((when, {"id": f"k{number}", "at": when, "kind": "label", "rain": rain}))
        lines.append(json.dumps(sample))
        if rng.random() < 0.05:
            late.append(
                (
                    number + 9,
                    {
                        "id": f"k{number}",
                        "at": number + 9,
                        "kind": "correction",
                        "rain": "9.25" if is_numeric else "no",
                    },
                )
            )
        if rng.random() < 0.02:
            lines.append('{"id": "k')
        lines += [json.dumps(label) for when, label in late if when == number]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def write_rows(path: Path, seed: int = 11) -> None:
    """Rows with quotes and newlines in them, some without a label, and rows that are none; compressed in parts."""
    rng = random.Random(seed)
    rows = [b"id,at,sky,wind,rain\r\n"]
    for number in range(SAMPLES):
        sky = rng.choice(["grey", '"blue, or\nso"', '"r""öt"', ""])
        rain = rng.choice(["yes", "no", "no", ""]) if sky == "grey" else rng.choice(["yes", "yes", "no"])
        rows.append(f"k{number},{number},{sky},{rng.randrange(3)},{rain}\r\n".encode())
        if rng.random() < 0.02:
            rows.append(rng.choice([b"k,0,grey\n", b"k,0,gr\xff,1,no\n", b"k,now,grey,1,no\n", b"\n"]))
    third = len(rows) // 3
    parts = rows[:third], rows[third : 2 * third], rows[2 * third :]
    path.write_bytes(b"".join(gzip.compress(b"".join(part), mtime=0) for part in parts))


class Workers:
    """Processes that run pipelines, one for each of a few hash seeds."""

    def __init__(self, hash_seeds: Sequence[int]) -> None:
        self._processes = [self._begun(seed) for seed in hash_seeds]

    @staticmethod
    def _begun(hash_seed: int) -> subprocess.Popen[str]:
        settings = {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-W", "error", str(WORKER)]
        return subprocess.Popen(
            command,
            env=os.environ | settings,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, number: int, directory: Path, kill_at: int, how: str) -> int:
        """How a run ends in a copy of one of the processes: with 0, or killed."""
        process = self._processes[number % len(self._processes)]
        assert process.stdin is not None and process.stdout is not None
        order = {"directory": str(directory), "kill_at": kill_at, "how": how}
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        code = int(process.stdout.readline())
        assert code in (0, -signal.SIGKILL)
        return code

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    workers = Workers([0, 1, 977])
    yield workers
    workers.close()


def files_in(directory: Path) -> dict[str, bytes]:
    found = SnapshotStore(directory / "state").latest()
    assert found is not None
    files = {name: (directory / name).read_bytes() for name in FILES}
    return files | {"state": found.snapshot.to_bytes()}


def check_kills(workers: Workers, tmp_path: Path, kills: int, seed: int, how: str) -> None:
    rng = random.Random(seed)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        write_events(tmp_path / name / "events.jsonl", is_numeric=how == "numbers")
        write_rows(tmp_path / name / "events.csv.gz")
    assert workers.run(0, tmp_path / "whole", 0, how) == 0
    killed = 0
    while killed < kills:  # a start takes up where the snapshot was, so every kill is somewhere else
        killed += workers.run(rng.randrange(1000), tmp_path / "killed", rng.randrange(1, 60), how) != 0
        if files_in(tmp_path / "killed")["state"] == files_in(tmp_path / "whole")["state"]:
            for path in [
                *(tmp_path / "killed" / "state").iterdir(),
                *map((tmp_path / "killed").joinpath, FILES),
            ]:
                path.unlink()
    workers.run(rng.randrange(1000), tmp_path / "killed", 0, how)
    assert files_in(tmp_path / "killed") == files_in(tmp_path / "whole"), f"with seed {seed}"
    answers = files_in(tmp_path / "whole")["answers"].decode().splitlines()
    rows = csv.DictReader(answers) if how == "csv" else map(json.loads, answers)
    assert [answer["key"] for answer in rows] == [f"k{number}" for number in range(SAMPLES)]


@pytest.mark.parametrize(("how", "kills"), [("held", 5), ("numbers", 3), ("together", 3), ("csv", 3)])
def test_a_worker_killed_many_times_leaves_what_an_undisturbed_one_does(
    workers: Workers, tmp_path: Path, how: str, kills: int
) -> None:
    check_kills(workers, tmp_path, kills, seed=20, how=how)


@pytest.mark.soak
@pytest.mark.parametrize("how", ["held", "numbers", "together", "csv"])
@pytest.mark.parametrize("seed", range(10))
def test_workers_killed_a_hundred_times_leave_what_undisturbed_ones_do(
    workers: Workers, tmp_path: Path, seed: int, how: str
) -> None:
    check_kills(workers, tmp_path, 10, seed=1000 + seed, how=how)
