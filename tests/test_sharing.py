"""All tests of Kafka are run by one process, the others by whichever is free."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_tests_of_kafka_are_run_by_one_process_and_the_others_by_all() -> None:
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist=loadgroup", "-v", "-p", "no:cacheprovider"]
    asked = ["tests/kafka/test_entries.py", "tests/streams/test_config.py"]
    done = subprocess.run([*command, *asked], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    ran = re.findall(r"^\[(gw\d)\].* PASSED (tests/\w+)/", done.stdout, re.M)
    by = {
        folder: {worker for worker, where in ran if where == folder}
        for folder in ("tests/kafka", "tests/streams")
    }
    assert len(by["tests/kafka"]) == 1 and by["tests/streams"] - by["tests/kafka"]


def test_make_asks_for_it() -> None:
    assert "--dist=loadgroup" in (ROOT / "Makefile").read_text("utf-8")
