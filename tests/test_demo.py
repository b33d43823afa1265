"""The demo runs as a user would run it, and ends with its table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def demo(*streams: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", "-m", "stream_bayes.demo", *streams]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_the_demo_learns_its_smallest_stream_and_ends_with_a_table() -> None:
    done = demo("Phishing")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    heading = lines.index(["stream", "learner", "events", "right", "%", "log-loss", "events/s"])
    rows = lines[heading + 2 :]
    assert [row[1:-4] for row in rows] == [
        ["NaiveBayes"],
        ["NaiveBayes,", "nominal"],
        ["River", "GaussianNB"],
    ]
    for row in rows:
        events, right, log_loss, speed = row[-4:]
        assert (row[0], events) == ("Phishing", "1,250")
        assert 85.0 < float(right) < 95.0 and 0.0 < float(log_loss) < 0.6
        assert speed.endswith("k")


def test_the_demo_names_its_streams_where_there_is_no_such_one() -> None:
    done = demo("Phising")
    assert done.returncode == 2
    assert "'Phising'" in done.stderr and "Phishing, ImageSegments" in done.stderr
