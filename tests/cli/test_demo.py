"""`stream-bayes demo`: two live services in one command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.serve.weather import Client
from tests.waiting import PATIENCE, until


def test_the_demo_serves_a_stream_and_mails_with_subjects_and_takes_corrections(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stream_bayes", "demo", "--no-browser", "--port", "0", "--rate", "400"]
    with subprocess.Popen(
        [*command, "--into", str(tmp_path)], stderr=subprocess.PIPE, env=os.environ
    ) as process:
        try:
            assert process.stderr is not None
            lines = [process.stderr.readline().decode() for _ in range(3)]
            found = [re.search(r":(\d+)/#token=(\S+)", line) for line in lines[:2]]
            weather, mails = (Client(int(each[1]), each[2]) for each in found if each is not None)
            until("200 days", lambda: weather.get("/v1/evaluation")["status"].get("processed", 0) >= 200)
            assert weather.get("/v1/model")["edges"]
            events = until("a mail", lambda: mails.get("/v1/history?limit=1")["events"])
            assert events[0]["subject"] and "@" in events[0]["sender"]
            why = mails.post("/v1/explain", {"id": events[0]["id"]})
            assert why["evidence"] and why["kind"] == "tokens"
            other = "ham" if events[0]["label"] == "spam" else "spam"
            answer = mails.post("/v1/labels", {"key": events[0]["key"], "label": other})
            assert answer["outcome"] == "corrected"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
    assert process.returncode == 0
