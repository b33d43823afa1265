"""The demo runs as a user would run it, and ends with a table, a picture and a snapshot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from stream_bayes.mail.store.home import SpamHome
from stream_bayes.saving.snapshots.snapshot import Snapshot

ROOT = Path(__file__).resolve().parent.parent


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "stream_bayes.demo", *arguments],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_the_demo_compares_models_and_leaves_a_picture_and_a_snapshot(tmp_path: Path) -> None:
    done = demo("phishing", "--into", str(tmp_path), "--mails", "1000")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    right = {
        row[0]: float(row[1])
        for row in rows
        if row[0] in ("nb", "aode", "river-gaussian-nb") and row[1][0] in "89"
    }
    assert right["aode"] > right["nb"] and right["aode"] > right["river-gaussian-nb"]
    assert "<svg" in (tmp_path / "compare.svg").read_text("utf-8")
    assert json.loads((tmp_path / "compare.jsonl").read_text("utf-8").splitlines()[-1])["events"] == 1250
    assert Snapshot.from_bytes((tmp_path / "best.zip").read_bytes()).clock == 1250
    (filtering,) = (row for row in rows if row[0] == "SpamFilter")
    lost, caught = float(filtering[1]), float(filtering[3])
    assert lost < 1.0 and caught > 60.0
    (forced,) = (row for row in rows if row[:2] == ["never", "unsure"])
    (river,) = (row for row in rows if row[:2] == ["River's", "NB"])
    assert float(filtering[9]) > float(river[10])  # of what each decided, the share that is right
    assert float(forced[2]) <= float(river[2])  # ham lost, where neither may be unsure
    assert float(forced[10]) > float(river[10])
    for share in ("0", "0.2", "1"):  # at equal loss of ham, after the start
        (equal,) = (row for row in rows if row[:3] == ["at", share, "%"])
        assert float(equal[6]) < float(equal[8])
    assert "exactly what it scored before" in done.stdout and "P(spam) = " in done.stdout
    assert SpamHome(tmp_path / "spam").load().clock == 1000
    assert b"Subject:" in (tmp_path / "mail.eml").read_bytes()


def test_the_demo_names_its_streams_where_there_is_no_such_one() -> None:
    done = demo("phising")
    assert done.returncode == 2
    assert "phising" in done.stderr and "image-segments" in done.stderr


def test_make_demo_ends_with_the_page_and_waits_for_nobody_in_ci() -> None:
    made = subprocess.run(
        ["make", "-n", "--no-print-directory", "demo"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    last = made.stdout.splitlines()[-2:]
    assert last[0].startswith("if [ -t 1 ]; then ") and "stream_bayes demo;" in last[0]
    assert "stream_bayes demo --no-browser" in last[1] and "--seconds 10" in last[1]
